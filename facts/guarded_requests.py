"""Asking addresses that others chose: pages named in messages, webhooks that people set up.

The name is resolved once, every address it stands for is checked, and the connection goes to the address that was
checked, under the name's own ``Host`` and certificate: a name that means something else a moment later changes
nothing. Redirects are checked like first addresses. No cookies, credentials or proxies of the environment are used.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

import httpcore2

from facts.errors import DomainError
from facts.public_addresses import AddressRefused, Target, check_address, check_url

__all__ = ["AddressRefused", "Limits", "Reply", "SendFailed", "resolve", "send"]

#: Addresses of one name that are tried.
MAX_ADDRESSES = 4
CONNECT_SECONDS = 5.0
#: Decompressed bytes that are taken at a time.
_PIECE = 65_536
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_USER_AGENT = b"memory-site/0.1 (page reader)"


class SendFailed(DomainError):
    """No usable reply came: ``reason`` is a word, ``retryable`` whether it may go better later.

    Reasons: ``timeout``, ``unreachable``, ``name_not_found``, ``too_large``, ``bad_reply``, ``too_many_redirects``,
    ``unsupported_type``.
    """

    code = "fetch_failed"

    def __init__(self, reason: str, *, retryable: bool) -> None:
        super().__init__(f"No usable reply: {reason.replace('_', ' ')}.", status=502)
        self.reason = reason
        self.retryable = retryable


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds for everything together, bytes of the body (as sent and as unpacked), and redirects that are followed."""

    seconds: float = 20.0
    max_bytes: int = 5_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply of any status. ``url`` is where it came from in the end; header names are in lower case."""

    status: int
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def content_type(self) -> str:
        """The type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name; raises ``OSError`` when it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def send(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
    limits: Limits = Limits(),
    types: frozenset[str] | None = None,
) -> Reply:
    """Return the reply of a guarded request; ``types``: content types of which a body is read at all.

    ``headers`` go to the first address only. Only a GET follows redirects. Raises :class:`AddressRefused` and
    :class:`SendFailed`.
    """
    deadline = time.monotonic() + limits.seconds
    target = check_url(url)
    followed = limits.redirects if method == "GET" else 0
    sent = dict(headers or {})
    for hop in range(followed + 1):
        reply = _ask(target, method, sent, content, deadline=deadline, limits=limits, types=types)
        if reply.status not in _REDIRECTS or not reply.headers.get("location") or not followed:
            return reply
        if hop < followed:
            target, sent = check_url(urljoin(target.url, reply.headers["location"].strip())), {}
    raise SendFailed("too_many_redirects", retryable=False)


def _ask(
    target: Target,
    method: str,
    headers: Mapping[str, str],
    content: bytes,
    *,
    deadline: float,
    limits: Limits,
    types: frozenset[str] | None,
) -> Reply:
    sent = [
        (b"Host", target.authority.encode()),
        (b"User-Agent", _USER_AGENT),
        (b"Accept-Encoding", b"gzip"),
        (b"Connection", b"close"),
        *((name.encode(), value.encode()) for name, value in headers.items()),
    ]
    if content or method != "GET":
        sent.append((b"Content-Length", str(len(content)).encode()))
    pool = httpcore2.ConnectionPool(
        ssl_context=_tls(), network_backend=_CheckedConnections(target, deadline), max_connections=1
    )
    try:
        with pool, pool.stream(method, target.url, headers=sent, content=content or None) as response:
            return _read(response, target, limits=limits, types=types)
    except httpcore2.TimeoutException:
        raise SendFailed("timeout", retryable=True) from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ssl.SSLError, OSError) as error:
        reason = "unreachable" if isinstance(error, httpcore2.NetworkError | OSError) else "bad_reply"
        raise SendFailed(reason, retryable=True) from None


def _read(response: Any, target: Target, *, limits: Limits, types: frozenset[str] | None) -> Reply:
    names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    head = Reply(status=response.status, url=target.url, headers=names)
    if head.status in _REDIRECTS:
        return head
    if types is not None and 200 <= head.status < 300 and head.content_type not in types:
        raise SendFailed("unsupported_type", retryable=False)
    length = names.get("content-length", "")
    if length.isdigit() and int(length) > limits.max_bytes:
        raise SendFailed("too_large", retryable=False)
    packed = names.get("content-encoding", "identity").strip().lower()
    pieces = _bounded(response.iter_stream(), limits.max_bytes)
    if packed in {"gzip", "x-gzip", "deflate"}:
        pieces = _bounded(_unpacked(pieces), limits.max_bytes)
    elif packed not in {"", "identity"}:
        raise SendFailed("bad_reply", retryable=False)
    return Reply(status=head.status, url=head.url, headers=names, body=b"".join(pieces))


def _bounded(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise SendFailed("too_large", retryable=False)
        yield piece


def _unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack in small pieces, so that what unpacks without end is noticed before it is held."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        for packed in pieces:
            rest = packed
            while rest and not unpacker.eof:
                yield unpacker.decompress(rest, _PIECE)
                rest = unpacker.unconsumed_tail
    except zlib.error:
        raise SendFailed("bad_reply", retryable=False) from None


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class _CheckedConnections(httpcore2.NetworkBackend):
    """Connects to checked addresses of one target, and to nothing else, before a deadline."""

    def __init__(self, target: Target, deadline: float) -> None:
        self._target = target
        self._deadline = deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Resolve, check all, and connect to the first that answers."""
        addresses = self._addresses()
        for address in addresses:
            check_address(address, internal=self._target.internal)
        failure: Exception = httpcore2.ConnectError()
        for address in addresses[:MAX_ADDRESSES]:
            seconds = min(CONNECT_SECONDS, _left(self._deadline))
            try:
                stream = self._sockets.connect_tcp(address, self._target.port, seconds, None, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _Timed(stream, self._deadline)
        raise failure

    def _addresses(self) -> list[str]:
        """Return the addresses of the host. The system's resolver knows no time limit, so it works beside."""
        found: list[str] = []

        def look() -> None:
            try:
                found.extend(resolve(self._target.host, self._target.port))
            except OSError:
                found.clear()

        worker = threading.Thread(target=look, daemon=True)
        worker.start()
        worker.join(_left(self._deadline))
        if worker.is_alive():
            raise SendFailed("timeout", retryable=True)
        if not found:
            raise SendFailed("name_not_found", retryable=True)
        return found


class _Timed(httpcore2.NetworkStream):
    """A connection on which everything together has until a deadline, however small the pieces that come."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what comes before the deadline."""
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write before the deadline."""
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Begin TLS under the name that was asked for."""
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection says of itself."""
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    """Return the seconds until a deadline; raises :class:`SendFailed` when there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise SendFailed("timeout", retryable=True)
    return left
