from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.db import OperationalError
from psycopg.errors import QueryCanceled

from facts.models import IndexedUnit, Relation, Subject
from facts.vocabulary import RelationKind
from retrieval.ask import asking, tools
from retrieval.ask.asking import AskAnswer
from retrieval.ask.effort import EFFORTS, Effort
from retrieval.ask.evidence import BASE, Evidence, EvidenceKey
from retrieval.ask.planner import Admission, Plan, admit, gather
from retrieval.ask.tools import Tool
from retrieval.models import Trace
from retrieval.search.searching import search
from tests.factories import MAY, FactFactory, say
from tests.retrieval.ask.conftest import texts, worded

QUESTION = "Where does Ana live?"
#: What the high effort does with sources, in its order.
ALL_CALLS = [
    (1, "profile", "Where does Ana live?"),
    (1, "source_exact", "Ana or live"),
    (1, "source_semantic", "Where does Ana live?"),
    (2, "knowledge", "said about Ana live"),
    (2, "lineage", "Where does Ana live?"),
    (2, "source_exact", "said about Ana live"),
    (3, "knowledge", "Ana or live"),
    (3, "source_semantic", "said about Ana live"),
    (3, "lineage", "said about Ana live"),
]


def piece(text: str, *, origin: str = BASE, unit: IndexedUnit = IndexedUnit.FACT) -> Evidence:
    return Evidence(key=EvidenceKey(unit, uuid.uuid5(uuid.NAMESPACE_URL, f"{unit}{text}")), text=text, origin=origin)


def pieces(number: int, *, origin: str = BASE) -> list[Evidence]:
    return [piece(f"{origin} {position}", origin=origin) for position in range(number)]


@dataclass
class Tools:
    """Stands in for the toolbox: finds what the test says, by tool, and keeps what it was asked."""

    finds: dict[Tool, list[Evidence]] = field(default_factory=dict)
    fails: dict[Tool, Exception] = field(default_factory=dict)
    asked: list[tuple[Tool, str]] = field(default_factory=list)
    offered: Callable[[], Sequence[Evidence]] = tuple

    def run(self, tool: Tool, query: str, *, seconds: float) -> list[Evidence]:
        assert seconds > 0
        self.asked.append((tool, query))
        if tool in self.fails:
            raise self.fails[tool]
        return self.finds.get(tool, [])


def run(
    tools: Tools,
    *,
    effort: Effort | str = "high",
    base: Sequence[Evidence] = (),
    question: str = QUESTION,
    with_sources: bool = True,
) -> tuple[list[Evidence], Plan]:
    chosen = EFFORTS[effort] if isinstance(effort, str) else effort
    toolbox: Any = tools
    return gather(
        base, question=question, head=chosen.head(12), effort=chosen, toolbox=toolbox, with_sources=with_sources
    )


@pytest.mark.parametrize(
    ("effort", "started", "provider_calls", "exhausted"),
    [
        ("low", 2, 1, ("iterations", "tool_calls")),
        ("medium", 5, 3, ("iterations", "tool_calls")),
        ("high", 8, 5, ("tool_calls",)),
    ],
)
def test_each_effort_stops_at_its_calls_and_iterations(
    effort: str, started: int, provider_calls: int, exhausted: tuple[str, ...]
) -> None:
    tools = Tools()
    _, plan = run(tools, effort=effort)
    assert tools.asked == [(tool, query) for _, tool, query in ALL_CALLS[:started]]
    assert plan.tool_calls == EFFORTS[effort].tool_calls == started + 1
    assert plan.provider_calls == provider_calls <= EFFORTS[effort].provider_calls
    assert plan.iterations == EFFORTS[effort].iterations
    assert plan.exhausted == exhausted
    assert [(call.iteration, call.tool) for call in plan.calls] == [
        (iteration, tool) for iteration, tool, _ in ALL_CALLS if iteration <= plan.iterations
    ]
    assert [call.outcome for call in plan.calls[:started]] == ["empty"] * started
    assert {call.outcome for call in plan.calls[started:]} == {"not_started"}


