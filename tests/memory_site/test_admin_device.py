"""The page on which a person lets a terminal in."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client
from django.urls import reverse

from facts.errors import DomainError
from facts.models import Account
from governance import device_login, keys
from governance.access import APP_RIGHTS, Principal
from governance.device_login import Started
from governance.models import ApiKey, DeviceLoginStatus, Role
from memory_site.api import throttling
from tests.admin_scene import sign_in
from tests.factories import UserFactory, entered, person_in

PAGE = reverse("admin:device_login")
APPROVAL = {"decision": "approve", "label": "laptop", "project": "shop", "rights": [str(right) for right in APP_RIGHTS]}
WRONG = "BBBB-BBBB"


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def browser(administrator: Principal) -> Client:
    browser = Client()
    sign_in(browser, administrator)
    return browser


@pytest.fixture
def started(account: Account) -> Started:
    with entered(None):
        return device_login.start()


def pick_up(started: Started) -> device_login.PickedUp | DeviceLoginStatus | None:
    with entered(None):
        return device_login.pick_up(started.device_code)


def said(response) -> list[str]:
    """Return what a page that was redirected to tells the person."""
    return [str(message) for message in response.context["messages"]]


def test_the_short_address_leads_through_the_sign_in_with_the_code(client: Client, db: None) -> None:
    to_page = client.get("/device/", {"user_code": "BCDF-GHJK"})
    assert (to_page.status_code, to_page["Location"]) == (302, f"{PAGE}?user_code=BCDF-GHJK")
    to_login = client.get(to_page["Location"])
    assert to_login["Location"] == f"{reverse('admin:login')}?next={PAGE}%3Fuser_code%3DBCDF-GHJK"


def test_the_code_can_be_typed(browser: Client, started: Started) -> None:
    assert b'name="user_code"' in browser.get(PAGE).content
    page = browser.get(PAGE, {"user_code": started.user_code.lower().replace("-", " ")})
    assert started.user_code in page.content.decode()
    assert page.context["form"]["rights"].initial == [str(right) for right in APP_RIGHTS]


def test_looking_grants_nothing(browser: Client, started: Started) -> None:
    browser.get(PAGE, {"user_code": started.user_code, **APPROVAL})
    assert pick_up(started) == DeviceLoginStatus.WAITING


def test_approval_grants_what_was_chosen(account: Account, browser: Client, started: Started) -> None:
    chosen = {**APPROVAL, "rights": ["read"], "delegated": ["resolve"], "is_confined": "on"}
    answer = browser.post(PAGE, {"user_code": started.user_code, **chosen}, follow=True)
    assert said(answer) == ["Approved. The terminal fetches its key within seconds; you can close this page."]
    principal = keys.authenticate(pick_up(started).raw_key)
    assert (principal.account_id, principal.name, principal.scope_limit) == (account.id, "laptop", "/shop")
    assert (principal.rights, principal.delegated) == ({"read"}, {"resolve"})


def test_refusal_turns_the_terminal_away(browser: Client, started: Started) -> None:
    answer = browser.post(PAGE, {"user_code": started.user_code, "decision": "refuse"}, follow=True)
    assert said(answer) == ["The terminal was turned away."]
    with pytest.raises(DomainError) as caught:
        pick_up(started)
    assert caught.value.code == "device_refused"


def test_another_site_cannot_approve(administrator: Principal, started: Started) -> None:
    strict = Client(enforce_csrf_checks=True)
    sign_in(strict, administrator)
    assert strict.post(PAGE, {"user_code": started.user_code, **APPROVAL}).status_code == 403
    assert pick_up(started) == DeviceLoginStatus.WAITING


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"rights": []}, "rights"),
        ({"label": ""}, "label"),
        ({"project": "a/../b"}, "project"),
        ({"project": ""}, "project"),
    ],
)
def test_what_is_filled_in_wrongly_is_said_beside_the_field(browser, started, wrong, field) -> None:
    page = browser.post(PAGE, {"user_code": started.user_code, **APPROVAL, **wrong})
    assert page.status_code == 200
    assert list(page.context["form"].errors) == [field]
    assert pick_up(started) == DeviceLoginStatus.WAITING


def test_a_wrong_code_is_asked_for_again(browser: Client, started: Started) -> None:
    page = browser.get(PAGE, {"user_code": WRONG})
    assert page.status_code == 404
    assert page.context["wrong"] == "No terminal waits with this code."
    assert WRONG in page.content.decode()


def test_ten_wrong_codes_are_enough(browser, account, started, monkeypatch) -> None:
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_000_060.0)
    for _ in range(10):
        assert browser.get(PAGE, {"user_code": WRONG}).status_code == HTTPStatus.NOT_FOUND
    page = browser.post(PAGE, {"user_code": started.user_code, **APPROVAL})
    assert page.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert page.context["wrong"] == "Too many wrong codes. Try again in 4 min."
    assert pick_up(started) == DeviceLoginStatus.WAITING
    other = Client()
    sign_in(other, person_in(account, role=Role.ACCOUNT_ADMIN))
    assert other.get(PAGE, {"user_code": started.user_code}).status_code == HTTPStatus.OK
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_000_300.0)
    assert browser.get(PAGE, {"user_code": started.user_code}).status_code == HTTPStatus.OK


def test_right_codes_are_not_counted(browser: Client, started: Started) -> None:
    for _ in range(11):
        assert browser.get(PAGE, {"user_code": started.user_code}).status_code == HTTPStatus.OK


def test_only_administrators_are_asked(account: Account, started: Started) -> None:
    browser = Client()
    sign_in(browser, person_in(account, role=Role.CURATOR))
    page = browser.post(PAGE, {"user_code": started.user_code, **APPROVAL})
    assert page.status_code == 403
    assert b"Only an account administrator" in page.content
    assert not ApiKey.objects.exists()


def test_who_administers_a_part_is_told_what_that_allows(account: Account, started: Started) -> None:
    browser = Client()
    sign_in(browser, person_in(account, role=Role.ACCOUNT_ADMIN, path="/shop"))
    page = browser.post(PAGE, {"user_code": started.user_code, **APPROVAL})
    assert page.context["form"].non_field_errors() == ["Only an account administrator may let a terminal in."]
    answer = browser.post(PAGE, {"user_code": started.user_code, **APPROVAL, "is_confined": "on"}, follow=True)
    assert len(said(answer)) == 1
    assert keys.authenticate(pick_up(started).raw_key).scope_limit == "/shop"


def test_somebody_without_an_account_is_told_what_to_do(client: Client, db: None) -> None:
    client.force_login(UserFactory(username="ada", is_staff=True))
    assert b"manage.py add_member" in client.get(PAGE).content
