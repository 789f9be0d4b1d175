"""Fetching a page: through the Jina Reader where there is a key for it, else directly. Holds no transaction.

Whichever way, the address is checked first; an internal one that an operator named is never told to anybody else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from facts.errors import DomainError
from facts.guarded_requests import Limits, SendFailed, send
from facts.public_addresses import check_url
from ingest.web import addresses, page_text
from ingest.web.page_text import HTML, PLAIN, PageText, TooMuch

#: Statuses after which another try may go better.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 522, 524})


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page that was read: the address in its one spelling, where it was found in the end, and its words."""

    url: str
    found_at: str
    title: str
    text: str
    cut: bool
    by: str


class PageUnusable(DomainError):
    """There is a page, and nothing of it can be kept. Trying again does not help."""

    code = "page_unusable"

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


class PageFailed(SendFailed):
    """The page's server, or the reader, answered with an error status."""


def fetch(url: str) -> Page:
    """Return the page at an address. Raises ``AddressRefused``, ``SendFailed`` and :class:`PageUnusable`."""
    url = addresses.normalise(url)
    if settings.JINA_API_KEY and not check_url(url).internal:
        return _by_reader(url)
    return _directly(url)


def _directly(url: str) -> Page:
    reply = send(
        url,
        headers={
            "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9",
            "Accept-Language": "en,fr;q=0.8,*;q=0.5",
        },
        limits=Limits(seconds=settings.MEMORY_FETCH_SECONDS, max_bytes=settings.MEMORY_FETCH_BYTES),
        types=HTML | PLAIN,
    )
    _check_status(reply.status)
    try:
        found = page_text.read(reply.body, content_type=reply.headers.get("content-type", ""))
    except TooMuch:
        raise PageUnusable("The page has too many elements.") from None
    return _page(url, found, found_at=reply.url, by="direct")


def _by_reader(url: str) -> Page:
    """Ask the Jina Reader, which answers with a page's title and main text as JSON."""
    import httpx2

    from facts import outgoing

    try:
        with outgoing.client(max_reply_bytes=settings.MEMORY_FETCH_BYTES) as client:
            reply = client.post(
                settings.JINA_READER_URL,
                json={"url": url},
                headers={"Authorization": f"Bearer {settings.JINA_API_KEY}", "Accept": "application/json"},
                timeout=outgoing.timeout(settings.MEMORY_FETCH_SECONDS),
            )
    except httpx2.TimeoutException:
        raise SendFailed("timeout", retryable=True) from None
    except httpx2.TransportError as error:
        reason = "too_large" if outgoing.is_too_large(error) else "unreachable"
        raise SendFailed(reason, retryable=reason == "unreachable") from None
    _check_status(reply.status_code)
    data = _data(reply.content)
    text, title = data.get("content"), data.get("title")
    if not isinstance(text, str):
        raise SendFailed("bad_reply", retryable=True)
    found = page_text.of_text(text, title=title if isinstance(title, str) else "")
    return _page(url, found, found_at=url, by="jina")


def _data(content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(content)["data"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise SendFailed("bad_reply", retryable=True) from None
    if not isinstance(data, dict):
        raise SendFailed("bad_reply", retryable=True)
    return data


def _check_status(status: int) -> None:
    if not 200 <= status < 300:
        raise PageFailed(f"status_{status}", retryable=status in _PASSING)


def _page(url: str, found: PageText, *, found_at: str, by: str) -> Page:
    if not found.text:
        raise PageUnusable("The page holds no text.")
    return Page(url=url, found_at=found_at, title=found.title, text=found.text, cut=found.cut, by=by)
