"""Reading facts one by one and as of another time: what they were, how they came to this, and who may see them.

Everything is read under today's permissions. What was forgotten or withdrawn is there for nobody.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from facts.audience import Posture, Reader, may_see
from facts.errors import NotFound
from facts.lifecycle import MUTABLE
from facts.models import Event, Evidence, Fact, FactRevision, Relation, Suppression
from facts.models.evidence import Withheld
from facts.status_graph import SERVED_TO
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from governance.access import Principal, all_readable_scopes, has_role
from governance.models import Role
from retrieval.traces import selectors

#: Evidence, relations and suppressions told of one fact at most.
SHOWN = 100
#: What was believed at some time: what was current then or had ended by then.
BELIEVED = (Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED)

_WHO_SEES: dict[str, str] = {
    Sensitivity.PUBLIC: "everybody who may read the scope, also callers that read as nobody",
    Sensitivity.INTERNAL: "every peer who may read the scope",
    Sensitivity.PERSONAL: "its own subject only",
    Sensitivity.RESTRICTED: "its own subject, and people to whom restricted facts were granted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One kind of reader, whether it sees the fact, and why."""

    reader: str
    sees: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """One source of a fact. ``words`` is ``None`` where the caller may not read the event."""

    event_id: uuid.UUID | None
    words: str | None
    occurred_at: datetime | None
    human: bool
    withdrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation as read from the fact; ``other`` is ``None`` where the caller may not see what is at its end."""

    kind: str
    outgoing: bool
    other: Fact | None
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Everything that can be told about a fact. Suppressions and who decided are for its subject and curators."""

    fact: Fact
    status: str
    audience: str
    sights: Sequence[Sight]
    quotes: Sequence[Quote]
    edges: Sequence[Edge]
    suppressions: Sequence[Suppression]
    told_all: bool


def believed(
    found: QuerySet[Fact], *, as_of: datetime | None, known_at: datetime | None, status: str
) -> QuerySet[Fact]:
    """Return those of ``found`` that held at ``as_of``, as believed now or, with ``known_at``, as believed then.

    Without ``as_of`` only the time of the knowledge counts. ``status`` narrows to one status, of then with
    ``known_at``; empty for any. A read of another time knows what was current or had ended, and nothing else.
    """
    wanted = Q(status=status) if status else Q()
    if as_of is not None or known_at is not None:
        wanted &= Q(status__in=BELIEVED)
    if known_at is None:
        return found.filter(wanted, _held(as_of))
    then = FactRevision.objects.filter(
        wanted, _open_at(known_at), _held(as_of), account_id=OuterRef("account_id"), fact_id=OuterRef("pk")
    )
    return found.filter(Exists(then))


def as_known(facts: Sequence[Fact], known_at: datetime | None) -> list[Fact]:
    """Return the facts with the fields that were believed at ``known_at``; what was not recorded then is left out."""
    if known_at is None or not facts:
        return list(facts)
    revisions = FactRevision.objects.filter(
        _open_at(known_at), account_id=facts[0].account_id, fact__in=[fact.pk for fact in facts]
    ).select_related("scope")
    then = {revision.fact_id: revision for revision in revisions}
    return [_overlaid(fact, then[fact.pk]) for fact in facts if fact.pk in then]


