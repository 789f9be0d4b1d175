"""The page of figures: what it says, to whom, at what cost, and that its files say the same."""

from __future__ import annotations

import csv
import io
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from facts import spread
from facts.clock import now
from facts.models import Account, CountedUntil, DayFigure
from facts.tenancy import ensure_scope
from governance.models import Feedback, Rating, Role
from ingest.models import ModelCall
from memory_site.figures import charts, headlines, tables
from memory_site.figures.charts import Series
from memory_site.figures.tables import Row, Section, number, percent
from retrieval import read_stats
from retrieval.models import ReadStat
from tests.admin_scene import sign_in
from tests.factories import SubjectFactory, person_in, submit
from tests.retrieval.test_statistics import _noon, _trace

FIGURES = reverse("admin:figures")
MODEL = "extraction|anthropic|haiku"
TIMED = {"conflicts_closed", "reviews_decided", "model_calls"}
#: Sections whose tables are compared as they stand.
BY_HAND = ("days", "scope", "purpose", "kinds", "empty", "ratings", "latency", "latency-days", "gate", "conflicts",
           "conflict-days", "reviews", "review-days", "messages", "candidates", "costs", "cost-days")  # fmt: skip


@pytest.fixture
def old(account: Account) -> Account:
    """An account that has been there for three years."""
    Account.objects.filter(pk=account.pk).update(created_at=now() - timedelta(days=1_000))
    return account


@pytest.fixture
def admin(account: Account, client: Client) -> Client:
    """A browser of an administrator of the account."""
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    return client


def _section(answer: HttpResponse, key: str) -> Section:
    return next(section for section in answer.context["sections"] if section.key == key)


def _rows(answer: HttpResponse, key: str) -> list[tuple[str, ...]]:
    return [row.cells for row in _section(answer, key).rows]


def _near(value: float) -> float | None:
    """Return what a percentile says where everything took this long."""
    return spread.quantile({spread.bucket(value): 1}, 0.5)


def _figures(account: Account, day: date, **numbers: dict[str, int]) -> None:
    """Write figures of a day by name and key; what took a time took 3,600 of its unit."""
    for name, keys in numbers.items():
        for key, times in keys.items():
            took = {str(spread.bucket(3_600.0)): times} if name in TIMED else {}
            DayFigure.objects.create(
                account=account, day=day, scope_path="/support", name=name, key=key, number=times, spread=took
            )


def _headline(answer: HttpResponse, label: str) -> headlines.Headline:
    return next(each for each in answer.context["headlines"] if each.label == label)


def test_an_empty_account_has_no_figures_and_no_zeros_in_their_place(admin: Client) -> None:
    page = admin.get(FIGURES)
    assert page.status_code == 200
    assert _headline(page, "Injection rate").value == "not measured"
    assert _headline(page, "Cost of models").value == "not measured"
    assert _headline(page, "95 of 100 calls within").value == "not measured"
    assert _headline(page, "Context calls").value == "0"
    assert "There is nothing to compare with: the account began on" in page.text
    assert {section.key for section in page.context["sections"] if section.rows} == {"days", "kinds"}
    assert _rows(page, "days")[0][3] == "not measured"


def test_reads_are_told_with_what_they_were_before(old: Account, admin: Client) -> None:
    ensure_scope(old.id, "/support")
    for days_ago, facts in ((0, 1), (1, 0), (2, 1), (9, 0), (10, 1)):
        _trace(
            old,
            _noon(days_ago),
            facts_served=facts,
            timings={"lexical": 3.0},
            empty_reason="" if facts else "no_memory",
        )
    read_stats.roll_up_everywhere()
    page = admin.get(FIGURES, {"days": "7"})
    rate = _headline(page, "Injection rate")
    assert (rate.value, rate.before, rate.difference) == ("66.7 %", "50.0 %", "+16.7 points")
    assert _headline(page, "Context calls").difference == "+1 (+50 %)"
    assert [row[:4] for row in _rows(page, "days")][-3:] == [
        (str(_noon(2).date()), "1", "1", "100.0 %"),
        (str(_noon(1).date()), "1", "0", "0.0 %"),
        (str(_noon(0).date()), "1", "1", "100.0 %"),
    ]
    assert _rows(page, "empty") == [("no memory", "1", "33.3 %")]
    assert _rows(page, "decisions")[0][:2] == ("top score", "included")
    assert _rows(page, "latency")[0][:4] == ("Context", "context-1", "the whole call", "3")
    assert "reason=top_score" in _section(page, "decisions").rows[0].href


