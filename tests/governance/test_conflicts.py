"""Conflict sets: how they open and hide, every decision from every status with its undo, and who may decide."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from facts import audit, conflict_sets, jobs, lifecycle, resolution
from facts.actors import pipeline
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import (
    AuditEntry,
    ConflictDecision,
    ConflictMember,
    ConflictSet,
    Fact,
    FactText,
    Job,
    Passage,
    Relation,
    Separation,
    Suppression,
)
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance import conflicts, placement, tasks
from governance.access import Delegation
from governance.models import Role
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    entered,
    key_principal,
    maker_of,
    person_in,
    submission,
    submit,
    submitted_fact,
    unknown_id,
)


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account, key="ada")


@pytest.fixture
def curator(account):
    """A person who may decide everywhere in the account."""
    return person_in(account)


@pytest.fixture
def sides(ada):
    """Two facts that contradict each other: Lyon, current, and Paris, said later."""
    return [
        submitted_fact(ada, {"city": "Lyon"}, at=JANUARY),
        submitted_fact(ada, {"city": "Paris"}, at=MARCH),
    ]


@pytest.fixture
def conflict(sides):
    """The open set over both sides."""
    return ConflictSet.objects.get()


def state(*facts: Fact) -> list[dict[str, Any]]:
    """Return all of a fact that may change, with what mirrors it."""
    found = []
    for fact in facts:
        fact.refresh_from_db()
        shown = {
            name: getattr(fact, name) for name in (*lifecycle.MUTABLE, "status", "withheld", "possibly_conflicting")
        }
        shown["searchable"] = FactText.objects.get(fact=fact).active
        shown["passages"] = sorted(Passage.objects.filter(evidence__fact=fact).values_list("withheld", flat=True))
        found.append(shown)
    return found


def statuses(*facts: Fact) -> list[str]:
    """Return the present statuses."""
    return [Fact.objects.get(pk=fact.pk).status for fact in facts]


# Opening


def test_a_contradiction_hides_both_sides_and_changes_no_status(sides, conflict):
    assert (conflict.kind, conflict.status, conflict.reason) == ("contradiction", "open", "different_value")
    assert statuses(*sides) == ["active", "candidate"]
    for shown in state(*sides):
        assert (shown["withheld"], shown["searchable"], shown["passages"]) == (
            "conflict_open",
            True,
            ["conflict_open"],
        )
    assert conflict_sets.current_member_ids(conflict) == [fact.id for fact in sides]
    assert conflict.due_at - conflict.opened_at == pytest.approx(conflict_sets.DUE_AFTER, abs=timedelta(minutes=1))


def test_a_third_value_joins(ada, sides, conflict):
    third = submitted_fact(ada, {"city": "Nice"}, at=MAY, update_marker="now")
    assert ConflictSet.objects.get().version == conflict.version + 1
    assert conflict_sets.current_member_ids(conflict) == [*(fact.id for fact in sides), third.id]
    assert (third.status, third.withheld) == ("candidate", "conflict_open")


def test_an_equal_value_strengthens_its_member(ada, sides, conflict):
    placed = submit(ada, {"city": "Paris"}, at=MAY)
    assert (placed.result, placed.reason, placed.fact_id) == ("duplicate", "repeated", sides[1].id)
    assert Fact.objects.get(pk=sides[1].pk).corroboration == 2
    assert ConflictSet.objects.get().version == conflict.version


def test_a_quarantine_hides_only_the_less_trusted(ada):
    trusted = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    doubtful = submitted_fact(ada, {"city": "Paris"}, at=MARCH, event_fields={"origin_trust": "third_party"})
    assert ConflictSet.objects.get().kind == "quarantine"
    assert [shown["withheld"] for shown in state(trusted, doubtful)] == ["", "conflict_open"]
    assert [shown["passages"] for shown in state(trusted, doubtful)] == [[""], ["conflict_open"]]


def test_a_more_trusted_source_hides_what_was_believed(ada):
    doubtful = submitted_fact(ada, {"city": "Paris"}, at=JANUARY, event_fields={"origin_trust": "third_party"})
    trusted = submitted_fact(ada, {"city": "Lyon"}, at=MARCH)
    assert ConflictSet.objects.get().kind == "quarantine"
    assert statuses(doubtful, trusted) == ["active", "candidate"]
    assert [shown["withheld"] for shown in state(doubtful, trusted)] == ["conflict_open", ""]


def test_an_equal_source_turns_a_quarantine_into_a_contradiction(ada):
    facts = [
        submitted_fact(ada, {"city": "Lyon"}, at=JANUARY),
        submitted_fact(ada, {"city": "Paris"}, at=MARCH, event_fields={"origin_trust": "third_party"}),
        submitted_fact(ada, {"city": "Nice"}, at=MAY),
    ]
    assert ConflictSet.objects.get().kind == "contradiction"
    assert [shown["withheld"] for shown in state(*facts)] == ["conflict_open"] * 3


def test_a_quarantined_fact_can_be_kept(ada, curator):
    trusted = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    doubtful = submitted_fact(ada, {"city": "Paris"}, at=MARCH, event_fields={"origin_trust": "third_party"})
    conflicts.keep_one(curator, ConflictSet.objects.get().id, fact_id=doubtful.id)
    assert statuses(trusted, doubtful) == ["superseded", "active"]


# Deciding: every verb, from every status a side may have


def _qualifiers(facts):
    return {"qualifiers": {fact.id: {"when": f"season {number}"} for number, fact in enumerate(facts)}}


def _intervals(facts):
    return {"intervals": {facts[0].id: (JANUARY, MAY), facts[1].id: (MAY, None)}}


VERBS: dict[str, tuple[Callable, Callable[[list[Fact]], dict[str, Any]], list[str]]] = {
    "keep the first": (conflicts.keep_one, lambda facts: {"fact_id": facts[0].id}, ["active", "superseded"]),
    "keep the second": (conflicts.keep_one, lambda facts: {"fact_id": facts[1].id}, ["superseded", "active"]),
    "keep, others never true": (
        conflicts.keep_one,
        lambda facts: {"fact_id": facts[1].id, "others_never_true": True},
        ["rejected", "active"],
    ),
    "reject all": (conflicts.reject_all, lambda facts: {}, ["rejected", "rejected"]),
    "by qualifier": (conflicts.keep_by_qualifier, _qualifiers, ["active", "active"]),
    "as events": (conflicts.keep_as_events, lambda facts: {}, ["active", "active"]),
    "by interval": (conflicts.keep_by_interval, _intervals, ["superseded", "active"]),
    "dismiss": (conflicts.dismiss, lambda facts: {"distinction": "one is the office"}, ["active", "active"]),
}
PATHS = {
    "active": [],
    "needs_revalidation": [Status.NEEDS_REVALIDATION],
    "disputed": [Status.DISPUTED],
    "candidate": None,
    "provisional": [Status.PROVISIONAL],
    "held": [Status.HELD],
}


def _bring_to(facts: list[Fact], status: str) -> None:
    """Give the first side (that was current) or the second (a candidate) another status."""
    fact = facts[0] if status in {"needs_revalidation", "disputed"} else facts[1]
    for target in PATHS[status] or []:
        lifecycle.transition(fact.id, account_id=fact.account_id, to=target, actor=pipeline(), action="test.moved")


@pytest.mark.parametrize("status", PATHS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_decision_and_its_undo(curator, sides, conflict, verb, status):
    decide, given, expected = VERBS[verb]
    _bring_to(sides, status)
    before = state(*sides)
    decision = decide(curator, conflict.id, rationale="as she said", **given(sides))
    conflict.refresh_from_db()
    assert statuses(*sides) == expected
    assert conflict.status == ("dismissed" if verb == "dismiss" else "resolved")
    assert [shown["withheld"] for shown in state(*sides)] == ["", ""]
    assert all(shown["passages"] == [""] for shown in state(*sides))
    assert [shown["searchable"] for shown in state(*sides)] == [one == "active" for one in expected]
    assert decision.actor["membership_id"] == str(curator.membership_id)

    conflicts.undo(curator, decision.id)
    conflict.refresh_from_db()
    assert state(*sides) == before
    assert (conflict.status, conflict.resolution) == ("open", "")
    assert not Suppression.objects.filter(lifted_at__isnull=True).exists()
    assert not Relation.objects.exists()
    assert not Separation.objects.filter(lifted_at__isnull=True).exists()
    assert list(audit.verify(conflict.account_id)) == []


def test_keeping_one_sets_the_intervals_right(curator, sides, conflict):
    conflicts.keep_one(curator, conflict.id, fact_id=sides[1].id)
    lyon, paris = (Fact.objects.get(pk=fact.pk) for fact in sides)
    assert (lyon.valid_from, lyon.valid_to, paris.valid_from, paris.valid_to) == (JANUARY, MARCH, MARCH, None)
    assert Relation.objects.get(kind="supersedes").source_id == paris.id


def test_one_that_began_later_never_prevailed(curator, sides, conflict):
    conflicts.keep_one(curator, conflict.id, fact_id=sides[0].id)
    paris = Fact.objects.get(pk=sides[1].pk)
    assert (paris.valid_from, paris.valid_to) == (MARCH, MARCH)


def test_what_was_never_true_does_not_come_back_from_old_evidence(ada, curator, sides, conflict):
    conflicts.keep_one(curator, conflict.id, fact_id=sides[0].id, others_never_true=True)
    again = submit(ada, {"city": "Paris"}, at=MAY)
    assert (again.result, again.reason) == ("rejected", "suppressed_rejected")
    later = submit(ada, {"city": "Paris"}, at=now() + timedelta(seconds=1))
    assert (later.result, later.reason) == ("fact", "different_value")


def test_conditions_are_asked_of_every_side(curator, sides, conflict):
    with pytest.raises(DomainError) as refused:
        conflicts.keep_by_qualifier(curator, conflict.id, qualifiers={sides[0].id: {"when": "summer"}})
    assert refused.value.code == "qualifier_missing"
    with pytest.raises(DomainError) as refused:
        conflicts.keep_by_qualifier(curator, conflict.id, qualifiers={fact.id: {"when": "summer"} for fact in sides})
    assert refused.value.code == "qualifiers_equal"
    assert statuses(*sides) == ["active", "candidate"]


def test_conditions_may_be_exchanged(account, ada, curator):
    one = submitted_fact(ada, {"city": "Lyon"}, qualifiers={"when": "summer"}, at=JANUARY)
    other = submitted_fact(ada, {"city": "Paris"}, qualifiers={"when": "winter"}, at=MARCH)
    opened = conflict_sets.open_set(
        account_id=account.id, scope_id=one.scope_id, subject_id=ada.id, kind="contradiction",
        members=[(one.id, True), (other.id, True)], reason="test", actor=pipeline(),
    )  # fmt: skip
    before = state(one, other)
    decision = conflicts.keep_by_qualifier(
        curator, opened.id, qualifiers={one.id: {"when": "winter"}, other.id: {"when": "summer"}}
    )
    assert [shown["qualifiers"] for shown in state(one, other)] == [{"when": "winter"}, {"when": "summer"}]
    assert statuses(one, other) == ["active", "active"]
    conflicts.undo(curator, decision.id)
    assert state(one, other) == before


@pytest.mark.parametrize(
    ("intervals", "code"),
    [
        ([(JANUARY, MAY)], "interval_missing"),
        ([(JANUARY, JANUARY), (MAY, None)], "invalid_interval"),
        ([(JANUARY, MAY), (MARCH, None)], "intervals_overlap"),
        ([(JANUARY, None), (MAY, None)], "intervals_overlap"),
        ([(None, MAY), (None, JANUARY)], "intervals_overlap"),
    ],
)
def test_intervals_are_checked(curator, sides, conflict, intervals, code):
    given = {fact.id: interval for fact, interval in zip(sides, intervals, strict=False)}
    with pytest.raises(DomainError) as refused:
        conflicts.keep_by_interval(curator, conflict.id, intervals=given)
    assert refused.value.code == code
    assert ConflictSet.objects.get().status == "open"


def test_an_interval_to_come_waits_for_its_day(curator, sides, conflict):
    change = now() + timedelta(days=3)
    conflicts.keep_by_interval(
        curator, conflict.id, intervals={sides[0].id: (JANUARY, change), sides[1].id: (change, None)}
    )
    paris = Fact.objects.get(pk=sides[1].pk)
    assert statuses(*sides) == ["active", "held"]
    assert (paris.starts_later, paris.valid_from) == (True, change)


def test_a_dismissed_pair_is_not_proposed_again(ada, curator, sides, conflict):
    conflicts.dismiss(curator, conflict.id, distinction="one is the office")
    again = submit(ada, {"city": "Paris"}, at=MAY)
    assert (again.result, again.reason, again.fact_id) == ("duplicate", "repeated", sides[1].id)
    again = submit(ada, {"city": "Lyon"}, at=MAY)
    assert (again.result, again.reason, again.fact_id) == ("duplicate", "repeated", sides[0].id)
    assert not ConflictSet.objects.filter(status="open").exists()


def test_a_dismissed_pair_stays_apart_when_its_event_is_read_again(ada, curator, conflict):
    told = submission(ada, {"city": "Nice"}, at=MAY)
    third = submit(ada, {"city": "Nice"}, event=told.event)
    conflicts.dismiss(curator, conflict.id, distinction="flats")
    again = submit(ada, {"city": "Nice"}, event=told.event)
    assert (again.result, again.reason, again.fact_id) == ("duplicate", "already_evidence", third.fact_id)


def test_three_can_be_set_apart(ada, curator, sides, conflict):
    third = submitted_fact(ada, {"city": "Nice"}, at=MAY)
    conflicts.dismiss(curator, conflict.id, distinction="flats")
    assert statuses(*sides, third) == ["active"] * 3
    assert [fact.qualifiers for fact in Fact.objects.order_by("id")] == [
        {},
        {"distinction": "flats"},
        {"distinction": "flats (2)"},
    ]
    assert Separation.objects.count() == 3


def test_after_an_undone_dismissal_they_contradict_again(ada, curator, sides, conflict):
    decision = conflicts.dismiss(curator, conflict.id, distinction="office")
    conflicts.undo(curator, decision.id)
    assert conflict_sets.current_member_ids(conflict) == [fact.id for fact in sides]
    third = submitted_fact(ada, {"city": "Nice"}, at=MAY)
    assert third.withheld == "conflict_open"


def test_deferring_keeps_the_set_open_and_hidden(curator, sides, conflict):
    until = now() + timedelta(days=30)
    before = state(*sides)
    decision = conflicts.defer(curator, conflict.id, until=until)
    conflict.refresh_from_db()
    assert (conflict.status, conflict.deferred_until, conflict.due_at) == ("open", until, until)
    assert state(*sides) == before
    conflicts.undo(curator, decision.id)
    conflict.refresh_from_db()
    assert conflict.deferred_until is None
    with pytest.raises(DomainError) as refused:
        conflicts.defer(curator, conflict.id, until=now() - timedelta(days=1))
    assert refused.value.code == "invalid_date"


def test_a_possible_conflict_hides_nothing(account, ada, curator):
    facts = [FactFactory(subject=ada), FactFactory(subject=ada)]
    opened = conflict_sets.open_set(
        account_id=account.id, scope_id=facts[0].scope_id, subject_id=ada.id, kind="possible",
        members=[(fact.id, True) for fact in facts], reason="near_match", actor=pipeline(),
    )  # fmt: skip
    assert [(one["withheld"], one["possibly_conflicting"], one["passages"]) for one in state(*facts)] == [
        ("", True, [""])
    ] * 2
    conflicts.dismiss(curator, opened.id, distinction="other songs")
    assert [(one["status"], one["possibly_conflicting"], one["qualifiers"]) for one in state(*facts)] == [
        ("active", False, {})
    ] * 2


# Who may decide, and on what


def test_a_set_that_has_changed_is_looked_at_again(ada, curator, sides, conflict):
    submit(ada, {"city": "Nice"}, at=MAY)
    with pytest.raises(Conflicting) as refused:
        conflicts.keep_one(curator, conflict.id, fact_id=sides[0].id, expected_version=conflict.version)
    assert refused.value.code == "stale_version"


def test_only_a_side_can_be_kept(ada, curator, conflict):
    stranger = FactFactory(subject=ada)
    with pytest.raises(DomainError) as refused:
        conflicts.keep_one(curator, conflict.id, fact_id=stranger.id)
    assert refused.value.code == "fact_not_in_conflict"


def test_it_is_decided_once(curator, sides, conflict):
    decision = conflicts.keep_one(curator, conflict.id, fact_id=sides[0].id)
    with pytest.raises(Conflicting) as refused:
        conflicts.reject_all(curator, conflict.id)
    assert refused.value.code == "conflict_already_resolved"
    conflicts.undo(curator, decision.id)
    with pytest.raises(Conflicting) as refused:
        conflicts.undo(curator, decision.id)
    assert refused.value.code == "decision_undone"


def test_what_was_built_upon_is_not_undone(ada, curator, sides, conflict):
    decision = conflicts.keep_one(curator, conflict.id, fact_id=sides[1].id)
    submit(ada, {"city": "Nice"}, at=MAY, update_marker="now")
    with pytest.raises(Conflicting) as refused:
        conflicts.undo(curator, decision.id)
    assert refused.value.code == "decision_built_upon"


def test_a_side_left_as_it_was_counts_as_well(ada, curator, sides, conflict):
    decision = conflicts.dismiss(curator, conflict.id, distinction="office")
    lifecycle.transition(
        sides[0].id, account_id=ada.account_id, to=Status.EXPIRED, actor=pipeline(), action="test.expired"
    )
    assert not resolution.may_undo(ConflictDecision.objects.get(pk=decision.pk))


def test_where_the_identity_is_taken_a_fact_comes_back_to_wait(ada, curator, sides, conflict):
    decision = conflicts.reject_all(curator, conflict.id)
    nice = submitted_fact(ada, {"city": "Nice"}, at=JULY)
    assert nice.status == "active"
    conflicts.undo(curator, decision.id)
    assert statuses(*sides, nice) == ["candidate", "candidate", "active"]
    assert set(conflict_sets.current_member_ids(conflict)) == {*(fact.id for fact in sides), nice.id}
    assert [shown["withheld"] for shown in state(*sides, nice)] == ["conflict_open"] * 3


def test_nobody_decides_about_what_they_put_in(account, ada, curator):
    submit(ada, {"city": "Lyon"}, at=JANUARY)
    mine = FactFactory(subject=ada, actor=curator.actor, status=Status.CANDIDATE)
    opened = ConflictSet.objects.first() or conflict_sets.open_set(
        account_id=account.id, scope_id=mine.scope_id, subject_id=ada.id, kind="contradiction",
        members=[(mine.id, True), (FactFactory(subject=ada).id, True)], reason="test", actor=pipeline(),
    )  # fmt: skip
    with pytest.raises(Refused) as refused:
        conflicts.reject_all(curator, opened.id)
    assert refused.value.code == "own_request"
    conflicts.reject_all(person_in(account), opened.id)


@pytest.mark.parametrize("role", [None, Role.READER, Role.MEMBER])
def test_a_curator_is_needed(account, conflict, role):
    with pytest.raises(Refused) as refused:
        conflicts.reject_all(person_in(account, role=role), conflict.id)
    assert refused.value.code == "forbidden_scope"


def test_a_key_needs_the_delegation_and_then_acts_as_its_maker(account, curator, conflict):
    with pytest.raises(Refused) as refused:
        conflicts.reject_all(key_principal(account), conflict.id)
    assert refused.value.code == "human_required"
    key = key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(curator))
    decision = conflicts.reject_all(key, conflict.id)
    assert (decision.actor["membership_id"], decision.actor["key_id"]) == (str(curator.membership_id), str(key.key_id))


def test_another_accounts_set_is_not_there(conflict):
    other = AccountFactory()
    with entered(other):
        stranger = person_in(other)
        with pytest.raises(NotFound):
            conflicts.reject_all(stranger, conflict.id)
        with pytest.raises(NotFound):
            conflicts.undo(stranger, unknown_id())


# Leaving and coming back


def forget(fact: Fact) -> None:
    """Take a fact away."""
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.DISABLED, actor=pipeline(), action="test.disabled"
    )


def test_a_leaver_shrinks_the_set(ada, sides, conflict):
    third = submitted_fact(ada, {"city": "Nice"}, at=MAY)
    forget(third)
    conflict.refresh_from_db()
    assert (conflict.status, conflict.version) == ("open", 3)
    assert conflict_sets.current_member_ids(conflict) == [fact.id for fact in sides]
    assert Fact.objects.get(pk=third.pk).withheld == ""
    assert ConflictMember.objects.get(fact=third).left_at is not None


def test_alone_a_current_fact_is_served_again(sides, conflict):
    forget(sides[1])
    conflict.refresh_from_db()
    assert conflict.status == "dissolved"
    assert state(sides[0])[0]["withheld"] == ""
    assert not Job.objects.exists()


def test_alone_a_candidate_is_planned_again(account, sides, conflict):
    forget(sides[0])
    job = Job.objects.get()
    assert (job.kind, job.payload) == ("fact.place", {"fact_id": str(sides[1].id)})
    tasks.place_again(str(job.id), str(account.id))
    job.refresh_from_db()
    assert job.status == "done"
    assert statuses(*sides) == ["disabled", "active"]


def test_it_is_planned_against_what_is_believed_by_then(account, ada, sides, conflict):
    forget(sides[0])
    nice = submitted_fact(ada, {"city": "Nice"}, at=MAY)
    assert nice.status == "active"
    tasks.place_again(str(Job.objects.get().id), str(account.id))
    assert statuses(sides[1], nice) == ["candidate", "active"]
    assert set(ConflictMember.objects.filter(left_at=None, conflict_set__status="open").values_list("fact_id")) == {
        (sides[1].id,),
        (nice.id,),
    }


def test_a_job_whose_fact_was_decided_meanwhile_does_nothing(account, sides, conflict):
    forget(sides[0])
    lifecycle.transition(
        sides[1].id, account_id=account.id, to=Status.REJECTED, actor=pipeline(), action="test.rejected"
    )
    tasks.place_again(str(Job.objects.get().id), str(account.id))
    assert statuses(sides[1]) == ["rejected"]
    assert jobs.claim(account.id, Job.objects.get().id) is None


def test_a_decision_is_recorded_without_words(curator, sides, conflict):
    conflicts.keep_one(curator, conflict.id, fact_id=sides[1].id, rationale="She told me.")
    entry = AuditEntry.objects.get(action="conflict.decided.keep_one")
    assert entry.metadata == {"decision": str(ConflictDecision.objects.get().id), "changed": 2}
    assert "She told me." not in str(list(AuditEntry.objects.values_list("metadata", flat=True)))


# At the same moment


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """Run functions at the same moment, each on a connection of its own; return results or exceptions in order."""
    barrier, results = threading.Barrier(len(works)), [None] * len(works)

    def run(position: int) -> None:
        try:
            barrier.wait(timeout=10)
            results[position] = works[position]()
        except Exception as error:
            results[position] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(position,)) for position in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results


@pytest.mark.django_db(transaction=True)
def test_two_reviewers_at_the_same_moment_decide_once():
    account = AccountFactory()
    with account_transaction(account.id):
        people = [person_in(account), person_in(account)]
        ada = SubjectFactory(account=account)
        facts = [submitted_fact(ada, {"city": city}, at=at) for city, at in (("Lyon", JANUARY), ("Paris", MARCH))]
        opened = ConflictSet.objects.get()
    results = in_threads(
        *[
            lambda who=who, fact=fact: conflicts.keep_one(who, opened.id, fact_id=fact.id)
            for who, fact in zip(people, facts, strict=True)
        ]
    )
    with account_transaction(account.id):
        assert ConflictDecision.objects.count() == 1
        assert sorted(statuses(*facts)) == ["active", "superseded"]
    (refused,) = [result for result in results if isinstance(result, Exception)]
    assert isinstance(refused, Conflicting)
    assert refused.code == "conflict_already_resolved"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("cities", "facts", "sets"), [(("Lyon", "Paris"), 2, 1), (("Lyon", "Lyon"), 1, 0)], ids=["other", "equal"]
)
def test_two_candidates_at_the_same_moment(cities, facts, sets):
    account = AccountFactory()
    with account_transaction(account.id):
        ada = SubjectFactory(account=account)
        told = [submission(ada, {"city": city}) for city in cities]

    def place(position: int) -> str:
        with account_transaction(account.id):
            return placement.submit(told[position], actor=pipeline()).result

    results = in_threads(lambda: place(0), lambda: place(1))
    with account_transaction(account.id):
        assert (Fact.objects.count(), ConflictSet.objects.count()) == (facts, sets)
        assert Fact.objects.filter(status="active").count() == 1
        assert list(audit.verify(account.id)) == []
    assert sorted(results) == (["fact", "fact"] if sets else ["duplicate", "fact"])
