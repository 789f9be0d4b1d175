"""Remarks, presence, what is chosen in lists, who holds a conflict, and who would read a fact."""

from __future__ import annotations

import uuid

import pytest

from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import AuditEntry, ConflictSet
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity, Status
from governance import conflicts
from governance.access import Right
from governance.models import LookedAt, Presence, Remark, Review, Role, Selection
from governance.readers import ReaderTable
from governance.reviewing import conflict_claims, presence, remarks, selections
from governance.reviewing.deciders import deciders_at
from tests.factories import (
    JANUARY,
    MARCH,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    key_principal,
    person_in,
    submit,
    submitted_fact,
)


@pytest.fixture
def curator(account):
    """A curator of the whole account."""
    return person_in(account)


@pytest.fixture
def conflict(account) -> ConflictSet:
    """An open contradiction."""
    ana = SubjectFactory(account=account, key="ana", name="Ana")
    submit(ana, {"city": "Lisbon"}, at=JANUARY)
    submit(ana, {"city": "Porto"}, at=MARCH)
    return ConflictSet.objects.get()


@pytest.fixture
def review(account) -> Review:
    """A review that waits."""
    GateRuleFactory(account=account, gate_a="human")
    return Review.objects.get(fact=submitted_fact(SubjectFactory(account=account, key="ada"), {"city": "Lyon"}))


# Remarks


def test_remarks_are_written_by_those_who_decide_and_by_nobody_else(account, curator, conflict, review):
    written = remarks.about_review(curator, review.id, text="  Ask Ana. ")
    assert (written.text, written.review_id, written.actor["name"]) == ("Ask Ana.", review.id, curator.name)
    assert remarks.about_conflict(curator, conflict.id, text="x" * remarks.MAX_LENGTH).conflict_set_id == conflict.id
    entry = AuditEntry.objects.filter(action="remark.made").order_by("seq")[0]
    assert (entry.object_type, entry.metadata["characters"]) == ("review", 8)
    member = person_in(account, role=Role.MEMBER)
    for refused in (remarks.about_review, remarks.about_conflict):
        object_id = review.id if refused is remarks.about_review else conflict.id
        with pytest.raises(Refused, match="may not decide here"):
            refused(member, object_id, text="Mine.")
        with pytest.raises(NotFound):
            refused(curator, uuid.uuid4(), text="Mine.")
        for text, code in ((" ", "remark_missing"), ("x" * (remarks.MAX_LENGTH + 1), "remark_too_long")):
            with pytest.raises(DomainError) as caught:
                refused(curator, object_id, text=text)
            assert caught.value.code == code
    assert Remark.objects.count() == 2


def test_whoever_put_a_fact_in_may_say_something_about_it(account, curator):
    ada = SubjectFactory(account=account)
    mine = FactFactory(subject=ada, status=Status.PROVISIONAL, actor=curator.actor)
    asked = Review.objects.create(account=account, kind="new_fact", fact=mine, fact_version=1)
    assert remarks.about_review(curator, asked.id, text="From the contract.").text == "From the contract."


# Presence


def test_others_who_look_are_told_and_it_passes(account, curator, review):
    other = person_in(account)
    look = {"about": LookedAt.REVIEW, "object_id": review.id}
    assert presence.look(curator, **look) == []
    seen = presence.look(other, **look)
    assert [one.membership_id for one in seen] == [curator.membership_id]
    assert presence.look(other, **look) == seen
    assert Presence.objects.count() == 2
    Presence.objects.filter(membership_id=curator.membership_id).update(seen_at=now() - presence.LASTS * 2)
    assert presence.look(other, **look) == []
    presence.look(curator, about=LookedAt.CONFLICT_SET, object_id=uuid.uuid4())
    assert Presence.objects.filter(membership_id=curator.membership_id).count() == 1
    presence.leave(other, object_id=review.id)
    assert presence.look(curator, **look) == []


# What is chosen


def test_what_is_chosen_on_one_page_stays_while_another_is_chosen_from(curator):
    first, second, third = (uuid.uuid4() for _ in range(3))
    selections.choose(curator, "reviews", shown=[first, second], chosen={first: 3})
    kept = selections.choose(curator, "reviews", shown=[third], chosen={third: None})
    assert kept.items == {str(first): 3, str(third): None}
    assert selections.choose(curator, "reviews", shown=[first, second], chosen={}).items == {str(third): None}
    assert selections.of(curator, "conflicts").items == {}
    selections.clear(curator, "reviews")
    assert selections.of(curator, "reviews").items == {}


def test_too_many_are_not_chosen_and_what_was_chosen_stays(curator):
    first = uuid.uuid4()
    selections.choose(curator, "reviews", shown=[first], chosen={first: 1})
    many = {uuid.uuid4(): None for _ in range(selections.MAX_ITEMS)}
    with pytest.raises(DomainError) as caught:
        selections.choose(curator, "reviews", shown=many, chosen=many)
    assert caught.value.code == "batch_too_large"
    assert selections.of(curator, "reviews").items == {str(first): 1}


