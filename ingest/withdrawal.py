"""What is taken back at its source: deleted messages, and what an edited message no longer says.

A fact that another message supports as well keeps standing on that one. A fact that nothing else supports is
withdrawn (``retracted``, which says nothing of its truth); where an edit states something else in its place it is
superseded, with an interval that is empty: it was never what the message means.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts import audit, index, lifecycle
from facts.actors import Actor
from facts.candidates import Candidate
from facts.canonical import normalise_text
from facts.claims import make_claim
from facts.clock import now
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Event, Evidence, Fact, Passage, Relation, Subject
from facts.status_graph import FINAL, LIVE
from facts.vocabulary import RelationKind, Status
from governance.reviewing.reviews import withdraw_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """What a deletion came to: facts that were withdrawn, and facts that other messages go on supporting."""

    facts_withdrawn: int
    facts_kept: int


def withdraw(account_id: uuid.UUID, source_key: str, *, actor: Actor, reason: str) -> Withdrawal | None:
    """Take back a message with all its revisions; ``None`` when it is unknown or was taken back before.

    Its words are kept, served nowhere, until retention or erasure removes them. Runs in the caller's account
    transaction, at its start: it waits for whoever writes facts of the same subjects.
    """
    # Locked as when an event is written up: events, then subjects, then the audit chain. Nothing may come of a message
    # any more once it is taken back.
    revisions = Event.objects.select_for_update(no_key=True).filter(account_id=account_id, source_key=source_key)
    events = list(revisions.order_by("revision"))
    if not events or events[-1].withdrawn_at is not None:
        return None
    group = new_id()
    facts = _locked(_facts_of(events))
    hide(events)
    lonely = [fact for fact in facts if not _stands_on_others(fact, source_key)]
    for fact in lonely:
        _end(fact, to=Status.RETRACTED, actor=actor, action="source.deleted", reason=reason, group=group)
    kept = [fact for fact in facts if fact not in lonely]
    for fact in kept:
        _unlink(fact, events, actor=actor, action="source.deleted", reason=reason, group=group)
    audit.record(
        account_id,
        action="event.withdrawn",
        object_type="event",
        object_id=events[-1].id,
        actor=actor,
        group=group,
        metadata={"revisions": len(events), "facts_withdrawn": len(lonely), "facts_kept": len(kept)},
    )
    return Withdrawal(facts_withdrawn=len(lonely), facts_kept=len(kept))


def hide(events: Iterable[Event]) -> None:
    """Mark events as withdrawn: their words are neither served, nor read for facts, nor shown as context."""
    for event in events:
        Event.objects.filter(account_id=event.account_id, pk=event.pk, withdrawn_at__isnull=True).update(
            withdrawn_at=now()
        )
        passages = Passage.objects.filter(account_id=event.account_id, event_id=event.id)
        index.sync_passages(event.account_id, list(passages.values_list("id", flat=True)))


def stated_before(event: Event) -> set[tuple[uuid.UUID, uuid.UUID]]:
    """Return (scope, subject) of the facts that cite earlier revisions of a message: what an edit may end."""
    return {(fact.scope_id, fact.subject_id) for fact in _facts_of(_earlier_revisions(event))}


def settle_edit(
    event: Event, candidates: Sequence[Candidate], subjects: Sequence[Subject | None], *, actor: Actor
) -> Mapping[int, Sequence[uuid.UUID]]:
    """End what earlier revisions of a message stated and this one does not, before its candidates are placed.

    Returns, by position of a candidate, the facts in whose place it comes (see :func:`note_successor`). The caller
    holds the locks of the subjects (:func:`stated_before`).
    """
    earlier = _earlier_revisions(event)
    facts = [fact for fact in _locked(_facts_of(earlier)) if fact.status in LIVE]
    stated = [
        _Stated.of_candidate(candidate, subject)
        for candidate, subject in zip(candidates, subjects, strict=True)
        if subject is not None
    ]
    positions = [position for position, subject in enumerate(subjects) if subject is not None]
    replaced: dict[int, list[uuid.UUID]] = {}
    group = new_id()
    for fact in facts:
        before = _Stated.of_fact(fact)
        if any(before.says_the_same(now_stated) for now_stated in stated):
            continue
        common = {"actor": actor, "action": "source.edited", "reason": "edited at its source", "group": group}
        if _stands_on_others(fact, event.source_key):
            _unlink(fact, earlier, **common)
            continue
        successor = next((position for position, s in zip(positions, stated, strict=True) if s.replaces(before)), None)
        if successor is None:
            _end(fact, to=Status.RETRACTED, **common)
            continue
        ends_at = fact.valid_from or event.occurred_at
        _end(fact, to=Status.SUPERSEDED, changes={"valid_from": ends_at, "valid_to": ends_at}, **common)
        replaced.setdefault(successor, []).append(fact.id)
    return replaced


def note_successor(account_id: uuid.UUID, fact_id: uuid.UUID | None, replaced: Iterable[uuid.UUID]) -> None:
    """Record that a fact came in the place of others; ``None``: its candidate was refused."""
    if fact_id is None:
        return
    for old_id in replaced:
        Relation.objects.get_or_create(
            account_id=account_id, source_id=fact_id, target_id=old_id, kind=RelationKind.SUPERSEDES
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """A statement as far as two revisions of one message are compared by it."""

    subject_id: uuid.UUID
    statement: str
    identity: str
    value: str
    category: str

    @classmethod
    def of_fact(cls, fact: Fact) -> _Stated:
        return cls(
            subject_id=fact.subject_id,
            statement=normalise_text(fact.statement),
            identity=fact.identity_key,
            value=fact.value_key,
            category=fact.category,
        )

    @classmethod
    def of_candidate(cls, candidate: Candidate, subject: Subject) -> _Stated:
        claim = make_claim(
            statement_hash="",
            predicate=candidate.predicate,
            value=candidate.value if candidate.has_claim else None,
            qualifiers=candidate.qualifiers,
            denies=candidate.denies,
            form=candidate.form,
        )
        return cls(
            subject_id=subject.id,
            statement=normalise_text(candidate.statement),
            identity=claim.identity_key,
            value=claim.value_key,
            category=candidate.category,
        )

    def says_the_same(self, other: _Stated) -> bool:
        """Tell whether both make the same claim, or the same statement, about the same subject."""
        if self.subject_id != other.subject_id:
            return False
        same_claim = bool(self.identity) and (self.identity, self.value) == (other.identity, other.value)
        return same_claim or self.statement == other.statement

    def replaces(self, other: _Stated) -> bool:
        """Tell whether this comes in the place of ``other``: another value of it, or another thing of its sort."""
        if self.subject_id != other.subject_id:
            return False
        if self.identity and other.identity:
            return self.identity == other.identity
        return not self.identity and not other.identity and self.category == other.category


def _earlier_revisions(event: Event) -> list[Event]:
    if event.revision == 1:
        return []
    return list(
        Event.objects.filter(account_id=event.account_id, source_key=event.source_key, revision__lt=event.revision)
    )


def _facts_of(events: Iterable[Event]) -> list[Fact]:
    """Return the facts that cite any of these events and are not gone for good."""
    events = list(events)
    if not events:
        return []
    cited = Evidence.objects.filter(
        account_id__in={event.account_id for event in events}, event_id__in=[event.id for event in events]
    )
    facts = Fact.objects.filter(pk__in=cited.values("fact_id")).exclude(status__in=FINAL)
    return list(facts.order_by("id"))


def _locked(facts: Sequence[Fact]) -> list[Fact]:
    """Lock the subjects of these facts, in one order for everybody, and return the facts as they are then."""
    for scope_id, subject_id in sorted({(fact.scope_id, fact.subject_id) for fact in facts}):
        lock_subject(scope_id, subject_id)
    for fact in facts:
        fact.refresh_from_db()
    return [fact for fact in facts if fact.status not in FINAL]


def _stands_on_others(fact: Fact, source_key: str) -> bool:
    """Tell whether a message of another source supports a fact, and stands itself."""
    evidence = Evidence.objects.filter(account_id=fact.account_id, fact=fact, event__withdrawn_at__isnull=True)
    return evidence.exclude(event__source_key=source_key).exists()


def _end(
    fact: Fact,
    *,
    to: str,
    actor: Actor,
    action: str,
    reason: str,
    group: uuid.UUID,
    changes: Mapping[str, Any] | None = None,
) -> None:
    lifecycle.transition(
        fact.id,
        account_id=fact.account_id,
        to=to,
        actor=actor,
        action=action,
        reason=reason,
        changes=changes,
        group=group,
    )
    withdraw_for([fact.id], account_id=fact.account_id, actor=actor)


def _unlink(fact: Fact, events: Sequence[Event], *, actor: Actor, action: str, reason: str, group: uuid.UUID) -> None:
    """Let a fact stand on its other sources alone, and count those anew."""
    evidence = Evidence.objects.filter(account_id=fact.account_id, fact=fact)
    evidence.filter(event_id__in=[event.id for event in events]).delete()
    sources = evidence.filter(human=True, event__withdrawn_at__isnull=True)
    lifecycle.amend(
        fact.id,
        account_id=fact.account_id,
        actor=actor,
        action=action,
        changes={"corroboration": sources.values("event__source_key").distinct().count()},
        reason=reason,
        group=group,
    )
