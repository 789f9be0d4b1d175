"""When cards are compacted: once in each account's night, sessions when they have gone quiet, any card when asked.

The local day names the job of a night, so that two machines begin it once and a missed night is caught up by one run,
however many there were. The work itself is done card by card and can be watched, cancelled and resumed.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from facts import isolation, jobs, long_jobs
from facts.actors import sweeper
from facts.clock import now
from facts.jobs import Claim
from facts.long_jobs import Run, Step
from facts.models import Account
from facts.tenancy import account_transaction
from facts.timezones import zone_of
from retrieval.cards import compacting, embedding
from retrieval.cards.composing import ComposeFailed
from retrieval.models import Card, CardKind

logger = logging.getLogger(__name__)

#: The hour of the account's day at which its night begins, after an earlier system.
HOUR = 23
#: Jobs of the ledger: an account's night begins; one card is compacted.
BEGIN = "cards.begin_night"
ONE = "cards.compact"
#: The long work of a night, and that of a command.
NIGHT = "cards.night"
COMMAND = "build_profiles"
#: How often cards are tried in one night whose model gave nothing that could be used, and the pause in between.
ROUNDS = 3
ROUND_PAUSE = timedelta(minutes=10)
#: Pause when no card would fare better now; where the budget is the reason, the account's next day begins sooner.
OUTAGE_PAUSE = timedelta(minutes=15)
BUDGET_PAUSE = timedelta(hours=1)
#: Sessions looked for in one round.
SESSIONS = 200


def night_of(timezone: str, at: datetime) -> date:
    """Return the local day whose night has begun last: today from 23:00 on, yesterday before.

    Counted by the clock on the wall, so that a day has one night also where that clock is put forward or back.
    """
    local = at.astimezone(zone_of(timezone))
    return local.date() if local.hour >= HOUR else local.date() - timedelta(days=1)


def begin_nights() -> int:
    """Begin each account's last night where that was not done yet; return how many accounts were looked at.

    Safe to run at any time, twice, late, or on two machines.
    """
    return isolation.each_account(Account.objects.values_list("id", flat=True), _submit_night, name="begin_nights")


def _submit_night(account_id: uuid.UUID) -> int:
    account = Account.objects.get(pk=account_id)
    night = night_of(account.timezone, now())
    if night < account.created_at.astimezone(zone_of(account.timezone)).date():
        return 0
    with account_transaction(account_id):
        jobs.submit(account_id, kind=BEGIN, input_key=night.isoformat())
    return 1


def submit_quiet_sessions() -> int:
    """Have the summaries compacted of sessions in which nothing was said for a while; return how many."""
    accounts = Account.objects.values_list("id", flat=True)
    return isolation.each_account(accounts, _submit_quiet, name="submit_quiet_sessions")


def _submit_quiet(account_id: uuid.UUID) -> int:
    before = now() - timedelta(minutes=settings.SESSION_QUIET_MINUTES)
    with account_transaction(account_id):
        with connection.cursor() as cursor:
            # The youngest event of a thread is found by the index of events by thread and time.
            cursor.execute(
                "SELECT c.id, c.version FROM retrieval_card c CROSS JOIN LATERAL ("
                " SELECT max(v.occurred_at) AS last FROM facts_event v"
                " WHERE v.account_id = c.account_id AND v.thread = c.key) e"
                " WHERE c.account_id = %s AND c.kind = %s AND c.compact_due AND c.builder <> '' AND e.last <= %s"
                " ORDER BY c.id LIMIT %s",
                [account_id, CardKind.SESSION_SUMMARY, before, SESSIONS],
            )
            found = cursor.fetchall()
        for card_id, version in found:
            jobs.submit(account_id, kind=ONE, input_key=f"{card_id}:{version}", payload={"card": str(card_id)})
    return len(found)


def ask_for(card: Card) -> None:
    """Have one card compacted soon, as a whole. In the account's transaction."""
    jobs.submit(
        card.account_id,
        kind=ONE,
        input_key=f"{card.pk}:{card.version}:{now().timestamp():.0f}",
        payload={"card": str(card.pk), "whole": True},
    )


