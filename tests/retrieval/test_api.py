from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from facts.clock import now
from facts.models import Account, Fact, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity, Status
from governance.access import Right
from governance.models import Role
from retrieval.models import Trace
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import (
    JANUARY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    IdentityFactory,
    SubjectFactory,
    entered,
    maker_of,
    person_in,
    say,
    submit,
    unknown_id,
)
from tests.retrieval.conftest import index_vectors

CALL = {"project_id": "support", "subject_id": "ana", "query": "Which tea?", "purpose": "test"}


@pytest.fixture
def caller(account: Account) -> Caller:
    return caller_with_key(account)


def _fact(subject: Subject, statement: str, **fields: object) -> Fact:
    fact = FactFactory(subject=subject, statement=statement, **fields)
    index_vectors(subject.account)
    return fact


def test_context_answers_with_a_packet_and_a_trace(ana: Subject, caller: Caller) -> None:
    fact = _fact(ana, "Ana likes tea.", predicate="likes", value={"value": "tea"}, qualifiers={"when": "morning"})
    body = caller.post("/v1/context", CALL).json()
    event = fact.evidence.get().event
    passage = event.passages.get()
    trace = Trace.objects.get()
    assert body == {
        "packet": {
            "cards": [],
            "facts": [
                {
                    "id": str(fact.id),
                    "version": 1,
                    "statement": "Ana likes tea.",
                    "predicate": "likes",
                    "value": {"value": "tea"},
                    "qualifiers": {"when": "morning"},
                    "subject_id": "ana",
                    "scope": "/support",
                    "category": "general",
                    "fact_kind": "attribute",
                    "memory_form": "state",
                    "status": "active",
                    "sensitivity": "personal",
                    "confidence": 0.9,
                    "evidence_level": "direct",
                    "origin_trust": "trusted",
                    "volatility": "stable",
                    "freshness": "current",
                    "valid_from": "2025-03-10T09:00:00+00:00",
                    "valid_to": None,
                    "last_confirmed": "2025-03-10T09:00:00+00:00",
                    "possibly_conflicting": False,
                    "source_event_ids": [str(event.id)],
                    "score": 1.0,
                }
            ],
            "episodes": [
                {
                    "episode_id": str(passage.id),
                    "event_id": str(event.id),
                    "kind": "message",
                    "speaker": "",
                    "excerpt": "Ana likes tea.",
                    "occurred_at": "2025-03-10T09:00:00+00:00",
                    "origin_trust": "trusted",
                    "evidential": True,
                    "score": 1.0,
                }
            ],
            "warnings": [],
            "status": "ok",
            "empty_reason": None,
        },
        "token_count": 14,
        "trace_id": str(trace.id),
        "profile": "context-2",
        "ranker": "context-2",
        "reader_posture": "peer",
        "strategies": {"semantic": "contributed", "lexical": "contributed"},
        "projection_cache_hit": False,
        "fast_fallback": False,
    }


def test_a_fact_without_a_claim_is_its_statement(ana: Subject, caller: Caller) -> None:
    _fact(ana, "Ana likes tea.")
    (fact,) = caller.post("/v1/context", CALL).json()["packet"]["facts"]
    assert (fact["predicate"], fact["value"]) == ("statement", {"text": "Ana likes tea."})


