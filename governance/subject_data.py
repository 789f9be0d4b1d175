"""What is held about somebody, for that person alone: facts in every scope and status, their sources, and messages.

Everything here starts from the signed-in person's own subject. Words that are shown to nobody (of what was forgotten,
blacked out or withdrawn) are not repeated here either, but that there is something is said. Of what others said, a
person is shown what they may read anyway.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet

from facts import erasure_plan
from facts.audience import visible_to
from facts.errors import NotFound
from facts.models import Event, Evidence, Fact, FactRevision, Passage, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import Level, Sensitivity, Status
from governance.access import Principal, all_readable_scopes, resolve_reader
from governance.models import ForgetReceipt, GateDecision, Promotion, Review
from governance.readers import Readers, readers_at

#: Sources told of one fact at most.
SOURCES = 50

#: Statuses of which the words are repeated to nobody.
WORDLESS = frozenset({Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED})


class Standing(StrEnum):
    """How facts stand, as people ask for them."""

    CURRENT = "current"
    WAITING = "waiting"
    CONTESTED = "contested"
    PAST = "past"
    HIDDEN = "hidden"


#: The statuses behind each; a deleted fact has nothing left to be listed.
STATUSES: dict[Standing, frozenset[Status]] = {
    Standing.CURRENT: frozenset({Status.ACTIVE, Status.PROVISIONAL, Status.NEEDS_REVALIDATION}),
    Standing.WAITING: frozenset({Status.CANDIDATE, Status.HELD}),
    Standing.CONTESTED: frozenset({Status.DISPUTED}),
    Standing.PAST: frozenset({Status.SUPERSEDED, Status.EXPIRED, Status.REJECTED}),
    Standing.HIDDEN: frozenset({Status.DISABLED, Status.REDACTED, Status.RETRACTED}),
}


class ReadBy(StrEnum):
    """Who is told a fact as it stands now, beside those who look after its scope."""

    NOBODY = "nobody"
    SUBJECT = "subject"
    SCOPE = "scope"
    GRANTED = "granted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source of a fact. Where it may not be read, only that there is one, and whether a person wrote it, is told.

    ``speaker``: the name of who said it; empty when unknown. ``channel``: where, as people call it; ``link``: the page
    that it came from.
    """

    event_id: uuid.UUID | None = None
    quote: str | None = None
    speaker: str = ""
    is_own: bool = False
    occurred_at: datetime | None = None
    channel: str = ""
    source_type: str = ""
    link: str = ""
    human: bool
    withdrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFact:
    """A fact about the person. ``statement`` is ``None`` where its words are shown to nobody."""

    fact: Fact
    statement: str | None
    read_by: ReadBy
    sources: Sequence[Source]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDossier:
    """Everything about one fact: how it came to be known, who reads it, and what was asked and decided about it."""

    held: HeldFact
    readers: Readers
    decisions: Sequence[GateDecision]
    history: Sequence[FactRevision]
    reviews: Sequence[Review]
    promotions: Sequence[Promotion]


def facts(principal: Principal, *, standing: str = "", category: str = "") -> QuerySet[Fact]:
    """Return the facts about the person, newest first; ``standing`` and ``category`` narrow, empty for all."""
    found = Fact.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id)
    found = found.exclude(status=Status.DELETED)
    if standing:
        found = found.filter(status__in=STATUSES[Standing(standing)])
    if category:
        found = found.filter(category=category)
    return found.select_related("scope", "subject").order_by("-id")


def get_fact(principal: Principal, fact_id: uuid.UUID) -> Fact:
    """Return one fact about the person; raises ``NotFound`` (``fact_not_found``) for anything else."""
    fact = facts(principal).filter(pk=fact_id).first()
    if fact is None:
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    return fact


def told(principal: Principal, found: Sequence[Fact]) -> list[HeldFact]:
    """Return the facts as the person is told them, with their sources; three queries for any number."""
    sources = _sources(principal, [fact for fact in found if fact.status not in WORDLESS])
    return [
        HeldFact(
            fact=fact,
            statement=None if fact.status in WORDLESS else fact.statement,
            read_by=read_by(fact),
            sources=sources[fact.pk],
        )
        for fact in found
    ]


def dossier(principal: Principal, fact_id: uuid.UUID) -> FactDossier:
    """Return everything about one fact; raises ``NotFound`` (``fact_not_found``)."""
    return dossiers(principal, [get_fact(principal, fact_id)])[0]


def dossiers(principal: Principal, found: Sequence[Fact]) -> list[FactDossier]:
    """Return everything about some facts on the person; the number of queries grows with their scopes alone."""
    owned = {"account_id": principal.account_id, "fact__in": [fact.pk for fact in found]}
    decisions = _by_fact(GateDecision.objects.filter(**owned).order_by("decided_at", "gate", "pk"))
    history = _by_fact(FactRevision.objects.filter(**owned).select_related("scope").order_by("version"))
    asked = _by_fact(Review.objects.filter(**owned).order_by("-pk"))
    wanted = _by_fact(Promotion.objects.filter(**owned).select_related("target").order_by("-pk"))
    readers = {path: readers_at(principal.account_id, path) for path in {fact.scope.path for fact in found}}
    return [
        FactDossier(
            held=held,
            readers=readers[held.fact.scope.path],
            decisions=decisions[held.fact.pk],
            history=history[held.fact.pk],
            reviews=asked[held.fact.pk],
            promotions=wanted[held.fact.pk],
        )
        for held in told(principal, found)
    ]


