"""Vectors of what cards say, so that cards can be found by what somebody is looking for."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import F, Q

from facts import embedding
from facts.locks import Lock, lock_account
from facts.tenancy import account_transaction
from retrieval.models import Card, CardVector

#: Cards embedded in one round: about two seconds with the default embedder.
ROUND = 200


def embed_stale(account_id: uuid.UUID, *, limit: int = ROUND) -> int:
    """Write the vectors that are missing, of an older version, or of another embedding space; return how many.

    Outside of a transaction: an embedder may be somebody else's. Where none is to be had nothing happens.
    """
    writer = embedding.writing()
    if writer is None:
        return 0
    with account_transaction(account_id):
        space = embedding.space(writer.identity)
        cards = Card.objects.filter(account_id=account_id).exclude(builder="").exclude(lines=[])
        fresh = Q(vector__version=F("version"), vector__space_id=space.id)
        stale = list(cards.exclude(fresh).order_by("id").values_list("id", "version", "title", "lines")[:limit])
    embedded = embedding.try_embed([text_of(title, lines) for _, _, title, lines in stale], account_id=account_id)
    if not embedded:
        return 0
    with account_transaction(account_id):
        lock_account(Lock.CARDS, account_id)
        current = dict(
            Card.objects.filter(account_id=account_id, pk__in=[row[0] for row in stale]).values_list("id", "version")
        )
        written = 0
        for (card_id, version, _, _), vector in zip(stale, embedded, strict=True):
            if current.get(card_id) != version:
                continue
            CardVector.objects.update_or_create(
                account_id=account_id,
                card_id=card_id,
                defaults={
                    "version": version,
                    "space_id": embedding.space(vector.identity).id,
                    "h": list(vector.numbers),
                },
            )
            written += 1
    return written


def text_of(title: str, lines: Sequence[dict[str, object]]) -> str:
    """Return what is embedded of a card: what it is called, and all it says."""
    return "\n".join([title, *(str(line["text"]) for line in lines)])
