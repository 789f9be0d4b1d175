"""Letting a terminal in: the rules, and what row-level security lets be seen of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import Error, connection, transaction

from facts.clock import now
from facts.errors import DomainError
from facts.models import Account, AuditEntry
from governance import device_login, keys
from governance.access import Delegation, Principal, Right
from governance.device_login import PickedUp, Started
from governance.models import ApiKey, DeviceLogin, DeviceLoginStatus, Grant, Role
from tests.factories import AccountFactory, entered, maker_of, person_in

GRANTED = {"label": "laptop", "project": "shop", "is_confined": True, "rights": [Right.READ], "delegated": []}


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def started(account: Account) -> Started:
    with entered(None):
        return device_login.start()


def pick_up(started: Started) -> PickedUp | DeviceLoginStatus | None:
    """Ask like a terminal: from outside of any account."""
    with entered(None):
        return device_login.pick_up(started.device_code)


def code_of(caught: pytest.ExceptionInfo[DomainError]) -> tuple[int, str, str | None]:
    return caught.value.status, caught.value.code, caught.value.field


def test_codes_are_shown_and_only_digests_are_kept(started) -> None:
    row = device_login.waiting(started.user_code)
    first, _, second = started.user_code.partition("-")
    assert (len(first), len(second)) == (4, 4)
    assert set(first + second) <= set(device_login.ALPHABET)
    assert len(started.device_code) == 43
    kept = {str(value) for value in vars(row).values()}
    assert not kept & {started.device_code, started.user_code, first + second}
    assert row.expires_at - row.created_at == timedelta(seconds=600)


def test_what_was_approved_is_what_the_key_may_do(account, administrator, started) -> None:
    assert pick_up(started) == DeviceLoginStatus.WAITING
    device_login.approve(administrator, started.user_code, **{**GRANTED, "delegated": [Delegation.RESOLVE]})
    assert not ApiKey.objects.exists()
    found = pick_up(started)
    principal = keys.authenticate(found.raw_key)
    assert (found.org_id, found.project_id) == (account.key, "shop")
    assert (principal.account_id, principal.name, principal.scope_limit) == (account.id, "laptop", "/shop")
    assert (principal.rights, principal.delegated) == ({"read"}, {"resolve"})
    assert ApiKey.objects.get().maker == maker_of(administrator)
    assert not DeviceLogin.objects.exists()
    actions = AuditEntry.objects.order_by("seq").values_list("action", flat=True)
    assert [action for action in actions if action.startswith(("device", "key"))] == ["device.approved", "key.created"]


def test_a_key_for_the_whole_account_knows_its_project_all_the_same(administrator, started) -> None:
    device_login.approve(administrator, started.user_code, **{**GRANTED, "is_confined": False})
    found = pick_up(started)
    assert (found.project_id, keys.authenticate(found.raw_key).scope_limit) == ("shop", None)


def test_a_key_is_picked_up_once(administrator, started) -> None:
    device_login.approve(administrator, started.user_code, **GRANTED)
    pick_up(started)
    with pytest.raises(DomainError) as caught:
        pick_up(started)
    assert code_of(caught) == (404, "device_code_not_found", "device_code")
    assert ApiKey.objects.count() == 1


def test_an_unknown_device_code_is_refused(started) -> None:
    with entered(None), pytest.raises(DomainError) as caught:
        device_login.pick_up(started.user_code)
    assert code_of(caught) == (404, "device_code_not_found", "device_code")


def test_somebody_who_is_turned_away_is_told(administrator, started) -> None:
    device_login.refuse(administrator, started.user_code)
    with pytest.raises(DomainError) as caught:
        pick_up(started)
    assert code_of(caught) == (403, "device_refused", None)
    assert not ApiKey.objects.exists()


def test_a_decision_is_made_once(administrator, started) -> None:
    device_login.refuse(administrator, started.user_code)
    with pytest.raises(DomainError) as caught:
        device_login.approve(administrator, started.user_code, **GRANTED)
    assert code_of(caught) == (404, "user_code_not_found", "user_code")


@pytest.mark.parametrize("decided", [False, True])
def test_time_runs_out(administrator, started, monkeypatch, decided) -> None:
    if decided:
        device_login.approve(administrator, started.user_code, **GRANTED)
    later = now() + timedelta(seconds=600)
    monkeypatch.setattr(device_login, "now", lambda: later)
    assert pick_up(started) is None
    with pytest.raises(DomainError) as caught:
        device_login.refuse(administrator, started.user_code)
    assert code_of(caught) == (404, "user_code_not_found", "user_code")


@pytest.mark.parametrize("role", [Role.CURATOR, Role.READER, None])
def test_only_administrators_let_terminals_in(account, started, role) -> None:
    with pytest.raises(DomainError) as caught:
        device_login.approve(person_in(account, role=role), started.user_code, **GRANTED)
    assert code_of(caught) == (403, "device_refused", None)


def test_who_administers_a_part_grants_that_part_only(account, started) -> None:
    local = person_in(account, role=Role.ACCOUNT_ADMIN, path="/shop")
    with pytest.raises(DomainError) as caught:
        device_login.approve(local, started.user_code, **{**GRANTED, "is_confined": False})
    assert code_of(caught) == (403, "device_refused", None)
    device_login.approve(local, started.user_code, **GRANTED)
    assert keys.authenticate(pick_up(started).raw_key).scope_limit == "/shop"


def test_whoever_lost_the_role_meanwhile_has_let_nobody_in(administrator, started) -> None:
    device_login.approve(administrator, started.user_code, **GRANTED)
    Grant.objects.all().delete()
    with pytest.raises(DomainError) as caught:
        pick_up(started)
    assert code_of(caught) == (403, "device_refused", None)


def test_nor_has_somebody_who_may_no_longer_sign_in(administrator, started) -> None:
    device_login.approve(administrator, started.user_code, **GRANTED)
    user = maker_of(administrator).user
    user.is_active = False
    user.save(update_fields=["is_active"])
    with pytest.raises(DomainError) as caught:
        pick_up(started)
    assert code_of(caught) == (403, "device_refused", None)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"rights": ["fly"]}, "unknown_right"),
        ({"delegated": ["consent"]}, "unknown_delegation"),
        ({"label": " "}, "label_required"),
        ({"project": "a/../b"}, "invalid_scope"),
    ],
)
def test_what_cannot_be_granted_leaves_the_terminal_waiting(administrator, started, wrong, expected) -> None:
    with pytest.raises(DomainError) as caught:
        device_login.approve(administrator, started.user_code, **{**GRANTED, **wrong})
    assert caught.value.code == expected
    assert pick_up(started) == DeviceLoginStatus.WAITING


@pytest.mark.parametrize("typed", ["bcdf-ghjk", " BCDFGHJK ", "bcdf ghjk", "B.C.D.F-GHJK"])
def test_a_code_may_be_typed_in_many_ways(typed) -> None:
    assert device_login.normalise_user_code(typed) == "BCDF-GHJK"


def test_a_login_is_seen_by_its_codes_alone(account, started) -> None:
    with entered(None):
        device_login.start()
        assert DeviceLogin.objects.count() == 0
        for setting, digest in (
            ("app.device_code", keys.digest(started.device_code)),
            ("app.user_code", device_login._user_code_digest(started.user_code)),
        ):
            present(setting, digest)
            assert DeviceLogin.objects.count() == 1
            assert DeviceLogin.objects.all().delete()[0] == 0
            present(setting, "")
    with entered(AccountFactory()):
        assert DeviceLogin.objects.count() == 0


def test_without_the_user_code_nobody_takes_a_login(account, administrator, started) -> None:
    present("app.device_code", keys.digest(started.device_code))
    taken = {"status": "approved", "account": account, "decided_by": maker_of(administrator)}
    assert DeviceLogin.objects.update(**taken) == 0


def test_a_login_is_taken_into_the_own_account_only(account, administrator, started) -> None:
    other = AccountFactory()
    present("app.user_code", device_login._user_code_digest(started.user_code))
    taken = {"status": "approved", "account": other, "decided_by": maker_of(administrator)}
    with pytest.raises(Error, match="row-level security"), transaction.atomic():
        DeviceLogin.objects.update(**taken)


def test_a_decided_login_belongs_to_its_account(administrator, started) -> None:
    device_login.approve(administrator, started.user_code, **GRANTED)
    present("app.user_code", "")
    assert DeviceLogin.objects.count() == 1
    with entered(AccountFactory()):
        assert DeviceLogin.objects.count() == 0


def test_lapsed_logins_go_and_others_stay(account, administrator, started) -> None:
    lapsed = now() - timedelta(hours=1)  # the database's clock stands still within this test
    with entered(None):
        device_login.start()
        DeviceLogin.objects.bulk_create(
            DeviceLogin(device_digest=f"d{n}", user_code_digest=f"u{n}", expires_at=lapsed) for n in range(2)
        )
        assert device_login.forget_expired() == 2
        assert device_login.forget_expired() == 0
    device_login.approve(administrator, started.user_code, **GRANTED)
    assert device_login.forget_expired(account.id) == 0
    DeviceLogin.objects.filter(status="approved").update(expires_at=lapsed)
    assert device_login.forget_expired(account.id) == 1


def present(setting: str, digest: str) -> None:
    """Let the database know a digest, as the service does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [setting, digest])
