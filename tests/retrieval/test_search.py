from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import embedding, lifecycle, withholding
from facts.actors import pipeline
from facts.clock import now
from facts.conflict_sets import open_set
from facts.errors import DomainError, NotFound, Refused
from facts.models import Account, Fact, IndexedUnit, Relation, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import ConflictKind, RelationKind, Sensitivity, Status, Volatility
from governance.access import Principal, Right
from retrieval.context.packet import EmptyReason
from retrieval.embedders.base import Vector
from retrieval.models import Trace, TraceKind
from retrieval.profiles.shipped import SEARCH
from retrieval.search import lists
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search
from retrieval.strategies.base import SourceFilters
from retrieval.traces.writing import unpack
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    IdentityFactory,
    SubjectFactory,
    entered,
    key_principal,
    person_in,
    say,
)
from tests.retrieval.conftest import WordEmbedder

Find = Callable[..., SearchAnswer]


def texts(answer: SearchAnswer) -> list[str]:
    return [found.text for found in answer.results]


def outcomes(answer: SearchAnswer) -> dict[str, str]:
    return {outcome.component: outcome.word for outcome in answer.outcomes}


def told(ana: Subject, *statements: str, **fields: Any) -> list[Fact]:
    """Return facts whose source says something else, so that the fact alone is found."""
    said = say(ana, "Nothing.")
    return [FactFactory(subject=ana, statement=statement, event=said, **fields) for statement in statements]


def test_the_lists_of_all_strategies_become_one_order(ana: Subject, find: Find) -> None:
    green, black, hills = told(ana, "Green tea in the morning.", "Black tea.", "Hills.")
    answer = find("green tea", units=(IndexedUnit.FACT,))
    assert texts(answer) == [green.statement, black.statement, hills.statement]
    first, second, third = answer.results
    assert second.strategies.keys() == {"semantic", "lexical"}
    assert third.strategies.keys() == {"semantic"}
    # The semantic list holds three and the lexical one two; the last of each has its rank alone. No entity matched.
    assert answer.empty == ["entity_match"]
    assert first.fusion_score == pytest.approx(2.5 / 3.4)
    assert 0.05 * 16 / 17 * 2.5 / 3.4 < second.fusion_score < 2.5 / 3.4
    assert third.fusion_score == pytest.approx(0.05 * 16 / 18 / 3.4)


