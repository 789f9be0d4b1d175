"""A reviewer's day by keyboard alone: twenty mixed things that wait, and the pages on which they are decided.

With ``MEMORY_SCREENSHOTS`` set to a directory the pictures of these pages are taken. Run with ``-s``, the timed
review prints what it cost; presses are counted exactly, text that is typed apart from them.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Page, expect

from facts.models import ConflictSet
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus
from governance.models import Review, ReviewStatus
from tests.admin_scene import sign_in
from tests.browser.admin_room import AXE, record
from tests.factories import AccountFactory
from tests.review_day import fill

WIDE, PHONE = {"width": 1360, "height": 820}, {"width": 390, "height": 844}
PICTURES = os.environ.get("MEMORY_SCREENSHOTS", "")
REASON = "Said in jest."
#: Pages that are looked at in the dark and on a phone too: the others are made of the same parts.
LOOKED_AT_TWICE = ("conflict-12", "review-contest", "reviews")
#: Milliseconds until the next page has to be there; only a machine that does much else takes that long.
PATIENCE = 30_000


@dataclass
class Hands:
    """Somebody at a keyboard; counts the presses, and the characters of what is typed."""

    page: Page
    presses: int = 0
    characters: int = 0

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)
            self.presses += 1

    def write(self, text: str) -> None:
        """Type a text."""
        self.page.keyboard.type(text)
        self.characters += len(text)


@pytest.fixture
def account(page: Page, live_server):
    """An account with twenty things that wait, and its curator signed in."""
    client = Client()
    made = AccountFactory(key="demo", name="Demo")
    with account_transaction(made.id):
        curator = fill(made)
        sign_in(client, curator)
    page.context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}]
    )
    return made


def _waiting(account) -> tuple[int, int]:
    with account_transaction(account.id):
        return (
            ConflictSet.objects.filter(status=ConflictStatus.OPEN).count(),
            Review.objects.filter(status=ReviewStatus.PENDING, deferred_until=None).count(),
        )


def _decide_conflict(hands: Hands) -> None:
    if "possible" in hands.page.locator(".facts-line .chip").first.inner_text():
        hands.press("d")
        hands.write("At home and at work")
        hands.press("Tab", "Enter")
    else:
        hands.press("1")


def _decide_review(hands: Hands, seen: dict[str, int]) -> None:
    kind = hands.page.locator("h1").inner_text().removeprefix("Review: ")
    seen[kind] = seen.get(kind, 0) + 1
    match kind, seen[kind]:
        case ("contest", 2) | ("directive", _):
            hands.press("2")
            hands.write(REASON)
            hands.press("Control+Enter")
        case "revalidation", 2:
            hands.press("3")
        case "unresolved subject", _:
            hands.press("5")
        case _:
            hands.press("1")


def test_twenty_mixed_things_are_decided_by_keyboard_alone(page: Page, live_server, account) -> None:
    assert _waiting(account) == (8, 12)
    page.set_viewport_size(WIDE)
    page.goto(f"{live_server.url}/admin/facts/conflictset/?state=waiting")
    hands = Hands(page)
    began = time.perf_counter()
    hands.press("Enter")
    page.wait_for_selector(".sides")
    for left in range(8, 0, -1):
        expect(page.locator(".place")).to_have_text(f"1 of {left}", timeout=PATIENCE)
        _decide_conflict(hands)
    expect(page.get_by_role("status").first).to_contain_text("That was the last one in this list.", timeout=PATIENCE)
    hands.press("j")
    page.wait_for_selector("#result_list")
    hands.press("Enter")
    page.wait_for_selector(".verbs")
    seen: dict[str, int] = {}
    for left in range(12, 0, -1):
        expect(page.locator(".place")).to_have_text(f"1 of {left}", timeout=PATIENCE)
        _decide_review(hands, seen)
    # Whoever was named has a new fact now, which waits like any other.
    expect(page.locator(".place")).to_have_text("1 in the list", timeout=PATIENCE)
    seconds = time.perf_counter() - began
    print(f"\n20 items: {hands.presses} presses, {hands.characters} typed characters, {seconds / 20:.2f} s an item")
    assert _waiting(account) == (0, 1)
    assert seen == {
        "contest": 2,
        "directive": 1,
        "new fact": 5,
        "promotion": 1,
        "revalidation": 2,
        "unresolved subject": 1,
    }
    assert hands.presses == 27


def _faults(page: Page, name: str) -> list[str]:
    found = [
        f"{name}: {violation['id']}: {node['html'][:120]}"
        for violation in Axe().run(page, options=AXE).response["violations"]
        for node in violation["nodes"]
    ]
    if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
        found.append(f"{name}: wider than the window")
    return found


def test_the_pages_of_a_reviewer_fit_and_can_be_read(page: Page, live_server, account) -> None:
    with account_transaction(account.id):
        sets = {one.members.count(): one.pk for one in ConflictSet.objects.order_by("-opened_at")}
        reviews = {one.kind: one.pk for one in Review.objects.all()}
    pages = {
        "conflict-2": record("facts_conflictset", sets[2]),
        "conflict-3": record("facts_conflictset", sets[3]),
        "conflict-12": record("facts_conflictset", sets[12]),
        **{f"review-{kind}": record("governance_review", pk) for kind, pk in reviews.items()},
        "reviews": "/admin/governance/review/?state=pending",
    }
    faults = []
    for look, size in (("light", WIDE), ("phone", PHONE), ("dark", WIDE)):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme="dark" if look == "dark" else "light")
        for name, path in pages.items():
            if look != "light" and not PICTURES and name not in LOOKED_AT_TWICE:
                continue
            page.goto(live_server.url + path)
            faults += _faults(page, f"{look} {name}")
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"{look}-{name}.png", full_page=True)
    page.get_by_role("button", name="Choose all on this page").click()
    expect(page.locator("[data-count]")).to_have_text("12")
    page.get_by_role("button", name="Approve them").click()
    expect(page.get_by_role("heading", name="These stay as they are")).to_be_visible()
    faults += _faults(page, "bulk")
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / "bulk.png", full_page=True)
    page.get_by_role("button", name="Approve these").click()
    expect(page.get_by_role("heading", name="Left as they were")).to_be_visible()
    faults += _faults(page, "bulk done")
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / "bulk-done.png", full_page=True)
    assert faults == []


@pytest.mark.skipif(not PICTURES, reason="pictures are taken by make screenshots")
def test_pictures_of_deciding_many_are_taken(page: Page, live_server, account) -> None:
    page.set_viewport_size({"width": 1280, "height": 820})
    page.goto(f"{live_server.url}/admin/governance/review/?state=pending")
    page.get_by_role("button", name="Choose all on this page").click()
    expect(page.locator("[data-count]")).to_have_text("12")
    page.get_by_role("button", name="Approve them").click()
    expect(page.get_by_role("heading", name="These stay as they are")).to_be_visible()
    page.screenshot(path=Path(PICTURES) / "review-many.png", full_page=True, caret="initial")
