"""What changed while somebody looked: what they saw, what it is now, and what they were about to decide."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from facts.models import Fact, FactRevision
from memory_site.admin_pages.fact_display import Change, changes


@dataclass(frozen=True, slots=True)
class Moved:
    """A fact that is no longer what was seen, with each field that changed, by whom last, and when.

    ``number`` is its side, from 1.
    """

    number: int
    fact: Fact
    changes: list[Change]
    by: Mapping[str, Any]
    at: datetime


def moved(facts: Sequence[Fact], seen: Mapping[uuid.UUID, int]) -> list[Moved]:
    """Return the facts of which another version was seen, with what changed since; one query.

    Of a fact that the person may not read nothing but that it changed is told.
    """
    wanted = Q(pk__in=[])
    for fact in facts:
        if seen.get(fact.pk, fact.version) != fact.version:
            wanted |= Q(fact_id=fact.pk, version__in=[seen[fact.pk], fact.version])
    found: dict[uuid.UUID, dict[int, FactRevision]] = {}
    if facts:
        for revision in FactRevision.objects.filter(wanted, account_id=facts[0].account_id):
            found.setdefault(revision.fact_id, {})[revision.version] = revision
    result = []
    for number, fact in enumerate(facts, start=1):
        versions = found.get(fact.pk, {})
        before, after = versions.get(seen.get(fact.pk, -1)), versions.get(fact.version)
        if before is None or after is None or before is after:
            continue
        shown = changes(before, after) if fact.readable else []
        if shown or not fact.readable:
            result.append(Moved(number, fact, shown, after.actor, after.recorded_from))
    return result


def versions_of(texts: Sequence[str]) -> dict[uuid.UUID, int]:
    """Return versions by id from texts ``id:version``; what is neither is left out."""
    found = {}
    for text in texts:
        pk, _, version = text.partition(":")
        try:
            found[uuid.UUID(pk)] = int(version) if version.isascii() and len(version) < 10 else -1
        except ValueError:
            continue
    return found
