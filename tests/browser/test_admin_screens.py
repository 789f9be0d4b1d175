"""Every page of the admin, light and dark, wide and on a phone: readable by axe's rules, and nothing sticks out.

With ``MEMORY_SCREENSHOTS`` set to a directory (``make screenshots``) the pictures of the documentation are taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Page

from facts.models import Event, Fact
from facts.tenancy import account_transaction
from governance.models import ApiKey, Grant, Review
from tests.browser.admin_room import AXE, Room, prepare, record
from tests.factories import IdentityFactory, UserFactory

WIDE, PHONE = {"width": 1280, "height": 820}, {"width": 390, "height": 844}
PICTURES = os.environ.get("MEMORY_SCREENSHOTS", "")
#: Pages that the documentation shows.
PICTURED = ("home", "conflict", "review", "trace", "fact", "subject")


@pytest.fixture
def room(live_server) -> Iterator[Room]:
    """A prepared account."""
    return prepare(live_server.url)


def _pages(room: Room, *, look: str) -> dict[str, str]:
    """Return the path of each page; the plain lists are alike, so that two of them are enough but for one look."""
    scene = room.scene
    with account_transaction(scene.account.id):
        lisbon = Fact.objects.get(statement__contains="Lisbon")
        pages = {
            "home": "/admin/",
            "conflict": room.conflict(0),
            "conflict with hostile text": room.conflict(1),
            "conflict from right to left": room.conflict(2),
            "fact": record("facts_fact", lisbon.pk),
            "trace": record("retrieval_trace", scene.trace.pk),
            "review": record("governance_review", Review.objects.get().pk),
            "event": record("facts_event", Event.objects.filter(thread="onboarding").first().pk),
            "subject": record("facts_subject", scene.ana.pk),
            "grant": record("governance_grant", Grant.objects.first().pk),
            "gates": "/admin/governance/gaterule/?scope=/",
            "gate rule": "/admin/governance/gaterule/cell/?level=scope&sensitivity=internal",
            "profiles": "/admin/retrieval/retrievalprofile/",
            "profile": "/admin/retrieval/retrievalprofile/edit/?name=context",
            "reads of a fact": f"/admin/retrieval/trace/?fact={lisbon.pk}",
            "why not": f"/admin/retrieval/trace/{scene.trace.pk}/why/?fact={lisbon.pk}",
            "new key": "/admin/governance/apikey/new/",
            "key": record("governance_apikey", ApiKey.objects.first().pk),
            "account": record("facts_account", scene.account.pk),
            "name": record("facts_identity", IdentityFactory(account=scene.account, subject=scene.ana).pk),
            "action rule": "/admin/ingest/actionrule/rule/commitment-task/",
            "schedules": "/admin/schedules/",
        }
    if look != "light":
        return {**pages, "conflicts": "/admin/facts/conflictset/", "facts": "/admin/facts/fact/"}
    pages |= {"password": "/admin/password_change/", "new target": "/admin/ingest/deliverytarget/new/"}
    lists = ("facts/conflictset", "governance/review", "facts/fact", "facts/event", "retrieval/trace", "facts/subject")
    lists += ("governance/consent", "governance/apikey", "facts/job", "facts/auditentry", "ingest/actionrule")
    return {**pages, **{f"list of {name}": f"/admin/{name}/" for name in lists}}


def _faults(page: Page, *, name: str) -> list[str]:
    """Return what axe finds, and whether the page is wider than the window."""
    found = [
        f"{name}: {violation['id']}: {node['html'][:120]}"
        for violation in Axe().run(page, options=AXE).response["violations"]
        for node in violation["nodes"]
    ]
    if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
        found.append(f"{name}: wider than the window")
    return found


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_every_page_is_accessible_and_fits(page: Page, room: Room, look: str) -> None:
    room.enter(page.context)
    page.set_viewport_size(PHONE if look == "phone" else WIDE)
    page.emulate_media(color_scheme="dark" if look == "dark" else "light")
    faults: list[str] = []
    for name, path in _pages(room, look=look).items():
        room.open(page, path)
        faults += _faults(page, name=name)
    assert faults == []


@pytest.mark.skipif(not PICTURES, reason="pictures are taken by make screenshots")
def test_pictures_are_taken(page: Page, live_server) -> None:
    room = prepare(live_server.url, hostile=False)
    room.enter(page.context)
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    pages = _pages(room, look="light")
    for name in PICTURED:
        room.open(page, pages[name])
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True, caret="initial")


def test_what_superusers_see_without_an_account_is_accessible(page: Page, live_server, client: Client) -> None:
    superuser = UserFactory(username="root", is_staff=True, is_superuser=True)
    client.force_login(superuser)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    page.context.add_cookies([cookie])
    faults: list[str] = []
    for path in ("", "facts/user/", f"facts/user/{superuser.pk}/change/", "facts/user/add/", "django_q/schedule/"):
        page.goto(f"{live_server.url}/admin/{path}")
        faults += _faults(page, name=path)
    assert faults == []


def test_the_way_in_is_accessible(page: Page, live_server) -> None:
    page.goto(f"{live_server.url}/admin/login/")
    assert _faults(page, name="login") == []
