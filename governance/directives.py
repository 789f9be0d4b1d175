"""Orders to whoever reads them, found in what was said: held for a person, and nothing of them served meanwhile.

A held directive is a fact of kind instruction that quotes who wrote what. It claims nothing and repeats no order in the
system's own name. Approved, it is served as that quotation; rejected, its words stay withheld.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from facts import lifecycle, withholding
from facts.actors import Actor
from facts.claims import make_claim
from facts.clock import now
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Evidence, Fact
from facts.suppressions import in_force
from facts.vocabulary import Status
from governance.gating.gates import GateOutcome
from governance.models import Gate, Review, ReviewKind
from governance.placement import Placement, Result, Submission, fact_of, judge, record_gates, write_vector

#: Why it waits, and what its outcome says.
HELD = "directive_held"
#: In these a directive waits or stands: its repetition is one more source of it. Forgotten ones hide what repeats them.
_TAKES_SOURCES = frozenset(
    {Status.HELD, Status.CANDIDATE, Status.ACTIVE, Status.NEEDS_REVALIDATION, Status.DISPUTED, Status.DISABLED}
)


def hold(submission: Submission, *, actor: Actor, whole_event: bool = False) -> Placement:
    """Keep an order for a person and withhold the passage that holds it, or the ``whole_event``.

    The same words again add a source to what is there, and hide their passage as that one is hidden; what a person
    rejected is not asked about again for what was said before. Runs in the caller's account transaction and takes the
    subject's lock until it ends.
    """
    event = submission.event
    lock_subject(event.scope_id, submission.subject.id)
    fact = fact_of(submission)
    fact.directive = True
    known = _known(fact, submission)
    if known is not None:
        _cite(known, submission, whole_event=whole_event)
        result = Result.REJECTED if known.status in {Status.REJECTED, Status.DISABLED} else Result.DUPLICATE
        return Placement(result=result, reason=HELD, fact_id=known.id, status=known.status)
    group = new_id()
    fact = lifecycle.insert(fact, actor=actor, action="fact.proposed", reason=HELD, group=group)
    write_vector(fact, submission.vector)
    verdict = judge(fact)
    outcomes = dict.fromkeys(Gate.values, (GateOutcome.WAIT, (HELD,)))
    record_gates(fact, outcomes=outcomes, cell=verdict.cell.as_json(), actor=actor)
    _cite(fact, submission, whole_event=whole_event)
    fact = lifecycle.transition(
        fact.id,
        account_id=fact.account_id,
        to=Status.HELD,
        actor=actor,
        action="gate.waits",
        reason=HELD,
        group=group,
    )
    Review.objects.create(
        account_id=fact.account_id,
        kind=ReviewKind.DIRECTIVE,
        fact=fact,
        fact_version=fact.version,
        reasons=[HELD],
        requested_by=actor.as_json(),
        due_at=now() + timedelta(days=verdict.cell.review_due_days),
    )
    return Placement(result=Result.FACT, reason=HELD, fact_id=fact.id, status=fact.status)


def _known(fact: Fact, submission: Submission) -> Fact | None:
    """Return the directive that says the same already, or by which a person refused to hear it."""
    same = Fact.objects.filter(
        account_id=fact.account_id,
        scope_id=fact.scope_id,
        subject=fact.subject,
        statement_hash=fact.statement_hash,
        directive=True,
    )
    known = same.filter(status__in=_TAKES_SOURCES).order_by("-id").first()
    if known is not None:
        return known
    claim = make_claim(
        statement_hash=fact.statement_hash, predicate="", value=None, qualifiers={}, denies=False, form=fact.form
    )
    refusing: list[uuid.UUID | None] = [
        rule.fact_id
        for rule in in_force(fact.account_id, fact.subject, claim)
        if rule.evidence_until is None or submission.event.occurred_at <= rule.evidence_until
    ]
    return same.filter(pk__in=[pk for pk in refusing if pk is not None]).order_by("-id").first()


def _cite(fact: Fact, submission: Submission, *, whole_event: bool) -> None:
    """Let the fact cite the passage, or the whole event where it is said in several places, and hide what it hides."""
    event = submission.event
    passage = None if whole_event else submission.passage
    cited, new = Evidence.objects.get_or_create(
        account_id=fact.account_id,
        fact=fact,
        event=event,
        defaults={"passage": passage, "quote": submission.candidate.quote, "human": event.human},
    )
    if not new and cited.passage_id is not None and cited.passage_id != (passage.id if passage else None):
        cited.passage = None
        cited.save(update_fields=["passage"])
    withholding.refresh(fact.account_id, [fact.id])
