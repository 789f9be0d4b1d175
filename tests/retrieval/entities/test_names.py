"""What counts as a name, in many scripts and in hostile text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.words import words
from retrieval.entities.names import (
    AT_START,
    CERTAIN,
    MAX_LENGTH,
    MAX_WORDS,
    QUOTED,
    Gram,
    asked_in,
    fold,
    grams,
    is_noise,
    known_in,
    longest,
    names_in,
)

ENGLISH = [
    ("Ana likes tea.", ["Ana"]),
    ("Ana Silva works with Bruno at Acme Corp.", ["Ana Silva", "Bruno", "Acme Corp"]),
    ("The Atlas project is late.", ["Atlas"]),
    ("Project Atlas is late.", ["Atlas"]),
    ("Met Dr. Silva and Mr Jones on Monday", ["Silva", "Jones"]),
    ("She moved to Lyon in May 2024, not in June.", ["Lyon"]),
    ("May Parker met Will on 3 March", ["May Parker", "Will"]),
    ("IT told us. The IT team told Ana.", ["IT", "Ana"]),
    ("Bank of America's Head of Marketing", ["Bank of America", "Head of Marketing"]),
    ("Wernher van der Berg called", ["Wernher van der Berg"]),
    ("O'Brien met D'Angelo and Jean-Pierre", ["O'Brien", "D'Angelo", "Jean-Pierre"]),
    ("standup at 9 AM PST, or 17:00 UTC", []),
    ("However, they ship. Yesterday it broke. Likes coffee.", []),
    ("Green tea is green", []),
    ("Works with One Two Three", []),
    ("Ana, Bruno", ["Ana", "Bruno"]),
    ("One Alpha Beta Gamma Delta Epsilon runs", ["Alpha Beta Gamma Delta", "Epsilon"]),
    ("ANA LIKES TEA", []),
    ("Ana knows COBOL and R2D2", ["Ana", "COBOL", "R2D2"]),
]
FRENCH = [
    ("L'équipe d'Atlas préfère L'Oréal", ["Atlas", "L'Oréal"]),
    ("Élodie déménage à Saint-Étienne lundi", ["Élodie", "Saint-Étienne"]),
    ("Les autres attendent. Demain, Mme Dupont arrive en Août.", ["Dupont"]),
    ("Le projet Hélios avance, Il est prêt", ["Hélios"]),
    ("Préfère le thé. Habite à Lyon depuis Mars", ["Lyon"]),
]
SIGNS = [
    ("uses C++, C# and .NET at AT&T for R&D", ["C++", "C#", ".NET", "AT&T", "R&D"]),
    ("write to ana.silva@example.org or @bruno_k", ["ana.silva@example.org", "@bruno_k"]),
    ("has an iPhone and GPT-4 on GitHub", ["iPhone", "GPT-4", "GitHub"]),
    ("a|b ++ & # @ @@ .", []),
]
UNSPACED = [
    ("田中さんは東京に住んでいる", ["田中"]),
    ("昨日、マリアが「火の鳥」を読んだ", ["マリア", "火の鳥"]),
    ("ジャン・ポールと話した", ["ジャン・ポール"]),
    ("김민수씨는 커피를 마신다", ["김민수"]),
    ("王小明先生喜欢茶。", ["王小明"]),
    ("お客様と選んだ先生님", []),
    ("彼は東京に住んでいる", []),
    ("สมชายชอบชา", []),
]
RIGHT_TO_LEFT = [
    ("سارة تعمل في القاهرة", []),
    ("דנה גרה בתל אביב", []),
    ("סרה עובדת עם Bruno Costa", ["Bruno Costa"]),
]


@pytest.mark.parametrize(("text", "expected"), [*ENGLISH, *FRENCH, *SIGNS, *UNSPACED, *RIGHT_TO_LEFT])
def test_names_by_how_they_are_written(text: str, expected: list[str]) -> None:
    assert [name.shown for name in names_in(text)] == expected


@pytest.mark.parametrize(
    ("text", "confidences"),
    [
        ("Ana met Bruno.", [AT_START, CERTAIN]),
        ("Ana met Bruno. I saw Ana.", [CERTAIN, CERTAIN]),
        ("iPhone is a brand", [CERTAIN]),
        ("Ana Silva left", [CERTAIN]),
        ("『火の鳥』が好き", [QUOTED]),
    ],
)
def test_how_sure_a_name_is(text: str, confidences: list[float]) -> None:
    assert [name.confidence for name in names_in(text)] == confidences


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Élodie", "ELODIE"),
        ("Jean-Pierre", "Jean Pierre"),
        ("Ana's", "ana"),
        ("Ｃ＋＋", "C++"),
        ("ﾏﾘｱ", "マリア"),
        ("Straße", "STRASSE"),
        ("O’Brien", "O'Brien"),
        (unicodedata.normalize("NFD", "Zoë"), "zoe"),
    ],
)
def test_spellings_of_one_name_fold_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other) != ""


@given(st.from_regex(r"[A-Za-z]{1,70}", fullmatch=True))
def test_plain_words_fold_as_they_are_indexed(name: str) -> None:
    assert fold(name) == " ".join(word.folded for word in words(name))


@pytest.mark.parametrize(
    "name", ["", " ", "\x00", "42", "1 2 3", "…", "one two three four five six seven eight nine", "Ana " * 99]
)
def test_what_is_no_name_folds_to_nothing(name: str) -> None:
    assert fold(name) == ""


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("she told ana silva about tea", {"ana silva", "ana"}, ["ana silva"]),
        ("昨日田中太郎と会った", {fold("田中太郎")}, ["田中太郎"]),
        ("김민수는 커피를 마신다", {fold("김민수")}, ["김민수"]),
        ("סיפרתי לדנה על התה", {fold("דנה")}, ["לדנה"]),
        ("هذا سارة", {fold("سارة")}, ["سارة"]),
        ("ask support about will", {"support", "will"}, []),
        ("nobody here", {"ana"}, []),
    ],
)
def test_known_names_are_found_however_they_are_written(text: str, known: set[str], expected: list[str]) -> None:
    shown = [name.shown for name in known_in(text, known.__contains__)]
    assert [unicodedata.normalize("NFC", name) for name in shown] == [fold_marks(name) for name in expected]


def fold_marks(name: str) -> str:
    """Return a name as the splitting of words shows it: letters that are written for one another are one."""
    return name.replace("ة", "ه")


def test_a_question_names_closed_words_only_when_they_are_written_like_names() -> None:
    assert "will" not in {gram.folded for gram in asked_in("what will ana do")}
    assert "will" in {gram.folded for gram in asked_in("did Ana meet Will")}
    assert "ana" in {gram.folded for gram in asked_in("WHAT WILL ANA DO")}


def test_longer_names_come_first_and_nothing_overlaps() -> None:
    found = [Gram("a", 0, 1), Gram("a b", 0, 2), Gram("b c d", 1, 4), Gram("e", 4, 5)]
    assert longest(found) == [Gram("a", 0, 1), Gram("b c d", 1, 4), Gram("e", 4, 5)]


HOSTILE = [
    "a" * 1_000_000,
    "Ana " * 250_000,
    "@" * 1_000_000,
    "a@" * 500_000,
    "A.a-" * 250_000,
    "A'" * 500_000,
    "ア" * 1_000_000,
    "「" * 1_000_000,
    "Van van " * 125_000,
    "\x00" * 1_000_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:4]))
def test_a_megabyte_of_anything_is_read_in_bounds(text: str) -> None:
    assert len(names_in(text)) < 10
    assert len(grams(text, limit=64)) <= 64 * (MAX_WORDS + 2)


@given(st.text() | st.text(alphabet="AaÉ '’.-@&+#\x00\ud800がア田さん씨ب"))
def test_any_text_gives_names_that_can_be_stored(text: str) -> None:
    for name in names_in(text):
        assert name.folded == fold(name.shown) != ""
        assert len(name.folded) <= MAX_LENGTH
        assert len(name.shown) <= MAX_LENGTH
        assert "\x00" not in name.folded + name.shown
        assert 0 < name.confidence <= 1
        (name.folded + name.shown).encode()
    assert len({name.folded for name in names_in(text)}) == len(names_in(text))


@given(st.text())
def test_noise_is_told_for_anything(text: str) -> None:
    assert is_noise(text) in {True, False}
    assert is_noise("the")
    assert not is_noise("atlas")
