"""What a reviewer looks at beside the facts themselves: readers, uses, facts that say nearly the same, and remarks.

Each part costs a fixed number of queries, however many facts a page is about.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from facts.models import AuditEntry, Fact, Scope
from facts.vocabulary import ConflictKind, Status
from governance.models import Promotion, Remark
from governance.placement import level_at
from governance.readers import Audience, ReaderTable
from governance.reviewing import presence, remarks
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import Part, differences
from retrieval.traces import impact
from retrieval.traces.impact import Use

#: People named; of the others the number is told.
NAMED = 12
#: Facts of a subject that are compared, those shown, and the share of words from which two say nearly the same.
_COMPARED, _SHOWN_NEAR, _NEARLY_SAME = 300, 5, 0.5
#: Audit entries shown.
_SHOWN_ENTRIES = 30
#: Who gets nothing while a conflict is open.
_UNTIL = {
    ConflictKind.CONTRADICTION: "Until it is decided",
    ConflictKind.QUARANTINE: "The less trusted side, until it is decided",
}
_WORD = re.compile(r"\w+")
#: What happened, in words, by the action in the audit chain; of others the action itself.
HAPPENED = {
    "conflict.opened": "it was opened",
    "conflict.joined": "a fact joined",
    "conflict.left": "a fact left",
    "conflict.reopened": "it was opened again",
    "conflict.undone": "a decision was undone",
    "conflict.resolved": "it was resolved",
    "conflict.dismissed": "it was dismissed",
    "conflict.dissolved": "it dissolved: fewer than two facts were left",
    "conflict.decided.defer": "it was put off",
    "conflict.assigned": "somebody took it, or was given it",
    "conflict.released": "anybody may decide it again",
    "review.assigned": "somebody took it, or was given it",
    "review.released": "anybody may decide it again",
    "review.undone": "a decision was undone",
    "remark.made": "a remark was written",
    "consent.asked": "they were asked",
    "consent.granted": "they agreed",
    "consent.denied": "they said no",
    "consent.withdrawn": "they took their yes back",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Who gets something in answers after a choice. ``people`` are named, ``further`` more are only counted."""

    label: str
    people: tuple[str, ...] = ()
    further: int = 0
    keys: int = 0
    subject_only: bool = False
    nobody: bool = False


@dataclass(frozen=True, slots=True)
class Near:
    """Another fact that says nearly the same, its statement in parts, those marked that the first does not have."""

    fact: Fact
    statement: list[Part]


@dataclass(frozen=True, slots=True)
class Happening:
    """One entry of the history."""

    what: str
    actor: Mapping[str, Any]
    at: datetime


def choices_of_conflict(eyes: Sight, kind: str, facts: Sequence[Fact]) -> list[Choice]:
    """Return who gets what until the set is decided, and after each side is kept; equal ones in one line."""
    table = ReaderTable(eyes.principal.account_id)
    audiences: dict[Audience, list[int]] = {}
    for number, fact in enumerate(facts, start=1):
        audiences.setdefault(table.of(fact), []).append(number)
    shown = [] if kind == ConflictKind.POSSIBLE else [Choice(_UNTIL[ConflictKind(kind)], nobody=True)]
    for audience, numbers in audiences.items():
        kept = "Whichever is kept" if len(audiences) == 1 else f"Side {_listed(numbers)} kept"
        shown.append(_choice(kept, audience))
    return shown


def choices_of_review(eyes: Sight, fact: Fact, promotion: Promotion | None) -> list[Choice]:
    """Return who gets the fact now, and who would after a yes and after a no."""
    table = ReaderTable(eyes.principal.account_id)
    here = table.of(fact)
    if promotion is not None:
        there = table.of(fact, path=promotion.target.path, level=level_at(promotion.target))
        return [_choice("Now, and if rejected", here), _choice("Approved, its copy", there)]
    return [_now(fact, here), _choice("Approved", here), Choice("Rejected", nobody=True)]


def choices_of_consent(eyes: Sight, fact: Fact, target: Scope) -> list[Choice]:
    """Return who gets the fact now, and who would once its subject has agreed to its being known at ``target``."""
    table = ReaderTable(eyes.principal.account_id)
    here = table.of(fact)
    if fact.scope_id == target.pk:
        return [_now(fact, here), _choice("Agreed, and placed", here), Choice("Refused", subject_only=True)]
    there = table.of(fact, path=target.path, level=level_at(target))
    return [_now(fact, here), _choice("Agreed and approved, a copy", there), Choice("Refused, a copy", nobody=True)]


def _now(fact: Fact, here: Audience) -> Choice:
    match fact.status:
        case Status.ACTIVE:
            return _choice("Now", here)
        case Status.PROVISIONAL:
            return Choice("Now", subject_only=True)
        case _:
            return Choice("Now", nobody=True)


def _choice(label: str, audience: Audience) -> Choice:
    return Choice(
        label,
        audience.people[:NAMED],
        max(0, len(audience.people) - NAMED),
        audience.keys,
        audience.subject_only,
        nobody=not audience.people and not audience.keys and not audience.subject_only,
    )


def _listed(numbers: Sequence[int]) -> str:
    return " or ".join(str(number) for number in numbers)


def uses(eyes: Sight, facts: Sequence[Fact]) -> dict[uuid.UUID, Use]:
    """Return which of the facts, all of one subject, were given to whom of late, as far as the person sees reads."""
    if not facts:
        return {}
    return impact.used_in(
        eyes.traces(),
        account_id=eyes.principal.account_id,
        subject_id=facts[0].subject_id,
        fact_ids=[fact.pk for fact in facts],
    )


def near(eyes: Sight, facts: Sequence[Fact]) -> list[Near]:
    """Return other facts of the same subject that say nearly the same as the first readable one; one query."""
    fact = next((fact for fact in facts if fact.readable), None)
    if fact is None:
        return []
    others = eyes.facts().filter(subject_id=fact.subject_id, readable=True).select_related("scope")
    others = others.exclude(pk__in=[one.pk for one in facts]).order_by("-id")[:_COMPARED]
    mine = _words(fact.statement)
    alike = sorted(((_share(mine, _words(other.statement)), other) for other in others), key=lambda pair: -pair[0])
    shown = [other for share, other in alike[:_SHOWN_NEAR] if share >= _NEARLY_SAME]
    return [Near(other, differences([fact.statement, other.statement])[1]) for other in shown]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common words among all words of two texts (Jaccard)."""
    together = one | other
    return len(one & other) / len(together) if together else 0.0


def history(account_id: uuid.UUID, kind: str, pk: object) -> list[Happening]:
    """Return what the audit chain says of a review or conflict set, newest first, in words."""
    entries = AuditEntry.objects.filter(account_id=account_id, object_type=kind, object_id=str(pk))
    return [
        Happening(HAPPENED.get(entry.action, words(entry.action)), entry.actor, entry.occurred_at)
        for entry in entries.order_by("-seq")[:_SHOWN_ENTRIES]
    ]


def remarks_on(rows: Iterable[Remark]) -> list[Remark]:
    """Return the latest remarks, the oldest of them first."""
    return list(rows.order_by("-id")[: remarks.SHOWN])[::-1]


def others_here(eyes: Sight, *, about: str, object_id: uuid.UUID) -> list[tuple[str, datetime]]:
    """Note that the person has this open, and return who else has, and since when last."""
    found = presence.look(eyes.principal, about=about, object_id=object_id)
    return [(presence.name_of(one.membership), one.seen_at) for one in found]