def test_purpose_and_scope_narrow_reads(old: Account, admin: Client) -> None:
    for path in ("/support", "/support/emea", "/sales"):
        ensure_scope(old.id, path)
        _trace(old, _noon(0), number=len(path), scope_path=path, purpose=path)
    page = admin.get(FIGURES, {"scope": "/support"})
    assert [row[0] for row in _rows(page, "scope")] == ["/support", "/support/emea"]
    page = admin.get(FIGURES, {"purpose": "/sales"})
    assert [row[0] for row in _rows(page, "scope")] == ["/sales"]
    assert _rows(admin.get(FIGURES, {"scope": "/nowhere"}), "scope") == []


def test_only_what_one_decides_about_is_counted(old: Account, client: Client) -> None:
    for path in ("/support", "/sales"):
        ensure_scope(old.id, path)
        _trace(old, _noon(0), number=len(path), scope_path=path)
    sign_in(client, person_in(old, path="/sales"))
    page = client.get(FIGURES)
    assert [row[0] for row in _rows(page, "scope")] == ["/sales"]
    assert "costs" not in {section.key for section in page.context["sections"]}
    assert _rows(client.get(FIGURES, {"scope": "/support"}), "scope") == []


def test_who_decides_nothing_is_shown_nothing(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.READER))
    assert client.get(FIGURES).status_code == 403


def test_ratings_work_and_costs_are_told(old: Account, admin: Client) -> None:
    ana = SubjectFactory(account=old)
    submit(ana, {"city": "Lyon"}, at=_noon(3))
    submit(ana, {"city": "Rome"}, at=_noon(2))
    trace = _trace(old, _noon(0))
    for rating in (Rating.USEFUL, Rating.IRRELEVANT, Rating.INCORRECT):
        Feedback.objects.create(account=old, trace_id=trace.pk, rating=rating)
    known = {"account": old, "role": "extraction", "provider": "anthropic", "model": "haiku", "prompt_version": "1"}
    ModelCall.objects.create(**known, latency_ms=100, input_tokens=10, output_tokens=2, cost_usd="0.00250000")
    ModelCall.objects.create(**known, latency_ms=100, input_tokens=10, output_tokens=2)
    page = admin.get(FIGURES)
    assert _headline(page, "Rated useless or wrong").value == "66.7 %"
    opened, waiting = _rows(page, "conflicts")
    assert opened == ("opened: contradiction", "1", "", "")
    assert (waiting[:2], waiting[3]) == (("open now: contradiction", "1"), "0")
    assert _rows(page, "costs") == [
        ("extraction", "anthropic haiku", "2", "0", "20", "4", "$0.0025", "1", "103 ms", "103 ms"),
    ]
    assert _headline(page, "Cost of models").value == "$0.0025"


