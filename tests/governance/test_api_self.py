"""``/v1/self``: what signed-in people read and do about themselves, and what keys are refused."""

from __future__ import annotations

import pytest

from facts import embedding
from facts.models import Account, Fact
from facts.vocabulary import Level, Sensitivity, Status
from governance import keys
from governance.access import Principal
from governance.models import Role
from retrieval.models import Card, CardKind
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import FactFactory, SubjectFactory, maker_of, person_in, unknown_id

CALLS = (
    ("get", "/v1/self/facts", None),
    ("get", "/v1/self/facts/{fact}", None),
    ("get", "/v1/self/events", None),
    ("get", "/v1/self/served", None),
    ("get", "/v1/self/export", None),
    ("post", "/v1/self/facts/{fact}/contest", {"reason": "x"}),
    ("post", "/v1/self/facts/{fact}/redact", {}),
    ("post", "/v1/self/facts/{fact}/withdraw", {}),
    ("post", "/v1/self/erase/preview", {}),
    ("post", "/v1/self/erase", {"confirm": "ada"}),
)


@pytest.fixture(autouse=True)
def _without_vectors(settings) -> None:
    settings.SEARCH_THREADS = 0
    embedding.register(None)
    keys.forget_cached()


@pytest.fixture
def ada(account: Account) -> Principal:
    """A person who reads in ``/support``."""
    return person_in(account, role=Role.READER, path="/support")


@pytest.fixture
def me(ada: Principal) -> Caller:
    """Ada with her session."""
    return signed_in(maker_of(ada))


def own_fact(ada: Principal, **fields) -> Fact:
    return FactFactory(subject=maker_of(ada).subject, **fields)


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
def test_keys_are_refused_whatever_was_delegated(account, ada, method, path, body):
    fact = own_fact(ada)
    key = caller_with_key(
        account, peer=fact.subject, maker=maker_of(ada), delegated=["resolve", "forget", "observe", "keys"]
    )
    address = path.format(fact=fact.id)
    answer = key.get(address) if method == "get" else key.post(address, body)
    assert problem(answer)[:2] == (403, "human_required")
    assert Fact.objects.get(pk=fact.id).status == Status.ACTIVE


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
def test_strangers_are_not_let_in(account, ada, method, path, body):
    address = path.format(fact=unknown_id())
    answer = Caller().get(address) if method == "get" else Caller().post(address, body)
    assert problem(answer)[:2] == (401, "unauthorized")


def test_facts_are_listed_with_sources_and_who_reads_them(ada, me):
    own_fact(ada, statement="Ada likes tea.", sensitivity=Sensitivity.INTERNAL)
    own_fact(ada, statement="Ada waits.", status=Status.HELD, category="commitment")
    body = me.get("/v1/self/facts", limit=1).json()
    assert [one["statement"] for one in body["facts"]] == ["Ada waits."]
    older = me.get("/v1/self/facts", cursor=body["next_cursor"]).json()
    assert older["next_cursor"] is None
    (tea,) = older["facts"]
    assert (tea["read_by"], tea["scope"], tea["project_id"]) == ("scope", "/support", "support")
    assert tea["sources"][0]["quote"] == "Ada likes tea."
    waiting = me.get("/v1/self/facts", standing="waiting", category="commitment").json()
    assert [one["statement"] for one in waiting["facts"]] == ["Ada waits."]
    assert problem(me.get("/v1/self/facts", standing="odd"))[:2] == (422, "invalid_payload")
    assert problem(me.get("/v1/self/facts", cursor=body["next_cursor"] + "x"))[:2] == (422, "invalid_cursor")


def test_one_fact_tells_how_it_came_to_be_known(ada, me):
    fact = own_fact(ada)
    body = me.get(f"/v1/self/facts/{fact.id}").json()
    assert body["people"] == [maker_of(ada).subject.display_name]
    assert body["curators"] == []
    assert [step["action"] for step in body["history"]] == ["fact.proposed"]


