"""What ingestion repeats of the words of events: it goes with them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from ingest.models import CandidateOutcome


def remove(account_id: uuid.UUID, event_ids: Sequence[uuid.UUID]) -> int:
    """Remove the words of what was read out of these events and became no fact; results and reasons stay."""
    read = CandidateOutcome.objects.filter(account_id=account_id, outcome__event_id__in=event_ids)
    return read.exclude(statement="", quote="").update(statement="", quote="")
