"""Reading as somebody else to see what they would be told: who may look through whose eyes, and what they are shown.

Two borders hold at once. The read itself is the other's: their scopes, as far as the person decides there, and the
audience rule for them. What comes of it is shown only as far as the person may see it themselves: what is restricted
stays hidden unless it was granted. Looking through somebody else's eyes is put down in the audit chain.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from facts import audit
from facts.audience import Posture, Reader
from facts.errors import DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import IndexedUnit, Membership, Passage, Scope, Subject
from facts.tenancy import account_transaction, get_subject, normalise_path
from governance import access
from governance.access import PEER_KINDS, Principal
from governance.models import Role
from memory_site.admin_pages.sight import Sight
from retrieval.ask import answering, prompt
from retrieval.ask.asking import AskAnswer, ask
from retrieval.ask.request import AskRequest
from retrieval.context import rendering
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.context.packet import Packet, ServedCard
from retrieval.models import ProfileName, Trace, TraceKind
from retrieval.places import Place
from retrieval.profiles.shipped import CONTEXT, SEARCH
from retrieval.search.answer import SearchAnswer
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search

PURPOSE = "playground"
#: What the audit chain says when somebody read as another.
INSPECTED = "read.inspected"


class Call(StrEnum):
    """Which of the three reads is tried."""

    CONTEXT = "context"
    SEARCH = "search"
    ASK = "ask"


class As(StrEnum):
    """Through whose eyes: one's own, those of a named peer, or those of nobody, who sees what is public."""

    SELF = "self"
    PEER = "peer"
    PUBLIC = "public"


