"""What was deduced from other facts goes their way: it is seen by nobody who may not see them all.

A deduction is withdrawn to a person when one of the facts that it rests on is no longer current, and is never wider or
less guarded than the narrowest and most guarded of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

from facts import lifecycle
from facts.account_secret import statement_key
from facts.actors import Actor
from facts.canonical import normalise_text, statement_hash
from facts.clock import now
from facts.models import Fact, Relation
from facts.status_graph import FINAL
from facts.vocabulary import (
    LEVEL_RANK,
    SENSITIVITY_RANK,
    TRUST_RANK,
    EvidenceLevel,
    Form,
    Kind,
    RelationKind,
    Status,
    Volatility,
)
from governance.gating import gates
from governance.models import Review, ReviewKind, ReviewStatus

#: Why a deduction is asked about again.
LEFT = "contributor_left"
_AGES: dict[str, int] = {value: rank for rank, value in enumerate(Volatility.values)}
_CURRENT = frozenset({Status.ACTIVE})
_WAITS = frozenset({Status.CANDIDATE, Status.HELD, Status.PROVISIONAL})


def fact_of(
    contributors: Sequence[Fact], *, statement: str, confidence: float, provider: str, model: str, prompt_version: str
) -> Fact:
    """Return the unsaved fact that a deduction from these facts would be; all of one subject in one scope.

    As guarded as the most guarded and as narrow as the narrowest of them, as certain as the least certain at most, from
    when on all of them hold, until one of them ends.
    """
    first = contributors[0]
    statement = normalise_text(statement)
    starts = [fact.valid_from for fact in contributors if fact.valid_from is not None]
    ends = [fact.valid_to for fact in contributors if fact.valid_to is not None]
    expires = [fact.expires_at for fact in contributors if fact.expires_at is not None]
    return Fact(
        account=first.account,
        scope=first.scope,
        subject=first.subject,
        level=min((fact.level for fact in contributors), key=LEVEL_RANK.__getitem__),
        sensitivity=max((fact.sensitivity for fact in contributors), key=SENSITIVITY_RANK.__getitem__),
        status=Status.CANDIDATE,
        statement=statement,
        statement_hash=statement_hash(statement_key(first.account_id), statement),
        kind=Kind.ATTRIBUTE,
        form=Form.STATE,
        confidence=min(confidence, *(fact.confidence for fact in contributors)),
        evidence_level=EvidenceLevel.INDIRECT,
        origin_trust=min((fact.origin_trust for fact in contributors), key=TRUST_RANK.__getitem__),
        volatility=max((fact.volatility for fact in contributors), key=_AGES.__getitem__),
        valid_from=max(starts, default=None),
        valid_to=min(ends, default=None),
        start_assumed=True,
        expires_at=min(expires, default=None),
        corroboration=0,
        extractor_provider=provider[:64],
        extractor_model=model[:128],
        prompt_version=prompt_version[:64],
    )


def follow_contributor(fact: Fact, before: str, actor: Actor, group: uuid.UUID) -> None:
    """Withdraw what rests on a fact that is no longer current to people, who say whether it still holds."""
    if before not in _CURRENT or fact.status in _CURRENT:
        return
    how = {"account_id": fact.account_id, "actor": actor, "reason": LEFT, "group": group}
    for deduced in _resting_on(fact):
        if deduced.status == Status.ACTIVE:
            deduced = lifecycle.transition(
                deduced.id, to=Status.NEEDS_REVALIDATION, action="deduction.withdrawn", **how
            )
            _ask(deduced, actor=actor)
        elif deduced.status in _WAITS:
            if deduced.status == Status.PROVISIONAL:
                lifecycle.transition(deduced.id, to=Status.HELD, action="deduction.withdrawn", **how)
            for review in Review.objects.filter(
                account_id=fact.account_id, fact=deduced, status=ReviewStatus.PENDING
            ).exclude(reasons__contains=[LEFT]):
                review.reasons = [*review.reasons, LEFT]
                review.save(update_fields=["reasons"])


def follow_audience(fact: Fact, actor: Actor, group: uuid.UUID) -> None:
    """Narrow what rests on a fact that fewer may see now; what was narrowed does not widen by itself."""
    for deduced in _resting_on(fact):
        changes = {}
        if LEVEL_RANK[deduced.level] > LEVEL_RANK[fact.level]:
            changes["level"] = fact.level
        if SENSITIVITY_RANK[deduced.sensitivity] < SENSITIVITY_RANK[fact.sensitivity]:
            changes["sensitivity"] = fact.sensitivity
        if changes and deduced.status not in FINAL:
            lifecycle.amend(
                deduced.id,
                account_id=fact.account_id,
                actor=actor,
                action="deduction.narrowed",
                changes=changes,
                reason="contributor_narrowed",
                group=group,
            )


def _resting_on(fact: Fact) -> list[Fact]:
    edges = Relation.objects.filter(
        account_id=fact.account_id, target_id=fact.id, kind=RelationKind.DERIVED_FROM
    ).values_list("source_id", flat=True)
    found = list(edges)
    return list(Fact.objects.filter(account_id=fact.account_id, pk__in=found).order_by("id")) if found else []


def _ask(deduced: Fact, *, actor: Actor) -> None:
    Review.objects.update_or_create(
        account_id=deduced.account_id,
        fact=deduced,
        kind=ReviewKind.REVALIDATION,
        status=ReviewStatus.PENDING,
        defaults={
            "fact_version": deduced.version,
            "reasons": [LEFT],
            "requested_by": actor.as_json(),
            "due_at": now() + timedelta(days=gates.REVIEW_DUE_DAYS),
        },
    )
