"""Sentences that can serve as evidence, and everything that cannot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.extraction import segments


def quotes(text: str) -> list[str]:
    """The sentences found in the text, verbatim."""
    return [sentence.quote for sentence in segments.split(text).sentences]


def test_sentences_keep_their_words() -> None:
    assert quotes("I live in Lisbon. Do you?  Yes!\nBye") == ["I live in Lisbon.", "Do you?", "Yes!", "Bye"]


def test_an_abbreviation_or_a_number_ends_no_sentence() -> None:
    assert quotes("Dr. Lee uses version 3.2 now.") == ["Dr. Lee uses version 3.2 now."]


def test_bullets_are_separate_and_lose_their_sign() -> None:
    assert quotes("- first thing\n* second thing\n3. third thing") == ["first thing", "second thing", "third thing"]


@pytest.mark.parametrize(
    "text",
    [
        "```\nI live in Paris\n```",
        "> I live in Paris",
        "2026-03-25 10:00:01 I live in Paris",
        "[INFO] I live in Paris",
        "ERROR: I live in Paris",
        "assistant: I live in Paris",
        "AI: I live in Paris\nand work there",
        '{"text": "I live in Paris"}',
        "<haki_memory>I live in Paris</haki_memory>",
        "<memory_context>\nI live in Paris",
        '"I live in Paris"',
        "« J'habite à Paris »",
        "https://example.org/i/live/in/paris",
        "",
        "…!?",
    ],
)
def test_what_nobody_said_plainly_is_blank(text: str) -> None:
    assert [sentence.plain for sentence in segments.split(text).sentences if "aris" in sentence.plain] == []


def test_the_person_speaks_again_after_the_assistant() -> None:
    plain = [sentence.plain for sentence in segments.split("assistant: I am a bot\nuser: I live in Rome").sentences]

    assert plain == ["I live in Rome"]


def test_typography_is_evened_out_in_place() -> None:
    (sentence,) = segments.split("I’m in\u00a0Rome").sentences

    assert (sentence.quote, sentence.plain) == ("I’m in\u00a0Rome", "I'm in Rome")


def test_a_link_is_kept_beside_the_words() -> None:
    (sentence,) = segments.split("The spec: <https://example.org/spec|spec> please").sentences

    assert sentence.link == "https://example.org/spec"
    assert "http" not in sentence.plain


def test_what_is_too_long_is_reported() -> None:
    long_text = "I live in Lisbon. " * 5000

    read = segments.split(long_text)

    assert len(read.sentences) == segments.MAX_SENTENCES
    assert read.beyond_limit
    assert segments.split("a" * (segments.MAX_SENTENCE_CHARACTERS + 1)) == segments.Segments((), True)


@given(st.text(max_size=500))
def test_every_sentence_stands_at_its_offset(text: str) -> None:
    for sentence in segments.split(text).sentences:
        assert text[sentence.start : sentence.end] == sentence.quote
        assert len(sentence.plain) == len(sentence.quote)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("The runbook (https://example.org/a).", "https://example.org/a"),
        ("docs: https://example.org/a#(b._(c))", "https://example.org/a#(b._(c))"),
        ("(docs: https://example.org/a#(b))", "https://example.org/a#(b)"),
        ('it answers "https://example.org/a"`', "https://example.org/a"),
    ],
)
def test_a_link_ends_where_its_address_ends(text: str, link: str) -> None:
    (sentence,) = segments.split(text).sentences
    assert sentence.link == link


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("I'm so relieved :relieved:", ["I'm so relieved"]),
        ("Merged :tada: now the docs :+1:", ["Merged", "now the docs"]),
        ("at 12:30:45 and std::vector:: stays", ["at 12:30:45 and std::vector:: stays"]),
    ],
)
def test_the_code_of_an_emoji_ends_a_sentence(text: str, quotes: list[str]) -> None:
    assert [sentence.quote for sentence in segments.split(text).sentences] == quotes
