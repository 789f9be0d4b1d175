"""An embedder behind OpenAI's API, or behind whatever server speaks it, through the official library.

Texts leave the machine: it is used only where ``HAKI_EMBED_PROVIDER=openai`` says so; a key alone switches nothing on.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np

from facts import embedding_usage
from facts.embedding import EmbedderIdentity
from retrieval.embedders.base import EmbeddingUnavailable, Vector, normalised

ADDRESS = "https://api.openai.com/v1"
#: Texts in one call: of about 1,000 characters each, far below the limits of any provider.
TEXTS_PER_CALL = 100
#: Second tries of a call for stored texts; a question is asked once.
RETRIES = 1
#: Seconds for a question: no reader waits as long, but the thread that waits must come back.
QUERY_SECONDS = 5.0
#: Bytes of a reply: 100 vectors of 1,536 numbers written out are 3 MB.
MAX_REPLY_BYTES = 8 * 1024 * 1024


class OpenAIEmbedder:
    """Asks an OpenAI-compatible server for vectors of ``dimensions`` numbers."""

    bounded = False
    remote = True

    def __init__(
        self,
        *,
        model: str,
        dimensions: int,
        api_key: str,
        address: str = "",
        document_prefix: str = "",
        query_prefix: str = "",
        timeout: float,
        near_distance: float | None = None,
    ) -> None:
        """``timeout``: seconds for one try of a call for stored texts. ``address``: empty for OpenAI's own."""
        prefix = hashlib.sha256(document_prefix.encode()).hexdigest()[:8] if document_prefix else "none"
        self.identity = EmbedderIdentity(
            provider="openai",
            model=model[:128],
            # Servers give the same name to different weights.
            version=hashlib.sha256(address.encode()).hexdigest()[:12] if address else "openai",
            dimensions=dimensions,
            recipe=f"l2-p{prefix}",
        )
        self.blueprint = {
            "provider": "openai",
            "model": model,
            "dimensions": dimensions,
            "address": address,
            "document_prefix": document_prefix,
            "query_prefix": query_prefix,
        }
        self.near_distance = near_distance
        self._address = address
        self._api_key = api_key
        self._prefixes = (query_prefix, document_prefix)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._library: Any = None
        # A server that does not know the parameter refuses the call; OpenAI's own knows it.
        self._states_dimensions = True

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, asked for once."""
        return self._embed([self._prefixes[0] + text], timeout=QUERY_SECONDS, retries=0)[0]

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of stored texts in their order."""
        vectors = np.empty((len(texts), self.identity.dimensions), dtype=np.float32)
        for start in range(0, len(texts), TEXTS_PER_CALL):
            batch = [self._prefixes[1] + text for text in texts[start : start + TEXTS_PER_CALL]]
            vectors[start : start + len(batch)] = self._embed(batch, timeout=self._timeout, retries=RETRIES)
        return vectors

    def _embed(self, texts: list[str], *, timeout: float, retries: int) -> list[Vector]:
        import openai

        # The API refuses a text without any character.
        asked = [text or " " for text in texts]
        started = monotonic()
        try:
            answer = self._ask(asked, timeout=timeout, retries=retries)
            rows = {row.index: row.embedding for row in answer.data}
        except openai.APIStatusError as error:
            self._book(started, error_class=f"http_{error.status_code}")
            raise EmbeddingUnavailable(f"the provider answered {error.status_code}") from None
        except (openai.OpenAIError, ValueError, AttributeError, TypeError) as error:
            # A reply that is no answer: what the library makes of it differs.
            self._book(started, error_class=type(error).__name__)
            raise EmbeddingUnavailable(f"the provider failed with {type(error).__name__}") from None
        self._book(started, tokens=getattr(getattr(answer, "usage", None), "prompt_tokens", None))
        if rows.keys() != set(range(len(texts))) or len(answer.data) != len(texts):
            raise EmbeddingUnavailable("the provider answered with vectors of other texts")
        return [self._vector(rows[number]) for number in range(len(texts))]

    def _book(self, started: float, *, tokens: int | None = None, error_class: str = "") -> None:
        embedding_usage.note(
            embedding_usage.Usage(
                provider=self.identity.provider,
                model=self.identity.model,
                list_prices=not self._address,
                tokens=tokens,
                latency_ms=round((monotonic() - started) * 1000),
                error_class=error_class,
            )
        )

    def _vector(self, numbers: Any) -> Vector:
        try:
            return normalised(numbers, dimensions=self.identity.dimensions)
        except (ValueError, TypeError):
            raise EmbeddingUnavailable("the provider answered with something that is no vector") from None

    def _ask(self, texts: list[str], *, timeout: float, retries: int) -> Any:
        import openai

        try:
            return self._send(texts, timeout=timeout, retries=retries, states=self._states_dimensions)
        except (openai.BadRequestError, openai.UnprocessableEntityError):
            if not self._address or not self._states_dimensions:
                raise
        answer = self._send(texts, timeout=timeout, retries=retries, states=False)
        self._states_dimensions = False
        return answer

    def _send(self, texts: list[str], *, timeout: float, retries: int, states: bool) -> Any:
        from facts import outgoing

        library = self._client().with_options(max_retries=retries)
        width = {"dimensions": self.identity.dimensions} if states else {}
        return library.embeddings.create(
            model=self.identity.model, input=texts, timeout=outgoing.timeout(timeout), **width
        )

    def _client(self) -> Any:
        """Return the library's client, made at the first call: after any fork, and only where it is used."""
        import openai

        from facts import outgoing

        with self._lock:
            if self._library is None:
                self._library = openai.OpenAI(
                    api_key=self._api_key or "none",
                    base_url=self._address or ADDRESS,
                    http_client=outgoing.client(max_reply_bytes=MAX_REPLY_BYTES),
                )
            return self._library
