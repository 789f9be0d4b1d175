"""Sending what is due: claimed, checked and worded in one transaction, sent in none, settled in another.

A claim is taken by compare-and-set, so of many senders one sends. What a worker left when it died is taken up again
after :data:`CLAIM_LASTS` as *uncertain*; each way knows how to find out whether that try arrived, or does not send
again.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet

from facts import isolation
from facts.clock import now
from facts.ids import new_id
from facts.models import Account
from facts.tenancy import account_transaction
from ingest.deliveries import contents, targets, ways
from ingest.deliveries.contents import NotToBeTold
from ingest.deliveries.places import NoPlace, has_left, place_of, way_of
from ingest.deliveries.senders import email, slack, webhook
from ingest.deliveries.senders.base import NotSent, Parcel
from ingest.models import Delivery, DeliveryKind, DeliveryState

logger = logging.getLogger(__name__)

#: A claim older than this is taken to be dead: several times what the slowest way takes.
CLAIM_LASTS = timedelta(minutes=5)
#: Tries of one delivery while its way works for others.
MOST_ATTEMPTS = 8
#: Waiting time before the second try, tripled each time up to the longest: eight tries within about half a day.
FIRST_RETRY = timedelta(seconds=30)
RETRY_FACTOR = 3
LONGEST_RETRY = timedelta(hours=6)
#: Every waiting time is spread by so much to both sides, so that what failed together does not come back together.
JITTER = 0.25
_spread = random.SystemRandom()
#: Deliveries of an account in one round.
BATCH = 200
#: Part of the time of a task after which a round leaves the rest to the next one.
SHARE_OF_TASK = 0.5

Send = Callable[[Parcel], str]

SENDERS: Mapping[str, Send] = MappingProxyType(
    {DeliveryKind.SLACK: slack.send, DeliveryKind.WEBHOOK: webhook.send, DeliveryKind.EMAIL: email.send}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A try that this process may make now."""

    parcel: Parcel
    token: uuid.UUID


def send_due_everywhere() -> int:
    """Send what is due in every account; return how many deliveries arrived.

    Each has its part of the time, and those after it what it leaves; the order is another one each time. So an account
    whose receivers are slow keeps no other's deliveries from being sent.
    """
    stop_at = time.monotonic() + SHARE_OF_TASK * settings.MEMORY_TASK_SECONDS
    accounts = list(Account.objects.values_list("id", flat=True))
    _spread.shuffle(accounts)
    waiting = iter(range(len(accounts), 0, -1))

    def send(account_id: uuid.UUID) -> int:
        start = time.monotonic()
        return send_due(account_id, stop_at=start + (stop_at - start) / next(waiting))

    return isolation.each_account(accounts, send, name="send_deliveries")


def count_dead_everywhere() -> int:
    """Return how many deliveries were given up, in all accounts."""
    accounts = Account.objects.values_list("id", flat=True)
    return isolation.each_account(accounts, _count_dead, name="count_dead_letters")


def _count_dead(account_id: uuid.UUID) -> int:
    with account_transaction(account_id):
        return targets.dead_letters(account_id)


def send_due(account_id: uuid.UUID, *, stop_at: float = float("inf")) -> int:
    """Send what is due in one account, what waited longest first; return how many arrived.

    ``stop_at`` is an instant of the monotonic clock after which nothing new is begun.
    """
    with account_transaction(account_id):
        due = Delivery.objects.filter(_free(), account_id=account_id).order_by("next_try_at")
        ids = list(due.values_list("pk", flat=True)[:BATCH])
    arrived = 0
    for delivery_id in ids:
        if time.monotonic() >= stop_at:
            break
        try:
            arrived += send_one(account_id, delivery_id)
        except Exception as error:
            # One that cannot even be worded holds up no other.
            logger.error("delivery_failed", extra={"delivery": str(delivery_id), "error_class": type(error).__name__})
            with account_transaction(account_id):
                _put_off(account_id, delivery_id, error_class=type(error).__name__)
    return arrived


def send_one(account_id: uuid.UUID, delivery_id: uuid.UUID) -> bool:
    """Make one try of a delivery if it is due and in nobody's hands; tell whether it arrived."""
    with account_transaction(account_id):
        claim = _claim(account_id, delivery_id)
    if claim is None:
        return False
    try:
        receipt = SENDERS[claim.parcel.place.kind](claim.parcel)
    except NotSent as failure:
        with account_transaction(account_id):
            _note_failure(claim, failure)
        return False
    except Exception as error:
        # The class alone: a message may quote what was to be sent.
        logger.error("delivery_failed", extra={"delivery": str(delivery_id), "error_class": type(error).__name__})
        with account_transaction(account_id):
            _note_failure(claim, NotSent(type(error).__name__, uncertain=True))
        return False
    with account_transaction(account_id):
        _note_arrival(claim, receipt)
    return True


def _free() -> Q:
    at = now()
    return Q(state=DeliveryState.PENDING, next_try_at__lte=at) | Q(
        state=DeliveryState.SENDING, claimed_at__lt=at - CLAIM_LASTS
    )


