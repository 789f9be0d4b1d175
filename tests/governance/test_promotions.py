"""Knowledge moves up by one curator's request, its subject's yes and another curator's approval, and comes back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import audit, conflict_sets, lifecycle
from facts.actors import pipeline, sweeper, system
from facts.errors import DomainError
from facts.models import AuditEntry, ConflictSet, Evidence, Fact, FactText, Relation
from facts.tenancy import account_transaction, ensure_scope
from facts.vocabulary import Level, Sensitivity, Status
from governance import forgetting
from governance.models import Consent, GateDecision, Promotion, Review
from governance.reviewing import reviews
from governance.reviewing.review_queue import reviews_for
from governance.sharing import consents, promotion_records, promotion_undo, promotions
from tests.factories import (
    JANUARY,
    MAY,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    entered,
    key_principal,
    maker_of,
    person_in,
    taken_back,
    unknown_id,
)
from tests.governance.sharing_scene import Scene, scene_in, unconsented_and_readable
from tests.governance.test_conflicts import in_threads


@pytest.fixture
def scene(account) -> Scene:
    return scene_in(account)


def refusal(work, *arguments, **named) -> str:
    """Return the code with which something is refused."""
    with pytest.raises(DomainError) as caught:
        work(*arguments, **named)
    return caught.value.code


def promoted(scene: Scene, fact: Fact, *, target: str = "/support") -> Fact:
    """Go the whole way and return the copy."""
    promotion = scene.request(fact, target=target)
    if (consent := Consent.objects.filter(fact=fact, target=promotion.target).first()) is not None:
        consents.grant(scene.ada, consent.id)
    return promotions.approve(scene.decider, promotion.id).copy


# Requests


def test_a_request_asks_the_subject_and_a_second_curator(scene):
    fact = scene.fact()
    promotion = scene.request(fact)
    consent, review = scene.consent(fact), promotion.review
    assert (consent.status, consent.subject_id, consent.target) == ("pending", scene.ada.subject_id, scene.support)
    assert (review.kind, review.status, review.fact_version) == ("promotion", "pending", fact.version)
    assert (promotion.status, promotion.reason, Fact.objects.count()) == ("requested", "Planning shifts.", 1)


def test_who_may_ask(account, scene):
    fact = scene.fact()
    ask = {"fact_id": fact.id, "target": "/support", "reason": "Because."}
    below = person_in(account, path="/support/emea")
    elsewhere = person_in(account, path="/sales")
    delegate = key_principal(account, delegated=["resolve"], maker=maker_of(scene.asker))
    assert refusal(promotions.request_promotion, delegate, **ask) == "human_required"
    assert refusal(promotions.request_promotion, below, **ask) == "forbidden_scope"
    assert refusal(promotions.request_promotion, elsewhere, **ask) == "fact_not_found"
    assert refusal(promotions.request_promotion, scene.other, **ask) == "fact_not_found"
    assert refusal(promotions.request_promotion, scene.asker, **{**ask, "fact_id": unknown_id()}) == "fact_not_found"
    assert refusal(promotions.request_promotion, scene.asker, **{**ask, "reason": " "}) == "reason_missing"
    assert Promotion.objects.count() == 0


def test_another_account_has_no_such_fact(scene):
    fact = scene.fact()
    foreign = AccountFactory()
    with entered(foreign):
        stranger = person_in(foreign)
    with entered(None):
        code = refusal(promotions.request_promotion, stranger, fact_id=fact.id, target="/", reason="Because.")
    assert code == "fact_not_found"


@pytest.mark.parametrize("target", ["/support/emea", "/sales", "/support/emea/fr"])
def test_only_scopes_above(account, scene, target):
    ensure_scope(account.id, target)
    assert refusal(scene.request, scene.fact(), target=target) == "not_above"


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.PROVISIONAL},
        {"status": Status.SUPERSEDED},
        {"valid_to": MAY},
        {"expires_at": MAY},
        {"sensitivity": Sensitivity.RESTRICTED},
    ],
    ids=["provisional", "superseded", "over", "expired", "restricted"],
)
def test_what_cannot_be_promoted(scene, fields):
    scene_asker_sees = person_in(scene.account, restricted=True)
    fact = scene.fact(**fields)
    ask = {"fact_id": fact.id, "target": "/support", "reason": "Because."}
    assert refusal(promotions.request_promotion, scene_asker_sees, **ask) == "not_promotable"


def test_a_copy_is_not_promoted_again_but_its_origin_is(scene):
    fact = scene.fact()
    copy = promoted(scene, fact)
    assert refusal(scene.request, copy, target="/") == "not_promotable"
    assert refusal(scene.request, fact) == "already_promoted"
    top = promoted(scene, fact, target="/")
    assert (top.level, copy.level) == ("account", "scope")


def test_one_open_request_per_fact(scene):
    fact = scene.fact()
    scene.request(fact)
    assert refusal(scene.request, fact) == "promotion_pending"
    assert refusal(scene.request, fact, target="/") == "promotion_pending"


def test_a_no_stands_until_the_subject_changes_its_mind(scene):
    fact = scene.fact()
    promotion = scene.request(fact)
    consents.refuse(scene.ada, scene.consent(fact).id)
    promotion.refresh_from_db()
    assert (promotion.status, promotion.review.status) == ("refused", "withdrawn")
    assert refusal(scene.request, fact) == "consent_refused"
    consents.grant(scene.ada, scene.consent(fact).id)
    assert promotions.approve(scene.decider, scene.request(fact).id).copy.status == "active"


# Decisions


def test_approval_places_a_copy_and_leaves_the_origin(scene):
    fact = scene.fact(predicate="works_when", value={"time": "morning"}, qualifiers={})
    before = fact.version
    promotion = scene.request(fact)
    consents.grant(scene.ada, scene.consent(fact).id)
    approved = promotions.approve(scene.decider, promotion.id, rationale="Helps planning.")
    copy, fact = scene.copy(fact), Fact.objects.get(pk=fact.pk)
    assert (approved.status, approved.copy, approved.review.status) == ("approved", copy, "approved")
    assert (fact.status, fact.version, fact.level, fact.scope) == ("active", before, "peer", scene.emea)
    assert (copy.status, copy.level, copy.scope, copy.statement) == ("active", "scope", scene.support, fact.statement)
    shared = [Evidence.objects.filter(fact=each).values_list("event", "quote").get() for each in (fact, copy)]
    assert shared[0] == shared[1]
    decided = GateDecision.objects.filter(fact=copy).values_list("gate", "outcome", "actor__membership_id")
    assert [*decided] == [(gate, "pass", str(scene.decider.membership_id)) for gate in "AB"]
    assert [*audit.verify(scene.account.id)] == []


def test_nothing_is_approved_without_the_subject(scene):
    promotion = scene.request(scene.fact())
    assert refusal(promotions.approve, scene.decider, promotion.id) == "consent_missing"
    assert refusal(reviews.approve, scene.decider, promotion.review_id) == "consent_missing"
    assert (Fact.objects.count(), unconsented_and_readable()) == (1, [])


def test_what_is_not_personal_needs_no_consent(scene):
    fact = scene.fact(sensitivity=Sensitivity.INTERNAL)
    scope = FactFactory(account=scene.account, subject=SubjectFactory(account=scene.account, kind="scope"))
    promotions.approve(scene.decider, scene.request(fact).id)
    promotions.approve(scene.decider, scene.request(Fact.objects.get(pk=scope.pk), target="/").id)
    assert (Consent.objects.count(), scene.copy(fact).status) == (0, "active")


def test_who_may_decide(account, scene):
    promotion = scene.request(scene.fact())
    consents.grant(scene.ada, Consent.objects.get().id)
    delegate = key_principal(account, delegated=["resolve"], maker=maker_of(scene.decider))
    own_key = key_principal(account, delegated=["resolve"], maker=maker_of(scene.asker))
    below = person_in(account, path="/support/emea")
    for decide in (promotions.approve, promotions.reject):
        assert refusal(decide, scene.asker, promotion.id) == "own_request"
        assert refusal(decide, delegate, promotion.id) == "human_required"
        assert refusal(decide, own_key, promotion.id) == "human_required"
        assert refusal(decide, below, promotion.id) == "promotion_not_found"
        assert refusal(decide, scene.ada, promotion.id) == "forbidden_scope"
        assert refusal(decide, scene.decider, unknown_id()) == "promotion_not_found"
    assert refusal(promotions.cancel, scene.decider, promotion.id) == "not_requester"
    assert Promotion.objects.get().status == "requested"


def test_nobody_approves_what_they_put_in_themselves(scene):
    fact = scene.fact(sensitivity=Sensitivity.INTERNAL, actor=scene.decider.actor)
    assert refusal(promotions.approve, scene.decider, scene.request(fact).id) == "own_request"


def test_decided_once(scene):
    promotion = scene.request(scene.fact())
    promotions.reject(scene.decider, promotion.id, rationale="Too private.")
    assert Promotion.objects.get().review.rationale == "Too private."
    for decide in (promotions.approve, promotions.reject):
        assert refusal(decide, scene.decider, promotion.id) == "promotion_decided"
    assert refusal(promotions.cancel, scene.asker, promotion.id) == "promotion_decided"
    assert promotions.cancel(scene.asker, scene.request(promotion.fact).id).status == "cancelled"


def test_what_was_asked_about_has_changed(scene):
    fact = scene.fact()
    promotion = scene.request(fact)
    consents.grant(scene.ada, scene.consent(fact).id)
    lifecycle.amend(fact.id, account_id=fact.account_id, actor=system(), action="t", changes={"valid_from": JANUARY})
    assert refusal(promotions.approve, scene.decider, promotion.id) == "stale_version"


def test_the_target_knows_it_already(scene):
    claim = {"predicate": "works_when", "value": {"time": "morning"}, "sensitivity": Sensitivity.INTERNAL}
    scene.fact(**claim, scope=scene.support)
    promotion = scene.request(scene.fact(**claim))
    assert refusal(promotions.approve, scene.decider, promotion.id) == "already_known"


def test_a_copy_that_contradicts_the_target_waits_in_a_conflict(scene):
    there = scene.fact(
        predicate="works_when", value={"time": "night"}, sensitivity=Sensitivity.INTERNAL, scope=scene.support
    )
    fact = scene.fact(predicate="works_when", value={"time": "morning"}, sensitivity=Sensitivity.INTERNAL)
    copy = promotions.approve(scene.decider, scene.request(fact).id).copy
    assert (copy.status, ConflictSet.objects.get().kind) == ("candidate", "contradiction")
    assert Fact.objects.get(pk=there.pk).withheld == "conflict_open"


def test_an_account_that_consents_for_everybody_says_so(scene):
    scene.account.consent_mode = "auto"
    scene.account.save()
    fact = scene.fact()
    promotion = scene.request(fact)
    consent = scene.consent(fact)
    assert (consent.status, consent.channel, consent.verified) == ("granted", "auto", False)
    assert promotions.approve(scene.decider, promotion.id).copy.status == "active"
    consents.refuse(scene.ada, consent.id)
    assert (scene.copy(fact).status, refusal(scene.request, fact)) == ("retracted", "consent_refused")


# The queue


def test_the_targets_curators_see_it_in_their_queue(account, scene):
    promotion = scene.request(scene.fact())
    at_the_target = person_in(account, path="/support", propagates=False)
    below = person_in(account, path="/support/emea")
    key = key_principal(account, delegated=["resolve"], maker=maker_of(scene.decider))
    queues = [list(reviews_for(who)) for who in (scene.decider, at_the_target, below, key)]
    assert queues == [[promotion.review], [promotion.review], [], []]


def test_the_queue_decides_promotions_as_promotions(scene):
    fact = scene.fact()
    promotion = scene.request(fact)
    consents.grant(scene.ada, scene.consent(fact).id)
    assert refusal(reviews.approve, scene.asker, promotion.review_id) == "own_request"
    assert reviews.approve(scene.decider, promotion.review_id).status == "approved"
    assert (scene.copy(fact).status, Promotion.objects.get().status) == ("active", "approved")
    other = scene.request(scene.fact(statement="Ada dislikes noise."))
    assert reviews.reject(scene.decider, other.review_id).status == "rejected"
    assert Fact.objects.get(pk=other.fact_id).status == "active"


def test_a_request_that_ages_out_is_rejected(scene):
    promotion = scene.request(scene.fact())
    promotion_records.lapse(promotion.review, actor=sweeper("age_reviews"))
    promotion.refresh_from_db()
    assert (promotion.status, Review.objects.get().status, promotion.fact.status) == ("rejected", "rejected", "active")


# What becomes of a copy


def test_withdrawal_pulls_the_copy_back_at_once(scene):
    fact = scene.fact()
    copy = promoted(scene, fact)
    assert FactText.objects.get(fact=copy).active
    consents.refuse(scene.ada, scene.consent(fact).id)
    copy.refresh_from_db()
    assert (copy.status, Promotion.objects.get().status, Fact.objects.get(pk=fact.pk).status) == (
        "retracted",
        "withdrawn",
        "active",
    )
    assert not FactText.objects.get(fact=copy).active
    assert scene.consent(fact).status == "withdrawn"


def test_after_a_withdrawal_and_a_new_yes_it_is_asked_and_approved_again(scene):
    fact = scene.fact()
    first = promoted(scene, fact)
    consent = scene.consent(fact)
    consents.refuse(scene.ada, consent.id)
    consents.grant(scene.ada, consent.id)
    second = promoted(scene, fact)
    first.refresh_from_db()
    assert (first.status, second.status, first.id == second.id) == ("retracted", "active", False)


@pytest.mark.parametrize(
    ("to", "copy_status"),
    [
        (Status.REJECTED, "retracted"),
        (Status.REDACTED, "retracted"),
        (Status.RETRACTED, "retracted"),
        (Status.DELETED, "retracted"),
        (Status.SUPERSEDED, "expired"),
        (Status.EXPIRED, "expired"),
        (Status.NEEDS_REVALIDATION, "active"),
    ],
)
def test_a_copy_goes_the_way_of_its_origin(scene, to, copy_status):
    fact = scene.fact()
    promoted(scene, fact)
    changes = {"valid_to": MAY} if copy_status == "expired" else {}
    lifecycle.transition(fact.id, account_id=fact.account_id, to=to, actor=system(), action="test", changes=changes)
    copy = scene.copy(fact)
    assert (copy.status, copy.valid_to) == (copy_status, MAY if changes else None)


def test_a_copy_is_disputed_with_its_origin_and_comes_back_with_it(scene):
    fact = scene.fact(predicate="works_when", value={"time": "morning"})
    promoted(scene, fact)
    change = {"account_id": fact.account_id, "actor": system(), "action": "test"}
    seen = []
    for to in (Status.DISPUTED, Status.ACTIVE, Status.DISPUTED):
        lifecycle.transition(fact.id, to=to, **change)
        seen.append(scene.copy(fact).status)
    assert seen == ["disputed", "active", "disputed"]
    scene.fact(predicate="works_when", value={"time": "night"}, scope=scene.support)
    lifecycle.transition(fact.id, to=Status.ACTIVE, **change)
    assert (Fact.objects.get(pk=fact.pk).status, scene.copy(fact).status) == ("active", "retracted")


def test_forgetting_the_origin_takes_the_copy_and_does_not_bring_it_back(scene):
    fact = scene.fact()
    promoted(scene, fact)
    receipt = forgetting.disable(scene.ada, fact_id=fact.id)
    assert scene.copy(fact).status == "retracted"
    forgetting.enable(scene.ada, receipt.id)
    assert (Fact.objects.get(pk=fact.pk).status, scene.copy(fact).status) == ("active", "retracted")


def test_an_open_request_goes_with_its_fact(scene):
    fact = scene.fact()
    promotion = scene.request(fact)
    forgetting.disable(scene.ada, fact_id=fact.id)
    promotion.refresh_from_db()
    assert (promotion.status, promotion.review.status) == ("cancelled", "withdrawn")


def test_the_records_hold_no_words(scene):
    fact = scene.fact(statement="Ada fears spiders.")
    promoted(scene, fact)
    told = str([*AuditEntry.objects.values_list("action", "metadata")])
    assert "spiders" not in told
    assert {"promotion.requested", "consent.asked", "consent.granted", "promotion.approved"} <= {
        *AuditEntry.objects.values_list("action", flat=True)
    }


# At the same moment


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("answered", [consents.refuse], ids=["withdraw"])
def test_approval_and_withdrawal_at_the_same_moment(answered):
    account = AccountFactory()
    with account_transaction(account.id):
        scene = scene_in(account)
        fact = scene.fact()
        promotion = scene.request(fact)
        consent = scene.consent(fact)
        consents.grant(scene.ada, consent.id)
    results = in_threads(
        lambda: promotions.approve(scene.decider, promotion.id), lambda: answered(scene.ada, consent.id)
    )
    with account_transaction(account.id):
        promotion.refresh_from_db()
        copies = Fact.objects.filter(relations_out__kind="promoted_from").values_list("status", flat=True)
        ended = {"withdrawn": ["retracted"], "refused": []}
        assert [*copies] == ended[promotion.status]
        assert unconsented_and_readable() == []
        assert [*audit.verify(account.id)] == []
    assert isinstance(results[1], Consent)
    assert getattr(results[0], "code", None) in {None, "promotion_decided"}


@pytest.mark.django_db(transaction=True)
def test_two_curators_at_the_same_moment_decide_once():
    account = AccountFactory()
    with account_transaction(account.id):
        scene = scene_in(account)
        promotion = scene.request(scene.fact(sensitivity=Sensitivity.INTERNAL))
        third = person_in(account)
    results = in_threads(
        lambda: promotions.approve(scene.decider, promotion.id), lambda: promotions.approve(third, promotion.id)
    )
    with account_transaction(account.id):
        assert Relation.objects.filter(kind="promoted_from").count() == 1
    (refused,) = [result for result in results if isinstance(result, Exception)]
    assert refused.code == "promotion_decided"


# Whatever happens in whatever order

_STEPS = (
    *("request", "request_top", "cancel", "approve", "reject"),
    *("grant", "refuse"),
    *("forget", "enable", "end", "widen", "dispute", "age"),
)


def _step(scene: Scene, fact: Fact, step: str) -> None:
    """Do one thing if it is possible now; what is refused is refused."""
    open_one = Promotion.objects.filter(status="requested").first()
    nothing = unknown_id()
    asked = [consent.id for consent in Consent.objects.order_by("id")] or [nothing]
    try:
        match step:
            case "request":
                scene.request(fact)
            case "request_top":
                scene.request(fact, target="/")
            case "grant":
                consents.grant(scene.ada, asked[-1])
            case "refuse":
                consents.refuse(scene.ada, asked[0])
            case "approve":
                promotions.approve(scene.decider, open_one.id if open_one else nothing)
            case "reject":
                promotions.reject(scene.decider, open_one.id if open_one else nothing)
            case "cancel":
                promotions.cancel(scene.asker, open_one.id if open_one else nothing)
            case "forget":
                forgetting.disable(scene.ada, fact_id=fact.id)
            case "enable":
                receipt = forgetting.ForgetReceipt.objects.filter(lifted_at__isnull=True).first()
                forgetting.enable(scene.ada, receipt.id if receipt else nothing)
            case "end":
                change = {"account_id": fact.account_id, "actor": sweeper("expiry"), "action": "fact.expired"}
                lifecycle.transition(fact.id, to=Status.EXPIRED, **change)
            case "dispute":
                change = {"account_id": fact.account_id, "actor": scene.ada.actor, "action": "fact.contested"}
                lifecycle.transition(fact.id, to=Status.DISPUTED, **change)
            case "age" if open_one:
                promotion_records.lapse(open_one.review, actor=sweeper("ageing"))
            case "widen":
                lifecycle.amend(
                    fact.id, account_id=fact.account_id, actor=system(), action="t", changes={"level": Level.SCOPE}
                )
    except DomainError:
        return


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(_STEPS), min_size=3, max_size=9))
def test_nothing_personal_is_ever_read_above_peer_level_without_consent(scene, steps):
    with taken_back():
        fact = scene.fact()
        for step in steps:
            _step(scene, fact, step)
            assert unconsented_and_readable() == []
        assert [*audit.verify(scene.account.id)] == []


def test_a_copy_is_withheld_while_its_origin_is_in_an_open_contradiction(account):
    scene = scene_in(account)
    origin = scene.fact(sensitivity="internal", predicate="works", value={"value": "mornings"})
    promotions.approve(scene.decider, scene.request(origin).id)
    copy = scene.copy(origin)
    against = scene.fact(statement="Ada prefers evenings.", sensitivity="internal")
    conflict = conflict_sets.open_set(
        account_id=account.id,
        scope_id=origin.scope_id,
        subject_id=origin.subject_id,
        kind="contradiction",
        members=[(origin.id, True), (against.id, True)],
        reason="different_value",
        identity_key=origin.identity_key,
        actor=pipeline(),
        group=unknown_id(),
    )
    for fact in (origin, copy):
        fact.refresh_from_db()
        assert (fact.status, fact.withheld) == ("active", "conflict_open")
    conflict_sets.close(conflict, status="dismissed", actor=pipeline(), resolution="dismiss", group=unknown_id())
    for fact in (origin, copy):
        fact.refresh_from_db()
        assert fact.withheld == ""


def test_an_approval_is_taken_back_while_nothing_has_built_on_it(scene):
    claim = {"sensitivity": "internal", "predicate": "works", "kind": "attribute"}
    known = scene.fact(**claim, value={"value": "evenings"}, scope=scene.support, level=Level.SCOPE)
    origin = scene.fact(**claim, value={"value": "mornings"}, came_by_marker=True, valid_from=MAY)
    promotion = scene.request(origin)
    promotions.approve(scene.decider, promotion.id)
    copy = scene.copy(origin)
    known.refresh_from_db()
    assert (copy.status, known.status) == ("active", "superseded")
    assert refusal(promotion_undo.undo, scene.asker, promotion.id) == "own_request"
    promotion_undo.undo(scene.decider, promotion.id, rationale="Too early.")
    for fact in (copy, known, origin):
        fact.refresh_from_db()
    assert (copy.status, known.status, known.valid_to, origin.status) == ("retracted", "active", None, "active")
    again = Promotion.objects.get()
    assert (again.status, again.copy_id, again.review.status) == ("requested", None, "pending")
    assert refusal(promotion_undo.undo, scene.decider, promotion.id) == "nothing_to_undo"
    promotions.approve(scene.decider, promotion.id)
    assert Promotion.objects.get().copy.status == "active"


def test_an_approval_on_which_something_has_built_stays(scene):
    origin = scene.fact(sensitivity="internal")
    promotion = scene.request(origin)
    promotions.approve(scene.decider, promotion.id)
    copy = scene.copy(origin)
    derived = scene.fact(statement="Ada is an early bird.", sensitivity="internal")
    Relation.objects.create(account=scene.account, source=derived, target=copy, kind="derived_from")
    assert not promotion_undo.may_undo(Promotion.objects.get())
    assert refusal(promotion_undo.undo, scene.decider, promotion.id) == "decision_built_upon"
    Relation.objects.filter(kind="derived_from").delete()
    assert promotion_undo.may_undo(Promotion.objects.get())
    lifecycle.amend(copy.id, account_id=copy.account_id, actor=system(), action="x", changes={"confidence": 0.5})
    assert refusal(promotion_undo.undo, scene.decider, promotion.id) == "decision_built_upon"
