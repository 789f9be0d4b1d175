"""Processing events: read, then the model, then write. Safe to run twice, late, or killed in between.

A claim is taken in one short transaction, the model works without any, and one guarded transaction writes the passages,
the facts, the outcome and the end of the job. A claim that was lost meanwhile writes nothing.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import connection

from facts import audit, index, jobs
from facts.actors import pipeline
from facts.candidates import Candidate
from facts.clock import now
from facts.embedding import Embedded
from facts.errors import DomainError
from facts.jobs import Claim
from facts.locks import hold_subjects, lock_subject
from facts.models import Event, Passage, Subject
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from facts.vocabulary import EvidenceLevel, OriginTrust, SourceType
from governance import placement
from ingest import batch_reading, budget, directives, line, opting_out, outcomes, passages, reading, reasons, usage
from ingest.extraction import ExtractionFailed, ExtractorIdentity, checks
from ingest.line import Part
from ingest.models import CandidateResult, EventOutcome, OutcomeResult
from ingest.outcomes import Tally
from ingest.reading import Loaded, LoadedTurn, Reading, spoken_by
from ingest.subjects_of import fold, subject_of
from ingest.withdrawal import note_successor, settle_edit, stated_before

logger = logging.getLogger(__name__)

#: How long one delivery works on a line before it goes to the end of the queue. Together with one more event
#: (its model calls, waiting and writing) it stays within a task's 120 seconds.
TURN_SECONDS = 15.0
#: How long a finished reading waits for an earlier event of its line that is in other hands. It then gives way: what a
#: contradiction or an update comes to depends on what is known when it is taken in.
PATIENCE_SECONDS = 10.0
LOOK_SECONDS = 0.05
#: Jobs looked at in one claim: the front may be lost to others a few times.
_CLAIM_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What a call to process achieved: events that were waiting and are done, and those that still wait."""

    processed: int
    pending: int


