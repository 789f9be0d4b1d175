"""Asking about a trace in the admin: the same read again, and why a fact was not served."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from facts.models import Account, Fact
from facts.vocabulary import Level, Sensitivity
from governance.models import Role
from retrieval.models import Trace
from tests.admin_scene import Scene, build, sign_in
from tests.factories import FactFactory, person_in, unknown_id


@pytest.fixture
def scene(account: Account) -> Scene:
    return build(account, hostile=False)


@pytest.fixture
def browser(scene: Scene) -> Client:
    return sign_in(Client(), scene.curator)


def _trace(scene: Scene) -> str:
    return reverse("admin:retrieval_trace_change", args=[scene.trace.pk])


def _again(scene: Scene) -> str:
    return reverse("admin:trace_replay", args=[scene.trace.pk])


def _why(scene: Scene, fact: object) -> str:
    return f"{reverse('admin:trace_why', args=[scene.trace.pk])}?fact={fact}"


def test_a_read_is_asked_again(scene: Scene, browser: Client) -> None:
    shared = FactFactory(
        subject=scene.ana, statement="Ana works by the sea.", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL
    )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '9s'")
    page = browser.post(_again(scene), {"mode": "now"})
    assert page.status_code == 200
    assert [(row.text, row.compared.change) for row in page.context["found"].rows] == [(shared.statement, "added")]
    assert b"Ana works by the sea." in page.content
    assert b"not recorded yet" in page.content
    assert browser.post(_again(scene), {"mode": "then"}).context["found"].mode == "then"
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("9s",)


def test_a_replay_is_not_asked_again(scene: Scene, browser: Client) -> None:
    browser.post(_again(scene))
    replayed = Trace.objects.get(kind="replay")
    page = browser.get(reverse("admin:retrieval_trace_change", args=[replayed.pk]))
    assert page.status_code == 200
    assert page.context["replayable"] is False
    answer = browser.post(reverse("admin:trace_replay", args=[replayed.pk]), follow=True)
    assert [str(message) for message in answer.context["messages"]] == [
        "Only context, search and ask calls are replayed."
    ]


def test_why_a_fact_was_not_served(scene: Scene, browser: Client) -> None:
    late = FactFactory(subject=scene.ana, statement="<b>Late</b>", sensitivity=Sensitivity.INTERNAL)
    page = browser.get(_why(scene, late.pk))
    assert page.status_code == 200
    assert [one.code for one, _ in page.context["obstacles"]][:1] == ["not_recorded_yet"]
    assert b"<b>Late</b>" not in page.content


@pytest.mark.parametrize("typed", ["", "nonsense", "%00", "unknown", "hidden"])
def test_a_fact_that_is_not_there_or_not_to_be_seen_is_said(scene: Scene, browser: Client, typed: str) -> None:
    hidden = FactFactory(subject=scene.ana, sensitivity=Sensitivity.RESTRICTED)
    fact = {"unknown": unknown_id(), "hidden": hidden.pk}.get(typed, typed)
    page = browser.get(_why(scene, fact))
    assert page.status_code == (400 if typed == "%00" else 404)
    if typed in {"unknown", "hidden"}:
        assert b"There is no such fact, or none that you may read." in page.content


def test_a_curator_asks_about_what_the_page_of_the_trace_shows_them(scene: Scene, browser: Client) -> None:
    withheld = Fact.objects.get(statement="Ana Lima lives in Lisbon, close to the river.")
    assert f"?fact={withheld.pk}" in browser.get(_trace(scene)).content.decode()
    page = browser.get(_why(scene, withheld.pk))
    assert [one.code for one, _ in page.context["obstacles"]] == ["conflict_open"]


def test_only_who_may_inspect_a_trace_asks_about_it(account: Account, scene: Scene) -> None:
    browser = sign_in(Client(), person_in(account, role=Role.READER))
    assert browser.post(_again(scene)).status_code == 404
    assert browser.get(_why(scene, unknown_id())).status_code == 404
    assert browser.get(_again(scene)).status_code == 405
