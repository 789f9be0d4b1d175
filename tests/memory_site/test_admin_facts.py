"""The page of a fact: both times, its history, what it rests on, who reads it, and what its buttons do."""

from __future__ import annotations

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts import lifecycle
from facts.actors import pipeline
from facts.models import Account, Evidence, Fact, Relation
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, RelationKind, Sensitivity, Status
from governance.access import Principal
from governance.models import Feedback, Review, ReviewStatus, Role
from memory_site.admin_pages import fact_pages
from tests.admin_scene import sign_in
from tests.factories import (
    JULY,
    MARCH,
    FactFactory,
    GrantFactory,
    SubjectFactory,
    maker_of,
    person_in,
    say,
)


@pytest.fixture
def curator(account: Account, client: Client) -> Principal:
    """A curator of the whole account, signed in."""
    principal = person_in(account)
    sign_in(client, principal)
    return principal


@pytest.fixture
def fact(account: Account) -> Fact:
    return FactFactory(subject=SubjectFactory(account=account, key="ana"), statement="Ana lives in Rome.")


def _page(fact: Fact) -> str:
    return reverse("admin:facts_fact_change", args=[fact.pk])


def _revise(fact: Fact, *, times: int) -> None:
    for number in range(times):
        changes = {"corroboration": number + 2}
        lifecycle.amend(
            fact.pk, account_id=fact.account_id, actor=pipeline(), action="fact.reinforced", changes=changes
        )


def test_a_fact_is_ended_on_a_day_and_stays_history(client: Client, curator, fact: Fact) -> None:
    assert client.get(_page(fact)).context["may_end"]
    answer = client.post(reverse("admin:fact_end", args=[fact.pk]), {"at": "2025-07-10", "reason": "Moved."})
    fact.refresh_from_db()
    assert (fact.status, fact.valid_to) == (Status.EXPIRED, JULY.replace(hour=0))
    assert [str(message) for message in get_messages(answer.wsgi_request)] == ["It is over: from now on it is history."]
    page = client.get(_page(fact))
    assert not page.context["may_end"]
    assert page.context["times"].held[0].text == "from 2025-03-10 09:00 (assumed) until 2025-07-10"


@pytest.mark.parametrize("day", ["yesterday", "2025-02-30", "2999-01-01", "2025-01-01"])
def test_a_fact_is_not_ended_on_a_day_that_cannot_be(client: Client, curator, fact: Fact, day: str) -> None:
    page = client.post(reverse("admin:fact_end", args=[fact.pk]), {"at": day})
    fact.refresh_from_db()
    assert fact.status == Status.ACTIVE
    assert page.status_code == 422
    assert page.context["error"].message in page.content.decode()


def test_a_curator_sends_a_fact_to_review(client: Client, curator, fact: Fact) -> None:
    client.post(reverse("admin:fact_contest", args=[fact.pk]), {"reason": "She never did."})
    fact.refresh_from_db()
    assert fact.status == Status.DISPUTED
    assert Feedback.objects.get(fact=fact).comment == "She never did."
    page = client.get(_page(fact))
    assert page.context["pending"] == Review.objects.get(fact=fact, status=ReviewStatus.PENDING)
    assert not page.context["may_contest"]
    assert b"served to nobody" in page.content


def test_one_contests_what_is_said_of_oneself(account: Account, client: Client) -> None:
    reader = person_in(account, role=Role.READER)
    sign_in(client, reader)
    own = FactFactory(subject=maker_of(reader).subject)
    assert client.get(_page(own)).context["may_contest"]
    client.post(reverse("admin:fact_contest", args=[own.pk]), {"reason": "Not me."})
    own.refresh_from_db()
    assert own.status == Status.DISPUTED


def test_who_only_reads_is_offered_nothing_and_may_do_nothing(account: Account, client: Client) -> None:
    public = FactFactory(subject=SubjectFactory(account=account), sensitivity=Sensitivity.PUBLIC)
    sign_in(client, person_in(account, role=Role.READER))
    page = client.get(_page(public))
    offered = {name: page.context[name] for name in ("may_end", "may_contest", "may_forget", "audience")}
    assert offered == {"may_end": False, "may_contest": False, "may_forget": False, "audience": None}
    for name in ("fact_end", "fact_contest"):
        assert client.post(reverse(f"admin:{name}", args=[public.pk]), {"reason": "No."}).status_code == 404
    public.refresh_from_db()
    assert public.status == Status.ACTIVE


