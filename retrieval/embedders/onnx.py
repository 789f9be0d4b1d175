"""Any sentence encoder as ONNX in a directory, with the prefixes and the pooling that it was trained with.

What the directory says of both, in the files that sentence-transformers writes, is the default; settings decide.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facts.embedding import EmbedderIdentity
from retrieval import onnx_directory
from retrieval.embedders.base import EmbeddingUnavailable, Vector, normalised
from retrieval.onnx_directory import ModelUnusable, OnnxModel

SETTING = "EMBEDDER_MODEL_DIR"
MEAN, CLS, LAST = "mean", "cls", "last"
POOLINGS = (MEAN, CLS, LAST)
#: Tokens of a text that are read unless a setting says otherwise: what most encoders are trained on.
MAX_TOKENS = 512

#: Outputs that hold one vector a token, by the names they are published under.
_STATES = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a text becomes a vector beside the model: what is put before it, how much is read, how states are pooled."""

    pooling: str
    query_prefix: str
    document_prefix: str
    max_tokens: int

    def of_documents(self) -> str:
        """Return a short name of what shapes stored vectors; the prefix of questions is no part of it."""
        prefix = hashlib.sha256(self.document_prefix.encode()).hexdigest()[:8] if self.document_prefix else "none"
        return f"{self.pooling}-l2-t{self.max_tokens}-p{prefix}"


class OnnxEmbedder:
    """Embeds one text at a time with the model in a directory, loaded at the first use in each process."""

    #: A large model may take longer than a question can wait.
    bounded = False
    remote = False

    def __init__(
        self, directory: Path, *, recipe: Recipe, dimensions: int = 0, near_distance: float | None = None
    ) -> None:
        """Reads the files for their digest and loads nothing.

        ``dimensions``: the width of its vectors; 0: as ``config.json`` says. Raises ``ValueError`` with a sentence for
        the operator when files are missing, the pooling is unknown, or nothing says the width.
        """
        files = onnx_directory.files_of(directory, setting=SETTING)
        if recipe.pooling not in POOLINGS:
            raise ValueError(f"EMBEDDER_POOLING is one of {', '.join(POOLINGS)}, not {recipe.pooling!r}")
        if recipe.max_tokens < 8:
            raise ValueError("EMBEDDER_MAX_TOKENS must be at least 8")
        width = dimensions or _said(directory / "config.json").get("hidden_size")
        if not isinstance(width, int):
            raise ValueError(f"EMBEDDER_DIMENSIONS must be set: no config.json in {directory} says the width")
        self.identity = EmbedderIdentity(
            provider="onnx",
            model=directory.name[:128],
            version=files.digest(),
            dimensions=width,
            recipe=recipe.of_documents(),
        )
        self.blueprint = {
            "provider": "onnx",
            "directory": str(directory),
            "dimensions": width,
            **asdict(recipe),
        }
        self.near_distance = near_distance
        self._recipe = recipe
        self._model = OnnxModel(files, max_tokens=recipe.max_tokens)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question."""
        return self._embed(self._recipe.query_prefix + text)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the unit vectors of stored texts in their order."""
        vectors = np.empty((len(texts), self.identity.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(self._recipe.document_prefix + text)
        return vectors

    def _embed(self, text: str) -> Vector:
        try:
            outputs = self._model.run(text)
        except ModelUnusable as error:
            raise EmbeddingUnavailable(str(error)) from error
        return normalised(_pooled(outputs, self._recipe.pooling), dimensions=self.identity.dimensions)


def recipe_of(
    directory: Path, *, pooling: str, query_prefix: str, document_prefix: str, max_tokens: int = MAX_TOKENS
) -> Recipe:
    """Return the recipe with what is empty filled in from the directory's own files."""
    prompts = _said(directory / "config_sentence_transformers.json").get("prompts") or {}
    modes = _said(directory / "1_Pooling" / "config.json")
    published = CLS if modes.get("pooling_mode_cls_token") else LAST if modes.get("pooling_mode_lasttoken") else MEAN
    return Recipe(
        pooling=pooling or published,
        query_prefix=query_prefix or prompts.get("query", ""),
        document_prefix=document_prefix or prompts.get("document", prompts.get("passage", "")),
        max_tokens=max_tokens,
    )


def _pooled(outputs: Mapping[str, NDArray[Any]], pooling: str) -> NDArray[Any]:
    """Return one vector; of a model that pools by itself, its only output."""
    named = [outputs[name] for name in _STATES if name in outputs]
    states = next((value for value in [*named, *outputs.values()] if value.ndim == 2), None)
    if states is None:
        return next(iter(outputs.values()))
    if pooling == MEAN:
        return states.mean(axis=0)
    return states[0] if pooling == CLS else states[-1]


def _said(path: Path) -> dict[str, Any]:
    """Return what a file of settings says; nothing where there is none, or none that can be read."""
    try:
        said = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
