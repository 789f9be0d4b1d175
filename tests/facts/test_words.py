from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.words import MAX_WORD, words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""),
        ("  \x00 \n 🎉 !!", ""),
        ("a\x00b \ud800 c", "a b c"),
        ("Zoé déménage à Zürich", "zoe demenage a zurich"),
        ("Ana's cat doesn't mind, and I've said it's fine", "ana cat does not mind and i said it fine"),
        ("L'équipe n'a pas livré", "equipe a pas livre"),
        ("1,234,567 or 12,5 or 3.8.1 or v3.8.1", "1234567 or 12.5 or 3.8.1 or 3.8.1"),
        ("Python3.11, v2", "python 3.11 v2"),
        ("٢٠٢٤ ۲۰۲۴ ２０２４", "2024 2024 2024"),
        ("C++, C# and .NET", "cplusplus csharp and dotnet"),
        ("R&D at AT&T, R & D", "randd at atandt randd"),
        ("a|b", "a b"),
        ("U.S.A. at 10 p.m.", "usa at 10 pm"),
        ("https://www.example.org/docs?id=5", "example org docs id 5"),
        ("我喜欢绿茶 in 東京2020", "我喜 喜欢 欢绿 绿茶 in 東京 2020"),
        ("茶", "茶"),
        ("한국어를", "한국 국어 어를"),
        ("ｶﾞｽ ガス", "ガス ガス"),
        ("ผู้", "ผู"),
        ("الْكِتَابُ والكتاب كـــتاب", "كتاب كتاب كتاب"),
        ("أحمد إحمد احمد", "احمد احمد احمد"),
        ("مدرسة مدرسه", "مدرسه مدرسه"),
        ("שָׁלוֹם", "שלום"),
        ("می\u200cخواهم", "ميخواهم"),
        ("हिन्दी भाषा", "हिनदी भाषा"),
        ("Ｆｕｌｌ ＷＩＤＴＨ Ｃ＋＋", "full width cplusplus"),
        ("Straße STRASSE", "strasse strasse"),
        ("İSTANBUL Istanbul ısı", "istanbul istanbul isi"),
        ("e\u0301te\u0301 été", "ete ete"),
        ("ΣΟΦΟΣ σοφός", "σοφοσ σοφοσ"),
        ("Slack™", "slack"),
    ],
)
def test_words_are_folded(text: str, folded: str) -> None:
    assert " ".join(word.folded for word in words(text)) == folded


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("state-of-the-art", "stateoftheart"),
        ("O'Brien", "obrien"),
        ("L'Oréal", "loreal"),
        ("l'école", ""),
        ("snake_case", "snakecase"),
        ("getUserName", "getusername"),
        ("JavaScript iPhone", ""),
        ("#TeamBlue", "teamblue"),
        ("@ana_k", "anak"),
        ("Node.js", "nodejs"),
        ("john.doe@example.com", "johndoe examplecom johndoeexamplecom"),
        ("Müller", "mueller"),
        ("Ångström, Bjørn", "aangstroem bjoern"),
        ("naïve", ""),
        ("הספר", "ספר"),
        ('צה"ל', "צהל"),
        ("a-b-c-d-e-f-g-h-i", ""),
    ],
)
def test_words_have_other_forms(text: str, also: str) -> None:
    assert " ".join(form for word in words(text) for form in word.also) == also


def test_every_character_of_a_stored_run_begins_a_form() -> None:
    assert [(word.folded, word.also) for word in words("绿茶 茶", stored=True)] == [("绿茶", ("茶",)), ("茶", ())]
    assert [word.also for word in words("绿茶")] == [()]


@pytest.mark.parametrize(
    "character", ["क", "ம", "ा", "漢", "x", "ü", "ש", "1", "a.", "1.", "a1", "a-", "a@", "1.a", "aB", "க1"]
)
def test_long_runs_are_read_in_one_pass(character: str) -> None:
    assert words(character * 10_000)


def test_a_word_is_bounded() -> None:
    assert [word.folded for word in words("x" * 1_000_000)] == ["x" * MAX_WORD]


@given(st.text())
def test_forms_hold_neither_space_nor_nul(text: str) -> None:
    for word in words(text, stored=True):
        for form in (word.folded, *word.also):
            assert form
            assert len(form) <= MAX_WORD
            assert "\x00" not in form
            assert form == "".join(form.split())
            form.encode()


@given(st.text(alphabet=st.characters(categories=["Ll", "Nd", "Zs"])))
def test_words_are_words_of_themselves(text: str) -> None:
    folded = [word.folded for word in words(text)]
    assert [word.folded for word in words(" ".join(folded))] == folded
