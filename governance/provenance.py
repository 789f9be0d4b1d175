"""Who put a fact in: so that nobody decides about their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from facts.actors import Actor
from facts.models import FactRevision


def put_in_by(account_id: uuid.UUID, fact_ids: Iterable[uuid.UUID], actor: Actor) -> bool:
    """Tell whether this person (not the pipeline, whatever they said to it) wrote the first revision of any fact."""
    if actor.membership_id is None:
        return False
    return FactRevision.objects.filter(
        account_id=account_id,
        fact_id__in=list(fact_ids),
        version=1,
        actor__membership_id=str(actor.membership_id),
    ).exists()
