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
        ("a\x00b \ud800 c", "a b c", ""),
        ("Zoé déménage à Zürich", "zoe demenage a zurich", ""),
        ("Ana's cat doesn't mind", "ana cat does not mind", "not"),
        ("L'équipe n'a pas livré", "equipe a pas livre", ""),
        ("1,234,567 or 12,5 or 3.8.1", "1234567 or 12.5 or 3.8.1", ""),
        ("the IT budget", "the it budget", "it"),
        ("it is the budget", "it is the budget", ""),
        ("I met Will. Will he come?", "i met will will he come", "will will"),
        ("WHO IS IT", "who is it", ""),
        ("我喜欢绿茶 in 東京", "我喜 喜欢 欢绿 绿茶 in 東京", ""),
        ("茶", "茶", ""),
        ("สวัสดี", "สว วั ัส สด ดี", ""),
        ("한국어를", "한국 국어 어를", ""),
        ("john.doe@example.com", "john doe example com", ""),
    ],
)
def test_prepare(text: str, stem: str, plain: str) -> None:
    assert textindex.prepare(text) == textindex.IndexText(stem=stem, plain=plain)


def test_prepare_bounds_words_and_text() -> None:
    prepared = textindex.prepare("x" * 1_000_000)
    assert prepared.stem == "x" * textindex.MAX_WORD


@given(st.text())
def test_prepare_yields_only_words_and_single_spaces(text: str) -> None:
    prepared = textindex.prepare(text)
    for form in (prepared.stem, prepared.plain):
        assert "\x00" not in form
        assert form == " ".join(form.split())
        form.encode()
    assert set(prepared.plain.split()) <= set(prepared.stem.split())


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu", "Nd", "Zs"])))
def test_a_text_contains_its_own_words_again(text: str) -> None:
    stem = textindex.prepare(text).stem
    assert textindex.prepare(stem).stem.split() == stem.split() or "'" in text


def _tsvector(text: str) -> str:
    prepared = textindex.prepare(text)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {textindex.tsvector_sql()}::text", {"stem": prepared.stem, "plain": prepared.plain})
        return cursor.fetchone()[0]


@pytest.mark.django_db
def test_tsvector_holds_stems_and_the_plain_words_that_stemming_drops() -> None:
    assert _tsvector("Ana will not be moving to IT") == "'ana':1 'it':7 'move':5 'not':6"


@pytest.mark.django_db
def test_tsvector_of_nothing_is_empty() -> None:
    assert _tsvector("\x00 of the") == ""


@pytest.mark.django_db
def test_tsvector_of_unsegmented_text_holds_pairs() -> None:
    assert _tsvector("我喜欢") == "'喜欢':2 '我喜':1"


def test_a_passage_is_found_by_its_speaker_as_well() -> None:
    assert textindex.passage_text("Ana", "I like tea") == "Ana: I like tea"
    assert textindex.passage_text("", "I like tea") == "I like tea"
