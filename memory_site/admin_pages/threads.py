"""Quotes inside the conversation they come from: the message that was cited, and what was said around it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from facts.models import Event, Evidence
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import Part, highlight, shorten

#: Messages shown on each side of a cited one.
NEIGHBOURS = 2
#: Pieces of evidence shown per fact before "and more".
SHOWN_EVIDENCE = 4
#: Characters of a neighbouring message; the cited one is shown whole up to the second figure.
_NEIGHBOUR_LENGTH, _CITED_LENGTH = 400, 4_000


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an excerpt. ``cited``: it is the evidence, and its marked parts are the quote."""

    event_id: uuid.UUID
    speaker: str
    occurred_at: datetime
    parts: list[Part]
    cited: bool
    withdrawn: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of evidence in its conversation. ``messages`` is empty when the reader may not see the event."""

    evidence: Evidence
    speaker: str
    messages: list[Message]
    quote_found: bool


def excerpts(sight: Sight, evidence: Iterable[Evidence]) -> dict[uuid.UUID, list[Excerpt]]:
    """Return the excerpts of each fact, oldest evidence first. Three queries, however many there are.

    ``evidence`` comes with its event, speaker and subject loaded.
    """
    rows = list(evidence)
    allowed = set(sight.events().filter(pk__in={row.event_id for row in rows}).values_list("pk", flat=True))
    around = _neighbours(sight, [row.event for row in rows if row.event_id in allowed and row.event.thread])
    result: dict[uuid.UUID, list[Excerpt]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.event.occurred_at, row.event_id)):
        if row.event_id not in allowed:
            result[row.fact_id].append(Excerpt(row, speaker_of(row.event), [], quote_found=False))
            continue
        cited = _cited(row)
        nearby = [_neighbour(event) for event in around.get(row.event_id, ()) if event.pk != row.event_id]
        before = [message for message in nearby if _place(message) < _place(cited)][-NEIGHBOURS:]
        after = [message for message in nearby if _place(message) > _place(cited)][:NEIGHBOURS]
        found = any(part.marked for part in cited.parts)
        result[row.fact_id].append(Excerpt(row, cited.speaker, [*before, cited, *after], quote_found=found))
    return result


def speaker_of(event: Event) -> str:
    """Return who said it, as far as known."""
    if event.speaker is not None:
        return event.speaker.display_name
    return event.platform_user_id or event.agent_id or "unknown speaker"


def _cited(row: Evidence) -> Message:
    event = row.event
    # Where the words are kept no longer, the quote is what is left of them.
    parts = highlight(event.text if event.text_removed_at is None else row.quote, [row.quote])
    if len(event.text) > _CITED_LENGTH:
        at = max(event.text.find(row.quote), 0)
        start = max(at - _CITED_LENGTH // 4, 0)
        window = event.text[start : start + _CITED_LENGTH]
        parts = highlight(("…" if start else "") + window + "…", [row.quote])
    return Message(event.pk, speaker_of(event), event.occurred_at, parts, True, event.withdrawn_at is not None)


def _neighbour(event: Event) -> Message:
    parts = [Part(shorten(event.text, _NEIGHBOUR_LENGTH), False)]
    return Message(event.pk, speaker_of(event), event.occurred_at, parts, False, event.withdrawn_at is not None)


def _place(message: Message) -> tuple[datetime, uuid.UUID]:
    return message.occurred_at, message.event_id


def _neighbours(sight: Sight, events: Sequence[Event]) -> dict[uuid.UUID, list[Event]]:
    """Return the messages around each event in its thread, oldest first, in one query for all."""
    slices: list[QuerySet[Event]] = []
    for event in {event.pk: event for event in events}.values():
        thread = _latest(sight.events()).filter(scope_id=event.scope_id, thread=event.thread)
        thread = thread.exclude(pk=event.pk)
        before = thread.filter(occurred_at__lte=event.occurred_at).order_by("-occurred_at", "-pk")
        after = thread.filter(occurred_at__gte=event.occurred_at).order_by("occurred_at", "pk")
        slices += [before.values("pk")[: NEIGHBOURS + 1], after.values("pk")[: NEIGHBOURS + 1]]
    if not slices:
        return {}
    ids = slices[0].union(*slices[1:], all=True)
    nearby = Event.objects.filter(account_id=sight.principal.account_id, pk__in={row["pk"] for row in ids})
    by_thread: dict[tuple[uuid.UUID, str], list[Event]] = defaultdict(list)
    for event in nearby.select_related("speaker").order_by("occurred_at", "pk"):
        by_thread[event.scope_id, event.thread].append(event)
    return {event.pk: by_thread[event.scope_id, event.thread] for event in events}


def _latest(events: QuerySet[Event]) -> QuerySet[Event]:
    """Leave out revisions that a later edit replaced."""
    newer = Event.objects.filter(
        account_id=OuterRef("account_id"), source_key=OuterRef("source_key"), revision__gt=OuterRef("revision")
    )
    return events.filter(~Exists(newer))
