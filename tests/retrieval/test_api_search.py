from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connection

from facts.models import Account, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity
from governance.access import Right
from retrieval.models import Trace
from retrieval.search import searching
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import (
    MARCH,
    AccountFactory,
    FactFactory,
    IdentityFactory,
    SubjectFactory,
    entered,
    maker_of,
    person_in,
    say,
)
from tests.retrieval.conftest import index_vectors

CALL = {"project_id": "support", "subject_id": "ana", "query": "Which tea?", "purpose": "test"}


@pytest.fixture
def caller(account: Account) -> Caller:
    return caller_with_key(account)


@pytest.fixture
def tea(ana: Subject) -> Any:
    """A fact about Ana's tea, and the message that it is from."""
    event = say(ana, "I take my tea green.", occurred_at=MARCH)
    fact = FactFactory(
        subject=ana,
        statement="Ana drinks green tea.",
        predicate="drinks",
        value={"value": "green tea"},
        event=event,
        valid_from=MARCH,
        extractor_provider="rules",
        extractor_model="en",
        prompt_version="4",
    )
    index_vectors(ana.account)
    return fact


def test_search_answers_with_candidates_and_a_trace(caller: Caller, tea: Any) -> None:
    response = caller.post("/v1/search", CALL)
    assert response.status_code == 200
    body = response.json()
    event = tea.evidence.get().event
    fact, passage = body.pop("candidates")
    trace = Trace.objects.get()
    assert fact == {
        "candidate_type": "fact",
        "id": str(tea.id),
        "text": "Ana drinks green tea.",
        "fusion_score": fact["fusion_score"],
        "strategies": ["semantic", "lexical"],
        "strategy_scores": fact["strategy_scores"],
        "detail": {},
        "scope": "/support",
        "scope_id": str(tea.scope_id),
        "subject_id": "ana",
        "level": "peer",
        "sensitivity": "personal",
        "origin_trust": "trusted",
        "kind": "attribute",
        "source_event_ids": [str(event.id)],
        "valid_from": "2025-03-10T09:00:00+00:00",
        "valid_to": None,
        "statement": "Ana drinks green tea.",
        "version": 1,
        "predicate": "drinks",
        "value": {"value": "green tea"},
        "qualifiers": {},
        "category": "general",
        "memory_form": "state",
        "status": "active",
        "confidence": 0.9,
        "evidence_level": "direct",
        "corroboration": 1,
        "extractor": {"provider": "rules", "model": "en", "prompt_version": "4"},
        "volatility": "stable",
        "freshness": "current",
        "last_confirmed": "2025-03-10T09:00:00+00:00",
        "possibly_conflicting": False,
        "speaker": None,
        "evidential": None,
    }
    assert passage.keys() == fact.keys()
    assert {name: passage[name] for name in ("candidate_type", "text", "kind", "valid_from", "source_event_ids")} == {
        "candidate_type": "passage",
        "text": "I take my tea green.",
        "kind": "message",
        "valid_from": "2025-03-10T09:00:00+00:00",
        "source_event_ids": [str(event.id)],
    }
    assert passage["statement"] is passage["status"] is passage["extractor"] is None
    outcomes = body.pop("retrieval_outcomes")
    assert [(outcome["component"], outcome["status"], outcome["reason_class"]) for outcome in outcomes] == [
        ("semantic", "completed", None),
        ("lexical", "completed", None),
        ("temporal", "not_applicable", "applicability"),
        ("entity_match", "completed", None),
    ]
    assert outcomes[0].keys() == {
        "component",
        "status",
        "reason_class",
        "elapsed_ms",
        "budget_remaining_ms",
        "version",
    }
    assert 0 <= body.pop("pre_rerank_remaining_ms") <= 300
    assert body == {
        "profile": "balanced",
        "profile_version": "balanced-1",
        "ranker": "search-1",
        "contributed_strategies": ["semantic", "lexical"],
        "empty_strategies": ["entity_match"],
        "dropped_strategies": [],
        "reader_posture": "peer",
        "degraded": False,
        "degraded_components": [],
        "disagreement": {
            "strategy_count": 2,
            "disjoint": False,
            "low_score": False,
            "query_dependent_empty": False,
        },
        "reserved_rerank_ms": 0,
        "warnings": [],
        "empty_reason": None,
        "identity_profile_status": "not_requested",
        "identity_profile": None,
        "trace_id": str(trace.id),
    }


