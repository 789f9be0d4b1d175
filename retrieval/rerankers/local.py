"""A cross-encoder in this process: any sequence classification model with one or two labels, as ONNX."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval import onnx_directory
from retrieval.onnx_directory import ModelUnusable, OnnxModel
from retrieval.rerankers.base import INVALID_RESULT, TIMEOUT, Ranking, RerankerFailed, RerankerUnavailable, ranking

SETTING = "RERANKER_MODEL_DIR"
#: Tokens of question and text together: what such models are trained on.
PAIR_TOKENS = 512


class LocalReranker:
    """Reads one pair after the other in the order given, until all are read or the time is up."""

    def __init__(self, directory: Path) -> None:
        """Loads nothing. Raises ``ValueError`` for a directory without a model."""
        files = onnx_directory.files_of(directory, setting=SETTING)
        self.label = f"local:{directory.name}"
        self._model = OnnxModel(files, max_tokens=PAIR_TOKENS)

    def load(self) -> None:
        """Load the model now. Raises :class:`RerankerUnavailable`."""
        try:
            self._model.load()
        except ModelUnusable as error:
            raise RerankerUnavailable(str(error)) from error

    def rerank(self, question: str, texts: Sequence[str], *, seconds: float) -> Ranking:
        """Return the order of the texts that were read within ``seconds``; a pair in the middle is given up."""
        deadline = monotonic() + seconds
        try:
            if not self._model.is_loaded_within(seconds):
                raise RerankerFailed(TIMEOUT, "the model is still being loaded")
            scored = self._read(question, texts, deadline=deadline)
        except ModelUnusable as error:
            raise RerankerUnavailable(str(error)) from error
        if texts and not scored:
            raise RerankerFailed(TIMEOUT, "no text was read in time")
        return ranking(scored, texts=len(texts))

    def _read(self, question: str, texts: Sequence[str], *, deadline: float) -> list[tuple[int, float]]:
        import onnxruntime

        options = onnxruntime.RunOptions()
        alarm = threading.Timer(max(0.0, deadline - monotonic()), setattr, (options, "terminate", True))
        alarm.daemon = True
        alarm.start()
        scored: list[tuple[int, float]] = []
        try:
            for position, text in enumerate(texts):
                if monotonic() >= deadline:
                    break
                scored.append((position, _score(self._model.run(question, text, options=options))))
        except ModelUnusable:
            if not options.terminate:
                raise
        finally:
            alarm.cancel()
        return scored


def _score(outputs: dict[str, NDArray[Any]]) -> float:
    """Return how well the text answers, 0 to 1: of one label its logistic value, of two the share of the second."""
    logits = np.asarray(outputs.get("logits", next(iter(outputs.values()))), dtype=np.float64).reshape(-1)
    if logits.size not in {1, 2}:
        raise ModelUnusable(f"a cross-encoder has one label or two, this model has {logits.size}")
    if not np.isfinite(logits).all():
        raise RerankerFailed(INVALID_RESULT, "a score is no number")
    margin = logits[0] if logits.size == 1 else logits[1] - logits[0]
    return float(1 / (1 + np.exp(-np.clip(margin, -500, 500))))
