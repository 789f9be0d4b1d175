from __future__ import annotations

import pytest

from facts.models import Account, Fact, Subject
from facts.vocabulary import Sensitivity
from retrieval.models import Trace
from tests.api import Caller, caller_with_key, problem
from tests.factories import AccountFactory, FactFactory, SubjectFactory, entered, say, unknown_id
from tests.retrieval.conftest import index_vectors

CALL = {"project_id": "support", "subject_id": "ana", "query": "Which tea?", "purpose": "test"}


@pytest.fixture
def caller(account: Account) -> Caller:
    return caller_with_key(account)


@pytest.fixture
def fact(account: Account, ana: Subject) -> Fact:
    quiet = say(ana, "Nothing of it.", sensitivity=Sensitivity.PERSONAL)
    made = FactFactory(subject=ana, statement="Ana likes tea.", event=quiet)
    index_vectors(account)
    return made


def test_a_trace_is_replayed(caller: Caller, fact: Fact) -> None:
    answer = caller.post("/v1/context", CALL).json()
    body = caller.post(f"/v1/traces/{answer['trace_id']}/replay", {"mode": "then"}).json()
    trace = Trace.objects.get(kind="replay")
    assert body["mode"] == "then"
    assert body["original"]["trace_id"] == answer["trace_id"]
    assert body["replayed"]["trace_id"] == str(trace.pk)
    assert body["replayed"]["profile"] == body["original"]["profile"] == answer["profile"]
    assert (body["original"]["served"], body["replayed"]["served"], body["hidden"]) == (2, 2, 0)
    assert [item["text"] for item in body["items"]] == ["Ana likes tea.", "Nothing of it."]
    assert body["items"][:1] == [
        {
            "fact_id": str(fact.pk),
            "episode_id": None,
            "text": "Ana likes tea.",
            "change": "same",
            "rank_before": 1,
            "rank_after": 1,
            "reason_before": "top_score",
            "reason_after": "top_score",
        }
    ]
    assert caller.get(f"/v1/inspect/{trace.pk}").json()["kind"] == "replay"
    listed = caller.get("/v1/traces").json()["traces"]
    assert [row["kind"] for row in listed] == ["replay", "context"]


def test_a_replay_is_of_today_unless_said_otherwise(caller: Caller, fact: Fact) -> None:
    trace_id = caller.post("/v1/context", CALL).json()["trace_id"]
    assert caller.post(f"/v1/traces/{trace_id}/replay").json()["mode"] == "now"
    answer = caller.post(f"/v1/traces/{trace_id}/replay", {"mode": "tomorrow"})
    assert problem(answer) == (422, "invalid_payload", "mode")


def test_why_a_fact_was_not_served(caller: Caller, fact: Fact) -> None:
    trace_id = caller.post("/v1/context", {**CALL, "budget_tokens": 1}).json()["trace_id"]
    body = caller.get(f"/v1/traces/{trace_id}/why/{fact.pk}").json()
    assert (body["trace_id"], body["fact_id"], body["served"]) == (trace_id, str(fact.pk), False)
    assert body["decision"]["reason_code"] == "over_budget"
    (obstacle,) = body["obstacles"]
    assert (obstacle["code"], obstacle["meaning"]) == (
        "over_budget",
        "It did not fit into what was left of the budget.",
    )
    assert obstacle["detail"]["tokens"] == 7


def test_what_is_not_there_or_not_for_the_caller_is_the_same(account: Account, caller: Caller, fact: Fact) -> None:
    trace_id = caller.post("/v1/context", CALL).json()["trace_id"]
    other = AccountFactory()
    with entered(other):
        foreign = FactFactory(subject=SubjectFactory(account=other))
        stranger = caller_with_key(other)
    assert problem(caller.get(f"/v1/traces/{trace_id}/why/{foreign.pk}"))[:2] == (404, "fact_not_found")
    assert problem(caller.get(f"/v1/traces/{trace_id}/why/{unknown_id()}"))[:2] == (404, "fact_not_found")
    for who in (stranger, caller_with_key(account, label="another")):
        assert problem(who.get(f"/v1/traces/{trace_id}/why/{fact.pk}"))[:2] == (404, "trace_not_found")
        assert problem(who.post(f"/v1/traces/{trace_id}/replay"))[:2] == (404, "trace_not_found")
    deaf = caller_with_key(account, label="deaf", rights=["capture"])
    assert problem(deaf.get(f"/v1/traces/{trace_id}/why/{fact.pk}"))[:2] == (403, "missing_right")
    assert problem(deaf.post(f"/v1/traces/{trace_id}/replay"))[:2] == (403, "missing_right")


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask"])
def test_searches_and_asks_are_inspected_replayed_and_explained(
    account: Account, ana: Subject, caller: Caller, fact: Fact, path: str
) -> None:
    trace_id = caller.post(path, CALL).json()["trace_id"]
    kind = path.removeprefix("/v1/")
    inspected = caller.get(f"/v1/inspect/{trace_id}").json()
    assert inspected["kind"] == kind
    assert [row["statement"] for row in inspected["packet"]["facts"]] == ["Ana likes tea."]
    assert inspected["no_longer_shown"] == 0
    decision = next(row for row in inspected["decisions"] if row["fact_id"] == str(fact.pk))
    assert decision["scores"]["lexical"] > 0
    assert [row["kind"] for row in caller.get("/v1/traces").json()["traces"]] == [kind]
    later = FactFactory(subject=ana, statement="Ana likes green tea.")
    index_vectors(account)
    for mode, change in (("then", None), ("now", "added")):
        body = caller.post(f"/v1/traces/{trace_id}/replay", {"mode": mode}).json()
        changes = {item["fact_id"]: item["change"] for item in body["items"]}
        assert changes.get(str(later.pk)) == change
        assert changes[str(fact.pk)] in {"same", "moved"}
    why = caller.get(f"/v1/traces/{trace_id}/why/{later.pk}").json()
    assert next(one["code"] for one in why["obstacles"]) == "not_recorded_yet"
    assert caller.get("/v1/stats/overview").json()["recall_count"] == 0
