"""Changing a profile with a real browser: on a phone, looking first, then saving with the keyboard."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from facts.tenancy import account_transaction
from retrieval.profiles import overrides, profile_versions
from retrieval.profiles.shipped import CONTEXT
from tests.browser.admin_room import prepare

PHONE = {"width": 390, "height": 844}
LIST = "/admin/retrieval/retrievalprofile/"


def check_look(page: Page) -> None:
    """Fail when axe finds something or when the page is wider than the window."""
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], [node["html"] for node in found["nodes"]]) for found in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_profile_is_looked_at_saved_and_brought_back(page: Page, live_server) -> None:
    room = prepare(live_server.url)
    account = room.scene.account
    room.enter(page.context)
    page.set_viewport_size(PHONE)
    room.open(page, LIST)
    check_look(page)
    page.get_by_label("Query:").fill("Where does Ana live?")
    page.locator("#queries-title ~ form").get_by_label("Scope:").fill("/support")
    page.get_by_role("button", name="Keep this query").click()
    expect(page.locator(".messagelist")).to_contain_text("Kept")
    page.locator("form[method=get]").get_by_label("Scope:").fill("/support")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator("h1")).to_have_text("Profile context")
    page.get_by_label("Passages:").fill("0")
    page.get_by_role("button", name="Look at what changes").click()
    expect(page.get_by_role("heading", name="What would change")).to_be_visible()
    expect(page.locator("#looks")).to_contain_text(f"{CONTEXT.label}-0-")
    check_look(page)
    page.get_by_label("Why:").first.focus()
    page.keyboard.type("Statements are enough here.")
    page.get_by_role("button", name="Save").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist")).to_contain_text("Version 1 holds")
    expect(page.locator("ol.timeline")).to_contain_text("Statements are enough here.")
    with account_transaction(account.id):
        overrides.forget()
        assert overrides.resolve_context(account_id=account.id, path="/support").passages == 0
    page.get_by_label("Why:").first.fill("Not any longer.")
    page.get_by_role("button", name="Switch off").click()
    page.get_by_text("Go back to version 1").click()
    page.get_by_label("Why", exact=True).fill("It was better.")
    page.get_by_role("button", name="Go back", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("Version 3 holds")
    check_look(page)
    with account_transaction(account.id):
        scope = room.scene.trace.scope
        assert profile_versions.active(account.id, name="context", scope=scope).action == "reverted"
