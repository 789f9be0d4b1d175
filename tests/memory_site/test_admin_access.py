"""Who gets into the admin, into which account, and what they see there."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from facts.models import Account, Suppression
from facts.vocabulary import Level, Sensitivity, Status
from governance.models import Role
from memory_site.admin_pages import home
from tests.admin_scene import build, sign_in
from tests.factories import (
    AccountFactory,
    FactFactory,
    GrantFactory,
    MembershipFactory,
    ScopeFactory,
    SubjectFactory,
    UserFactory,
    entered,
    person_in,
    submit,
)

FACTS = reverse("admin:facts_fact_changelist")


def test_a_stranger_is_asked_to_sign_in(client: Client, db: None) -> None:
    answer = client.get(FACTS)
    assert (answer.status_code, answer["Location"]) == (302, f"{reverse('admin:login')}?next={FACTS}")


def test_a_member_who_is_not_staff_stays_outside(account: Account, client: Client) -> None:
    sign_in(client, person_in(account), staff=False)
    assert client.get(FACTS).status_code == 302


def test_somebody_without_an_account_is_told_what_to_do(client: Client, db: None) -> None:
    client.force_login(UserFactory(username="ada", is_staff=True))
    page = client.get(reverse("admin:index"))
    assert page.status_code == 200
    assert b"manage.py add_member --account KEY --user ada" in page.content


def test_being_a_superuser_opens_no_content(account: Account, client: Client) -> None:
    FactFactory(subject=SubjectFactory(account=account))
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    assert client.get(FACTS).status_code == 403
    assert client.get(reverse("admin:facts_user_changelist")).status_code == 200
    assert client.get(reverse("admin:django_q_ormq_changelist")).status_code == 200


def test_a_member_sees_only_their_own_account(account: Account, client: Client) -> None:
    mine = FactFactory(subject=SubjectFactory(account=account), statement="Mine.")
    other = AccountFactory()
    with entered(other):
        theirs = FactFactory(subject=SubjectFactory(account=other), statement="Theirs.")
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    page = client.get(FACTS)
    assert b"Mine." in page.content
    assert b"Theirs." not in page.content
    assert client.get(reverse("admin:facts_fact_change", args=[mine.pk])).status_code == 200
    assert client.get(reverse("admin:facts_fact_change", args=[theirs.pk])).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_member_of_two_accounts_chooses_one(client: Client) -> None:
    user = UserFactory(is_staff=True)
    accounts = [AccountFactory(key="first", name="First"), AccountFactory(key="second", name="Second")]
    for account in accounts:
        with entered(account):
            membership = MembershipFactory(account=account, user=user)
            GrantFactory(subject=membership.subject, role=Role.CURATOR)
            FactFactory(subject=membership.subject, statement=f"Known in {account.name}.")
    client.force_login(user)
    assert b"Known in First." in client.get(FACTS).content
    client.post(reverse("admin:choose_account"), {"account": "second"})
    page = client.get(FACTS)
    assert b"Known in Second." in page.content
    assert b"Known in First." not in page.content
    client.post(reverse("admin:choose_account"), {"account": "somebody-elses"})
    assert b"Known in Second." in client.get(FACTS).content


def test_a_reader_sees_what_the_audience_rule_allows_and_nothing_to_decide(account: Account, client: Client) -> None:
    ana = SubjectFactory(account=account)
    FactFactory(subject=ana, statement="A private thing.")
    FactFactory(subject=ana, statement="A shared thing.", level=Level.SCOPE)
    FactFactory(subject=ana, statement="A rejected thing.", level=Level.SCOPE, status=Status.REJECTED)
    FactFactory(subject=ana, statement="An open thing.", sensitivity=Sensitivity.PUBLIC, status=Status.SUPERSEDED)
    reader = person_in(account, role=Role.READER)
    sign_in(client, reader)
    statements = {fact.statement for fact in client.get(FACTS).context["cl"].result_list}
    assert statements == {"A shared thing.", "An open thing."}
    assert client.get(reverse("admin:facts_conflictset_changelist")).status_code == 403
    assert client.get(reverse("admin:governance_apikey_changelist")).status_code == 403


def test_a_curator_sees_only_the_scopes_they_curate(account: Account, client: Client) -> None:
    ana = SubjectFactory(account=account)
    FactFactory(subject=ana, statement="Said in support.")
    FactFactory(subject=ana, statement="Said in sales.", scope=ScopeFactory(account=account, path="/sales"))
    sign_in(client, person_in(account, path="/support"))
    statements = {fact.statement for fact in client.get(FACTS).context["cl"].result_list}
    assert statements == {"Said in support."}


def test_restricted_text_is_hidden_from_curators_until_a_decision_waits(account: Account, client: Client) -> None:
    ana = SubjectFactory(account=account)
    FactFactory(subject=ana, statement="A secret.", sensitivity=Sensitivity.RESTRICTED)
    submit(
        ana,
        {"condition": "x"},
        predicate="has_condition",
        statement="Asked about.",
        sensitivity=Sensitivity.RESTRICTED,
    )
    sign_in(client, person_in(account))
    page = client.get(FACTS)
    assert b"A secret." not in page.content
    assert b"not for you to read" in page.content
    assert b"Asked about." in page.content
    assert b"A secret." not in client.get(FACTS, {"q": "secret"}).content


def test_what_a_failing_view_wrote_is_undone(account: Account, client: Client, monkeypatch) -> None:
    ana = SubjectFactory(account=account)
    sign_in(client, person_in(account))

    def write_and_fail(eyes: object) -> None:
        Suppression.objects.create(account=account, subject=ana, cause="rejected", statement_hash="x")
        raise ValueError

    monkeypatch.setattr(home, "figures", write_and_fail)
    client.raise_request_exception = False
    assert client.get(reverse("admin:index")).status_code == 500
    assert not connection.needs_rollback
    assert Suppression.objects.count() == 0


def test_the_home_page_counts_what_waits(account: Account, client: Client) -> None:
    scene = build(account)
    sign_in(client, scene.curator)
    figures = client.get(reverse("admin:index")).context["figures"]
    assert (figures.conflicts.count, figures.reviews.count) == (3, 1)
    assert figures.conflicts.oldest == scene.conflicts[0].opened_at
    assert (figures.injection.value, figures.injection.calls) == (1.0, 3)


def test_an_empty_account_is_told_how_to_begin(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    page = client.get(reverse("admin:index"))
    assert b"curl -X POST http://testserver/v1/capture" in page.content
    assert page.context["figures"].injection.value is None


def test_pages_carry_the_policy_and_no_inline_code(account: Account, client: Client) -> None:
    scene = build(account)
    sign_in(client, scene.curator)
    page = client.get(reverse("admin:facts_conflictset_change", args=[scene.conflicts[0].pk]))
    assert "default-src 'self'" in page["Content-Security-Policy"]
    assert b" style=" not in page.content
    assert b" onclick=" not in page.content
    assert b"<script>" not in page.content


@pytest.mark.parametrize("query", ["q=%00", "status__exact=%00", "subject=%00"])
def test_an_address_with_nul_is_refused(account: Account, client: Client, query: str) -> None:
    sign_in(client, person_in(account))
    assert client.get(f"{FACTS}?{query}").status_code == 400
