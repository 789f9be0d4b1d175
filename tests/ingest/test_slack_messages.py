"""What a record of Slack's says, and why some say nothing that is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.capture import MAX_TEXT
from ingest.slack.messages import Changed, Deleted, Said, Skipped, read_time, understand
from ingest.slack.names import Names
from tests.ingest.slack_exports import START, changed, deleted, said

NOW = datetime(2025, 2, 1, tzinfo=UTC)
NAMES = Names(people={"U1": "Ana", "U2": "Bo Berg"})


def read(record: Any, **options: Any) -> Any:
    return understand(record, NAMES, now=NOW, **options)


def test_a_message() -> None:
    record = said(
        "<@U2> owns <https://x.org|billing>",
        thread_ts=f"{START - 60}.000100",
        client_msg_id="c-1",
        edited={"user": "U1", "ts": "1736499700.000000"},
    )
    assert read(record) == Said(
        ts="1736499600.000100",
        at=datetime(2025, 1, 10, 9, 0, 0, 100, tzinfo=UTC),
        author="U1",
        text="@Bo Berg owns billing (https://x.org)",
        urls=("https://x.org",),
        mentions=("U2",),
        thread="1736499540.000100",
        edited="1736499700.000000",
        client_id="c-1",
        digest=ANY,
    )


def test_the_message_that_began_a_thread_answers_none() -> None:
    record = said("hello")
    assert read({**record, "thread_ts": record["ts"]}).thread == ""


@pytest.mark.parametrize("subtype", ["me_message", "file_share", "thread_broadcast"])
def test_subtypes_in_which_a_person_speaks(subtype: str) -> None:
    found = read(said("hello", subtype=subtype))
    assert (found.text, found.human) == ("hello", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"subtype": "bot_message", "user": None, "bot_id": "B3", "username": "robot"},
        {"bot_id": "B3"},
        {"bot_profile": {"id": "B3", "name": "robot", "app_id": "A1"}},
    ],
)
def test_what_a_bot_or_an_app_posts_is_no_persons_word(fields: dict[str, Any]) -> None:
    assert read(said("Build passed", **fields)).human is False


def test_a_bot_without_a_user_has_its_own_identifier_and_name() -> None:
    found = read({"type": "message", "subtype": "bot_message", "bot_id": "B3", "username": "robot",
                  "text": "Build", "ts": "1736499600.000100", "attachments": [
                      {"pretext": "p", "title": "t", "text": "main &gt; ios", "fields": [{"title": "k", "value": "v"}]},
                      {"fallback": "plain"}]})  # fmt: skip
    assert (found.author, found.author_name) == ("B3", "robot")
    assert found.text == "Build\n\np\nt\nmain > ios\nk: v\nplain"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (said("<@U1> has joined", subtype="channel_join"), "subtype:channel_join"),
        (said("set the topic", subtype="channel_topic"), "subtype:channel_topic"),
        (said(""), "no_text"),
        (said(" \n"), "no_text"),
        (said("x", ts="yesterday"), "invalid_time"),
        (said("x", ts=None), "invalid_time"),
        (said("x", ts="-1.0"), "invalid_time"),
        (said("x", ts="1738627200.000000"), "future_time"),
        (said("x", user=None), "no_author"),
        ({"type": "reaction_added"}, "not_a_message"),
        ("text", "not_a_message"),
        (None, "not_a_message"),
        ({"type": "message", "subtype": "message_deleted"}, "invalid_time"),
    ],
)
def test_what_is_skipped_and_why(record: Any, reason: str) -> None:
    assert read(record) == Skipped(reason=reason)


def test_edits_and_deletions_name_the_message_that_they_are_about() -> None:
    record = said("on Friday")
    edit = read(changed(record, "on Monday", after=60))
    assert isinstance(edit, Changed)
    assert (edit.message.ts, edit.message.text, edit.message.edited) == (record["ts"], "on Monday", "1736499660.000000")
    assert read(deleted(record, after=60)) == Deleted(ts=record["ts"])
    assert read({"type": "message", "subtype": "tombstone", "ts": record["ts"]}) == Deleted(ts=record["ts"])
    gone = {**changed(record, "", after=60), "message": {"subtype": "tombstone", "ts": record["ts"]}}
    assert read(gone) == Deleted(ts=record["ts"])


def test_the_preview_of_a_link_is_no_edit() -> None:
    record = said("see <https://x.org>")
    after = {**record, "attachments": [{"text": "A page", "from_url": "https://x.org"}]}
    unfurl = {"type": "message", "subtype": "message_changed", "message": after, "previous_message": record}
    assert read(unfurl) == Skipped(reason="unfurled")


def test_files_with_words_belong_to_the_message_and_code_stays_code() -> None:
    files = [
        {"title": "Plan & goals", "filetype": "text", "preview": "one\ntwo"},
        {"name": "a.py", "filetype": "python", "preview": "x &lt; 1"},
        {"title": "Photo", "filetype": "png"},
        {"title": "Gone", "filetype": "text", "preview": "old", "mode": "tombstone"},
    ]
    found = read(said("here it is", files=files))
    assert found.text == "here it is\n\nPlan & goals:\none\ntwo\n\na.py:\n```\nx &lt; 1\n```"
    assert found.files == ("Plan & goals", "a.py", "Photo", "Gone")


def test_a_persons_attachments_are_quoted_and_only_in_place_of_a_text() -> None:
    attachments = [{"text": "I prefer tea", "author_name": "Bo"}]
    assert read(said("look", attachments=attachments)).text == "look"
    assert read(said("", attachments=attachments)).text == "> I prefer tea"


def test_words_that_stand_in_blocks_alone() -> None:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": "from blocks"}]}
    assert read(said("", blocks=[{"type": "rich_text", "elements": [section]}])).text == "from blocks"


def test_unstorable_characters_are_replaced_and_endless_text_is_cut() -> None:
    found = read(said("a\x00b\ud800"))
    assert (found.text, found.notes) == ("a b\ufffd", {"nul_replaced", "lone_surrogates_replaced"})
    long = read(said("x" * (MAX_TEXT + 1)))
    assert (len(long.text), long.notes) == (MAX_TEXT, {"text_cut"})


def test_time_can_be_moved() -> None:
    assert read(said("x"), shift=timedelta(weeks=-1)).at == datetime(2025, 1, 3, 9, 0, 0, 100, tzinfo=UTC)
    assert read(said("x"), shift=timedelta(weeks=52)) == Skipped(reason="future_time")


@given(st.integers(0, 4_000_000_000), st.integers(0, 999_999))
def test_time_stamps_are_exact_to_the_microsecond(seconds: int, micros: int) -> None:
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=micros)
    assert read_time(f"{seconds}.{micros:06}") == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("type", "subtype", "text", "ts", "user", "blocks", "files", "attachments", "edited", "message", "bot_profile")


@given(st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_no_record_is_too_strange(record: dict[str, Any]) -> None:
    assert isinstance(read({"type": "message", "ts": "1736499600.1", **record}), Said | Changed | Deleted | Skipped)
