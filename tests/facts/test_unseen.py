"""The one set of characters that people do not see."""

from __future__ import annotations

import pytest

from facts.canonical import normalise_text
from facts.unseen import for_model
from memory_site.admin_pages import texts
from retrieval.context import rendering

#: Names of characters that hide or turn text, one of each sort.
HIDDEN = ["\u00ad", "\u034f", "\u200b", "\u200e", "\u202e", "\u2066", "\u3164", "\ufeff", "\U000e0041", "\U000e0100"]


@pytest.mark.parametrize("character", HIDDEN[:-1])
def test_what_is_unseen_reaches_no_model_and_no_statement_and_every_reviewer(character: str) -> None:
    text = f"likes{character} tea"
    assert for_model(text) == normalise_text(text) == rendering.escape(text) == "likes tea"
    assert f"U+{ord(character):04X}" in texts.visible(text)


def test_a_row_of_variant_selectors_spells_nothing() -> None:
    text = "tea\ufe0f\ufe01\U000e0100 please"
    assert for_model(text) == "tea\ufe0f please"
    assert "U+FE01" in texts.visible(text)
    assert "U+E0100" in texts.visible(text)


def test_what_writing_needs_stays() -> None:
    for text in ("می‌خواهم", "👩‍👩‍👧 ❤️", "línea\nnueva\ttab"):
        assert for_model(text) == text


def test_control_characters_part_words_for_models() -> None:
    assert for_model("a\x00b\x1b[31mc") == "a b [31mc"
