from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.ask import playbook


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Does Ana still live in Lyon?", "updates"),
        ("Ana habite-t-elle encore à Lyon ?", "updates"),
        ("What tea does Ana prefer?", "preferences"),
        ("Quel thé Ana préfère-t-elle ?", "preferences"),
        ("How many cats has Ana?", "enumeration"),
        ("Quels sont ses projets ?", "enumeration"),
        ("Tell me about Ana.", "summary"),
        ("Parle-moi de Ana.", "summary"),
        ("Do these two facts contradict each other?", "enumeration"),
        ("Is that a contradiction, or is it a mistake?", "contradictions"),
        ("When is the launch?", "temporal"),
        ("Depuis quand travaille-t-elle ici ?", "temporal"),
        ("Where does Ana live?", "direct"),
        ("安娜住在哪里？", "direct"),
        ("", "direct"),
    ],
)
def test_the_first_kind_that_fits(question: str, kind: str) -> None:
    assert playbook.playbook_of(question).name == kind


def test_the_order_of_kinds() -> None:
    assert [kind.name for kind in playbook.PLAYBOOKS] == [
        "updates", "preferences", "enumeration", "summary", "contradictions", "temporal", "direct",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Where does Ana live, and where does ana work?", ["Ana", "live", "work"]),
        ("What is C++ or R&D to ana@example.org?", ["C++", "R", "D", "ana@example.org"]),
        ("Où habite l'équipe d'Ana ?", ["habite", "l'équipe", "d'Ana"]),
        ("a b c d e f g h i j k", ["b", "c", "d", "e", "f", "g", "h", "j"]),
        ("what is the", []),
        ("- -- '", []),
    ],
)
def test_the_words_that_say_something(question: str, terms: list[str]) -> None:
    assert playbook.terms(question) == terms


@given(st.text(max_size=300))
def test_any_text_has_a_kind_and_at_most_eight_terms(text: str) -> None:
    terms = playbook.terms(text)
    assert len(terms) <= playbook.MAX_TERMS
    assert len({term.casefold() for term in terms}) == len(terms)
    assert playbook.playbook_of(text) in playbook.PLAYBOOKS
