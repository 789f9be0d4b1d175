"""Whom or what a candidate is about, as far as the message alone can tell."""

from __future__ import annotations

from facts.candidates import Candidate
from facts.vocabulary import Category, SubjectKind
from ingest.extraction.base import GROUP, ExtractionInput

#: Predicates that hold of things, not of people.
TOPIC_PREDICATES = frozenset(
    {
        "built_with", "database", "deadline", "depends_on", "deployed_with", "hosted_on", "launch_date", "located_at",
        "manager", "owner", "lead", "scheduled_for", "uses", "version", "written_in", "reference",
    }
)  # fmt: skip
_PERSON_CATEGORIES = frozenset({Category.COMMITMENT, Category.MOOD_SIGNAL, Category.HANDOFF})


def known_names(item: ExtractionInput) -> tuple[str, ...]:
    """Names of the people in the conversation, the speaker first."""
    names = [item.speaker_name, *item.participants, *(name for name, _ in item.window)]
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def is_known(name: str, item: ExtractionInput) -> bool:
    """Whether the name is the speaker ("") or one person of the conversation, by full or first name."""
    return not name or resolve(name, item) != ""


def resolve(name: str, item: ExtractionInput) -> str:
    """Return the full name of the one person of the conversation who is called so, or ""."""
    wanted = name.strip().lstrip("@").casefold()
    names = known_names(item)
    for full in names:
        if full.casefold() == wanted:
            return full
    matches = [full for full in names if wanted in {part.casefold() for part in full.split()[:1]}]
    return matches[0] if len(matches) == 1 else ""


def subject_kind(candidate: Candidate, item: ExtractionInput) -> SubjectKind:
    """Person, scope (the speaker's group) or topic.

    A name of the conversation is a person; otherwise the predicate decides, then the category.
    """
    if not candidate.about:
        return SubjectKind.PERSON
    if candidate.about == GROUP:
        return SubjectKind.SCOPE
    if resolve(candidate.about, item):
        return SubjectKind.PERSON
    if candidate.predicate in TOPIC_PREDICATES:
        return SubjectKind.TOPIC
    if candidate.predicate or candidate.category in _PERSON_CATEGORIES:
        return SubjectKind.PERSON
    return SubjectKind.TOPIC
