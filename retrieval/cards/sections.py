"""The sections of a profile, and the one in which a fact stands that nobody worded anew."""

from __future__ import annotations

from enum import StrEnum

from facts.vocabulary import Category, Kind
from retrieval.models import CardKind


class Section(StrEnum):
    """The headings of a profile, after an earlier system, in their order."""

    ROLE = "Role & Responsibilities"
    FOCUS = "Current Focus"
    PATTERNS = "Patterns"
    RISKS = "Risks"
    RELATIONSHIPS = "Key Relationships"


#: Kinds of card whose lines stand under headings.
PROFILES = frozenset({CardKind.SUBJECT_PROFILE, CardKind.SHARED_PROFILE})
ORDER = {section.value: place for place, section in enumerate(Section)}

_OF_CATEGORY = {
    Category.BLOCKER: Section.RISKS,
    Category.RISK_SIGNAL: Section.RISKS,
    Category.MOOD_SIGNAL: Section.RISKS,
    Category.HANDOFF: Section.RELATIONSHIPS,
    Category.COMMITMENT: Section.FOCUS,
    Category.DEADLINE_MENTION: Section.FOCUS,
    Category.STATUS_UPDATE: Section.FOCUS,
}
_OF_KIND = {
    Kind.RELATION: Section.RELATIONSHIPS,
    Kind.PREFERENCE: Section.PATTERNS,
    Kind.INSTRUCTION: Section.PATTERNS,
    Kind.EVENT: Section.FOCUS,
}


def of_fact(category: str, kind: str) -> Section:
    """Return the section of a fact: by what it is good for, then by what sort of statement it is."""
    return _OF_CATEGORY.get(category) or _OF_KIND.get(kind) or Section.ROLE


def place(section: str) -> int:
    """Return the place of a section among the others; lines without one come last."""
    return ORDER.get(section, len(ORDER))
