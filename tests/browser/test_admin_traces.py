"""Asking about a trace with a real browser, on a phone: the same read again, and why a fact was not served."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from facts.tenancy import account_transaction
from tests.browser.admin_room import prepare, record
from tests.factories import FactFactory

PHONE = {"width": 390, "height": 844}


def check_look(page: Page) -> None:
    """Fail when axe finds something or when the page is wider than the window."""
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], [node["html"] for node in found["nodes"]]) for found in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_trace_is_asked_again_and_about_a_fact(page: Page, live_server) -> None:
    room = prepare(live_server.url)
    with account_transaction(room.scene.account.id):
        late = FactFactory(subject=room.scene.ana, statement="Ana Lima swims.", sensitivity="internal")
    room.enter(page.context)
    page.set_viewport_size(PHONE)
    trace = record("retrieval_trace", room.scene.trace.pk)
    room.open(page, trace)
    check_look(page)
    page.get_by_role("button", name="As the store is").click()
    expect(page.get_by_role("heading", name="Both answers")).to_be_visible()
    expect(page.locator("table.decisions")).to_contain_text("Ana Lima swims.")
    expect(page.locator("table.decisions")).to_contain_text("not recorded yet")
    check_look(page)
    room.open(page, trace)
    page.get_by_label("Words of a fact, or its id").fill(str(late.pk))
    page.keyboard.press("Enter")
    expect(page.locator("ol.timeline")).to_contain_text("It was not recorded yet.")
    check_look(page)
