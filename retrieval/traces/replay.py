"""Replaying a trace: the same question against the store as it was, or as it is, beside what was served then.

The replay reads as the original reader would today, never wider; whoever asks for it is shown only what they may see
themselves. It leaves a trace of the kind ``replay``, which enters no figures.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from facts.errors import DomainError, NotFound
from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from governance.access import Principal
from retrieval.context import rendering
from retrieval.context.assembly import ContextRequest, assemble
from retrieval.context.packet import Packet
from retrieval.models import Trace, TraceKind
from retrieval.places import Place
from retrieval.profiles.shipped import ContextProfile, SearchProfile
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search
from retrieval.strategies.base import SourceFilters
from retrieval.traces import rereading, selectors, why_not
from retrieval.traces.comparing import Change, Compared, compare
from retrieval.traces.reasons import Action
from retrieval.traces.writing import unpack
from retrieval.transactions import settings_kept

#: Facts of which it is looked up why they were not even considered; the others are only said to be missing or new.
EXPLAINED = 20
#: Reads that ask something, and were made to be answered.
REPLAYABLE = frozenset({TraceKind.CONTEXT, TraceKind.SEARCH, TraceKind.ASK})


class ReplayMode(StrEnum):
    """Which store is asked: what was known at the trace's time, by its profile; or today's, by today's profile."""

    THEN = "then"
    NOW = "now"


class Key(NamedTuple):
    """A fact or a passage."""

    unit: str
    id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One item of both answers with its places, why it was served or not in each, and its text as far as shown.

    ``line_before`` and ``line_after`` are what it was in the prompt, ``None`` where it was not served. A reason is
    ``None`` for what was not considered and could not be explained.
    """

    compared: Compared[Key]
    text: str
    line_before: str | None
    line_after: str | None
    reason_before: str | None
    reason_after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Both answers. ``hidden`` counts what one of them served and the caller may not be shown now."""

    original: Trace
    replayed: Trace
    mode: ReplayMode
    rows: Sequence[Row]
    hidden: int
    notes: Sequence[str]


def replay(principal: Principal, trace_id: uuid.UUID, *, mode: ReplayMode) -> Replay:
    """Ask the question of a trace again and compare the answers.

    Raises ``NotFound`` (``trace_not_found``) for a trace that the caller may not inspect, ``DomainError``
    (``not_replayable``) for one of a stable profile, which asks nothing, or that is itself a replay or a preview.
    """
    with account_transaction(principal.account_id):
        original = selectors.get_trace(principal, trace_id)
        if original.kind not in REPLAYABLE:
            message = "Only context, search and ask calls are replayed."
            raise DomainError(message, code="not_replayable", field="trace_id")
        place = rereading.place_of(original)
        profile, notes = _profile(original, mode)
    with settings_kept():
        replayed_id = _ask_again(principal, original, place, profile, mode)
    with account_transaction(principal.account_id):
        replayed = Trace.objects.get(account_id=principal.account_id, pk=replayed_id)
        replayed.request = {**replayed.request, "replay_of": str(original.pk), "mode": mode.value}
        replayed.save(update_fields=["request"])
        notes += list(_notes(original, replayed, mode))
        return _compared(principal, original, replayed, mode, notes)


def _profile(original: Trace, mode: ReplayMode) -> tuple[ContextProfile | SearchProfile | None, list[str]]:
    """Return the profile to read by (``None``: today's) and what has to be said about it."""
    if mode is ReplayMode.NOW:
        return None, []
    then = rereading.profile_of(original)
    if then is None:
        return None, ["The profile that was read by is not known any more; today's is used."]
    return then.profile, [then.note] if then.note else []


def _ask_again(
    principal: Principal,
    original: Trace,
    place: Place,
    profile: ContextProfile | SearchProfile | None,
    mode: ReplayMode,
) -> uuid.UUID:
    """Read again as the trace's reader, and return the id of the new trace."""
    asked = {
        "scope_path": original.scope_path,
        "exact": rereading.is_exact(original),
        "subject_key": original.subject_key,
        "query": original.query,
        "purpose": original.purpose,
        **_times(original, mode),
    }
    again = {"principal": principal, "place": place, "kind": TraceKind.REPLAY}
    if original.kind == TraceKind.CONTEXT:
        request = ContextRequest(
            **asked,
            budget=original.budget,
            budget_unit=original.budget_unit,
            thread=original.request.get("thread") or "",
            with_profile=bool(original.request.get("with_profile")),
        )
        return assemble(**again, request=request, profile=profile).trace_id
    return search(**again, request=SearchRequest(**asked, **_limits(original)), profile=profile).trace_id


def _times(original: Trace, mode: ReplayMode) -> dict[str, datetime | None]:
    if mode is ReplayMode.NOW:
        return {"as_of": original.as_of, "known_at": original.known_at}
    return {"as_of": original.question_time, "known_at": rereading.known_then(original)}


