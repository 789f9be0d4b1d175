"""What reading the history of channels would take, before it is begun. Asks the database alone, never Slack.

How many messages a channel held nobody knows before it is read. What was kept of it lately, at the same pace for as
long as is read back, is the guess; of channels that were listened to for less than a day there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Count, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, Concat

from facts.clock import now
from facts.models import Event
from ingest.backfill import PAGE, PERIOD
from ingest.models import BackfillChannel, SlackChannel, SlackWorkspace

#: How far back the pace of a channel is measured, and the shortest time that says anything of it.
MEASURED, LEAST = timedelta(days=30), timedelta(days=1)
#: Channels that are looked at one by one; of more than these the guess is from these.
LOOKED_AT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a backfill would read. ``unmeasured``: channels of whose pace nothing is known.

    ``messages`` and ``expected``, how long their pages take, are ``None`` where no channel was measured; answers in
    threads come on top of both. ``least``: how long it takes even if every channel is empty; ``pause``: what each
    further page or thread adds.
    """

    channels: int
    unmeasured: int
    days: int
    messages: int | None
    least: timedelta
    expected: timedelta | None
    pause: timedelta


def outlook(workspace: SlackWorkspace, *, channel_id: str = "") -> Outlook:
    """Return what reading the channels that are listened to, or one of them, would take. Three queries.

    Runs in the caller's account transaction.
    """
    at = now()
    measured_from = f"{(at - MEASURED).timestamp():.6f}"
    begins = (Value(f"slack:{workspace.team}:"), OuterRef("channel_id"))
    lately = Event.objects.filter(
        account_id=workspace.account_id,
        revision=1,
        source_key__gte=Concat(*begins, Value(f":{measured_from}")),
        source_key__lt=Concat(*begins, Value(";")),
    )
    kept = Subquery(lately.order_by().annotate(one=Value(1)).values("one").annotate(n=Count("pk")).values("n"))
    listened = SlackChannel.objects.filter(account_id=workspace.account_id, team=workspace.team, listening=True)
    if channel_id:
        listened = listened.filter(channel_id=channel_id)
    count = listened.count()
    newest = dict(
        BackfillChannel.objects.filter(account_id=workspace.account_id, team=workspace.team)
        .exclude(newest="")
        .values_list("channel_id", "newest")
    )
    looked = list(listened.order_by("id").annotate(kept=Coalesce(kept, 0))[:LOOKED_AT])
    guesses = [_guess(channel, newest.get(channel.channel_id, ""), at) for channel in looked]
    days = max((days for days, _ in guesses), default=0.0)
    known = [messages for _, messages in guesses if messages is not None]
    pages = sum(max(1, math.ceil((messages or 0) / PAGE)) for _, messages in guesses) + count - len(looked)
    pause = timedelta(seconds=settings.SLACK_BACKFILL_SECONDS)
    # The list of people comes first, and that of channels where all are read.
    lists = 1 if channel_id else 2
    return Outlook(
        channels=count,
        unmeasured=count - len(known),
        days=math.ceil(days),
        messages=round(sum(known)) if known else None,
        least=(count + lists) * pause,
        expected=(pages + lists) * pause if known else None,
        pause=pause,
    )


def _guess(channel: SlackChannel, newest: str, at: datetime) -> tuple[float, float | None]:
    """Return how many days of a channel are to be read, and how many messages they may hold."""
    floor = max(Decimal(newest or 0), Decimal((at - PERIOD).timestamp()))
    days = max(0.0, (at.timestamp() - float(floor)) / 86_400)
    heard = min(MEASURED, at - channel.switched_at) if channel.switched_at else timedelta()
    if heard < LEAST:
        return days, None
    return days, channel.kept / (heard / timedelta(days=1)) * days
