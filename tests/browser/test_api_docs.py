"""The page that shows the API's description, under the policy that forbids inline scripts and styles."""

from __future__ import annotations

from playwright.sync_api import Page


def test_the_description_is_shown(page: Page, live_server) -> None:
    page.goto(f"{live_server.url}/v1/docs")
    page.wait_for_selector(".opblock-summary-path")
    paths = page.locator(".opblock-summary-path").all_inner_texts()
    assert any("conflicts" in path for path in paths)
