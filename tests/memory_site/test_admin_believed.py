"""The page on what was believed about somebody at an earlier time, who had decided it, and to whom it was served."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts import lifecycle
from facts.actors import sweeper
from facts.clock import now
from facts.models import Account, ConflictSet, Subject
from facts.vocabulary import Status
from governance import forgetting
from governance.models import GateDecision, Role
from memory_site.admin_pages import believed, sight
from memory_site.admin_pages.believed import Belief
from retrieval.context.assembly import ContextRequest, assemble
from tests.admin_scene import sign_in
from tests.factories import (
    JULY,
    AccountFactory,
    FactFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    key_principal,
    person_in,
    submit,
    unknown_id,
)


@pytest.fixture
def curator(account: Account, client: Client):
    """A curator of the account, signed in."""
    principal = person_in(account)
    sign_in(client, principal)
    return principal


def _page(client: Client, subject: Subject, at: str = "") -> dict[str, Belief]:
    page = client.get(reverse("admin:believed", args=[subject.pk]), {"at": at} if at else {})
    assert page.status_code == 200
    return {belief.fact.statement: belief for belief in page.context["beliefs"]}


def test_a_fact_is_shown_as_it_stood_with_who_had_decided(account: Account, client: Client, curator) -> None:
    ana = SubjectFactory(account=account)
    placed = submit(ana, {"city": "Lisbon"}, statement="Ana lives in Lisbon.")
    between = now()
    lifecycle.transition(
        placed.fact_id, account_id=account.id, to=Status.EXPIRED, actor=sweeper("test"), action="fact.expired"
    )
    then = _page(client, ana, between.isoformat())["Ana lives in Lisbon."]
    assert (then.then.status, then.then.action, then.is_current) == (Status.ACTIVE, "gate.accepted", True)
    assert [(decision.gate, decision.outcome) for decision in then.decisions] == [("A", "pass"), ("B", "pass")]
    today = _page(client, ana)["Ana lives in Lisbon."]
    assert (today.then.status, today.then.actor["name"], today.is_current) == (Status.EXPIRED, "test", False)
    assert _page(client, ana, "2020-01-01") == {}


def test_only_what_the_gates_had_said_by_then(account: Account, client: Client, curator) -> None:
    ana = SubjectFactory(account=account)
    placed = submit(ana, {"city": "Lisbon"}, statement="Ana lives in Lisbon.")
    between = now()
    for gate in ("A", "B"):
        GateDecision.objects.create(account=account, fact_id=placed.fact_id, gate=gate, outcome="reject")
    then = _page(client, ana, between.isoformat())["Ana lives in Lisbon."]
    assert [decision.outcome for decision in then.decisions] == ["pass", "pass"]
    today = _page(client, ana)["Ana lives in Lisbon."]
    assert [decision.outcome for decision in today.decisions] == ["reject", "reject"]


def test_what_a_conflict_withheld_was_not_current(account: Account, client: Client, curator) -> None:
    ana = SubjectFactory(account=account)
    submit(ana, {"city": "Lisbon"}, statement="Ana lives in Lisbon.")
    before = now()
    submit(ana, {"city": "Porto"}, statement="Ana lives in Porto.")
    assert ConflictSet.objects.count() == 1
    assert _page(client, ana, before.isoformat())["Ana lives in Lisbon."].is_current
    today = _page(client, ana)
    assert {name: belief.in_conflict for name, belief in today.items()} == {
        "Ana lives in Lisbon.": True,
        "Ana lives in Porto.": True,
    }
    assert not any(belief.is_current for belief in today.values())


def test_the_reads_that_served_it_until_then(account: Account, client: Client, curator) -> None:
    ana = SubjectFactory(account=account, key="ana")
    submit(ana, {"city": "Lisbon"}, statement="Ana lives in Lisbon.")
    app = key_principal(account, label="shop", peer=ana)

    def read() -> None:
        asked = {"scope_path": "/support", "exact": True, "subject_key": "ana"}
        assemble(principal=app, request=ContextRequest(query="Does Ana live in Lisbon?", **asked))

    read()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.01)")
    between = now()
    read()
    assert len(_page(client, ana, between.isoformat())["Ana lives in Lisbon."].served) == 1
    served = _page(client, ana, (now() + timedelta(seconds=1)).isoformat())["Ana lives in Lisbon."].served
    assert [trace.credential_name for trace in served] == ["shop", "shop"]


def test_what_is_forgotten_today_is_shown_for_no_time(account: Account, client: Client, curator) -> None:
    ana = SubjectFactory(account=account)
    fact = FactFactory(subject=ana, statement="Ana likes tea.")
    before = now()
    forgetting.disable(curator, fact_id=fact.pk)
    page = client.get(reverse("admin:believed", args=[ana.pk]), {"at": before.isoformat()})
    assert page.context["beliefs"] == []
    assert b"Ana likes tea." not in page.content


def test_a_curator_of_one_scope_reads_of_that_scope(account: Account, client: Client) -> None:
    ana = SubjectFactory(account=account)
    FactFactory(subject=ana, statement="Ana likes tea.")
    sign_in(client, person_in(account, path="/sales"))
    # Nothing is known of her there, so nobody there learns that she is known elsewhere.
    assert client.get(reverse("admin:believed", args=[ana.pk])).status_code == 404
    FactFactory(subject=ana, scope=ScopeFactory(account=account, path="/sales"), statement="Ana buys tea.")
    assert list(_page(client, ana)) == ["Ana buys tea."]


def test_who_may_ask(account: Account, client: Client, curator) -> None:
    other = AccountFactory()
    with entered(other):
        foreign = SubjectFactory(account=other)
    for pk in (foreign.pk, unknown_id()):
        assert client.get(reverse("admin:believed", args=[pk])).status_code == 404
    ana = SubjectFactory(account=account)
    sign_in(client, person_in(account, role=Role.READER))
    assert client.get(reverse("admin:believed", args=[ana.pk])).status_code == 403


@pytest.mark.parametrize("at", ["soon", "2026-03-01T09:00", "2026-13-01", "<script>"])
def test_what_is_no_time_is_said(account: Account, client: Client, curator, at: str) -> None:
    ana = SubjectFactory(account=account)
    page = client.get(reverse("admin:believed", args=[ana.pk]), {"at": at})
    assert (page.status_code, page.context["beliefs"]) == (422, [])
    assert b"<script>" not in page.content.split(b"<form", 1)[1].split(b"</form>", 1)[0]


def test_it_costs_the_same_for_any_number_of_facts(account: Account, curator) -> None:
    ana = SubjectFactory(account=account)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            believed.beliefs(sight.Sight(curator), ana, now())
        return len(captured)

    FactFactory(subject=ana, valid_from=JULY)
    few = queries()
    for _ in range(4):
        FactFactory(subject=ana)
    assert queries() == few
