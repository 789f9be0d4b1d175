from __future__ import annotations

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from facts import textindex
from retrieval.text.lexical_operators import Term, parse, tsquery, wanted


def _shown(query: str) -> list[list[str]] | None:
    """Return the terms as they would be typed."""
    parsed = parse(query)
    if parsed is None:
        return None
    return [[("-" if t.negated else "") + (f'"{t.text}"' if t.quoted else t.text) for t in terms] for terms in parsed]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "green tea",
        "What does Ana drink?",
        "Does Ana prefer tea or coffee?",
        "whether she likes tea or coffee",
        "I take tea or coffee",
        "or",
        "or tea",
        "tea or",
        "a well-known tea - the green one",
        "--verbose",
        "She said it is -5 outside",
        'a screen of 15" and one of 17"',
        "5' 10\"",
        'the צה"ל and the ש"ס',
        '""',
        '" "',
        '"?!"',
        "ana's tea",
    ],
)
def test_without_operators_a_question_is_plain(query: str) -> None:
    assert parse(query) is None


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ('"green tea"', [['"green tea"']]),
        ("“green tea”", [['"green tea"']]),
        ('ana "green tea" lyon', [["ana", '"green tea"', "lyon"]]),
        ("tea -coffee", [["tea", "-coffee"]]),
        ("-coffee", [["-coffee"]]),
        ('tea -"black coffee"', [["tea", '-"black coffee"']]),
        ("report -2019", [["report", "-2019"]]),
        ("tea or coffee", [["tea"], ["coffee"]]),
        ("tea OR coffee", [["tea"], ["coffee"]]),
        ("green tea or black coffee", [["green", "tea"], ["black", "coffee"]]),
        ("tea or coffee or milk", [["tea"], ["coffee"], ["milk"]]),
        ("tea or or milk", [["tea"], ["milk"]]),
        ("tea or -coffee", [["tea"], ["-coffee"]]),
        ('"IT or HR"', [['"IT or HR"']]),
        ("payroll IT or legal", [["payroll", "IT"], ["legal"]]),
        ('Tell me what "green tea" is', [['"green tea"']]),
        ('Did Ana say "yes or no" or "maybe"?', [["Ana", "say", '"yes or no"', '"maybe"']]),
        ("What does Ana drink -coffee", [["Ana", "drink", "-coffee"]]),
        ("not tea -coffee", [["not", "tea", "-coffee"]]),
    ],
)
def test_operators(query: str, terms: list[list[str]]) -> None:
    assert _shown(query) == terms


@given(st.text(alphabet=st.sampled_from('ab "-or?\u201c\u05d0\x00 5'), max_size=30))
def test_any_text_is_read_and_no_alternative_is_empty(query: str) -> None:
    parsed = parse(query)
    assert parsed is None or all(terms for terms in parsed)


def test_what_is_not_wanted_is_no_word_to_look_for() -> None:
    assert wanted([[Term(text="tea"), Term(text="coffee", negated=True)], [Term(text="milk", quoted=True)]]) == (
        "tea milk"
    )


def _matches(query: str, text: str) -> bool:
    """Tell whether an indexed text is what the operators demand."""
    parsed = parse(query)
    assert parsed is not None
    demanded = tsquery(parsed, query)
    assert demanded, "the question asks for nothing"
    prepared = textindex.prepare(text)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {textindex.tsvector_sql()} @@ %(demanded)s::tsquery",
            {"stem": prepared.stem, "plain": prepared.plain, "demanded": demanded},
        )
        return cursor.fetchone()[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ('"green tea"', "Ana drinks green tea.", True),
        ('"green tea"', "Green is the tea that Ana drinks.", False),
        ('"green tea"', "Ana drinks tea, green for once.", False),
        ('"tea in the morning"', "Ana has teas in the mornings.", True),
        ("tea -coffee", "Ana drinks tea.", True),
        ("tea -coffee", "Ana drinks tea and coffee.", False),
        ("tea -coffee", "Ana drinks milk.", False),
        ('tea -"black coffee"', "Tea and coffee, black and white.", True),
        ("tea or coffee", "Ana drinks coffee.", True),
        ("tea or coffee", "Ana drinks milk.", False),
        ("tea green or coffee", "Ana drinks tea.", False),
        ("tea or -coffee", "Ana drinks milk.", False),
        ("well-being -yoga", "Wellbeing matters.", True),
        ("well-being -yoga", "Well, being Ana is hard.", True),
        ("café -thé", "The CAFE is open.", True),
        ("Müller -Meyer", "Frau Mueller kommt.", True),
        ('"東京大学"', "彼女は東京大学で働く。", True),
        ('"東京大学"', "大学は東京にある。", False),
        ("work or payroll -IT", "Ana runs payroll for IT.", False),
        ("C++ -Java", "Ana writes C++.", True),
        ("C++ -Java", "Ana has a C.", False),
        ("-tea ana", "Ana does not like tea.", False),
        ("not -coffee", "Ana does not like tea.", True),
        ("not -coffee", "Ana likes tea.", False),
    ],
)
def test_what_operators_demand(query: str, text: str, expected: bool) -> None:
    assert _matches(query, text) is expected


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["-coffee", '-"black coffee"', '"the"', "-tea -coffee", '"of the" -tea'])
def test_what_only_excludes_or_says_nothing_demands_nothing(query: str) -> None:
    parsed = parse(query)
    assert parsed is not None
    assert tsquery(parsed, query) == ""
