"""Reading the history of channels from Slack: one page of one channel, or of one thread, in each step.

Only channels that were opted in are read, and nothing is kept of people who opted out. Messages go the way of live
ones (``slack.delivery``), so one that is known already is not stored twice. Each page commits with the place to go on
from; whatever stops the work costs one page at most. Facts are looked for when all channels have been read.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings

from facts import long_jobs
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.long_jobs import Run, Step
from facts.models import LongJob
from facts.tenancy import account_transaction
from facts.vocabulary import SourceType
from ingest import backfill_hold, processing
from ingest.line import Part
from ingest.models import BackfillChannel, BackfillState, SlackChannel, SlackWorkspace
from ingest.slack import channels, delivery, directory, obeying, people, receiving, workspaces
from ingest.slack.client import RateLimited, Refused, Slack, client_for
from ingest.slack.delivery import Channel
from ingest.slack.messages import Said, Understood, understand
from ingest.slack.people import read_member

KIND = "backfill"
#: What may be read back: the whole workspace, or one channel.
SCOPES = ("org", "channel")
#: How far back the history is read.
PERIOD = timedelta(days=365)
#: Messages of one page, the most that Slack recommends.
PAGE = 200
#: Seconds that one step reads messages for facts.
EXTRACT_SECONDS = 10.0
#: Slack's words for "not this channel"; anything else is about the token, and ends the work.
_NOT_THIS_CHANNEL = frozenset(
    {"not_in_channel", "channel_not_found", "is_archived", "missing_scope", "no_permission", "access_denied"}
)
_GONE = frozenset({"thread_not_found", "message_not_found"})


def start(account_id: uuid.UUID, *, scope: str, team: str = "", channel_id: str = "", actor: Actor) -> LongJob:
    """Begin a backfill, or add a channel to the one that is under way; commits.

    Raises ``DomainError`` (``unknown_backfill_scope``, ``unknown_channel``) and ``Conflicting``
    (``slack_not_connected``, ``slack_not_configured``, ``team_not_named``, ``channel_not_listening``).
    """
    if scope not in SCOPES:
        raise DomainError("The scope is 'org' or 'channel'.", code="unknown_backfill_scope", field="scope")
    with account_transaction(account_id):
        workspace = _workspace(account_id, team)
        if client_for(workspace.team) is None:
            raise Conflicting("There is no token for this workspace: set SLACK_BOT_TOKEN.", code="slack_not_configured")
        channel = _listened_to(workspace, channel_id) if scope == "channel" else None
        work = long_jobs.submit(
            account_id,
            kind=KIND,
            input_key=workspace.team,
            title=workspace.name or workspace.team,
            options={"team": workspace.team, "scope": scope, "channel_id": channel_id if channel else ""},
            actor=actor,
        )
        if channel is not None:
            _mark(work, workspace.team, channel.channel_id)
        _widen(work, scope)
        return work


def _widen(work: LongJob, scope: str) -> None:
    """Let a backfill that is under way also do what is asked now."""
    stage = work.position.get("stage")
    if scope == "org" and work.options["scope"] != "org":
        work.options = {**work.options, "scope": "org", "channel_id": ""}
        work.position = {"stage": "channels"} if stage in {"history", "facts"} else work.position
    elif stage == "facts":
        work.position = {"stage": "history"}
    work.save(update_fields=["options", "position"])


def step(run: Run) -> Step:
    """Do the next page of a backfill (a step of ``facts.long_jobs``)."""
    account_id, options = run.job.account_id, run.job.options
    with account_transaction(account_id):
        workspace = SlackWorkspace.objects.filter(
            account_id=account_id, team=options["team"], disconnected_at__isnull=True
        ).first()
    slack = client_for(workspace.team) if workspace is not None else None
    if slack is None:
        return Step(failed="slack_not_connected" if workspace is None else "slack_not_configured")
    pause = timedelta(seconds=settings.SLACK_BACKFILL_SECONDS)
    try:
        match run.job.position.get("stage", "members"):
            case "members":
                _read_members(run, workspace, slack)
            case "channels":
                _read_channels(run, workspace, slack)
            case "history":
                if _read_history(run, workspace, slack):
                    return Step()
            case _:
                return _extract(run)
    except RateLimited as limit:
        return Step(pause=timedelta(seconds=limit.seconds), reason="rate_limited")
    except Refused as refusal:
        return Step(failed=f"slack_{refusal.error}")
    return Step(pause=pause)


def ended(work: LongJob) -> None:
    """Let what was read so far be read for facts, however the backfill ended."""
    backfill_hold.release(work.account_id)


def states(account_id: uuid.UUID) -> list[tuple[BackfillChannel, str]]:
    """Return every channel that was ever read back, with its name as it is known."""
    names = dict(SlackChannel.objects.filter(account_id=account_id).values_list("channel_id", "name"))
    rows = BackfillChannel.objects.filter(account_id=account_id).order_by("id")
    return [(row, names.get(row.channel_id, "")) for row in rows]


def latest(account_id: uuid.UUID) -> LongJob | None:
    """Return the backfill that was begun last, in the caller's account transaction."""
    return long_jobs.of_account(account_id, kind=KIND).first()