def test_every_figure_of_three_days_is_what_a_hand_adds_up(old: Account, admin: Client) -> None:
    first, second, third = (_noon(ago).date() for ago in (2, 1, 0))
    ensure_scope(old.id, "/support")
    _trace(old, _noon(2), timings={"lexical": 3.0})
    _trace(old, _noon(2), number=1, duration_ms=30.0, facts_served=0, passages_served=0, considered=0, withheld=0,
           tokens=0, empty_reason="no_memory", reasons={})  # fmt: skip
    _trace(
        old, _noon(0), embedder="minilm", passages_served=0, considered=4, withheld=0, tokens=40,
        reasons={"top_score": 1, "over_budget": 3},
        decisions=[["fact", str(old.id), reason, 1, 1, near, 0.1, 0.2, 0.8, 9]
                   for reason, near in (("top_score", 0.9), ("over_budget", 0.76))],
    )  # fmt: skip
    _figures(old, first, conflicts_opened={"contradiction": 2}, conflicts_closed={"resolved": 1},
             reviews_opened={"new_fact": 3}, reviews_decided={"new_fact": 2}, review_outcomes={"approved": 2},
             ratings={"useful": 3, "irrelevant": 1}, events_read={"facts": 2, "nothing": 6},
             candidates={"fact": 3, "rejected": 1}, rejections={"question": 1}, model_calls={MODEL: 4},
             model_failed={MODEL: 1}, model_unpriced={MODEL: 1}, model_input_tokens={MODEL: 100},
             model_output_tokens={MODEL: 20}, model_cost={MODEL: 1_250_000})  # fmt: skip
    _figures(old, third, conflicts_opened={"quarantine": 1}, model_calls={MODEL: 1}, model_unpriced={MODEL: 1})
    for source in ("ratings", "decisions", "intake"):
        CountedUntil.objects.create(account=old, source=source, until=now())
    page = admin.get(FIGURES, {"days": "3"})
    none = "not measured"
    ten, thirty, three = (tables.milliseconds(_near(ms)) for ms in (10.0, 30.0, 3.0))
    hour, call = tables.duration(_near(3_600.0)), tables.milliseconds(_near(3_600.0))
    assert {key: _rows(page, key) for key in BY_HAND} == {
        "days": [
            (str(first), "2", "1", "50.0 %", "2", "1", "20", thirty),
            (str(second), "0", "0", none, "0", "0", "0", none),
            (str(third), "1", "1", "100.0 %", "1", "0", "40", ten),
        ],
        "scope": [("/support", "3", "2", "66.7 %", "3", "1", "60")],
        "purpose": [("test", "3", "2", "66.7 %", "3", "1", "60")],
        "kinds": [
            ("Context", "3", "3", "0", "0"),
            ("Search", "0", "0", "0", "0"),
            ("Ask", "0", "0", "0", "0"),
            ("Stable profile", "0", "0", "0", "0"),
        ],
        "empty": [("no memory", "1", "33.3 %")],
        "ratings": [("useful", "3", "75.0 %"), ("irrelevant", "1", "25.0 %")],
        "latency": [
            ("Context", "context-1", "the whole call", "3", ten, thirty),
            ("Context", "context-1", "lexical", "1", three, three),
        ],
        "latency-days": [
            (str(first), "2", ten, thirty),
            (str(second), "0", none, none),
            (str(third), "1", ten, ten),
        ],
        "gate": [
            ("0.10–0.15", "1", "0", "0"),
            ("0.15–0.20", "0", "0", "0"),
            ("0.20–0.25", "0", "0", "1"),
        ],
        "conflicts": [
            ("opened: contradiction", "2", "", ""),
            ("opened: quarantine", "1", "", ""),
            ("closed: resolved", "1", "", ""),
        ],
        "conflict-days": [(str(first), "2", "1"), (str(second), "0", "0"), (str(third), "1", "0")],
        "reviews": [("new fact", "3", "2", hour, hour, "0", "", "0")],
        "review-days": [(str(first), "3", "2"), (str(second), "0", "0"), (str(third), "0", "0")],
        "messages": [
            ("nothing in it is worth remembering", "6", "75.0 %"),
            ("at least one fact came of it", "2", "25.0 %"),
        ],
        "candidates": [("fact", "3", "75.0 %"), ("rejected", "1", "25.0 %")],
        "costs": [("extraction", "anthropic haiku", "5", "1", "100", "20", "$0.0125", "2", call, call)],
        "cost-days": [(str(first), "4", "$0.0125"), (str(second), "0", none), (str(third), "1", none)],
    }
    assert [(*row[:2], *row[3:]) for row in _rows(page, "decisions")] == [
        ("top score", "included", "3", "42.9 %"),
        ("over budget", "excluded", "3", "42.9 %"),
        ("conflict open", "blocked", "1", "14.3 %"),
    ]
    assert [(row[0], *row[2:]) for row in _rows(page, "rejections")] == [("question", "1", "100.0 %")]
    assert {each.label: (each.value, each.before) for each in page.context["headlines"]} == {
        "Injection rate": ("66.7 %", none),
        "Context calls": ("3", "0"),
        "Served": ("3", "0"),
        "Withheld": ("1", "0"),
        "Rated useless or wrong": ("25.0 %", none),
        "95 of 100 calls within": (thirty, none),
        "Conflicts opened": ("3", "0"),
        "Reviews decided": ("2", "0"),
        "Messages with facts": ("25.0 %", none),
        "Cost of models": ("$0.0125", none),
    }


