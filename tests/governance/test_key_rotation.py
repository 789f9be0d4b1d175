"""A key's new secret: equal but for that, beside the old one for a while, and nobody gets hold of another's name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import Account, AuditEntry
from facts.tenancy import ensure_scope
from governance import keys
from governance.access import Delegation, Principal
from governance.models import ApiKey, Role
from tests.api import Caller, caller_with_key, signed_in
from tests.factories import SubjectFactory, api_key, maker_of, person_in, unknown_id

SAME = ("label", "rights", "delegated", "maker_id", "peer_id", "scope_limit_id", "requests_per_minute")


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


def rotate(principal: Principal, key: ApiKey, **fields) -> tuple[ApiKey, str]:
    return keys.rotate_key(principal, key.id, actor=principal.actor, **fields)


def test_the_successor_is_equal_and_both_work_for_a_while(account: Account, administrator: Principal) -> None:
    old, raw = api_key(
        account,
        peer=SubjectFactory(account=account),
        scope_limit=ensure_scope(account.id, "/support"),
        requests_per_minute=7,
        delegated=[Delegation.RESOLVE],
        maker=maker_of(administrator),
    )
    new, fresh = rotate(administrator, old, overlap=timedelta(hours=2))
    old.refresh_from_db()
    assert [getattr(new, name) for name in SAME] == [getattr(old, name) for name in SAME]
    assert (new.expires_at, fresh != raw) == (None, True)
    assert timedelta(minutes=119) < old.expires_at - now() <= timedelta(hours=2)
    assert keys.authenticate(raw).key_id == old.id
    assert keys.authenticate(fresh).key_id == new.id
    entry = AuditEntry.objects.get(action="key.rotated")
    assert entry.metadata == {"successor": str(new.id), "ends_at": old.expires_at.isoformat()}


def test_the_old_secret_ends_when_the_overlap_does(account: Account, administrator: Principal, monkeypatch) -> None:
    old, raw = api_key(account)
    assert keys.authenticate(raw) is not None
    rotate(administrator, old, overlap=timedelta(0))
    assert keys.authenticate(raw) is None
    again, kept = api_key(account, expires_at=now() + timedelta(hours=1))
    rotate(administrator, again)
    assert keys.authenticate(kept) is not None
    later = now() + timedelta(hours=2)
    monkeypatch.setattr(keys, "now", lambda: later)
    assert keys.authenticate(kept) is None  # also where it was remembered as good


def test_an_end_that_was_set_holds_for_both(account: Account, administrator: Principal) -> None:
    end = now() + timedelta(hours=1)
    old, _ = api_key(account, expires_at=end)
    new, _ = rotate(administrator, old, overlap=timedelta(days=3))
    old.refresh_from_db()
    assert (old.expires_at, new.expires_at) == (end, end)


def test_what_has_ended_gets_no_successor(account: Account, administrator: Principal) -> None:
    revoked, _ = api_key(account)
    keys.revoke_key(account.id, revoked.id, actor=administrator.actor)
    expired, _ = api_key(account, expires_at=now() - timedelta(minutes=1))
    for key in (revoked, expired):
        with pytest.raises(Conflicting) as refused:
            rotate(administrator, key)
        assert refused.value.code == "key_ended"
    with pytest.raises(NotFound):
        keys.rotate_key(administrator, unknown_id(), actor=administrator.actor)


@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), timedelta(days=31)])
def test_an_overlap_has_bounds(account: Account, administrator: Principal, overlap: timedelta) -> None:
    old, _ = api_key(account)
    with pytest.raises(DomainError) as refused:
        rotate(administrator, old, overlap=overlap)
    assert refused.value.code == "invalid_overlap"


def test_nobody_gets_hold_of_anothers_name(account: Account, administrator: Principal) -> None:
    other = person_in(account, role=Role.ACCOUNT_ADMIN)
    old, _ = api_key(account, delegated=[Delegation.FORGET], maker=maker_of(other))
    with pytest.raises(Refused) as refused:
        rotate(administrator, old)
    assert refused.value.code == "forbidden_right"
    assert ApiKey.objects.count() == 1


def test_over_http_a_key_renews_no_more_than_it_has(account: Account, administrator: Principal) -> None:
    maker = maker_of(administrator)
    caller: Caller = caller_with_key(account, delegated=[Delegation.KEYS], maker=maker)
    plain, _ = api_key(account, rights=["read"])
    made = caller.post(f"/v1/keys/{plain.id}/rotate", {"overlap_seconds": 60})
    assert made.status_code == 201
    assert keys.authenticate(made.json()["key"]).rights == {"read"}
    wide, _ = api_key(account, rights=["read", "diagnostics"])
    assert caller.post(f"/v1/keys/{wide.id}/rotate", {}).json()["error"]["type"] == "forbidden_right"
    elsewhere = caller_with_key(
        account, delegated=[Delegation.KEYS], maker=maker, scope_limit=ensure_scope(account.id, "/sales")
    )
    assert elsewhere.post(f"/v1/keys/{plain.id}/rotate", {}).status_code == 404
    assert caller_with_key(account).post(f"/v1/keys/{plain.id}/rotate", {}).json()["error"]["type"] == "human_required"
    assert signed_in(maker).post(f"/v1/keys/{plain.id}/rotate", {"overlap_seconds": -1}).status_code == 422
