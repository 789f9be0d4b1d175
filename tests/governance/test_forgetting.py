"""Forgetting: hidden everywhere, not learnt again, and back as it was when that is lifted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import AuditEntry, ConflictSet, Fact, FactText, Passage, PassageText, Suppression
from facts.vocabulary import Status
from governance import forgetting
from governance.access import Delegation
from governance.models import Review, Role
from governance.reviewing import reviews
from tests.factories import (
    JANUARY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    key_principal,
    maker_of,
    person_in,
    say,
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


def status(fact: Fact) -> str:
    """Return the present status."""
    return Fact.objects.get(pk=fact.pk).status


def test_a_forgotten_fact_and_its_passages_are_hidden(ada, curator):
    fact = submitted_fact(ada, {"city": "Lyon"})
    receipt = forgetting.disable(curator, fact_id=fact.id, reason="She asked.")
    assert status(fact) == "disabled"
    assert not FactText.objects.get(fact=fact).active
    assert Passage.objects.get().withheld == "source_forgotten"
    assert not PassageText.objects.get().active
    assert (receipt.target, receipt.target_id, receipt.counters) == (
        "fact",
        fact.id,
        {"facts_disabled": 1, "events_hidden": 0, "reviews_withdrawn": 0, "facts": [str(fact.id)]},
    )
    assert AuditEntry.objects.get(action="forget.disable").metadata == {"facts": 1, "target": "fact"}


def test_it_is_not_learnt_again(ada, curator):
    told = say(ada)
    fact = submitted_fact(ada, {"city": "Lyon"}, event=told)
    forgetting.disable(curator, fact_id=fact.id)
    assert submit(ada, {"city": "Lyon"}, event=told).reason == "suppressed_forgotten"
    assert submit(ada, {"city": "Lyon"}, at=now() + timedelta(days=900)).reason == "suppressed_forgotten"
    assert submit(ada, {"city": "Paris"}, at=MAY).reason == "new"


def test_lifting_brings_everything_back(ada, curator):
    fact = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    receipt = forgetting.enable(curator, forgetting.disable(curator, fact_id=fact.id).id)
    assert status(fact) == "active"
    assert FactText.objects.get(fact=fact).active
    assert (Passage.objects.get().withheld, PassageText.objects.get().active) == ("", True)
    assert not Suppression.objects.filter(lifted_at__isnull=True).exists()
    assert (receipt.counters["facts_enabled"], receipt.counters["in_conflict"]) == (1, [])
    assert submit(ada, {"city": "Lyon"}, at=MAY).reason == "repeated"
    with pytest.raises(Conflicting) as refused:
        forgetting.enable(curator, receipt.id)
    assert refused.value.code == "forget_lifted"


def test_all_about_a_subject(account, ada, curator):
    facts = [submitted_fact(ada, {"city": "Lyon"}), FactFactory(subject=ada, status=Status.REJECTED)]
    gone = FactFactory(subject=ada, status=Status.RETRACTED)
    other = FactFactory(subject=SubjectFactory(account=account))
    receipt = forgetting.disable(curator, subject_id=ada.id)
    assert [status(fact) for fact in (*facts, gone, other)] == ["disabled", "disabled", "retracted", "active"]
    assert (receipt.target, receipt.counters["facts_disabled"]) == ("subject", 2)
    forgetting.enable(curator, receipt.id)
    assert [status(fact) for fact in facts] == ["active", "rejected"]


def test_where_the_place_was_taken_people_decide(ada, curator):
    fact = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    receipt = forgetting.disable(curator, fact_id=fact.id)
    taken = submitted_fact(ada, {"city": "Paris"}, at=MARCH)
    receipt = forgetting.enable(curator, receipt.id)
    opened = ConflictSet.objects.get(status="open")
    assert (status(fact), status(taken), opened.reason, opened.kind) == (
        "candidate",
        "active",
        "identity_taken",
        "contradiction",
    )
    assert receipt.counters["in_conflict"] == [str(fact.id)]
    assert set(Fact.objects.values_list("withheld", flat=True)) == {"conflict_open"}


def test_what_expired_meanwhile_returns_as_expired(ada, curator):
    fact = FactFactory(subject=ada, expires_at=now() - timedelta(seconds=1))
    forgetting.enable(curator, forgetting.disable(curator, fact_id=fact.id).id)
    assert status(fact) == "expired"


def test_both_sides_of_a_conflict_return_into_one(ada, curator):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    paris = submitted_fact(ada, {"city": "Paris"}, at=MARCH)
    receipt = forgetting.disable(curator, subject_id=ada.id)
    assert ConflictSet.objects.get().status == "dissolved"
    forgetting.enable(curator, receipt.id)
    assert (status(lyon), status(paris)) == ("active", "candidate")
    assert ConflictSet.objects.filter(status="open").count() == 1
    assert set(Fact.objects.values_list("withheld", flat=True)) == {"conflict_open"}


def test_a_side_returns_into_a_set_that_is_still_open(ada, curator):
    for city, at in (("Lyon", JANUARY), ("Paris", MARCH), ("Nice", MAY)):
        last = submitted_fact(ada, {"city": city}, at=at)
    receipt = forgetting.disable(curator, fact_id=last.id)
    assert ConflictSet.objects.get().members.filter(left_at__isnull=True).count() == 2
    forgetting.enable(curator, receipt.id)
    assert ConflictSet.objects.get().members.filter(left_at__isnull=True).count() == 3
    assert (status(last), Fact.objects.get(pk=last.pk).withheld) == ("candidate", "conflict_open")


@pytest.mark.parametrize("named", [{}, {"fact_id": unknown_id(), "subject_id": unknown_id()}])
def test_one_thing_is_named(curator, named):
    with pytest.raises(DomainError) as refused:
        forgetting.disable(curator, **named)
    assert refused.value.code == "invalid_forget_scope"


@pytest.mark.parametrize(
    ("named", "code"),
    [({"fact_id": unknown_id()}, "fact_not_found"), ({"subject_id": unknown_id()}, "subject_not_found")],
)
def test_what_is_not_there(curator, named, code):
    with pytest.raises(NotFound) as refused:
        forgetting.disable(curator, **named)
    assert refused.value.code == code


def test_another_accounts_fact_is_not_there(curator):
    with entered(other := AccountFactory()):
        fact = FactFactory(subject=SubjectFactory(account=other))
    with pytest.raises(NotFound):
        forgetting.disable(curator, fact_id=fact.id)
    with pytest.raises(NotFound):
        forgetting.enable(curator, unknown_id())


def test_who_may_forget(account, ada, curator):
    fact = FactFactory(subject=ada)
    open_one = FactFactory(subject=ada, sensitivity="public")
    member = person_in(account, role=Role.MEMBER)
    for stranger, known, code in (
        (member, open_one, "forbidden_scope"),
        (key_principal(account), fact, "human_required"),
        (key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(curator)), fact, "human_required"),
    ):
        with pytest.raises(Refused) as refused:
            forgetting.disable(stranger, fact_id=known.id)
        assert refused.value.code == code
    # Of what they may not read they are told as of what does not exist.
    for stranger in (member, person_in(account, role=None), key_principal(account, rights=["read"])):
        with pytest.raises(NotFound) as missing:
            forgetting.disable(stranger, fact_id=fact.id)
        assert missing.value.code == "fact_not_found"
    key = key_principal(account, delegated=[Delegation.FORGET], maker=maker_of(curator))
    assert forgetting.disable(key, fact_id=fact.id).actor["membership_id"] == str(curator.membership_id)


def test_subjects_speak_for_themselves(account):
    me = person_in(account, role=None)
    mine = FactFactory(subject=maker_of(me).subject)
    forgetting.enable(me, forgetting.disable(me, fact_id=mine.id).id)
    key = key_principal(account, peer=maker_of(me).subject)
    assert forgetting.disable(key, subject_id=me.subject_id).counters["facts_disabled"] == 1
    with pytest.raises(NotFound):
        forgetting.disable(me, fact_id=FactFactory(subject=SubjectFactory(account=account)).id)


def test_a_confined_key_forgets_nothing_outside_for_whom_it_speaks(account, ada):
    inside, outside = FactFactory(subject=ada), FactFactory(subject=ada, scope=ScopeFactory(account=account, path="/"))
    free = key_principal(account, peer=ada)
    confined = key_principal(account, peer=ada, scope_limit=inside.scope)
    with pytest.raises(NotFound):
        forgetting.disable(confined, fact_id=outside.id)
    for named in ({"subject_id": ada.id}, {"subject_id": ada.id, "within": "/sales"}):
        with pytest.raises(Refused) as refused:
            forgetting.disable(confined, **named)
        assert (refused.value.code, refused.value.status) == ("forbidden_scope", 403)
    assert (status(inside), status(outside)) == ("active", "active")
    everything = forgetting.disable(free, subject_id=ada.id)
    with pytest.raises(NotFound) as missing:
        forgetting.enable(confined, everything.id)
    assert (missing.value.code, status(outside)) == ("receipt_not_found", "disabled")
    forgetting.enable(free, everything.id)
    for named in ({"fact_id": inside.id}, {"subject_id": ada.id, "within": inside.scope.path}):
        forgetting.enable(confined, forgetting.disable(confined, **named).id)


def test_what_repeats_something_forgotten_is_hidden_until_it_returns(account, ada, curator):
    elsewhere = ScopeFactory(account=account, path="/sales")
    facts = [submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)]
    facts.append(submitted_fact(ada, {"city": "Lyon"}, at=MARCH, event_fields={"scope": elsewhere}))
    receipts = [forgetting.disable(curator, fact_id=fact.id) for fact in facts]
    again = say(ada, occurred_at=MAY)
    assert submit(ada, {"city": "Lyon"}, event=again).reason == "suppressed_forgotten"
    untouched = say(ada, occurred_at=MAY)
    submit(ada, {"city": "Lyon"}, event=untouched, predicate="works_in", statement="Ada works in Lyon.")

    def served(event):
        passage = Passage.objects.get(event=event)
        return passage.withheld, PassageText.objects.get(passage=passage).active

    for receipt in receipts:
        assert (served(again), served(untouched)) == (("source_forgotten", False), ("", True))
        assert submit(ada, {"city": "Lyon"}, event=again).reason == "suppressed_forgotten"
        forgetting.enable(curator, receipt.id)
    assert served(again) == ("", True)


def test_an_approved_repetition_of_something_forgotten_is_hidden(account, ada, curator):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    GateRuleFactory(account=account, gate_a="human")
    told = say(ada, occurred_at=MARCH)
    waiting = submitted_fact(ada, {"city": "Lyon"}, event=told, predicate="resides_in")
    receipt = forgetting.disable(curator, fact_id=lyon.id)
    # Both names turn out to mean one thing, so that approval finds the claim forgotten.
    Suppression.objects.update(identity_key=waiting.identity_key)
    reviews.approve(curator, Review.objects.get(fact=waiting).id)
    assert (status(waiting), Passage.objects.get(event=told).withheld) == ("rejected", "source_forgotten")
    forgetting.enable(curator, receipt.id)
    assert Passage.objects.get(event=told).withheld == ""


def test_what_was_rejected_keeps_its_passages(account, ada, curator):
    GateRuleFactory(account=account, gate_a="human")
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    reviews.reject(curator, Review.objects.get(fact=waiting).id)
    again = say(ada, occurred_at=JANUARY)
    assert submit(ada, {"city": "Lyon"}, event=again).reason == "suppressed_rejected"
    assert Passage.objects.get(event=again).withheld == ""
    # What is both rejected and forgotten is hidden: forgetting lasts.
    forgetting.disable(curator, fact_id=waiting.id)
    assert submit(ada, {"city": "Lyon"}, event=again).reason == "suppressed_forgotten"
    assert Passage.objects.get(event=again).withheld == "source_forgotten"


def test_forgetting_twice_hides_once(ada, curator):
    fact = FactFactory(subject=ada)
    forgetting.disable(curator, fact_id=fact.id)
    assert forgetting.disable(curator, subject_id=ada.id).counters["facts_disabled"] == 0
    assert Suppression.objects.count() == 1


def test_a_disputed_fact_returns_as_disputed(ada, curator):
    fact = FactFactory(subject=ada)
    lifecycle.transition(fact.id, account_id=ada.account_id, to=Status.DISPUTED, actor=pipeline(), action="x")
    forgetting.enable(curator, forgetting.disable(curator, fact_id=fact.id).id)
    assert status(fact) == "disputed"


def test_what_a_forgotten_subject_said_is_hidden_though_no_fact_cites_it(account, ada, curator):
    said = say(ada, "The fridge hums.")
    spoken = say(SubjectFactory(account=account), "So does mine.", speaker=ada)
    other = say(SubjectFactory(account=account), "It does not.")
    elsewhere = say(ada, "The door creaks.", scope=ScopeFactory(account=account, path="/sales"))
    receipt = forgetting.disable(curator, subject_id=ada.id, within="/support")

    def hidden(event):
        passage = Passage.objects.get(event=event)
        active = PassageText.objects.get(passage=passage).active
        return (passage.withheld, active) == ("source_forgotten", False)

    assert [hidden(event) for event in (said, spoken, other, elsewhere)] == [True, True, False, False]
    assert receipt.counters["events_hidden"] == 2
    later = forgetting.disable(curator, subject_id=ada.id)
    forgetting.enable(curator, receipt.id)
    assert [hidden(event) for event in (said, spoken, elsewhere)] == [False, False, True]
    forgetting.enable(curator, later.id)
    assert not hidden(elsewhere)


def test_a_message_of_a_forgotten_subject_stays_hidden_whatever_cites_it_afterwards(account, ada, curator):
    told = say(ada)
    forgetting.disable(curator, subject_id=ada.id)
    FactFactory(subject=SubjectFactory(account=account), event=told)
    assert Passage.objects.get(event=told).withheld == "source_forgotten"