def test_context_as_text(ana: Subject, caller: Caller) -> None:
    assert caller.post("/v1/context", {**CALL, "render": "text"}).json()["text"] == ""
    _fact(ana, "Ana likes </memory> tea.")
    body = caller.post("/v1/context", {**CALL, "render": "text"}).json()
    assert body["text"].splitlines()[2:4] == ["Facts:", "- Ana likes &lt;/memory&gt; tea. (2025-03-10)"]
    body = caller.post("/v1/context", {**CALL, "render": "compact"}).json()
    assert body["text"].splitlines() == [
        "Relevant observations:",
        "- [general] Ana likes &lt;/memory&gt; tea. (2025-03-10)",
    ]


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"project_id": None}, "missing_scope", "scope"),
        ({"scope": "/sales"}, "ambiguous_field", "scope"),
        ({"budget_tokens": 0}, "budget_exceeded", "budget_tokens"),
        ({"budget_tokens": -5}, "budget_exceeded", "budget_tokens"),
        ({"budget_tokens": "900"}, "budget_exceeded", "budget_tokens"),
        ({"budget_tokens": 1.5}, "budget_exceeded", "budget_tokens"),
        ({"budget_tokens": True}, "budget_exceeded", "budget_tokens"),
        ({"budget_tokens": 2**40}, "budget_exceeded", "budget_tokens"),
        ({"budget_chars": 0}, "budget_exceeded", "budget_chars"),
        ({"budget_tokens": 9, "budget_chars": 9}, "invalid_payload", "budget_chars"),
        ({"query": "x" * 8_001}, "query_too_long", "query"),
        ({"query": "x" * 1_000_000}, "query_too_long", "query"),
        ({"query": "a\x00b"}, "invalid_payload", "query"),
        ({"query": 7}, None, None),
        ({"query": ["tea"]}, "invalid_payload", "query"),
        ({"purpose": "x" * 129}, "invalid_payload", "purpose"),
        ({"as_of": "2025-02-30"}, "invalid_datetime", "as_of"),
        ({"as_of": "2025-03-10T09:00:00"}, "naive_datetime", "as_of"),
        ({"known_at": "yesterday"}, "invalid_datetime", "known_at"),
        ({"render": "xml"}, "invalid_payload", "render"),
        ({"subject_alias": {"kind": "slack"}}, "invalid_payload", "subject_alias.value"),
        ({"subject_alias": {"kind": "slack", "value": "U1"}}, "invalid_payload", "subject_alias"),
        ({"subject_id": None, "subject_alias": {"kind": "slack", "value": "U9"}}, "alias_not_found", "subject_alias"),
        ({"peer_key": "bob"}, "peer_not_allowed", "peer_key"),
    ],
)
def test_context_says_what_is_wrong(
    ana: Subject, caller: Caller, changes: dict, code: str | None, field: str | None
) -> None:
    response = caller.post(
        "/v1/context", {key: value for key, value in {**CALL, **changes}.items() if value is not None}
    )
    if code is None:
        assert response.status_code == 200
        return
    assert problem(response)[1:] == (code, field)
    assert response.status_code == {"alias_not_found": 404, "peer_not_allowed": 403}.get(code, 422)
    assert not Trace.objects.exists()


def test_a_lone_surrogate_in_a_question_is_refused(ana: Subject, caller: Caller) -> None:
    body = b'{"project_id": "support", "subject_id": "ana", "query": "\\ud83d tea"}'
    assert problem(caller.post("/v1/context", body)) == (422, "invalid_payload", "query")


def test_context_by_alias(ana: Subject, caller: Caller) -> None:
    _fact(ana, "Ana likes tea.")
    IdentityFactory(subject=ana, platform="slack", value="U1")
    call = {"project_id": "support", "subject_alias": {"kind": "slack", "value": "U1"}, "query": "tea"}
    assert len(caller.post("/v1/context", call).json()["packet"]["facts"]) == 1


def test_context_outside_the_limit_of_a_key_is_forbidden(account: Account, ana: Subject) -> None:
    limited = caller_with_key(account, scope_limit=ensure_scope(account.id, "/sales"))
    assert problem(limited.post("/v1/context", CALL)) == (403, "forbidden_scope", "scope")
    assert limited.post("/v1/context", {**CALL, "project_id": "sales"}).status_code == 200


def test_inspection_tells_the_whole_story(ana: Subject, caller: Caller) -> None:
    fact = _fact(ana, "Ana likes tea.")
    served = caller.post("/v1/context", CALL).json()
    body = caller.get(f"/v1/inspect/{served['trace_id']}").json()
    assert body["packet"] == served["packet"]
    assert body["no_longer_shown"] == 0
    assert (body["trace_id"], body["query"], body["purpose"]) == (served["trace_id"], "Which tea?", "test")
    assert (body["token_count"], body["fact_count"], body["considered"]) == (served["token_count"], 1, 2)
    assert body["budget"] == {"limit": 900, "unit": "tokens"}
    decision = next(item for item in body["decisions"] if item["fact_id"] == str(fact.id))
    assert decision == {
        "fact_id": str(fact.id),
        "episode_id": None,
        "action": "included",
        "reason_code": "top_score",
        "meaning": "Its score was among the best and it fitted the budget.",
        "revision": 1,
        "rank": 1,
        "scores": {"similarity": decision["scores"]["similarity"], "text_score": 1.0, "recency": 0.0},
        "fusion_score": 1.0,
        "token_cost": 7,
    }
    assert 0.3 < decision["scores"]["similarity"] < 1


def test_an_inspected_packet_shows_the_revision_that_was_served(ana: Subject, caller: Caller) -> None:
    fact = _fact(ana, "Ana likes tea.")
    served = caller.post("/v1/context", CALL).json()
    Fact.objects.filter(pk=fact.pk).update(status=Status.SUPERSEDED, valid_to=MAY, version=2)
    again = caller.get(f"/v1/inspect/{served['trace_id']}").json()
    assert again["packet"]["facts"][0]["status"] == "active"
    assert again["packet"]["facts"][0]["valid_to"] is None


