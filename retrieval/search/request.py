"""What a search is asked, and how a trace keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from facts.errors import DomainError
from facts.models import IndexedUnit
from retrieval.context.assembly import MAX_QUERY
from retrieval.places import Asked
from retrieval.strategies.base import SourceFilters

DEFAULT_PROFILE = "balanced"
DEFAULT_LIMIT = 12
MAX_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a caller asks for.

    ``exact``: only the scope itself, and in it only the subject's facts; otherwise the scope and its ancestors, and
    the subject only says on whose behalf is read. ``limit`` bounds the results. ``min_score`` is applied by each
    strategy to its own scores. ``units``: facts, passages or both. ``as_of`` is the instant the question is about,
    ``known_at`` the instant of which the knowledge is asked.
    """

    scope_path: str
    exact: bool
    subject_key: str = ""
    subject_alias: tuple[str, str] | None = None
    peer_key: str = ""
    query: str = ""
    purpose: str = ""
    profile: str = DEFAULT_PROFILE
    limit: int = DEFAULT_LIMIT
    min_score: float | None = None
    filters: SourceFilters = field(default_factory=SourceFilters)
    units: tuple[IndexedUnit, ...] = (IndexedUnit.FACT, IndexedUnit.PASSAGE)
    include_cross_links: bool = False
    include_identity_profile: bool = False
    as_of: datetime | None = None
    known_at: datetime | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise DomainError(f"A limit is 1 to {MAX_LIMIT}.", code="invalid_payload", field="limit")
        if len(self.query) > MAX_QUERY:
            raise DomainError(f"A query has at most {MAX_QUERY:,} characters.", code="query_too_long", field="query")

    @property
    def asked(self) -> Asked:
        """How the place of the call is named."""
        return Asked(
            scope_path=self.scope_path,
            exact=self.exact,
            subject_key=self.subject_key,
            subject_alias=self.subject_alias,
            peer_key=self.peer_key,
        )


def as_asked(request: SearchRequest) -> dict[str, Any]:
    """Return what else the call asked for, so that it can be asked again."""
    filters = request.filters
    return {
        "exact": request.exact,
        "profile": request.profile,
        "limit": request.limit,
        "min_score": request.min_score,
        "units": [unit.value for unit in request.units],
        "include_cross_links": request.include_cross_links,
        "include_identity_profile": request.include_identity_profile,
        "source_filters": {
            "provider": filters.provider,
            "model": filters.model,
            "prompt_version": filters.prompt_version,
            "minimum_corroboration": filters.minimum_corroboration,
            "event_id": str(filters.event_id) if filters.event_id else None,
        },
    }
