"""Slack's message text becomes what somebody would read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.slack.blocks import text_of_blocks
from ingest.slack.mrkdwn import Decoded, decode, escape
from ingest.slack.names import Names

NAMES = Names(people={"U1": "Ana", "B3": "robot"}, channels={"C1": "general"})


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<@U1> owns billing", "@Ana owns billing"),
        ("<@U9|zoe> and <@U8>", "@zoe and @U8"),
        ("see <#C1> or <#C2|random> or <#C3>", "see #general or #random or #C3"),
        ("<!here> <!channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops @S2"),
        ("due <!date^1392734382^{date_short}|18 Feb 2014>", "due 18 Feb 2014"),
        ("<https://x.org/a?b=1&amp;c=2|the &lt;page&gt;>", "the <page> (https://x.org/a?b=1&c=2)"),
        ("<https://x.org>", "https://x.org"),
        ("<http://x.org/|x.org>", "http://x.org/"),
        ("<mailto:a@x.org|a@x.org> <tel:+331234|+331234>", "a@x.org +331234"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("I :heart: *this* _much_", "I :heart: *this* _much_"),
        ("left < open", "left < open"),
        ("", ""),
    ],
)
def test_decoding(raw: str, text: str) -> None:
    assert decode(raw, NAMES).text == text


def test_addresses_and_mentions_are_listed_once_and_in_order() -> None:
    raw = "<@U2> <@U1> <@U2> <https://b.org> <https://a.org|a> <https://b.org> <mailto:x@y.org> <ftp://c.org>"
    found = decode(raw, NAMES)
    assert found == Decoded(
        text="@U2 @Ana @U2 https://b.org a (https://a.org) https://b.org x@y.org ftp://c.org",
        urls=("https://b.org", "https://a.org"),
        mentions=("U2", "U1"),
    )


def test_an_endless_address_stays_in_the_text_and_is_not_listed() -> None:
    address = "https://x.org/" + "a" * 2_000
    assert decode(f"<{address}>", NAMES) == Decoded(text=address)


@given(st.text())
def test_plain_text_survives_escaping_and_decoding(text: str) -> None:
    assert decode(escape(text), NAMES).text == text


@given(st.text(alphabet="<>@#!|&;^ab "))
def test_any_text_can_be_decoded(text: str) -> None:
    assert isinstance(decode(text, NAMES).text, str)


def test_rich_text_reads_like_the_message_that_it_shows() -> None:
    section = {
        "type": "rich_text_section",
        "elements": [
            {"type": "user", "user_id": "U1"},
            {"type": "text", "text": " runs "},
            {"type": "text", "text": "a<b", "style": {"code": True}},
            {"type": "text", "text": " & "},
            {"type": "link", "url": "https://x.org/?a&b", "text": "docs"},
            {"type": "emoji", "name": "tada"},
            {"type": "broadcast", "range": "here"},
            {"type": "channel", "channel_id": "C1"},
        ],
    }
    items = [{"type": "rich_text_section", "elements": [{"type": "text", "text": word}]} for word in ("one", "two")]
    quote = {"type": "rich_text_quote", "elements": [{"type": "text", "text": "old\nwords"}]}
    code = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1"}]}
    blocks = [{"type": "rich_text", "elements": [section, {"type": "rich_text_list", "elements": items}, quote, code]}]
    assert decode(text_of_blocks(blocks), NAMES).text == (
        "@Ana runs `a<b` & docs (https://x.org/?a&b):tada:@here#general\n• one\n• two\n> old\n> words\n```\nx = 1\n```"
    )


def test_other_blocks_give_their_words_and_pictures_none() -> None:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Build <7>"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "by <@U1>"},
            "fields": [{"type": "plain_text", "text": "f"}],
        },
        {"type": "context", "elements": [{"type": "image"}, {"type": "mrkdwn", "text": "*ok*"}]},
        {"type": "image", "alt_text": "a cat"},
        "nonsense",
    ]
    assert decode(text_of_blocks(blocks), NAMES).text == "Build <7>\nby @Ana\nf\n*ok*"


@pytest.mark.parametrize("blocks", [None, "text", 7, [], [None], [{"type": "rich_text", "elements": "no"}]])
def test_blocks_of_no_shape_have_no_words(blocks: object) -> None:
    assert text_of_blocks(blocks) == ""


def test_lists_nested_without_end_are_cut() -> None:
    part: dict = {"type": "rich_text_section", "elements": [{"type": "text", "text": "deep"}]}
    for _ in range(200):
        part = {"type": "rich_text_list", "elements": [part]}
    assert text_of_blocks([{"type": "rich_text", "elements": [part]}]) == ""
