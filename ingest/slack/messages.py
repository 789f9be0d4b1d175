"""One record of Slack's, understood: something said, edited, deleted, or nothing that is kept. Pure.

A record is what an export holds and what the ``message`` event of the Events API carries.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.capture import MAX_TEXT
from ingest.normalise import clean_text
from ingest.observations import EARLIEST, FUTURE_SLACK
from ingest.slack.blocks import text_of_blocks
from ingest.slack.mrkdwn import decode, escape
from ingest.slack.names import Names

#: Records in which somebody speaks. All others tell of joins, topics, pins and the like.
SPEECH = frozenset({"", "bot_message", "file_share", "me_message", "reply_broadcast", "thread_broadcast"})

#: Why a record is not kept, with the sentence that explains it. Subtypes of Slack's are reasons of their own.
SKIPPED = {
    "no_text": "It has no words: a picture, a button, a reaction.",
    "invalid_time": "Its time stamp cannot be read.",
    "future_time": "It claims to be from the future.",
    "not_a_message": "It is no message.",
    "no_author": "It names nobody who said it.",
    "before_since": "It is older than was asked for.",
    "unfurled": "Only the preview of a link was added to it.",
    "time_stamp_taken": "Somebody else said something in this channel at the very same time stamp.",
    "deleted_unknown": "It was deleted before it was ever seen.",
    "deleted_before": "It was deleted before it came.",
    "opted_out": "Its author does not want to be remembered.",
}

#: Slack's own account in every workspace: it writes as a user and is none.
SLACKBOT = "USLACKBOT"

#: Files whose words are prose; the text of any other file is kept as code, which nobody is taken to have said.
_PROSE_FILES = frozenset({"", "text", "post", "space", "email", "markdown", "quip", "canvas"})
#: Identifiers of users, bots and channels are letters and digits.
IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TIMESTAMP = re.compile(r"\d{1,11}(?:\.\d{1,6})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message. ``author`` is a user's or bot's identifier; ``edited`` when its text was last changed ("" never).

    ``thread`` is the time stamp of the message that it answers, "" when it answers none; ``digest`` that of its words
    as Slack writes them: the same whatever the people and channels in it are called meanwhile.
    """

    ts: str
    at: datetime
    author: str
    author_name: str = ""
    human: bool = True
    text: str
    urls: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    thread: str = ""
    edited: str = ""
    client_id: str = ""
    digest: str = ""
    notes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A message got another text."""

    message: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A message was taken back."""

    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Nothing to keep, and why: a key of :data:`SKIPPED`, or ``subtype:`` and Slack's own word."""

    reason: str


Understood = Said | Changed | Deleted | Skipped


def understand(record: Any, names: Names, *, now: datetime, shift: timedelta = timedelta()) -> Understood:
    """Return what a record says. ``shift`` moves its time, for stories that are told as if they were recent."""
    if not isinstance(record, Mapping) or record.get("type", "message") != "message":
        return Skipped(reason="not_a_message")
    subtype = _text(record, "subtype")
    match subtype:
        case "message_changed":
            return _changed(record, names, now=now, shift=shift)
        case "message_deleted":
            ts = _text(record, "deleted_ts") or _text(_mapping(record, "previous_message"), "ts")
            return Deleted(ts=ts) if read_time(ts) else Skipped(reason="invalid_time")
        case "tombstone":
            ts = _text(record, "ts")
            return Deleted(ts=ts) if read_time(ts) else Skipped(reason="invalid_time")
    if subtype not in SPEECH:
        return Skipped(reason=f"subtype:{subtype[:48]}")
    return _said(record, names, now=now, shift=shift)


def read_time(ts: str) -> datetime | None:
    """Return the instant of a time stamp, exact to the microsecond, or ``None`` when it is none."""
    if not _TIMESTAMP.fullmatch(ts):
        return None
    seconds, _, fraction = ts.partition(".")
    return _EPOCH + timedelta(seconds=int(seconds), microseconds=int(fraction.ljust(6, "0") or 0))


def _changed(record: Mapping[str, Any], names: Names, *, now: datetime, shift: timedelta) -> Understood:
    after, before = _mapping(record, "message"), _mapping(record, "previous_message")
    if _text(after, "subtype") == "tombstone":
        return Deleted(ts=_text(after, "ts")) if read_time(_text(after, "ts")) else Skipped(reason="invalid_time")
    if before and not after.get("edited") and _text(after, "text") == _text(before, "text"):
        return Skipped(reason="unfurled")
    said = understand(after, names, now=now, shift=shift)
    return Changed(message=said) if isinstance(said, Said) else said


