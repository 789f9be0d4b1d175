"""Forgetting what only mattered for a while: answers kept for repeats, logins of terminals, and counts of calls."""

from __future__ import annotations

from datetime import timedelta

from facts.clock import now
from facts.models import Account
from governance import device_login, idempotency
from memory_site.models import CallCount

#: Long past the minute that a count is about.
COUNTS_KEPT = timedelta(hours=1)


def prune() -> None:
    """Delete what is too old, account by account; may run twice, or at once on two machines."""
    for account_id in Account.objects.values_list("id", flat=True):
        idempotency.forget_old(account_id)
        device_login.forget_expired(account_id)
    device_login.forget_expired()
    CallCount.objects.filter(starts_at__lt=now() - COUNTS_KEPT).delete()
