"""The portal in a browser: by keyboard, wide and on a phone, light and dark, readable by axe's rules on every page.

With ``MEMORY_SCREENSHOTS`` set to a directory (``make screenshots``) the pictures of the documentation are taken.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from facts.models import Fact
from facts.tenancy import account_transaction, ensure_scope
from facts.vocabulary import Sensitivity, Status
from governance import access
from governance.access import Principal
from governance.models import Consent, Role
from governance.sharing import consents, promotions
from memory_site import heartbeat
from retrieval.context.assembly import ContextRequest, assemble
from tests.admin_scene import ARABIC, HOSTILE
from tests.browser.admin_room import AXE
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    key_principal,
    maker_of,
    person_in,
    say,
)

WIDE, PHONE = {"width": 1360, "height": 900}, {"width": 390, "height": 844}
PICTURES = os.environ.get("MEMORY_SCREENSHOTS", "")
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Home:
    """What is in the account: Ada, and one fact about her that everybody in support is told."""

    ada: Principal
    fact: Fact

    def pages(self) -> dict[str, str]:
        """Return the address of every page, by name."""
        names = ("facts", "messages", "reads", "consents", "export", "erase")
        return {"overview": "/me/", **{name: f"/me/{name}/" for name in names}, "fact": f"/me/facts/{self.fact.pk}/"}


def furnish(*, hostile: bool) -> Home:
    """Fill an account as if it had been used for some months."""
    heartbeat.beat()
    account = AccountFactory(key="demo", name="Northwind Support")
    with account_transaction(account.id):
        ada, bea, carl = (_member(account, name) for name in ("Ada Lima", "Bea Okafor", "Carl Nowak"))
        subject = maker_of(ada).subject
        support = ensure_scope(account.id, "/support")
        in_channel = {"channel_name": "#shifts", "source_type": "channel_message", "scope": support}

        def known(statement: str, said: str, at, **fields) -> Fact:
            event = say(subject, said, occurred_at=at, **in_channel)
            return FactFactory(
                subject=subject, scope=support, statement=statement, event=event, valid_from=at, **fields
            )

        known("Ada Lima lived in Lisbon.", "I moved to Lisbon!", JANUARY, status=Status.SUPERSEDED)
        mornings = known("Ada Lima prefers early shifts.", "Give me the early shifts, I like them.", MARCH)
        fact = known(
            "Ada Lima leads the returns team.",
            "From May on I lead the returns team, so send those tickets to me.",
            MAY,
            sensitivity=Sensitivity.INTERNAL,
            extractor_provider="rules",
        )
        promise = "Ada Lima promised the new rota by Friday."
        known(promise, "You will have the rota by Friday.", JULY, category="commitment", status=Status.HELD)
        guitar = known("Ada Lima plays the guitar in a band.", "Our band plays on Saturday, I am on guitar.", MAY)
        bob = SubjectFactory(account=account, key="bob", name="Bob Stone")
        FactFactory(
            subject=subject,
            scope=support,
            statement="Ada Lima is allergic to nuts.",
            event=say(bob, "No nuts for Ada, she is allergic."),
        )
        if hostile:
            known(HOSTILE, HOSTILE, JULY)
            known(ARABIC, ARABIC, JULY)
        for wanted, reason in ((mornings, "Planning the shifts of all teams."), (guitar, "For the summer party.")):
            promotions.request_promotion(bea, fact_id=wanted.id, target="/", reason=reason)
        consents.grant(ada, Consent.objects.get(fact=guitar).pk)
        planner = key_principal(account, label="Shift planner")
        for asker, query in ((planner, "Who leads the returns team?"), (carl, "Which team does Ada lead?")):
            asked = ContextRequest(
                scope_path="/support", exact=True, subject_key=subject.key, query=query, purpose="planning shifts"
            )
            assemble(principal=asker, request=asked)
    return Home(ada=ada, fact=fact)


def _member(account, name: str) -> Principal:
    person = person_in(account, role=Role.CURATOR if name.startswith("Bea") else Role.READER)
    member = maker_of(person)
    first, last = name.split()
    member.user.username, member.user.first_name, member.user.last_name = first.lower(), first, last
    member.user.save()
    member.subject.key, member.subject.name = first.lower(), name
    member.subject.save()
    return access.person(member)


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


def _sign_in(page: Page, address: str) -> None:
    page.goto(f"{address}/me/")
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("What is remembered about you")


def test_the_whole_portal_by_keyboard_wide_and_on_a_phone(page: Page, live_server) -> None:
    home = furnish(hostile=True)
    page.set_viewport_size(PHONE)
    page.goto(f"{live_server.url}/me/login/")
    faults = _faults(page, name="sign in")
    _sign_in(page, live_server.url)
    for look, size, scheme in (("wide", WIDE, "light"), ("phone", PHONE, "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        for name, address in home.pages().items():
            page.goto(live_server.url + address)
            for summary in page.locator("summary").all():
                summary.click()
            faults += _faults(page, name=f"{name}, {look}")
    assert faults == []
    assert page.title() != "owned"

    page.goto(live_server.url + home.pages()["fact"])
    page.get_by_text("It is wrong", exact=True).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Bea leads it now.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Contested.")

    page.get_by_role("link", name="Your consent").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Agree", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("You agreed.")
    expect(page.get_by_text("Nothing is asked of you.")).to_be_visible()

    page.goto(f"{live_server.url}/me/export/")
    with page.expect_download() as download:
        page.get_by_role("link", name="To read").click()
    copy = download.value.path()
    assert "Ada Lima prefers early shifts." in Path(copy).read_text()

    page.goto(f"{live_server.url}/me/erase/?erasure=strict")
    page.get_by_role("textbox").focus()
    page.keyboard.type("ada")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Receipt")
    faults = _faults(page, name="receipt")
    page.get_by_role("link", name="What is known").click()
    expect(page.get_by_text("Nothing is known about you.")).to_be_visible()
    assert faults == []


@pytest.mark.skipif(not PICTURES, reason="pictures are taken by make screenshots")
def test_pictures_of_the_portal_are_taken(page: Page, live_server) -> None:
    home = furnish(hostile=False)
    page.emulate_media(color_scheme="light")
    _sign_in(page, live_server.url)
    wanted = {"portal-fact": (home.pages()["fact"], WIDE), "portal-consents": ("/me/consents/", WIDE)}
    wanted |= {"portal-overview": ("/me/", WIDE), "portal-facts-phone": ("/me/facts/", PHONE)}
    for name, (address, size) in wanted.items():
        page.set_viewport_size(size)
        page.goto(live_server.url + address)
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True, caret="initial")
