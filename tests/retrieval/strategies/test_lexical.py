from __future__ import annotations

import pytest

from facts import textindex
from facts.audience import Posture, Reader
from facts.models import Account, CommonLexemes, IndexedUnit, Subject
from facts.tenancy import ensure_scope
from retrieval.strategies.lexical import NEARNESS_BONUS, Lexical, matches_anything
from tests.factories import JANUARY, MARCH, MAY, FactFactory, SubjectFactory, say
from tests.retrieval.strategies.conftest import PUBLIC, Seek, asked, texts

FACTS = (IndexedUnit.FACT,)


def _told(ana: Subject, *statements: str) -> None:
    for statement in statements:
        FactFactory(subject=ana, statement=statement)


def test_any_of_the_words_matches_and_more_of_them_are_better(ana: Subject, seek: Seek) -> None:
    _told(ana, "Ana drinks tea.", "The tea in Lyon is green.", "Ana likes hills.")
    hits = seek(Lexical(), "Which green tea does she drink in Lyon?", units=FACTS)
    assert texts(hits) == ["The tea in Lyon is green.", "Ana drinks tea."]
    assert [round(hit.score, 4) for hit in hits] == [0.75 + 0.0875, 0.5 + 0.1]


def test_words_near_each_other_outrank_words_that_are_merely_there(ana: Subject, seek: Seek) -> None:
    far = "Tea is what she serves when somebody comes over from the office to talk about Lyon."
    _told(ana, far, "In Lyon she has tea.")
    hits = seek(Lexical(), "tea lyon", units=FACTS)
    assert texts(hits) == ["In Lyon she has tea.", far]
    assert [round(hit.score, 4) for hit in hits] == [1 + 0.075, 1.0]


@pytest.mark.parametrize(("between", "bonus"), [(0, 1.0), (3, 5 / 8), (7, 1 / 8), (8, 0.0)])
def test_the_bonus_ends_eight_words_away(ana: Subject, seek: Seek, between: int, bonus: float) -> None:
    _told(ana, " ".join(["tea", *["word"] * between, "Lyon"]))
    (only,) = seek(Lexical(), "tea lyon", units=FACTS)
    assert only.score == pytest.approx(1 + NEARNESS_BONUS * bonus)


def test_a_word_is_not_near_itself(ana: Subject, seek: Seek) -> None:
    _told(ana, "Tea, tea and tea.")
    (only,) = seek(Lexical(), "tea lyon", units=FACTS)
    assert only.score == pytest.approx(0.5)


def test_who_is_far_down_the_list_is_not_lifted(ana: Subject, seek: Seek) -> None:
    apart = " ".join(["tea", "lyon", *["word"] * 20, "bakery"])
    _told(ana, *(f"{' '.join(['tea', *['word'] * 20, 'lyon', *['word'] * 20, 'bakery'])} {n}" for n in range(2)))
    _told(ana, "tea lyon")
    best = seek(Lexical(), "tea lyon bakery", units=FACTS, limit=1)
    assert "bakery" in best[0].text
    assert best[0].score == pytest.approx(1.0)
    assert apart not in texts(best)


@pytest.mark.parametrize("nothing", ["", "  ", "?!", "the", "of and the", "\x00", "🙂", "'"])
def test_a_question_without_words_finds_nothing(account: Account, ana: Subject, seek: Seek, nothing: str) -> None:
    _told(ana, "Ana drinks tea.")
    found = seek(Lexical(), nothing, units=FACTS)
    assert texts(found) == []


@pytest.mark.parametrize("query", ["-coffee", '-"black tea"', '"the"'])
def test_operators_that_ask_for_nothing_find_nothing(ana: Subject, seek: Seek, query: str) -> None:
    _told(ana, "Ana drinks tea.")
    assert seek(Lexical(), query, units=FACTS) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"green tea"', {"Green tea helps."}),
        ("tea -green", {"Tea, black."}),
        ("coffee or green", {"Green tea helps.", "Coffee."}),
        ("tea green", {"Green tea helps.", "Tea, black."}),
        ("Does she like coffee or green hills?", {"Green tea helps.", "Coffee."}),
    ],
)
def test_operators_decide_what_matches(ana: Subject, seek: Seek, query: str, expected: set[str]) -> None:
    _told(ana, "Green tea helps.", "Tea, black.", "Coffee.")
    assert set(texts(seek(Lexical(), query, units=FACTS))) == expected


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("彼女は東京大学で働いています。", "東京大学はどこ"),
        ("Ana writes C++ at work.", "C++"),
        ("Mail ana@example.org first.", "ana@example.org"),
        ("She runs R&D.", "R&D"),
        ("تسكن آنا في ليون", "ليون"),
        ("Ana trinkt Grüntee.", "gruentee"),
    ],
)
def test_every_script_is_found(ana: Subject, seek: Seek, statement: str, query: str) -> None:
    _told(ana, statement, "Something else entirely.")
    assert texts(seek(Lexical(), query, units=FACTS)) == [statement]


def test_in_a_large_corpus_rare_words_find_and_weigh_more(account: Account, ana: Subject, seek: Seek) -> None:
    scope = ensure_scope(account.id, "/support")
    CommonLexemes.objects.create(
        account=account, scope=scope, unit=IndexedUnit.FACT, rows=1_000, counts={"tea": 400, "green": 30}
    )
    _told(ana, "Tea.", "Green.", "Green tea.")
    hits = seek(Lexical(), "green tea", units=FACTS)
    assert texts(hits) == ["Green tea.", "Green."]
    assert hits[1].score > 0.5


def test_rows_too_large_for_the_index_are_found_too(ana: Subject, seek: Seek) -> None:
    words = " ".join(f"word{number}x" for number in range(1_500))
    event = say(ana, "Nothing.")
    FactFactory(subject=ana, statement=f"{words} tea", event=event)
    FactFactory(subject=ana, statement="tea", event=event)
    assert {len(text) > 1_000 for text in texts(seek(Lexical(), "tea", units=FACTS))} == {True, False}


def test_equal_scores_are_cut_and_ordered_by_content(ana: Subject, seek: Seek) -> None:
    for moment in (MAY, JANUARY, MARCH):
        FactFactory(subject=ana, statement="Tea.", valid_from=moment)
    _told(ana, "Milk tea.", "A tea.")
    hits = seek(Lexical(), "tea", units=FACTS)
    assert texts(hits) == ["A tea.", "Milk tea.", "Tea.", "Tea.", "Tea."]
    assert [hit.moment for hit in hits[2:]] == [JANUARY, MARCH, MAY]


def test_it_says_which_analysis(account: Account, ana: Subject) -> None:
    assert Lexical().version == f"lexical-question-1/index-{textindex.ANALYZER_VERSION}"


def test_whether_anything_matches_for_anybody(account: Account, ana: Subject) -> None:
    bob = SubjectFactory(account=account)
    FactFactory(subject=bob, statement="Bob's green tea.")
    internal = Reader(posture=Posture.INTERNAL)
    assert not matches_anything(asked(account, "green tea", ana, reader=PUBLIC, units=FACTS))
    assert matches_anything(asked(account, "green tea", ana, reader=internal, units=FACTS))
    assert not matches_anything(asked(account, "purple hills", ana, reader=internal))
    assert not matches_anything(asked(account, "the", ana, reader=internal))
