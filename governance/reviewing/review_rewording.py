"""The decisions about reviews that bring evidence elsewhere: other words, another fact, a named subject."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from facts import lifecycle, withholding
from facts.candidates import Candidate
from facts.canonical import has_control_characters, normalise_text
from facts.clock import now
from facts.conflict_sets import is_contested
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.models import Event, Evidence, Fact, Passage, Relation, Subject
from facts.vocabulary import EvidenceLevel, OriginTrust, RelationKind, SourceType, Status
from governance.placement import Placement, Result, Submission, reinforce, submit
from governance.reviewing import unresolved
from governance.reviewing.review_opening import Opened

#: Longest statement that a person may type, in characters: a fact is one sentence.
STATEMENT_LENGTH = 1_000
#: How a person's statement is told from an extractor's.
BY_A_PERSON = "person"

#: What another fact can be merged into: what is believed, or waits for the same people.
_TAKES_EVIDENCE = frozenset({Status.ACTIVE, Status.PROVISIONAL, Status.HELD})
#: Statuses of a fact that never took effect.
_NEVER_CURRENT = frozenset({Status.CANDIDATE, Status.PROVISIONAL, Status.HELD})


def reword(opened: Opened, fact: Fact, *, statement: str, value: Mapping[str, Any] | None) -> None:
    """Retire ``fact`` and submit a new one in the person's words, with the evidence of the old one beside theirs.

    Raises what :func:`governance.reviewing.reviews.edit` says.
    """
    words = _checked(statement)
    claimed = fact.value if value is None else dict(value)
    if words == fact.statement and claimed == fact.value:
        raise DomainError("That is what it says already.", code="edit_changes_nothing", field="statement")
    if claimed is not None and not claimed:
        raise DomainError("A claim has a value.", code="invalid_payload", field="value")
    own_evidence = list(Evidence.objects.filter(account_id=fact.account_id, fact=fact))
    _retire(opened, fact, action="review.edited")
    event = _statement_event(opened, fact, words)
    candidate = Candidate(
        statement=words,
        quote=words,
        confidence=1.0,
        category=fact.category,
        kind=fact.kind,
        form=fact.form,
        predicate=fact.predicate,
        value=claimed,
        qualifiers=fact.qualifiers,
        denies=fact.denies,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        start_stated=not fact.start_assumed,
        end_stated=fact.valid_to is not None,
        volatility=fact.volatility,
        sensitivity=fact.sensitivity,
    )
    placed = _submit(opened, event, None, fact.subject, candidate)
    new = Fact.objects.get(account_id=fact.account_id, pk=placed.fact_id)
    _give_evidence(own_evidence, new)
    withholding.refresh(fact.account_id, [new.id])
    _supersedes(new, fact.id)


def join(opened: Opened, fact: Fact, *, into: uuid.UUID) -> None:
    """Give ``into`` the evidence of ``fact``, count its sources anew, and let it supersede ``fact``.

    Raises what :func:`governance.reviewing.reviews.merge` says.
    """
    target = (
        Fact.objects.select_for_update()
        .filter(account_id=fact.account_id, scope_id=fact.scope_id, subject_id=fact.subject_id, pk=into)
        .first()
    )
    if target is None:
        raise NotFound("There is no such fact about the same subject here.", code="fact_not_found", field="into")
    if target.id == fact.id or target.status not in _TAKES_EVIDENCE or is_contested(target):
        raise Conflicting("Nothing can be merged into that fact.", code="merge_target_unfit", field="into")
    given = _give_evidence(Evidence.objects.filter(account_id=fact.account_id, fact=fact), target)
    _retire(opened, fact, action="review.merged")
    _supersedes(target, fact.id)
    latest = max((one.event.occurred_at for one in given), default=None)
    if latest is not None:
        reinforce(target, latest, actor=opened.actor, reason="merged", group=opened.group)
    opened.detail |= {"into": str(target.id), "evidence": sorted(str(one.id) for one in given)}


def merge_targets(fact: Fact) -> QuerySet[Fact]:
    """Return the facts into which ``fact`` could be merged, the newest first."""
    beside = Fact.objects.filter(
        account_id=fact.account_id, scope_id=fact.scope_id, subject_id=fact.subject_id, status__in=_TAKES_EVIDENCE
    )
    return beside.exclude(pk=fact.pk).order_by("-id")


def attribute(opened: Opened, event: Event, *, subject: Subject) -> None:
    """Submit what a review keeps of a statement, as one about the named subject, whose lock the caller holds.

    Raises what :func:`governance.reviewing.reviews.name_subject` says.
    """
    opened.place = (event.scope_id, subject.id)
    candidate = unresolved.candidate_of(opened.review.detail)
    passages = Passage.objects.filter(account_id=event.account_id, event=event).order_by("ordinal")
    cited = next((passage for passage in passages if candidate.quote in passage.text), None)
    known = set(_evidence_of(event))
    placed = _submit(opened, event, cited, subject, candidate)
    opened.detail |= {
        "fact": str(placed.fact_id),
        "evidence": sorted(str(pk) for pk in set(_evidence_of(event)) - known),
    }


def _checked(statement: str) -> str:
    words = normalise_text(statement)
    if not words:
        raise DomainError("A fact needs a statement.", code="statement_missing", field="statement")
    if len(words) > STATEMENT_LENGTH or has_control_characters(words):
        raise DomainError(
            f"A statement is one line of at most {STATEMENT_LENGTH} characters.",
            code="invalid_payload",
            field="statement",
        )
    return words


def _statement_event(opened: Opened, fact: Fact, words: str) -> Event:
    """Record what the person stated. It has no passage: its words are read as the fact, once that is placed."""
    event_id = new_id()
    digest = hashlib.sha256(words.encode()).hexdigest()
    return Event.objects.create(
        id=event_id,
        account_id=fact.account_id,
        scope_id=fact.scope_id,
        subject_id=fact.subject_id,
        speaker_id=opened.actor.subject_id,
        source_key=f"review:{opened.review.id}:{event_id}",
        kind="review.edit",
        source_type=SourceType.ADMIN_INPUT,
        payload={"text": words},
        text=words,
        human=True,
        occurred_at=opened.at,
        processed_at=now(),
        content_hash=f"sha256:{digest}",
        origin_trust=OriginTrust.TRUSTED,
        sensitivity=fact.sensitivity,
    )


def _submit(opened: Opened, event: Event, passage: Passage | None, subject: Subject, candidate: Candidate) -> Placement:
    speaks_of_itself = event.speaker_id == subject.id
    placed = submit(
        Submission(
            event=event,
            passage=passage,
            subject=subject,
            candidate=candidate,
            evidence_level=EvidenceLevel.DIRECT if speaks_of_itself else EvidenceLevel.INDIRECT,
            provider=BY_A_PERSON,
            model="",
            prompt_version="",
        ),
        actor=opened.actor,
        group=opened.group,
    )
    if placed.result is Result.REJECTED and placed.fact_id is None:
        raise Conflicting("What was forgotten or rejected is not said again.", code="suppressed")
    return placed


def _retire(opened: Opened, fact: Fact, *, action: str) -> None:
    """Let a fact that waited make room: one that never took effect has an empty interval, another ends now."""
    end = fact.valid_from if fact.status in _NEVER_CURRENT else max(opened.at, fact.valid_from or opened.at)
    if fact.valid_to is not None and end is not None:
        end = min(end, fact.valid_to)
    lifecycle.transition(
        fact.id,
        account_id=fact.account_id,
        to=Status.SUPERSEDED,
        action=action,
        changes={"valid_to": end} if end else {},
        **opened.by,
    )


def _give_evidence(evidence: Any, target: Fact) -> list[Evidence]:
    """Copy what the target does not cite yet: a fact keeps its own evidence, so that a decision can be taken back."""
    known = set(Evidence.objects.filter(account_id=target.account_id, fact=target).values_list("event_id", flat=True))
    return [
        Evidence.objects.create(
            account_id=target.account_id,
            fact=target,
            event=one.event,
            passage_id=one.passage_id,
            quote=one.quote,
            human=one.human,
        )
        for one in evidence
        if one.event_id not in known
    ]


def _evidence_of(event: Event) -> list[uuid.UUID]:
    return list(Evidence.objects.filter(account_id=event.account_id, event=event).values_list("id", flat=True))


def _supersedes(newer: Fact, older_id: uuid.UUID) -> None:
    Relation.objects.get_or_create(
        account_id=newer.account_id, source_id=newer.id, target_id=older_id, kind=RelationKind.SUPERSEDES
    )
