from __future__ import annotations

from datetime import timedelta

import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import NotFound
from facts.models import Account, Fact, Relation, Subject
from facts.vocabulary import Level, RelationKind, Sensitivity, Status
from governance import forgetting
from governance.access import Principal, resolve_reader
from governance.models import Role
from retrieval import fact_reads
from tests.api import Caller, caller_with_key, problem
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    key_principal,
    person_in,
    say,
    unknown_id,
)

ANA = {"subject_id": "ana"}


@pytest.fixture
def caller(account: Account) -> Caller:
    return caller_with_key(account)


def _moved(fact: Fact, *, to: str = Status.SUPERSEDED, **changes: object) -> None:
    lifecycle.transition(
        fact.pk,
        account_id=fact.account_id,
        to=to,
        actor=pipeline(),
        action="fact.superseded",
        reason="Ana said otherwise.",
        changes=changes,
    )


def _listed(caller: Caller, **parameters: str) -> list[str]:
    body = caller.get("/v1/facts", project_id="support", **ANA, **parameters).json()
    return [row["statement"] for row in body["facts"]]


def test_a_fact_is_read_by_its_id(ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, statement="Ana likes tea.")
    body = caller.get(f"/v1/facts/{fact.pk}", **ANA).json()
    (listed,) = caller.get("/v1/facts", project_id="support", **ANA).json()["facts"]
    assert body == listed


def test_a_fact_as_it_was_believed(ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, statement="Ana lives in Lisbon.", valid_from=JANUARY)
    before = now()
    _moved(fact, valid_to=MAY)
    today = caller.get(f"/v1/facts/{fact.pk}", **ANA).json()
    assert (today["status"], today["version"], today["valid_to"]) == ("superseded", 2, "2025-05-10T09:00:00+00:00")
    then = caller.get(f"/v1/facts/{fact.pk}", **ANA, known_at=before.isoformat()).json()
    assert (then["status"], then["version"], then["valid_to"]) == ("active", 1, None)
    assert then["recorded_to"] is not None
    assert Fact.objects.get(pk=fact.pk).status == "superseded"


def test_a_fact_that_did_not_hold_or_was_not_known_is_not_there(ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, valid_from=MARCH, valid_to=MAY)
    path = f"/v1/facts/{fact.pk}"
    assert caller.get(path, **ANA, as_of="2025-04-01").status_code == 200
    assert problem(caller.get(path, **ANA, as_of="2025-05-10"))[:2] == (404, "fact_not_found")
    assert problem(caller.get(path, **ANA, as_of="2025-03-09"))[:2] == (404, "fact_not_found")
    assert problem(caller.get(path, **ANA, known_at="2025-04-01"))[:2] == (404, "fact_not_found")
    assert problem(caller.get(path, **ANA, as_of="2025-05-10T09:00:00"))[:2] == (422, "naive_datetime")


