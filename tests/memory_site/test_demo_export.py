"""The demo account's messages have the shape of a Slack export and hold what their description promises."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

EXPORT = Path(__file__).resolve().parents[2] / "memory_site" / "demo_export"
USERS = json.loads((EXPORT / "users.json").read_text(encoding="utf-8"))
CHANNELS = json.loads((EXPORT / "channels.json").read_text(encoding="utf-8"))
DAYS = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(EXPORT.glob("*/*.json"))}
MESSAGES = [message for messages in DAYS.values() for message in messages]


def test_people_channels_and_number_of_messages():
    assert sum(not user["is_bot"] for user in USERS) == 6
    assert {channel["name"] for channel in CHANNELS} == {path.name for path in EXPORT.iterdir() if path.is_dir()}
    assert len(CHANNELS) == 3
    assert 110 <= len(MESSAGES) <= 130


def test_every_message_lies_in_the_file_of_its_channel_and_day_in_order():
    assert len({message["ts"] for message in MESSAGES}) == len(MESSAGES)
    for path, messages in DAYS.items():
        times = [float(message["ts"]) for message in messages]
        assert times == sorted(times)
        assert {datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d") for time in times} == {path.stem}
    assert (min(path.stem for path in DAYS), max(path.stem for path in DAYS)) == ("2026-11-09", "2026-11-27")


def test_authors_and_mentions_are_known_and_only_members_speak():
    known = {user["id"] for user in USERS}
    members = {channel["name"]: set(channel["members"]) for channel in CHANNELS}
    for path, messages in DAYS.items():
        assert {message["user"] for message in messages if "user" in message} <= members[path.parent.name] <= known
    assert {mention for message in MESSAGES for mention in re.findall(r"<@(\w+)>", message.get("text", ""))} <= known


def test_threads_agree_with_their_replies():
    replies = [message for message in MESSAGES if message.get("thread_ts") not in {None, message["ts"]}]
    parents = {message["ts"]: message for message in MESSAGES if "reply_count" in message}
    assert len(parents) >= 8
    for parent in parents.values():
        own = [reply["ts"] for reply in replies if reply["thread_ts"] == parent["ts"]]
        assert parent["reply_count"] == len(own) == len(parent["replies"])
        assert [reply["ts"] for reply in parent["replies"]] == own
        assert parent["latest_reply"] == own[-1]
    assert {reply["thread_ts"] for reply in replies} == set(parents)


def test_it_holds_every_kind_of_record_that_an_importer_meets():
    subtypes = Counter(message.get("subtype", "") for message in MESSAGES)
    assert {kind: subtypes[kind] for kind in ("message_changed", "message_deleted", "bot_message", "channel_join")} == {
        "message_changed": 1,
        "message_deleted": 1,
        "bot_message": 3,
        "channel_join": 1,
    }
    assert sum("edited" in message for message in MESSAGES) == 1
    assert sum(bool(message.get("files")) for message in MESSAGES) == 2
    text = " ".join(message.get("text", "") for message in MESSAGES)
    for pattern in (
        r"<https://[^|>]+\|[^>]+>",
        r"&amp;",
        r"&lt;",
        r"[\u0590-\u05ff]",
        r"[\u0600-\u06ff]",
        r"[\u3040-\u30ff]",
    ):
        assert re.search(pattern, text), pattern


def test_the_personal_matter_is_said_in_the_small_channel_only():
    told = {path.parent.name for path, messages in DAYS.items() for m in messages if "pregnant" in m.get("text", "")}
    assert told == {"care"}
