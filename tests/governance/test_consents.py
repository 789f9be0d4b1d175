"""A subject's yes counts over a verified channel only, its no over any, and nobody answers for it."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from facts import lifecycle
from facts.actors import pipeline, system
from facts.errors import DomainError
from facts.models import AuditEntry, Fact, FactText
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from governance import forgetting, placement
from governance.models import Consent, ConsentChannel, Review
from governance.reviewing import reviews
from governance.sharing import consent_records, consents
from governance.sharing.consent_rule import consent_needed
from tests.factories import AccountFactory, GateRuleFactory, entered, key_principal, maker_of, person_in, unknown_id
from tests.governance.sharing_scene import Scene, scene_in, unconsented_and_readable


@pytest.fixture
def scene(account) -> Scene:
    return scene_in(account)


@pytest.fixture
def open_rule(account):
    """What is personal may be placed for a whole scope by itself, as far as its subject agrees."""
    return GateRuleFactory(account=account, level=Level.SCOPE)


def proposed(scene: Scene, **fields) -> Fact:
    """Return a personal fact for a whole scope that went through the gates."""
    fact = scene.fact(status=Status.CANDIDATE, level=Level.SCOPE, **fields)
    verdict = placement.ask_gates(fact, actor=pipeline())
    if verdict.accepted:
        placement.place_waiting(fact, actor=pipeline(), action="gate.accepted")
    else:
        lifecycle.transition(fact.id, account_id=fact.account_id, to=Status.HELD, actor=pipeline(), action="gate.waits")
        version = Fact.objects.get(pk=fact.pk).version
        Review.objects.create(account=scene.account, kind="new_fact", fact=fact, fact_version=version)
    fact.refresh_from_db()
    return fact


def refusal(work, *arguments) -> str:
    """Return the code with which something is refused."""
    with pytest.raises(DomainError) as caught:
        work(*arguments)
    return caught.value.code


@given(
    kind=st.sampled_from(SubjectKind.values),
    sensitivity=st.sampled_from(Sensitivity.values),
    level=st.sampled_from(Level.values),
)
def test_the_rule(kind, sensitivity, level):
    needed = consent_needed(subject_kind=kind, sensitivity=sensitivity, level=level)
    assert needed == ((kind, sensitivity) == ("person", "personal") and level in {"scope", "account"})


def test_the_gates_wait_for_the_subject_and_go_on_when_it_agrees(scene, open_rule):
    fact = proposed(scene)
    consent = scene.consent(fact)
    assert (fact.status, consent.status, consent.target) == ("held", "pending", scene.emea)
    consents.grant(scene.ada, consent.id)
    assert (Fact.objects.get(pk=fact.pk).status, Review.objects.get().status) == ("active", "withdrawn")


def test_a_curators_yes_is_not_the_subjects(scene):
    fact = proposed(scene)
    review = Review.objects.get()
    assert refusal(reviews.approve, scene.decider, review.id) == "consent_missing"
    consents.grant(scene.ada, scene.consent(fact).id)
    assert Fact.objects.get(pk=fact.pk).status == "held"
    reviews.approve(scene.decider, review.id)
    assert Fact.objects.get(pk=fact.pk).status == "active"


def test_nobody_answers_for_somebody_else(account, scene, open_rule):
    consent = scene.consent(proposed(scene))
    own_key = key_principal(account, delegated=["resolve"], maker=maker_of(scene.ada), peer=scene.subject)
    foreign = AccountFactory()
    with entered(foreign):
        stranger = person_in(foreign)
    for answer in (consents.grant, consents.refuse):
        assert refusal(answer, scene.decider, consent.id) == "consent_not_found"
        assert refusal(answer, scene.ada, unknown_id()) == "consent_not_found"
        assert refusal(answer, own_key, consent.id) == "human_required"
        with entered(None):
            assert refusal(answer, stranger, consent.id) == "consent_not_found"
    assert Consent.objects.get().status == "pending"


def test_saying_it_twice_changes_nothing(scene, open_rule):
    consent = scene.consent(proposed(scene))
    for answer, status in ((consents.grant, "granted"), (consents.refuse, "withdrawn")):
        first = answer(scene.ada, consent.id)
        again = answer(scene.ada, consent.id)
        assert (again.status, again.decided_at) == (status, first.decided_at)
    told = AuditEntry.objects.filter(object_type="consent").order_by("seq").values_list("action", flat=True)
    assert [*told] == ["consent.asked", "consent.granted", "consent.withdrawn"]


def test_a_no_counts_over_any_channel_and_a_yes_is_never_written_unverified(scene, open_rule):
    consent = scene.consent(proposed(scene))
    with pytest.raises(IntegrityError), transaction.atomic():
        Consent.objects.filter(pk=consent.pk).update(status="granted", channel=ConsentChannel.LINK, verified=False)
    locked = consents.locked_consent(consent)
    consents.say_no(locked, channel=ConsentChannel.LINK, verified=False, actor=system())
    consent.refresh_from_db()
    assert (consent.status, consent.channel, consent.verified) == ("denied", "link", False)


def test_withdrawal_makes_a_placed_fact_its_subjects_own_at_once(scene, open_rule):
    fact = proposed(scene)
    consent = scene.consent(fact)
    consents.grant(scene.ada, consent.id)
    shared = FactText.objects.get(fact=fact).audience
    consents.refuse(scene.ada, consent.id)
    fact.refresh_from_db()
    assert (fact.status, fact.level, unconsented_and_readable()) == ("active", "peer", [])
    assert FactText.objects.get(fact=fact).audience == shared - 4


def test_what_comes_back_after_a_withdrawal_comes_back_for_its_subject_alone(scene, open_rule):
    fact = proposed(scene)
    consent = scene.consent(fact)
    consents.grant(scene.ada, consent.id)
    receipt = forgetting.disable(scene.ada, fact_id=fact.id)
    consents.refuse(scene.ada, consent.id)
    forgetting.enable(scene.ada, receipt.id)
    fact.refresh_from_db()
    assert (fact.status, fact.level) == ("active", "peer")


def test_the_ledger_itself_keeps_the_unconsented_from_being_seen(scene):
    fact = scene.fact()
    widened = lifecycle.amend(
        fact.id, account_id=fact.account_id, actor=system(), action="test", changes={"level": Level.ACCOUNT}
    )
    assert (widened.level, Fact.objects.get(pk=fact.pk).level) == ("peer", "peer")
    internal = scene.fact(sensitivity=Sensitivity.INTERNAL)
    widened = lifecycle.amend(
        internal.id, account_id=fact.account_id, actor=system(), action="test", changes={"level": Level.ACCOUNT}
    )
    assert widened.level == "account"


def test_an_account_that_consents_for_everybody_writes_it_down(scene, open_rule):
    scene.account.consent_mode = "auto"
    scene.account.save()
    fact = proposed(scene)
    consent = scene.consent(fact)
    assert (fact.status, consent.status, consent.channel, consent.verified) == ("active", "granted", "auto", False)
    assert consent.decided_by == {"kind": "system", "name": "consent_mode"}
    consents.refuse(scene.ada, consent.id)
    assert consent_records.ask(fact, target_id=scene.emea.id, actor=system()).status == "withdrawn"
    fact.refresh_from_db()
    assert fact.level == "peer"


def test_consent_hangs_on_the_subject_that_gave_it(scene, open_rule):
    fact = proposed(scene)
    consents.grant(scene.ada, scene.consent(fact).id)
    Fact.objects.filter(pk=fact.pk).update(subject=scene.other.subject_id)
    assert not consent_records.is_granted(Fact.objects.get(pk=fact.pk))
