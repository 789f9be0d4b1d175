"""Tiny models made by the tests: word-level tokenizers and small graphs, in the files of the large ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def write_tokenizer(directory: Path, words: Sequence[str]) -> dict[str, int]:
    """Write a word-level tokenizer that puts ``[CLS] a [SEP] b [SEP]`` around texts; return its vocabulary."""
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(directory / "tokenizer.json"))
    return vocabulary


def write_cross_encoder(
    directory: Path, words: Sequence[str], *, labels: int = 1, extra_input: str = "", bias: float = 0.0
) -> None:
    """Write a cross-encoder whose logit grows with how often the words of one text occur in the other.

    Each word is an axis of its own; the logit is the scalar product of what both texts sum up to, less 1. Of several
    labels the last has that logit and the others 0.
    """
    vocabulary = write_tokenizer(directory, words)
    axes = np.eye(len(vocabulary), dtype=np.float32)
    axes[: len(SPECIAL)] = 0
    heads = np.zeros((1, labels), dtype=np.float32)
    heads[0, -1] = 1
    nodes = [
        helper.make_node("Gather", ["axes", "input_ids"], ["words"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["there"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["there", "second"], ["first"]),
        helper.make_node("Unsqueeze", ["first", "last_axis"], ["first_column"]),
        helper.make_node("Unsqueeze", ["second", "last_axis"], ["second_column"]),
        helper.make_node("Mul", ["words", "first_column"], ["question_words"]),
        helper.make_node("Mul", ["words", "second_column"], ["text_words"]),
        helper.make_node("ReduceSum", ["question_words", "tokens_axis"], ["question"], keepdims=0),
        helper.make_node("ReduceSum", ["text_words", "tokens_axis"], ["text"], keepdims=0),
        helper.make_node("Mul", ["question", "text"], ["shared_words"]),
        helper.make_node("ReduceSum", ["shared_words", "tokens_axis"], ["shared"], keepdims=1),
        helper.make_node("Add", ["shared", "bias"], ["logit"]),
        helper.make_node("MatMul", ["logit", "heads"], ["logits"]),
    ]
    constants = {
        "axes": axes,
        "heads": heads,
        "bias": np.array([bias - 1], dtype=np.float32),
        "last_axis": np.array([2], dtype=np.int64),
        "tokens_axis": np.array([1], dtype=np.int64),
    }
    inputs = ["input_ids", "attention_mask", "token_type_ids", *([extra_input] if extra_input else [])]
    _write(directory, nodes, constants, inputs, {"logits": [1, labels]})


def write_encoder(directory: Path, words: Sequence[str], *, width: int, pools: bool = False) -> None:
    """Write a sentence encoder: the hidden state of each word is an axis of its own, of ``[CLS]`` and ``[SEP]`` too.

    ``pools``: its only output is the sum of all states.
    """
    vocabulary = write_tokenizer(directory, words)
    states = np.zeros((len(vocabulary), width), dtype=np.float32)
    for number in range(len(vocabulary)):
        states[number, number % width] = 1
    nodes = [helper.make_node("Gather", ["states", "input_ids"], ["last_hidden_state"])]
    constants, outputs = {"states": states}, {"last_hidden_state": [1, "tokens", width]}
    if pools:
        constants["tokens_axis"] = np.array([1], dtype=np.int64)
        pooled = helper.make_node("ReduceSum", ["last_hidden_state", "tokens_axis"], ["sentence_embedding"], keepdims=0)
        nodes, outputs = [*nodes, pooled], {"sentence_embedding": [1, width]}
    _write(directory, nodes, constants, ["input_ids", "attention_mask"], outputs)


def _write(
    directory: Path,
    nodes: Sequence[onnx.NodeProto],
    constants: dict[str, np.ndarray],
    inputs: Sequence[str],
    outputs: dict[str, list[int | str]],
) -> None:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"]) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(directory / "model.onnx"))
