from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import lifecycle
from facts.actors import pipeline
from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import Account, Event, Evidence, Fact, Relation, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Category, EvidenceLevel, Form, Kind, RelationKind, Sensitivity, Status, Volatility
from governance.access import Right
from retrieval import identity_text
from retrieval.models import Trace
from retrieval.stable_profile import StableProfile, stable_profile
from retrieval.traces.writing import unpack
from retrieval.visibility import Visibility
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    entered,
    maker_of,
    person_in,
    say,
    submit,
)

CALL = {"scope": "/support", "subject_id": "ana"}


@pytest.fixture
def caller(account: Account) -> Caller:
    return caller_with_key(account)


@pytest.fixture
def profile(account: Account, ana: Subject) -> Callable[..., StableProfile]:
    """Read Ana's profile as herself in ``/support`` and above; what differs can be given."""

    def read(*, reader: Reader | None = None, paths: tuple[str, ...] = ("/support", "/"), **fields: Any):
        moment = now()
        visible = Visibility(
            account_id=account.id,
            scope_ids=tuple(ensure_scope(account.id, path).id for path in paths),
            subject_id=None,
            reader=reader or Reader(posture=Posture.PEER, subject_id=ana.id),
            at=fields.pop("at", moment),
            now=moment,
        )
        return stable_profile(visible, **fields)

    return read


def claim(subject: Subject, predicate: str, value: Any, statement: str, **fields: Any) -> Fact:
    return FactFactory(subject=subject, predicate=predicate, value={"value": value}, statement=statement, **fields)


def shown(profile: StableProfile) -> list[tuple[str, str]]:
    return [(item.category, item.statement) for item in profile.items]