def test_an_inspected_packet_leaves_out_what_was_forgotten(ana: Subject, caller: Caller) -> None:
    fact = _fact(ana, "Ana likes tea.")
    served = caller.post("/v1/context", CALL).json()
    response = caller.post("/v1/forget", {"project_id": "support", "fact_id": str(fact.id), "mode": "disable"})
    if response.status_code == 403:
        Fact.objects.filter(pk=fact.pk).update(status=Status.DISABLED)
    again = caller.get(f"/v1/inspect/{served['trace_id']}").json()
    assert again["packet"]["facts"] == []
    assert again["no_longer_shown"] >= 1


def test_only_its_maker_and_curators_inspect_a_trace(account: Account, ana: Subject, caller: Caller) -> None:
    _fact(ana, "Ana likes tea.")
    path = f"/v1/inspect/{caller.post('/v1/context', CALL).json()['trace_id']}"
    assert caller.get(path).status_code == 200
    assert signed_in(maker_of(person_in(account))).get(path).status_code == 200
    assert problem(caller_with_key(account).get(path)) == (404, "trace_not_found", "trace_id")
    assert problem(signed_in(maker_of(person_in(account, role=Role.MEMBER))).get(path))[1] == "trace_not_found"
    other = AccountFactory()
    with entered(other):
        stranger = caller_with_key(other)
    assert problem(stranger.get(path))[1] == "trace_not_found"
    assert problem(caller.get(f"/v1/inspect/{unknown_id()}"))[1] == "trace_not_found"


def test_traces_are_listed_newest_first_in_pages(account: Account, ana: Subject, caller: Caller) -> None:
    ensure_scope(account.id, "/support")
    for query in ("one", "two", "three"):
        caller.post("/v1/context", {**CALL, "query": query})
    caller_with_key(account).post("/v1/context", {**CALL, "query": "somebody else's"})
    first = caller.get("/v1/traces", project_id="support", limit=2).json()
    assert [trace["query"] for trace in first["traces"]] == ["three", "two"]
    second = caller.get("/v1/traces", project_id="support", limit=2, cursor=first["next_cursor"]).json()
    assert [trace["query"] for trace in second["traces"]] == ["one"]
    assert second["next_cursor"] is None
    assert caller.get("/v1/traces", subject_id="bob").json()["traces"] == []
    assert len(signed_in(maker_of(person_in(account))).get("/v1/traces").json()["traces"]) == 4
    assert problem(caller.get("/v1/traces", cursor="xyz")) == (422, "invalid_cursor", "cursor")


def test_a_feedback_on_a_trace_is_for_those_who_may_inspect_it(account: Account, ana: Subject, caller: Caller) -> None:
    given = {"project_id": "support", "trace_id": caller.post("/v1/context", CALL).json()["trace_id"]}
    assert caller.post("/v1/feedback", {**given, "rating": "useful"}).status_code == 201
    assert problem(caller_with_key(account).post("/v1/feedback", {**given, "rating": "useful"}))[1] == "trace_not_found"


def test_facts_in_every_state_are_listed_to_their_subject(account: Account, ana: Subject, caller: Caller) -> None:
    for status in (Status.ACTIVE, Status.SUPERSEDED, Status.REJECTED, Status.HELD, Status.DISABLED):
        _fact(ana, f"Ana {status}.", status=status, sensitivity=Sensitivity.INTERNAL)

    def listed(who: Caller, **parameters: str) -> list[str]:
        body = who.get("/v1/facts", project_id="support", **parameters).json()
        return [fact["status"] for fact in body["facts"]]

    assert listed(caller, subject_id="ana") == ["held", "rejected", "superseded", "active"]
    assert listed(caller, subject_id="ana", status="rejected") == ["rejected"]
    assert listed(caller, subject_id="nobody") == []
    SubjectFactory(account=account, key="bob")
    for_others = caller_with_key(account, rights=(Right.READ, Right.READ_FOR_OTHERS))
    assert listed(for_others, subject_id="ana", peer_key="bob") == ["superseded", "active"]
    assert listed(for_others, subject_id="ana") == []
    assert listed(signed_in(maker_of(person_in(account))), subject_id="ana") == [
        "held",
        "rejected",
        "superseded",
        "active",
    ]


def test_a_listed_fact_has_every_field(ana: Subject, caller: Caller) -> None:
    fact = _fact(ana, "Ana likes tea.", predicate="likes", value={"value": "tea"})
    (listed,) = caller.get("/v1/facts", project_id="support", subject_id="ana").json()["facts"]
    assert listed["id"] == str(fact.id)
    assert (listed["project_id"], listed["scope"], listed["subject_id"], listed["subject_type"]) == (
        "support",
        "/support",
        "ana",
        "person",
    )
    assert (listed["predicate"], listed["value"], listed["version"]) == ("likes", {"value": "tea"}, 1)
    assert listed["source_event_ids"] == [str(fact.evidence.get().event_id)]


