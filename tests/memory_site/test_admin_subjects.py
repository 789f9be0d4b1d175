"""The page of a subject: what is known, what waits, what was agreed to, and to whom it was told."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts.models import Account, Fact, Subject
from facts.models.facts import Category
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity, Status
from governance.models import Role
from governance.sharing import promotions
from ingest import opting_out
from memory_site.admin_pages import subject_pages
from retrieval.models import Card
from tests.admin_scene import Scene, build, sign_in
from tests.factories import FactFactory, IdentityFactory, SubjectFactory, maker_of, person_in


@pytest.fixture
def scene(account: Account) -> Scene:
    return build(account, hostile=False)


@pytest.fixture
def curator(scene: Scene, client: Client) -> Client:
    return sign_in(client, scene.curator)


def _page(subject: Subject) -> str:
    return reverse("admin:facts_subject_change", args=[subject.pk])


def _statements(context) -> dict[str, list[str]]:
    return {category: [fact.statement for fact in facts] for category, facts in context["known"].groups}


def test_a_subject_shows_what_is_known_by_category(scene: Scene, curator: Client) -> None:
    FactFactory(subject=scene.ana, statement="Ana sends the offer by May.", category=Category.COMMITMENT)
    FactFactory(subject=scene.ana, statement="Ana lived in Faro.", status=Status.SUPERSEDED)
    page = curator.get(_page(scene.ana))
    known = _statements(page.context)
    assert list(known) == ["commitment", "general"]
    assert known["commitment"] == ["Ana sends the offer by May."]
    assert "Ana Lima speaks Portuguese." in known["general"]
    assert "Ana lived in Faro." not in known["general"]
    drawn = [fact.statement for fact, _ in page.context["lives"].rows]
    assert "Ana lived in Faro." in drawn


def test_conflicts_and_reads_are_told_with_whom_they_were_told_to(scene: Scene, curator: Client) -> None:
    page = curator.get(_page(scene.ana))
    assert [conflict.pk for conflict, _ in page.context["conflicts"]] == [scene.conflicts[0].pk]
    reads = page.context["reads"]
    assert reads[0] == scene.trace
    assert {(read.credential_name, read.reader.display_name) for read in reads} == {("support app", "Ana Lima")}
    assert reverse("admin:retrieval_trace_change", args=[scene.trace.pk]) in page.content.decode()


def test_names_and_opting_out_are_told(scene: Scene, curator: Client) -> None:
    IdentityFactory(subject=scene.ana, platform="slack", value="U777")
    assert b"U777" in curator.get(_page(scene.ana)).content
    assert curator.get(_page(scene.ana)).context["opted_out"] is None
    opting_out.stop_remembering(scene.account.id, scene.ana, via=opting_out.PORTAL)
    page = curator.get(_page(scene.ana))
    assert b"They said so by portal." in page.content


def test_a_profile_shows_only_lines_that_may_be_read(scene: Scene, curator: Client) -> None:
    open_one = Fact.objects.get(statement__contains="speaks Portuguese")
    secret = FactFactory(subject=scene.ana, statement="Quagmirezeta.", sensitivity=Sensitivity.RESTRICTED)
    lines = [{"text": f"Line {one.statement}", "facts": [str(one.pk)]} for one in (open_one, secret)]
    Card.objects.create(
        account=scene.account, scope=open_one.scope, subject=scene.ana, kind="subject_profile", lines=lines,
        sensitivity="personal", builder="test",
    )  # fmt: skip
    page = curator.get(_page(scene.ana))
    assert [[line["text"] for line in shown] for _, shown in page.context["cards"]] == [[lines[0]["text"]]]
    assert b"Quagmirezeta" not in page.content


def test_what_they_were_asked_to_agree_to_is_told_where_one_decides(scene: Scene, curator: Client) -> None:
    fact = Fact.objects.get(statement__contains="speaks Portuguese")
    promotions.request_promotion(scene.curator, fact_id=fact.pk, target="/", reason="For all.")
    page = curator.get(_page(scene.ana))
    assert b"no message and no e-mail reaches them" in page.content
    ((asked, standing, about),) = page.context["consents"]
    assert (asked.status, asked.target.path, about) == ("pending", "/", fact)
    assert "could not be asked" in standing


def test_a_curator_of_another_scope_is_told_nothing_of_this_one(account: Account, scene: Scene) -> None:
    sales = ensure_scope(account.id, "/sales")
    FactFactory(subject=scene.ana, scope=sales, statement="Ana buys pens.")
    page = sign_in(Client(), person_in(account, path="/sales")).get(_page(scene.ana))
    assert _statements(page.context) == {"general": ["Ana buys pens."]}
    assert (page.context["conflicts"], page.context["reads"], page.context["consents"]) == ([], [], [])
    assert b"Portuguese" not in page.content


def test_the_way_out_of_the_account_is_for_administrators(account: Account, scene: Scene, curator: Client) -> None:
    member = maker_of(person_in(account, role=Role.READER))
    assert reverse("admin:member_leaves", args=[member.pk]) in curator.get(_page(member.subject)).content.decode()
    other = sign_in(Client(), person_in(account)).get(_page(member.subject))
    assert b"They leave" not in other.content
    assert reverse("admin:subject_erase", args=[member.subject.pk]) in other.content.decode()


def test_much_that_is_known_costs_no_more(scene: Scene, curator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_pages, "FACTS", 12)
    monkeypatch.setattr(subject_pages, "DRAWN", 7)
    costs = []
    for more in (0, 1, 20):
        for _ in range(more):
            FactFactory(subject=scene.ana)
        with CaptureQueriesContext(connection) as queries:
            page = curator.get(_page(scene.ana))
        costs.append(len(queries))
    assert costs[1] == costs[2]
    assert costs[1] <= 40, costs
    assert page.context["known"].more
    assert sum(len(facts) for _, facts in page.context["known"].groups) == 12
    assert len(page.context["lives"].rows) == 7


def test_a_subject_of_whom_nothing_is_known_says_so(account: Account, scene: Scene, curator: Client) -> None:
    page = curator.get(_page(SubjectFactory(account=account)))
    assert b"Nothing that you may see." in page.content
    assert page.context["lives"] is None
