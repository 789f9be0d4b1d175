from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.public_addresses import AddressRefused
from ingest.web import addresses


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("HTTPS://Example.com:443/A?utm_source=x&b=2#part", "https://example.com/A?b=2"),
        ("http://example.com?fbclid=1", "http://example.com/"),
        (" http://example.com/a?UTM_Medium=m&q=caf%C3%A9 ", "http://example.com/a?q=caf%C3%A9"),
        ("http://example.com/?a=&a=1", "http://example.com/?a=&a=1"),
    ],
)
def test_two_spellings_of_a_page_are_one(url: str, shown: str) -> None:
    assert addresses.normalise(url) == shown
    assert addresses.normalise(shown) == shown


def test_addresses_in_a_text_end_where_the_sentence_goes_on() -> None:
    text = (
        "See https://example.com/a, (https://example.com/wiki/B_(c)) and <https://example.com/d>. 見てhttps://example.jp/い。"
        " https://example.com/a!"
    )
    assert addresses.in_text(text) == (
        "https://example.com/a",
        "https://example.com/wiki/B_(c)",
        "https://example.com/d",
        "https://example.jp/い。",
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/reset?token=abc",
        "https://example.com/a?X-Amz-Signature=1",
        "https://example.com/unsubscribe/me",
        "https://example.com/users/confirm/1",
        "https://example.com/s/" + "aB3" * 15,
        "https://example.com/?access_token=1",
        "https://example.com/?k=ghp_" + "a1" * 15,
    ],
)
def test_a_link_for_its_receiver_is_left_alone(url: str) -> None:
    assert addresses.is_for_its_receiver(url)


def test_an_ordinary_link_is_not() -> None:
    assert not addresses.is_for_its_receiver("https://example.com/blog/2026/how-to-ride?page=2")


def test_what_is_strewn_with_closing_marks_or_is_too_long_is_no_address() -> None:
    # What is cut to one address at most takes no time with the square of its length.
    assert addresses.in_text("http://a.example" + ")" * 100_000) == ("http://a.example",)
    assert addresses.in_text("http://a.example/x" + ")." * 100) == ("http://a.example/x",)
    longest = "http://a.example/" + "x" * (2_000 - 17)
    assert addresses.in_text(f"{longest} {longest}x http://b.example/(y)") == (longest, "http://b.example/(y)")


@given(st.text(min_size=1, max_size=400))
def test_a_key_is_short_and_tells_addresses_apart(text: str) -> None:
    assert len(addresses.subject_key(text)) <= 200
    assert addresses.subject_key(text) != addresses.subject_key(text + "x")


def test_what_is_never_asked_has_no_spelling() -> None:
    with pytest.raises(AddressRefused):
        addresses.normalise("http://169.254.169.254/")
