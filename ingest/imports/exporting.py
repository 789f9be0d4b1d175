"""Writing an account out as a file that ``import_events`` reads: its events, and the facts with what they rest on.

Left out is what is shown to nobody any more: what was withdrawn, forgotten or erased, and words that were removed after
their time. Decisions, gates, keys and people's sign-ins are not part of it.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, Any

from django.db.models import Q

from facts.models import Event, Evidence, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Status

#: Rows of one transaction.
CHUNK = 500
#: Facts that are written: what is current, and what was.
STATUSES = (Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED)
EVENT, FACT = "event", "fact"


def export(account_id: uuid.UUID, out: IO[str], *, note: Callable[[int], None] = lambda done: None) -> Counter[str]:
    """Write events, oldest first, then facts; returns how many of each. ``note`` is told after each chunk how many.

    What is written while it runs may be missing.
    """
    counts: Counter[str] = Counter()
    for kind, rows in ((EVENT, _events(account_id)), (FACT, _facts(account_id))):
        for lines in rows:
            for line in lines:
                out.write(json.dumps({"type": kind, **line}, ensure_ascii=False, separators=(",", ":")) + "\n")
            counts[kind] += len(lines)
            note(counts.total())
    return counts


def count(account_id: uuid.UUID) -> int:
    """Return how many lines there will be."""
    with account_transaction(account_id):
        return _standing(account_id).count() + _current(account_id).count()


def _standing(account_id: uuid.UUID) -> Any:
    return Event.objects.filter(
        account_id=account_id, withdrawn_at__isnull=True, forgotten_at__isnull=True, text_removed_at__isnull=True
    ).exclude(text="")


def _current(account_id: uuid.UUID) -> Any:
    return Fact.objects.filter(account_id=account_id, status__in=STATUSES, directive=False)


def _events(account_id: uuid.UUID) -> Iterator[list[dict[str, Any]]]:
    after: Event | None = None
    while True:
        with account_transaction(account_id):
            rows = _standing(account_id).select_related("scope", "subject", "speaker")
            if after is not None:
                later = Q(occurred_at__gt=after.occurred_at) | Q(occurred_at=after.occurred_at, pk__gt=after.pk)
                rows = rows.filter(later)
            found = list(rows.order_by("occurred_at", "pk")[:CHUNK])
        if not found:
            return
        yield [_event(event) for event in found]
        after = found[-1]


def _facts(account_id: uuid.UUID) -> Iterator[list[dict[str, Any]]]:
    after: uuid.UUID | None = None
    while True:
        with account_transaction(account_id):
            rows = _current(account_id).select_related("scope", "subject")
            found = list((rows.filter(pk__gt=after) if after else rows).order_by("pk")[:CHUNK])
            evidence = _evidence(account_id, [fact.pk for fact in found])
        if not found:
            return
        yield [_fact(fact, evidence[fact.pk]) for fact in found if fact.pk in evidence]
        after = found[-1].pk


def _evidence(account_id: uuid.UUID, fact_ids: list[uuid.UUID]) -> dict[uuid.UUID, list[dict[str, Any]]]:
    found: dict[uuid.UUID, list[dict[str, Any]]] = {}
    standing = _standing(account_id).values("pk")
    rows = Evidence.objects.filter(account_id=account_id, fact_id__in=fact_ids, event_id__in=standing)
    for row in rows.select_related("event").order_by("event__occurred_at", "pk"):
        found.setdefault(row.fact_id, []).append({"source_key": row.event.source_key, "quote": row.quote})
    return found


def _event(event: Event) -> dict[str, Any]:
    said = {
        "source_key": event.source_key,
        "source_type": event.source_type,
        "kind": event.kind,
        "payload": event.payload or {"text": event.text},
        "scope": event.scope.path,
        "subject_id": event.subject.key,
        "subject_type": event.subject.kind,
        "subject_name": event.subject.name,
        "speaker": event.speaker.key if event.speaker else "",
        "speaker_name": event.speaker.name if event.speaker else "",
        "actor_type": "" if event.human else event.recorded_claims.get("actor_type", "tool"),
        "actor_id": event.recorded_claims.get("actor_id", ""),
        "occurred_at": event.occurred_at.isoformat(),
        "origin_trust": event.origin_trust,
        "sensitivity": event.sensitivity,
        "channel_id": event.channel_id,
        "channel_name": event.channel_name,
        "platform_user_id": event.platform_user_id,
        "ts": event.ts,
        "session_id": event.thread,
        "agent_id": event.agent_id,
        "run_id": event.run_id,
        "urls": event.urls,
        "claims": event.recorded_claims,
    }
    return {name: value for name, value in said.items() if value not in ("", [], {})}


def _fact(fact: Fact, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    stated = {
        "scope": fact.scope.path,
        "subject_id": fact.subject.key,
        "subject_type": fact.subject.kind,
        "statement": fact.statement,
        "status": fact.status,
        "category": fact.category,
        "kind": fact.kind,
        "form": fact.form,
        "predicate": fact.predicate,
        "value": fact.value,
        "qualifiers": fact.qualifiers,
        "denies": fact.denies,
        "confidence": fact.confidence,
        "evidence_level": fact.evidence_level,
        "sensitivity": fact.sensitivity,
        "volatility": fact.volatility,
        "valid_from": fact.valid_from.isoformat() if fact.valid_from else None,
        "start_assumed": fact.start_assumed,
        "valid_to": fact.valid_to.isoformat() if fact.valid_to else None,
        "provider": fact.extractor_provider,
        "model": fact.extractor_model,
        "prompt_version": fact.prompt_version,
    }
    return {**{name: value for name, value in stated.items() if value not in ("", {}, None)}, "evidence": evidence}
