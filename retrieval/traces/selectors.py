"""Looking at what reading left behind, and at what is stored: traces, facts in every status, and what was said."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from facts.audience import Posture, Reader, visible_to
from facts.errors import NotFound
from facts.freshness import freshness, last_confirmed
from facts.models import Event, Fact, FactRevision, IndexedUnit, Passage, Scope, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import EvidenceLevel, Sensitivity, Status, SubjectKind
from governance.access import Principal, all_readable_scopes, curated_scopes, curator_paths, has_role, resolve_reader
from governance.models import Role
from retrieval import candidates
from retrieval.context.packet import EmptyReason, Packet, PacketStatus, ServedFact, ServedPassage
from retrieval.context.serving import INDIRECT_FACTOR
from retrieval.models import Trace, TraceKind
from retrieval.traces.reasons import Action
from retrieval.traces.rereading import may_read_as
from retrieval.traces.writing import unpack
from retrieval.visibility import Visibility, of_reader

#: What a listing shows under the audience rule; anything else is for the subject and curators.
OPEN_STATUSES = (Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED)
#: Forgotten or withdrawn: no listing and no packet shows its content.
GONE = (Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED)


def may_inspect(principal: Principal, trace_id: uuid.UUID) -> bool:
    """Tell whether the caller made the trace or is a curator of its scope."""
    try:
        get_trace(principal, trace_id)
    except NotFound:
        return False
    return True


def get_trace(principal: Principal, trace_id: uuid.UUID) -> Trace:
    """Return a trace; raises ``NotFound`` (``trace_not_found``) unless the caller made it or curates its scope."""
    trace = Trace.objects.filter(account_id=principal.account_id, pk=trace_id).first()
    if trace is None or not (
        trace.credential_id == principal.pk or has_role(principal, trace.scope_path, Role.CURATOR)
    ):
        raise NotFound("There is no such trace.", code="trace_not_found", field="trace_id")
    return trace


def traces(principal: Principal, *, path: str | None = None, subject_key: str = "") -> QuerySet[Trace]:
    """Return the traces that the caller may inspect, without their decisions: its own and those where it curates.

    ``path`` narrows to reads at that scope, which need not exist; ``subject_key`` to reads about that
    subject.
    """
    paths = [path] if path is not None else [scope.path for scope in all_readable_scopes(principal)]
    mine = Q(credential_id=principal.pk) | Q(scope_path__in=curator_paths(principal, paths))
    found = Trace.objects.filter(mine, account_id=principal.account_id)
    if path is not None:
        found = found.filter(scope_path=path)
    if subject_key:
        found = found.filter(subject_key=subject_key)
    return found.defer("decisions", "timings")


def facts(
    principal: Principal,
    reader: Reader,
    *,
    scopes: Sequence[Scope],
    subject: Subject | None = None,
) -> QuerySet[Fact]:
    """Return the facts that a listing shows, newest first: current and ended ones by the audience rule, those in
    other states or withheld by a conflict to their subject and to curators."""
    curated = curated_scopes(principal, scopes)
    shown = Q(status__in=OPEN_STATUSES, withheld=Withheld.NOTHING) | Q(scope__in=curated)
    if reader.subject_id:
        shown |= Q(subject_id=reader.subject_id)
    found = Fact.objects.filter(shown, visible_to(reader), account_id=principal.account_id, scope__in=scopes)
    if subject is not None:
        found = found.filter(subject=subject)
    return found.exclude(status__in=GONE).select_related("scope", "subject").order_by("-id")


def events(
    principal: Principal,
    reader: Reader,
    *,
    scopes: Sequence[Scope],
    subject: Subject | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> QuerySet[Event]:
    """Return what was said, newest first, as far as the reader may see all of it and nothing withholds any of it.

    A passage can be stricter than its event, by the facts that cite it. ``as_of`` leaves out what was said later,
    ``known_at`` what was recorded later.
    """
    passages = Passage.objects.filter(account_id=principal.account_id, event_id=OuterRef("pk"))
    kept_back = passages.exclude(visible_to(reader), withheld=Withheld.NOTHING)
    found = Event.objects.filter(
        _said_to(reader),
        ~Exists(kept_back),
        account_id=principal.account_id,
        scope__in=scopes,
        withdrawn_at__isnull=True,
    )
    if subject is not None:
        found = found.filter(subject=subject)
    if as_of is not None:
        found = found.filter(occurred_at__lte=as_of)
    if known_at is not None:
        found = found.filter(recorded_at__lte=known_at)
    return found.select_related("scope", "subject", "speaker").order_by("-id")


def _said_to(reader: Reader) -> Q:
    """Return the audience rule for events, which are about their subject and ask for no wider level."""
    if reader.posture is Posture.INTERNAL:
        return Q()
    public = Q(sensitivity=Sensitivity.PUBLIC)
    if reader.posture is Posture.PUBLIC_ONLY:
        return public
    shared = Q(sensitivity=Sensitivity.INTERNAL) | Q(sensitivity=Sensitivity.PERSONAL, subject__kind=SubjectKind.SCOPE)
    return public | shared | Q(subject_id=reader.subject_id)


def readable_below(principal: Principal, path: str) -> list[Scope]:
    """Return the readable scopes at and below ``path``, for figures about a part of the tree."""
    below = path.rstrip("/") + "/"
    return [scope for scope in all_readable_scopes(principal) if scope.path == path or scope.path.startswith(below)]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A packet made again from a trace. ``gone`` counts what it served and what may not be shown to the caller now."""

    packet: Packet
    gone: int


