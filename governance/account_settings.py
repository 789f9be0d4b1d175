"""What administrators change about the account itself."""

from __future__ import annotations

from facts import audit, timezones
from facts.errors import Conflicting
from facts.ids import new_id
from facts.models import Account
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.gating.gate_rules import require_administrator


def set_timezone(principal: Principal, *, timezone: str, expected: str) -> Account:
    """Choose by which clock the account's days and nights begin; ``expected`` is the name that was looked at.

    Nights that have begun stay as they are. Raises ``DomainError`` (``unknown_timezone``), ``Conflicting``
    (``stale_version``) and what :func:`governance.gating.gate_rules.require_administrator` raises.
    """
    require_administrator(principal)
    name = timezones.check(timezone)
    with account_transaction(principal.account_id):
        account = Account.objects.select_for_update(no_key=True).get(pk=principal.account_id)
        before = account.timezone
        if before != expected:
            raise Conflicting("Somebody else has changed it meanwhile.", code="stale_version", field="timezone")
        if before != name:
            account.timezone = name
            account.save(update_fields=["timezone"])
            audit.record(
                account.id,
                action="account.timezone_set",
                object_type="account",
                object_id=account.id,
                actor=principal.actor,
                group=new_id(),
                metadata={"before": before, "after": name},
            )
    return account