def _workspace(account_id: uuid.UUID, team: str) -> SlackWorkspace:
    connected = SlackWorkspace.objects.filter(account_id=account_id, disconnected_at__isnull=True)
    found = list(connected.filter(team=team) if team else connected[:2])
    if not found:
        raise Conflicting("No Slack workspace is connected.", code="slack_not_connected", field="team")
    if len(found) > 1:
        raise Conflicting("Several workspaces are connected: name one.", code="team_not_named", field="team")
    return found[0]


def _listened_to(workspace: SlackWorkspace, channel_id: str) -> SlackChannel:
    known = SlackChannel.objects.filter(account_id=workspace.account_id, team=workspace.team, channel_id=channel_id)
    channel = known.first()
    if channel is None:
        raise DomainError("No such channel is known.", code="unknown_channel", field="channel_id")
    if not channel.listening:
        raise Conflicting("Nobody opted this channel in.", code="channel_not_listening", field="channel_id")
    return channel


def _read_members(run: Run, workspace: SlackWorkspace, slack: Slack) -> None:
    """Take in a page of the list of users, so that messages name people instead of identifiers."""
    answer = slack.call("users.list", limit=PAGE, cursor=run.job.position.get("cursor") or None)
    members = [member for entry in _rows(answer, "members") if (member := read_member(entry)) is not None]
    cursor = _cursor(answer)
    whole = run.job.options["scope"] == "org"
    after = {"stage": "members", "cursor": cursor} if cursor else {"stage": "channels" if whole else "history"}
    with account_transaction(workspace.account_id):
        for member in sorted(members, key=lambda member: member.identifier):
            if member.identifier != workspace.bot_user_id:
                people.refresh(workspace.account_id, member)
        run.note(run.job.done, position=after)


def _read_channels(run: Run, workspace: SlackWorkspace, slack: Slack) -> None:
    """Take in a page of the list of channels; those that are listened to are to be read."""
    answer = slack.call(
        "conversations.list",
        types="public_channel,private_channel",
        limit=PAGE,
        cursor=run.job.position.get("cursor") or None,
    )
    cursor = _cursor(answer)
    after = {"stage": "channels", "cursor": cursor} if cursor else {"stage": "history"}
    with account_transaction(workspace.account_id):
        counts: Counter[str] = Counter()
        for told in _rows(answer, "channels"):
            channel = channels.note(workspace, told)
            if channel is not None and channel.listening:
                _mark(run.job, workspace.team, channel.channel_id)
            elif channel is not None:
                counts["channels_not_opted_in"] += 1
        run.note(run.job.done, position=after, counts=counts)


