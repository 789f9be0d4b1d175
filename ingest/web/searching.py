"""Asking Tavily for what the web says. Holds no transaction."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from facts.errors import DomainError
from facts.public_addresses import AddressRefused
from ingest.normalise import clean_text
from ingest.web import addresses

#: Results that are asked for at most; the service gives 20.
MAX_RESULTS = 10
MAX_QUERY = 400
MAX_SNIPPET = 600
_REPLY_BYTES = 2_000_000


class SearchUnavailable(DomainError):
    """There is no key for the search service."""

    code = "web_search_unavailable"

    def __init__(self) -> None:
        super().__init__("Web search needs TAVILY_API_KEY.", status=409)


class SearchFailed(DomainError):
    """The search service gave no usable answer; ``reason`` is a word."""

    code = "web_search_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The search service gave no usable answer: {reason.replace('_', ' ')}.", status=502)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One result: its address, title and snippet, and how well it fits, 0 to 1."""

    url: str
    title: str
    snippet: str
    score: float


def search(query: str, *, limit: int) -> list[Found]:
    """Return up to ``limit`` results, best first. Raises :class:`SearchUnavailable` and :class:`SearchFailed`."""
    import httpx2

    from facts import outgoing

    if not settings.TAVILY_API_KEY:
        raise SearchUnavailable
    try:
        with outgoing.client(max_reply_bytes=_REPLY_BYTES) as client:
            reply = client.post(
                f"{settings.TAVILY_BASE_URL.rstrip('/')}/search",
                json={"query": query, "max_results": limit, "search_depth": "basic", "include_answer": False},
                headers={"Authorization": f"Bearer {settings.TAVILY_API_KEY}"},
                timeout=outgoing.timeout(settings.MEMORY_FETCH_SECONDS),
            )
    except httpx2.TimeoutException:
        raise SearchFailed("timeout") from None
    except httpx2.TransportError as error:
        raise SearchFailed("too_large" if outgoing.is_too_large(error) else "unreachable") from None
    if reply.status_code != 200:
        raise SearchFailed(_REASONS.get(reply.status_code, f"status_{reply.status_code}"))
    return [found for found in map(_found, _results(reply.content)) if found is not None][:limit]


#: Statuses with a meaning of their own there: a plan's limit, and that of paying as one goes.
_REASONS = {401: "key_refused", 403: "key_refused", 429: "rate_limited", 432: "plan_used_up", 433: "plan_used_up"}


def _results(content: bytes) -> list[Any]:
    try:
        results = json.loads(content)["results"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise SearchFailed("bad_reply") from None
    if not isinstance(results, list):
        raise SearchFailed("bad_reply")
    return results


def _found(result: Any) -> Found | None:
    """Return a result with an address that is one; ``None`` for any other."""
    if not isinstance(result, Mapping):
        return None
    texts = {name: result.get(name) for name in ("url", "title", "content")}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    try:
        url = addresses.normalise(texts["url"])
    except AddressRefused:
        return None
    words = {name: " ".join(clean_text(text)[0].split()) for name, text in texts.items()}
    score = result.get("score")
    usable = isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
    return Found(
        url=url,
        title=words["title"][:300],
        snippet=words["content"][:MAX_SNIPPET],
        score=min(max(float(score), 0.0), 1.0) if usable else 0.0,
    )