def packet_of(principal: Principal, trace: Trace) -> Rendered:
    """Return the packet of a trace that the caller may inspect, from the revisions that it served.

    It is shown to the caller as :func:`rereader` says, under today's rules: what was forgotten, withdrawn, made
    stricter, disputed or deleted since is left out. A trace holds no content of its own.
    """
    reader = rereader(principal, trace)
    scopes = all_readable_scopes(principal)
    included = [decision for decision in unpack(trace.decisions) if decision["action"] == Action.INCLUDED]
    revisions = {uuid.UUID(decision["id"]): decision for decision in included if decision["unit"] == IndexedUnit.FACT}
    passages = {uuid.UUID(decision["id"]): decision for decision in included if decision["unit"] == IndexedUnit.PASSAGE}
    readable_facts = facts(principal, reader, scopes=scopes).filter(withheld=Withheld.NOTHING)
    readable_passages = Passage.objects.filter(visible_to(reader), scope__in=scopes, withheld=Withheld.NOTHING)
    visible = of_reader(reader, scopes, account_id=trace.account_id)
    told_facts = served_facts(trace, revisions, readable_facts, visible)
    told_passages = served_passages(trace, passages, readable_passages)
    packet = Packet(
        facts=told_facts,
        passages=told_passages,
        warnings=list(trace.warnings),
        status=PacketStatus(trace.status),
        empty_reason=EmptyReason(trace.empty_reason) if trace.empty_reason else None,
    )
    return Rendered(packet=packet, gone=len(included) - len(told_facts) - len(told_passages))


def rereader(principal: Principal, trace: Trace) -> Reader:
    """Return as whom the caller is shown a trace: who made the call as its reader, anybody else as themselves.

    Restricted facts are shown as far as they are granted today. Who replays a trace has not made its call.
    """
    today = resolve_reader(principal)
    if trace.reader_id == today.subject_id or not (_made_by(principal, trace) and may_read_as(principal, trace)):
        return today
    return Reader(posture=Posture(trace.reader_posture), subject_id=trace.reader_id)


def _made_by(principal: Principal, trace: Trace) -> bool:
    """Tell whether the call was the caller's own; of a replay, the call that it replays."""
    if trace.credential_id != principal.pk:
        return False
    if trace.kind != TraceKind.REPLAY:
        return True
    original = trace.request.get("replay_of")
    return Trace.objects.filter(account_id=trace.account_id, pk=original, credential_id=principal.pk).exists()


def served_facts(
    trace: Trace, decisions: dict[uuid.UUID, dict], readable: QuerySet[Fact], visible: Visibility | None
) -> list[ServedFact]:
    """Return the facts of these decisions as they were served, in their order, as far as they are ``readable``.

    Their sources are told as far as ``visible``; ``None``: not at all.
    """
    rows = FactRevision.objects.filter(
        account_id=trace.account_id, fact__in=readable.filter(pk__in=list(decisions)).order_by().values("pk")
    ).select_related("fact", "fact__subject", "fact__scope")
    then = {row.fact_id: row for row in rows if row.version == decisions[row.fact_id]["revision"]}
    shown = [fact_id for fact_id in decisions if fact_id in then]
    sources = candidates.sources(visible, shown) if shown and visible is not None else {}
    return [
        _served_fact(then[fact_id], trace, decisions[fact_id]["fusion_score"], sources.get(fact_id, ()))
        for fact_id in sorted(shown, key=lambda fact_id: decisions[fact_id]["rank"] or len(trace.decisions))
    ]


def _served_fact(
    revision: FactRevision, trace: Trace, score: float | None, sources: tuple[uuid.UUID, ...]
) -> ServedFact:
    fact = revision.fact
    confirmed = last_confirmed(
        last_reinforced_at=revision.last_reinforced_at,
        valid_from=revision.valid_from,
        recorded_from=fact.recorded_from,
    )
    shown = INDIRECT_FACTOR if fact.evidence_level == EvidenceLevel.INDIRECT else 1.0
    return ServedFact(
        id=fact.id,
        version=revision.version,
        scope=fact.scope.path,
        subject=fact.subject.key,
        statement=fact.statement,
        predicate=fact.predicate,
        value=fact.value,
        qualifiers=revision.qualifiers,
        category=fact.category,
        kind=fact.kind,
        form=revision.form,
        status=revision.status,
        sensitivity=revision.sensitivity,
        confidence=round(revision.confidence * shown, 4),
        evidence_level=fact.evidence_level,
        origin_trust=fact.origin_trust,
        volatility=revision.volatility,
        valid_from=revision.valid_from,
        valid_to=revision.valid_to,
        last_confirmed=confirmed,
        freshness=freshness(volatility=revision.volatility, confirmed_at=confirmed, at=trace.question_time),
        possibly_conflicting=fact.possibly_conflicting,
        source_event_ids=sources,
        score=score,
    )


def served_passages(trace: Trace, decisions: dict[uuid.UUID, dict], readable: QuerySet[Passage]) -> list[ServedPassage]:
    """Return the passages of these decisions in their order, as far as they are ``readable`` and not withdrawn."""
    rows = readable.filter(
        account_id=trace.account_id, pk__in=list(decisions), event__withdrawn_at__isnull=True
    ).select_related("event")
    return [
        ServedPassage(
            id=row.id,
            event_id=row.event_id,
            kind=row.event.kind,
            speaker=row.speaker_name,
            text=row.text,
            occurred_at=row.occurred_at,
            origin_trust=row.event.origin_trust,
            evidential=row.evidential,
            score=decisions[row.id]["fusion_score"],
        )
        for row in sorted(rows, key=lambda row: (decisions[row.id]["rank"] or len(trace.decisions), row.occurred_at))
    ]