def begin_night(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Answer a delivery of the job that begins a night: submit its work, where there is any."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
        if claim is None:
            return
        total = len(due(account_id))
        if total:
            night = claim.job.input_key
            long_jobs.submit(
                account_id, kind=NIGHT, input_key=night, title=night, total=total, actor=sweeper("nightly_cards")
            )
        jobs.finish(claim)


def step(run: Run) -> Step:
    """Compact the next card of a night; at its end embed what has changed.

    Where nothing can be worded now the night pauses. Cards whose answer was of no use are tried again later in the
    night, and the next night after that.
    """
    account_id, position = run.job.account_id, run.job.position
    with account_transaction(account_id):
        card_id = next(iter(due(account_id, after=position.get("after", ""), most=1)), None)
    if card_id is None:
        return _end_round(run)
    try:
        outcome = compacting.compact(account_id, card_id).value
    except ComposeFailed as failure:
        logger.warning("card_not_composed", extra={"card": str(card_id), "error_class": failure.error_class})
        if failure.everywhere:
            return Step(pause=_pause(failure), reason=failure.error_class)
        outcome = "failed"
    failed = position.get("failed", 0) + (outcome == "failed")
    run.note(run.job.done + 1, position={**position, "after": str(card_id), "failed": failed}, counts={outcome: 1})
    return Step()


def _end_round(run: Run) -> Step:
    position = run.job.position
    rounds, failed = position.get("rounds", 0) + 1, position.get("failed", 0)
    if failed and rounds < ROUNDS:
        run.note(run.job.done, total=run.job.done + failed, position={"rounds": rounds})
        return Step(pause=ROUND_PAUSE, reason="cards_not_composed")
    while embedding.embed_stale(run.job.account_id):
        run.check()
    return Step(finished=True)


def run_one(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Compact one card, under the claim of its job."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
    if claim is None:
        return
    payload = claim.job.payload
    with _given_back(claim):
        compacting.compact(account_id, uuid.UUID(payload["card"]), whole=payload.get("whole", False))
        embedding.embed_stale(account_id)
        with account_transaction(account_id):
            jobs.finish(claim)


@contextmanager
def _given_back(claim: Claim) -> Iterator[None]:
    """Give the job back to the ledger when something stops it: an outage costs no try."""
    account_id = claim.job.account_id
    try:
        yield
    except ComposeFailed as failure:
        with account_transaction(account_id):
            if failure.everywhere:
                jobs.postpone(claim, error_class=failure.error_class, pause=_pause(failure))
            else:
                jobs.fail(claim, error_class=failure.error_class)
    except Exception as error:
        with account_transaction(account_id):
            jobs.fail(claim, error_class=type(error).__name__)
        raise


def due(
    account_id: uuid.UUID, *, subject_id: uuid.UUID | None = None, after: str = "", most: int | None = None
) -> list[uuid.UUID]:
    """Return the cards that a night compacts, in the order of their ids, behind ``after``, at most ``most``.

    Sessions have their own time. ``subject_id``: only the profiles of that subject. Runs inside the account.
    """
    cards = Card.objects.filter(account_id=account_id, compact_due=True).exclude(kind=CardKind.SESSION_SUMMARY)
    if after:
        cards = cards.filter(id__gt=after)
    return list(profiles_of(cards, subject_id).order_by("id").values_list("id", flat=True)[:most])


def profiles_of(cards: QuerySet[Card], subject_id: uuid.UUID | None) -> QuerySet[Card]:
    """Return the profiles of a subject among the cards, its own and the shared ones; all cards where it is ``None``."""
    if subject_id is None:
        return cards
    own = Q(kind=CardKind.SUBJECT_PROFILE, subject_id=subject_id)
    return cards.filter(own | Q(kind=CardKind.SHARED_PROFILE, key=str(subject_id)))


def _pause(failure: ComposeFailed) -> timedelta:
    return BUDGET_PAUSE if failure.error_class.startswith("budget") else OUTAGE_PAUSE
