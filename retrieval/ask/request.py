"""What is asked: a question, where and as whom, and how hard to try."""

from __future__ import annotations

from dataclasses import dataclass

from facts.errors import DomainError
from retrieval.ask.effort import EFFORTS
from retrieval.models import ProfileName
from retrieval.search.request import SearchRequest

DEFAULT_PROFILE = ProfileName.THOROUGH.value
DEFAULT_LIMIT = 12
MAX_LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """A question, and how hard to try.

    ``search`` is the question's own search: facts only, its ``limit`` that of the evidence. ``effort`` names a preset,
    or is empty for the fixed way: that search and nothing else. Only with ``include_source_recall`` what was said may
    be evidence.
    """

    search: SearchRequest
    effort: str = ""
    include_source_recall: bool = False

    def __post_init__(self) -> None:
        if not self.search.query.strip():
            raise DomainError("Ask a question.", code="empty_query", field="query")
        if not 1 <= self.search.limit <= MAX_LIMIT:
            raise DomainError(f"A limit is 1 to {MAX_LIMIT}.", code="invalid_payload", field="limit")
        if self.effort and self.effort not in EFFORTS:
            raise DomainError(f"An effort is {', '.join(EFFORTS)}.", code="unknown_effort", field="effort")
        if self.include_source_recall and not self.effort:
            message = "What was said is looked for by an effort only: name one."
            raise DomainError(message, code="effort_required", field="include_source_recall")
