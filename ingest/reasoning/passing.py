"""The pass itself: long work in steps, one subject in one scope at a time, from each scope's mark on.

A step asks a model about one subject, outside of any transaction, and writes what comes of it with how far the pass has
come, in one. So a killed pass goes on where it was, and a second pass finds nothing new. Without a model only facts are
merged that say the same word for word. It waits first when the budget tightens.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings

from facts import isolation, jobs, long_jobs
from facts.actors import Actor, sweeper
from facts.clock import now
from facts.errors import DomainError
from facts.long_jobs import Run, Step
from facts.models import Account, LongJob
from facts.tenancy import account_transaction, get_scope
from facts.timezones import zone_of
from ingest import asking, budget
from ingest.extraction.providers import configured
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import REFUSED, REJECTED, TOO_LARGE, UNREADABLE, Ask
from ingest.extraction.providers.openai_client import OpenAIClient
from ingest.models import ModelRole
from ingest.reasoning import carrying_out, offered, prompt
from ingest.reasoning.prompt import Proposed
from ingest.usage import briefly

logger = logging.getLogger(__name__)

KIND = "reasoning"
BEGIN = "ingest.begin_reasoning"
#: Local hour at which the nightly pass begins: after the profiles of 23:00, before the clean-up of 02:00 is over.
HOUR = 1
#: What was recorded a moment ago may still be in somebody's transaction: it is the next pass's.
LAG = timedelta(minutes=1)
TIGHT_PAUSE = timedelta(hours=1)
OUTAGE_PAUSE = timedelta(minutes=15)
TIGHT = "budget_tight"
#: What may be the fault of these facts: others may fare better.
_OF_THE_FACTS = frozenset(
    {REFUSED, REJECTED, TOO_LARGE, UNREADABLE, "missing_structured_object", "structured_validation_failed"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What a pass would look at in one scope: about how many subjects something is new, and how many it would ask."""

    path: str
    subjects: int
    asked: int


def start(account_id: uuid.UUID, *, path: str = "", actor: Actor) -> LongJob:
    """Begin a pass over an account, or one scope of it, or return the one that goes on; the worker does it.

    Raises ``DomainError`` (``unknown_scope``).
    """
    with account_transaction(account_id):
        if path and get_scope(account_id, path) is None:
            raise DomainError("There is no such scope.", code="unknown_scope", field="scope")
        total = len(offered.scopes_with_news(account_id, until=now() - LAG, path=path))
        return long_jobs.submit(
            account_id, kind=KIND, input_key=path, title=title(), options={"path": path}, total=total, actor=actor
        )


def title() -> str:
    """Return what a pass is called: also that it only merges, where no model is set."""
    return "exact merges only: no model is set" if settings.REASONING_PROVIDER == "none" else "with a model"


def ahead(account_id: uuid.UUID, *, path: str = "") -> list[Ahead]:
    """Return what a pass would look at now, without doing anything."""
    until = now() - LAG
    with account_transaction(account_id):
        found = []
        for scope in offered.scopes_with_news(account_id, until=until, path=path):
            subjects = offered.subjects_with_news(account_id, scope.id, until=until)
            asked = sum(len(offered.offer(account_id, scope.id, one).facts) > 1 for one in subjects)
            found.append(Ahead(path=scope.path, subjects=len(subjects), asked=asked))
        return found


def begin_nights() -> int:
    """Begin each account's pass of the night where that was not done yet; safe to run twice, late, or in two places."""
    return isolation.each_account(Account.objects.values_list("id", flat=True), _submit_night, name="begin_reasoning")


def night_of(timezone: str, at: datetime) -> date:
    """Return the local day whose night has begun last: today from 01:00 on, yesterday before."""
    local = at.astimezone(zone_of(timezone))
    return local.date() if local.hour >= HOUR else local.date() - timedelta(days=1)


def _submit_night(account_id: uuid.UUID) -> int:
    account = Account.objects.get(pk=account_id)
    night = night_of(account.timezone, now())
    if night <= account.created_at.astimezone(zone_of(account.timezone)).date():
        return 0
    with account_transaction(account_id):
        jobs.submit(account_id, kind=BEGIN, input_key=night.isoformat())
    return 1


def begin_night(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Answer a delivery of the job that begins a night: start a pass where something is new."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
        if claim is None:
            return
        if offered.scopes_with_news(account_id, until=now() - LAG):
            start(account_id, actor=sweeper(offered.NAME))
        jobs.finish(claim)


def step(run: Run) -> Step:
    """Reason about the next subject; at the end of a scope move its mark."""
    account_id, position = run.job.account_id, dict(run.job.position)
    with account_transaction(account_id):
        if "scope" not in position:
            scopes = _scopes_left(account_id, position, path=run.job.options.get("path", ""))
            if not scopes:
                return Step(finished=True)
            position |= {"scope": str(scopes[0].id), "until": (now() - LAG).isoformat(), "subject": ""}
        scope_id, until = uuid.UUID(position["scope"]), datetime.fromisoformat(position["until"])
        waiting = offered.subjects_with_news(account_id, scope_id, until=until)
        subject_id = next((one for one in waiting if str(one) > position["subject"]), None)
        if subject_id is None:
            offered.set_mark(account_id, scope_id, until=until)
            done = [*position.get("done", []), position["scope"]]
            run.note(run.job.done + 1, position={"done": done})
            return Step()
        offer = offered.offer(account_id, scope_id, subject_id)
    counts: Counter[str] = Counter()
    proposed = None
    if settings.REASONING_PROVIDER != "none" and len(offer.facts) > 1:
        with briefly(account_id):
            if budget.today(account_id).is_tight:
                return Step(pause=TIGHT_PAUSE, reason=TIGHT)
        client = configured.client(settings.REASONING_PROVIDER, model=settings.REASONING_MODEL)
        try:
            proposed = _ask(client, offer)
        except asking.NoAnswer as failure:
            if failure.error_class not in _OF_THE_FACTS:
                pause = TIGHT_PAUSE if failure.error_class.startswith("budget") else OUTAGE_PAUSE
                return Step(pause=pause, reason=failure.error_class)
            counts["no_usable_answer"] += 1
    with account_transaction(account_id):
        if proposed is not None:
            counts["refused_unreadable"] += proposed.unreadable
            counts += carrying_out.carry_out(offer, proposed.operations, provider=client.provider, model=client.model)
        fresh = offered.offer(account_id, scope_id, subject_id)
        counts["merged"] += carrying_out.merge_exact(fresh)
        counts["subjects"] += 1
        run.note(run.job.done, position={**position, "subject": str(subject_id)}, counts=dict(+counts))
    return Step()


def _scopes_left(account_id: uuid.UUID, position: dict[str, Any], *, path: str) -> list[Any]:
    done = set(position.get("done", []))
    scopes = offered.scopes_with_news(account_id, until=now() - LAG, path=path)
    return [scope for scope in scopes if str(scope.id) not in done]


def _ask(client: AnthropicClient | OpenAIClient, offer: offered.Offer) -> Proposed:
    found, _ = asking.send(
        client,
        Ask(prompt.SYSTEM, (("user", prompt.render(offer.facts)),), prompt.SHAPE),
        account_id=offer.subject.account_id,
        role=ModelRole.REASONING,
        prompt_version=prompt.VERSION,
        read=prompt.read,
        seconds=settings.REASONING_SECONDS,
    )
    return found