def test_an_answer_says_how_it_came_about(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    answer = find("green tea")
    assert (answer.profile, answer.profile_version, answer.ranker) == ("balanced", "balanced-1", "search-1")
    assert answer.reader_posture == "peer"
    assert answer.contributed == ["semantic", "lexical"]
    assert outcomes(answer)["temporal"] == "not_applicable: applicability"
    assert answer.dropped == []
    assert not answer.degraded
    assert (answer.reserved_rerank_ms, answer.warnings, answer.empty_reason) == (0, [], None)
    assert 0 <= answer.pre_rerank_remaining_ms <= 300
    assert [outcome.component for outcome in answer.outcomes] == list(SEARCH["balanced"].weights)


def test_a_result_carries_what_is_known_of_it(ana: Subject, find: Find) -> None:
    event = say(ana, "I take my tea green.", sensitivity=Sensitivity.PERSONAL)
    fact = FactFactory(
        subject=ana,
        statement="Ana drinks green tea.",
        event=event,
        corroboration=3,
        extractor_provider="rules",
        extractor_model="en",
        prompt_version="4",
    )
    by_unit = {found.unit: found for found in find("green tea").results}
    found, heard = by_unit[IndexedUnit.FACT], by_unit[IndexedUnit.PASSAGE]
    assert (found.id, found.scope, found.subject, found.level, found.sensitivity) == (
        fact.id,
        "/support",
        "ana",
        "peer",
        "personal",
    )
    assert (found.corroboration, found.extractor_provider, found.extractor_model, found.prompt_version) == (
        3,
        "rules",
        "en",
        "4",
    )
    assert found.source_event_ids == heard.source_event_ids == (event.id,)
    assert found.fact.statement == found.text == "Ana drinks green tea."
    assert heard.passage.text == heard.text == "I take my tea green."
    assert (heard.scope, heard.subject, heard.sensitivity) == ("/support", "ana", "personal")


def test_a_trace_explains_every_result(ana: Subject, find: Find) -> None:
    green, black = told(ana, "Green tea.", "Black tea.")
    answer = find("green tea", units=(IndexedUnit.FACT,), limit=1, min_score=0.1, purpose="greeting")
    trace = Trace.objects.get(pk=answer.trace_id)
    assert (trace.kind, trace.query, trace.purpose, trace.budget, trace.budget_unit) == (
        TraceKind.SEARCH,
        "green tea",
        "greeting",
        1,
        "results",
    )
    assert (trace.profile, trace.ranker, trace.embedder) == ("balanced-1", "search-1", "test:words@1/384/hash")
    assert (trace.considered, trace.facts_served, trace.passages_served, trace.withheld) == (2, 1, 0, 0)
    assert trace.request == {
        "exact": True,
        "profile": "balanced",
        "limit": 1,
        "min_score": 0.1,
        "units": ["fact"],
        "include_cross_links": False,
        "include_identity_profile": False,
        "source_filters": {
            "provider": "",
            "model": "",
            "prompt_version": "",
            "minimum_corroboration": 0,
            "event_id": None,
        },
    }
    assert trace.strategies["semantic"] == "completed"
    served, left = unpack(trace.decisions)
    assert (served["id"], served["reason"], served["rank"], served["revision"]) == (str(green.id), "top_score", 1, 1)
    assert served["scores"].keys() == {"semantic", "lexical"}
    assert served["fusion_score"] == round(2.5 / 3.4, 4)
    assert (left["id"], left["reason"]) == (str(black.id), "over_budget")
    assert set(trace.timings) == {"resolve", "strategies", "fuse", "rerank", "serve"}


def test_a_search_may_leave_no_trace(ana: Subject, app: Principal, find: Find) -> None:
    told(ana, "Green tea.")
    find("tea")
    request = SearchRequest(scope_path="/support", exact=True, subject_key="ana", query="tea")
    answer = search(principal=app, request=request, kind=None)
    assert (len(answer.results), answer.trace_id) == (2, None)
    assert Trace.objects.count() == 1


def test_the_limit_is_the_caller_s(ana: Subject, find: Find) -> None:
    told(ana, *(f"Tea {number}." for number in range(15)))
    assert len(find("tea", units=(IndexedUnit.FACT,)).results) == 12
    assert len(find("tea", units=(IndexedUnit.FACT,), limit=100).results) == 15


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_limits_that_nobody_may_ask_for(limit: int) -> None:
    with pytest.raises(DomainError) as refused:
        SearchRequest(scope_path="/", exact=True, limit=limit)
    assert (refused.value.code, refused.value.field) == ("invalid_payload", "limit")


def test_a_question_may_not_be_endless() -> None:
    with pytest.raises(DomainError) as refused:
        SearchRequest(scope_path="/", exact=True, query="x" * 8_001)
    assert refused.value.code == "query_too_long"


@pytest.mark.parametrize("query", ["", "  ", "?!", "the", "🙂" * 4_000, "x" * 8_000, "'; DROP TABLE x; --"])
def test_odd_questions_are_answered(ana: Subject, find: Find, query: str) -> None:
    told(ana, "Green tea.")
    answer = find(query)
    assert answer.dropped == []


def test_a_blank_question_finds_nothing_and_is_no_failure(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    answer = find("  ")
    assert (answer.results, answer.empty_reason) == ([], EmptyReason.NO_RELEVANT_MEMORY)
    assert set(outcomes(answer).values()) == {"not_applicable: applicability"}
    assert not answer.disagreement.query_dependent_empty


def test_a_profile_that_reads_no_words_answers_a_blank_question(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    answer = find("", profile="fast")
    assert texts(answer) == ["Green tea."]
    assert outcomes(answer) == {"semantic": "not_applicable: applicability", "salience_recency": "completed"}


@pytest.mark.parametrize("profile", ["fastest", "", "context", "minimal", "Balanced"])
def test_unknown_profiles_are_errors(find: Find, profile: str) -> None:
    with pytest.raises(DomainError) as refused:
        find("tea", profile=profile)
    assert refused.value.code == "unknown_profile"


def test_the_minimal_profile_is_behind_a_setting(ana: Subject, find: Find, settings: Any) -> None:
    settings.MEMHOUSE_EXPERIMENTAL_MINIMAL_RECALL = True
    base, conclusion = told(ana, "Green tea.", "So she likes tea.")
    Relation.objects.create(account=ana.account, source=conclusion, target=base, kind=RelationKind.DERIVED_FROM)
    answer = find("green tea", profile="minimal", units=(IndexedUnit.FACT,))
    lanes = {found.text: (found.detail["lane"], found.detail["lane_rank"]) for found in answer.results}
    assert lanes == {"Green tea.": ("direct", 1), "So she likes tea.": ("derived", 1)}
    assert list(outcomes(answer)) == ["semantic", "lexical"]


def test_nothing_stored_and_nothing_relevant_are_told_apart(ana: Subject, find: Find) -> None:
    assert find("tea").empty_reason is EmptyReason.NO_MEMORY
    told(ana, "Hills.")
    answer = find("tea", min_score=0.5)
    assert answer.empty_reason is EmptyReason.NO_RELEVANT_MEMORY
    assert answer.empty[:2] == ["semantic", "lexical"]
    assert answer.disagreement.query_dependent_empty
    assert answer.disagreement.strategy_count == 0


def test_the_least_score_holds_for_each_strategy_in_its_own_measure(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.", "Green hills far away from here.")
    answer = find("green tea", units=(IndexedUnit.FACT,), min_score=0.6)
    assert texts(answer) == ["Green tea."]


def test_filters_of_the_origin(ana: Subject, find: Find) -> None:
    event = say(ana, "Tea, said once.")
    told(ana, "Tea by rules.", extractor_provider="rules", extractor_model="en", prompt_version="1")
    told(ana, "Tea by a model.", extractor_provider="openai", extractor_model="m", prompt_version="2", corroboration=4)
    FactFactory(subject=ana, statement="Tea of the event.", event=event)

    def served(**filters: Any) -> set[str]:
        return set(texts(find("tea", filters=SourceFilters(**filters))))

    assert served(provider="rules") == {"Tea by rules."}
    assert served(model="m") == {"Tea by a model."}
    assert served(prompt_version="2") == {"Tea by a model."}
    assert served(minimum_corroboration=4) == {"Tea by a model."}
    assert served(provider="rules", model="m") == set()
    assert served(event_id=event.id) == {"Tea of the event.", "Tea, said once."}
    assert served(event_id=uuid.uuid4()) == set()


def test_operators_hold_for_every_strategy(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.", "Tea, green at times.", "Coffee.")
    assert texts(find('"green tea"')) == ["Green tea."]
    assert set(texts(find("tea -times", units=(IndexedUnit.FACT,)))) == {"Green tea."}
    assert set(texts(find("coffee or times", units=(IndexedUnit.FACT,)))) == {"Coffee.", "Tea, green at times."}
    answer = find("-tea")
    assert (answer.results, answer.dropped) == ([], [])


def test_a_name_asked_by_another_name_is_found(account: Account, ana: Subject, find: Find) -> None:
    IdentityFactory(subject=ana, platform="alias", value="Nushka")
    told(ana, "Ana drinks tea.", "Bob drinks tea.")
    first, second = find("What does Nushka drink?", units=(IndexedUnit.FACT,)).results
    assert (first.text, second.text) == ("Ana drinks tea.", "Bob drinks tea.")
    assert first.strategies["lexical"] > second.strategies["lexical"]


def _disable(fact: Fact) -> None:
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.DISABLED, actor=pipeline(), action="fact.disabled"
    )
    withholding.refresh(fact.account_id, [fact.id])


# Who may see what


def test_the_public_only_reader_gets_public_facts_and_passages(account: Account, ana: Subject, find: Find) -> None:
    nobody = key_principal(account, rights=(Right.READ,))
    for sensitivity in Sensitivity.values:
        FactFactory(subject=ana, statement=f"A {sensitivity} tea.", sensitivity=sensitivity, event=say(ana, "Nothing."))
        say(ana, f"Heard of {sensitivity} tea.", sensitivity=sensitivity)
    answer = find("tea", principal=nobody, exact=False, subject_key="", limit=100)
    assert answer.reader_posture == "public_only"
    assert set(texts(answer)) == {"A public tea.", "Heard of public tea."}


def test_a_named_reader_needs_the_right_and_has_to_be_there(account: Account, ana: Subject, find: Find) -> None:
    with pytest.raises(Refused) as refused:
        find("tea", peer_key="ana")
    assert refused.value.code == "peer_not_allowed"
    reader = key_principal(account, rights=(Right.READ, Right.READ_FOR_OTHERS))
    with pytest.raises(NotFound) as missing:
        find("tea", principal=reader, peer_key="nobody")
    assert missing.value.code == "peer_not_found"


def test_a_key_without_the_right_to_read_may_not_search(account: Account, find: Find) -> None:
    with pytest.raises(Refused) as refused:
        find("tea", principal=key_principal(account, rights=(Right.CAPTURE,)))
    assert refused.value.code == "missing_right"


def test_other_scopes_and_accounts_are_out_of_reach(account: Account, ana: Subject, find: Find) -> None:
    FactFactory(subject=ana, statement="Tea in sales.", scope=ensure_scope(account.id, "/sales"))
    foreign = AccountFactory()
    with entered(foreign):
        FactFactory(
            subject=SubjectFactory(account=foreign, key="ana"), statement="Tea there.", sensitivity=Sensitivity.PUBLIC
        )
    assert find("tea").empty_reason is EmptyReason.NO_MEMORY
    assert find("tea", scope_path="/unknown").empty_reason is EmptyReason.NO_MEMORY
    with pytest.raises(Refused) as refused:
        find("tea", principal=key_principal(account, scope_limit=ensure_scope(account.id, "/sales")))
    assert refused.value.code == "forbidden_scope"


def test_the_scope_and_its_ancestors_or_exactly_the_scope(account: Account, ana: Subject, find: Find) -> None:
    FactFactory(subject=ana, statement="Tea at the root.", scope=ensure_scope(account.id, "/"), event=None)
    FactFactory(subject=ana, statement="Tea in support.")
    assert set(texts(find("tea", exact=False))) >= {"Tea at the root.", "Tea in support."}
    assert "Tea at the root." not in texts(find("tea", exact=True))
    assert texts(find("tea", exact=True, subject_key="nobody")) == []


def test_what_is_forgotten_between_finding_and_serving_is_not_served(
    ana: Subject, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, kept = told(ana, "Green tea.", "Black tea.")
    merged = lists.merged

    def forget_meanwhile(*arguments: Any) -> Any:
        _disable(gone)
        return merged(*arguments)

    monkeypatch.setattr(lists, "merged", forget_meanwhile)
    answer = find("green tea", units=(IndexedUnit.FACT,))
    assert texts(answer) == [kept.statement]
    assert [decision.id for decision in answer.decisions] == [kept.id]


def test_both_sides_of_an_open_conflict_are_found_and_blocked(account: Account, ana: Subject, find: Find) -> None:
    one, other, free = told(ana, "Green tea only.", "Black tea only.", "Tea at four.")
    open_set(
        account_id=account.id,
        scope_id=one.scope_id,
        subject_id=ana.id,
        kind=ConflictKind.CONTRADICTION,
        members=[(one.id, True), (other.id, True)],
        reason="test",
        actor=pipeline(),
    )
    answer = find("tea", units=(IndexedUnit.FACT,))
    assert texts(answer) == [free.statement]
    assert answer.warnings == ["open_conflict: 2 fact(s) hidden pending conflict resolution"]
    assert {d.id: d.reason.value for d in answer.decisions} == {
        one.id: "conflict_open",
        other.id: "conflict_open",
        free.id: "top_score",
    }
    assert Trace.objects.get().withheld == 2


def test_facts_past_their_horizon_are_withheld(ana: Subject, find: Find, settings: Any) -> None:
    told(ana, "Tea tastes stale.", volatility=Volatility.VOLATILE, valid_from=now() - timedelta(days=61))
    answer = find("tea", units=(IndexedUnit.FACT,))
    assert (answer.results, answer.empty_reason) == ([], EmptyReason.WITHHELD)
    assert answer.warnings == ["volatility_expired: 1 fact(s) withheld, not confirmed for too long"]
    settings.SERVE_STALE_FACTS = True
    (found,) = find("tea", units=(IndexedUnit.FACT,)).results
    assert found.fact.freshness == "stale"


def test_the_same_words_are_served_once(account: Account, ana: Subject, find: Find) -> None:
    root = ensure_scope(account.id, "/")
    first = told(ana, "Green tea.", valid_from=MARCH)[0]
    copy = FactFactory(subject=ana, statement="Green tea.", scope=root, valid_from=MARCH, event=say(ana, "Nothing."))
    answer = find("green tea", exact=False, units=(IndexedUnit.FACT,))
    assert len(answer.results) == 1
    assert {d.id: d.reason.value for d in answer.decisions} == {
        first.id: "top_score" if answer.results[0].id == first.id else "duplicate_of_served",
        copy.id: "top_score" if answer.results[0].id == copy.id else "duplicate_of_served",
    }


def test_the_recall_gate_holds_for_searches(ana: Subject, find: Find, settings: Any) -> None:
    settings.HAKI_RECALL_MAX_DISTANCE = 0.5
    told(ana, "Green tea.", "Hills far away.")
    answer = find("green tea", units=(IndexedUnit.FACT,))
    assert texts(answer) == ["Green tea."]
    assert {d.reason.value for d in answer.decisions} == {"top_score", "below_relevance_floor"}
    nothing = find("astronomy", units=(IndexedUnit.FACT,))
    assert (nothing.results, nothing.empty_reason) == ([], EmptyReason.NO_RELEVANT_MEMORY)


# Other times


def test_what_was_true_then(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.", valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    told(ana, "Black tea.", valid_from=MAY)
    then = find("tea", units=(IndexedUnit.FACT,), as_of=MARCH)
    assert texts(then) == ["Green tea."]
    assert then.contributed[:3] == ["semantic", "lexical", "temporal"]
    assert texts(find("tea", units=(IndexedUnit.FACT,), as_of=JULY)) == ["Black tea."]
    assert find("tea", units=(IndexedUnit.FACT,), known_at=MARCH).results == []
    assert Trace.objects.order_by("-id").first().known_at == MARCH


# The reader's identity profile


def test_the_identity_profile_is_there_on_request(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    assert find("tea").identity_profile_status == "not_requested"
    answer = find("tea", include_identity_profile=True)
    assert (answer.identity_profile_status, answer.identity_subject) == ("empty", "ana")


# What is said when something is missing


def test_an_embedder_that_is_down_is_said(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    find("tea")

    class Down(WordEmbedder):
        def embed_query(self, text: str) -> Vector:
            raise ConnectionError("refused")

    embedding.register(Down())
    answer = find("green tea")
    assert texts(answer) == ["Green tea."]
    assert answer.dropped == ["semantic"]
    assert outcomes(answer)["semantic"] == "dropped: provider_error"
    assert (answer.degraded, answer.degraded_components) == (True, ["semantic"])
    assert answer.warnings == ["degraded_retrieval: without semantic"]
    assert Trace.objects.order_by("-id").first().status == "degraded"


def test_without_any_strategy_a_search_has_failed(ana: Subject, find: Find, settings: Any) -> None:
    told(ana, "Green tea.")
    settings.SEARCH_STRATEGIES = ()
    answer = find("tea")
    assert (answer.results, answer.empty_reason) == ([], EmptyReason.RETRIEVAL_FAILED)
    assert answer.dropped == ["semantic", "lexical", "temporal", "entity_match"]
    assert set(outcomes(answer).values()) == {"dropped: disabled"}
    assert Trace.objects.get().status == "failed"


def test_a_strategy_that_is_switched_off_is_said(ana: Subject, find: Find, settings: Any) -> None:
    told(ana, "Green tea.")
    settings.SEARCH_STRATEGIES = ("lexical", "entity_match", "temporal")
    answer = find("green tea")
    assert texts(answer) == ["Green tea."]
    assert outcomes(answer)["semantic"] == "dropped: disabled"


def test_a_missing_reranker_is_said_where_the_profile_asks_for_one(ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    answer = find("tea", profile="thorough")
    assert outcomes(answer)["reranker"] == "dropped: dependency_unavailable"
    assert (answer.reserved_rerank_ms, answer.degraded, answer.warnings) == (0, False, [])
    assert "reranker" not in outcomes(find("tea"))


@pytest.mark.parametrize(("rights", "said"), [((Right.READ, Right.DIAGNOSTICS), True), ((Right.READ,), False)])
def test_that_matches_were_filtered_is_for_those_who_may_diagnose(
    account: Account, ana: Subject, find: Find, rights: tuple[str, ...], said: bool
) -> None:
    told(ana, "Green tea.")
    key = key_principal(account, rights=rights)
    answer = find("green tea", principal=key, exact=False, subject_key="")
    assert answer.results == []
    assert ("candidate_filter" in outcomes(answer)) is said
    if said:
        assert outcomes(answer)["candidate_filter"] == "completed: authorization_filtered"
    assert not answer.degraded
    assert "candidate_filter" not in outcomes(find("purple", principal=key, exact=False, subject_key=""))


def test_what_the_least_score_cut_was_not_filtered(account: Account, ana: Subject, find: Find) -> None:
    told(ana, "Green tea.", sensitivity=Sensitivity.PUBLIC)
    key = key_principal(account, rights=(Right.READ, Right.DIAGNOSTICS))
    answer = find("green tea", principal=key, exact=False, subject_key="", min_score=5.0)
    assert answer.results == []
    assert "candidate_filter" not in outcomes(answer)


def test_people_are_not_told_what_is_filtered_from_them(account: Account, ana: Subject, find: Find) -> None:
    told(ana, "Green tea.")
    answer = find("green tea", principal=person_in(account), exact=False, subject_key="")
    assert answer.results == []
    assert "candidate_filter" not in outcomes(answer)


def test_lists_that_share_nothing_are_disjoint(ana: Subject, find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    told(ana, "Green tea.")
    assert not find("green tea").disagreement.disjoint


def test_a_search_takes_few_queries(ana: Subject, app: Principal, find: Find) -> None:
    told(ana, "Green tea.", "Black tea.")
    find("green tea")
    request = SearchRequest(scope_path="/support", exact=True, subject_key="ana", query="green tea")
    with CaptureQueriesContext(connection) as queries:
        search(principal=app, request=request)
    sql = [query["sql"] for query in queries if query["sql"] and "embeddingspace" not in query["sql"]]
    # Whether the entering of an account is seen depends on whether the session has prepared it already.
    begun = [one for one in sql if one.startswith(("SELECT", "INSERT")) and "set_config" not in one]
    # Two by vector, one analysis and two by words, one for names; both units again, their sources, what is further
    # told of both, and the trace.
    assert len(begun) == 12, "\n".join(one[:120] for one in begun)


def test_forgotten_passages_are_gone(ana: Subject, find: Find) -> None:
    event = say(ana, "Green tea, heard.")
    fact = FactFactory(subject=ana, statement="Green tea, noted.", event=event)
    _disable(fact)
    assert find("green tea").results == []
