"""Vectors of recent questions, so that a repeated question costs nothing.

Bounded, per process, in memory only. Holds digests and numbers, no text; an account never profits from, or
learns of, another account's questions.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from hashlib import sha256

from retrieval.embedders.base import Embedder, Vector, identity_key

#: 1.5 kB each at 384 dimensions.
CAPACITY = 2_048


class QueryCache:
    """The least recently used entry goes first. Safe to use from several threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, embedder: Embedder, *, account_id: uuid.UUID, text: str) -> Vector:
        """Return the vector of ``text``, remembered or new. Raises what the embedder raises."""
        key = _key(account_id, identity_key(embedder.identity), text)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
                return vector
        vector = embedder.embed_query(text)
        vector.setflags(write=False)
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
        return vector

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._vectors.clear()

    def __len__(self) -> int:
        return len(self._vectors)


def _key(account_id: uuid.UUID, identity: str, text: str) -> bytes:
    return sha256(b"\x00".join((account_id.bytes, identity.encode(), text.encode("utf-8", "surrogatepass")))).digest()
