"""What came of the messages of an import: facts, and why there are no more."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from ingest.models import CandidateOutcome, EventOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """How many events, and how many possible facts, came to what: counts by (result, reason)."""

    events: Mapping[tuple[str, str], int]
    candidates: Mapping[tuple[str, str], int]


def extraction_of(account_id: uuid.UUID, run_id: uuid.UUID | None) -> Extraction:
    """Return what came of the messages that an import captured first. Runs in an account transaction."""
    outcomes = EventOutcome.objects.filter(account_id=account_id, event__recorded_claims__import=str(run_id))
    candidates = CandidateOutcome.objects.filter(account_id=account_id, outcome__in=outcomes.values("id"))
    return Extraction(
        events={
            (row["result"], row["reason"]): row["n"]
            for row in outcomes.order_by().values("result", "reason").annotate(n=Count("id"))
        },
        candidates={
            (row["result"], row["reason"]): row["n"]
            for row in candidates.order_by().values("result", "reason").annotate(n=Count("id"))
        },
    )
