"""The copy of everything about a person: complete, in both forms, and with nothing that is not theirs to read."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facts import embedding
from facts.models import Account
from facts.vocabulary import Status
from governance import feedback, subject_rights
from governance.access import Principal
from governance.models import Rating
from ingest.models import Action, MoodEntry
from memory_site.portal import export
from retrieval.models import Card, CardKind
from tests.admin_scene import HOSTILE, sign_in
from tests.api import caller_with_key, signed_in
from tests.factories import (
    MARCH,
    FactFactory,
    IdentityFactory,
    SubjectFactory,
    entered,
    maker_of,
    person_in,
    say,
)
from tests.governance.sharing_scene import Scene, scene_in

PARTS = ["facts", "events", "consents", "promotions", "feedback", "reads", "cards", "moods", "actions", "receipts"]


@pytest.fixture
def scene(account: Account, settings) -> Scene:
    """Ada, about whom something of every kind is held, and others of whom she may read nothing."""
    settings.SEARCH_THREADS = 0
    embedding.register(None)
    scene = scene_in(account)
    ada, emea = scene.subject, scene.emea
    IdentityFactory(subject=ada, value="U777ADA")
    fact = scene.fact(statement="Ada prefers mornings.", event=say(ada, "Mornings, please.", scope=emea))
    scene.request(fact)
    wrong = scene.fact(statement="Ada is a pilot.")
    subject_rights.contest(scene.ada, wrong.id, reason="I never flew.")
    scene.fact(statement="Ada hates gin.", status=Status.REDACTED)
    bob = SubjectFactory(account=account, key="bob", name="Bob Zanzolin")
    scene.fact(statement="Ada snores.", event=say(bob, "She snores, quagmirezeta.", scope=emea))
    FactFactory(subject=bob, scope=emea, statement="Bob plays xylophonic chess.")
    caller_with_key(account, label="planner", peer=ada).post(
        "/v1/context", {"scope": "/support/emea", "subject_id": ada.key, "query": "mornings?", "purpose": "planning"}
    )
    MoodEntry.objects.create(account=account, subject=ada, day=MARCH, score=4, source="manual", note="Spring!")
    MoodEntry.objects.create(account=account, subject=bob, day=MARCH, score=1, source="manual", note="xylophonic")
    Action.objects.create(
        account=account, fact=fact, rule_key="promises", rule_version=0, kind="task", scope=emea, subject=ada
    )
    lines = [
        {"text": "Prefers mornings.", "facts": [str(fact.id)]},
        {"text": "Hates gin.", "facts": [str(fact.id), str(ada.facts.get(status="redacted").pk)]},
    ]
    Card.objects.create(
        account=account,
        scope=emea,
        subject=ada,
        kind=CardKind.SUBJECT_PROFILE,
        lines=lines,
        builder="test 1",
        sensitivity="personal",
    )
    return scene


def copy_of(principal: Principal, *, ending: str = "json") -> bytes:
    caller = signed_in(maker_of(principal))
    answer = caller.get("/v1/self/export", format=ending)
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == f'attachment; filename="about-me.{ending}"'
    return b"".join(answer.streaming_content)


def test_the_copy_for_programs_holds_every_part(scene):
    copy = json.loads(copy_of(scene.ada))
    assert copy["format"] == export.FORMAT
    assert [name for name in copy if name in PARTS] == PARTS
    assert copy["person"]["identities"] == [{"platform": "slack", "value": "U777ADA"}]
    assert copy["person"]["roles"][0]["scope"] == "/support/emea"
    told = {one["fact"]["statement"] for one in copy["facts"]}
    assert told == {"Ada prefers mornings.", "Ada is a pilot.", "Ada snores.", None}
    (mornings,) = (one for one in copy["facts"] if one["fact"]["statement"] == "Ada prefers mornings.")
    assert mornings["fact"]["sources"][0]["quote"] == "Mornings, please."
    assert mornings["history"][0]["action"] == "fact.proposed"
    said = {event["text"]: event["passages"] for event in copy["events"]}
    assert said["Mornings, please."][0]["text"] == "Mornings, please."
    assert [(one["statement"], one["status"]) for one in copy["consents"]] == [("Ada prefers mornings.", "pending")]
    assert [one["reason"] for one in copy["promotions"]] == ["Planning shifts."]
    assert [one["comment"] for one in copy["feedback"]] == ["I never flew."]
    assert [(one["by"], one["purpose"]) for one in copy["reads"]] == [("planner", "planning")]
    assert [(one["day"], one["score"], one["note"]) for one in copy["moods"]] == [("2025-03-10", 4, "Spring!")]
    assert [(one["kind"], one["fact_id"]) for one in copy["actions"]] == [("task", mornings["fact"]["id"])]
    assert [[line["text"] for line in card["lines"]] for card in copy["cards"]] == [["Prefers mornings."]]


@pytest.mark.parametrize("ending", ["json", "html"])
def test_no_copy_holds_what_is_of_others_or_shown_to_nobody(scene, ending):
    feedback.rate(
        account_id=scene.account.id,
        reader=None,
        actor=scene.other.actor,
        rating=Rating.USEFUL,
        trace_id=scene.account.id,
        comment="xylophonic",
    )
    text = copy_of(scene.ada, ending=ending).decode()
    for word in ("quagmirezeta", "xylophonic", "gin."):
        assert word not in text
    assert "Ada prefers mornings." in text


def test_the_page_needs_nothing_else_and_runs_nothing(scene):
    scene.fact(statement=HOSTILE)
    page = copy_of(scene.ada, ending="html").decode()
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    for tag in ("<script", "<link", "<img", 'href="http'):
        assert tag not in page
    assert "U+202E" in page
    assert "\u202e" not in page
    assert [page.count(f'<section id="{name}">') for name in PARTS] == [1] * len(PARTS)


def test_the_portal_hands_out_the_same(scene, client: Client):
    sign_in(client, scene.ada, staff=False)
    for ending in ("json", "html"):
        with entered(None):
            answer = client.get(f"/me/export.{ending}")
            assert answer.status_code == 200
            assert "attachment" in answer.headers["Content-Disposition"]
            assert b"Ada prefers mornings." in b"".join(answer.streaming_content)


def test_rows_are_read_in_batches_and_none_twice(account, monkeypatch):
    monkeypatch.setattr(export, "BATCH", 2)
    ada = person_in(account, role=None)
    for number in range(5):
        FactFactory(subject=maker_of(ada).subject, statement=f"Ada likes song {number}.", valid_from=MARCH)
    copy = json.loads(copy_of(ada))
    assert [one["fact"]["statement"] for one in copy["facts"]] == [f"Ada likes song {n}." for n in (4, 3, 2, 1, 0)]
    assert len({event["id"] for event in copy["events"]}) == 5


def test_the_number_of_queries_does_not_grow_with_the_facts(account):
    ada = person_in(account, role=None)
    counts = []
    for number in (2, 10):
        for _ in range(number):
            FactFactory(subject=maker_of(ada).subject)
        with CaptureQueriesContext(connection) as queries:
            copy_of(ada)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_copy_of_nothing_is_whole(account):
    ada = person_in(account, role=None)
    copy = json.loads(copy_of(ada))
    assert [copy[name] for name in PARTS] == [[]] * len(PARTS)
    assert b"Nothing." in copy_of(ada, ending="html")