def test_the_six_categories_in_their_order(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    claim(ana, "timezone", "Europe/Paris", "Ana is in the Europe/Paris time zone.", volatility=Volatility.SLOW)
    claim(ana, "speaks", True, "Ana speaks French.", qualifiers={"language": "fr"}, kind=Kind.ATTRIBUTE)
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    claim(ana, "employer", "Acme", "Ana works at Acme.")
    claim(ana, "occupation", "nurse", "Ana works as a nurse.")
    claim(ana, "pronouns", "she/her", "Ana uses the pronouns she/her.")
    claim(ana, "name", "Ana Duval", "Ana is named Ana Duval.")
    claim(ana, "preferred_name", "Nan", "Ana goes by Nan.", kind=Kind.PREFERENCE)
    assert shown(profile()) == [
        ("name", "Ana goes by Nan."),
        ("name", "Ana is named Ana Duval."),
        ("pronouns", "Ana uses the pronouns she/her."),
        ("occupation", "Ana works as a nurse."),
        ("occupation", "Ana works at Acme."),
        ("location", "Ana lives in Lyon."),
        ("language", "Ana speaks French."),
        ("timezone", "Ana is in the Europe/Paris time zone."),
    ]


def test_the_endpoint_answers_with_facts_sources_and_counts(ana: Subject, caller: Caller) -> None:
    fact = claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", volatility=Volatility.SLOW)
    FactFactory(subject=ana, statement="Ana likes tea.", kind=Kind.PREFERENCE)
    body = caller.post("/v1/stable-profile", CALL).json()
    digest = body.pop("projection_digest")
    assert len(digest) == 64
    trace = Trace.objects.get()
    assert body == {
        "trace_id": str(trace.id),
        "reader_posture": "peer",
        "contract": "stable-identity-v1",
        "status": "ready",
        "subject_id": "ana",
        "items": [
            {
                "category": "location",
                "predicate": "home_city",
                "statement": "Ana lives in Lyon.",
                "value": {"value": "Lyon"},
                "qualifiers": {},
                "fact_id": str(fact.id),
                "version": 1,
                "scope": "/support",
                "confidence": 0.9,
                "freshness": "unconfirmed",
                "valid_from": "2025-03-10T09:00:00+00:00",
                "possibly_conflicting": False,
                "source_event_ids": [str(fact.evidence.get().event_id)],
                "conflict_group": None,
            }
        ],
        "diagnostic": {
            "considered": 2,
            "included": 1,
            "excluded": {"preference": 1},
            "characters": 18,
            "model_calls": 0,
        },
    }
    assert caller.post("/v1/stable-profile", CALL).json()["projection_digest"] == digest
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.EXPIRED, actor=pipeline(), action="fact.expired"
    )
    after = caller.post("/v1/stable-profile", CALL).json()
    assert (after["status"], after["items"]) == ("empty", [])
    assert after["projection_digest"] != digest


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("inferred", {"evidence_level": EvidenceLevel.INDIRECT}),
        ("inferred", {"confidence": 0.69}),
        ("inferred", {"statement": "Ana probably lives in Lyon."}),
        ("sensitive_trait", {"sensitivity": Sensitivity.RESTRICTED}),
        ("sensitive_trait", {"statement": "Ana lives in a mosque in Lyon."}),
        ("sensitive_trait", {"statement": "Ana habite Lyon et est enceinte."}),
        ("behavioural", {"category": Category.MOOD_SIGNAL}),
        ("behavioural", {"form": Form.EVENT}),
        ("preference", {"kind": Kind.PREFERENCE}),
        ("preference", {"kind": Kind.INSTRUCTION}),
        ("transient", {"volatility": Volatility.VOLATILE, "valid_from": now()}),
        ("transient", {"volatility": Volatility.EPHEMERAL, "valid_from": now()}),
        ("transient", {"valid_to": now() + timedelta(days=30)}),
        ("transient", {"statement": "Ana is in Lyon this week."}),
        ("transient", {"statement": "Ana habite à Lyon pour l'instant."}),
        ("denial", {"denies": True}),
        ("too_long", {"statement": "Ana lives in Lyon." + " Yes." * 45}),
        ("not_active", {"status": Status.PROVISIONAL}),
    ],
)
def test_what_is_left_out_is_counted_by_class(
    ana: Subject, profile: Callable[..., StableProfile], reason: str, changes: dict[str, Any]
) -> None:
    FactFactory(
        subject=ana,
        **{"predicate": "home_city", "value": {"value": "Lyon"}, "statement": "Ana lives in Lyon."} | changes,
    )
    read = profile()
    assert (read.status, read.items, read.excluded, read.considered) == ("empty", (), {reason: 1}, 1)


