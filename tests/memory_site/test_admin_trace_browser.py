"""The trace browser: finding reads by everything at once, walking through what was found, and what a page shows."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts.clock import now
from facts.ids import new_id
from facts.models import Account, Fact
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity
from governance import forgetting
from governance.models import Role
from memory_site.admin_pages import trace_display
from retrieval.context.packet import EmptyReason
from retrieval.models import Trace
from retrieval.traces import finding
from tests.admin_scene import Scene, build, sign_in
from tests.factories import FactFactory, person_in

LISTED = reverse("admin:retrieval_trace_changelist")


@pytest.fixture
def scene(account: Account) -> Scene:
    return build(account, hostile=False)


@pytest.fixture
def signed_in(scene: Scene) -> Client:
    return sign_in(Client(), scene.curator)


def _page(trace: Trace, **query: str) -> str:
    return reverse("admin:retrieval_trace_change", args=[trace.pk])


def _found(signed_in: Client, **typed: str) -> list[Trace]:
    return list(signed_in.get(LISTED, typed).context["cl"].result_list)


def _copied(trace: Trace, **fields) -> Trace:
    """Write another trace like one that a read left."""
    copy = Trace.objects.get(pk=trace.pk)
    for name, value in {"id": new_id(), **fields}.items():
        setattr(copy, name, value)
    copy.save(force_insert=True)
    return copy


def test_what_is_typed_holds_together_and_stays_in_the_form(scene: Scene, signed_in: Client) -> None:
    ensure_scope(scene.account.id, "/support/emea")
    other = _copied(scene.trace, purpose="board", status="ok", scope_path="/support/emea")
    assert _found(signed_in, purpose="board") == [other]
    assert _found(signed_in, scope="/support/emea", by="support app", kind="context", status="ok") == [other]
    assert _found(signed_in, purpose="board", status="degraded") == []
    assert other in _found(signed_in, scope="/support", subject="ana", served="facts", reason="conflict_open")
    assert _found(signed_in, subject="omar") == []
    page = signed_in.get(LISTED, {"purpose": "board", "from": "2020-01-01"}).content.decode()
    assert 'name="purpose" value="board"' in page
    assert 'name="from" value="2020-01-01"' in page


def test_the_reads_that_considered_a_fact_are_found_from_it_and_back(scene: Scene, signed_in: Client) -> None:
    lisbon = Fact.objects.get(statement__contains="Lisbon")
    untouched = FactFactory(subject=scene.ana)
    assert _found(signed_in, fact=str(lisbon.pk))[0] == scene.trace
    assert _found(signed_in, fact=str(untouched.pk)) == []
    fact_page = signed_in.get(reverse("admin:facts_fact_change", args=[lisbon.pk]))
    reads = fact_page.context["reads"].reads
    assert (reads[0].trace, reads[0].action, reads[0].reason) == (scene.trace, "blocked", "conflict open")
    assert f"{LISTED}?fact={lisbon.pk}" in fact_page.content.decode()
    assert reverse("admin:facts_fact_change", args=[lisbon.pk]) in signed_in.get(_page(scene.trace)).content.decode()


@pytest.mark.parametrize(
    "typed",
    [{"fact": "nonsense"}, {"from": "31.3.2025"}, {"to": "2025-02-31"}, {"from": "0001-01-01"}, {"before": "x"}],
)
def test_what_cannot_be_read_is_said_and_finds_nothing(scene: Scene, signed_in: Client, typed: dict[str, str]) -> None:
    page = signed_in.get(LISTED, typed)
    assert list(page.context["cl"].result_list) == []
    assert page.context["reads"].problem
    assert page.context["reads"].problem in page.content.decode()


def test_older_reads_are_found_further_back(scene: Scene, signed_in: Client) -> None:
    then = now() - timedelta(days=9)
    old = _copied(scene.trace, id=uuid.UUID(int=finding.lower_bound(then).int + 1), created_at=then)
    assert old not in _found(signed_in)
    page = signed_in.get(LISTED)
    further = signed_in.get(LISTED + page.context["reads"].further_back)
    assert list(further.context["cl"].result_list) == [old]
    assert further.context["reads"].newest == "?_all"
    assert old in _found(signed_in, **{"from": f"{then:%Y-%m-%d}"})


def test_one_walks_through_what_was_found(scene: Scene, signed_in: Client) -> None:
    first, second, third = _found(signed_in, reason="conflict_open")
    page = signed_in.get(_page(second), {"_changelist_filters": "reason=conflict_open"})
    assert (page.context["place"], len(page.context["queue"].ids)) == (2, 3)
    assert page.context["previous_address"] == f"{_page(first)}?_changelist_filters=reason%3Dconflict_open"
    assert page.context["following_address"] == f"{_page(third)}?_changelist_filters=reason%3Dconflict_open"


def test_the_packet_is_shown_as_the_model_saw_it(scene: Scene, signed_in: Client) -> None:
    told = signed_in.get(_page(scene.trace)).context["told"]
    assert told.is_whole
    lines = told.text.splitlines()
    assert (lines[0], lines[-1]) == ("<memory>", "</memory>")
    assert "- Ana Lima speaks Portuguese. (2025-01-12)" in lines
    forgetting.disable(scene.curator, fact_id=Fact.objects.get(statement__contains="speaks Portuguese").pk)
    again = signed_in.get(_page(scene.trace)).context["told"]
    assert not again.is_whole
    assert again.gone >= 1
    assert "Portuguese" not in again.text


def test_somebody_else_sees_of_a_packet_what_they_may_read(account: Account, scene: Scene) -> None:
    reader = person_in(account, role=Role.READER)
    mine = _copied(scene.trace, credential_id=reader.pk)
    page = sign_in(Client(), reader).get(_page(mine))
    told = page.context["told"]
    assert (told.pieces, told.is_whole) == (0, False)
    assert "Ana Lima speaks" not in page.content.decode()


def test_the_budget_says_what_was_used_and_what_did_not_fit(scene: Scene, signed_in: Client) -> None:
    fact = FactFactory(subject=scene.ana, statement="Ana Lima sings for a very long time.")
    decisions = [*scene.trace.decisions, ["fact", str(fact.pk), "over_budget", 1, 9, None, None, 0.1, 0.2, 890]]
    trace = _copied(scene.trace, decisions=decisions)
    budget = signed_in.get(_page(trace)).context["budget"]
    assert (budget.used, budget.left) == (trace.tokens, 900 - trace.tokens)
    assert sum(segment.value for segment in budget.segments) == trace.tokens
    assert [row["tokens"] for row in budget.missed] == [890]


def test_parts_of_scores_add_up_to_them(scene: Scene, signed_in: Client) -> None:
    page = signed_in.get(_page(scene.trace))
    assert page.context["score_parts"]
    rows = [row for _, rows in page.context["groups"] for row in rows]
    assert len(rows) > 8
    for row in rows:
        assert sum(segment.value for segment in row["bar"]) == pytest.approx(row["fusion_score"], abs=0.002)
    assert {row["rank"] for row in rows if row["action"] == "blocked"}
    assert sum(len(group["rows"]) for group in page.context["blocked"]) == scene.trace.withheld


def test_why_not_is_asked_by_words(scene: Scene, signed_in: Client) -> None:
    ask = reverse("admin:trace_why", args=[scene.trace.pk])
    FactFactory(subject=scene.ana, statement="Ana Lima sings in a choir.")
    secret = FactFactory(subject=scene.ana, statement="Ana Lima sings badly.", sensitivity=Sensitivity.RESTRICTED)
    page = signed_in.get(ask, {"fact": "sings"})
    assert [fact.statement for fact in page.context["offered"]] == ["Ana Lima sings in a choir."]
    assert str(secret.pk) not in page.content.decode()
    (only,) = page.context["offered"]
    answer = signed_in.get(ask, {"fact": str(only.pk)})
    assert answer.context["found"].fact == only


def test_a_read_of_many_candidates_costs_what_one_of_few_costs(scene: Scene, signed_in: Client) -> None:
    facts = [FactFactory(subject=scene.ana) for _ in range(24)]
    ids = [str(fact.pk) for fact in facts] + [str(uuid.uuid4()) for _ in range(232)]
    rows = [["fact", one, "top_score", 1, rank, 0.5, 0.1, 0.2, 0.3, 3] for rank, one in enumerate(ids, start=1)]
    few, many = (_copied(scene.trace, decisions=rows[:count], considered=count) for count in (4, 256))
    costs = []
    for trace in (few, few, many):
        with CaptureQueriesContext(connection) as queries:
            assert signed_in.get(_page(trace)).status_code == 200
        costs.append(len(queries))
    assert costs[1] == costs[2]
    assert costs[1] <= 40, costs


def test_the_list_costs_the_same_however_it_is_filtered(scene: Scene, signed_in: Client) -> None:
    lisbon = Fact.objects.get(statement__contains="Lisbon")
    costs = {}
    for typed in ({}, {"fact": str(lisbon.pk)}, {"reason": "conflict_open", "purpose": "support", "served": "facts"}):
        with CaptureQueriesContext(connection) as queries:
            assert signed_in.get(LISTED, typed).status_code == 200
        costs[str(typed)] = len(queries)
    assert max(costs.values()) <= 24, costs


def test_a_read_that_served_nothing_says_what_to_do_about_it(scene: Scene, signed_in: Client) -> None:
    nothing = {"facts_served": 0, "passages_served": 0, "decisions": [], "reasons": {}}
    for reason in EmptyReason:
        page = signed_in.get(_page(_copied(scene.trace, empty_reason=reason, **nothing)))
        assert page.context["next_step"] == trace_display.NEXT[reason]
        assert "Why it is empty, and what to do" in page.text
    assert "Why it is empty" not in signed_in.get(_page(scene.trace)).text
    form = signed_in.get(page.context["playground_address"]).context["form"]
    asked = {name: form[name].value() for name in ("query", "scope", "subject", "call")}
    assert asked == {"query": scene.trace.query, "scope": "/support", "subject": "ana", "call": "context"}
    about = signed_in.get(page.context["facts_address"]).context["cl"].result_list
    assert {fact.subject_id for fact in about} == {scene.ana.id}
    long = signed_in.get(_page(_copied(scene.trace, query="Why? " * 1_000))).context["playground_address"]
    assert not signed_in.get(long).context["form"]["query"].value()
