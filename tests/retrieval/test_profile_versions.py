from __future__ import annotations

from collections.abc import Callable

import pytest

from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, Scope
from governance.access import Principal
from governance.models import Role
from retrieval.models import RetrievalProfile
from retrieval.profiles import overrides, profile_versions
from retrieval.profiles.shipped import CONTEXT
from tests.factories import ScopeFactory, key_principal, maker_of, person_in

Change = Callable[[Principal], object]


@pytest.fixture
def admin(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def support(account: Account) -> Scope:
    return ScopeFactory(account=account, path="/support")


def _save(admin: Principal, scope: Scope | None, *, expected: int | None, **settings: float) -> RetrievalProfile:
    return profile_versions.save(
        admin, name="context", scope=scope, settings=settings, note="Fewer passages.", expected=expected
    )


def test_versions_are_kept_and_one_holds(account: Account, admin: Principal, support: Scope) -> None:
    first = _save(admin, support, expected=None, passages=4)
    second = _save(admin, support, expected=1, passages=2)
    assert (first.version, second.version) == (1, 2)
    rows = list(profile_versions.history(account.id, name="context", scope=support))
    assert [(row.version, row.active, row.settings, row.note, row.created_by) for row in rows] == [
        (2, True, {"passages": 2}, "Fewer passages.", admin.name),
        (1, False, {"passages": 4}, "Fewer passages.", admin.name),
    ]
    assert overrides.resolve_context(account_id=account.id, path="/support").passages == 2


def test_switched_off_means_what_is_next_upwards(account: Account, admin: Principal, support: Scope) -> None:
    _save(admin, None, expected=None, passages=3)
    _save(admin, support, expected=None, passages=4)
    profile_versions.switch_off(admin, name="context", scope=support, note="Not needed.", expected=1)
    assert profile_versions.active(account.id, name="context", scope=support) is None
    assert overrides.resolve_context(account_id=account.id, path="/support").passages == 3
    again = _save(admin, support, expected=None, passages=5)
    assert again.version == 3


def test_going_back_writes_a_new_version(account: Account, admin: Principal, support: Scope) -> None:
    _save(admin, support, expected=None, passages=4)
    _save(admin, support, expected=1, passages=2)
    row = profile_versions.go_back(admin, name="context", scope=support, version=1, note="It was better.", expected=2)
    assert (row.version, row.settings, row.action, row.active) == (3, {"passages": 4}, "reverted", True)
    assert overrides.resolve_context(account_id=account.id, path="/support").passages == 4


@pytest.mark.parametrize("version", [2, 7])
def test_there_is_no_way_back_to_what_was_no_version(admin: Principal, support: Scope, version: int) -> None:
    _save(admin, support, expected=None, passages=4)
    profile_versions.switch_off(admin, name="context", scope=support, note="Off.", expected=1)
    with pytest.raises(NotFound) as refused:
        profile_versions.go_back(admin, name="context", scope=support, version=version, note="Back.", expected=None)
    assert refused.value.code == "profile_version_not_found"


@pytest.mark.parametrize("expected", [None, 2, 99])
def test_a_change_made_from_another_version_is_refused(
    account: Account, admin: Principal, support: Scope, expected: int | None
) -> None:
    _save(admin, support, expected=None, passages=4)
    with pytest.raises(Conflicting) as refused:
        _save(admin, support, expected=expected, passages=2)
    assert refused.value.code == "stale_version"
    assert profile_versions.active(account.id, name="context", scope=support).settings == {"passages": 4}


def test_a_first_version_that_somebody_else_wrote_at_the_same_time_is_refused(
    admin: Principal, support: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    _save(admin, support, expected=None, passages=4)
    nothing = RetrievalProfile.objects.none()
    monkeypatch.setattr(profile_versions, "history", lambda *_, **__: nothing)
    with pytest.raises(Conflicting) as refused:
        _save(admin, support, expected=None, passages=2)
    assert refused.value.code == "stale_version"


def test_every_change_is_in_the_audit_chain_without_its_reason(admin: Principal, support: Scope) -> None:
    _save(admin, support, expected=None, passages=4)
    profile_versions.switch_off(admin, name="context", scope=support, note="Secret reason.", expected=1)
    entries = list(AuditEntry.objects.filter(object_type="retrieval_profile").order_by("seq"))
    assert [entry.action for entry in entries] == ["profile.saved", "profile.switched_off"]
    assert entries[1].metadata["replaces"] == 1
    assert "Secret" not in str(entries[1].metadata)


CHANGES: list[Change] = [
    lambda who: _save(who, None, expected=None, passages=4),
    lambda who: profile_versions.switch_off(who, name="context", scope=None, note="x", expected=1),
    lambda who: profile_versions.go_back(who, name="context", scope=None, version=1, note="x", expected=1),
]


@pytest.mark.parametrize("change", CHANGES)
def test_only_an_administrator_of_the_account_changes_anything(account: Account, change: Change) -> None:
    for role, path in ((Role.CURATOR, "/"), (Role.ACCOUNT_ADMIN, "/support"), (None, "/")):
        with pytest.raises(Refused) as refused:
            change(person_in(account, role=role, path=path))
        assert refused.value.code == "forbidden"
    maker = person_in(account, role=Role.ACCOUNT_ADMIN)
    key = key_principal(account, maker=maker_of(maker), delegated=["resolve", "forget", "observe", "keys"])
    with pytest.raises(Refused) as refused:
        change(key)
    assert refused.value.code == "human_required"
    assert not RetrievalProfile.objects.exists()


@pytest.mark.parametrize(
    ("note", "code"), [("", "note_missing"), (" \n", "note_missing"), ("x" * 501, "invalid_profile")]
)
def test_a_change_says_why(admin: Principal, note: str, code: str) -> None:
    with pytest.raises(DomainError) as refused:
        profile_versions.save(admin, name="context", scope=None, settings={"top": 9}, note=note, expected=None)
    assert (refused.value.code, refused.value.field) == (code, "note")


def test_minimal_takes_no_override(admin: Principal) -> None:
    with pytest.raises(DomainError) as refused:
        profile_versions.save(admin, name="minimal", scope=None, settings={}, note="x", expected=None)
    assert refused.value.code == "invalid_profile"


def test_a_version_is_found_by_its_label(account: Account, admin: Principal, support: Scope) -> None:
    row = _save(admin, support, expected=None, passages=4)
    _save(admin, None, expected=None, passages=5)
    label = overrides.resolve_context(account_id=account.id, path="/support").label
    override = label.removeprefix(f"context-{CONTEXT.version}-")
    assert profile_versions.labelled(account.id, "context", override) == row
    for unknown in ("", "1", "1-00000000", "x-1", "٣-1f0c9a2e", "9" * 30):
        assert profile_versions.labelled(account.id, "context", unknown) is None
