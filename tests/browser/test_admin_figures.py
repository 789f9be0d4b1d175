"""Figures and home in a browser: choosing a period, reading a chart and its numbers, taking a file home."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from facts.clock import now
from facts.models import Account, CountedUntil, DayFigure, LongJob
from facts.spread import bucket
from facts.tenancy import account_transaction
from governance.models import Review
from memory_site import schedules
from retrieval import read_stats
from retrieval.models import ReadStat
from tests.browser.admin_room import AXE, Room, prepare

WIDE, PHONE = {"width": 1360, "height": 820}, {"width": 390, "height": 844}
PICTURES = os.environ.get("MEMORY_SCREENSHOTS", "")


@pytest.fixture
def room(live_server) -> Room:
    """A prepared account with two months of figures."""
    room = prepare(live_server.url, hostile=False)
    account = room.scene.account
    with account_transaction(account.id):
        Account.objects.filter(pk=account.pk).update(created_at=now() - timedelta(days=200))
        _count(account)
        Review.objects.update(assignee_id=room.scene.curator.membership_id)
        LongJob.objects.create(
            account=account,
            kind="backfill_slack",
            title="History of #care",
            unit="days of history",
            state="running",
            done=120,
            total=365,
        )
        for source in (read_stats.SOURCE, "ratings", "decisions", "intake"):
            CountedUntil.objects.create(account=account, source=source, until=now() - timedelta(minutes=3))
    schedules.sync()
    return room


def _count(account: Account) -> None:
    """Write figures as if the account had been in use, busier on some days than on others."""
    stats, figures = [], []
    for back in range(1, 60):
        day = now().date() - timedelta(days=back)
        calls = 40 + 17 * back % 23 - (30 if day.weekday() > 4 else 0)
        for purpose, part in (("answer a customer", 0.6), ("prepare a call", 0.4)):
            mine = max(1, int(calls * part))
            stats.append(
                ReadStat(
                    account=account,
                    day=day,
                    kind="context",
                    scope_path="/support",
                    purpose=purpose,
                    profile="context 1",
                    calls=mine,
                    calls_with_facts=int(mine * (0.6 + 0.3 * (60 - back) / 60)),
                    degraded=1,
                    failed=0,
                    considered=mine * 40,
                    served=mine * 6,
                    withheld=mine // 4,
                    tokens=mine * 310,
                    empty={"no_memory": 2, "no_relevant_memory": 1},
                    reasons={
                        "top_score": mine * 6,
                        "over_budget": mine * 20,
                        "below_relevance_floor": mine * 12,
                        "conflict_open": mine // 4,
                    },
                    timings={
                        "total": {str(bucket(18 + back % 7)): mine - 1, str(bucket(70.0)): 1},
                        "candidates": {str(bucket(9.0)): mine},
                        "packing": {str(bucket(1.4)): mine},
                    },
                    distances={
                        "served": {"4": mine, "6": mine * 2},
                        "gated": {"13": mine * 3, "15": mine},
                        "otherwise": {"9": mine},
                    },
                )
            )
        named = {"account": account, "day": day, "scope_path": "/support"}
        waited = {str(bucket(7_200.0)): 1, str(bucket(90_000.0)): 1}
        figures += [
            DayFigure(**named, name="reviews_opened", key="new_fact", number=3 + back % 3),
            DayFigure(**named, name="reviews_decided", key="new_fact", number=2 + back % 4, spread=waited),
            DayFigure(**named, name="conflicts_opened", key="contradiction", number=1 + back % 2),
            DayFigure(**named, name="conflicts_closed", key="resolved", number=1, spread=waited),
            DayFigure(**named, name="ratings", key="useful", number=4),
            DayFigure(**named, name="ratings", key="irrelevant", number=back % 2),
            DayFigure(**named, name="events_read", key="facts", number=21),
            DayFigure(**named, name="events_read", key="nothing", number=60),
            DayFigure(**named, name="candidates", key="fact", number=22),
            DayFigure(**named, name="candidates", key="rejected", number=9),
            DayFigure(**named, name="rejections", key="question", number=6),
            DayFigure(**named, name="rejections", key="quote_not_found", number=3),
        ]
        model = "extraction|anthropic|claude-haiku-4-5"
        for name, number in (
            ("model_calls", 14),
            ("model_input_tokens", 21_000),
            ("model_output_tokens", 1_900),
            ("model_cost", 3_100_000 + 90_000 * (back % 9)),
            ("model_failed", back % 2),
        ):
            spread = {str(bucket(900.0)): 13, str(bucket(2_600.0)): 1} if name == "model_calls" else {}
            figures.append(
                DayFigure(account=account, day=day, scope_path="/", name=name, key=model, number=number, spread=spread)
            )
    ReadStat.objects.bulk_create(stats)
    DayFigure.objects.bulk_create(figures)


def _faults(page: Page, name: str) -> list[str]:
    found = [
        f"{name}: {violation['id']}: {node['html'][:120]}"
        for violation in Axe().run(page, options=AXE).response["violations"]
        for node in violation["nodes"]
    ]
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    return [*found, *([f"{name}: wider than the window"] if wide else [])]


def test_figures_are_chosen_read_and_taken_home(page: Page, room: Room) -> None:
    room.enter(page.context)
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    room.open(page, "/admin/")
    expect(page.get_by_role("heading", name="Given to you")).to_be_visible()
    faults = _faults(page, "home")
    page.locator("#nav-sidebar").get_by_role("link", name="Figures").click()
    page.get_by_role("link", name="7 days", exact=True).click()
    expect(page.get_by_text("Compared with")).to_be_visible()
    days = page.get_by_role("region", name="Injection rate by day")
    expect(days.get_by_role("img", name="Injection rate by day")).to_be_visible()
    days.get_by_text("The numbers").press("Enter")
    expect(days.get_by_role("row")).to_have_count(8)
    with page.expect_download() as taken:
        days.get_by_role("link", name="CSV of this table").click()
    assert len(Path(taken.value.path()).read_text().splitlines()) == 8
    page.get_by_label("Purpose", exact=True).select_option("prepare a call")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("The purpose narrows the figures of reads only.")).to_be_visible()
    for look in ("light", "dark", "phone"):
        page.set_viewport_size(PHONE if look == "phone" else WIDE)
        page.emulate_media(color_scheme="dark" if look == "dark" else "light")
        for name, path in (("figures", "/admin/figures/?days=30"), ("home", "/admin/")):
            if (name, look) == ("home", "light"):
                continue
            room.open(page, path)
            faults += _faults(page, f"{name}, {look}")
    assert faults == []


@pytest.mark.skipif(not PICTURES, reason="pictures are taken by make screenshots")
def test_pictures_of_figures_are_taken(page: Page, room: Room) -> None:
    room.enter(page.context)
    page.set_viewport_size(WIDE)
    room.open(page, "/admin/figures/?days=30")
    page.screenshot(path=Path(PICTURES) / "figures.png", caret="initial")
