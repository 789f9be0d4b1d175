"""What people and their tools state by hand: one event of the kind ``admin_input``, and one fact through the gates."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime

from facts import audit
from facts.actors import Actor
from facts.candidates import Candidate
from facts.canonical import has_control_characters, normalise_text
from facts.clock import now
from facts.errors import DomainError
from facts.ids import new_id
from facts.models import Event, Fact, Scope, Subject
from facts.tenancy import account_transaction, ensure_scope, ensure_subject
from facts.vocabulary import Category, EvidenceLevel, Form, OriginTrust, Sensitivity, SourceType, SubjectKind
from governance import placement
from governance.access import Delegation, Principal, Role, check_limit, require_authority
from governance.placement import Placement, Submission
from ingest.extraction import checks
from ingest.observations import EARLIEST, FUTURE_SLACK

#: Characters of a statement.
MAX_STATEMENT = 1_000
#: What is stated as a fact (calibration of the Mako seed: 0.9 and more), and below which nothing is kept.
CONFIDENCE = 0.9
#: Names the way by which it came; kept on the facts like any extractor.
_SOURCE = ("manual", "person", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One observation stated by hand. ``stated_on`` is when it held; ``None``: now."""

    scope: str
    subject_kind: str
    subject: str
    words: str
    category: str = Category.GENERAL
    confidence: float = CONFIDENCE
    source_url: str = ""
    stated_on: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What became of it: the event, the placement, and the fact concerned, if there is one."""

    event: Event
    placement: Placement
    fact: Fact | None


def state(principal: Principal, statement: Statement) -> Stated:
    """Keep a statement and submit it to the gates.

    Raises ``Refused`` (``human_required`` for a key to which nobody delegated ``observe``, ``forbidden_scope``) and
    ``DomainError`` (``statement_missing``, ``invalid_payload``, ``invalid_subject``, ``invalid_scope``,
    ``impossible_date``).
    """
    words = _checked(statement.words)
    if statement.stated_on is not None and not EARLIEST <= statement.stated_on <= now() + FUTURE_SLACK:
        raise DomainError("It held after 1970 and not in the future.", code="impossible_date", field="sourceDate")
    check_limit(principal, statement.scope)
    actor = require_authority(principal, Delegation.OBSERVE, path=statement.scope, at_least=Role.MEMBER)
    with account_transaction(principal.account_id):
        scope = ensure_scope(principal.account_id, statement.scope)
        subject = ensure_subject(principal.account_id, kind=statement.subject_kind, key=statement.subject)
        event = _event(statement, words, scope=scope, subject=subject, actor=actor)
        provider, model, version = _SOURCE
        placed = placement.submit(
            Submission(
                event=event,
                passage=None,
                subject=subject,
                candidate=Candidate(
                    statement=words,
                    quote=words,
                    confidence=statement.confidence,
                    category=statement.category,
                    form=Form.EVENT,
                ),
                evidence_level=EvidenceLevel.DIRECT if event.speaker_id == subject.id else EvidenceLevel.INDIRECT,
                provider=provider,
                model=model,
                prompt_version=version,
            ),
            actor=actor,
        )
        audit.record(
            principal.account_id,
            action="observation.stated",
            object_type="event",
            object_id=event.id,
            actor=actor,
            group=new_id(),
            metadata={"result": placed.result, "reason": placed.reason},
        )
        return Stated(event=event, placement=placed, fact=_fact(principal.account_id, placed.fact_id))


def _event(statement: Statement, words: str, *, scope: Scope, subject: Subject, actor: Actor) -> Event:
    event_id, at = new_id(), now()
    personal = subject.kind in {SubjectKind.PERSON, SubjectKind.AGENT}
    return Event.objects.create(
        id=event_id,
        account_id=scope.account_id,
        scope=scope,
        subject=subject,
        speaker_id=actor.subject_id,
        source_key=f"manual:{event_id}",
        kind="manual.observation",
        source_type=SourceType.ADMIN_INPUT,
        payload={"text": words},
        text=words,
        human=True,
        occurred_at=statement.stated_on or at,
        processed_at=at,
        content_hash=f"sha256:{hashlib.sha256(words.encode()).hexdigest()}",
        origin_trust=OriginTrust.TRUSTED,
        sensitivity=Sensitivity.PERSONAL if personal else Sensitivity.INTERNAL,
        urls=[statement.source_url] if statement.source_url else [],
    )


def _fact(account_id: uuid.UUID, fact_id: uuid.UUID | None) -> Fact | None:
    if fact_id is None:
        return None
    return Fact.objects.select_related("scope", "subject").get(account_id=account_id, pk=fact_id)


def _checked(text: str) -> str:
    words = normalise_text(text)
    if not words:
        raise DomainError("A fact needs a statement.", code="statement_missing", field="observation")
    if len(words) > MAX_STATEMENT or has_control_characters(words):
        raise DomainError(f"An observation is one line of at most {MAX_STATEMENT} characters.", field="observation")
    if checks.is_directive(words):
        raise DomainError("An observation states something; it gives no orders to its reader.", field="observation")
    return words