def test_240_characters_are_not_too_long(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    statement = "Ana lives in Lyon.".ljust(240, "!")
    claim(ana, "home_city", "Lyon", statement)
    assert shown(profile()) == [("location", statement)]


def test_a_deduction_is_inferred_whatever_its_evidence(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    deduced = claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    premise = FactFactory(subject=ana, statement="Ana takes the metro at Bellecour.")
    Relation.objects.create(account=ana.account, source=deduced, target=premise, kind=RelationKind.DERIVED_FROM)
    assert profile().excluded == {"inferred": 1, "not_identity": 1}


def test_other_facts_are_counted_and_not_told(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    FactFactory(subject=ana, kind=Kind.PREFERENCE)
    FactFactory(subject=ana, kind=Kind.SKILL)
    FactFactory(subject=ana, category=Category.BLOCKER)
    FactFactory(subject=ana, volatility=Volatility.VOLATILE)
    FactFactory(subject=ana, evidence_level=EvidenceLevel.INDIRECT)
    FactFactory(subject=ana)
    read = profile()
    assert read.items == ()
    assert read.excluded == {"preference": 1, "behavioural": 2, "transient": 1, "inferred": 1, "not_identity": 1}
    assert read.considered == 6


def test_contradictions_stand_side_by_side_the_nearer_scope_first(
    ana: Subject, profile: Callable[..., StableProfile]
) -> None:
    claim(ana, "home_city", "Nice", "Ana lives in Nice.", scope=ensure_scope(ana.account_id, "/"), valid_from=MAY)
    near = claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", valid_from=JANUARY)
    claim(ana, "pronouns", "she/her", "Ana uses the pronouns she/her.")
    read = profile()
    assert [(item.statement, item.scope, item.conflict_group) for item in read.items] == [
        ("Ana uses the pronouns she/her.", "/support", None),
        ("Ana lives in Lyon.", "/support", near.identity_key[:12]),
        ("Ana lives in Nice.", "/", near.identity_key[:12]),
    ]


def test_what_holds_under_different_conditions_is_no_contradiction(
    ana: Subject, profile: Callable[..., StableProfile]
) -> None:
    claim(ana, "speaks", True, "Ana speaks French.", qualifiers={"language": "fr"})
    claim(ana, "speaks", True, "Ana speaks Dutch.", qualifiers={"language": "nl"})
    assert {item.conflict_group for item in profile().items} == {None}


def test_the_same_claim_in_two_scopes_is_told_once(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    claim(ana, "home_city", "lyon", "Ana lives in lyon.", scope=ensure_scope(ana.account_id, "/"))
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    read = profile()
    assert (shown(read), read.excluded) == ([("location", "Ana lives in Lyon.")], {"duplicate": 1})


def test_what_an_open_conflict_withholds_is_only_counted(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    submit(ana, {"value": "Lyon"}, predicate="home_city", statement="Ana lives in Lyon.")
    submit(ana, {"value": "Nice"}, predicate="home_city", statement="Ana lives in Nice.", at=MAY)
    read = profile()
    assert (read.items, read.excluded) == ((), {"conflict_open": 2})


def test_bounds_hold_and_no_category_crowds_out_another(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    for number in range(6):
        for predicate in ("name", "occupation", "home_city", "speaks", "timezone"):
            claim(ana, predicate, f"v{number}", f"{predicate} {number}", qualifiers={"number": number})
    read = profile()
    assert {name: [c for c, _ in shown(read)].count(name) for name, _ in shown(read)} == {
        "name": 4, "occupation": 3, "location": 3, "language": 3, "timezone": 3,
    }  # fmt: skip
    assert (len(read.items), read.excluded) == (16, {"over_limit": 14})


def test_1600_characters_are_the_most(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    for number in range(4):
        for predicate in ("name", "occupation", "home_city"):
            statement = f"{predicate} {number} ".ljust(200, "x")
            claim(ana, predicate, f"v{number}", statement, qualifiers={"number": number})
    read = profile()
    assert (len(read.items), read.characters, read.excluded) == (8, 1_600, {"over_limit": 4})


def test_one_side_of_a_contradiction_is_never_told_alone(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    root = ensure_scope(ana.account_id, "/")
    for number in range(3):
        claim(ana, "home_city", f"v{number}", f"Place {number}.", qualifiers={"number": number}, valid_from=JULY)
    claim(ana, "home_country", "France", "Ana lives in France.", valid_from=JANUARY)
    claim(ana, "home_country", "Spain", "Ana lives in Spain.", scope=root, valid_from=JANUARY)
    assert {statement for _, statement in shown(profile())} == {"Place 0.", "Place 1.", "Place 2."}
    assert profile().excluded == {"over_limit": 2}


def test_a_name_may_be_spelled_like_a_belief(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    claim(ana, "name", "Christian Faith", "Ana is named Christian Faith.")
    claim(ana, "preferred_name", "Chris", "Ana, who is muslim, goes by Chris.")
    read = profile()
    assert (shown(read), read.excluded) == ([("name", "Ana is named Christian Faith.")], {"sensitive_trait": 1})


@pytest.mark.parametrize("statement", ["Ana lives in Christchurch.", "Ana lives in Roma.", "Ana speaks Arabic."])
def test_places_and_languages_are_no_sensitive_traits(statement: str) -> None:
    assert not identity_text.is_sensitive(statement)


def test_only_the_reader_itself_is_described(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    bob = SubjectFactory(account=ana.account, key="bob")
    claim(bob, "home_city", "Nice", "Bob lives in Nice.", sensitivity=Sensitivity.PUBLIC)
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", sensitivity=Sensitivity.PUBLIC)
    assert shown(profile()) == [("location", "Ana lives in Lyon.")]
    assert shown(profile(reader=Reader(posture=Posture.PEER, subject_id=bob.id))) == [
        ("location", "Bob lives in Nice.")
    ]
    nobody = profile(reader=Reader(posture=Posture.PUBLIC_ONLY))
    assert (nobody.status, nobody.items, nobody.considered) == ("unavailable", (), 0)


def test_facts_and_sources_of_other_scopes_stay_there(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    elsewhere = ensure_scope(ana.account_id, "/sales")
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", scope=elsewhere)
    hidden = say(ana, "I am a nurse.", scope=elsewhere)
    fact = claim(ana, "occupation", "nurse", "Ana works as a nurse.", event=hidden)
    assert (profile().items, profile().excluded) == ((), {"unsourced": 1})
    told = say(ana, "A nurse, as I said.")
    Evidence.objects.create(account=ana.account, fact=fact, event=told, quote=told.text)
    (item,) = profile().items
    assert item.source_event_ids == (told.id,)


def test_a_withdrawn_source_is_none(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    fact = claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    Event.objects.filter(evidence__fact=fact).update(withdrawn_at=now())
    assert profile().excluded == {"unsourced": 1}


def test_expired_and_forgotten_facts_are_not_even_counted(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", expires_at=now() - timedelta(seconds=1))
    claim(ana, "occupation", "nurse", "Ana works as a nurse.", status=Status.DISABLED)
    assert (profile().status, profile().considered) == ("empty", 0)


def test_the_past_is_asked_by_as_of_and_known_at(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    claim(ana, "home_city", "Nice", "Ana lives in Nice.", valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", valid_from=MAY)
    assert shown(profile()) == [("location", "Ana lives in Lyon.")]
    assert shown(profile(at=MARCH, past=True)) == [("location", "Ana lives in Nice.")]
    assert shown(profile(at=MARCH, known_at=MARCH)) == []


def test_two_queries_whatever_there_is(ana: Subject, profile: Callable[..., StableProfile]) -> None:
    for number in range(8):
        claim(ana, "speaks", True, f"Ana speaks {number}.", qualifiers={"language": str(number)})
    profile()
    with CaptureQueriesContext(connection) as queries:
        profile(paths=("/support",))
    # One to look up the scope for the test, two for the profile.
    assert len(queries) == 3


def test_a_subject_that_is_not_the_reader_and_an_unknown_one_look_alike(account: Account, ana: Subject) -> None:
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", sensitivity=Sensitivity.PUBLIC)
    bob = SubjectFactory(account=account, key="bob")
    own = caller_with_key(account, rights=[Right.READ], peer=bob)
    answers = [own.post("/v1/stable-profile", {**CALL, "subject_id": key}).json() for key in ("ana", "nobody")]
    for answer in answers:
        del answer["trace_id"]
    assert answers[0] == answers[1]
    assert (answers[0]["status"], answers[0]["items"], answers[0]["subject_id"]) == ("unavailable", [], None)


def test_a_trace_says_what_was_told_of_whom(ana: Subject, caller: Caller) -> None:
    home = claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    name = claim(ana, "name", "Ana Duval", "Ana is named Ana Duval.")
    job = claim(ana, "occupation", "nurse", "Ana is probably a nurse.")
    submit(ana, {"value": "UTC"}, predicate="timezone", statement="Ana is in UTC.")
    submit(ana, {"value": "Paris"}, predicate="timezone", statement="Ana is in the Paris time zone.", at=MAY)
    body = caller.post("/v1/stable-profile", {**CALL, "purpose": "greeting"}).json()
    assert body["diagnostic"]["excluded"] == {"conflict_open": 2, "inferred": 1}
    trace = Trace.objects.get(pk=body["trace_id"])
    decided = {row["id"]: (row["reason"], row["rank"], row["revision"]) for row in unpack(trace.decisions)}
    assert decided[str(name.id)] == ("stable_profile", 1, 1)
    assert decided[str(home.id)] == ("stable_profile", 2, 1)
    assert decided[str(job.id)] == ("not_stable_profile", None, 1)
    assert trace.reasons == {"stable_profile": 2, "not_stable_profile": 1, "conflict_open": 2}
    assert (trace.kind, trace.purpose, trace.query, trace.profile) == ("profile", "greeting", "", "stable-identity-v1")
    assert (trace.subject_key, trace.reader_id, trace.facts_served, trace.withheld) == ("ana", ana.id, 2, 2)
    shown_again = caller.get(f"/v1/inspect/{trace.id}").json()
    assert [fact["statement"] for fact in shown_again["packet"]["facts"]] == [
        "Ana is named Ana Duval.",
        "Ana lives in Lyon.",
    ]


def test_a_search_that_tells_a_profile_decides_about_it_too(ana: Subject, caller: Caller) -> None:
    home = claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    tea = claim(ana, "likes", "tea", "Ana likes tea.")
    asked = {**CALL, "query": "tea", "limit": 1, "types": ["fact"]}
    plain = caller.post("/v1/search", asked).json()
    both = caller.post("/v1/search", {**asked, "include_identity_profile": True}).json()
    assert [item["id"] for item in plain["candidates"]] == [item["id"] for item in both["candidates"]] == [str(tea.id)]
    assert [item["fact_id"] for item in both["identity_profile"]["items"]] == [str(home.id)]
    decided = {row["id"]: row["reason"] for row in unpack(Trace.objects.get(pk=both["trace_id"]).decisions)}
    assert decided == {str(tea.id): "top_score", str(home.id): "stable_profile"}


def test_a_named_reader_needs_the_right(account: Account, ana: Subject, caller: Caller) -> None:
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.")
    asked = {"scope": "/support", "peer_key": "ana"}
    assert problem(caller.post("/v1/stable-profile", asked)) == (403, "peer_not_allowed", "peer_key")
    trusted = caller_with_key(account, rights=[Right.READ, Right.READ_FOR_OTHERS])
    assert [item["statement"] for item in trusted.post("/v1/stable-profile", asked).json()["items"]] == [
        "Ana lives in Lyon."
    ]
    missing = trusted.post("/v1/stable-profile", {"scope": "/support", "peer_key": "nobody"})
    assert problem(missing) == (404, "peer_not_found", "peer_key")


def test_another_account_and_unknown_scopes_show_nothing(account: Account, ana: Subject, caller: Caller) -> None:
    claim(ana, "home_city", "Lyon", "Ana lives in Lyon.", sensitivity=Sensitivity.PUBLIC)
    other = AccountFactory()
    with entered(other):
        SubjectFactory(account=other, key="ana")
        foreign = caller_with_key(other)
    assert foreign.post("/v1/stable-profile", CALL).json()["items"] == []
    assert caller.post("/v1/stable-profile", {**CALL, "scope": "/nowhere"}).json()["items"] == []
    confined = caller_with_key(account, scope_limit=ensure_scope(account.id, "/sales"))
    assert problem(confined.post("/v1/stable-profile", CALL)) == (403, "forbidden_scope", "scope")
    assert problem(caller.post("/v1/stable-profile", {"subject_id": "ana"})) == (422, "missing_scope", "scope")
    late = caller.post("/v1/stable-profile", {**CALL, "as_of": "2025-03-10T09:00:00"})
    assert problem(late) == (422, "naive_datetime", "as_of")


def test_a_person_reads_their_own(account: Account) -> None:
    person = person_in(account, role="reader")
    membership = maker_of(person)
    claim(membership.subject, "home_city", "Lyon", "They live in Lyon.")
    body = signed_in(membership).post("/v1/stable-profile", {"scope": "/support"}).json()
    assert [item["statement"] for item in body["items"]] == ["They live in Lyon."]