def take_turn(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Answer one delivery of a job: process its subject's line from the front, for a while, then let others in."""
    with account_transaction(account_id):
        outcome = EventOutcome.objects.filter(account_id=account_id, job_id=job_id).select_related("job").first()
        if outcome is None:
            return
        if outcome.result == OutcomeResult.FAILED and outcome.job.status == JobStatus.QUEUED:
            outcomes.reopen(outcome)
    part = line.line_of(outcome)
    deadline = time.monotonic() + TURN_SECONDS
    while process_front(part):
        if time.monotonic() >= deadline:
            with account_transaction(account_id):
                rest = line.front(line.pending(part))
                if rest is not None:
                    jobs.dispatch(rest.job)
            return


def drain(part: Part, *, seconds: float) -> Drained:
    """Process what waits there, and wait for what others process, at most about ``seconds``.

    Events that pause before another try are not waited for.
    """
    deadline = time.monotonic() + seconds
    with account_transaction(part.account_id):
        wanted = list(line.soon(line.pending(part)).values_list("id", flat=True))
    while time.monotonic() < deadline:
        if process_front(part):
            continue
        with account_transaction(part.account_id):
            if not line.soon(line.pending(part)).exists():
                break
        time.sleep(LOOK_SECONDS)
    with account_transaction(part.account_id):
        closed = EventOutcome.objects.exclude(result=OutcomeResult.PENDING)
        done = closed.filter(account_id=part.account_id, id__in=wanted).count()
        return Drained(processed=done, pending=line.pending(part).count())


def process_front(part: Part) -> bool:
    """Process the first waiting event there; ``False`` when there is none that anybody may work on now.

    Also where an earlier one stays in other hands: of a worker that died, until its claim has run out.
    """
    with account_transaction(part.account_id):
        taken = _claim_front(part)
    return taken is not None and _process(*taken)


def _claim_front(part: Part) -> tuple[Claim, EventOutcome] | None:
    """Claim the front of the line; events whose attempts are used up are closed on the way."""
    for _ in range(_CLAIM_TRIES):
        outcome = line.front(line.pending(part))
        if outcome is None:
            return None
        claim = jobs.claim(part.account_id, outcome.job_id)
        if claim is not None:
            return claim, outcome
        outcome.job.refresh_from_db()
        if outcome.job.status == JobStatus.DEAD:
            outcomes.record_failure(outcome, error_class=outcome.job.error_class, given_up=True)
    return None


def _process(claim: Claim, outcome: EventOutcome) -> bool:
    """Read, extract and write one claimed event; whatever goes wrong, it is tried again and its neighbours go on.

    ``False``: it gave way to an earlier one.
    """
    loaded: Loaded | None = None
    try:
        extractor = batch_reading.answered(claim) or usage.accounted(
            reading.configured_extractor(), claim=claim, outcome=outcome, seconds=reading.EXTRACTION_SECONDS - 5
        )
        with account_transaction(outcome.account_id):
            loaded = reading.load(outcome.account_id, outcome.event_id)
        found = reading.read(loaded, extractor)
        if not _let_earlier_finish(outcome):
            with account_transaction(outcome.account_id):
                jobs.postpone(claim, error_class="", at_once=True)
            return False
        _write(claim, outcome, loaded, found, identity=extractor.identity)
    except ExtractionFailed as error:
        _give_back(claim, outcome, loaded, error)
    except Exception as error:
        logger.exception("event_not_processed", extra={"event": str(outcome.event_id)})
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        what = error.code if isinstance(error, DomainError) else type(error).__name__
        _give_back(claim, outcome, None, ExtractionFailed(retryable=True, error_class=what))
    return True


def _let_earlier_finish(outcome: EventOutcome) -> bool:
    """Wait until no earlier event of the line is left, so that candidates are taken in event-time order.

    ``False`` when that takes too long.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with account_transaction(outcome.account_id):
            if not line.is_overtaking(outcome):
                return True
        time.sleep(LOOK_SECONDS)
    return False


def _give_back(claim: Claim, outcome: EventOutcome, loaded: Loaded | None, failure: ExtractionFailed) -> None:
    """Record a failed try, or a delay that is not the event's fault and never uses up its tries.

    An event that could not be read still gets its passages, so that it can be found.
    """
    error_class = failure.error_class
    with account_transaction(claim.job.account_id):
        if not jobs.holds(claim):
            return
        if loaded is not None:
            directives.hold(loaded.event, loaded, directives.find(loaded), _write_passages(loaded, vectors=None))
        if failure.outside and not usage.blames_message(outcome, error_class=error_class):
            jobs.postpone(claim, error_class=error_class, pause=failure.pause, at_once=failure.progressed)
            used_up = error_class == budget.EXHAUSTED
            reason = reasons.BUDGET_EXHAUSTED if used_up else reasons.PROVIDER_UNAVAILABLE
            outcomes.record_delay(outcome, error_class=error_class, reason=reason)
            return
        job = jobs.fail(claim, error_class=error_class, retryable=failure.retryable)
        outcomes.record_failure(outcome, error_class=error_class, given_up=job.status == JobStatus.DEAD)


def _write(claim: Claim, outcome: EventOutcome, loaded: Loaded, found: Reading, *, identity: ExtractorIdentity) -> None:
    """Write everything that came of an event, once: only while the claim stands, and in one transaction.

    Its audit entries come last: a capture of the same account must not wait for all that is consolidated here.
    """
    with account_transaction(claim.job.account_id), audit.gathered(claim.job.account_id):
        if not jobs.holds(claim):
            return
        # Locked before any subject: whoever withdraws the event meanwhile waits, or has come first.
        event = (
            Event.objects.select_related("account", "scope", "subject")
            .select_for_update(of=("self",), no_key=True)
            .get(account_id=claim.job.account_id, pk=outcome.event_id)
        )
        tally = Tally()
        if event.withdrawn_at is None:
            written = _write_passages(loaded, vectors=found.vectors)
            for rejection in found.rejections:
                if rejection.code == checks.IMPERATIVE_DIRECTIVE and checks.is_directive(rejection.quote):
                    continue  # It is held, with its whole passage.
                tally.add(
                    result=CandidateResult.REJECTED,
                    reason=rejection.code,
                    statement=rejection.statement,
                    quote=rejection.quote,
                )
            _submit_all(event, loaded, found, written, tally=tally, identity=identity)
        Event.objects.filter(account_id=event.account_id, pk=event.pk).update(processed_at=now())
        outcomes.record(outcome, tally, identity=identity, reason=_reason_for_nothing(event, loaded))
        jobs.finish(claim)


def _reason_for_nothing(event: Event, loaded: Loaded) -> str:
    if event.withdrawn_at is not None:
        return reasons.WITHDRAWN
    if event.source_type in {SourceType.URL_FETCH, SourceType.WEB_SEARCH}:
        return reasons.KEPT_AS_REFERENCE
    spoken = any(turn.item is not None for turn in loaded.turns)
    return reasons.NOTHING_TO_REMEMBER if spoken else reasons.NOT_HUMAN_SPEECH


def _submit_all(
    event: Event,
    loaded: Loaded,
    found: Reading,
    written: dict[tuple[int, int], Passage],
    *,
    tally: Tally,
    identity: ExtractorIdentity,
) -> None:
    """Hand the candidates to placement, in the order in which they were said.

    Subjects are created, then locked, each in one order for everybody: two events about the same people never wait
    for each other.
    """
    subjects, orders = _subjects(event, loaded, found), directives.find(loaded)
    places = {(event.scope_id, subject.id) for subject in subjects if subject is not None}
    places |= directives.places(event, loaded, orders)
    for scope_id, subject_id in sorted(places | stated_before(event)):
        lock_subject(scope_id, subject_id)
    hold_subjects(event.account_id, {one.id: one.key for one in subjects if one is not None})
    candidates = [_attributed(proposed.candidate, event, loaded.turns[proposed.turn]) for proposed in found.proposed]
    replaced = settle_edit(event, candidates, subjects, actor=pipeline())
    for order, held in directives.hold(event, loaded, orders, written):
        tally.add(result=held.result, reason=held.reason, quote=order.quote, fact_id=held.fact_id)
    silent = opting_out.not_to_be_subjects(event, subjects)
    for position, (proposed, subject) in enumerate(zip(found.proposed, subjects, strict=True)):
        turn, candidate = loaded.turns[proposed.turn], candidates[position]
        if subject is not None and subject.id in silent:
            tally.add(result=CandidateResult.REJECTED, reason=reasons.SUBJECT_OPTED_OUT)
            continue
        if subject is None:
            placement.report_unresolved(event, candidate, actor=pipeline())
            tally.add(
                result=CandidateResult.REJECTED,
                reason=reasons.SUBJECT_UNRESOLVED,
                statement=candidate.statement,
                quote=candidate.quote,
            )
            continue
        said_itself = turn.speaker is not None and turn.speaker.id == subject.id
        placed = placement.submit(
            placement.Submission(
                event=event,
                passage=_passage_of(proposed.turn, turn, candidate.quote, written),
                subject=subject,
                candidate=candidate,
                evidence_level=EvidenceLevel.DIRECT if said_itself else EvidenceLevel.INDIRECT,
                provider=identity.provider,
                model=identity.model,
                prompt_version=identity.prompt_version,
                vector=proposed.vector,
            ),
            actor=pipeline(),
        )
        tally.add(
            result=placed.result,
            reason=placed.reason,
            statement=candidate.statement,
            quote=candidate.quote,
            fact_id=placed.fact_id,
        )
        note_successor(event.account_id, placed.fact_id, replaced.get(position, ()))


def _subjects(event: Event, loaded: Loaded, found: Reading) -> list[Subject | None]:
    """Return the subject of every candidate, in order, creating the things among them in order of their names."""
    named = sorted(enumerate(found.proposed), key=lambda pair: fold(pair[1].candidate.about))
    subjects: dict[int, Subject | None] = {}
    for position, proposed in named:
        turn = loaded.turns[proposed.turn]
        subjects[position] = subject_of(
            proposed.candidate, turn.item, event=event, scope=event.scope, conversation=turn.conversation
        )
    return [subjects[position] for position in range(len(found.proposed))]


def _attributed(candidate: Candidate, event: Event, turn: LoadedTurn) -> Candidate:
    """Name who told it, where that is a third party."""
    if event.origin_trust != OriginTrust.THIRD_PARTY or not candidate.has_claim:
        return candidate
    told_by = turn.speaker.key if turn.speaker else event.recorded_claims.get("actor_id", OriginTrust.THIRD_PARTY)
    return replace(candidate, qualifiers={**candidate.qualifiers, "attributed_to": str(told_by)})


def _passage_of(number: int, turn: LoadedTurn, quote: str, written: dict[tuple[int, int], Passage]) -> Passage | None:
    """Return the passage in which a quote begins."""
    return written.get((number, passages.find(list(turn.slices), text=turn.turn.text, quote=quote)))


def _write_passages(loaded: Loaded, *, vectors: Sequence[Embedded] | None) -> dict[tuple[int, int], Passage]:
    """Write an event's passages with their index rows, unless they are there; returns them by (turn, slice)."""
    event = loaded.event
    places = [
        (number, position, turn, piece)
        for number, turn in enumerate(loaded.turns)
        for position, piece in enumerate(turn.slices)
        if piece.text.strip()
    ]
    known = {row.ordinal: row for row in Passage.objects.filter(account_id=event.account_id, event=event)}
    fresh = [
        Passage(
            account_id=event.account_id,
            event=event,
            scope_id=event.scope_id,
            subject_id=event.subject_id,
            ordinal=ordinal,
            speaker_name=spoken_by(turn),
            evidential=turn.turn.human,
            text=piece.text,
            occurred_at=event.occurred_at,
            sensitivity=event.sensitivity,
        )
        for ordinal, (_, _, turn, piece) in enumerate(places)
        if ordinal not in known
    ]
    Passage.objects.bulk_create(fresh)
    index.write_passage_text(fresh)
    rows = {**known, **{row.ordinal: row for row in fresh}}
    if vectors is not None:
        index.write_passage_vectors(
            event.account_id,
            vectors=[(rows[ordinal].id, vector) for ordinal, vector in enumerate(vectors)],
        )
    return {(number, position): rows[ordinal] for ordinal, (number, position, _, _) in enumerate(places)}