def _mark(work: LongJob, team: str, channel_id: str) -> None:
    """Have a channel read by this work, from where the last one that came to its end began."""
    row, _ = BackfillChannel.objects.get_or_create(account_id=work.account_id, team=team, channel_id=channel_id)
    if row.work_id == work.pk:
        return
    if row.state in {BackfillState.DONE, BackfillState.SKIPPED}:
        row.state, row.reason, row.finished_at = BackfillState.PENDING, "", None
        row.top = row.oldest = row.floor = row.thread_cursor = ""
        row.threads, row.more_to_read = [], True
    row.work = work
    row.save()


def _read_history(run: Run, workspace: SlackWorkspace, slack: Slack) -> bool:
    """Read one page of the first channel that is not done; ``True`` when that took no call to Slack."""
    account_id = workspace.account_id
    with account_transaction(account_id):
        rows = BackfillChannel.objects.filter(account_id=account_id, work_id=run.job.pk)
        row = rows.filter(state__in=[BackfillState.PENDING, BackfillState.READING]).order_by("id").first()
        if row is None:
            backfill_hold.release(account_id)
            run.note(run.job.done, position={"stage": "facts"})
            return True
        binding = channels.binding_of(account_id, row.team, row.channel_id)
        if binding is None or channels.listening(workspace, row.channel_id) is None:
            _end(run, row, BackfillState.SKIPPED, reason="not_opted_in")
            return True
        if row.state == BackfillState.PENDING:
            _begin(row)
    channel = Channel(
        binding=binding, source_type=SourceType.BACKFILL, provenance={"import": str(run.job.pk), "backfill": True}
    )
    try:
        if row.threads:
            _read_thread(run, row, workspace, slack, channel)
        else:
            _read_page(run, row, workspace, slack, channel)
    except Refused as refusal:
        if refusal.error not in _NOT_THIS_CHANNEL:
            raise
        with account_transaction(account_id):
            _end(run, row, BackfillState.SKIPPED, reason=refusal.error)
    return False


def _begin(row: BackfillChannel) -> None:
    at = now()
    a_year_ago = _stamp(at - PERIOD)
    row.state = BackfillState.READING
    row.floor = max(row.newest or "0", a_year_ago, key=Decimal)
    row.save()


def _read_page(run: Run, row: BackfillChannel, workspace: SlackWorkspace, slack: Slack, channel: Channel) -> None:
    """Read the next older page of a channel's own messages."""
    answer = slack.call(
        "conversations.history",
        channel=row.channel_id,
        limit=PAGE,
        oldest=row.floor,
        latest=row.oldest or None,
    )
    records = _rows(answer, "messages")
    stamps = [stamp for record in records if (stamp := _ts(record))]
    if stamps:
        row.top = row.top or max(stamps, key=Decimal)
        row.oldest = min(stamps, key=Decimal)
    row.threads = sorted(
        {ts for record in records if record.get("reply_count") and (ts := _ts(record))}, key=Decimal, reverse=True
    )
    more = bool(answer.get("has_more")) and bool(stamps)
    row.messages += len(records)
    _deliver(run, row, workspace, channel, records, is_last=not more)


def _read_thread(run: Run, row: BackfillChannel, workspace: SlackWorkspace, slack: Slack, channel: Channel) -> None:
    """Read a page of the answers to one message."""
    root = row.threads[0]
    try:
        answer = slack.call(
            "conversations.replies", channel=row.channel_id, ts=root, limit=PAGE, cursor=row.thread_cursor or None
        )
    except Refused as refusal:
        if refusal.error == "invalid_cursor" and row.thread_cursor:
            answer = slack.call("conversations.replies", channel=row.channel_id, ts=root, limit=PAGE)
        elif refusal.error in _GONE:
            answer = {}
        else:
            raise
    replies = [record for record in _rows(answer, "messages") if _ts(record) != root]
    row.thread_cursor = _cursor(answer)[:500]
    if not row.thread_cursor:
        row.threads = row.threads[1:]
    row.replies += len(replies)
    _deliver(run, row, workspace, channel, replies, is_last=not row.more_to_read)


