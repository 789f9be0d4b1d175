"""API keys: shown once, found by digest, refused in one way whatever is wrong with them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts.actors import pipeline
from facts.clock import now
from facts.errors import DomainError, NotFound, Refused
from facts.models import AuditEntry
from governance import keys
from governance.access import APP_RIGHTS, Delegation, Right
from governance.models import ApiKey
from tests.factories import (
    AccountFactory,
    ScopeFactory,
    SubjectFactory,
    api_key,
    entered,
    key_principal,
    maker_of,
    person_in,
    unknown_id,
)


@pytest.fixture(autouse=True)
def _nothing_remembered():
    keys.forget_cached()


def authenticate(raw: str):
    """Authenticate as a request does: no account is known yet, nothing is remembered."""
    keys.forget_cached()
    with entered(None):
        return keys.authenticate(raw)


def test_a_key_is_shown_once_and_kept_as_a_digest(account):
    key, raw = api_key(account, label="  App  ")
    assert raw.startswith("mem_")
    assert len(raw) >= 47
    assert (key.label, key.prefix, key.digest) == ("App", raw[:10], keys.digest(raw))
    stored = str(list(ApiKey.objects.values())) + str(list(AuditEntry.objects.values()))
    assert raw not in stored
    assert raw[10:] not in stored
    assert AuditEntry.objects.get().action == "key.created"


def test_it_opens_its_account_and_no_other(account):
    scope, bob = ScopeFactory(account=account), SubjectFactory(account=account)
    maker = maker_of(person_in(account))
    key, raw = api_key(
        account, rights=["read"], delegated=["forget"], maker=maker, peer=bob, scope_limit=scope, requests_per_minute=9
    )
    who = authenticate(raw)
    assert (who.account_id, who.key_id, who.is_person) == (account.id, key.id, False)
    assert (who.rights, who.delegated) == (frozenset({"read"}), frozenset({"forget"}))
    assert (who.subject_id, who.membership_id, who.maker_subject_id) == (bob.id, maker.id, maker.subject_id)
    assert (who.scope_limit, who.requests_per_minute) == ("/support", 9)
    assert who.grants == (("/", "curator", "allow", True, False),)
    assert who.actor.key_id == key.id
    key.refresh_from_db()
    assert key.last_used_at is not None


@pytest.mark.parametrize("raw", ["", "mem_", "mem_unknown", "other", "mem_" + "x" * 200, "mem_\ud800"])
def test_anything_else_opens_nothing(account, raw):
    api_key(account)
    assert authenticate(raw) is None


def test_an_expired_or_revoked_key_opens_nothing(account):
    _, expired = api_key(account, expires_at=now() - timedelta(seconds=1))
    _, lasting = api_key(account, expires_at=now() + timedelta(days=1))
    key, revoked = api_key(account)
    assert authenticate(expired) is None
    assert authenticate(lasting) is not None
    assert authenticate(revoked) is not None
    keys.revoke_key(account.id, key.id, actor=pipeline())
    assert authenticate(revoked) is None


def test_a_revocation_is_felt_at_once_where_it_was_made(account):
    key, raw = api_key(account)
    with entered(None):
        assert keys.authenticate(raw) is not None
    keys.revoke_key(account.id, key.id, actor=pipeline())
    with entered(None):
        assert keys.authenticate(raw) is None


def test_revoking_twice_changes_nothing(account):
    key, _ = api_key(account)
    first = keys.revoke_key(account.id, key.id, actor=pipeline()).revoked_at
    assert keys.revoke_key(account.id, key.id, actor=pipeline()).revoked_at == first
    assert AuditEntry.objects.filter(action="key.revoked").count() == 1
    with pytest.raises(NotFound) as refused:
        keys.revoke_key(account.id, unknown_id(), actor=pipeline())
    assert refused.value.code == "key_not_found"


def test_another_accounts_key_is_not_revoked(account):
    with entered(other := AccountFactory()):
        key, raw = api_key(other)
    with pytest.raises(NotFound):
        keys.revoke_key(account.id, key.id, actor=pipeline())
    assert authenticate(raw) is not None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"rights": ["read", "rule"]}, "unknown_right"),
        ({"delegated": ["consent"]}, "unknown_delegation"),
        ({"delegated": ["promote"]}, "unknown_delegation"),
        ({"delegated": ["resolve"]}, "maker_required"),
        ({"label": "  "}, "label_required"),
    ],
)
def test_what_a_key_cannot_be(account, fields, code):
    with pytest.raises(DomainError) as refused:
        api_key(account, **fields)
    assert refused.value.code == code
    assert not ApiKey.objects.exists()


def test_a_key_hands_out_no_more_than_it_has(account):
    curator = person_in(account)
    key = key_principal(account, rights=APP_RIGHTS, delegated=["keys"], maker=maker_of(curator))
    keys.check_may_hand_out(key, [Right.READ], ["keys"])
    keys.check_may_hand_out(curator, list(Right), ["resolve"])
    for rights, delegated in (([Right.DIAGNOSTICS], []), ([], ["resolve"])):
        with pytest.raises(Refused) as refused:
            keys.check_may_hand_out(key, rights, delegated)
        assert refused.value.code == "forbidden_right"


@pytest.mark.parametrize("rights", [APP_RIGHTS, [Right.READ, Right.READ_FOR_OTHERS]])
def test_a_key_hands_out_its_own_peer_only(account, rights):
    mine, another = SubjectFactory(account=account), SubjectFactory(account=account)
    curator = person_in(account)
    for own in (mine, None):
        key = key_principal(account, rights=rights, delegated=["keys"], maker=maker_of(curator), peer=own)
        keys.check_may_hand_out(key, rights, [])
        for peer in (mine, another):
            if peer == own or Right.READ_FOR_OTHERS in rights:
                keys.check_may_hand_out(key, rights, [], peer=peer)
                continue
            with pytest.raises(Refused) as refused:
                keys.check_may_hand_out(key, rights, [], peer=peer)
            assert (refused.value.code, refused.value.field) == ("forbidden_right", "peer_key")
    keys.check_may_hand_out(curator, rights, [], peer=another)


@pytest.mark.parametrize(
    ("asked", "own", "given"), [(None, None, None), (5, None, 5), (None, 9, 9), (5, 9, 5), (9, 9, 9), (12, 9, 9)]
)
def test_what_is_handed_out_is_capped(asked, own, given):
    assert keys.capped(asked, own) == given


def test_nobody_stands_behind_the_key_of_somebody_who_left(account):
    maker, bob = maker_of(person_in(account)), SubjectFactory(account=account)
    _, raw = api_key(account, delegated=list(Delegation), maker=maker, peer=bob)
    for active in (False, True):
        maker.user.is_active = active
        maker.user.save()
        who = authenticate(raw)
        assert (who.rights, who.subject_id) == (frozenset(APP_RIGHTS), bob.id)
        assert who.delegated == (frozenset(Delegation) if active else frozenset())
        assert (who.membership_id, who.maker_subject_id) == ((maker.id, maker.subject_id) if active else (None, None))
        assert bool(who.grants) == active


def test_use_is_noted_now_and_then(account):
    key, raw = api_key(account)
    authenticate(raw)
    key.refresh_from_db()
    first = key.last_used_at
    authenticate(raw)
    key.refresh_from_db()
    assert key.last_used_at == first
    ApiKey.objects.update(last_used_at=first - keys.LAST_USED_EVERY - timedelta(seconds=1))
    authenticate(raw)
    key.refresh_from_db()
    assert key.last_used_at >= first
