"""From facts to the lines of a card, without a model: statements word for word, the weightiest ones that fit.

Pure: the same sources give the same lines, whatever their order.
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from facts.vocabulary import SENSITIVITY_RANK, Sensitivity
from retrieval.cards import sections
from retrieval.cards.repeats import repeats, words
from retrieval.cards.sources import LINE_CHARACTERS, Source
from retrieval.models import CardKind

#: What wrote the lines; the number changes whenever the same sources could give other lines.
BUILDER = "extractive-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a kind of card, from an earlier system that serves the same four kinds.

    ``characters`` of all lines, a line break each; ``pinned`` lines that recency does not choose; ``least`` facts
    without which there is no card.
    """

    characters: int
    pinned: int
    least: int


LIMITS: Mapping[str, Limits] = MappingProxyType(
    {
        CardKind.SCOPE_CARD: Limits(characters=1_200, pinned=4, least=2),
        CardKind.SUBJECT_PROFILE: Limits(characters=1_000, pinned=4, least=2),
        CardKind.SHARED_PROFILE: Limits(characters=1_000, pinned=4, least=2),
        CardKind.SESSION_SUMMARY: Limits(characters=800, pinned=3, least=3),
        CardKind.ENTITY_CARD: Limits(characters=600, pinned=3, least=2),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a card and the facts it rests on.

    A person wrote or pinned it when ``edited``, a model worded it when ``composed``; else it quotes a fact.
    ``section`` is the heading under which it stands in a profile.
    """

    text: str
    facts: tuple[uuid.UUID, ...]
    edited: bool = False
    section: str = ""
    composed: bool = False

    @classmethod
    def stored(cls, value: Mapping[str, Any]) -> Line:
        """Return a line as a card stores it."""
        facts = tuple(uuid.UUID(fact_id) for fact_id in value["facts"])
        return cls(
            text=value["text"],
            facts=facts,
            edited=value.get("edited", False),
            section=value.get("section", ""),
            composed=value.get("composed", False),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the form that a card stores."""
        return {
            "text": self.text,
            "facts": [str(fact_id) for fact_id in self.facts],
            "edited": self.edited,
            "section": self.section,
            "composed": self.composed,
        }


def build(
    kind: str, sources: Sequence[Source], *, kept: Sequence[Line] = (), passed_over: Collection[uuid.UUID] = ()
) -> list[Line]:
    """Return the lines of a card: those ``kept`` as they are, then the facts that say most.

    First the lasting facts with the most weight, then those with the most weight now. A statement that is there
    already, in the same or nearly the same words, or that does not fit, is passed over; so are the facts that are in
    ``passed_over``.
    """
    limits = LIMITS[kind]
    lines = list(kept)
    used = sum(len(line.text) + 1 for line in lines)
    said = {folded(line.text) for line in lines}
    spoken = [words(line.text) for line in lines]
    cited = {fact_id for line in lines for fact_id in line.facts} | set(passed_over)
    in_sections = kind in sections.PROFILES
    for source in _in_order(sources, pinned=limits.pinned):
        text = dated(source.statement, source.valid_from, source.valid_to)
        fits = len(text) <= LINE_CHARACTERS and used + len(text) + 1 <= limits.characters
        if source.id in cited or folded(source.statement) in said or not fits:
            continue
        spelt = words(source.statement)
        if any(repeats(spelt, other) for other in spoken):
            continue
        section = sections.of_fact(source.category, source.kind).value if in_sections else ""
        lines.append(Line(text=text, facts=(source.id,), section=section))
        spoken.append(spelt)
        used += len(text) + 1
        said |= {folded(source.statement), folded(text)}
    return lines


def dated(statement: str, valid_from: datetime | None, valid_to: datetime | None) -> str:
    """Return a statement with the days between which it holds."""
    start = f"{valid_from:%Y-%m-%d}" if valid_from else ""
    end = f"until {valid_to:%Y-%m-%d}" if valid_to else ""
    days = " ".join(part for part in (start, end) if part)
    return f"{statement} ({days})" if days else statement


def strictest(sources: Sequence[Source]) -> str:
    """Return the strictest sensitivity of the sources."""
    return max((source.sensitivity for source in sources), key=SENSITIVITY_RANK.__getitem__, default=Sensitivity.PUBLIC)


def _in_order(sources: Sequence[Source], *, pinned: int) -> list[Source]:
    lasting = sorted((source for source in sources if source.lasting), key=lambda s: (-s.weight, s.statement, s.id))
    by_now = sorted(sources, key=lambda s: (-s.salience, s.statement, s.id))
    return list(dict.fromkeys([*lasting[:pinned], *by_now]))


def folded(text: str) -> str:
    """Return what two statements that say the same in the same words have in common."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
