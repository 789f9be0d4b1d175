"""What of a model's lines may stand on a card: only what cites facts that it was shown, and adds no figure to them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence

from retrieval.cards.building import Line
from retrieval.cards.composing import Proposed
from retrieval.cards.repeats import repeats, words
from retrieval.context.rendering import one_line

#: Longest line that a model may write.
CHARACTERS = 300
#: What would read as a heading, a list, a fence or emphasis.
_MARKUP = re.compile(r"^[\s#>*+|\-•]+|[`*]{2,}|`")
_FIGURE = re.compile(r"\d+")


def accepted(
    proposed: Iterable[Proposed],
    *,
    facts: Mapping[int, uuid.UUID],
    said: Mapping[int, str],
    sections: Sequence[str],
    characters: int,
) -> list[Line]:
    """Return the lines that may stand, in their order, as far as ``characters`` reach.

    ``facts`` are those that were offered, by number; ``said`` is what the model was told under that number, as a fact
    or in a previous line. A line leaves that cites nothing, anything else, or states a figure that none of what it
    cites does; one in no known section, where there are sections, or that says what another one said already.
    """
    lines: list[Line] = []
    spoken: list[tuple[str, ...]] = []
    left = characters
    for line in proposed:
        text = one_line(_MARKUP.sub("", one_line(line.text)))
        spelt = words(text)
        known = line.numbers and all(number in facts for number in line.numbers)
        if not spelt or not known or len(text) > CHARACTERS or len(text) + 1 > left:
            continue
        if (sections and line.section not in sections) or not _figures_stand(text, line.numbers, said):
            continue
        if any(repeats(spelt, other) for other in spoken):
            continue
        cited = tuple(dict.fromkeys(facts[number] for number in line.numbers))
        lines.append(Line(text=text, facts=cited, section=line.section if sections else "", composed=True))
        spoken.append(spelt)
        left -= len(text) + 1
    return lines


def _figures_stand(text: str, numbers: Iterable[int], said: Mapping[int, str]) -> bool:
    told = {int(figure) for number in numbers for figure in _FIGURE.findall(said.get(number, ""))}
    return all(int(figure) in told for figure in _FIGURE.findall(text))
