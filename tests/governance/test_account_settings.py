"""Changing the account itself: who may, and against what was looked at."""

from __future__ import annotations

import pytest

from facts.errors import Conflicting, DomainError, Refused
from facts.models import AuditEntry
from governance import account_settings
from governance.models import Role
from tests.factories import key_principal, person_in


def test_an_administrator_chooses_the_time_zone(account):
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    account_settings.set_timezone(administrator, timezone="Asia/Tokyo", expected="UTC")
    account_settings.set_timezone(administrator, timezone="Asia/Tokyo", expected="Asia/Tokyo")
    account.refresh_from_db()
    assert account.timezone == "Asia/Tokyo"
    (entry,) = AuditEntry.objects.filter(action="account.timezone_set")
    assert entry.metadata == {"before": "UTC", "after": "Asia/Tokyo"}
    with pytest.raises(Conflicting):
        account_settings.set_timezone(administrator, timezone="Europe/Paris", expected="UTC")
    with pytest.raises(DomainError, match="no time zone"):
        account_settings.set_timezone(administrator, timezone="Europe/Lutetia", expected="Asia/Tokyo")


def test_nobody_else_does(account):
    for who in (person_in(account), key_principal(account)):
        with pytest.raises(Refused):
            account_settings.set_timezone(who, timezone="Asia/Tokyo", expected="UTC")
