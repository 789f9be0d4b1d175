from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from facts import textindex
from retrieval.text import lexical


@pytest.mark.parametrize(
    ("query", "stem", "plain"),
    [
        ("Tell me about Ana's budget, please", "me about ana budget", ""),
        ("What did May show you?", "what may you", ""),
        ("please show me everything", "please show me everything", ""),
        ("who does not drink 12.5 coffees", "who not drink 12.5 coffees", "not"),
        ("Who leads IT?", "who leads it", "it"),
        ("", "", ""),
    ],
)
def test_searchable(query: str, stem: str, plain: str) -> None:
    prepared = lexical.searchable(query)
    assert (prepared.stem, prepared.plain) == (stem, plain)


def test_dates_that_a_question_means_are_searched_for() -> None:
    at = datetime(2026, 3, 2, tzinfo=UTC)
    assert lexical.searchable("What did Ana say yesterday?", at=at).stem == "what ana say yesterday 1 march 2026"
    assert lexical.searchable("What did Ana say yesterday?").stem == "what ana say yesterday"


def test_rarer_drops_what_more_than_a_twentieth_of_the_rows_hold() -> None:
    assert lexical.rarer(["ana", "move", "lisbon"], counts={"ana": 900, "move": 50}, rows=1000) == [
        "move",
        "lisbon",
    ]


def test_rarer_keeps_everything_when_everything_is_common() -> None:
    assert lexical.rarer(["ana", "move"], counts={"ana": 900, "move": 51}, rows=1000) == ["ana", "move"]


def test_rarer_lexemes_weigh_more() -> None:
    weights = lexical.weights(["ana", "move", "lisbon"], counts={"ana": 900, "move": 50}, rows=1000)
    assert weights == {"ana": 747, "move": 3026, "lisbon": 4521}


def test_lexemes_of_an_uncounted_corpus_weigh_the_same() -> None:
    assert lexical.weights(["ana", "move"], counts={}, rows=0) == {"ana": 1000, "move": 1000}


def test_any_of_nothing_is_empty() -> None:
    assert lexical.any_of([]) == ""


@pytest.mark.django_db
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)))
def test_any_of_is_understood_by_the_server(lexemes: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT numnode(%s::tsquery)", [lexical.any_of(lexemes)])
        assert cursor.fetchone()[0] == max(0, 2 * len(lexemes) - 1)


def _finds(stored: str, query: str) -> bool:
    kept, asked = textindex.prepare(stored), lexical.searchable(query)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT tsvector_to_array({textindex.tsvector_sql()})", {"stem": asked.stem, "plain": asked.plain}
        )
        cursor.execute(
            f"SELECT {textindex.tsvector_sql()} @@ %(query)s::tsquery",
            {"stem": kept.stem, "plain": kept.plain, "query": lexical.any_of(cursor.fetchone()[0])},
        )
        return cursor.fetchone()[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("stored", "query", "found"),
    [
        # Scripts without spaces, by words of one and of more characters.
        ("我每天早上喝绿茶", "绿茶", True),
        ("我每天早上喝绿茶", "茶", True),
        ("我每天早上喝绿茶", "谁喝绿茶？", True),
        ("我每天早上喝绿茶", "咖啡", False),
        ("彼女は東京に住んでいます", "東京", True),
        ("彼女は東京に住んでいます", "京都", False),
        ("毎朝コーヒーを飲む", "ｺｰﾋｰ", True),
        ("나는 서울에서 일한다", "서울", True),
        ("나는 서울에서 일한다", "부산", False),
        ("ฉันชอบกาแฟ", "กาแฟ", True),
        ("ฉันชอบกาแฟ", "แมว", False),
        ("เธออยู่บ้าน", "บาน", True),
        # Arabic and Hebrew: points, tatweel, forms of letters, the article.
        ("يعيش أحمد في القاهرة", "القاهره", True),
        ("يعيش أحمد في القاهرة", "احمد", True),
        ("يعيش أحمد في القاهرة", "بيروت", False),
        ("اشترى الكتاب", "كتاب", True),
        ("كـــتاب", "الْكِتَابُ", True),
        ("היא גרה בירושלים", "ירושלים", True),
        ("שָׁלוֹם", "שלום", True),
        ("הספר החדש", "ספר", True),
        ("הספר החדש", "מחברת", False),
        ("मुझे हिन्दी पसंद है", "हिन्दी", True),
        ("Я живу в Москве, ещё", "еще", True),
        # Signs that make a word.
        ("She writes C++", "C++", True),
        ("She writes C++", "c", False),
        ("She takes vitamin C", "C++", False),
        ("She writes C#", "csharp", True),
        ("She writes C#", "C++", False),
        ("Built on .NET", "dotnet", True),
        ("Built on .NET", "the net result", False),
        ("Leads R&D", "R & D", True),
        ("Leads R&D", "plan D", False),
        ("Worked at AT&T", "at&t", True),
        ("Set the flag a|b", "a|b", True),
        ("Set the flag a|b", "c|d", False),
        # Addresses, as a whole and by part.
        ("Write to john.doe@example.com", "john.doe@example.com", True),
        ("Write to john.doe@example.com", "doe", True),
        ("Write to john.doe@example.com", "example.com", True),
        ("Write to john.doe@example.com", "jane.roe@else.org", False),
        ("See https://docs.example.org/setup-guide", "setup guide", True),
        ("See https://docs.example.org/setup-guide", "docs.example.org", True),
        ("See https://docs.example.org/setup-guide", "https", False),
        # Numbers and versions.
        ("Runs v1.2.3", "1.2.3", True),
        ("Runs v1.2.3", "v1.2.4", False),
        ("Upgraded to Python3.11", "python 3.11", True),
        ("Version 2.0", "2", False),
        ("Costs 1,000 euros", "1000", True),
        ("Weighs 12,5 kg", "12.5", True),
        ("في ٢٠٢٤", "2024", True),
        # Hyphens: joined, split, hyphened; either way round.
        ("A state-of-the-art lab", "stateoftheart", True),
        ("A state-of-the-art lab", "state of the art", True),
        ("A stateoftheart lab", "state-of-the-art", True),
        ("Her wellbeing matters", "well-being", True),
        ("Her well-being matters", "wellbeing", True),
        ("Her well\u2011being matters", "wellbeing", True),
        ("Co\u00adoperation", "cooperation", True),
        # Apostrophes.
        ("Met O\u2019Brien", "OBrien", True),
        ("Met OBrien", "O'Brien", True),
        ("Va à l'école", "ecole", True),
        ("Va à l\u2019école", "l'ecole", True),
        ("It's raining", "it's", False),
        ("Buys L'Oréal", "loreal", True),
        # Names in code, tags, handles.
        ("Calls read_user_name", "user name", True),
        ("Calls getUserName", "username getusername", True),
        ("Knows JavaScript", "Java", False),
        ("Posted #TeamBlue", "team blue", True),
        ("Asked @ana_k", "ana_k", True),
        # Letters.
        ("Herr Müller", "Mueller", True),
        ("Herr Mueller", "Müller", True),
        ("Herr Muller", "Müller", True),
        ("Wohnt in der Straße", "STRASSE", True),
        ("İstanbul'da", "istanbul", True),
        ("ILGAZ ışık", "isik", True),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "width", True),
        ("Cafe\u0301", "café", True),
        # Nothing left to search for.
        ("Anything at all", "", False),
        ("Anything at all", "🎉 !! | & ()", False),
        ("of the", "of the", False),
        ("\x00", "\x00", False),
    ],
)
def test_what_is_found(stored: str, query: str, found: bool) -> None:
    assert _finds(stored, query) is found