def _said(record: Mapping[str, Any], names: Names, *, now: datetime, shift: timedelta) -> Said | Skipped:
    ts = _text(record, "ts")
    at = read_time(ts)
    if at is None or at + shift < EARLIEST:
        return Skipped(reason="invalid_time")
    at += shift
    if at > now + FUTURE_SLACK:
        return Skipped(reason="future_time")
    bot = _text(record, "bot_id") or _text(_mapping(record, "bot_profile"), "id")
    author = _text(record, "user") or bot
    if not IDENTIFIER.fullmatch(author):
        return Skipped(reason="no_author")
    is_bot = bool(bot) or author == SLACKBOT or _text(record, "subtype") == "bot_message"
    raw, notes = clean_text(_words(record, is_bot=is_bot))
    decoded = decode(raw, names)
    text = decoded.text.strip()
    if not text:
        return Skipped(reason="no_text")
    if len(text) > MAX_TEXT:
        text, notes = text[:MAX_TEXT], notes | {"text_cut"}
    thread, edited = _text(record, "thread_ts"), _text(_mapping(record, "edited"), "ts")
    return Said(
        ts=ts,
        at=at,
        author=author,
        author_name=_author_name(record),
        human=not is_bot,
        text=text,
        urls=decoded.urls,
        mentions=tuple(mention for mention in decoded.mentions if IDENTIFIER.fullmatch(mention)),
        files=tuple(name for file in _mappings(record, "files") if (name := _file_name(file))),
        thread="" if thread == ts or not read_time(thread) else thread,
        edited=edited if read_time(edited) else "",
        client_id=clean_text(_text(record, "client_msg_id"))[0][:64],
        digest=hashlib.sha256(raw.encode()).hexdigest()[:32],
        notes=notes,
    )


def _author_name(record: Mapping[str, Any]) -> str:
    """Return the name that a record itself gives its author, for those whom the list of users does not hold."""
    profile = _mapping(record, "user_profile")
    bot = _mapping(record, "bot_profile")
    names = (_text(profile, "display_name"), _text(profile, "real_name"), _text(record, "username"), _text(bot, "name"))
    return next((clean_text(name)[0].strip()[:200] for name in names if name.strip()), "")


def _words(record: Mapping[str, Any], *, is_bot: bool) -> str:
    """Return everything a record says, in Slack's escaped form: its text, then its attachments and files.

    A person's attachments are previews and shared messages, the words of others: they stand in only for a message
    without a text of its own, as a quotation.
    """
    text = _text(record, "text").strip() or text_of_blocks(record.get("blocks")).strip()
    parts = [text]
    if is_bot or not text:
        attached = "\n".join(said for item in _mappings(record, "attachments") if (said := _attachment(item)))
        parts.append(attached if is_bot else "\n".join(f"&gt; {line}" for line in attached.splitlines()))
    parts += [_file(item) for item in _mappings(record, "files")]
    return "\n\n".join(part for part in parts if part)


def _attachment(item: Mapping[str, Any]) -> str:
    lines = [_text(item, "pretext"), _text(item, "title"), _text(item, "text") or text_of_blocks(item.get("blocks"))]
    for field in _mappings(item, "fields"):
        lines.append(": ".join(part for part in (_text(field, "title"), _text(field, "value")) if part))
    return "\n".join(line for line in lines if line) or _text(item, "fallback")


def _file(item: Mapping[str, Any]) -> str:
    """Return the words of a file where Slack gives them, under its name."""
    said = _text(item, "plain_text") or _text(item, "preview")
    if not said.strip() or _text(item, "mode") in {"tombstone", "hidden_by_limit"}:
        return ""
    body = escape(said.strip())
    if _text(item, "filetype") not in _PROSE_FILES:
        body = f"```\n{body}\n```"
    return f"{escape(_file_name(item))}:\n{body}"


def _file_name(item: Mapping[str, Any]) -> str:
    return clean_text(_text(item, "title") or _text(item, "name"))[0].strip()[:200]


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def _mappings(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = record.get(name)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
