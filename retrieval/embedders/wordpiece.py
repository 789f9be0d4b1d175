"""The BERT WordPiece tokenizer, built from the vocabulary beside this module, without any network."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.embedders.base import EmbeddingUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY_PATH = Path(__file__).with_name("vocab.txt")
#: Of the published BERT base uncased vocabulary.
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def load() -> Tokenizer:
    """Return the uncased tokenizer with ``[CLS] … [SEP]`` around each text, without truncation or padding.

    Raises :class:`EmbeddingUnavailable` when the vocabulary file is missing or altered.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    try:
        content = VOCABULARY_PATH.read_bytes()
    except OSError as error:
        raise EmbeddingUnavailable(f"vocabulary file unreadable: {error.strerror}") from error
    if sha256(content).hexdigest() != VOCABULARY_SHA256:
        raise EmbeddingUnavailable("vocabulary file has been altered")
    vocabulary = {token: index for index, token in enumerate(content.decode().splitlines())}
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return tokenizer
