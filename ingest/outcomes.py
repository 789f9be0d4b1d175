"""What became of an event: writing it down, looking it up, and trying again what failed."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from facts import audit, jobs
from facts.actors import Actor
from facts.audience import may_see
from facts.clock import now
from facts.errors import NotFound
from facts.ids import new_id
from facts.models import Event, Job, Passage
from facts.models.evidence import Withheld
from facts.models.records import JobStatus
from facts.vocabulary import SENSITIVITY_RANK, Level, Sensitivity, SubjectKind
from governance.access import Principal, Right, Role, has_role, require_right, resolve_reader, role_at, within_limit
from ingest import reasons
from ingest.extraction import ExtractorIdentity
from ingest.models import CandidateOutcome, CandidateResult, EventOutcome, OutcomeResult


@dataclass(slots=True)
class Tally:
    """The candidates of one event, collected in the order in which they were read."""

    rows: list[CandidateOutcome] = field(default_factory=list)

    def add(
        self, *, result: str, reason: str, statement: str = "", quote: str = "", fact_id: uuid.UUID | None = None
    ) -> None:
        """Note what became of one candidate; text is kept only where no fact holds it."""
        self.rows.append(
            CandidateOutcome(
                ordinal=len(self.rows),
                result=result,
                reason=reason[:64],
                statement="" if fact_id else statement,
                quote="" if fact_id else quote,
                fact_id=fact_id,
            )
        )

    @property
    def result(self) -> str:
        """What the event as a whole came to."""
        found = {row.result for row in self.rows}
        if CandidateResult.FACT in found:
            return OutcomeResult.FACTS
        if CandidateResult.DUPLICATE in found:
            return OutcomeResult.DUPLICATE
        return OutcomeResult.REJECTED if found else OutcomeResult.NOTHING


def record(outcome: EventOutcome, tally: Tally, *, identity: ExtractorIdentity, reason: str = "") -> None:
    """Close an outcome with its candidates, in the caller's transaction."""
    for row in tally.rows:
        row.account_id, row.outcome_id = outcome.account_id, outcome.id
    CandidateOutcome.objects.bulk_create(tally.rows)
    outcome.result = tally.result
    outcome.reason = reason if outcome.result == OutcomeResult.NOTHING else ""
    outcome.counts = dict(Counter(str(row.result) for row in tally.rows))
    outcome.provider, outcome.model = identity.provider, identity.model
    outcome.prompt_version = identity.prompt_version
    outcome.error_class, outcome.finished_at = "", now()
    outcome.save()


def record_delay(outcome: EventOutcome, *, error_class: str, reason: str) -> None:
    """Note why an event has to wait although nothing is wrong with it."""
    outcome.error_class, outcome.reason = error_class[:128], reason
    outcome.save(update_fields=["error_class", "reason"])


def record_delay_of_batch(account_id: uuid.UUID, batch_id: uuid.UUID, *, error_class: str, reason: str) -> None:
    """Do :func:`record_delay` for all messages that wait for a batch to be read."""
    waiting = EventOutcome.objects.filter(
        account_id=account_id, batch_id=batch_id, waits_for_batch=True, result=OutcomeResult.PENDING
    )
    waiting.update(error_class=error_class[:128], reason=reason)


def record_failure(outcome: EventOutcome, *, error_class: str, given_up: bool) -> None:
    """Note a failed try; ``given_up``: it was the last one, and only a person starts another."""
    outcome.error_class = error_class[:128]
    outcome.reason = reasons.EXTRACTION_FAILED
    if given_up:
        outcome.result, outcome.finished_at = OutcomeResult.FAILED, now()
    outcome.save(update_fields=["error_class", "reason", "result", "finished_at"])


def reopen(outcome: EventOutcome) -> None:
    """Put a failed outcome back into the line, after its job was given fresh attempts."""
    outcome.result, outcome.finished_at = OutcomeResult.PENDING, None
    outcome.save(update_fields=["result", "finished_at"])


