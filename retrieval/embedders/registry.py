"""Which embedder this deployment uses, as the setting ``HAKI_EMBED_PROVIDER`` says."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from facts import embedding
from facts.embedding import Embedded
from retrieval.embedders.base import Embedder, EmbeddingUnavailable, Vector
from retrieval.embedders.local import LocalEmbedder
from retrieval.embedders.query_cache import QueryCache

#: ``none``: reads go by text alone and say so.
PROVIDERS: dict[str, Callable[[], Embedder | None]] = {
    "local": lambda: LocalEmbedder(weights=settings.LOCAL_EMBEDDER_WEIGHTS, directory=settings.VAR_DIR / "models"),
    "none": lambda: None,
}
#: Threads that wait for embedders whose time is not bounded; a question that finds none free is late.
WAITING_THREADS = 4

logger = logging.getLogger(__name__)
cache = QueryCache()
_waiting = ThreadPoolExecutor(WAITING_THREADS, thread_name_prefix="embed")


def register() -> None:
    """Make the configured embedder the one that indexing and reading use. Loads no model."""
    name = settings.HAKI_EMBED_PROVIDER
    if name not in PROVIDERS:
        raise ImproperlyConfigured(f"HAKI_EMBED_PROVIDER is one of {', '.join(PROVIDERS)}, not {name!r}")
    try:
        embedding.register(PROVIDERS[name]())
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error
    cache.clear()


def configured() -> Embedder | None:
    """Return the embedder that reads go by: that of the space that serves (``facts.embedding``).

    ``None`` when vectors are switched off (:func:`switched_off`), or when that embedder cannot be made here.
    """
    return embedding.reading()


def switched_off() -> bool:
    """Tell whether this deployment runs without vectors because its settings say so."""
    return embedding.provider() is None


def embed_query(*, account_id: uuid.UUID, text: str, seconds: float) -> Embedded:
    """Return the vector of a question within ``seconds``, with the identity of the embedder that made it.

    Raises :class:`EmbeddingUnavailable` when there is no embedder, it fails, or it is late. An embedder that
    answers in bounded time is called directly; others run on their own few threads.
    """
    embedder = configured()
    if embedder is None:
        raise EmbeddingUnavailable("no embedder is configured")
    answer = _answer(embedder, account_id, text) if embedder.bounded else _in_time(embedder, account_id, text, seconds)
    if isinstance(answer, EmbeddingUnavailable):
        raise answer
    return Embedded(embedder.identity, answer)


def _answer(embedder: Embedder, account_id: uuid.UUID, text: str) -> Vector | EmbeddingUnavailable:
    """Return the vector, or what went wrong: whatever a provider raises, the read goes on without it."""
    try:
        return cache.embed(embedder, account_id=account_id, text=text)
    except EmbeddingUnavailable as error:
        return error
    except Exception as error:
        logger.warning("embedding_failed", extra={"error_class": type(error).__name__})
        return EmbeddingUnavailable(f"the embedder failed with {type(error).__name__}")


def _in_time(embedder: Embedder, account_id: uuid.UUID, text: str, seconds: float) -> Vector | EmbeddingUnavailable:
    answer = _waiting.submit(_answer, embedder, account_id, text)
    try:
        return answer.result(timeout=seconds)
    except FutureTimeout:
        answer.cancel()
        return EmbeddingUnavailable("the embedder did not answer in time")
