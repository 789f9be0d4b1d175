"""Delivering Slack's messages to the store: once each, edits as revisions, deletions as withdrawals.

A message is recognised by workspace, channel and time stamp, whether it comes by an export or live, and however
often. The caller holds an account transaction.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from facts import audit
from facts.models import Event, Subject
from facts.tenancy import ensure_scope, ensure_subject, normalise_path
from facts.vocabulary import SourceType, SubjectKind
from governance.access import Principal
from ingest import opting_out
from ingest.capture import capture, record_revision
from ingest.models import ChannelBinding, DeletedMessage
from ingest.observations import Observation
from ingest.slack import people
from ingest.slack.messages import Changed, Deleted, Said, Skipped, Understood
from ingest.withdrawal import hide, withdraw

#: Stands for the workspace where a source does not name it.
UNKNOWN_TEAM = "-"

#: What became of a message, besides the reasons of ``messages.SKIPPED``.
CAPTURED = "captured"
DEDUPLICATED = "deduplicated"
REVISED = "revised"
DELETED = "deleted"
#: Of those captured: their text had been edited before they were first seen.
EDITED_BEFORE = "edited_before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Where messages are delivered to, and how: ``origin_trust`` ``None`` leaves the default."""

    binding: ChannelBinding
    source_type: str = SourceType.CHANNEL_MESSAGE
    origin_trust: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def key(self, ts: str) -> str:
        """Return the key of one of its messages, the same whatever way it comes."""
        return f"slack:{self.binding.team}:{self.binding.channel_id}:{ts}"


def bind(
    account_id: uuid.UUID, *, team: str, channel_id: str, name: str, is_private: bool, path: str
) -> ChannelBinding:
    """Return the binding of a channel, made with the scope ``path`` on first use. A binding does not move.

    Raises ``DomainError`` (``invalid_scope``).
    """
    team = team or UNKNOWN_TEAM
    known = ChannelBinding.objects.filter(account_id=account_id, team=team, channel_id=channel_id)
    found = known.select_related("scope").first()
    if found is not None:
        return found
    binding, _ = ChannelBinding.objects.get_or_create(
        account_id=account_id,
        team=team,
        channel_id=channel_id,
        defaults={
            "name": name[:200],
            "is_private": is_private,
            "scope": ensure_scope(account_id, normalise_path(path)),
            "subject": ensure_subject(account_id, kind=SubjectKind.CHANNEL, key=channel_id, name=f"#{name}"),
        },
    )
    return binding


def deliver(
    principal: Principal, channel: Channel, records: Sequence[Understood], *, authors: dict[str, Subject]
) -> Counter[str]:
    """Take in the records of one channel in their order; returns how many came to what.

    ``authors`` are the known subjects by identifier; those of strangers are added. Nothing is kept of people who opted
    out. A deletion has to come first in its transaction (see :func:`segments`).
    """
    # An open batch of messages is locked before the audit chain; a deletion here must not turn that around.
    with audit.gathered(principal.account_id):
        return _deliver(principal, channel, records, authors=authors)


def _deliver(
    principal: Principal, channel: Channel, records: Sequence[Understood], *, authors: dict[str, Subject]
) -> Counter[str]:
    _lock(channel)
    counts: Counter[str] = Counter()
    waiting: dict[str, Said] = {}
    for record in records:
        match record:
            case Skipped():
                counts[record.reason] += 1
            case Said() if record.ts not in waiting:
                waiting[record.ts] = record
            case _:
                counts += _capture(principal, channel, waiting.values(), authors=authors)
                waiting = {}
                counts += _follow_up(principal, channel, record, authors=authors)
    return counts + _capture(principal, channel, waiting.values(), authors=authors)


def complete(principal: Principal, channel: Channel, message: Said, *, authors: dict[str, Subject]) -> Counter[str]:
    """Take in a message whose files were fetched: as its next revision where it is known, unless it was taken back."""
    _lock(channel)
    known = _revisions(principal.account_id, [channel.key(message.ts)]).get(channel.key(message.ts))
    if known is None:
        return _capture(principal, channel, [message], authors=authors)
    latest = known[-1]
    author = authors.get(message.author)
    is_gone = latest.withdrawn_at is not None or latest.text_removed_at is not None
    if is_gone or (author is not None and opting_out.is_opted_out(principal.account_id, author.id)):
        return Counter({DEDUPLICATED: 1})
    return Counter({_revise(principal, channel, message, known, authors=authors): 1})


def segments(records: Iterable[Understood], *, size: int) -> Iterator[list[Understood]]:
    """Cut records into what one transaction takes in: at most ``size``, and each deletion at the start of one."""
    segment: list[Understood] = []
    for record in records:
        if segment and (isinstance(record, Deleted) or len(segment) >= size):
            yield segment
            segment = []
        segment.append(record)
    if segment:
        yield segment


def _follow_up(
    principal: Principal, channel: Channel, record: Understood, *, authors: dict[str, Subject]
) -> Counter[str]:
    """Apply what is about an earlier message: its edit, its deletion, or the same message once more."""
    match record:
        case Deleted():
            taken_back = withdraw(
                principal.account_id, channel.key(record.ts), actor=principal.actor, reason="deleted at its source"
            )
            if taken_back is not None:
                return Counter({DELETED: 1})
            if _revisions(principal.account_id, [channel.key(record.ts)]):
                return Counter({DEDUPLICATED: 1})
            DeletedMessage.objects.get_or_create(
                account_id=principal.account_id, source_key=channel.key(record.ts)[:400]
            )
            return Counter({"deleted_unknown": 1})
        case Changed():
            return _capture(principal, channel, [record.message], authors=authors)
        case Said():
            return _capture(principal, channel, [record], authors=authors)
    raise ValueError(f"Not a record: {record!r}")


