"""Keeping a view of a list and coming back to it, and trying what somebody else would be told, wide and on a phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.admin_room import AXE, Room, prepare

WIDE, PHONE = {"width": 1360, "height": 820}, {"width": 390, "height": 844}
PICTURES = os.environ.get("MEMORY_SCREENSHOTS", "")


@pytest.fixture
def room(live_server) -> Iterator[Room]:
    """A prepared account."""
    return prepare(live_server.url, hostile=False)


def _look(page: Page, name: str) -> list[str]:
    """Return what axe finds on the page in every size and scheme, and whether it sticks out; take its pictures."""
    found = []
    for size, viewport in (("wide", WIDE), ("phone", PHONE)):
        for scheme in ("light", "dark"):
            page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=scheme)
            # A frame later: colours that are still those of the other scheme are nobody's.
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            for violation in Axe().run(page, options=AXE).response["violations"]:
                found += [
                    f"{name} {size} {scheme}: {violation['id']}: {node['html'][:150]}" for node in violation["nodes"]
                ]
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"{name} {size}: wider than the window")
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"{name}-{size}-{scheme}.png", full_page=size == "phone")
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    return found


def _keep_a_view(room: Room, page: Page) -> None:
    """Keep the facts that are current as a tab for everybody."""
    room.open(page, "/admin/facts/fact/?_all")
    page.get_by_role("link", name="Current", exact=True).click()
    page.get_by_text("Keep this view").click()
    page.get_by_label("Name of the tab").fill("What holds")
    page.get_by_label("For everybody who may open this list").check()
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.get_by_text("Kept as a tab for everybody who may open this list.")).to_be_visible()


def _try_a_question(room: Room, page: Page) -> None:
    """Ask in the playground what Ana would be told."""
    room.open(page, "/admin/playground/")
    page.get_by_label("Question").fill("Where does Ana live and work?")
    page.get_by_label("Path of the scope").or_(page.get_by_label("Scope:")).first.fill("/support")
    page.get_by_label("Somebody else").check()
    page.get_by_label("Who:").fill("ana")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", name="The packet")).to_be_visible()


def test_a_view_is_kept_and_a_question_is_tried(room: Room, page: Page, browser: Browser) -> None:
    room.enter(page.context)
    _keep_a_view(room, page)
    expect(page.locator(".views a[aria-current]").last).to_contain_text("What holds")
    page.locator("#result_list a").first.click()
    page.locator(".breadcrumbs a").nth(1).click()
    expect(page.locator("#result_list")).to_be_visible()
    assert "status__exact=active" in page.url
    page.get_by_text("Keep this view").click()
    faults = _look(page, "views")

    _try_a_question(room, page)
    expect(page.locator(".playground")).to_contain_text("works in the shipping team")
    faults += _look(page, "playground")
    assert faults == []


@pytest.mark.skipif(not PICTURES, reason="pictures are taken by make screenshots")
def test_pictures_of_views_and_of_the_playground_are_taken(room: Room, page: Page) -> None:
    room.enter(page.context)
    page.set_viewport_size(WIDE)
    _keep_a_view(room, page)
    page.get_by_text("Keep this view").click()
    page.screenshot(path=Path(PICTURES) / "views.png", caret="initial")
    _try_a_question(room, page)
    page.screenshot(path=Path(PICTURES) / "playground.png", caret="initial")