def _limits(original: Trace) -> dict[str, Any]:
    """Return what else a search asked for. Links of scopes are left out: they lead where the caller may read."""
    asked = original.request
    filters = dict(asked.get("source_filters") or {})
    event_id = filters.pop("event_id", None)
    return {
        "profile": asked.get("profile") or "balanced",
        "limit": original.budget,
        "min_score": asked.get("min_score"),
        "units": tuple(IndexedUnit(unit) for unit in asked.get("units") or IndexedUnit.values),
        "filters": SourceFilters(**filters, event_id=uuid.UUID(event_id) if event_id else None),
    }


def _notes(original: Trace, replayed: Trace, mode: ReplayMode) -> list[str]:
    """Return what else makes the two answers differ than the store."""
    notes = []
    if original.ranker != replayed.ranker and original.kind != TraceKind.ASK:
        notes.append(f"Ranked by {original.ranker} then, by {replayed.ranker} now.")
    if original.embedder != replayed.embedder and original.query.strip():
        notes.append("The embedder is not the one that was used then.")
    if original.kind == TraceKind.ASK:
        notes.append("Of an ask, the search for its evidence is replayed; no model is asked.")
    if original.request.get("include_cross_links"):
        notes.append("Scopes that links lead to are left out.")
    if "exact" not in original.request:
        notes.append("Whether ancestors of the scope were read was not recorded then; they are left out.")
    if mode is ReplayMode.THEN:
        notes.append("Read under today's permissions; what was forgotten or withdrawn since is gone from both.")
    return notes


def _compared(principal: Principal, original: Trace, replayed: Trace, mode: ReplayMode, notes: Sequence[str]) -> Replay:
    packet_before = selectors.packet_of(principal, original).packet
    packet_after = selectors.packet_of(principal, replayed).packet
    texts = {**_texts(packet_before), **_texts(packet_after)}
    lines_before, lines_after = _lines(packet_before), _lines(packet_after)
    rows = compare(served_keys(original), served_keys(replayed))
    shown = [row for row in rows if row.item in texts]
    before = _Reasons(principal, original)
    after = _Reasons(principal, replayed)
    return Replay(
        original=original,
        replayed=replayed,
        mode=mode,
        rows=[
            Row(
                compared=row,
                text=texts[row.item],
                line_before=lines_before.get(row.item),
                line_after=lines_after.get(row.item),
                reason_before=before.of(row.item, missing=row.change is Change.ADDED),
                reason_after=after.of(row.item, missing=row.change is Change.MISSING),
            )
            for row in shown
        ],
        hidden=len(rows) - len(shown),
        notes=notes,
    )


def served_keys(trace: Trace) -> list[Key]:
    """Return what a read served, in the order of its answer: of a context call facts first, then passages."""
    included = [decision for decision in unpack(trace.decisions) if decision["action"] == Action.INCLUDED]
    apart = trace.kind == TraceKind.CONTEXT or "thread" in trace.request

    def place(decision: Mapping[str, Any]) -> tuple[bool, int]:
        return apart and decision["unit"] == IndexedUnit.PASSAGE, decision["rank"] or len(trace.decisions) + 1

    return [Key(decision["unit"], uuid.UUID(decision["id"])) for decision in sorted(included, key=place)]


def _texts(packet: Packet) -> dict[Key, str]:
    facts = {Key(IndexedUnit.FACT, fact.id): fact.statement for fact in packet.facts}
    return facts | {Key(IndexedUnit.PASSAGE, passage.id): passage.text for passage in packet.passages}


def _lines(packet: Packet) -> dict[Key, str]:
    facts = {Key(IndexedUnit.FACT, fact.id): rendering.served_fact_line(fact) for fact in packet.facts}
    return facts | {
        Key(IndexedUnit.PASSAGE, passage.id): rendering.served_passage_line(passage) for passage in packet.passages
    }


class _Reasons:
    """Why things were served or not in one of the two reads; looks up a bounded number of what was not considered."""

    def __init__(self, principal: Principal, trace: Trace) -> None:
        self._principal = principal
        self._trace = trace
        self._decided = {
            Key(decision["unit"], uuid.UUID(decision["id"])): decision["reason"] for decision in unpack(trace.decisions)
        }
        self._left = EXPLAINED

    def of(self, key: Key, *, missing: bool) -> str | None:
        """Return the reason code; for a fact that is ``missing`` here and was not considered, its first obstacle."""
        if key in self._decided or not missing or key.unit != IndexedUnit.FACT or self._left == 0:
            return self._decided.get(key)
        self._left -= 1
        try:
            fact = why_not.visible_fact(self._principal, self._trace, key.id)
        except NotFound:
            return None
        explained = why_not.explain(self._principal, self._trace, fact)
        return explained.obstacles[0].code if explained.obstacles else None
