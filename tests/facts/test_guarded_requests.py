from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from facts import guarded_requests
from facts.guarded_requests import AddressRefused, Limits, SendFailed, send
from tests.stubs import web_server
from tests.stubs.web_server import WebServer


@pytest.fixture
def web(settings: Any) -> Iterator[WebServer]:
    with web_server.running() as server:
        settings.MEMORY_INTERNAL_HOSTS = (f"127.0.0.1:{server.port}", f"site.example:{server.port}")
        yield server


def test_a_page_is_read_under_its_own_name_at_the_address_that_was_checked(web: WebServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(guarded_requests, "resolve", lambda host, port: ["127.0.0.1"])
    web.pages["/a"] = web_server.says("hello")
    reply = send(f"http://site.example:{web.port}/a?b=1", headers={"X-Own": "1"})
    assert (reply.status, reply.body, reply.content_type) == (200, b"hello", "text/html")
    [asked] = web.received
    assert asked.headers["host"] == f"site.example:{web.port}"
    assert asked.path == "/a?b=1"
    assert set(asked.headers) == {"host", "user-agent", "accept-encoding", "connection", "x-own"}


def test_a_name_is_looked_up_once_so_that_it_cannot_change_after_the_check(web: WebServer, monkeypatch: Any) -> None:
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    asked: list[str] = []

    def changing(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    monkeypatch.setattr(guarded_requests, "resolve", changing)
    web.pages["/"] = web_server.says("once")
    assert send(f"http://site.example:{web.port}/").body == b"once"
    assert asked == ["site.example"]
    with pytest.raises(AddressRefused):
        send(f"http://site.example:{web.port}/")
    assert len(web.received) == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::ffff:127.0.0.1", "fe80::1%2", "not an address"])
def test_a_public_name_that_stands_for_an_internal_address_is_refused(address: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(guarded_requests, "resolve", lambda host, port: ["8.8.8.8", address])
    with pytest.raises(AddressRefused):
        send("http://site.example/")


def test_every_redirect_is_checked_and_carries_nothing_along(web: WebServer) -> None:
    web.pages["/1"] = web_server.redirects("/2?x=y")
    web.pages["/2"] = web_server.says("there")
    reply = send(f"{web.address}/1", headers={"X-Own": "1"})
    assert (reply.url, reply.body) == (f"{web.address}/2?x=y", b"there")
    assert "x-own" not in web.received[1].headers
    for bad in ("http://169.254.169.254/", "file:///etc/passwd", "//user@host/", f"http://localhost:{web.port}/"):
        web.pages["/bad"] = web_server.redirects(bad)
        with pytest.raises(AddressRefused):
            send(f"{web.address}/bad")


def test_redirects_end(web: WebServer) -> None:
    for number in range(8):
        web.pages[f"/{number}"] = web_server.redirects(f"/{number + 1}")
    with pytest.raises(SendFailed) as failed:
        send(f"{web.address}/0")
    assert failed.value.reason == "too_many_redirects"
    assert len(web.received) == 6
    assert send(f"{web.address}/0", method="POST", content=b"x").status == 302


@pytest.mark.parametrize("head", [True, False])
def test_all_together_has_a_time_however_slowly_it_comes(web: WebServer, head: bool) -> None:
    web.pages["/"] = web_server.drips(0.02, head=head)
    # It would never end by itself.
    with pytest.raises(SendFailed) as failed:
        send(web.address, limits=Limits(seconds=0.3))
    assert (failed.value.reason, failed.value.retryable) == ("timeout", True)


def test_a_name_that_is_looked_up_for_too_long_is_given_up(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(guarded_requests, "resolve", lambda host, port: time.sleep(0.5) or [])
    with pytest.raises(SendFailed) as failed:
        send("http://site.example/", limits=Limits(seconds=0.1))
    assert failed.value.reason == "timeout"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (web_server.endless, "too_large"),
        (web_server.says("x" * 20_000), "too_large"),
        (web_server.packed(b"\0" * 30_000_000), "too_large"),
        (web_server.says(b"\x1f\x8b\x08garbage", Content_Encoding="gzip"), "bad_reply"),
        (web_server.says("x", Content_Encoding="br"), "bad_reply"),
        (web_server.says("%PDF-1.7", content_type="application/pdf"), "unsupported_type"),
        (web_server.says("x", content_type="image/png"), "unsupported_type"),
    ],
)
def test_what_is_too_much_or_of_another_kind_is_not_read(web: WebServer, reply: web_server.Reply, reason: str) -> None:
    web.pages["/"] = reply
    with pytest.raises(SendFailed) as failed:
        send(web.address, limits=Limits(max_bytes=10_000), types=frozenset({"text/html"}))
    assert (failed.value.reason, failed.value.retryable) == (reason, False)


def test_a_packed_page_is_unpacked(web: WebServer) -> None:
    web.pages["/"] = web_server.packed(b"hello" * 30_000)
    assert send(web.address).body == b"hello" * 30_000


def test_nobody_at_the_address_and_an_unknown_name_are_failures_that_may_pass(settings: Any, monkeypatch: Any) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError

    settings.MEMORY_INTERNAL_HOSTS = ("127.0.0.1:9",)
    with pytest.raises(SendFailed) as failed:
        send("http://127.0.0.1:9/")
    assert (failed.value.reason, failed.value.retryable) == ("unreachable", True)
    monkeypatch.setattr(guarded_requests, "resolve", unknown)
    with pytest.raises(SendFailed) as failed:
        send("http://site.example/")
    assert failed.value.reason == "name_not_found"
