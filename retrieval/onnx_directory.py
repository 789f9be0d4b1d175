"""A model that somebody put into a directory: ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

That is how sentence encoders and cross-encoders are published. They run on onnxruntime in this process, on one thread
for each request, without network.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

#: Where the model is looked for, in this order.
_MODELS = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"
#: A token is at most this many characters on average in any text; cutting first keeps tokenizing cheap.
CHARACTERS_PER_TOKEN = 12


class ModelUnusable(Exception):
    """The directory's model cannot be loaded or run; the message says what is wrong, and holds no text."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one model."""

    model: Path
    tokenizer: Path

    def digest(self) -> str:
        """Return twelve digits that change with any byte of the model, its weights beside it or its tokenizer."""
        total = hashlib.sha256()
        # Weights of large models lie in files of their own beside the graph.
        for path in (*sorted(self.model.parent.glob(f"{self.model.stem}*.onnx*")), self.tokenizer):
            with path.open("rb") as content:
                total.update(path.name.encode() + hashlib.file_digest(content, "sha256").digest())
        return total.hexdigest()[:12]


def files_of(directory: Path, *, setting: str) -> ModelFiles:
    """Return the files of the model in ``directory``.

    Raises ``ValueError`` with a sentence for the operator, naming ``setting``, when one is missing. Reads none of them.
    """
    if not directory.is_dir():
        raise ValueError(f"{setting} is {directory}, which is no directory")
    model = next((directory / name for name in _MODELS if (directory / name).is_file()), None)
    if model is None:
        raise ValueError(f"{setting}: there is no {' or '.join(_MODELS)} in {directory}")
    tokenizer = directory / _TOKENIZER
    if not tokenizer.is_file():
        raise ValueError(f"{setting}: there is no {_TOKENIZER} in {directory}")
    return ModelFiles(model, tokenizer)


def open_session(model: bytes | str) -> InferenceSession:
    """Return an onnxruntime session of a model given by its bytes or its path."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread for each request: requests already run side by side, and spinning threads steal their cores.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class OnnxModel:
    """Runs one text, or one pair of texts, at a time; loaded at the first use in each process.

    On one core padded batches gain next to nothing, and so a result never depends on what else is asked. Safe to use
    from several threads.
    """

    def __init__(self, files: ModelFiles, *, max_tokens: int) -> None:
        """``max_tokens``: what is longer is cut, of a pair the longer text first."""
        self._files = files
        self._max_tokens = max_tokens
        self._forget()
        # A forked child must not share the parent's session, nor inherit a lock somebody held.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[InferenceSession, Tokenizer] | None = None

    def load(self) -> None:
        """Load the model now. Raises :class:`ModelUnusable`."""
        self._parts()

    def is_loaded_within(self, seconds: float) -> bool:
        """Load the model beside the caller, who waits no longer than ``seconds``; tell whether it is there.

        Raises :class:`ModelUnusable`.
        """
        if self._loaded is not None:
            return True
        failures: list[ModelUnusable] = []

        def work() -> None:
            try:
                self.load()
            except ModelUnusable as error:
                failures.append(error)

        thread = threading.Thread(target=work, name="load-model", daemon=True)
        thread.start()
        thread.join(seconds)
        if failures:
            raise failures[0]
        return self._loaded is not None

    def run(self, text: str, pair: str | None = None, *, options: Any = None) -> dict[str, NDArray[Any]]:
        """Return the model's outputs for one text or pair by their names, without the axis of the batch.

        ``options`` are onnxruntime's for this run. Raises :class:`ModelUnusable`.
        """
        session, tokenizer = self._parts()
        longest = self._max_tokens * CHARACTERS_PER_TOKEN
        encoding = tokenizer.encode(text[:longest], None if pair is None else pair[:longest])
        try:
            found = session.run(None, _inputs(session, encoding), options)
        except ModelUnusable:
            raise
        except Exception as error:  # the runtime's errors share no class; their messages may quote tensors
            raise ModelUnusable(f"the model could not be run ({type(error).__name__})") from None
        return {output.name: value[0] for output, value in zip(session.get_outputs(), found, strict=True)}

    def _parts(self) -> tuple[InferenceSession, Tokenizer]:
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
                loaded = self._loaded
        return loaded

    def _load(self) -> tuple[InferenceSession, Tokenizer]:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self._files.tokenizer))
        except Exception as error:  # the library raises nothing more special
            raise ModelUnusable(f"{self._files.tokenizer} is no tokenizer: {error}") from error
        tokenizer.enable_truncation(max_length=self._max_tokens)
        tokenizer.no_padding()
        try:
            session = open_session(str(self._files.model))
        except Exception as error:  # the runtime's errors share no class
            raise ModelUnusable(f"{self._files.model} cannot be loaded: {error}") from error
        unknown = {item.name for item in session.get_inputs()} - _MAKERS.keys()
        if unknown:
            raise ModelUnusable(f"{self._files.model} asks for {', '.join(sorted(unknown))}, which is not made of text")
        return session, tokenizer


def _inputs(session: InferenceSession, encoding: Encoding) -> dict[str, NDArray[Any]]:
    if not encoding.ids:
        raise ModelUnusable("the tokenizer makes nothing of an empty text")
    kinds = {"tensor(int32)": np.int32}
    return {
        item.name: np.array([_MAKERS[item.name](encoding)], dtype=kinds.get(item.type, np.int64))
        for item in session.get_inputs()
    }


#: What a model may ask for, and how it is made of a text's tokens.
_MAKERS = {
    "input_ids": lambda encoding: encoding.ids,
    "attention_mask": lambda encoding: encoding.attention_mask,
    "token_type_ids": lambda encoding: encoding.type_ids,
    "position_ids": lambda encoding: range(len(encoding.ids)),
}
