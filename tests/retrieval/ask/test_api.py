from __future__ import annotations

from typing import Any

import pytest

from facts.models import Account, Subject
from governance.access import Right
from retrieval.ask import verdict
from retrieval.ask.answering import AnswerFailed
from retrieval.models import Trace
from tests.api import Caller, caller_with_key, problem
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.ask.conftest import worded
from tests.retrieval.conftest import index_vectors

CALL = {"project_id": "support", "subject_id": "ana", "query": "Where does Ana live?", "purpose": "test"}
#: What an ask adds to a search.
OWN = {
    "answer", "citations", "abstained", "answer_confidence", "answer_degraded", "answer_context_count",
    "answerer_prompt_tokens", "supporting_statements", "reference_time", "effort", "recall", "recall_evidence",
}  # fmt: skip


@pytest.fixture
def caller(account: Account, model: Any) -> Caller:
    return caller_with_key(account)


def own(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in OWN - {"reference_time", "recall_evidence", "recall"}}


def test_an_answer_with_its_citation(ana: Subject, caller: Caller, model: Any) -> None:
    fact = FactFactory(subject=ana, statement="Ana lives in Lyon.")
    index_vectors(ana.account)
    model(worded(1, confidence=88))
    body = caller.post("/v1/ask", CALL).json()
    cited = {"type": "fact", "id": str(fact.id), "event_id": None}
    assert own(body) == {
        "answer": "In Lyon.",
        "citations": [cited],
        "abstained": False,
        "answer_confidence": 88,
        "answer_degraded": None,
        "answer_context_count": 1,
        "answerer_prompt_tokens": 321,
        "supporting_statements": ["Ana lives in Lyon."],
        "effort": None,
    }
    assert body["recall"] is None
    assert body["recall_evidence"] == [
        {
            **cited,
            "number": 1,
            "origin": "base",
            "text": "Ana lives in Lyon.",
            "valid_from": "2025-03-10T09:00:00+00:00",
            "valid_to": None,
            "said_at": None,
            "speaker": None,
        }
    ]
    assert (body["profile"], body["trace_id"]) == ("thorough", str(Trace.objects.get().id))
    search = caller.post("/v1/search", {**CALL, "profile": "thorough", "types": ["fact"]}).json()
    assert set(body) - set(search) == OWN
    assert body["candidates"] == search["candidates"]


def test_nothing_without_a_model_and_a_failed_call(ana: Subject, caller: Caller, model: Any) -> None:
    empty = own(caller.post("/v1/ask", CALL).json())
    assert empty == {
        "answer": verdict.NOTHING_GROUNDED,
        "citations": [],
        "abstained": True,
        "answer_confidence": 0,
        "answer_degraded": None,
        "answer_context_count": 0,
        "answerer_prompt_tokens": 0,
        "supporting_statements": [],
        "effort": None,
    }
    fact = FactFactory(subject=ana, statement="Ana lives in Lyon.")
    index_vectors(ana.account)
    cited = {"type": "fact", "id": str(fact.id), "event_id": None}
    plain = own(caller.post("/v1/ask", CALL).json())
    assert plain == {
        **empty,
        "answer": "Ana lives in Lyon.",
        "citations": [cited],
        "abstained": False,
        "answer_confidence": 40,
        "answer_context_count": 1,
        "supporting_statements": ["Ana lives in Lyon."],
    }
    model(AnswerFailed("provider_unreachable"))
    failed = own(caller.post("/v1/ask", CALL).json())
    assert failed == {
        **plain,
        "answer": verdict.CALL_FAILED,
        "abstained": True,
        "answer_confidence": 0,
        "answer_degraded": "provider_unreachable",
        "answerer_prompt_tokens": None,
    }


def test_sources_need_an_effort_and_json_true(ana: Subject, caller: Caller) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    index_vectors(ana.account)
    asked = {**CALL, "effort": "low"}
    for no_yes in ("true", "True", 1, "1", "yes", [True], {}):
        refused = caller.post("/v1/ask", {**asked, "include_source_recall": no_yes})
        assert problem(refused) == (422, "invalid_payload", "include_source_recall")
    for no in (False, None):
        body = caller.post("/v1/ask", {**asked, **({"include_source_recall": no} if no is False else {})}).json()
        assert {item["type"] for item in body["recall_evidence"]} == {"fact"}
    body = caller.post("/v1/ask", {**asked, "include_source_recall": True}).json()
    assert [(item["type"], item["origin"], item["number"]) for item in body["recall_evidence"]] == [
        ("fact", "base", 1),
        ("source_message", "source_exact", 2),
    ]
    assert (body["effort"], body["recall"]["tool_calls"]) == ("low", 3)
    fixed = caller.post("/v1/ask", {**CALL, "include_source_recall": True})
    assert problem(fixed) == (422, "effort_required", "include_source_recall")


@pytest.mark.parametrize(
    ("bad", "code", "field"),
    [
        ({"query": ""}, "invalid_payload", "query"),
        ({"query": "  "}, "invalid_payload", "query"),
        ({"query": "x" * 8_001}, "query_too_long", "query"),
        ({"limit": 0}, "invalid_payload", "limit"),
        ({"limit": 51}, "invalid_payload", "limit"),
        ({"effort": "extreme"}, "invalid_payload", "effort"),
        ({"profile": "nothing"}, "unknown_profile", "profile"),
        ({"as_of": "2025-03-10T09:00:00"}, "naive_datetime", "as_of"),
        ({"project_id": ""}, "missing_scope", "scope"),
    ],
)
def test_malformed_calls_name_the_field(caller: Caller, bad: dict[str, Any], code: str, field: str) -> None:
    assert problem(caller.post("/v1/ask", {**CALL, **bad})) == (422, code, field)


def test_as_whom_is_asked(account: Account, ana: Subject, caller: Caller) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    index_vectors(account)
    assert problem(caller.post("/v1/ask", {**CALL, "peer_key": "ana"})) == (403, "peer_not_allowed", "peer_key")
    deaf = caller_with_key(account, rights=[Right.CAPTURE])
    assert problem(deaf.post("/v1/ask", CALL)) == (403, "missing_right", None)
    SubjectFactory(account=account, key="bob")
    trusted = caller_with_key(account, rights=[Right.READ, Right.READ_FOR_OTHERS])
    asked = {"scope": "/support", "query": "Where does Ana live?"}
    by_reader = {peer: trusted.post("/v1/ask", {**asked, "peer_key": peer}).json()["answer"] for peer in ("ana", "bob")}
    assert by_reader == {"ana": "Ana lives in Lyon.", "bob": verdict.NOTHING_GROUNDED}