def get(
    principal: Principal,
    reader: Reader,
    fact_id: uuid.UUID,
    *,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> Fact:
    """Return a fact, as believed at ``known_at``.

    Raises ``NotFound`` (``fact_not_found``) for what the caller may not see, did not hold at ``as_of``, or was not
    recorded at ``known_at``, as for what does not exist.
    """
    found = _visible(principal, reader).filter(pk=fact_id)
    if as_of is not None or known_at is not None:
        found = believed(found, as_of=as_of, known_at=known_at, status="")
    known = as_known(list(found), known_at)
    if not known:
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
    return known[0]


def history(principal: Principal, reader: Reader, fact_id: uuid.UUID) -> tuple[Fact, list[FactRevision]]:
    """Return a fact and its revisions, oldest first; raises ``NotFound`` (``fact_not_found``).

    Revisions in which it was neither current nor ended are for its subject and curators.
    """
    fact = get(principal, reader, fact_id)
    rows = FactRevision.objects.filter(account_id=fact.account_id, fact=fact).select_related("scope", "subject")
    if not is_told_all(principal, reader, fact):
        rows = rows.filter(status__in=BELIEVED)
    return fact, list(rows.order_by("version"))


def is_told_all(principal: Principal, reader: Reader, fact: Fact) -> bool:
    """Tell whether the caller is told who decided and why: the fact's own subject and curators of its scope."""
    return reader.subject_id == fact.subject_id or has_role(principal, fact.scope.path, Role.CURATOR)


def explain(principal: Principal, reader: Reader, fact_id: uuid.UUID) -> Explained:
    """Return everything about a fact that the caller may know; raises ``NotFound`` (``fact_not_found``)."""
    fact = get(principal, reader, fact_id)
    told_all = is_told_all(principal, reader, fact)
    return Explained(
        fact=fact,
        status=_status_in_words(fact),
        audience=audience_in_words(fact),
        sights=_sights(fact),
        quotes=_quotes(principal, reader, fact),
        edges=_edges(principal, reader, fact),
        suppressions=_suppressions(fact) if told_all else [],
        told_all=told_all,
    )


def audience_in_words(fact: Fact) -> str:
    """Return who sees the fact where its scope is read: in the scope itself and in those below it."""
    shared = fact.level != Level.PEER or fact.subject.kind == SubjectKind.SCOPE
    who = _WHO_SEES[Sensitivity.INTERNAL if fact.sensitivity == Sensitivity.PERSONAL and shared else fact.sensitivity]
    return f"{who}; in {fact.scope.path} and the scopes below it"


def _visible(principal: Principal, reader: Reader) -> QuerySet[Fact]:
    return selectors.facts(principal, reader, scopes=all_readable_scopes(principal))


def _open_at(moment: datetime) -> Q:
    return Q(recorded_from__lte=moment) & (Q(recorded_to__isnull=True) | Q(recorded_to__gt=moment))


def _held(at: datetime | None) -> Q:
    """Return the condition of holding at an instant; all hold when none is asked about."""
    if at is None:
        return Q()
    started = Q(valid_from__isnull=True) | Q(valid_from__lte=at)
    ended = Q(valid_to__isnull=True) | Q(valid_to__gt=at)
    return started & ended & (Q(expires_at__isnull=True) | Q(expires_at__gt=at))


def _overlaid(fact: Fact, then: FactRevision) -> Fact:
    """Return the fact as the revision has it; not to be saved."""
    for name in (*MUTABLE, "status", "version", "recorded_from", "recorded_to"):
        setattr(fact, name, getattr(then, name))
    fact.scope = then.scope
    return fact


def _status_in_words(fact: Fact) -> str:
    if fact.withheld == Withheld.CONFLICT:
        return "withheld from every reader by an open conflict"
    return f"served to {SERVED_TO[Status(fact.status)]}"


def _sights(fact: Fact) -> list[Sight]:
    """Return who sees the fact and why, one kind of reader after the other."""
    kinds: Iterable[tuple[str, dict[str, Any], str]] = (
        ("its subject", {"posture": Posture.PEER, "own": True, "restricted_granted": False}, "it is about them"),
        (
            "another peer",
            {"posture": Posture.PEER, "own": False, "restricted_granted": False},
            f"{fact.sensitivity}, level {fact.level}",
        ),
        (
            "somebody granted restricted facts",
            {"posture": Posture.PEER, "own": False, "restricted_granted": True},
            f"{fact.sensitivity}, level {fact.level}",
        ),
        (
            "a caller that reads as nobody",
            {"posture": Posture.PUBLIC_ONLY, "own": False, "restricted_granted": False},
            "only public facts are served to nobody in particular",
        ),
    )
    current = fact.status in (Status.ACTIVE, Status.PROVISIONAL) and fact.withheld == Withheld.NOTHING
    return [
        Sight(
            reader=name,
            sees=current
            and may_see(
                **kind,
                level=fact.level,
                sensitivity=fact.sensitivity,
                about_scope=fact.subject.kind == SubjectKind.SCOPE,
                provisional=fact.status == Status.PROVISIONAL,
            ),
            why=why if current else _status_in_words(fact),
        )
        for name, kind, why in kinds
    ]


def _quotes(principal: Principal, reader: Reader, fact: Fact) -> list[Quote]:
    rows = list(
        Evidence.objects.filter(account_id=fact.account_id, fact=fact)
        .select_related("event")
        .order_by("event__occurred_at", "id")[:SHOWN]
    )
    readable = selectors.events(principal, reader, scopes=all_readable_scopes(principal))
    shown = set(readable.filter(pk__in=[row.event_id for row in rows]).order_by().values_list("pk", flat=True))
    return [_quote(row, row.event, shown=row.event_id in shown) for row in rows]


def _quote(row: Evidence, event: Event, *, shown: bool) -> Quote:
    return Quote(
        event_id=event.pk if shown else None,
        words=row.quote if shown else None,
        occurred_at=event.occurred_at if shown else None,
        human=row.human,
        withdrawn=event.withdrawn_at is not None,
    )


def _edges(principal: Principal, reader: Reader, fact: Fact) -> list[Edge]:
    rows = list(
        Relation.objects.filter(Q(source=fact) | Q(target=fact), account_id=fact.account_id).order_by("created_at")[
            :SHOWN
        ]
    )
    ends = {row.target_id if row.source_id == fact.pk else row.source_id for row in rows}
    others = _visible(principal, reader).in_bulk(ends)
    return [
        Edge(
            kind=row.kind,
            outgoing=row.source_id == fact.pk,
            other=others.get(row.target_id if row.source_id == fact.pk else row.source_id),
            since=row.created_at,
        )
        for row in rows
    ]


def _suppressions(fact: Fact) -> list[Suppression]:
    """Return what keeps this fact, its claim or its words from being remembered again, also what was lifted."""
    meets = Q(fact=fact) | Q(statement_hash=fact.statement_hash)
    if fact.identity_key:
        meets |= Q(identity_key=fact.identity_key, value_key=fact.value_key)
    found = Suppression.objects.filter(meets, account_id=fact.account_id, subject_id=fact.subject_id)
    return list(found.order_by("-id")[:SHOWN])
