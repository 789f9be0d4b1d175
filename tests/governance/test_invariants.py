"""Random sequences of captures, decisions, consents, promotions, sweeps, forgetting and erasure break no invariant."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Count, Q, QuerySet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import audit, embedding
from facts.clock import now
from facts.errors import DomainError
from facts.models import Account, ConflictMember, ConflictSet, Fact
from facts.status_graph import FINAL, may_follow
from facts.vocabulary import Sensitivity, Status
from governance import conflicts, erasing, forgetting
from governance.access import Principal
from governance.models import Consent, ForgetReceipt, Promotion, Review, ReviewStatus
from governance.reviewing import reviews
from governance.sharing import consents, promotions
from governance.sweeping import ageing, expiry, revalidation
from retrieval.context.assembly import ContextRequest, assemble
from retrieval.embedders import registry
from tests.factories import JANUARY, GateRuleFactory, key_principal, submit, taken_back
from tests.governance.sharing_scene import Scene, scene_in, unconsented_and_readable

_PATHS = ("/support/emea", "/support", "/")


@dataclass
class World:
    """The scene, as whom it is read, and which facts have been seen in a status from which nothing comes back."""

    scene: Scene
    readers: list[Principal]
    gone: dict[uuid.UUID, str] = field(default_factory=dict)


@pytest.fixture
def world(account: Account) -> Any:
    embedding.register(None)
    scene = scene_in(account)
    for sensitivity in (Sensitivity.PERSONAL, Sensitivity.INTERNAL):
        GateRuleFactory(account=account, sensitivity=sensitivity)
    readers = [scene.ada, scene.other, scene.decider, key_principal(account, peer=scene.subject)]
    yield World(scene=scene, readers=readers)
    registry.register()


# What can happen: each takes the world and a number, and does its thing to the row which that number chooses


def _capture(world: World, number: int) -> None:
    """Say one of three cities, at one of several times, as personal or internal."""
    submit(
        world.scene.subject,
        {"city": ("Lyon", "Rome", "Oslo")[number % 3]},
        at=JANUARY + timedelta(days=number),
        sensitivity=(Sensitivity.PERSONAL, Sensitivity.INTERNAL)[number % 2],
        event_fields={"scope": world.scene.emea},
    )


def _pick(rows: QuerySet[Any], number: int) -> Any:
    """Return one of the rows; raises ``IndexError`` when there is none."""
    found = list(rows.order_by("pk"))
    return found[number % len(found)] if found else found[0]


def _approve(world: World, number: int) -> None:
    reviews.approve(world.scene.decider, _pick(Review.objects.filter(status=ReviewStatus.PENDING), number).id)


def _reject(world: World, number: int) -> None:
    reviews.reject(world.scene.decider, _pick(Review.objects.filter(status=ReviewStatus.PENDING), number).id)


def _keep_one(world: World, number: int) -> None:
    conflict = _pick(ConflictSet.objects.filter(status="open"), number)
    member = _pick(ConflictMember.objects.filter(conflict_set=conflict, left_at=None), number)
    conflicts.keep_one(
        world.scene.decider, conflict.id, fact_id=member.fact_id, others_never_true=number % 2 == 0, rationale="Heard."
    )


def _reject_all(world: World, number: int) -> None:
    conflicts.reject_all(world.scene.decider, _pick(ConflictSet.objects.filter(status="open"), number).id)


def _undo(world: World, number: int) -> None:
    conflicts.undo_last(world.scene.decider, _pick(ConflictSet.objects.exclude(status="open"), number).id)


def _promote(world: World, number: int) -> None:
    placed = Fact.objects.filter(scope=world.scene.emea, status=Status.ACTIVE)
    world.scene.request(_pick(placed, number), target=_PATHS[1 + number % 2])


def _decide_promotion(world: World, number: int) -> None:
    decide = promotions.reject if number % 4 == 3 else promotions.approve
    decide(world.scene.decider, _pick(Promotion.objects.filter(status="requested"), number).id)


def _grant(world: World, number: int) -> None:
    consents.grant(world.scene.ada, _pick(Consent.objects.all(), number).id)


def _withdraw(world: World, number: int) -> None:
    consents.refuse(world.scene.ada, _pick(Consent.objects.all(), number).id)


def _disable(world: World, number: int) -> None:
    forgetting.disable(world.scene.decider, fact_id=_pick(Fact.objects.all(), number).id)


def _enable(world: World, number: int) -> None:
    forgetting.enable(world.scene.decider, _pick(ForgetReceipt.objects.filter(lifted_at=None), number).id)


def _delete(world: World, number: int) -> None:
    erasing.erase(world.scene.decider, fact_id=_pick(Fact.objects.all(), number).id)


def _expire(world: World, number: int) -> None:
    Fact.objects.filter(pk=_pick(Fact.objects.all(), number).pk).update(expires_at=now())
    expiry.expire()


def _revalidate(world: World, number: int) -> None:
    fact = _pick(Fact.objects.filter(status=Status.ACTIVE), number)
    Fact.objects.filter(pk=fact.pk).update(revalidate_after=now())
    revalidation.ask()


def _age(world: World, number: int) -> None:
    review = _pick(Review.objects.filter(status=ReviewStatus.PENDING), number)
    Review.objects.filter(pk=review.pk).update(due_at=now() - timedelta(days=1))
    ageing.age()


_STEPS: tuple[Callable[[World, int], None], ...] = (
    *(_capture, _capture, _capture),
    *(_approve, _reject, _keep_one, _reject_all, _undo),
    *(_promote, _promote, _grant, _grant, _decide_promotion, _decide_promotion, _withdraw),
    *(_disable, _enable, _delete),
    *(_expire, _revalidate, _age),
)


# What must hold


def _assert_sound(world: World) -> None:
    """Check every invariant in the database and in what is served."""
    account_id = world.scene.account.id
    assert [*audit.verify(account_id)] == []
    assert unconsented_and_readable() == []
    claims = Fact.objects.filter(status=Status.ACTIVE, form="state").exclude(identity_key="")
    by_identity = claims.values("scope", "subject", "identity_key", "denial_key").annotate(facts=Count("pk"))
    assert not by_identity.filter(facts__gt=1)
    _assert_gone_stays_gone(world)
    _assert_served_rightly(world)


def _assert_gone_stays_gone(world: World) -> None:
    now_in = dict(Fact.objects.values_list("pk", "status"))
    for fact_id, before in world.gone.items():
        after = now_in[fact_id]
        assert after == before or (may_follow(before, after) and after in FINAL)
    world.gone = {fact_id: status for fact_id, status in now_in.items() if status in FINAL}


def _assert_served_rightly(world: World) -> None:
    """Readers get active facts, none from an open conflict, and of others nothing that is for its subject alone."""
    in_conflict = Q(conflict_set__status="open", left_at=None, withheld=True)
    contested = set(ConflictMember.objects.filter(in_conflict).values_list("fact_id", flat=True))
    for reader in world.readers:
        for path in _PATHS:
            request = ContextRequest(scope_path=path, exact=True, subject_key=world.scene.subject.key, query="lives")
            served = {fact.id for fact in assemble(principal=reader, request=request).packet.facts}
            assert not served & contested
            for fact in Fact.objects.filter(pk__in=served):
                assert fact.status == Status.ACTIVE
                own = reader.subject_id == world.scene.ada.subject_id
                assert own or fact.sensitivity != Sensitivity.PERSONAL or fact.level != "peer"


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(st.tuples(st.sampled_from(_STEPS), st.integers(0, 11)), min_size=8, max_size=12))
def test_no_sequence_of_events_breaks_an_invariant(world: World, steps: list[tuple[Any, int]]) -> None:
    with taken_back():
        world.gone = {}
        for number in (1, 2):
            _capture(world, number)
        for step, number in steps:
            _try(step, world, number)
            _assert_sound(world)


def _try(step: Callable[[World, int], None], world: World, number: int) -> None:
    """Do one thing if it is possible now; what is refused, or has nothing to happen to, is left."""
    try:
        step(world, number)
    except (DomainError, IndexError):
        return


def test_a_life_in_which_nothing_is_refused_breaks_none_either(world: World) -> None:
    """So the random sequences do not only hold because nothing happens in them."""
    life = (
        *((_capture, 0), (_capture, 2), (_keep_one, 1), (_undo, 0), (_reject_all, 0), (_capture, 4)),
        *((_promote, 0), (_grant, 0), (_decide_promotion, 0), (_withdraw, 0)),
        *((_disable, 0), (_enable, 0), (_expire, 0), (_delete, 0)),
    )
    for step, number in life:
        step(world, number)
        _assert_sound(world)
    assert Status.DELETED in world.gone.values()