def test_without_permission_no_source_is_looked_for() -> None:
    for effort in EFFORTS:
        tools = Tools()
        _, plan = run(tools, effort=effort, with_sources=False)
        assert {call.tool for call in plan.calls} <= {"profile", "knowledge", "lineage"}
        assert {tool for tool, _ in tools.asked} <= {"profile", "knowledge", "lineage"}


def test_the_same_call_is_made_once() -> None:
    tools = Tools()
    _, plan = run(tools, question="Where?", with_sources=False)
    # A question without words of its own: refined and refined again it is the same.
    assert [(call.tool, call.outcome) for call in plan.calls] == [
        ("profile", "empty"),
        ("knowledge", "empty"),
        ("lineage", "empty"),
        ("lineage", "empty"),
    ]
    again = Tools()
    _, plan = run(again, question="said about ana", with_sources=False)
    assert [(call.tool, call.outcome) for call in plan.calls][1:3] == [("knowledge", "empty"), ("lineage", "empty")]
    repeated = Tools()
    _, plan = run(repeated, question="Ana", with_sources=False)
    # The search for the exact words is the question's own.
    assert ("knowledge", "repeated") in [(call.tool, call.outcome) for call in plan.calls]
    assert (Tool.KNOWLEDGE, "Ana") not in repeated.asked


def test_what_the_page_holds_is_no_discovery() -> None:
    base = pieces(3)
    fresh = piece("fresh", origin="knowledge")
    same_words = replace(piece("elsewhere"), text="BASE  1")
    tools = Tools(finds={Tool.KNOWLEDGE: [*base, same_words, fresh], Tool.LINEAGE: [fresh]})
    found, plan = run(tools, base=base)
    assert found == [fresh]
    assert [(call.found, call.new) for call in plan.calls if call.tool == "knowledge"] == [(5, 1), (5, 0)]
    assert [(call.found, call.new) for call in plan.calls if call.tool == "lineage"] == [(1, 0), (0, 0)]


def test_tools_see_what_was_found_before_them() -> None:
    base, fresh = pieces(1), piece("fresh", origin="knowledge")
    tools = Tools(finds={Tool.KNOWLEDGE: [fresh]})
    run(tools, base=base)
    assert tools.offered() == [*base, fresh]


def test_a_bound_on_items_cuts_a_flood() -> None:
    effort = replace(EFFORTS["high"], items=3)
    tools = Tools(finds={Tool.PROFILE: pieces(5, origin="profile")})
    found, plan = run(tools, effort=effort)
    assert texts(found) == ["profile 0", "profile 1", "profile 2"]
    assert plan.exhausted == ("items",)
    assert tools.asked == [(Tool.PROFILE, QUESTION)]


def test_a_bound_on_time_stops_what_has_not_begun() -> None:
    tools = Tools()
    _, plan = run(tools, effort=replace(EFFORTS["high"], seconds=0.0))
    assert (tools.asked, plan.exhausted, plan.tool_calls) == ([], ("elapsed",), 1)


def test_a_bound_on_query_tokens_counts_every_query() -> None:
    # 20 bytes are 5 tokens; "Ana or live" is 3, "said about Ana live" 5.
    tools = Tools()
    _, plan = run(tools, effort=replace(EFFORTS["high"], query_tokens=13))
    assert tools.asked == [(Tool.PROFILE, QUESTION), (Tool.SOURCE_EXACT, "Ana or live")]
    assert (plan.query_tokens, plan.exhausted) == (13, ("query_tokens",))


def test_a_bound_on_provider_calls_lets_the_others_run() -> None:
    tools = Tools()
    _, plan = run(tools, effort=replace(EFFORTS["high"], provider_calls=1))
    assert {tool for tool, _ in tools.asked} == {"profile", "source_exact", "lineage"}
    assert (plan.provider_calls, plan.exhausted) == (1, ("provider_calls",))


def test_a_bound_on_evidence_stops_looking_for_more() -> None:
    tools = Tools(finds={Tool.PROFILE: [piece("x" * 400, origin="profile")]})
    _, plan = run(tools, effort=replace(EFFORTS["high"], evidence_tokens=60))
    assert (tools.asked, plan.exhausted) == ([(Tool.PROFILE, QUESTION)], ("evidence_tokens",))