def test_what_is_chosen_is_one_persons_own_and_what_was_done_is_chosen_no_longer(account, curator):
    first, second = uuid.uuid4(), uuid.uuid4()
    selections.choose(curator, "reviews", shown=[], chosen={first: 1, second: 1})
    assert selections.of(person_in(account), "reviews").items == {}
    outcome = [
        {"id": str(first), "status": "approved"},
        {"id": str(second), "code": "stale_version", "message": "What you reviewed has changed."},
    ]
    kept = selections.finish(curator, "reviews", verb="approve", outcome=outcome)
    assert kept.items == {str(second): 1}
    assert Selection.objects.get().outcome == {"verb": "approve", "items": outcome}


# Conflicts in somebody's hands


def test_a_conflict_is_taken_given_and_let_go_of_and_that_locks_nobody_out(account, curator, conflict):
    other = person_in(account)
    assert conflict_claims.claim(other, conflict.id).assignee_id == other.membership_id
    with pytest.raises(Conflicting) as caught:
        conflict_claims.claim(curator, conflict.id)
    assert caught.value.code == "conflict_claimed"
    assert conflict_claims.assign(curator, conflict.id, to=None).assignee_id is None
    conflict_claims.assign(curator, conflict.id, to=other.membership_id)
    member = person_in(account, role=Role.MEMBER)
    with pytest.raises(NotFound) as missing:
        conflict_claims.assign(curator, conflict.id, to=member.membership_id)
    assert missing.value.code == "assignee_not_found"
    with pytest.raises(Refused):
        conflict_claims.claim(member, conflict.id)
    conflicts.reject_all(curator, conflict.id)
    with pytest.raises(Conflicting) as over:
        conflict_claims.claim(other, conflict.id)
    assert over.value.code == "conflict_already_resolved"
    actions = list(AuditEntry.objects.filter(object_id=str(conflict.id)).values_list("action", flat=True))
    assert (actions.count("conflict.assigned"), actions.count("conflict.released")) == (2, 1)


def test_who_decides_is_found_in_two_queries(account, curator, django_assert_num_queries):
    person_in(account, role=Role.READER)
    elsewhere = person_in(account, path="/sales")
    with django_assert_num_queries(2):
        found = {member.id for member in deciders_at(account.id, "/sales")}
    assert found == {curator.membership_id, elsewhere.membership_id}
    assert [member.id for member in deciders_at(account.id, "/support")] == [curator.membership_id]
    assert [member.id for member in deciders_at(account.id, "/sales", "/support")] == [curator.membership_id]
    assert deciders_at(account.id) == []


def test_a_member_that_was_seen_otherwise_is_noticed(account, curator, conflict):
    fact = conflict.members.order_by("fact_id")[0].fact
    conflicts.check_seen(curator, conflict.id, versions={fact.id: fact.version, uuid.uuid4(): 7})
    with pytest.raises(Conflicting) as caught:
        conflicts.check_seen(curator, conflict.id, versions={fact.id: fact.version + 1})
    assert caught.value.code == "stale_version"


# Who would read it


def test_who_would_read_a_fact_follows_the_audience_rule(account, django_assert_num_queries):
    ensure_scope(account.id, "/support")
    reader = person_in(account, role=Role.READER, path="/support")
    person_in(account, role=Role.READER, path="/sales")
    trusted = person_in(account, role=Role.READER, restricted=True)
    key_principal(account, rights=[Right.CAPTURE, Right.READ])
    key_principal(account, scope_limit=ensure_scope(account.id, "/sales"))
    key_principal(account)
    ana = SubjectFactory(account=account)
    at = {"subject": ana, "scope": ensure_scope(account.id, "/support")}
    with django_assert_num_queries(3):
        table = ReaderTable(account.id)
    facts = {
        (level, sensitivity): FactFactory(level=level, sensitivity=sensitivity, **at)
        for level, sensitivity in (
            (Level.PEER, Sensitivity.PERSONAL),
            (Level.SCOPE, Sensitivity.PERSONAL),
            (Level.SCOPE, Sensitivity.RESTRICTED),
            (Level.SCOPE, Sensitivity.PUBLIC),
        )
    }
    names = {one.subject_id: one for one in (reader, trusted)}
    with django_assert_num_queries(0):
        told = {key: table.of(fact) for key, fact in facts.items()}
    assert [(len(one.people), one.keys, one.subject_only) for one in told.values()] == [
        (0, 1, True),
        (len(names), 1, False),
        (1, 1, False),
        (len(names), 2, False),
    ]
    wider = table.of(facts[Level.PEER, Sensitivity.PERSONAL], path="/", level=Level.ACCOUNT)
    assert (len(wider.people), wider.keys) == (1, 1)