def test_a_day_before_the_account_began_is_not_measured(account: Account, admin: Client) -> None:
    Account.objects.filter(pk=account.pk).update(created_at=_noon(1))
    page = admin.get(FIGURES, {"days": "3"})
    before, *since = [set(row[1:]) for row in _rows(page, "days")]
    assert (before, since) == ({"not measured"}, [{"0", "not measured"}] * 2)
    page = admin.get(FIGURES, {"from": "2020-01-01", "to": "2020-01-02"})
    assert {(each.value, each.before) for each in page.context["headlines"]} == {("not measured", "not measured")}
    assert _rows(page, "kinds") == []


def test_where_the_gate_stands_is_told_for_what_one_may_see(old: Account, client: Client, settings: Any) -> None:
    ensure_scope(old.id, "/support")
    sign_in(client, person_in(old, path="/sales"))
    assert "The gate of /sales is off today" in _section(client.get(FIGURES), "gate").definition
    settings.HAKI_RECALL_MAX_DISTANCE = 0.62
    assert "The gate of /sales lets in distances up to 0.62" in _section(client.get(FIGURES), "gate").definition
    assert "The gate of" not in _section(client.get(FIGURES, {"scope": "/support"}), "gate").definition


def test_a_file_says_what_its_table_says(old: Account, admin: Client) -> None:
    ensure_scope(old.id, "/support")
    for number_, purpose in enumerate(("=1+1", "a, b", 'say "so"', "<b>", "")):
        _trace(old, _noon(0), number=number_, purpose=purpose)
    page = admin.get(FIGURES, {"days": "7"})
    for section in page.context["sections"]:
        file = admin.get(FIGURES, {"days": "7", "csv": section.key})
        written = list(csv.reader(io.StringIO(file.text)))
        assert file["Content-Type"] == "text/csv; charset=utf-8"
        assert written[0] == list(section.columns)
        assert [[cell.removeprefix("'") for cell in row] for row in written[1:]] == [
            list(row.cells) for row in section.rows
        ]
        for row in section.rows:
            assert all(escape(cell) in page.text for cell in row.cells)
    assert [
        row[0] for row in csv.reader(io.StringIO(admin.get(FIGURES, {"csv": "purpose"}).text)) if "1+1" in row[0]
    ] == ["'=1+1"]
    assert admin.get(FIGURES, {"csv": "nothing"}).status_code == 404


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"days": "x"}, "That is no date or number of days"),
        ({"days": "0"}, "Choose from 1 to 400 days"),
        ({"from": "2025-13-01"}, "That is no date or number of days"),
        ({"from": "2025-02-02", "to": "2025-02-01"}, "The first day has to be before the last"),
        ({"from": "2020-01-01", "to": "2025-02-01"}, "At most 400 days are shown"),
        ({"from": "2999-01-01"}, "The first day has to be before the last"),
    ],
)
def test_a_period_that_cannot_be_is_said(admin: Client, query: dict[str, str], said: str) -> None:
    page = admin.get(FIGURES, query)
    assert page.status_code == 200
    assert said in page.context["wrong"]


