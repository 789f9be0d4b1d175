"""A reranker behind an HTTP API: that of Cohere and Jina, which many servers speak, or that of TEI.

The first is asked for ``{model, query, documents, top_n}`` and answers ``{"results": [{"index", "relevance_score"}]}``;
the second (text-embeddings-inference) for ``{query, texts}`` and answers ``[{"index", "score"}]``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from retrieval.rerankers.base import INVALID_RESULT, PROVIDER_ERROR, TIMEOUT, Ranking, RerankerFailed, ranking

#: Threads that wait for the provider; a question that finds none free is late.
WAITING_THREADS = 4


@dataclass(frozen=True, slots=True)
class WireFormat:
    """How one kind of API is asked, and how its scores are found in an answer."""

    body: Callable[[str, str, Sequence[str]], dict[str, Any]]
    rows: Callable[[Any], list[Any]]
    score: str


FORMATS: Mapping[str, WireFormat] = MappingProxyType(
    {
        "http": WireFormat(
            body=lambda model, question, texts: {
                **({"model": model} if model else {}),
                "query": question,
                "documents": list(texts),
                "top_n": len(texts),
            },
            rows=lambda answer: answer["results"],
            score="relevance_score",
        ),
        "tei": WireFormat(
            body=lambda model, question, texts: {"query": question, "texts": list(texts), "truncate": True},
            rows=lambda answer: answer,
            score="score",
        ),
    }
)


class ProviderReranker:
    """Asks the API once for each ranking, and never again for the same."""

    def __init__(self, *, kind: str, url: str, model: str, api_key: str) -> None:
        """``kind`` is a key of :data:`FORMATS`. Raises ``ValueError`` for an address that is none."""
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise ValueError("RERANKER_URL must be the whole http(s) address of a rerank endpoint")
        self.label = f"{kind}:{model or urlsplit(url).hostname}"
        self._format = FORMATS[kind]
        self._url = url
        self._model = model
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._lock = threading.Lock()
        self._waiting: ThreadPoolExecutor | None = None
        self._client: Any = None

    def load(self) -> None:
        """There is nothing to load."""

    def rerank(self, question: str, texts: Sequence[str], *, seconds: float) -> Ranking:
        """Return the provider's order. Raises :class:`RerankerFailed`."""
        if not texts:
            return ranking([], texts=0)
        answer = self._threads().submit(self._ask, question, texts, seconds)
        try:
            return answer.result(timeout=seconds)
        except FutureTimeout:
            answer.cancel()
            raise RerankerFailed(TIMEOUT, "the provider did not answer in time") from None

    def _threads(self) -> ThreadPoolExecutor:
        """Return the waiting threads, made at the first use: after any fork."""
        with self._lock:
            if self._waiting is None:
                self._waiting = ThreadPoolExecutor(WAITING_THREADS, thread_name_prefix="rerank")
            return self._waiting

    def _ask(self, question: str, texts: Sequence[str], seconds: float) -> Ranking:
        import httpx2

        from facts import outgoing

        with self._lock:
            if self._client is None:
                self._client = outgoing.client()
        try:
            response = self._client.post(
                self._url,
                json=self._format.body(self._model, question, texts),
                headers=self._headers,
                timeout=outgoing.timeout(seconds),
            )
        except httpx2.TimeoutException:
            raise RerankerFailed(TIMEOUT, "the provider did not answer in time") from None
        except httpx2.HTTPError as error:
            raise RerankerFailed(PROVIDER_ERROR, f"the provider failed with {type(error).__name__}") from None
        if not response.is_success:
            raise RerankerFailed(PROVIDER_ERROR, f"the provider answered {response.status_code}")
        return self._read(response, texts=len(texts))

    def _read(self, response: Any, *, texts: int) -> Ranking:
        try:
            rows = self._format.rows(response.json())
            scored = [(_position(row["index"]), float(row[self._format.score])) for row in rows]
        except (ValueError, TypeError, KeyError, AttributeError):
            raise RerankerFailed(INVALID_RESULT, "the answer is not of the agreed form") from None
        return ranking(scored, texts=texts)


def _position(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("an index is a whole number")
    return value
