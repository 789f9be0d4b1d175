"""The vector of a search's question: made once, by the first who needs it, while others already search by words."""

from __future__ import annotations

import threading
import uuid

from facts.embedding import Embedded
from retrieval.embedders import registry
from retrieval.embedders.base import identity_key
from retrieval.strategies.base import StrategyUnavailable


class QuestionVector:
    """Belongs to one search; safe to use from several threads. ``made`` is the vector, once there is one."""

    def __init__(self, account_id: uuid.UUID, text: str) -> None:
        """Remember the question; nothing is computed yet."""
        self._account_id = account_id
        self._text = text
        self._lock = threading.Lock()
        self.made: Embedded | None = None

    @property
    def embedder(self) -> str:
        """What made the vector; empty before it is made."""
        return identity_key(self.made.identity) if self.made else ""

    def make(self, *, seconds: float) -> Embedded:
        """Return the vector within ``seconds``.

        Raises :class:`StrategyUnavailable` without a configured embedder, ``EmbeddingUnavailable`` when it fails or
        is late. Holds no connection while it waits.
        """
        if registry.configured() is None:
            raise StrategyUnavailable("no embedder is configured")
        with self._lock:
            if self.made is None:
                self.made = registry.embed_query(account_id=self._account_id, text=self._text, seconds=seconds)
            return self.made