def test_search_is_served_under_both_prefixes_and_every_name_of_a_field(caller: Caller, tea: Any) -> None:
    one = caller.post("/api/v1/search", {"scope_path": "/support", "subject_id": "ana", "query": "tea"}).json()
    assert [found["id"] for found in one["candidates"] if found["candidate_type"] == "fact"] == [str(tea.id)]


def test_every_option_reaches_the_search(caller: Caller, tea: Any) -> None:
    event = tea.evidence.get().event
    options = {
        "limit": 5,
        "types": ["fact"],
        "min_score": 0.0,
        "profile": "thorough",
        "source_filters": {
            "provider": "rules",
            "model": "en",
            "prompt_version": "4",
            "minimum_corroboration": 1,
            "event_id": str(event.id),
        },
        "include_cross_links": True,
        "include_identity_profile": True,
        "as_of": "2025-06-01",
        "known_at": None,
    }
    body = caller.post("/v1/search", {**CALL, **options}).json()
    assert [found["id"] for found in body["candidates"]] == [str(tea.id)]
    assert body["profile"] == "thorough"
    assert body["identity_profile_status"] == body["identity_profile"]["status"] == "empty"
    assert body["identity_profile"]["subject_id"] == "ana"
    assert "temporal" in body["contributed_strategies"]
    trace = Trace.objects.get()
    assert trace.request["source_filters"]["event_id"] == str(event.id)
    assert (trace.budget, trace.request["units"], trace.request["include_cross_links"]) == (5, ["fact"], True)
    assert trace.as_of is not None


def test_an_alias_names_the_subject(ana: Subject, caller: Caller, tea: Any) -> None:
    IdentityFactory(subject=ana, platform="slack", value="U1")
    call = {"project_id": "support", "query": "tea", "subject_alias": {"kind": "slack", "value": "U1"}}
    assert caller.post("/v1/search", call).json()["candidates"][0]["id"] == str(tea.id)
    both = problem(caller.post("/v1/search", {**call, "subject_id": "ana"}))
    assert both == (422, "invalid_payload", "subject_alias")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"types": []}, "types"),
        ({"types": ["entity"]}, "types"),
        ({"types": "fact"}, "types"),
        ({"min_score": "nan"}, "min_score"),
        ({"min_score": "high"}, "min_score"),
        ({"source_filters": {"providr": "rules"}}, "source_filters"),
        ({"source_filters": ["rules"]}, "source_filters"),
        ({"source_filters": {"minimum_corroboration": -1}}, "source_filters"),
        ({"source_filters": {"event_id": "7"}}, "source_filters"),
        ({"include_cross_links": "perhaps"}, "include_cross_links"),
        ({"query": {"a": 1}}, "query"),
        ({"query": None}, "query"),
        ({"query": "a\x00b"}, "query"),
        ({"query": ["tea"]}, "query"),
    ],
)
def test_what_cannot_be_asked_is_422(caller: Caller, change: dict[str, Any], field: str) -> None:
    status, code, named = problem(caller.post("/v1/search", {**CALL, **change}))
    assert (status, code) == (422, "invalid_payload")
    assert named is not None
    assert named.split(".")[0] == field
    assert not Trace.objects.exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"query": "x" * 8_001}, "query_too_long"),
        ({"profile": "fastest"}, "unknown_profile"),
        ({"profile": "minimal"}, "unknown_profile"),
        ({"profile": "context"}, "unknown_profile"),
        ({"as_of": "yesterday"}, "invalid_datetime"),
        ({"as_of": "2025-01-01T10:00"}, "naive_datetime"),
        ({"known_at": "2025-13-01"}, "invalid_datetime"),
        ({"project_id": "a", "scope": "/b"}, "ambiguous_field"),
        ({"project_id": ".."}, "invalid_scope"),
    ],
)
def test_refusals_have_stable_codes(caller: Caller, change: dict[str, Any], code: str) -> None:
    status, named, _ = problem(caller.post("/v1/search", {**CALL, **change}))
    assert (status, named) == (422, code)