#: Profiles that can be chosen beside the usual one of the scope.
BUILT_IN = "built_in"
PROFILES = (ProfileName.FAST, ProfileName.BALANCED, ProfileName.THOROUGH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is tried. ``budget``: tokens of a context call, else the number of results."""

    call: Call
    query: str
    scope_path: str
    read_as: As = As.SELF
    peer_key: str = ""
    subject_key: str = ""
    profile: str = ""
    budget: int
    as_of: datetime | None = None
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was served, as far as it is shown."""

    unit: str
    id: uuid.UUID
    text: str
    note: str
    score: float | None
    address_id: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of it. ``hidden`` counts what the reader would be told and the person may not read.

    ``answer`` and ``prompt`` are empty where there is none, or where they rest on something hidden.
    """

    trace: Trace
    reader: str
    cards: Sequence[ServedCard]
    items: Sequence[Item]
    hidden: int
    warnings: Sequence[str]
    empty_reason: str
    prompt: str
    answer: str
    confidence: int | None
    worded_by_model: bool


def try_out(principal: Principal, question: Question) -> Tried:
    """Ask a question as somebody and return what they would be told, as far as the person may see it.

    Runs outside of any transaction, because a model may be asked. The trace is of the kind ``preview``, which enters no
    figures. Raises ``DomainError``: ``peer_not_found``, ``unknown_scope``, ``unknown_profile``, and whatever the read
    itself refuses; ``Refused`` (``forbidden_scope``) where the person may not read as another.
    """
    with account_transaction(principal.account_id):
        place, peer = _place(Sight(principal), question)
    match question.call:
        case Call.CONTEXT:
            answer = assemble(
                principal=principal,
                request=_context_request(question),
                profile=CONTEXT if question.profile == BUILT_IN else None,
                place=place,
                kind=TraceKind.PREVIEW,
            )
        case Call.SEARCH:
            answer = search(
                principal=principal,
                request=_search_request(question),
                profile=_built_in(question),
                kind=TraceKind.PREVIEW,
                place=place,
            )
        case Call.ASK:
            request = AskRequest(search=replace(_search_request(question), units=(IndexedUnit.FACT,)))
            answer = ask(principal=principal, request=request, place=place, kind=TraceKind.PREVIEW)
    with account_transaction(principal.account_id):
        if peer is not None:
            _put_down(principal, peer, question, answer.trace_id)
        # Seen anew: a fact may have been forgotten or made stricter while a model worked.
        return _shown(Sight(principal), question, answer, _reader(question, peer))


def _place(eyes: Sight, question: Question) -> tuple[Place, Subject | None]:
    """Return where and as whom is read, and the peer whose eyes are borrowed."""
    path = normalise_path(question.scope_path)
    principal = eyes.principal
    exact = question.subject_key != ""
    scopes = access.readable_scopes(principal, path, exact=exact)
    if not any(scope.path == path for scope in scopes):
        raise DomainError("There is no such scope, or none that you may read.", code="unknown_scope", field="scope")
    subject = get_subject(principal.account_id, key=question.subject_key) if question.subject_key else None
    peer = None
    match question.read_as:
        case As.SELF:
            reader = eyes.reader
        case As.PUBLIC:
            reader = Reader(posture=Posture.PUBLIC_ONLY)
        case As.PEER:
            peer = _peer(eyes, question.peer_key)
            reader, scopes = _as_peer(principal, peer, scopes, path)
    return Place(path=path, scopes=tuple(scopes), subject=subject, reader=reader), peer


def _peer(eyes: Sight, key: str) -> Subject:
    """Return the peer of that key, of whom the person knows."""
    peer = eyes.subjects().filter(key=key, kind__in=PEER_KINDS).order_by("id").first() if key else None
    if peer is None:
        raise NotFound("You know no person or agent of that key.", code="peer_not_found", field="peer")
    return peer


def _as_peer(principal: Principal, peer: Subject, scopes: Iterable[Scope], path: str) -> tuple[Reader, list[Scope]]:
    """Return the peer as a reader, and those of the scopes that both they and the person may look at.

    Somebody who signs in reads where they were granted it; who only has applications reading for them has no grants.
    """
    curated = access.curated_scopes(principal, scopes)
    if not any(scope.path == path for scope in curated):
        message = "Only who decides in a scope may read there as somebody else."
        raise Refused(message, code="forbidden_scope", field="scope")
    member = Membership.objects.select_related("user").filter(account_id=peer.account_id, subject=peer).first()
    if member is None:
        return Reader(posture=Posture.PEER, subject_id=peer.id), curated
    them = access.person(member)
    return access.resolve_reader(them), [scope for scope in curated if access.role_at(them, scope.path) is not None]


def _context_request(question: Question) -> ContextRequest:
    if question.profile not in {"", BUILT_IN}:
        message = "A context call has one profile: choose the usual one, or as built in."
        raise DomainError(message, code="unknown_profile", field="profile")
    return ContextRequest(**_asked(question), budget=question.budget)


def _search_request(question: Question) -> SearchRequest:
    named = question.profile in set(PROFILES)
    return SearchRequest(
        **_asked(question), limit=question.budget, profile=question.profile if named else _usual(question).value
    )


def _asked(question: Question) -> dict[str, object]:
    return {
        "scope_path": question.scope_path,
        "exact": question.subject_key != "",
        "subject_key": question.subject_key,
        "query": question.query,
        "purpose": PURPOSE,
        "as_of": question.as_of,
        "known_at": question.known_at,
    }


def _usual(question: Question) -> ProfileName:
    return ProfileName.THOROUGH if question.call is Call.ASK else ProfileName.BALANCED


def _built_in(question: Question):
    return SEARCH[_usual(question)] if question.profile == BUILT_IN else None


def _put_down(principal: Principal, peer: Subject, question: Question, trace_id: uuid.UUID | None) -> None:
    """Note who read as whom; the trace, which is named, holds the rest."""
    audit.record(
        principal.account_id,
        action=INSPECTED,
        object_type="subject",
        object_id=peer.id,
        actor=principal.actor,
        group=new_id(),
        metadata={"call": question.call.value, "trace": str(trace_id)},
    )


def _reader(question: Question, peer: Subject | None) -> str:
    if peer is not None:
        return peer.display_name
    return "nobody: public facts only" if question.read_as is As.PUBLIC else "yourself"


def _shown(eyes: Sight, question: Question, answer: ContextAnswer | SearchAnswer | AskAnswer, reader: str) -> Tried:
    trace = Trace.objects.get(account_id=eyes.principal.account_id, pk=answer.trace_id)
    if isinstance(answer, ContextAnswer):
        return _shown_packet(eyes, trace, answer, reader)
    base = answer.base if isinstance(answer, AskAnswer) else answer
    items = [
        Item(
            unit=found.unit.value,
            id=found.id,
            text=found.text,
            note=f"about {found.subject} in {found.scope}",
            score=found.fusion_score,
            address_id=found.id if found.fact else found.passage.event_id,
        )
        for found in base.results
    ]
    offered = list(answer.offered) if isinstance(answer, AskAnswer) else []
    readable = _Readable(eyes, [item.id for item in items] + [one.key.id for one in offered])
    shown = [item for item in items if readable.is_open(item.id)]
    whole = isinstance(answer, AskAnswer) and all(readable.is_open(one.key.id) for one in offered)
    return Tried(
        trace=trace,
        reader=reader,
        cards=[],
        items=shown,
        hidden=len(items) - len(shown),
        warnings=list(base.warnings),
        empty_reason=base.empty_reason or "",
        prompt=_prompt(question, answer) if whole else "",
        answer=answer.verdict.answer if whole else "",
        confidence=answer.verdict.confidence if whole else None,
        worded_by_model=answering.configured() is not None,
    )


def _prompt(question: Question, answer: AskAnswer) -> str:
    rendered = prompt.render(question=question.query, evidence=answer.offered, reference_time=answer.reference_time)
    return f"{prompt.SYSTEM}\n\n{rendered}"


def _shown_packet(eyes: Sight, trace: Trace, answer: ContextAnswer, reader: str) -> Tried:
    packet = answer.packet
    cited = [fact_id for card in packet.cards for line in card.lines for fact_id in line.facts]
    ids = [fact.id for fact in packet.facts] + [passage.id for passage in packet.passages]
    readable = _Readable(eyes, ids + cited)
    facts = [fact for fact in packet.facts if readable.is_open(fact.id)]
    passages = [passage for passage in packet.passages if readable.is_open(passage.id)]
    cards = [card for card in packet.cards if all(map(readable.is_open, _cited(card)))]
    shown = Packet(
        cards=cards,
        facts=facts,
        passages=passages,
        warnings=packet.warnings,
        status=packet.status,
        empty_reason=packet.empty_reason,
    )
    items = [
        Item(
            unit="fact",
            id=fact.id,
            text=fact.statement,
            note=f"about {fact.subject} in {fact.scope}",
            score=fact.score,
            address_id=fact.id,
        )
        for fact in facts
    ]
    items += [
        Item(
            unit="passage",
            id=passage.id,
            text=passage.text,
            note=f"said by {passage.speaker}" if passage.speaker else "",
            score=passage.score,
            address_id=passage.event_id,
        )
        for passage in passages
    ]
    everything = len(packet.facts) + len(packet.passages) + len(packet.cards)
    return Tried(
        trace=trace,
        reader=reader,
        cards=cards,
        items=items,
        hidden=everything - len(items) - len(cards),
        warnings=list(packet.warnings),
        empty_reason=packet.empty_reason or "",
        prompt=rendering.block(shown),
        answer="",
        confidence=None,
        worded_by_model=False,
    )


def _cited(card: ServedCard) -> list[uuid.UUID]:
    return [fact_id for line in card.lines for fact_id in line.facts]


class _Readable:
    """Which of some facts and passages a person may read, looked up in two queries."""

    def __init__(self, eyes: Sight, ids: Sequence[uuid.UUID]) -> None:
        owned: Mapping[str, object] = {"account_id": eyes.principal.account_id, "pk__in": set(ids)}
        facts = eyes.facts().filter(pk__in=set(ids), readable=True).values_list("pk", flat=True)
        passages = Passage.objects.filter(**owned, event__in=eyes.events()).values_list("pk", flat=True)
        self._ids = {*facts, *passages}

    def is_open(self, pk: uuid.UUID) -> bool:
        """Tell whether the person may read it."""
        return pk in self._ids


def may_read_as_others(eyes: Sight) -> bool:
    """Tell whether there is any scope in which the person may look through somebody else's eyes."""
    return eyes.is_curator


def may_keep_questions(eyes: Sight) -> bool:
    """Tell whether the person may store a question for looks at changes of profiles."""
    return eyes.has_role_at_root(Role.ACCOUNT_ADMIN)