def retry(account_id: uuid.UUID, event_id: uuid.UUID, *, actor: Actor) -> EventOutcome:
    """Try an event again that could not be processed. Raises ``NotFound`` (``event_not_failed``)."""
    outcome = EventOutcome.objects.filter(
        account_id=account_id, event_id=event_id, result=OutcomeResult.FAILED, job__status=JobStatus.DEAD
    ).first()
    if outcome is None or jobs.retry(account_id, outcome.job_id) is None:
        raise NotFound("This event did not fail.", code="event_not_failed")
    reopen(outcome)
    audit.record(
        account_id,
        action="event.retried",
        object_type="event",
        object_id=event_id,
        actor=actor,
        group=new_id(),
        metadata={"error_class": outcome.error_class},
    )
    return outcome


def find(principal: Principal, event_id: uuid.UUID) -> tuple[Event, EventOutcome | None, Sequence[CandidateOutcome]]:
    """Return an event that the caller may know of, its latest outcome and that one's candidates.

    The candidates of a message that was withdrawn, or of which anything is withheld, come without their words.

    Raises ``Refused`` (``missing_right``) and ``NotFound`` (``event_not_found``).
    """
    require_right(principal, Right.READ)
    event = (
        Event.objects.select_related("scope", "subject", "speaker")
        .filter(account_id=principal.account_id, pk=event_id)
        .first()
    )
    passages = list(Passage.objects.filter(account_id=principal.account_id, event_id=event_id))
    if event is None or not _may_know(principal, event, sensitivity=_strictest(event, passages)):
        raise NotFound("There is no such event.", code="event_not_found")
    outcome = EventOutcome.objects.filter(account_id=event.account_id, event=event).select_related("job").first()
    if outcome is None:
        return event, None, []
    found = CandidateOutcome.objects.filter(account_id=event.account_id, outcome=outcome)
    candidates = list(found.select_related("fact").order_by("ordinal"))
    if event.withdrawn_at is not None or any(passage.withheld != Withheld.NOTHING for passage in passages):
        for candidate in candidates:
            candidate.statement = candidate.quote = ""
    return event, outcome, candidates


def find_job(principal: Principal, job_id: uuid.UUID) -> Job | None:
    """Return the job of an event in a scope where the caller may be, or ``None``.

    Whoever may send events there follows them; for others there is a job where they may know of the event.
    """
    outcome = EventOutcome.objects.filter(account_id=principal.account_id, job_id=job_id).select_related(
        "job", "scope", "event__scope", "event__subject"
    )
    found = outcome.first()
    if found is None or not within_limit(principal, found.scope.path):
        return None
    if principal.is_person and role_at(principal, found.scope.path) is None:
        return None
    if Right.CAPTURE not in principal.rights:
        passages = list(Passage.objects.filter(account_id=principal.account_id, event_id=found.event_id))
        if not _may_know(principal, found.event, sensitivity=_strictest(found.event, passages)):
            return None
    return found.job


def _strictest(event: Event, passages: Sequence[Passage]) -> str:
    """Return the sensitivity of an event with its passages, which the facts that cite them can make stricter."""
    return max([event.sensitivity, *(passage.sensitivity for passage in passages)], key=SENSITIVITY_RANK.__getitem__)


def _may_know(principal: Principal, event: Event, *, sensitivity: str) -> bool:
    """Whoever said it, curators unless it is restricted, and whoever the audience rule lets see all of the event."""
    path = event.scope.path
    if not within_limit(principal, path):
        return False
    if principal.is_person:
        if role_at(principal, path) is None:
            return False
        if principal.subject_id == event.speaker_id:
            return True
        if has_role(principal, path, Role.CURATOR) and sensitivity != Sensitivity.RESTRICTED:
            return True
    reader = resolve_reader(principal, subject=event.subject)
    return may_see(
        posture=reader.posture,
        own=reader.subject_id == event.subject_id,
        restricted_granted=reader.restricted,
        level=Level.PEER,
        sensitivity=sensitivity,
        about_scope=event.subject.kind == SubjectKind.SCOPE,
        provisional=False,
    )
