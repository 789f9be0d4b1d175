"""How much of a model's window a text takes, estimated without a tokenizer."""

from __future__ import annotations

import re

from facts.words import UNSEGMENTED

_UNSEGMENTED = re.compile(f"[{UNSEGMENTED}]")
#: Characters that make about one token in text of words.
CHARACTERS_PER_TOKEN = 4


def estimate(text: str) -> int:
    """Return the estimated tokens of ``text``, at least 1.

    One for each four characters; a character of a script without spaces between words counts as a token.
    """
    if text.isascii():
        return max(1, len(text) // CHARACTERS_PER_TOKEN)
    dense = len(_UNSEGMENTED.findall(text))
    return max(1, dense + (len(text) - dense) // CHARACTERS_PER_TOKEN)
