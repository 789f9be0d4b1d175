"""Facts as observations about entities, the words of a bot's adapter: a view, under the same audience rule."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from facts.audience import Reader
from facts.embedding import Embedded
from facts.errors import DomainError
from facts.models import Event, Evidence, Fact, Identity, Relation, Scope, Subject
from facts.models.evidence import Withheld
from facts.tenancy import present
from facts.vocabulary import RelationKind, SourceType, Status, SubjectKind
from governance.access import Principal
from retrieval import candidates
from retrieval.cards.summaries import Listed, Summary, closest, of_entities
from retrieval.embedders import registry
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.traces import selectors
from retrieval.visibility import Visibility, of_reader

#: The names of entities there, and the kinds of subjects here; the first is what a new one becomes.
ENTITY_KINDS: dict[str, tuple[str, ...]] = {
    "user": (SubjectKind.PERSON, SubjectKind.AGENT),
    "client": (SubjectKind.CLIENT,),
    "channel": (SubjectKind.CHANNEL,),
    "url": (SubjectKind.URL,),
    "search": (SubjectKind.SEARCH,),
    "topic": (SubjectKind.TOPIC,),
    "scope": (SubjectKind.SCOPE,),
}
ENTITY_OF = {kind: name for name, kinds in ENTITY_KINDS.items() for kind in kinds}
#: The names of sources there; what was said to an agent is a message like any other.
SOURCE_OF = {source: source for source in SourceType.values} | {
    SourceType.CONVERSATION.value: SourceType.CHANNEL_MESSAGE.value
}
#: Facts of one entity that its context shows, as the seed's nightly summary looks at.
SHOWN = 50
#: Seconds that an embedder may take for what somebody looks for.
PATIENCE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """As whom and where a call reads."""

    principal: Principal
    reader: Reader
    scopes: Sequence[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a fact rests on, as far as the reader may see it: its events, the first first, and what took its place."""

    events: tuple[Event, ...]
    superseded_by: uuid.UUID | None


def find(
    sight: Sight,
    *,
    entity_type: str = "",
    entity_id: str = "",
    category: str = "",
    source_type: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    ended: bool = False,
) -> QuerySet[Fact]:
    """Return observations, newest first; without ``ended`` those that hold."""
    found = selectors.facts(sight.principal, sight.reader, scopes=sight.scopes)
    statuses = [Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED] if ended else [Status.ACTIVE]
    found = found.filter(status__in=statuses, withheld=Withheld.NOTHING)
    if entity_id:
        found = found.filter(subject__in=entities(sight.principal.account_id, entity_type, entity_id))
    elif entity_type:
        found = found.filter(subject__kind__in=ENTITY_KINDS[entity_type])
    if category:
        found = found.filter(category=category)
    if source_type:
        wanted = [source for source, name in SOURCE_OF.items() if name == source_type]
        cited = Evidence.objects.filter(
            account_id=OuterRef("account_id"), fact_id=OuterRef("pk"), event__source_type__in=wanted
        )
        found = found.filter(Exists(cited))
    if since is not None:
        found = found.filter(recorded_from__gte=since)
    if until is not None:
        found = found.filter(recorded_from__lte=until)
    return found


def entities(account_id: uuid.UUID, entity_type: str, entity_id: str) -> QuerySet[Subject]:
    """Return the subject that an adapter's id means: its key, its own id, a platform's id, else its name."""
    of_kind = Subject.objects.filter(account_id=account_id, kind__in=ENTITY_KINDS[entity_type])
    tries = [Q(key=entity_id)]
    with suppress(ValueError):
        tries.append(Q(pk=uuid.UUID(entity_id)))
    known = Identity.objects.filter(account_id=account_id, value=entity_id)
    tries += [Q(pk__in=known.values("subject_id")), Q(name__iexact=entity_id)]
    for wanted in tries:
        matching = of_kind.filter(wanted)
        if matching.exists():
            return of_kind.filter(pk__in={present(subject).pk for subject in matching})
    return of_kind.none()


def sources(sight: Sight, facts: Sequence[Fact]) -> dict[uuid.UUID, Source]:
    """Return what each fact rests on and what took its place, as far as the reader may see them."""
    ids = [fact.pk for fact in facts]
    if not ids:
        return {}
    account_id = sight.principal.account_id
    visible = of_reader(sight.reader, sight.scopes, account_id=account_id)
    by_fact = candidates.sources(visible, ids)
    events = Event.objects.in_bulk({event_id for found in by_fact.values() for event_id in found})
    newer = Relation.objects.filter(account_id=account_id, target__in=ids, kind=RelationKind.SUPERSEDES)
    seen = selectors.facts(sight.principal, sight.reader, scopes=sight.scopes).filter(pk__in=newer.values("source_id"))
    shown = set(seen.order_by().values_list("pk", flat=True))
    by = {row.target_id: row.source_id for row in newer if row.source_id in shown}
    return {
        fact_id: Source(
            events=tuple(
                sorted(
                    (events[event_id] for event_id in by_fact.get(fact_id, ()) if event_id in events),
                    key=lambda event: (event.occurred_at, event.pk),
                )
            ),
            superseded_by=by.get(fact_id),
        )
        for fact_id in ids
    }


def counts(sight: Sight) -> dict[str, Any]:
    """Return how many observations hold, in all, by category and by kind of entity."""
    rows = find(sight).order_by().values("category", "subject__kind").annotate(number=Count("pk"))
    by_category: Counter[str] = Counter()
    by_entity: Counter[str] = Counter()
    for row in rows:
        by_category[row["category"]] += row["number"]
        by_entity[ENTITY_OF[row["subject__kind"]]] += row["number"]
    return {
        "total": sum(by_category.values()),
        "by_category": dict(sorted(by_category.items())),
        "by_entity": dict(sorted(by_entity.items())),
    }


def summaries(sight: Sight, *, entity_type: str, after: uuid.UUID | None = None, limit: int = SHOWN) -> Listed:
    """Return what is summed up of entities, of all types when ``entity_type`` is empty, in the order of their ids."""
    return of_entities(_visible(sight), kinds=_kinds(entity_type), after=after, limit=limit)


def summaries_like(sight: Sight, *, entity_type: str, vector: Embedded, limit: int = SHOWN) -> list[Summary]:
    """Return what is summed up of entities, what is closest to ``vector`` in meaning first."""
    return closest(_visible(sight), vector=vector, kinds=_kinds(entity_type), limit=limit)


def vector_of(account_id: uuid.UUID, query: str) -> Embedded:
    """Return what :func:`summaries_like` compares with. Outside of any transaction: an embedder may be somebody else's.

    Raises ``DomainError`` (``embedding_unavailable``).
    """
    try:
        return registry.embed_query(account_id=account_id, text=query, seconds=PATIENCE)
    except EmbeddingUnavailable as error:
        message = "Nothing can be compared by meaning now: no embedder answers."
        raise DomainError(message, code="embedding_unavailable", field="query", status=503) from error


def summary(sight: Sight, *, entity_type: str, entity_id: str) -> Summary | None:
    """Return what is summed up of one entity: of several scopes, the oldest summary."""
    visible = _visible(sight)
    for subject in entities(sight.principal.account_id, entity_type, entity_id):
        found = of_entities(visible, kinds=_kinds(entity_type), subject_id=subject.pk, limit=1).summaries
        if found:
            return found[0]
    return None


def _visible(sight: Sight) -> Visibility:
    return of_reader(sight.reader, sight.scopes, account_id=sight.principal.account_id)


def _kinds(entity_type: str) -> tuple[str, ...]:
    return ENTITY_KINDS[entity_type] if entity_type else ()
