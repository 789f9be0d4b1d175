"""Letting a terminal in with a real browser: on a phone, and with the keyboard alone."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Page, expect

from facts.tenancy import account_transaction
from governance import device_login, keys
from governance.device_login import PickedUp, Started
from governance.models import Role
from tests.admin_scene import sign_in
from tests.factories import AccountFactory, person_in

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def address(page: Page, live_server) -> str:
    """The address of the page, in a browser in which an administrator is signed in."""
    client = Client()
    account = AccountFactory(key="demo", name="Demo")
    with account_transaction(account.id):
        sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    page.context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}]
    )
    return f"{live_server.url}/device/"


@pytest.fixture
def started(address: str) -> Started:
    return device_login.start()


def check_look(page: Page) -> None:
    """Fail when axe finds something or when the page is wider than the window."""
    assert [violation["id"] for violation in Axe().run(page).response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_phone_is_enough(page: Page, address: str, started: Started) -> None:
    page.set_viewport_size(PHONE)
    page.goto(address)
    check_look(page)
    page.get_by_label("Code that the terminal shows").fill(started.user_code.lower())
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("code.user-code")).to_have_text(started.user_code)
    check_look(page)
    assert page.locator("form.stacked").bounding_box()["width"] > 340
    page.get_by_label("Only this project").check()
    page.get_by_label("Project:", exact=True).fill("shop")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".messagelist")).to_contain_text("Approved")
    found = device_login.pick_up(started.device_code)
    assert isinstance(found, PickedUp)
    assert keys.authenticate(found.raw_key).scope_limit == "/shop"


def test_the_keyboard_is_enough(page: Page, address: str, started: Started) -> None:
    page.goto(address)
    page.keyboard.type(started.user_code)
    page.keyboard.press("Enter")
    expect(page.locator("code.user-code")).to_have_text(started.user_code)
    page.get_by_label("Label").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist")).to_contain_text("Approved")
    assert isinstance(device_login.pick_up(started.device_code), PickedUp)


@pytest.mark.expects_status(404)
def test_a_wrong_code_is_said(page: Page, address: str, started: Started) -> None:
    page.goto(f"{address}?user_code=BBBB-BBBB")
    expect(page.get_by_role("alert")).to_have_text("No terminal waits with this code.")
    expect(page.get_by_label("Code that the terminal shows")).to_be_focused()
    check_look(page)


def test_refusing_takes_one_press(page: Page, address: str, started: Started) -> None:
    page.goto(f"{address}?user_code={started.user_code}")
    page.get_by_role("button", name="Refuse").click()
    expect(page.locator(".messagelist")).to_contain_text("turned away")