@pytest.mark.parametrize("verb", ["", "/contest", "/redact", "/withdraw"])
def test_facts_of_others_are_like_none(account, me, verb):
    theirs = FactFactory(subject=SubjectFactory(account=account), sensitivity=Sensitivity.PUBLIC)
    for pk in (theirs.id, unknown_id()):
        address = f"/v1/self/facts/{pk}{verb}"
        answer = me.post(address, {"reason": "x"}) if verb else me.get(address)
        assert problem(answer)[:2] == (404, "fact_not_found")


@pytest.mark.parametrize(
    ("verb", "status"), [("contest", Status.DISPUTED), ("redact", Status.REDACTED), ("withdraw", Status.RETRACTED)]
)
def test_what_is_taken_away_is_off_every_reader_card_and_listing_at_once(account, ada, me, verb, status):
    fact = own_fact(ada, statement="Ada leads the tea circle.", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    Card.objects.create(
        account=account,
        scope=fact.scope,
        kind=CardKind.SCOPE_CARD,
        builder="test 1",
        sensitivity="internal",
        lines=[{"text": fact.statement, "facts": [str(fact.id)]}],
    )
    bob = SubjectFactory(account=account, key="bob")
    other = caller_with_key(account, peer=bob, rights=["read"])
    asked = {"scope": "/support", "query": "", "purpose": "test"}
    question = {**asked, "query": "Who leads the tea circle?"}
    reads = [
        lambda: other.post("/v1/context", asked),
        lambda: other.post("/v1/context", question),
        lambda: other.post("/v1/search", question),
        lambda: other.get("/v1/facts", scope="/support"),
    ]
    assert all(fact.statement in read().content.decode() for read in reads)
    answer = me.post(f"/v1/self/facts/{fact.id}/{verb}", {"reason": "Not so."})
    assert (answer.status_code, answer.json()["status"]) == (200, status)
    assert answer.json()["statement"] == (fact.statement if status == Status.DISPUTED else None)
    assert [str(fact.id) in read().content.decode() for read in reads] == [False] * len(reads)
    assert problem(other.get(f"/v1/facts/{fact.id}"))[:2] == (404, "fact_not_found")


def test_errors_of_the_verbs_are_stable(ada, me):
    fact = own_fact(ada)
    address = f"/v1/self/facts/{fact.id}"
    assert problem(me.post(f"{address}/contest"))[:2] == (422, "invalid_payload")
    assert me.post(f"{address}/redact").status_code == 200
    assert problem(me.post(f"{address}/contest", {"reason": "x"}))[:2] == (409, "not_contestable")
    assert problem(me.post(f"{address}/withdraw"))[:2] == (409, "gone_already")


def test_events_are_ones_own(account, ada, me):
    own_fact(ada, statement="I like tea.")
    FactFactory(subject=SubjectFactory(account=account), statement="I like gin.")
    body = me.get("/v1/self/events").json()
    assert [(one["text"], one["is_own"]) for one in body["events"]] == [("I like tea.", True)]


def test_an_erasure_is_previewed_and_confirmed(ada, me):
    fact = own_fact(ada)
    assert me.post("/v1/self/erase/preview", {"erasure": "strict"}).json()["facts_deleted"] == 1
    assert problem(me.post("/v1/self/erase", {"confirm": "yes"})) == (422, "confirmation_mismatch", "confirm")
    assert problem(me.post("/v1/self/erase"))[:2] == (422, "invalid_payload")
    answer = me.post("/v1/self/erase", {"confirm": fact.subject.key}, headers={"Idempotency-Key": "once"})
    again = me.post("/v1/self/erase", {"confirm": fact.subject.key}, headers={"Idempotency-Key": "once"})
    assert (answer.json()["facts_deleted"], answer.json()["mode"]) == (1, "delete")
    assert again.json() == answer.json()
    assert me.get("/v1/self/facts").json()["facts"] == []
