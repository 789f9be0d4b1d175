"""What must not be remembered again, until when, and how that is lifted."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db.models import Q

from facts import erased_keys
from facts.actors import Actor
from facts.clock import now
from facts.consolidation import Claim, SuppressionRule
from facts.models import Fact, FactRevision, Subject, Suppression
from facts.models.conflicts import SuppressionCause


def suppress(fact: Fact, *, cause: str, actor: Actor, evidence_until: datetime | None) -> None:
    """Keep this fact's claim and statement from coming back; ``evidence_until=None`` blocks for good.

    Each claim that the fact ever made is blocked: the one it was stated with, and what decisions made of it since.
    """
    claims = (
        FactRevision.objects.filter(account_id=fact.account_id, fact=fact)
        .order_by("identity_key", "value_key")
        .values_list("identity_key", "value_key")
        .distinct()
    )
    Suppression.objects.bulk_create(
        Suppression(
            account_id=fact.account_id,
            subject_id=fact.subject_id,
            fact_id=fact.id,
            cause=cause,
            identity_key=identity_key,
            value_key=value_key,
            statement_hash=fact.statement_hash,
            evidence_until=evidence_until,
            actor=actor.as_json(),
        )
        for identity_key, value_key in claims
    )


def erase(fact: Fact, *, actor: Actor) -> None:
    """Keep what an erased fact claimed and stated from coming back, for good and without telling what it was.

    Its digests are replaced by keyed ones; those of its earlier suppressions go. To be called while it still has them.
    """
    claims = FactRevision.objects.filter(account_id=fact.account_id, fact=fact).values_list("identity_key", "value_key")
    made = sorted({(identity, value) for identity, value in claims if identity})
    Suppression.objects.filter(account_id=fact.account_id, fact=fact).delete()
    Suppression.objects.bulk_create(
        Suppression(
            account_id=fact.account_id,
            subject_id=fact.subject_id,
            fact_id=fact.id,
            cause=SuppressionCause.ERASED,
            identity_key=erased_keys.keyed(fact.account_id, identity) if identity else "",
            value_key=erased_keys.keyed(fact.account_id, value) if value else "",
            statement_hash=fact.statement_hash,
            actor=actor.as_json(),
        )
        for identity, value in made or [("", "")]
    )


def lift(account_id: uuid.UUID, *, fact_id: uuid.UUID, causes: tuple[str, ...]) -> int:
    """Lift the suppressions of these causes that this very fact left behind; returns how many."""
    return Suppression.objects.filter(
        account_id=account_id, fact_id=fact_id, cause__in=causes, lifted_at__isnull=True
    ).update(lifted_at=now())


def in_force(account_id: uuid.UUID, subject: Subject, claim: Claim) -> list[SuppressionRule]:
    """Return the rules in force for a subject that this claim or its statement meets, in the planner's form.

    What was erased of an earlier subject of the same key counts for this one.
    """
    meets = Q(statement_hash=claim.statement_hash)
    if claim.identity_key:
        meets |= Q(identity_key=claim.identity_key, value_key=claim.value_key)
        meets |= Q(
            cause=SuppressionCause.ERASED,
            identity_key=erased_keys.keyed(account_id, claim.identity_key),
            value_key=erased_keys.keyed(account_id, claim.value_key),
        )
    about = erased_keys.with_predecessors(subject, path="subject")
    rows = Suppression.objects.filter(meets, about, account_id=account_id, lifted_at__isnull=True)
    return [_rule(row, claim) for row in rows]


def _rule(row: Suppression, claim: Claim) -> SuppressionRule:
    """Return a row as a rule; what an erasure left is told by the digests of the claim that it met."""
    erased = row.cause == SuppressionCause.ERASED
    return SuppressionRule(
        id=row.id,
        cause=row.cause,
        fact_id=row.fact_id,
        identity_key=claim.identity_key if erased else row.identity_key,
        value_key=claim.value_key if erased else row.value_key,
        statement_hash=row.statement_hash,
        evidence_until=row.evidence_until,
    )
