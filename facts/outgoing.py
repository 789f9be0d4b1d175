"""The HTTP client for providers of models, also under their client libraries: bounded replies, no redirects.

Imported by the adapters at their first call only: it brings the HTTP library with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import httpx2

#: Bytes of a reply: several times the output limit of an extraction, and far below what would hurt.
MAX_REPLY_BYTES = 512 * 1024
CONNECT_SECONDS = 5.0
DEFAULT_SECONDS = 30.0


class ReplyTooLarge(httpx2.TransportError):
    """The reply is longer than any answer can be, or comes in a form whose length cannot be known.

    One of the HTTP library's errors, because the client libraries pass on no others.
    """

    def __init__(self) -> None:
        super().__init__("reply too large")


class _Bounded(httpx2.SyncByteStream):
    """A reply's bytes, up to the limits of size and time: the library's own limit of time is for each piece."""

    def __init__(self, stream: httpx2.SyncByteStream, *, seconds: float, most: int) -> None:
        self._stream = stream
        self._seconds = seconds
        self._most = most

    def __iter__(self) -> Iterator[bytes]:
        size, deadline = 0, time.monotonic() + self._seconds
        for chunk in self._stream:
            size += len(chunk)
            if size > self._most:
                raise ReplyTooLarge
            if time.monotonic() > deadline:
                raise httpx2.ReadTimeout("reply too slow")
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _bound(most: int, response: httpx2.Response) -> None:
    """Bound a reply before its body is read; a compressed one, which was not asked for, may grow without limit."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ReplyTooLarge
    if not isinstance(response.stream, httpx2.SyncByteStream):
        raise ReplyTooLarge
    seconds = response.request.extensions.get("timeout", {}).get("read") or DEFAULT_SECONDS
    response.stream = _Bounded(response.stream, seconds=seconds, most=most)


def client(*, max_reply_bytes: int = MAX_REPLY_BYTES) -> httpx2.Client:
    """Return a client for one provider. Proxies of the environment are honoured."""
    return httpx2.Client(
        follow_redirects=False,
        timeout=httpx2.Timeout(DEFAULT_SECONDS, connect=CONNECT_SECONDS),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [partial(_bound, max_reply_bytes)]},
    )


def timeout(seconds: float) -> httpx2.Timeout:
    """Return the time limits of one try."""
    return httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))


def is_too_large(error: BaseException) -> bool:
    """Tell whether a library's error stands for a reply that was too large."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ReplyTooLarge):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