def read_by(fact: Fact) -> ReadBy:
    """Return who is told the fact by the audience rule, as its status and open conflicts let it be told."""
    if fact.status == Status.PROVISIONAL and fact.withheld == Withheld.NOTHING:
        return ReadBy.SUBJECT
    if fact.status != Status.ACTIVE or fact.withheld != Withheld.NOTHING:
        return ReadBy.NOBODY
    if fact.sensitivity == Sensitivity.RESTRICTED:
        return ReadBy.GRANTED
    is_personal = fact.sensitivity == Sensitivity.PERSONAL and fact.level == Level.PEER
    return ReadBy.SUBJECT if is_personal else ReadBy.SCOPE


def messages(principal: Principal) -> QuerySet[Event]:
    """Return what the person said, and what was said in their conversations, newest first.

    Each says whether its words are hidden (``is_hidden``): because it was forgotten, or a fact that cites it was.
    """
    subject = Subject.objects.get(account_id=principal.account_id, pk=principal.subject_id)
    passages = Passage.objects.filter(account_id=OuterRef("account_id"), event_id=OuterRef("pk"))
    forgotten = Exists(passages.filter(withheld=Withheld.FORGOTTEN))
    found = erasure_plan.own_events(subject, within=None).annotate(
        is_hidden=ExpressionWrapper(Q(forgotten_at__isnull=False) | Q(forgotten), output_field=BooleanField())
    )
    return found.select_related("scope", "speaker").order_by("-id")


def promotions(principal: Principal) -> QuerySet[Promotion]:
    """Return what was asked about facts on the person being known more widely, newest first."""
    asked = Promotion.objects.filter(account_id=principal.account_id, fact__subject_id=principal.subject_id)
    return asked.select_related("fact", "target").order_by("-id")


def reviews(principal: Principal) -> QuerySet[Review]:
    """Return what people were asked to decide about facts on the person, newest first."""
    asked = Review.objects.filter(account_id=principal.account_id, fact__subject_id=principal.subject_id)
    return asked.select_related("fact").order_by("-id")


def receipts(principal: Principal) -> QuerySet[ForgetReceipt]:
    """Return the receipts of what was forgotten or erased about the person, newest first."""
    own = Fact.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id)
    named = Q(target="subject", target_id=principal.subject_id) | Q(target="fact", target_id__in=own.values("pk"))
    return ForgetReceipt.objects.filter(named, account_id=principal.account_id).order_by("-id")


def get_receipt(principal: Principal, receipt_id: uuid.UUID) -> ForgetReceipt:
    """Return one of these receipts; raises ``NotFound`` (``receipt_not_found``)."""
    receipt = receipts(principal).filter(pk=receipt_id).first()
    if receipt is None:
        raise NotFound("There is no such receipt.", code="receipt_not_found")
    return receipt


def readable_events(principal: Principal) -> QuerySet[Event]:
    """Return the events of which a person may read every word: their own, and those open to them by the audience rule.

    A passage can be stricter than its event, by the facts that cite it.
    """
    own = Q(subject_id=principal.subject_id) | Q(speaker_id=principal.subject_id)
    open_ones = Q(scope__in=all_readable_scopes(principal), sensitivity__in=[Sensitivity.PUBLIC, Sensitivity.INTERNAL])
    passages = Passage.objects.filter(account_id=OuterRef("account_id"), event_id=OuterRef("pk"))
    stricter = Exists(passages.exclude(visible_to(resolve_reader(principal))))
    forgotten = Exists(passages.filter(withheld=Withheld.FORGOTTEN))
    told_to_all = open_ones & ~Q(stricter) & Q(withdrawn_at__isnull=True)
    readable = (own | told_to_all) & ~Q(forgotten) & Q(forgotten_at__isnull=True)
    return Event.objects.filter(readable, account_id=principal.account_id)


def _by_fact(found: QuerySet) -> dict[uuid.UUID, list]:
    grouped: dict[uuid.UUID, list] = defaultdict(list)
    for row in found:
        grouped[row.fact_id].append(row)
    return grouped


def _sources(principal: Principal, found: Sequence[Fact]) -> dict[uuid.UUID, list[Source]]:
    """Return the sources of each fact, oldest first."""
    rows = (
        Evidence.objects.filter(account_id=principal.account_id, fact__in=[fact.pk for fact in found])
        .annotate(said_at=F("event__occurred_at"))
        .select_related("event__speaker", "event__subject")
        .order_by("fact_id", "said_at", "pk")
    )
    by_fact: dict[uuid.UUID, list[Evidence]] = defaultdict(list)
    for row in rows:
        if len(by_fact[row.fact_id]) < SOURCES:
            by_fact[row.fact_id].append(row)
    cited = {row.event_id for kept in by_fact.values() for row in kept}
    readable = set(readable_events(principal).filter(pk__in=cited).values_list("pk", flat=True)) if cited else set()
    sources: dict[uuid.UUID, list[Source]] = defaultdict(list)
    for fact_id, kept in by_fact.items():
        sources[fact_id] = [_source(principal, row, shown=row.event_id in readable) for row in kept]
    return sources


def _source(principal: Principal, row: Evidence, *, shown: bool) -> Source:
    event = row.event
    said = {"human": row.human, "withdrawn": event.withdrawn_at is not None}
    if not shown:
        return Source(**said)
    return Source(
        event_id=event.pk,
        quote=row.quote,
        speaker=event.speaker.display_name if event.speaker else "",
        is_own=event.speaker_id == principal.subject_id,
        occurred_at=event.occurred_at,
        channel=event.channel_name or event.channel_id,
        source_type=event.source_type,
        link=_link(event),
        **said,
    )


def _link(event: Event) -> str:
    """Return the address of the page that an event was read from, empty for what was said."""
    is_page = event.source_type in {"url_fetch", "web_search"}
    return next((url for url in event.urls if str(url).startswith(("https://", "http://"))), "") if is_page else ""
