"""Facts whose own time is over become history."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q, QuerySet

from facts import conflict_sets, lifecycle
from facts.actors import sweeper
from facts.locks import lock_subject
from facts.models import Fact
from facts.vocabulary import Status
from governance.reviewing.reviews import withdraw_for
from governance.sweeping.rounds import Sweep, run

ACTOR = sweeper("expire_facts")

#: What expires. A disputed fact does not: its contest is decided by a person.
_EXPIRING = frozenset({Status.ACTIVE, Status.NEEDS_REVALIDATION, Status.PROVISIONAL, Status.HELD})


def expire() -> int:
    """Let every fact expire whose time is over; return how many did. Raises ``SweepIncomplete``.

    Readers stop being served such a fact at that very moment, whenever this runs. A side of an open conflict waits
    until the conflict is decided: time decides none.
    """
    return run(Sweep(name=ACTOR.name, due=_due, settle=_settle))


def _due(account_id: uuid.UUID, at: datetime) -> QuerySet[Fact]:
    return Fact.objects.filter(_is_due(at), account_id=account_id)


def _is_due(at: datetime) -> Q:
    return Q(status__in=_EXPIRING, expires_at__lte=at)


def _settle(account_id: uuid.UUID, ids: Sequence[uuid.UUID], at: datetime) -> int:
    (fact_id,) = ids
    fact = Fact.objects.get(account_id=account_id, pk=fact_id)
    lock_subject(fact.scope_id, fact.subject_id)
    fact = Fact.objects.filter(_is_due(at), account_id=account_id, pk=fact_id).first()
    if fact is None or conflict_sets.is_contested(fact):
        return 0
    lifecycle.transition(
        fact.id,
        account_id=account_id,
        to=Status.EXPIRED,
        actor=ACTOR,
        action="fact.expired",
        expected_version=fact.version,
    )
    withdraw_for([fact.id], account_id=account_id, actor=ACTOR)
    return 1
