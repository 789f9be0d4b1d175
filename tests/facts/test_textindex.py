from __future__ import annotations

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from facts import textindex


@pytest.mark.parametrize(
    ("text", "stem", "plain"),
    [
        ("", "", ""),
        ("  \x00 \n", "", ""),
        ("Ana's cat doesn't mind", "ana cat does not mind", "not"),
        ("the IT budget", "the it budget", "it"),
        ("it is the budget", "it is the budget", ""),
        ("I met Will. Will he come?", "i met will will he come", "will will"),
        ("WHO IS IT", "who is it", ""),
        ("a well-being budget", "a well being budget wellbeing", ""),
        ("我喜欢绿茶", "我喜 喜欢 欢绿 绿茶 茶", ""),
    ],
)
def test_prepare(text: str, stem: str, plain: str) -> None:
    assert textindex.prepare(text) == textindex.IndexText(stem=stem, plain=plain)


def test_a_phrase_is_words_alone() -> None:
    assert textindex.phrase("Well-being of Mr Müller") == "well being of mr muller"


@given(st.text())
def test_prepare_yields_only_words_and_single_spaces(text: str) -> None:
    prepared = textindex.prepare(text)
    for form in (prepared.stem, prepared.plain):
        assert form == " ".join(form.split())
    assert set(prepared.plain.split()) <= set(prepared.stem.split())


def _tsvector(text: str) -> str:
    prepared = textindex.prepare(text)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {textindex.tsvector_sql()}::text", {"stem": prepared.stem, "plain": prepared.plain})
        return cursor.fetchone()[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "tsvector"),
    [
        ("Ana will not be moving to IT", "'ana':1 'it':7 'move':5 'not':6"),
        ("\x00 of the", ""),
        ("我喜欢", "'喜欢':2 '我喜':1 '欢':3"),
        ("a state-of-the-art design", "'art':5 'design':6 'state':2 'stateoftheart':7"),
    ],
)
def test_tsvector(text: str, tsvector: str) -> None:
    assert _tsvector(text) == tsvector


def test_a_passage_is_found_by_its_speaker_as_well() -> None:
    assert textindex.passage_text("Ana", "I like tea") == "Ana: I like tea"
    assert textindex.passage_text("", "I like tea") == "I like tea"
