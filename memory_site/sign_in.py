"""Signing in with a password, on the portal and in the admin: guessing is held up, whoever's name is tried.

Wrong tries are counted in PostgreSQL, so that all processes count together, for a name tried from an address and for
the address alone. Nobody can lock somebody else out from another address.
"""

from __future__ import annotations

import math
from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from memory_site.api import throttling

#: Seconds in which wrong tries are counted together.
WINDOW = 300
#: Wrong tries of one name from one address, and of all names from it: enough for people behind one router.
TRIES_OF_NAME, TRIES_OF_ADDRESS = 10, 100


class _HeldUp:
    """Counts what :meth:`clean` refuses, and refuses more without a look at the password."""

    request: HttpRequest

    def clean(self) -> dict[str, Any]:
        """Check name and password unless too much was tried; raises ``ValidationError``."""
        limits = _limits(self.request, str(self.cleaned_data.get("username", "")))
        if any(throttling.counted(client, window=WINDOW) >= limit for client, limit in limits.items()):
            minutes = math.ceil(throttling.seconds_left(window=WINDOW) / 60)
            wait = "a minute" if minutes == 1 else f"{minutes} minutes"
            raise ValidationError(f"That was tried too often. Wait {wait}, then try again.", code="held_up")
        try:
            return super().clean()
        except ValidationError:
            for client in limits:
                throttling.count(client, window=WINDOW)
            raise


class SignInForm(_HeldUp, AuthenticationForm):
    """The form of the portal."""


class AdminSignInForm(_HeldUp, AdminAuthenticationForm):
    """The form of the admin."""


def _limits(request: HttpRequest, name: str) -> dict[str, int]:
    """Return the limit of each thing that is counted; addresses and names are kept as digests."""
    address = throttling.client_address(request)
    return {
        f"sign-in:{throttling.digest_of(f'{address} {name.casefold()}')}": TRIES_OF_NAME,
        f"sign-in:{throttling.digest_of(address)}": TRIES_OF_ADDRESS,
    }