def test_sides_of_an_open_conflict_are_listed_to_their_subject_only(
    account: Account, ana: Subject, caller: Caller
) -> None:
    for value, at in (("tea", JANUARY), ("coffee", MARCH)):
        submit(ana, {"value": value}, predicate="favourite_drink", at=at)
    own = caller.get("/v1/facts", project_id="support", subject_id="ana").json()["facts"]
    assert sorted((fact["status"], fact["withheld"]) for fact in own) == [
        ("active", "conflict_open"),
        ("candidate", "conflict_open"),
    ]
    SubjectFactory(account=account, key="bob")
    Fact.objects.update(sensitivity=Sensitivity.PUBLIC)
    for_others = caller_with_key(account, rights=(Right.READ, Right.READ_FOR_OTHERS))
    assert for_others.get("/v1/facts", project_id="support", subject_id="ana", peer_key="bob").json()["facts"] == []


def test_the_timeline_shows_what_was_said_to_whom_it_may_be_shown(
    account: Account, ana: Subject, caller: Caller
) -> None:
    say(ana, "I drink tea", occurred_at=JANUARY)
    say(ana, "We ship on Friday", occurred_at=MARCH, sensitivity=Sensitivity.INTERNAL)
    own = caller.get("/v1/timeline", project_id="support", subject_id="ana").json()
    assert [event["text"] for event in own["events"]] == ["We ship on Friday", "I drink tea"]
    assert own["next_cursor"] is None
    SubjectFactory(account=account, key="bob")
    for_others = caller_with_key(account, rights=(Right.READ, Right.READ_FOR_OTHERS))
    shared = for_others.get("/v1/timeline", project_id="support", peer_key="bob").json()
    assert [event["text"] for event in shared["events"]] == ["We ship on Friday"]
    assert for_others.get("/v1/timeline", project_id="support").json()["events"] == []


def test_the_timeline_leaves_out_what_was_forgotten(ana: Subject, caller: Caller) -> None:
    _fact(ana, "Ana likes tea.", status=Status.DISABLED)
    say(ana, "I drink water")
    events = caller.get("/v1/timeline", project_id="support", subject_id="ana").json()["events"]
    assert [event["text"] for event in events] == ["I drink water"]


@pytest.mark.parametrize("path", ["/v1/facts", "/v1/timeline"])
def test_listings_need_a_scope(caller: Caller, path: str) -> None:
    assert problem(caller.get(path, subject_id="ana")) == (422, "missing_scope", "scope")


@pytest.mark.parametrize("path", ["/v1/facts", "/v1/timeline", "/v1/traces", "/v1/stats/overview"])
def test_listings_need_the_right_to_read(account: Account, path: str) -> None:
    blind = caller_with_key(account, rights=(Right.CAPTURE,))
    assert problem(blind.get(path, project_id="support")) == (403, "missing_right", None)


def test_figures_that_were_not_measured_are_null(account: Account, caller: Caller) -> None:
    body = caller.get("/v1/stats/overview").json()
    assert body["injection_rate"] is None
    assert body["hit_rate"] is None
    assert body["recall_p50_ms"] is None
    assert body["oldest_open_seconds"] is None
    assert (body["recall_count"], body["active_facts"], body["open_conflicts"]) == (0, 0, 0)
    assert len(body["events_this_week"]) == 7


def test_figures_count_calls_facts_and_conflicts(ana: Subject, caller: Caller) -> None:
    _fact(ana, "Ana likes tea.")
    caller.post("/v1/context", CALL)
    caller.post("/v1/context", {**CALL, "project_id": "empty", "purpose": "other"})
    for value, at in (("tea", JANUARY), ("coffee", MARCH)):
        submit(ana, {"value": value}, predicate="favourite_drink", at=at)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE facts_conflictset SET opened_at = %s", [now() - timedelta(hours=1)])
    assert caller.get("/v1/stats/overview").json()["open_conflicts"] == 0
    body = caller.get("/v1/stats/overview", subject_id="ana").json()
    assert (body["recall_count"], body["injection_rate"], body["hit_rate"]) == (1, 1.0, 1.0)
    assert (body["considered"], body["served"], body["withheld"]) == (2, 2, 0)
    assert body["decisions_by_reason"] == {"top_score": 2}
    assert body["by_scope"] == [
        {"scope": "/support", "calls": 1, "injection_rate": 1.0, "served": 2, "withheld": 0, "tokens": 14}
    ]
    assert [group["purpose"] for group in body["by_purpose"]] == ["test"]
    assert body["open_conflicts"] == 1
    assert 3600 <= body["oldest_open_seconds"] < 3700
    assert body["events_this_week"][-1] == {"date": str(now().date()), "count": 3}
    assert body["recall_p50_ms"] > 0
    assert caller.get("/v1/stats/overview", subject_id="nobody").json()["recall_count"] == 0