def test_a_call_without_a_scope_is_refused(caller: Caller) -> None:
    assert problem(caller.post("/v1/search", {"query": "tea"})) == (422, "missing_scope", "scope")


def test_who_may_not_read_is_refused(account: Account, tea: Any) -> None:
    def refused(caller: Caller, **change: Any) -> tuple[int, str]:
        return problem(caller.post("/v1/search", {**CALL, **change}))[:2]

    assert refused(caller_with_key(account, rights=[Right.CAPTURE])) == (403, "missing_right")
    narrow = caller_with_key(account, scope_limit=ensure_scope(account.id, "/sales"))
    assert refused(narrow) == (403, "forbidden_scope")
    assert refused(caller_with_key(account), peer_key="ana") == (403, "peer_not_allowed")
    trusted = caller_with_key(account, rights=[Right.READ, Right.READ_FOR_OTHERS])
    assert refused(trusted, peer_key="zed") == (404, "peer_not_found")
    assert trusted.post("/v1/search", {**CALL, "peer_key": "ana"}).json()["candidates"][0]["id"] == str(tea.id)


def test_another_account_sees_nothing(tea: Any) -> None:
    foreign = AccountFactory()
    with entered(foreign):
        SubjectFactory(account=foreign, key="ana")
        stranger = caller_with_key(foreign)
        body = stranger.post("/v1/search", CALL).json()
    assert (body["candidates"], body["empty_reason"]) == ([], "no_memory")
    assert body["candidates"] == []


def test_a_key_without_a_peer_gets_what_is_public(account: Account, ana: Subject, tea: Any) -> None:
    FactFactory(
        subject=ana, statement="The shop sells tea.", sensitivity=Sensitivity.PUBLIC, event=say(ana, "Nothing.")
    )
    index_vectors(account)
    nobody = caller_with_key(account, rights=[Right.READ])
    body = nobody.post("/v1/search", {"scope": "/support", "query": "tea"}).json()
    assert body["reader_posture"] == "public_only"
    assert [found["text"] for found in body["candidates"]] == ["The shop sells tea."]


def test_people_search_as_themselves(account: Account, tea: Any) -> None:
    person = person_in(account)
    me = maker_of(person).subject
    FactFactory(subject=me, statement="I prefer coffee to tea.", event=say(me, "Nothing."))
    index_vectors(account)
    body = signed_in(maker_of(person)).post("/v1/search", {"scope": "/support", "query": "tea"}).json()
    assert [found["text"] for found in body["candidates"] if found["candidate_type"] == "fact"] == [
        "I prefer coffee to tea."
    ]


def test_an_unknown_event_filters_everything(caller: Caller, tea: Any) -> None:
    body = caller.post("/v1/search", {**CALL, "source_filters": {"event_id": str(uuid.uuid4())}}).json()
    assert (body["candidates"], body["empty_reason"]) == ([], "no_relevant_memory")


@pytest.mark.parametrize("stage", ["_RESOLVING", "_FINISHING"])
def test_a_store_that_does_not_answer_in_time_is_unavailable(
    caller: Caller, tea: Any, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(*args: object, **kwargs: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setattr(searching, stage, {**getattr(searching, stage), "statement_timeout": "50"})
    if stage == "_RESOLVING":
        monkeypatch.setattr(searching.places, "resolve", sleep)
    else:
        monkeypatch.setattr(searching.serving, "serve", sleep)
    answer = caller.post("/v1/search", CALL)
    assert problem(answer) == (503, "unavailable", None)