def test_the_page_costs_the_same_for_ten_days_and_for_four_hundred(old: Account, admin: Client) -> None:
    today = now().date()
    read = {"kind": "context", "scope_path": "/support", "purpose": "", "profile": "context-1"}
    read |= dict.fromkeys(read_stats.COUNTERS, 1) | {"timings": {"total": {"26": 1}}, "reasons": {"top_score": 1}}
    done = {"scope_path": "/support", "name": "reviews_decided", "key": "new_fact", "number": 1, "spread": {"80": 1}}
    days = [today - timedelta(days=back) for back in range(400)]
    ReadStat.objects.bulk_create(ReadStat(account=old, day=day, **read) for day in days)
    DayFigure.objects.bulk_create(DayFigure(account=old, day=day, **done) for day in days)
    for source in (read_stats.SOURCE, "ratings", "decisions", "intake"):
        CountedUntil.objects.create(account=old, source=source, until=now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE retrieval_readstat, facts_dayfigure")
    told = []
    admin.get(FIGURES, {"days": "1"})  # profiles are remembered for some seconds
    for span in (10, 400):
        with CaptureQueriesContext(connection) as queries:
            page = admin.get(FIGURES, {"days": str(span)})
        told.append((len(queries), _headline(page, "Reviews decided").value))
        touching = [sql for sql in (query["sql"] or "" for query in queries) if "retrieval_trace" in sql]
        plans = [_plan(statement) for statement in touching]
        assert not any("Seq Scan on retrieval_trace" in plan for plan in plans), plans
    assert told == [(told[0][0], "10"), (told[0][0], "400")]
    assert told[0][0] <= 64


def _plan(statement: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("SET LOCAL enable_seqscan = on")
    return plan


# Charts and cells


def test_a_line_breaks_where_nothing_was_measured() -> None:
    drawn = charts.lines(
        "k",
        title="T",
        labels=["1", "2", "3", "4"],
        series=[Series("S", [0.5, None, 1.0, 0.0])],
        shown=percent,
        top=1.0,
    )
    assert 'd="M0 94L0 94M480 8L720 180"' in drawn
    assert "S: lowest 0.0 % (4), highest 100.0 % (3), last 0.0 % (4)." in drawn


def test_what_is_stored_does_nothing_in_a_chart() -> None:
    drawn = charts.bars([("<script>", 2, "<b>")]) + charts.sparkline([1, None], description='"><script>')
    assert "<script>" not in drawn
    assert "<b>&lt;b&gt;</b>" in drawn


def test_nothing_measured_is_no_line() -> None:
    assert charts.sparkline([None, None], description="x") == ""
    assert "S: not measured." in charts.lines("k", title="T", labels=["1"], series=[Series("S", [None])], shown=number)


def test_columns_stand_on_each_other() -> None:
    drawn = charts.columns("k", title="T", labels=["1"], series=[Series("A", [1]), Series("B", [3])], shown=number)
    assert '<rect class="series-0" x="72" y="137" width="576" height="43"/>' in drawn
    assert '<rect class="series-1" x="72" y="8" width="576" height="129"/>' in drawn


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "not measured"), (5, "5 seconds"), (90, "1.5 minutes"), (7_200, "2.0 hours"), (86_400 * 3, "3.0 days")],
)
def test_durations_are_told_in_their_greatest_unit(seconds: float | None, said: str) -> None:
    assert tables.duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "before", "said"),
    [
        (3, 2, "+1 (+50 %)"),
        (2, 3, "−1 (−33 %)"),
        (2, 2, "±0"),
        (999, 1_000, "−1 (under 1 %)"),
        (2, 0, "+2"),
        (None, 2, ""),
        (2, None, ""),
    ],
)
def test_a_difference_is_told_only_between_two_measurements(value: Any, before: Any, said: str) -> None:
    assert headlines.difference(value, before, written=number, in_points=False) == said


@pytest.mark.parametrize(("value", "said"), [(0.6, "+10.0 points"), (0.4, "−10.0 points"), (0.4999, "±0.0 points")])
def test_shares_differ_in_points(value: float, said: str) -> None:
    assert headlines.difference(value, 0.5, written=percent, in_points=True) == said


def test_a_row_of_a_table_keeps_its_order_in_a_file() -> None:
    section = Section(key="k", title="T", definition="D", columns=("A", "B"), rows=[Row(("x", "-1"))])
    assert section.as_csv() == "A,B\r\nx,-1\r\n"
