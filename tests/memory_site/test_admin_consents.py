"""The list of consents: what is asked, of whom, by whom and for how long, for whoever decides there."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from facts.clock import now
from facts.models import Account, Fact, Scope
from facts.tenancy import ensure_scope
from governance.access import Principal
from governance.models import Consent, Review, Role
from governance.sharing import promotions
from tests.admin_scene import sign_in
from tests.factories import FactFactory, SubjectFactory, person_in

LIST = reverse("admin:governance_consent_changelist")


@pytest.fixture
def curator(account: Account) -> Principal:
    return person_in(account)


@pytest.fixture
def asked(account: Account, curator: Principal) -> Consent:
    """Ana is asked whether something about her, known in support, may be known everywhere."""
    ana = SubjectFactory(account=account, key="ana", name="Ana Lima")
    fact = FactFactory(subject=ana, scope=ensure_scope(account.id, "/support"), statement="Ana <i>lives</i> in Lisbon.")
    promotions.request_promotion(curator, fact_id=fact.id, target="/", reason="For the invoices.")
    return Consent.objects.get()


def _shown(client: Client, query: str = "") -> list[Consent]:
    page = client.get(f"{LIST}?{query or '_all='}")
    assert page.status_code == 200
    return list(page.context["cl"].result_list)


def test_what_waits_is_listed_with_who_asked_and_since_when(curator: Principal, asked: Consent, client: Client) -> None:
    Consent.objects.update(requested_at=now() - timedelta(days=9))
    sign_in(client, curator)
    page = client.get(f"{LIST}?_all=").content.decode()
    for words in ("Ana &lt;i&gt;lives&lt;/i&gt; in Lisbon.", "Ana Lima", curator.name, "1\xa0week", "waiting"):
        assert words in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=waiting", True),
        ("state=unreached", True),
        ("state=granted", False),
        ("state=refused", False),
        ("state=nonsense", False),
        ("asked=week", True),
        ("asked=month", False),
        ("by=me", True),
        ("by=gates", False),
        ("by=person", True),
        ("fact__level__exact=peer", True),
        ("fact__level__exact=account", False),
        ("subject=ana", True),
        ("subject=ben", False),
        ("place=x", False),
    ],
)
def test_filters_keep_what_they_say(
    curator: Principal, asked: Consent, client: Client, query: str, found: bool
) -> None:
    Consent.objects.update(requested_at=now() - timedelta(days=9), unreached_at=now())
    sign_in(client, curator)
    assert bool(_shown(client, query)) is found


def test_it_is_found_by_where_it_would_be_known(
    account: Account, curator: Principal, asked: Consent, client: Client
) -> None:
    sign_in(client, curator)
    for path, found in (("/", 1), ("/support", 0)):
        assert len(_shown(client, f"place={Scope.objects.get(path=path).pk}")) == found


def test_whoever_decides_elsewhere_sees_nothing_of_it(account: Account, asked: Consent, client: Client) -> None:
    ensure_scope(account.id, "/sales")
    sign_in(client, person_in(account, path="/sales"))
    assert _shown(client) == []
    sign_in(client, person_in(account, path="/support"))
    assert _shown(client) == [asked]
    sign_in(client, person_in(account, role=Role.READER))
    assert client.get(LIST).status_code == 403


def test_what_is_not_for_the_reader_is_listed_without_its_words(
    account: Account, asked: Consent, client: Client
) -> None:
    Review.objects.all().delete()  # whoever decides about it may read it
    Fact.objects.update(sensitivity="restricted")
    sign_in(client, person_in(account))
    page = client.get(f"{LIST}?_all=").content.decode()
    assert "not for you to read" in page
    assert "Lisbon" not in page
