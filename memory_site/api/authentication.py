"""Who is asking: a machine by its key, or a person by their session. Either becomes ``request.auth``, a ``Principal``.

Every failure of a key has the same answer, so that nothing about keys can be learned by trying.
"""

from __future__ import annotations

import uuid

from django.db import connection, transaction
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as DjangoSession
from rest_framework.request import Request

from facts.models import Membership, User
from facts.tenancy import enter_account
from governance import access, keys
from governance.access import Principal
from memory_site.api import problems, throttling

SCHEME = "bearer"
#: Session key under which a person of several accounts chose one: its slug.
ACCOUNT_IN_SESSION = "account"


class KeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer <key>``."""

    def authenticate(self, request: Request) -> tuple[Principal, Principal] | None:
        """Return the key's principal; ``None`` without the header; raises for anything wrong with it."""
        header = request.headers.get("Authorization")
        if header is None:
            return None
        address = throttling.client_address(request)
        throttling.refuse_blocked(address)
        scheme, _, raw = header.partition(" ")
        principal = keys.authenticate(raw.strip()) if scheme.lower() == SCHEME else None
        if principal is None:
            throttling.count_failure(address)
            raise exceptions.AuthenticationFailed
        return principal, principal

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge."""
        return problems.CHALLENGE


class SessionAuthentication(DjangoSession):
    """A signed-in person, with CSRF protection, in their account (or the one that their session names)."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        """Return the user and their principal; raises ``PermissionDenied`` (``csrf_failed``, ``no_account``)."""
        signed_in = super().authenticate(request)
        if signed_in is None:
            return None
        user = signed_in[0]
        principal = person_of(user.pk, account_key=request.session.get(ACCOUNT_IN_SESSION))
        if principal is None:
            raise exceptions.PermissionDenied(code="no_account")
        return user, principal

    def enforce_csrf(self, request: Request) -> None:
        """Check the token, giving the refusal a code of its own."""
        try:
            super().enforce_csrf(request)
        except exceptions.PermissionDenied:
            raise exceptions.PermissionDenied(code="csrf_failed") from None


def person_of(user_id: uuid.UUID, *, account_key: str | None = None) -> Principal | None:
    """Return the principal of a user in the account with that key, or in their oldest one; ``None`` without any."""
    with transaction.atomic():
        # The account is not known yet: the look-up policy lets exactly this user's memberships be read.
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('app.user', %s, true)", [str(user_id)])
        memberships = Membership.objects.filter(user_id=user_id).select_related("user", "account")
        if account_key is not None:
            memberships = memberships.filter(account__key=account_key)
        membership = memberships.order_by("id").first()
        if membership is None:
            return None
        enter_account(membership.account_id)
        return access.person(membership)