def _capture(
    principal: Principal, channel: Channel, messages: Iterable[Said], *, authors: dict[str, Subject]
) -> Counter[str]:
    """Capture messages that are new, revise those whose text changed, and count the others as known."""
    counts: Counter[str] = Counter()
    by_key = {channel.key(message.ts): message for message in messages}
    known = _revisions(principal.account_id, list(by_key))
    gone = DeletedMessage.objects.filter(account_id=principal.account_id, source_key__in=list(by_key))
    deleted = set(gone.values_list("source_key", flat=True))
    silent = _silent(principal.account_id, by_key.values(), authors=authors)
    fresh = []
    for key, message in by_key.items():
        if message.author in silent:
            counts["opted_out"] += 1
        elif key in deleted:
            counts["deleted_before"] += 1
        elif key not in known:
            fresh.append(_observation(principal.account_id, channel, message, authors=authors))
            counts[EDITED_BEFORE] += bool(message.edited)
        elif message.author != known[key][-1].platform_user_id:
            counts["time_stamp_taken"] += 1
        elif _says_something_new(message, known[key]):
            counts[_revise(principal, channel, message, known[key], authors=authors)] += 1
        else:
            counts[DEDUPLICATED] += 1
    if fresh:
        receipt = capture(principal, fresh)
        counts[CAPTURED] += sum(not event.deduplicated for event in receipt.events)
        counts[DEDUPLICATED] += sum(event.deduplicated for event in receipt.events)
    return +counts


def _lock(channel: Channel) -> None:
    """Let one delivery of a channel in at a time: the second finds what the first one stored."""
    binding = channel.binding
    ChannelBinding.objects.select_for_update(no_key=True).get(account_id=binding.account_id, pk=binding.pk)


def _silent(account_id: uuid.UUID, messages: Iterable[Said], *, authors: Mapping[str, Subject]) -> set[str]:
    """Return which authors opted out."""
    unknown = {message.author for message in messages} - set(authors)
    subjects = {**people.known(account_id, unknown), **authors}
    out = opting_out.opted_out(account_id, {subject.id for subject in subjects.values()})
    silent = {identifier for identifier, subject in subjects.items() if subject.id in out}
    # Somebody who was erased is nobody's subject any more, and what they asked for still counts.
    return silent | opting_out.silent(account_id, unknown - subjects.keys())


def _revise(
    principal: Principal, channel: Channel, message: Said, known: Sequence[Event], *, authors: dict[str, Subject]
) -> str:
    """Keep the next revision of a known message and hide those before; returns what came of it."""
    observation = _observation(principal.account_id, channel, message, authors=authors)
    revised = record_revision(principal, observation, edits=known[-1])
    if revised.deduplicated:
        return DEDUPLICATED
    hide(known)
    return REVISED


def _revisions(account_id: uuid.UUID, keys: Sequence[str]) -> dict[str, list[Event]]:
    """Return the stored revisions of messages by key, oldest first."""
    found: dict[str, list[Event]] = {}
    for event in Event.objects.filter(account_id=account_id, source_key__in=keys).order_by("revision"):
        found.setdefault(event.source_key, []).append(event)
    return found


def _says_something_new(message: Said, revisions: Sequence[Event]) -> bool:
    """Tell whether a known message comes with a text that its latest revision has not got.

    The time of an edit decides which text is the later one. Without it, a text that was ever stored is an old copy.
    A message that was deleted stays so. Where the text is kept no longer, only an edit made since then is news.
    """
    latest = revisions[-1]
    if latest.text_removed_at is not None and latest.withdrawn_at is None:
        return _number(message.edited) > Decimal(latest.recorded_at.timestamp())
    if latest.withdrawn_at is not None or message.text == latest.text or message.digest == _digest(latest):
        return False
    edited_before = str(latest.payload.get("slack", {}).get("edited", ""))
    if message.edited or edited_before:
        return _number(message.edited) > _number(edited_before)
    return message.text not in {event.text for event in revisions} and message.digest not in map(_digest, revisions)


def _digest(event: Event) -> str | None:
    """Return the digest of a stored message's words as Slack wrote them; ``None`` where none was kept."""
    return event.payload.get("slack", {}).get("digest")


def _number(ts: str) -> Decimal:
    """Return a time stamp as a number; 0 for none."""
    return Decimal(ts or 0)


def _observation(account_id: uuid.UUID, channel: Channel, message: Said, *, authors: dict[str, Subject]) -> Observation:
    """Return a message as what capture takes. Bots and apps speak as agents: kept, never evidence."""
    author = authors.get(message.author)
    if author is None:
        author = people.stranger(account_id, message.author, name=message.author_name, is_bot=not message.human)
        authors[message.author] = author
    human = message.human and author.kind == SubjectKind.PERSON
    slack = {
        "user": message.author,
        "mentions": list(message.mentions),
        "files": list(message.files),
        "edited": message.edited,
        "client_msg_id": message.client_id,
        "digest": message.digest,
    }
    provenance = {"source": "slack", **channel.provenance, **({} if human else {"actor_type": "agent"})}
    return Observation(
        payload={"text": message.text, "slack": {name: said for name, said in slack.items() if said}},
        kind="channel.message",
        scope=channel.binding.scope.path,
        subject=author.key,
        subject_kind=author.kind,
        speaker=author.key,
        actor="" if human else "agent",
        occurred_at=message.at,
        origin_trust=channel.origin_trust if human else None,
        channel_id=channel.binding.channel_id,
        channel_name=channel.binding.name,
        platform_user_id=message.author,
        ts=message.ts,
        thread=message.thread,
        urls=message.urls,
        source_key=channel.key(message.ts),
        source_type=channel.source_type,
        recorded_claims=provenance,
        notes=message.notes,
    )