def _claim(account_id: uuid.UUID, delivery_id: uuid.UUID) -> _Claim | None:
    """Take the delivery, and settle it at once where it is not to be sent at all."""
    rows = Delivery.objects.filter(account_id=account_id, pk=delivery_id)
    delivery = rows.filter(_free()).select_for_update(of=("self",), skip_locked=True).select_related("target").first()
    if delivery is None:
        return None
    was_left = delivery.state == DeliveryState.SENDING
    try:
        if has_left(delivery):
            raise NotToBeTold("person_left")
        place = place_of(delivery)
        content = contents.word(delivery, place)
    except NotToBeTold as refusal:
        state = DeliveryState.CANCELLED if refusal.over else DeliveryState.SUPPRESSED
        _settle(rows, state=state, reason=refusal.reason)
        return None
    except NoPlace as missing:
        _settle(rows, state=DeliveryState.DEAD, error_class=missing.reason)
        return None
    if until := ways.wait_until(account_id, way_of(delivery)):
        rows.update(
            state=DeliveryState.PENDING,
            next_try_at=until,
            claim_token=None,
            uncertain=delivery.uncertain or was_left,
        )
        return None
    token = new_id()
    rows.update(
        state=DeliveryState.SENDING,
        claim_token=token,
        claimed_at=now(),
        attempts=F("attempts") + 1,
        uncertain=delivery.uncertain or was_left,
    )
    parcel = Parcel(
        delivery_id=delivery.id,
        place=place,
        content=content,
        created_at=delivery.created_at,
        uncertain=delivery.uncertain or was_left,
    )
    return _Claim(parcel=parcel, token=token)


def _put_off(account_id: uuid.UUID, delivery_id: uuid.UUID, *, error_class: str) -> None:
    """Count a try that failed before anything was sent."""
    rows = Delivery.objects.filter(account_id=account_id, pk=delivery_id, state=DeliveryState.PENDING)
    delivery = rows.select_for_update().first()
    if delivery is None:
        return
    tried = delivery.attempts + 1
    if tried >= MOST_ATTEMPTS:
        _settle(rows, state=DeliveryState.DEAD, attempts=tried, error_class=error_class[:128])
    else:
        rows.update(attempts=tried, error_class=error_class[:128], next_try_at=now() + _pause(tried))


def _settle(rows: QuerySet[Delivery], *, state: str, **change: Any) -> None:
    """End a delivery that did not arrive, and tell whoever asked for it unless what it is about has ended."""
    delivery = rows.first()
    rows.update(claim_token=None, finished_at=now(), state=state, **change)
    if delivery is not None and state != DeliveryState.CANCELLED:
        contents.ended(delivery, arrived=False)


def _mine(claim: _Claim) -> QuerySet[Delivery]:
    place = claim.parcel.place
    return Delivery.objects.filter(account_id=place.account_id, pk=claim.parcel.delivery_id, claim_token=claim.token)


def _note_arrival(claim: _Claim, receipt: str) -> None:
    place = claim.parcel.place
    ways.works(place.account_id, place.way)
    # Whoever withdrew it or took it over meanwhile was too late: it has arrived, and that is what the record says.
    rows = Delivery.objects.filter(account_id=place.account_id, pk=claim.parcel.delivery_id)
    rows.update(
        state=DeliveryState.SENT,
        receipt=receipt[:200],
        reason="",
        error_class="",
        uncertain=False,
        claim_token=None,
        finished_at=now(),
    )
    delivery = rows.first()
    if delivery is not None:
        contents.ended(delivery, arrived=True)


def _note_failure(claim: _Claim, failure: NotSent) -> None:
    place = claim.parcel.place
    rows = _mine(claim)
    error_class = failure.error_class[:128]
    if failure.permanent:
        # The receiver, or we ourselves, said no to this one: that says nothing against the way.
        ways.works(place.account_id, place.way)
        _settle(rows, state=DeliveryState.DEAD, error_class=error_class, uncertain=failure.uncertain)
        return
    uncertain = claim.parcel.uncertain or failure.uncertain
    if failure.rest is not None:
        ways.rests(place.account_id, place.way, seconds=failure.rest)
        pause, counts = timedelta(seconds=failure.rest), False
    else:
        blocked = ways.fails(place.account_id, place.way)
        delivery = rows.first()
        pause, counts = _pause(delivery.attempts if delivery else 1), not blocked
        if counts and delivery is not None and delivery.attempts >= MOST_ATTEMPTS:
            _settle(rows, state=DeliveryState.DEAD, error_class=error_class, uncertain=uncertain)
            return
    rows.update(
        state=DeliveryState.PENDING,
        claim_token=None,
        next_try_at=now() + pause,
        attempts=F("attempts") - (0 if counts else 1),
        uncertain=uncertain,
        error_class=error_class,
    )


def _pause(attempts: int) -> timedelta:
    """Return how long to wait after so many tries."""
    pause = min(FIRST_RETRY * RETRY_FACTOR ** min(attempts - 1, 20), LONGEST_RETRY)
    return pause * _spread.uniform(1 - JITTER, 1 + JITTER)
