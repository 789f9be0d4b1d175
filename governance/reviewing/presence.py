"""Who else has the same thing open: said to whoever opens it, so that two people do not decide at once unknowingly.

It is a warning and no lock. What decides about two decisions at once are the versions that each of them names.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from facts.clock import now
from facts.models import Membership
from governance.access import Principal
from governance.models import Presence

#: How long somebody counts as looking after opening a page: about as long as a decision takes.
LASTS = timedelta(minutes=10)
#: People named.
SHOWN = 5


def look(principal: Principal, *, about: str, object_id: uuid.UUID) -> list[Presence]:
    """Note that the person has this open now, and return who else has, the latest first.

    Three statements: what is over of the person's own goes, the row is written, the others are read. Runs inside the
    account's transaction.
    """
    at = now()
    own = Presence.objects.filter(account_id=principal.account_id, membership_id=principal.membership_id)
    own.filter(seen_at__lt=at - LASTS).delete()
    mine = Presence(
        account_id=principal.account_id,
        membership_id=principal.membership_id,
        about=about,
        object_id=object_id,
        seen_at=at,
    )
    Presence.objects.bulk_create(
        [mine],
        update_conflicts=True,
        unique_fields=["account", "object_id", "membership"],
        update_fields=["seen_at"],
    )
    others = Presence.objects.filter(account_id=principal.account_id, object_id=object_id, seen_at__gte=at - LASTS)
    others = others.exclude(membership_id=principal.membership_id).select_related("membership__user")
    return list(others.order_by("-seen_at")[:SHOWN])


def leave(principal: Principal, *, object_id: uuid.UUID) -> None:
    """Note that the person has decided about it, and looks at it no longer."""
    Presence.objects.filter(
        account_id=principal.account_id, membership_id=principal.membership_id, object_id=object_id
    ).delete()


def name_of(membership: Membership) -> str:
    """Return how a person is named to the others who decide."""
    return membership.user.get_full_name() or membership.user.get_username()
