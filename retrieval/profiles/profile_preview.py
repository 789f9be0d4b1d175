"""What a change of a profile would do: stored queries answered under the present and under the proposed settings.

The administrator who looks reads as themselves. Each answer leaves a trace of the kind ``preview``, which enters no
figures.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from facts.models import IndexedUnit, Scope
from governance.access import Principal
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.models import ProfileName, StoredQuery, TraceKind
from retrieval.profiles import overrides, profile_settings, stored_queries
from retrieval.profiles.profile_versions import require_administrator
from retrieval.profiles.shipped import ContextProfile, SearchProfile
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search
from retrieval.traces.comparing import Compared, compare
from retrieval.transactions import settings_kept

#: Queries answered at once, newest first: each is asked twice.
MOST_QUERIES = 8
PURPOSE = "profile preview"


class Key(NamedTuple):
    """A fact or a passage."""

    unit: str
    id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two answers. ``texts`` hold what is served, by unit and id, in the order of ``keys``."""

    profile: str
    keys: Sequence[Key]
    texts: Mapping[Key, str]
    empty_reason: str | None
    tokens: int | None
    trace_id: uuid.UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A stored query with both of its answers."""

    query: StoredQuery
    present: Side
    proposed: Side

    @property
    def rows(self) -> list[tuple[Compared[Key], str]]:
        """Return every item of both answers with its places and its text."""
        texts = {**self.present.texts, **self.proposed.texts}
        return [(row, texts[row.item]) for row in compare(self.present.keys, self.proposed.keys)]


def preview(
    principal: Principal, *, name: str, scope: Scope | None, settings: Mapping[str, Any] | None
) -> list[Preview]:
    """Return what the newest stored queries at and below ``scope`` answer now, and would answer with ``settings``.

    ``settings`` is ``None`` for "without the override". A query below a nearer override shows that nothing changes for
    it. Raises as ``profile_versions.save``.
    """
    require_administrator(principal)
    proposed = None if settings is None else profile_settings.applied(name, settings, version=0)
    place = scope.path if scope else None
    previews = []
    for query in stored_queries.reached_by(principal.account_id, scope)[:MOST_QUERIES]:
        here = {"account_id": principal.account_id, "path": query.scope.path}
        present = (
            overrides.resolve_context(**here)
            if name == ProfileName.CONTEXT
            else overrides.resolve_search(**here, name=name)
        )
        then = overrides.resolve_as_if(**here, name=name, place=place, proposed=proposed)
        previews.append(
            Preview(query=query, present=_ask(principal, query, present), proposed=_ask(principal, query, then))
        )
    return previews


def _ask(principal: Principal, query: StoredQuery, profile: ContextProfile | SearchProfile) -> Side:
    place = {"scope_path": query.scope.path, "exact": query.subject_key != "", "subject_key": query.subject_key}
    with settings_kept():
        if isinstance(profile, ContextProfile):
            request = ContextRequest(**place, query=query.query, purpose=PURPOSE)
            return _packet(assemble(principal=principal, request=request, profile=profile, kind=TraceKind.PREVIEW))
        asked = SearchRequest(**place, query=query.query, purpose=PURPOSE, profile=profile.name)
        return _results(search(principal=principal, request=asked, profile=profile, kind=TraceKind.PREVIEW))


def _packet(answer: ContextAnswer) -> Side:
    packet = answer.packet
    texts = {Key(IndexedUnit.FACT, fact.id): fact.statement for fact in packet.facts}
    texts |= {Key(IndexedUnit.PASSAGE, passage.id): passage.text for passage in packet.passages}
    return Side(
        profile=answer.profile,
        keys=list(texts),
        texts=texts,
        empty_reason=packet.empty_reason,
        tokens=answer.token_count,
        trace_id=answer.trace_id,
    )


def _results(answer: SearchAnswer) -> Side:
    texts = {Key(found.unit, found.id): found.text for found in answer.results}
    return Side(
        profile=answer.profile_version,
        keys=list(texts),
        texts=texts,
        empty_reason=answer.empty_reason,
        tokens=None,
        trace_id=answer.trace_id,
    )
