"""Signing in to the admin, under the policy that forbids inline scripts and styles."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from playwright.sync_api import Page


def test_an_administrator_signs_in(page: Page, live_server) -> None:
    get_user_model().objects.create_superuser(username="ada", password="correct horse")
    page.goto(f"{live_server.url}/admin/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", "correct horse")
    page.click("input[type=submit]")
    page.wait_for_url(f"{live_server.url}/admin/")
    assert page.locator("#user-tools").inner_text().startswith("WELCOME, ADA")
