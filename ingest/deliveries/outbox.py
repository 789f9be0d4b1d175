"""Asking for deliveries, taking them back, and having a dead one sent again. Sending is ``ingest.deliveries.sending``.

Everything runs inside the account, in the caller's transaction: what is asked for is sent exactly if that commits.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import timedelta

from django.conf import settings

from facts import audit
from facts.clock import now
from facts.errors import Conflicting, NotFound, Refused
from facts.ids import lower_bound, new_id
from facts.models import Subject
from governance.access import Principal, has_role
from governance.models import Role
from ingest.models import Delivery, DeliveryState, DeliveryTarget

#: Why a delivery was cancelled that comes back when its object does.
WITHDRAWN = "withdrawn"
#: Why one was not told that comes back when its fact does.
FACT_WAS_AWAY = ("conflict_open", "fact_not_current", "source_forgotten")
#: What is over by itself. What was given up waits for a person, however long.
OVER = (DeliveryState.SENT, DeliveryState.CANCELLED, DeliveryState.SUPPRESSED)
#: Records deleted in one transaction.
PRUNED_AT_ONCE = 1_000


def request(
    account_id: uuid.UUID,
    *,
    about: str,
    object_id: uuid.UUID,
    key: str,
    target: DeliveryTarget | None = None,
    recipient: Subject | None = None,
) -> Delivery:
    """Have something delivered to a target, or to a person wherever they are reached; return the delivery.

    ``about`` names its wording (``ingest.deliveries.contents``). One ``key`` is one delivery, however often it is asked
    for.
    """
    if (target is None) == (recipient is None):
        raise ValueError("A delivery goes to a target or to a person.")
    delivery, _ = Delivery.objects.get_or_create(
        account_id=account_id,
        key=key,
        defaults={
            "id": new_id(),
            "target": target,
            "recipient": recipient,
            "about": about,
            "object_id": object_id,
        },
    )
    return delivery


def withdraw(account_id: uuid.UUID, object_ids: Collection[uuid.UUID]) -> int:
    """Cancel what is still to be sent about these objects; return how many deliveries.

    One that is being sent this moment cannot be called back; it is not tried again.
    """
    about = Delivery.objects.filter(account_id=account_id, object_id__in=list(object_ids))
    about.filter(state=DeliveryState.SENDING).update(uncertain=True)
    waiting = about.filter(state__in=[DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.DEAD])
    return waiting.update(state=DeliveryState.CANCELLED, reason=WITHDRAWN, claim_token=None, finished_at=now())


def restore(account_id: uuid.UUID, object_ids: Collection[uuid.UUID]) -> int:
    """Have sent what :func:`withdraw` cancelled, or what was not told because its fact was not current; return how
    many."""
    gone = Delivery.objects.filter(
        account_id=account_id,
        object_id__in=list(object_ids),
        state__in=[DeliveryState.CANCELLED, DeliveryState.SUPPRESSED],
        reason__in=[WITHDRAWN, *FACT_WAS_AWAY],
    )
    return gone.update(
        state=DeliveryState.PENDING, reason="", attempts=0, next_try_at=now(), finished_at=None, error_class=""
    )


def send_again(principal: Principal, delivery_id: uuid.UUID) -> Delivery:
    """Have a dead delivery sent again, with a fresh set of tries.

    Its key stays: a receiver that heard it before can tell. Where the outcome of a try is unknown, the person takes it
    on themselves that it may arrive twice. Raises ``Refused`` (``human_required``, ``forbidden``), ``NotFound``
    (``delivery_not_found``) and ``Conflicting`` (``delivery_not_dead``).
    """
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    if not has_role(principal, "/", Role.ACCOUNT_ADMIN):
        raise Refused("Only account administrators send again.", code="forbidden")
    found = Delivery.objects.select_for_update().filter(account_id=principal.account_id, pk=delivery_id)
    delivery = found.first()
    if delivery is None:
        raise NotFound("There is no such delivery.", code="delivery_not_found")
    if delivery.state != DeliveryState.DEAD:
        raise Conflicting("Only a dead delivery is sent again.", code="delivery_not_dead")
    found.update(
        state=DeliveryState.PENDING,
        attempts=0,
        uncertain=False,
        next_try_at=now(),
        claim_token=None,
        finished_at=None,
        error_class="",
        reason="",
    )
    audit.record(
        principal.account_id,
        action="delivery.sent_again",
        object_type="delivery",
        object_id=delivery_id,
        actor=principal.actor,
        group=new_id(),
        metadata={"uncertain": delivery.uncertain},
    )
    delivery.refresh_from_db()
    return delivery


def prune(account_id: uuid.UUID) -> int:
    """Delete the oldest records of what is over for ``MEMORY_DELIVERY_DAYS``, up to :data:`PRUNED_AT_ONCE`.

    Returns how many; 0 days keep them for good. In the caller's account transaction. What was cancelled or not told
    does not come back with its object after that.
    """
    if not settings.MEMORY_DELIVERY_DAYS:
        return 0
    before = now() - timedelta(days=settings.MEMORY_DELIVERY_DAYS)
    # Nothing ends before it was asked for, so that old ids are all that has to be looked through.
    over = Delivery.objects.filter(
        account_id=account_id, state__in=OVER, pk__lt=lower_bound(before), finished_at__lt=before
    )
    oldest = list(over.order_by("pk").values_list("pk", flat=True)[:PRUNED_AT_ONCE])
    return over.filter(pk__in=oldest).delete()[0]