def test_the_head_that_stays_counts_as_evidence_from_the_start() -> None:
    base = pieces(12)
    kept = sum(item.tokens for item in base[:8])
    for ceiling, asked in ((kept, []), (kept + 1, [(Tool.PROFILE, QUESTION)])):
        tools = Tools()
        _, plan = run(tools, base=base, effort=replace(EFFORTS["medium"], evidence_tokens=ceiling))
        assert tools.asked[:1] == asked
        assert ("evidence_tokens" in plan.exhausted) == (not asked)


def test_a_tool_that_is_too_slow_takes_nothing_with_it() -> None:
    late = OperationalError()
    late.__cause__ = QueryCanceled()
    tools = Tools(fails={Tool.PROFILE: late}, finds={Tool.LINEAGE: [piece("fresh", origin="lineage")]})
    found, plan = run(tools)
    assert texts(found) == ["fresh"]
    assert plan.calls[0].outcome == "timeout"
    with pytest.raises(OperationalError):
        run(Tools(fails={Tool.PROFILE: OperationalError()}))


@pytest.mark.parametrize(
    ("effort", "limit", "head"),
    [
        ("low", 12, 12), ("medium", 12, 8), ("high", 12, 6),
        ("low", 1, 1), ("medium", 1, 0), ("high", 1, 0), ("medium", 2, 1), ("high", 50, 25),
    ],
)  # fmt: skip
def test_the_head_that_is_kept(effort: str, limit: int, head: int) -> None:
    assert EFFORTS[effort].head(limit) == head


def test_new_evidence_stands_between_head_and_tail() -> None:
    base, new = pieces(12), pieces(3, origin="knowledge")
    for head, expected in ((12, base), (8, [*base[:8], *new, base[8]]), (6, [*base[:6], *new, *base[6:9]])):
        admission = admit(base, new, limit=12, head=head, tokens=16_000)
        assert list(admission.offered) == expected
        assert set(admission.offered) | set(admission.left_out) == {*base, *new}
        assert admission.tokens == sum(item.tokens for item in admission.offered)


def test_a_short_page_leaves_room_for_new_evidence() -> None:
    base, new = pieces(2), pieces(3, origin="profile")
    assert list(admit(base, new, limit=12, head=12, tokens=16_000).offered) == [*base, *new]


def test_evidence_that_would_cross_the_ceiling_is_left_out_and_shorter_may_follow() -> None:
    short, long, last = piece("a"), piece("b" * 2_000), piece("c")
    admission = admit([short, long, last], [], limit=12, head=12, tokens=short.tokens + last.tokens)
    assert admission == Admission(
        offered=(short, last), left_out=(long,), tokens=short.tokens + last.tokens, over_tokens=True
    )
    assert admit([long], [], limit=12, head=12, tokens=long.tokens).over_tokens is False


def test_tokens_are_a_quarter_of_the_bytes() -> None:
    fact = piece("Lyon")
    assert fact.tokens == -(
        -len(b'{"number":99,"kind":"fact","statement":"Lyon","valid_from":null,"valid_to":null}') // 4
    )
    assert piece("里昂" * 4).tokens == fact.tokens + 5


def test_diagnostics_hold_no_text(ana: Subject, question: Callable[..., AskAnswer]) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.", predicate="home_city", value={"value": "Lyon"})
    answer = question("Where does Ana live?", effort="medium", include_source_recall=True)
    recall = answer.recall
    assert recall is not None
    calls = recall["calls"]
    assert [(call["tool"], call["outcome"], call["found"], call["new"]) for call in calls] == [
        ("profile", "completed", 1, 0),
        ("source_exact", "completed", 1, 1),
        ("source_semantic", "completed", 1, 0),
        ("knowledge", "completed", 1, 0),
        ("lineage", "empty", 0, 0),
        ("source_exact", "not_started", 0, 0),
    ]
    assert all(re.fullmatch("[0-9a-f]{12}", call["query_digest"]) for call in calls)
    assert calls[0]["query_digest"] == calls[2]["query_digest"] == calls[4]["query_digest"]
    figures = {name: recall[name] for name in recall if name not in {"calls", "elapsed_ms", "evidence_tokens"}}
    assert figures == {
        "effort": "medium",
        "playbook": "direct",
        "profile_version": answer.base.profile_version,
        "iterations": 2,
        "tool_calls": 6,
        "provider_calls": 3,
        "query_tokens": 28,
        "base_count": 1,
        "new_count": 1,
        "admitted_count": 2,
        "admitted_new_count": 1,
        "exhausted_bounds": ["iterations", "tool_calls"],
    }
    assert recall["evidence_tokens"] == sum(item.tokens for item in answer.offered)
    assert "Lyon" not in str(recall)
    assert "live" not in str(recall)
    kept = Trace.objects.get().request["recall"]
    assert "calls" not in kept
    assert kept["exhausted_bounds"] == ["iterations", "tool_calls"]


