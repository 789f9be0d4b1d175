"""Four people and three scopes: a fact moves up by a request, its subject's yes and a second person, and comes back.

The asker and the decider curate ``/support``; Ada is spoken about in ``/support/emea`` and answers in the portal; the
fourth reads in ``/support`` with a key of their own, through every way of reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect

from facts import embedding
from facts.models import Account, Fact
from facts.tenancy import account_transaction, ensure_scope
from governance.access import Principal, Right
from governance.models import Consent, Promotion, Role
from memory_site import heartbeat
from retrieval.embedders import registry
from tests.admin_scene import sign_in
from tests.factories import AccountFactory, FactFactory, api_key, maker_of, person_in

TOLD = "Ada prefers the early shift."
PLACE = "/support"
#: Milliseconds for one call on a machine that does much else.
PATIENCE = 120_000


class Stage:
    """An account with its four people; each person gets a browser of their own."""

    def __init__(self, address: str, browser: Browser) -> None:
        self.address, self.browser = address, browser
        self.contexts: list[BrowserContext] = []
        self.account: Account = AccountFactory(key="demo", name="Demo")
        with account_transaction(self.account.id):
            emea = ensure_scope(self.account.id, "/support/emea")
            ensure_scope(self.account.id, "/sales")
            self.ada = person_in(self.account, role=Role.READER, path="/support/emea")
            self.asker = person_in(self.account, path="/support")
            self.decider = person_in(self.account, path="/support")
            reader = person_in(self.account, role=Role.READER, path="/support")
            subject = maker_of(self.ada).subject
            self.fact = FactFactory(subject=subject, scope=emea, statement=TOLD, kind="preference")
            self.second = FactFactory(subject=subject, scope=emea, statement="Ada dislikes the late shift.")
            _, self.key = api_key(
                self.account,
                rights=[Right.READ],
                peer=maker_of(reader).subject,
                scope_limit=ensure_scope(self.account.id, PLACE),
            )
        heartbeat.beat()

    def page_of(self, principal: Principal, *, staff: bool) -> Page:
        """Return a page in which this person is signed in."""
        client = Client()
        with account_transaction(self.account.id):
            sign_in(client, principal, staff=staff)
        context = self.browser.new_context()
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": self.address}])
        self.contexts.append(context)
        return context.new_page()

    def open(self, page: Page, path: str) -> None:
        page.goto(self.address + path)

    def in_account(self, read: Callable[[], Any]) -> Any:
        """Return what is read inside the account."""
        with account_transaction(self.account.id):
            return read()

    def read_by_the_fourth(self) -> dict[str, bool]:
        """Return, for each way of reading, whether the fourth person is told the statement at the target."""
        asked = {"scope": PLACE, "subject_id": self.ada_key, "query": "Which shift does Ada prefer?", "purpose": "test"}
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        call = self.contexts[0].request
        told = {}
        for way, path, body in (
            ("context", "/v1/context", asked),
            ("cards", "/v1/context", {**asked, "query": ""}),
            ("search", "/v1/search", asked),
        ):
            answer = call.post(self.address + path, data=body, headers=headers, timeout=PATIENCE)
            assert answer.ok, answer.text()
            told[way] = TOLD in answer.text()
        listed = call.get(
            f"{self.address}/v1/facts?scope={PLACE}&subject_id={self.ada_key}", headers=headers, timeout=PATIENCE
        )
        assert listed.ok, listed.text()
        return {**told, "facts": TOLD in listed.text()}

    @property
    def ada_key(self) -> str:
        return self.in_account(lambda: maker_of(self.ada).subject.key)


@pytest.fixture
def stage(live_server: Any, browser: Browser, settings: Any) -> Iterator[Stage]:
    """The stage, with words alone to find things by: no model has to be loaded."""
    settings.SEARCH_THREADS = 0
    embedding.register(None)
    made = Stage(live_server.url, browser)
    yield made
    for context in made.contexts:
        context.close()
    registry.register()


def ask(stage: Stage, page: Page, fact: Fact) -> None:
    """Ask, as a curator, for a fact to be known in /support."""
    stage.open(page, f"/admin/facts/fact/{fact.pk}/change/")
    page.get_by_text("Let it be known higher up").click()
    page.get_by_label("Scope").select_option(PLACE)
    page.locator("details[open]").get_by_label("Reason").fill("Planning shifts.")
    page.get_by_role("button", name="Ask for it").click()
    expect(page.locator(".messagelist")).to_contain_text("Asked for.")


def test_a_fact_moves_up_and_comes_back(stage: Stage) -> None:
    nobody = dict.fromkeys(("context", "cards", "search", "facts"), False)
    asker = stage.page_of(stage.asker, staff=True)
    decider = stage.page_of(stage.decider, staff=True)
    ada = stage.page_of(stage.ada, staff=False)
    assert stage.read_by_the_fourth() == nobody

    ask(stage, asker, stage.fact)
    promotion = stage.in_account(lambda: Promotion.objects.get())
    review = f"/admin/governance/review/{promotion.review_id}/change/"
    # Before the subject has answered there is nothing to approve, and nobody decides on their own request.
    stage.open(decider, review)
    expect(decider.get_by_text("cannot be approved before")).to_be_visible()
    expect(decider.get_by_role("button", name="Approve", exact=False)).to_be_disabled()
    stage.open(asker, review)
    expect(asker.get_by_role("button", name="Approve", exact=False)).to_be_disabled()
    expect(asker.get_by_text("nobody decides about their own")).to_be_visible()
    assert stage.in_account(lambda: Promotion.objects.get().status) == "requested"
    assert stage.read_by_the_fourth() == nobody

    stage.open(ada, "/me/consents/")
    expect(ada.locator("article.ask")).to_contain_text(TOLD)
    ada.get_by_role("button", name="Agree", exact=True).click()
    expect(ada.get_by_text("Nothing is asked of you.")).to_be_visible()
    assert stage.read_by_the_fourth() == nobody

    stage.open(decider, review)
    expect(decider.locator("section", has_text="To be known in")).to_contain_text("agreed")
    decider.get_by_role("button", name="Approve", exact=False).first.click()
    decider.wait_for_load_state()
    assert stage.in_account(lambda: Promotion.objects.get().status) == "approved"
    assert stage.read_by_the_fourth() == dict.fromkeys(nobody, True)

    stage.open(ada, "/me/consents/")
    ada.get_by_role("button", name="Take it back").click()
    ada.wait_for_load_state()
    assert stage.in_account(lambda: Consent.objects.get().status) == "withdrawn"
    assert stage.read_by_the_fourth() == nobody
    assert stage.in_account(lambda: Fact.objects.get(pk=stage.fact.pk).status) == "active"

    ask(stage, asker, stage.second)
    stage.open(ada, "/me/consents/")
    ada.get_by_role("button", name="Say no").click()
    ada.wait_for_load_state()
    refused = stage.in_account(lambda: Promotion.objects.get(fact=stage.second))
    assert refused.status == "refused"
    stage.open(decider, f"/admin/governance/review/{refused.review_id}/change/")
    expect(decider.get_by_role("button", name="Approve", exact=False)).to_have_count(0)
    assert stage.read_by_the_fourth() == nobody