def test_a_list_as_of_another_time(ana: Subject, caller: Caller) -> None:
    FactFactory(subject=ana, statement="Lisbon.", valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    FactFactory(subject=ana, statement="Porto.", valid_from=MAY)
    FactFactory(subject=ana, statement="Always.", valid_from=None)
    FactFactory(subject=ana, statement="Wrong.", valid_from=JANUARY, status=Status.REJECTED)
    FactFactory(subject=ana, statement="Expired.", valid_from=JANUARY, expires_at=MARCH)
    assert _listed(caller, as_of="2025-03-09") == ["Expired.", "Always.", "Lisbon."]
    assert _listed(caller, as_of="2025-03-10") == ["Always.", "Lisbon."]
    assert _listed(caller, as_of="2025-05-10") == ["Always.", "Porto."]
    assert _listed(caller, as_of="2025-05-10", status="superseded") == []
    assert _listed(caller) == ["Expired.", "Wrong.", "Always.", "Porto.", "Lisbon."]


def test_the_end_of_a_day_is_that_of_the_zone_that_is_given(ana: Subject, caller: Caller) -> None:
    FactFactory(subject=ana, statement="Late.", valid_from=MARCH.replace(hour=23))
    assert _listed(caller, as_of="2025-03-10") == ["Late."]
    assert _listed(caller, as_of="2025-03-10+02:00") == []
    assert _listed(caller, as_of="2025-03-10-02:00") == ["Late."]


def test_a_list_as_it_was_believed(ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, statement="Lisbon.", valid_from=JANUARY)
    before = now()
    _moved(fact, valid_to=MARCH)
    FactFactory(subject=ana, statement="Porto.", valid_from=MARCH)
    assert _listed(caller, known_at=before.isoformat()) == ["Lisbon."]
    assert _listed(caller, known_at=before.isoformat(), as_of="2025-07-10") == ["Lisbon."]
    assert _listed(caller, as_of="2025-07-10") == ["Porto."]
    assert _listed(caller, known_at=before.isoformat(), status="superseded") == []
    assert _listed(caller, known_at="2020-01-01") == []
    (row,) = caller.get("/v1/facts", project_id="support", **ANA, known_at=before.isoformat()).json()["facts"]
    assert (row["status"], row["valid_to"], row["version"]) == ("active", None, 1)


def test_pages_of_another_time_follow_each_other(ana: Subject, caller: Caller) -> None:
    for number in range(5):
        FactFactory(subject=ana, statement=f"{number}.")
    seen, cursor = [], {}
    while True:
        body = caller.get(
            "/v1/facts", project_id="support", **ANA, limit="2", known_at=now().isoformat(), **cursor
        ).json()
        seen += [row["statement"] for row in body["facts"]]
        if body["next_cursor"] is None:
            break
        cursor = {"cursor": body["next_cursor"]}
    assert seen == ["4.", "3.", "2.", "1.", "0."]


def test_a_timeline_as_of_another_time(ana: Subject, caller: Caller) -> None:
    say(ana, "In January.", occurred_at=JANUARY)
    say(ana, "In July, told long ago.", occurred_at=JULY, recorded_at=MARCH)

    def told(**parameters: str) -> list[str]:
        body = caller.get("/v1/timeline", project_id="support", **ANA, **parameters).json()
        return [row["text"] for row in body["events"]]

    assert told(as_of="2025-03-01") == ["In January."]
    assert told(known_at="2025-03-10") == ["In July, told long ago."]
    assert told(known_at="2025-03-09") == []
    assert len(told()) == 2


def test_the_history_of_a_fact(ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, statement="Ana lives in Lisbon.", status=Status.CANDIDATE)
    _moved(fact, to=Status.ACTIVE)
    _moved(fact, valid_to=MAY)
    body = caller.get(f"/v1/facts/{fact.pk}/history", **ANA).json()
    assert (body["fact_id"], body["statement"]) == (str(fact.pk), "Ana lives in Lisbon.")
    assert [(row["version"], row["status"], row["reason"]) for row in body["revisions"]] == [
        (1, "candidate", ""),
        (2, "active", "Ana said otherwise."),
        (3, "superseded", "Ana said otherwise."),
    ]
    assert body["revisions"][0]["actor"] == {"kind": "pipeline", "name": "pipeline"}


def test_others_are_told_no_reasons_and_nothing_of_what_was_never_believed(account: Account, ana: Subject) -> None:
    fact = FactFactory(subject=ana, status=Status.CANDIDATE, level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    _moved(fact, to=Status.ACTIVE)
    caller = caller_with_key(account, peer=SubjectFactory(account=account), rights=["read"])
    (revision,) = caller.get(f"/v1/facts/{fact.pk}/history").json()["revisions"]
    assert (revision["version"], revision["actor"], revision["reason"], revision["decision_id"]) == (
        2,
        None,
        None,
        None,
    )


def test_a_fact_is_explained(account: Account, ana: Subject, caller: Caller) -> None:
    event = say(ana, "I like tea, and I hate coffee.", occurred_at=MARCH)
    fact = FactFactory(subject=ana, statement="Ana likes tea.", event=event)
    old = FactFactory(subject=ana, statement="Ana likes coffee.", status=Status.SUPERSEDED)
    Relation.objects.create(account=account, source=fact, target=old, kind=RelationKind.SUPERSEDES)
    body = caller.get(f"/v1/facts/{fact.pk}/explain", **ANA).json()
    assert body["fact"]["statement"] == "Ana likes tea."
    assert body["status"] == "served to readers the audience rule allows"
    assert body["audience"] == "its own subject only; in /support and the scopes below it"
    assert [(row["reader"], row["sees"]) for row in body["readers"]] == [
        ("its subject", True),
        ("another peer", False),
        ("somebody granted restricted facts", False),
        ("a caller that reads as nobody", False),
    ]
    assert body["evidence"] == [
        {
            "event_id": str(event.pk),
            "quote": "I like tea, and I hate coffee.",
            "occurred_at": "2025-03-10T09:00:00+00:00",
            "human": True,
            "withdrawn": False,
        }
    ]
    (edge,) = body["relations"]
    assert (edge["kind"], edge["direction"], edge["fact_id"]) == ("supersedes", "outgoing", str(old.pk))
    assert body["suppressions"] == []


def test_what_keeps_a_fact_from_coming_back_is_for_its_subject_and_curators(
    account: Account, ana: Subject, caller: Caller
) -> None:
    shared = {"level": Level.SCOPE, "sensitivity": Sensitivity.INTERNAL, "statement": "Ana likes tea."}
    forgotten = FactFactory(subject=ana, **shared)
    curator = person_in(account)
    forgetting.disable(curator, fact_id=forgotten.pk, reason="asked")
    again = FactFactory(subject=ana, **shared)
    (row,) = caller.get(f"/v1/facts/{again.pk}/explain", **ANA).json()["suppressions"]
    assert (row["cause"], row["evidence_until"], row["lifted_at"]) == ("forgotten", None, None)
    other = caller_with_key(account, peer=SubjectFactory(account=account), rights=["read"])
    assert other.get(f"/v1/facts/{again.pk}/explain").json()["suppressions"] == []
    assert problem(caller.get(f"/v1/facts/{forgotten.pk}/explain", **ANA))[:2] == (404, "fact_not_found")


def test_the_words_and_ends_that_a_caller_may_not_see_are_left_out(account: Account, ana: Subject) -> None:
    secret = say(ana, "I am ill, so I drink tea.", occurred_at=MARCH, sensitivity=Sensitivity.PERSONAL)
    fact = FactFactory(
        subject=ana, statement="Ana drinks tea.", event=secret, level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL
    )
    hidden = FactFactory(subject=ana, statement="Ana is ill.")
    Relation.objects.create(account=account, source=fact, target=hidden, kind=RelationKind.DERIVED_FROM)
    caller = caller_with_key(account, peer=SubjectFactory(account=account), rights=["read"])
    answer = caller.get(f"/v1/facts/{fact.pk}/explain")
    assert b"ill" not in answer.content
    body = answer.json()
    assert [(row["event_id"], row["quote"]) for row in body["evidence"]] == [(None, None)]
    assert [(row["kind"], row["fact_id"]) for row in body["relations"]] == [("derived_from", None)]


@pytest.mark.parametrize("what", ["", "/history", "/explain"])
def test_what_a_caller_may_not_see_is_as_what_does_not_exist(
    account: Account, ana: Subject, caller: Caller, what: str
) -> None:
    mine = FactFactory(subject=ana)
    elsewhere = FactFactory(subject=ana, scope=ScopeFactory(account=account, path="/sales"))
    other = AccountFactory()
    with entered(other):
        foreign = FactFactory(subject=SubjectFactory(account=other), sensitivity=Sensitivity.PUBLIC)
    missing = caller.get(f"/v1/facts/{unknown_id()}{what}", **ANA)
    assert problem(missing)[:2] == (404, "fact_not_found")
    confined = caller_with_key(account, label="confined", scope_limit=ScopeFactory(account=account, path="/support"))
    for who, fact, reader in (
        (caller, foreign, ANA),
        (caller, mine, {}),
        (caller, mine, {"subject_id": "somebody"}),
        (confined, elsewhere, ANA),
    ):
        answer = who.get(f"/v1/facts/{fact.pk}{what}", **reader)
        assert problem(answer) == problem(missing)
        assert answer.json()["detail"] == missing.json()["detail"]
    deaf = caller_with_key(account, label="deaf", rights=["capture"])
    assert problem(deaf.get(f"/v1/facts/{mine.pk}{what}"))[:2] == (403, "missing_right")


def test_a_curator_of_another_scope_sees_no_more_than_anybody(account: Account, ana: Subject) -> None:
    fact = FactFactory(subject=ana, status=Status.CANDIDATE, sensitivity=Sensitivity.INTERNAL)
    here, elsewhere = person_in(account), person_in(account, role=Role.CURATOR, path="/sales")
    assert _read(here, fact).pk == fact.pk
    with pytest.raises(NotFound):
        _read(elsewhere, fact)
    with pytest.raises(NotFound):
        _read(key_principal(account), fact)


def _read(principal: Principal, fact: Fact) -> Fact:
    return fact_reads.get(principal, resolve_reader(principal), fact.pk)


def test_a_long_ended_fact_holds_no_more_a_moment_after_its_end(ana: Subject) -> None:
    fact = FactFactory(subject=ana, valid_from=JANUARY, valid_to=MARCH)
    curator = person_in(ana.account)
    reader = resolve_reader(key_principal(ana.account), subject=ana)
    moment = MARCH - timedelta(microseconds=1)
    assert fact_reads.get(curator, reader, fact.pk, as_of=moment).pk == fact.pk
    with pytest.raises(NotFound):
        fact_reads.get(curator, reader, fact.pk, as_of=MARCH)
