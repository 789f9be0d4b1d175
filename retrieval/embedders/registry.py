"""Which embedder this process uses: asked for by the settings (``HAKI_EMBED_PROVIDER``), serving by the database."""

from __future__ import annotations

import logging
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import lru_cache

from django.core.exceptions import ImproperlyConfigured

from facts import embedding, embedding_usage
from facts.embedding import Embedded
from retrieval.embedders import making
from retrieval.embedders.base import Embedder, EmbeddingUnavailable, Vector
from retrieval.embedders.query_cache import QueryCache

#: Threads that wait for embedders whose time is not bounded; a question that finds none free is late.
WAITING_THREADS = 4

logger = logging.getLogger(__name__)
cache = QueryCache()


def register() -> None:
    """Tell the ledger which embedder the settings ask for, and how others are made again. Loads no model.

    Raises ``ImproperlyConfigured`` for settings under which it could not work.
    """
    try:
        embedder = making.asked_for()
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error
    embedding.register(embedder, blueprint=embedder.blueprint if embedder else None, remake=making.again)
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
        with embedding_usage.on_account(account_id):
            return cache.embed(embedder, account_id=account_id, text=text)
    except EmbeddingUnavailable as error:
        return error
    except Exception as error:
        logger.warning("embedding_failed", extra={"error_class": type(error).__name__})
        return EmbeddingUnavailable(f"the embedder failed with {type(error).__name__}")


def _in_time(embedder: Embedder, account_id: uuid.UUID, text: str, seconds: float) -> Vector | EmbeddingUnavailable:
    answer = _waiting().submit(_answer, embedder, account_id, text)
    try:
        return answer.result(timeout=seconds)
    except FutureTimeout:
        answer.cancel()
        return EmbeddingUnavailable("the embedder did not answer in time")


@lru_cache
def _waiting() -> ThreadPoolExecutor:
    """Return the process's threads that wait for embedders; made on first use."""
    return ThreadPoolExecutor(WAITING_THREADS, thread_name_prefix="embed")


# A fork copies the pool but not its threads.
os.register_at_fork(after_in_child=_waiting.cache_clear)
