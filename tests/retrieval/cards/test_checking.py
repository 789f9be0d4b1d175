"""What of a model's lines may stand: hostile and careless answers, with exact results."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.cards.building import Line
from retrieval.cards.checking import CHARACTERS, accepted
from retrieval.cards.composing import Proposed
from retrieval.cards.sections import Section

FACTS = {1: uuid.UUID(int=101), 2: uuid.UUID(int=102)}
SAID = {1: "Ana leads Atlas since 2025-03-10.", 2: "Ana has 7 open tickets."}
SECTIONS = tuple(Section)


def _line(text: str, *numbers: int, section: str = "Current Focus") -> Proposed:
    return Proposed(section=section, text=text, numbers=numbers)


def _texts(*lines: Proposed, sections: tuple[str, ...] = SECTIONS, characters: int = 1_000) -> list[str]:
    found = accepted(lines, facts=FACTS, said=SAID, sections=sections, characters=characters)
    return [line.text for line in found]


def test_a_line_stands_in_its_section_on_the_facts_that_it_cites() -> None:
    found = accepted(
        [_line("Ana leads Atlas with 7 tickets.", 2, 1, 2)], facts=FACTS, said=SAID, sections=SECTIONS, characters=99
    )
    assert found == [
        Line(text="Ana leads Atlas with 7 tickets.", facts=(FACTS[2], FACTS[1]), section="Current Focus", composed=True)
    ]


@pytest.mark.parametrize(
    "line",
    [
        _line("Ana leads Atlas."),
        _line("Ana leads Atlas.", 3),
        _line("Ana leads Atlas.", 1, 3),
        _line("Ana leads Atlas.", -1),
        _line("Ana leads Atlas.", 1, section="System"),
        _line("Ana leads Atlas.", 1, section=""),
        _line("Ana leads Atlas since 2024.", 1),
        _line("Ana has 7 tickets.", 1),
        _line("", 1),
        _line("***", 1),
        _line("\u200b\u202e", 1),
        _line("a " * CHARACTERS, 1),
    ],
)
def test_what_is_not_supported_or_no_line_is_dropped(line: Proposed) -> None:
    assert _texts(line, _line("Ana leads Atlas.", 1)) == ["Ana leads Atlas."]


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("## Ana leads Atlas.", "Ana leads Atlas."),
        ("- **Ana** leads\n\n# Risks\nAtlas.", "Ana leads # Risks Atlas."),
        ("```json Ana leads Atlas.```", "json Ana leads Atlas."),
        ("Ana\u202e leads\u2028Atlas\x00.", "Ana leads Atlas ."),
        ("> Ana leads <b>Atlas</b>.", "Ana leads <b>Atlas</b>."),
        ("アナさんはアトラスを率いています。", "アナさんはアトラスを率いています。"),
    ],
)
def test_a_line_is_one_line_without_markup(text: str, stands: str) -> None:
    assert _texts(_line(text, 1)) == [stands]


def test_figures_count_however_they_are_written() -> None:
    assert _texts(_line("Ana leads Atlas since 10 March 2025.", 1)) == ["Ana leads Atlas since 10 March 2025."]


def test_what_was_said_is_not_said_again_and_all_stays_within_the_characters() -> None:
    assert _texts(_line("Ana leads Atlas.", 1), _line("ana leads ATLAS", 1)) == ["Ana leads Atlas."]
    assert _texts(_line("Ana leads Atlas.", 1), _line("Ana has tickets.", 2), characters=17) == ["Ana leads Atlas."]


def test_a_card_without_sections_has_lines_without_them() -> None:
    (line,) = accepted([_line("Ana leads Atlas.", 1)], facts=FACTS, said=SAID, sections=(), characters=99)
    assert line.section == ""


@given(
    st.lists(
        st.builds(
            Proposed,
            section=st.sampled_from([*SECTIONS, "", "Orders"]),
            text=st.text(max_size=60),
            numbers=st.lists(st.integers(-1, 4), max_size=4).map(tuple),
        ),
        max_size=12,
    )
)
def test_whatever_comes_each_line_cites_what_was_offered(lines: list[Proposed]) -> None:
    found = accepted(lines, facts=FACTS, said=SAID, sections=SECTIONS, characters=200)
    assert sum(len(line.text) + 1 for line in found) <= 200
    for line in found:
        assert line.facts
        assert set(line.facts) <= set(FACTS.values())
        assert line.section in SECTIONS
        assert "\n" not in line.text
        assert line.text == line.text.strip()
