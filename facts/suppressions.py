"""What must not be remembered again, until when, and how that is lifted."""

from __future__ import annotations

import uuid
from datetime import datetime

from facts.actors import Actor
from facts.clock import now
from facts.consolidation import SuppressionRule
from facts.models import Fact, Suppression


def suppress(fact: Fact, *, cause: str, actor: Actor, evidence_until: datetime | None) -> Suppression:
    """Keep this fact's claim and statement from coming back; ``evidence_until=None`` blocks for good."""
    return Suppression.objects.create(
        account_id=fact.account_id,
        subject_id=fact.subject_id,
        fact_id=fact.id,
        cause=cause,
        identity_key=fact.identity_key,
        value_key=fact.value_key,
        statement_hash=fact.statement_hash,
        evidence_until=evidence_until,
        actor=actor.as_json(),
    )


def lift(account_id: uuid.UUID, *, fact_id: uuid.UUID, causes: tuple[str, ...]) -> int:
    """Lift the suppressions of these causes that this very fact left behind; returns how many."""
    return Suppression.objects.filter(
        account_id=account_id, fact_id=fact_id, cause__in=causes, lifted_at__isnull=True
    ).update(lifted_at=now())


def in_force(account_id: uuid.UUID, subject_id: uuid.UUID) -> list[SuppressionRule]:
    """Return the rules in force for a subject, in the planner's form."""
    rows = Suppression.objects.filter(account_id=account_id, subject_id=subject_id, lifted_at__isnull=True).order_by(
        "id"
    )
    return [
        SuppressionRule(
            id=row.id,
            cause=row.cause,
            identity_key=row.identity_key,
            value_key=row.value_key,
            statement_hash=row.statement_hash,
            evidence_until=row.evidence_until,
        )
        for row in rows
    ]
