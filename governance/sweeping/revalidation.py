"""Facts that a rule wants looked at again after some time: they are asked about, and served to nobody until then."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from facts import conflict_sets, lifecycle
from facts.actors import sweeper
from facts.locks import lock_subject
from facts.models import Fact
from facts.vocabulary import Status
from governance.gating import gates
from governance.models import Review, ReviewKind, ReviewStatus
from governance.sweeping.rounds import Sweep, run

ACTOR = sweeper("ask_to_revalidate")


def ask() -> int:
    """Ask about every fact whose time for it has come; return about how many. Raises ``SweepIncomplete``.

    Silence rejects none of them. A side of an open conflict is asked about when the conflict is decided.
    """
    return run(Sweep(name=ACTOR.name, due=_due, settle=_settle))


def _due(account_id: uuid.UUID, at: datetime) -> QuerySet[Fact]:
    return Fact.objects.filter(_is_due(at), account_id=account_id)


def _is_due(at: datetime) -> Q:
    """Return the condition; what has expired as well is left to the sweep for that."""
    lasting = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    return Q(status=Status.ACTIVE, revalidate_after__lte=at) & lasting


def _settle(account_id: uuid.UUID, ids: Sequence[uuid.UUID], at: datetime) -> int:
    (fact_id,) = ids
    fact = Fact.objects.get(account_id=account_id, pk=fact_id)
    lock_subject(fact.scope_id, fact.subject_id)
    due = Fact.objects.filter(_is_due(at), account_id=account_id, pk=fact_id)
    fact = due.select_related("scope", "subject", "account").first()
    if fact is None or conflict_sets.is_contested(fact):
        return 0
    days = _days_to_decide(fact)
    fact = lifecycle.transition(
        fact.id,
        account_id=account_id,
        to=Status.NEEDS_REVALIDATION,
        actor=ACTOR,
        action="fact.revalidation_due",
        expected_version=fact.version,
    )
    Review.objects.update_or_create(
        account_id=account_id,
        fact=fact,
        kind=ReviewKind.REVALIDATION,
        status=ReviewStatus.PENDING,
        defaults={
            "fact_version": fact.version,
            "reasons": ["revalidation_due"],
            "requested_by": ACTOR.as_json(),
            "due_at": at + timedelta(days=days),
        },
    )
    return 1


def _days_to_decide(fact: Fact) -> int:
    cell = gates.find_cell(
        gates.rules_of(fact.account_id),
        scope_path=fact.scope.path,
        preset=fact.account.gate_preset,
        level=fact.level,
        sensitivity=fact.sensitivity,
        subject_kind=fact.subject.kind,
    )
    return cell.review_due_days
