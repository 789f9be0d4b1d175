"""A memory that is a statement already: from its event to the gates, without an extractor.

Another system wrote it down, so it is indirect evidence and no speech. It passes the checks that any statement passes
which is stored for people to read, and the gates like any other candidate.
"""

from __future__ import annotations

import uuid

from facts import index, jobs
from facts.actors import pipeline
from facts.candidates import Candidate
from facts.clock import now
from facts.locks import lock_subject
from facts.models import Event, Passage
from facts.vocabulary import EvidenceLevel
from governance import directives, placement
from governance.placement import Placement, Submission
from ingest import outcomes
from ingest.extraction import ExtractorIdentity, checks
from ingest.extraction.secrets import holds_secret
from ingest.imports.items import Item
from ingest.models import CandidateResult, EventOutcome
from ingest.outcomes import Tally
from ingest.withdrawal import note_successor, settle_edit, stated_before

#: What another system was sure enough of to keep it; the middle of what is stored here.
CONFIDENCE = 0.7
VERSION = "1"


def place(account_id: uuid.UUID, item: Item, event_id: uuid.UUID) -> str:
    """Hand the statement of a freshly captured event to the gates; returns what came of it: ``fact_active`` and so on.

    Runs in the transaction that captured the event, and closes its outcome and its job with it.
    """
    outcome = EventOutcome.objects.select_related("job").get(account_id=account_id, event_id=event_id)
    claim = jobs.claim(account_id, outcome.job_id)
    if claim is None:
        return "left_to_the_worker"
    event = Event.objects.select_related("account", "scope", "subject").get(account_id=account_id, pk=event_id)
    identity = ExtractorIdentity(provider="import", model=event.kind, prompt_version=VERSION)
    candidate = Candidate(
        statement=event.text,
        quote=event.text,
        confidence=CONFIDENCE,
        valid_from=item.valid_from,
        valid_to=item.valid_to,
        start_stated=item.valid_from is not None,
        end_stated=item.valid_to is not None,
    )
    tally = Tally()
    refusal = _refusal(event.text)
    if refusal:
        tally.add(result=CandidateResult.REJECTED, reason=refusal)
        came_to = refusal
    else:
        placed = _submit(event, candidate, identity)
        tally.add(
            result=placed.result,
            reason=placed.reason,
            statement=candidate.statement,
            quote=candidate.quote,
            fact_id=placed.fact_id,
        )
        came_to = f"{placed.result}_{placed.status or placed.reason}"
    Event.objects.filter(account_id=account_id, pk=event_id).update(processed_at=now())
    outcomes.record(outcome, tally, identity=identity)
    jobs.finish(claim)
    return came_to


def _refusal(text: str) -> str:
    """Return why a text is stored nowhere as a fact, "" when nothing stands against it."""
    if holds_secret(text):
        return checks.SECRET
    return "" if checks.is_readable(text) else checks.UNREADABLE


def _submit(event: Event, candidate: Candidate, identity: ExtractorIdentity) -> Placement:
    for scope_id, subject_id in sorted({(event.scope_id, event.subject_id)} | stated_before(event)):
        lock_subject(scope_id, subject_id)
    replaced = settle_edit(event, [candidate], [event.subject], actor=pipeline())
    submission = Submission(
        event=event,
        passage=_passage(event),
        subject=event.subject,
        candidate=candidate,
        evidence_level=EvidenceLevel.INDIRECT,
        provider=identity.provider,
        model=identity.model,
        prompt_version=identity.prompt_version,
    )
    if checks.is_directive(event.text):
        return directives.hold(submission, actor=pipeline())
    placed = placement.submit(submission, actor=pipeline())
    note_successor(event.account_id, placed.fact_id, replaced.get(0, ()))
    return placed


def _passage(event: Event) -> Passage:
    """Write the one passage of the event; its vectors are made by the worker."""
    passage = Passage.objects.create(
        account_id=event.account_id,
        event=event,
        scope_id=event.scope_id,
        subject_id=event.subject_id,
        ordinal=0,
        speaker_name="",
        evidential=False,
        text=event.text,
        occurred_at=event.occurred_at,
        sensitivity=event.sensitivity,
    )
    index.write_passage_text([passage])
    return passage