def test_what_it_rests_on_stands_left_and_what_came_of_it_right(client: Client, curator, fact: Fact) -> None:
    older = FactFactory(subject=fact.subject, statement="Ana lives in Milan.", status=Status.SUPERSEDED)
    conclusion = FactFactory(subject=fact.subject, statement="Ana lives in Italy.")
    for source, target, kind in (
        (fact, older, RelationKind.SUPERSEDES),
        (conclusion, fact, RelationKind.DERIVED_FROM),
    ):
        Relation.objects.create(account=fact.account, source=source, target=target, kind=kind)
    page = client.get(_page(fact))
    nodes = {node.fact.statement: node for node in page.context["lineage"].nodes if node.fact}
    assert (nodes["Ana lives in Milan."].column, nodes["Ana lives in Milan."].said) == (-1, "replaced")
    assert (nodes["Ana lives in Italy."].column, nodes["Ana lives in Italy."].said) == (1, "led to")
    events = [node for node in page.context["lineage"].nodes if node.event]
    assert {node.said for node in events} == {"read from"}
    assert len(page.context["lineage"].edges) == len(page.context["lineage"].nodes) - 1
    (said, other, parts) = page.context["rewordings"][0]
    assert (said, other) == ("replaced", older)
    assert [[part.text for part in one if part.marked] for one in parts] == [["Milan"], ["Rome"]]


def test_what_one_may_not_list_is_a_node_without_a_name(account: Account, client: Client) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account))
    board = ensure_scope(account.id, "/board")
    hidden = FactFactory(subject=fact.subject, scope=board, statement="Quagmirezeta.")
    secret = say(SubjectFactory(account=account), "Quagmirezeta.", scope=board)
    Relation.objects.create(account=account, source=fact, target=hidden, kind=RelationKind.CONTRADICTS)
    Evidence.objects.create(account=account, fact=fact, event=secret, quote="Quagmirezeta")
    sign_in(client, person_in(account, path="/support"))
    page = client.get(_page(fact))
    opaque = [node for node in page.context["lineage"].nodes if node.part == "hidden"]
    assert [(node.said, node.label.split(" · ")[1]) for node in opaque] == [("", "hidden"), ("", "hidden")]
    text = page.content.decode()
    assert "uagmirezeta" not in text
    assert str(hidden.pk) not in text
    assert str(secret.pk) not in text
    assert "contradicts" not in text


def test_circles_and_crowds_end_the_walk(client: Client, curator, fact: Fact) -> None:
    others = [FactFactory(subject=fact.subject) for _ in range(11)]
    for other in others:
        Relation.objects.create(account=fact.account, source=fact, target=other, kind=RelationKind.SUPPORTS)
    Relation.objects.create(account=fact.account, source=others[-1], target=fact, kind=RelationKind.SUPPORTS)
    lineage = client.get(_page(fact)).context["lineage"]
    assert sum(node.fact is not None for node in lineage.nodes) == 1 + 8
    assert lineage.more >= 3


@pytest.mark.parametrize(
    ("fields", "rule", "by_name"),
    [
        ({}, "Personal, and not shared: only whom it is about.", []),
        ({"level": Level.SCOPE}, "Personal, and shared: everybody with a role at /support.", ["Bo", "Curator"]),
        ({"sensitivity": Sensitivity.INTERNAL}, "For everybody with a role at /support.", ["Bo", "Curator"]),
        (
            {"sensitivity": Sensitivity.PUBLIC},
            "Public: everybody with a role at /support, and calls that read for nobody in particular.",
            ["Bo", "Curator"],
        ),
    ],
)
def test_who_can_read_it_and_why(account: Account, client: Client, curator, fields, rule, by_name) -> None:
    bo = maker_of(person_in(account, role=None)).subject
    bo.name = "Bo"
    bo.save()
    GrantFactory(subject=bo, role=Role.READER, scope=ensure_scope(account.id, "/support"))
    mine = maker_of(curator).subject
    mine.name = "Curator"
    mine.save()
    fact = FactFactory(subject=SubjectFactory(account=account), **fields)
    audience = client.get(_page(fact)).context["audience"]
    assert (audience.rule, sorted(audience.people), audience.now) == (rule, by_name, "")
    assert audience.curators == ("Curator",)


def test_a_long_history_is_shown_in_part_and_costs_no_more(
    client: Client, curator, fact: Fact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_pages, "REVISIONS", 20)
    _revise(fact, times=1)
    costs = []
    for times in (0, 0, 50):
        _revise(fact, times=times)
        with CaptureQueriesContext(connection) as queries:
            page = client.get(_page(fact))
        costs.append(len(queries))
    assert costs[1] == costs[2]
    assert costs[1] <= 48, costs
    revisions = page.context["revisions"]
    assert (len(revisions), revisions[0][0].version, page.context["earlier_revisions"]) == (20, 52, 32)
    assert [change.label for change in revisions[-1][1]] == ["corroboration"]
    assert b"And 32 earlier versions" in page.content
    assert len(page.context["times"].recorded.segments) == 1


def test_a_walk_goes_on_after_a_button(client: Client, curator, fact: Fact) -> None:
    FactFactory(subject=fact.subject, valid_from=MARCH)
    filters = "subject=ana"
    page = client.get(_page(fact), {"_changelist_filters": filters})
    assert (page.context["place"], len(page.context["queue"].ids)) == (2, 2)
    answer = client.post(
        reverse("admin:fact_contest", args=[fact.pk]), {"reason": "No.", "_changelist_filters": filters}
    )
    assert answer["Location"] == f"{_page(fact)}?_changelist_filters=subject%3Dana"