def _deliver(
    run: Run,
    row: BackfillChannel,
    workspace: SlackWorkspace,
    channel: Channel,
    records: Sequence[Mapping[str, Any]],
    *,
    is_last: bool,
) -> None:
    """Keep the records of a page, oldest first, and commit them with the place to go on from."""
    account_id = workspace.account_id
    at = now()
    ordered = sorted(records, key=lambda record: Decimal(_ts(record) or 0))
    with account_transaction(account_id):
        names = directory.names_in(workspace, {"messages": list(ordered)})
    understood: list[Understood] = []
    left_out: Counter[str] = Counter()
    for record in ordered:
        if receiving.is_own(workspace, record):
            left_out[receiving.OWN_POST] += 1
        elif obeying.command_in(workspace, record, record, direct=False) is not None:
            left_out[receiving.COMMAND] += 1
        else:
            understood.append(understand(record, names, now=at))
    segments = list(delivery.segments(understood, size=PAGE)) or [[]]
    for number, segment in enumerate(segments, start=1):
        with account_transaction(account_id):
            counts = _keep(run, workspace, channel, segment)
            if number < len(segments):
                run.note(run.job.done, counts=counts)
                continue
            row.more_to_read = not is_last
            row.save()
            if is_last and not row.threads:
                row.newest = row.top or row.newest or row.floor
                _end(run, row, BackfillState.DONE)
            done, total = _covered(run.job)
            run.note(done, total=total, counts=counts + left_out)


def _keep(run: Run, workspace: SlackWorkspace, channel: Channel, segment: Sequence[Understood]) -> Counter[str]:
    said = [record for record in segment if isinstance(record, Said)]
    authors = people.known(workspace.account_id, {record.author for record in said})
    counts = delivery.deliver(workspaces.principal_of(workspace), channel, segment, authors=authors)
    backfill_hold.hold(
        workspace.account_id, work_id=run.job.pk, source_keys=[channel.key(record.ts) for record in said]
    )
    return counts


def _end(run: Run, row: BackfillChannel, state: BackfillState, *, reason: str = "") -> None:
    """Close a channel, in the caller's transaction."""
    row.state, row.reason, row.finished_at = state, reason[:64], now()
    row.save()
    done, total = _covered(run.job)
    run.note(done, total=total, counts={f"channels_{state.value}": 1})


def _covered(work: LongJob) -> tuple[int, int]:
    """Return how many days of history were read, and how many there are to read, in all channels of the work."""
    done = total = 0
    for row in BackfillChannel.objects.filter(account_id=work.account_id, work_id=work.pk):
        days = _days(row.floor, _stamp(work.created_at)) if row.floor else PERIOD.days
        total += days
        if row.state in {BackfillState.DONE, BackfillState.SKIPPED}:
            done += days
        elif row.oldest:
            done += min(days, _days(row.oldest, _stamp(work.created_at)))
    return done, total


def _extract(run: Run) -> Step:
    """Read what was taken in for facts, for a while."""
    drained = processing.drain(Part(account_id=run.job.account_id), seconds=EXTRACT_SECONDS)
    run.note(run.job.done, counts={"read_for_facts": drained.processed})
    return Step(finished=not drained.pending or not drained.processed)


def _stamp(at: datetime) -> str:
    return f"{at.timestamp():.6f}"


def _days(start: str, end: str) -> int:
    """Return how many days lie between two time stamps, at least 1."""
    return max(1, round(float(Decimal(end) - Decimal(start)) / 86_400))


def _ts(record: Mapping[str, Any]) -> str:
    """Return the time stamp of a record, "" for one that has none that can be read."""
    ts = record.get("ts")
    return ts if isinstance(ts, str) and len(ts) <= 32 and ts.replace(".", "", 1).isdigit() else ""


def _rows(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = answer.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _cursor(answer: Mapping[str, Any]) -> str:
    about = answer.get("response_metadata")
    cursor = about.get("next_cursor") if isinstance(about, Mapping) else None
    return cursor if isinstance(cursor, str) else ""
