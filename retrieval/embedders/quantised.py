"""A faster copy of the packaged model, made once on this machine.

The packaged file keeps its weights as small integers but computes with floats. Here its matrix products are quantised
so that they run on integers: a question costs less than half the CPU. Figures (LoCoMo, five conversations, 760
questions): recall@10 by vectors alone .503 against .508, with text .679 against .681. The vectors are close to those
of the packaged model but not comparable with them, so the copy is an embedding space of its own.

Processors differ in how they add up small integers. The copy is checked against the packaged model when it is made;
where it strays, it is refused with a message that says which setting to change.
"""

from __future__ import annotations

import fcntl
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from retrieval.embedders.base import EmbeddingUnavailable, Vector

#: Part of the embedder's identity: another way of making the copy is another space.
RECIPE = "dynamic-int8-per-channel-1"
#: Cosine that every probe must reach against the packaged model; .994 on average was measured.
LEAST_LIKENESS = 0.97
PROBES = (
    "Ana lives in Lisbon.",
    "What does the support team prefer for incident reports?",
    "Der Vertrag läuft bis Ende März, danach wechselt der Anbieter.",
    "Rollback finished at 14:32 after the second deploy failed on the payments service.",
)

EmbedProbes = Callable[[bytes], list[Vector]]


def ensure(*, packaged: Path, digest: str, directory: Path, embed_probes: EmbedProbes) -> Path:
    """Return the copy of the ``packaged`` model in ``directory``, making it first (about 3 s, 58 MB) if needed.

    Processes that ask at the same time wait for one of them. ``embed_probes`` embeds :data:`PROBES` with a model given
    by its bytes. Raises :class:`EmbeddingUnavailable` when it cannot be made or strays from the packaged model.
    """
    path = directory / f"minilm-{digest[:12]}-{RECIPE}.onnx"
    if path.exists():
        return path
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _make(packaged, path, embed_probes)
    except OSError as error:
        raise EmbeddingUnavailable(f"the quantised model cannot be kept: {error.strerror}") from error
    return path


def _make(packaged: Path, path: Path, embed_probes: EmbedProbes) -> None:
    """Write the copy beside its place, check it, and move it there in one step."""
    with tempfile.TemporaryDirectory(dir=path.parent) as workshop:
        made = Path(workshop) / "made.onnx"
        _quantise(packaged, made, unfolded=Path(workshop) / "unfolded.onnx")
        wanted = embed_probes(packaged.read_bytes())
        got = embed_probes(made.read_bytes())
        likeness = min(float(np.dot(one, other)) for one, other in zip(wanted, got, strict=True))
        if likeness < LEAST_LIKENESS:
            raise EmbeddingUnavailable(
                f"the quantised model strays from the packaged one on this processor (cosine {likeness:.3f});"
                " set LOCAL_EMBEDDER_WEIGHTS=packaged"
            )
        made.chmod(0o644)
        made.replace(path)


def _quantise(packaged: Path, made: Path, *, unfolded: Path) -> None:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Basic optimisation expands the stored weights into ordinary constants, which is what gets quantised.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(unfolded)
    onnxruntime.InferenceSession(str(packaged), options, providers=["CPUExecutionProvider"])
    with _unadvised():
        quantize_dynamic(
            str(unfolded),
            str(made),
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul"],
            extra_options={"MatMulConstBOnly": True},
        )


@contextmanager
def _unadvised() -> Iterator[None]:
    """Keep the quantiser's general advice, which it gives on the root logger, out of the operator's log."""

    def is_other(record: logging.LogRecord) -> bool:
        return "pre-processing before quantization" not in record.getMessage()

    root = logging.getLogger()
    root.addFilter(is_other)
    try:
        yield
    finally:
        root.removeFilter(is_other)