def test_tools_search_by_the_same_profile_and_within_their_time(
    ana: Subject, question: Callable[..., AskAnswer], monkeypatch: pytest.MonkeyPatch
) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    asked: list[tuple[str, int, tuple[str, ...], bool]] = []

    def looking(*, request: Any, profile: Any, **rest: Any) -> Any:
        asked.append((profile.name, profile.deadline_ms, request.units, rest["kind"] is None))
        return search(request=request, profile=profile, **rest)

    monkeypatch.setattr(tools, "search", looking)
    question(profile="balanced", effort="high", include_source_recall=True)
    assert [(name, units, untraced) for name, _, units, untraced in asked] == [
        ("source_exact", ("passage",), True),
        ("source_semantic", ("passage",), True),
        ("balanced", ("fact",), True),
        ("source_exact", ("passage",), True),
        ("balanced", ("fact",), True),
        ("source_semantic", ("passage",), True),
    ]
    assert [deadline for _, deadline, _, _ in asked] == [300] * 6
    monkeypatch.setattr(asking, "EFFORTS", {"high": replace(EFFORTS["high"], seconds=0.1)})
    asked.clear()
    question(profile="balanced", effort="high", include_source_recall=True)
    assert all(deadline <= 100 for _, deadline, _, _ in asked)


def test_lineage_selects_what_the_evidence_rests_on(ana: Subject, question: Callable[..., AskAnswer]) -> None:
    deduced = FactFactory(subject=ana, statement="Ana lives in France.")
    premise = FactFactory(subject=ana, statement="Bellecour is where the metro is taken.")
    Relation.objects.create(account=ana.account, source=deduced, target=premise, kind=RelationKind.DERIVED_FROM)
    for city in ("Lyon", "Nice"):
        FactFactory(subject=ana, statement=f"{city} in France.")
    assert premise.id not in {item.key.id for item in question("France?", limit=3).offered}
    planned = question("France?", limit=3, effort="medium")
    assert [(item.text, item.origin) for item in planned.offered][2] == (premise.statement, "lineage")
    assert premise.id not in {found.id for found in planned.base.results}


def test_the_profile_selects_what_the_question_asks_for(ana: Subject, question: Callable[..., AskAnswer]) -> None:
    FactFactory(subject=ana, statement="Ana works as a nurse.", predicate="occupation", value={"value": "nurse"})
    FactFactory(subject=ana, statement="Ana is in Lyon.", predicate="home_city", value={"value": "Lyon"})
    for number in range(3):
        FactFactory(subject=ana, statement=f"The job board has the profession number {number}.", valid_from=MAY)
    answer = question("Which job or profession?", effort="high", limit=3)
    assert ("Ana works as a nurse.", "profile") in [(item.text, item.origin) for item in answer.offered]
    assert "Ana is in Lyon." not in texts(answer.offered)


def test_what_was_said_is_cited_as_what_it_is(ana: Subject, question: Callable[..., AskAnswer], model: Any) -> None:
    event = say(ana, "The harbour tour starts at nine.")
    model(worded(1))
    answer = question("harbour tour", effort="low", include_source_recall=True)
    (cited,) = answer.verdict.cited
    assert (cited.key.unit, cited.text, cited.event_id) == (
        IndexedUnit.PASSAGE,
        "The harbour tour starts at nine.",
        event.id,
    )
    trace = Trace.objects.get()
    assert (trace.facts_served, trace.passages_served, trace.reasons) == (0, 1, {"cited": 1})
