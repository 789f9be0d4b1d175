"""A real Chromium on the test server; every test here also fails on what a person would not see at once.

That is: an error in the console, which includes whatever the content security policy stopped, and any request to
another host.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from facts import embedding

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OWN_HOSTS = {"localhost", "127.0.0.1"}
#: The files that take longest; they begin, so that processes that share the work end at about the same time.
LONGEST = ("test_admin_screens.py", "test_review_by_keyboard.py", "test_admin_flows.py", "test_portal.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this directory, skip it without a browser, and run it last.

    Playwright keeps an event loop running in the main thread from its first use on, and Django refuses the database
    there unless it is told that this is meant.
    """
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(LONGEST)}
    mine = [item for item in items if item.path.is_relative_to(here)]
    mine.sort(key=lambda item: places.get(item.path, len(places)))
    for item in mine:
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.django_db(transaction=True))
        if CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))
    items[:] = [item for item in items if item not in mine] + mine


@pytest.fixture(scope="session", autouse=True)
def _allow_database_beside_event_loop() -> None:
    """Tell Django that the running event loop is Playwright's and does no database work."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    """Use the system's Chromium, without a sandbox (which root cannot have) and without calls home."""
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    quiet += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": quiet}


@pytest.fixture(autouse=True)
def _embedding_spaces_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the numbers of embedding spaces: each test here begins with an empty database."""
    monkeypatch.setattr(embedding, "_spaces", {})


@pytest.fixture(autouse=True)
def _nothing_goes_wrong(page: Page, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test whose page logged an error or asked another host for something.

    An answer that a test is about may be named: `@pytest.mark.expects_status(409)`.
    """
    marker = request.node.get_closest_marker("expects_status")
    expected = [f"status of {status} " for status in marker.args] if marker else []
    errors: list[str] = []
    strangers: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: strangers.append(request.url) if _is_strange(request.url) else None)
    yield
    assert [error for error in errors if not any(text in error for text in expected)] == []
    assert strangers == []


def _is_strange(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname not in OWN_HOSTS
