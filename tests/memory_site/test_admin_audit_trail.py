"""The page on what the audit chain says of an object."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts.models import Account, ConflictSet, Fact
from facts.vocabulary import Sensitivity
from governance import forgetting
from governance.models import ForgetReceipt, Review, Role
from governance.reviewing import reviews
from memory_site.admin_pages import audit_trail
from tests.admin_scene import sign_in
from tests.factories import AccountFactory, SubjectFactory, api_key, entered, person_in, submit, unknown_id


@pytest.fixture
def administrator(account: Account, client: Client):
    """The administrator of the account, signed in."""
    principal = person_in(account, role=Role.ACCOUNT_ADMIN)
    sign_in(client, principal)
    return principal


def _actions(client: Client, kind: str, pk: object) -> list[tuple[str, str]]:
    page = client.get(reverse("admin:audit_trail", args=[kind, pk]))
    return [(line.entry.object_type, line.entry.action) for line in page.context["lines"]]


def _asthma(account: Account) -> Fact:
    ana = SubjectFactory(account=account)
    claim = {"predicate": "has_condition", "statement": "Ana has asthma."}
    placed = submit(ana, {"condition": "asthma"}, sensitivity=Sensitivity.RESTRICTED, **claim)
    return Fact.objects.get(pk=placed.fact_id)


def test_the_trail_of_a_fact_holds_what_was_decided_about_it_and_no_word_of_it(
    account: Account, client: Client, administrator
) -> None:
    fact = _asthma(account)
    reviews.approve(person_in(account), Review.objects.get().pk)
    page = client.get(reverse("admin:audit_trail", args=["fact", fact.pk]))
    actions = [line.entry.action for line in page.context["lines"]]
    assert actions[-2:] == ["gate.waits", "fact.proposed"]
    assert "review.approved" in actions
    assert "asthma" not in page.content.decode()
    assert [action for _, action in _actions(client, "review", Review.objects.get().pk)] == actions


def test_the_trail_of_a_subject_holds_its_facts_conflicts_and_receipts(
    account: Account, client: Client, administrator
) -> None:
    ana = SubjectFactory(account=account)
    submit(ana, {"city": "Lisbon"})
    submit(ana, {"city": "Porto"})
    forgetting.disable(administrator, subject_id=ana.pk)
    submit(SubjectFactory(account=account), {"city": "Rome"})
    trail = set(_actions(client, "subject", ana.pk))
    assert {
        ("fact", "fact.proposed"),
        ("conflict_set", "conflict.opened"),
        ("forget_receipt", "forget.disable"),
    } <= trail
    assert len([kind for kind, action in _actions(client, "subject", ana.pk) if action == "fact.proposed"]) == 2
    assert ("conflict_set", "conflict.opened") in _actions(client, "conflict_set", ConflictSet.objects.get().pk)


def test_pages_of_records_lead_to_their_trail_for_who_may_read_the_chain(
    account: Account, client: Client, administrator
) -> None:
    fact, (key, _) = _asthma(account), api_key(account)
    receipt = forgetting.disable(administrator, fact_id=fact.pk)
    pages = {
        "fact": ("facts_fact", fact.pk),
        "api_key": ("governance_apikey", key.pk),
        "forget_receipt": ("governance_forgetreceipt", receipt.pk),
        "subject": ("facts_subject", fact.subject_id),
    }
    assert ForgetReceipt.objects.count() == 1
    for kind, (name, pk) in pages.items():
        page = client.get(reverse(f"admin:{name}_change", args=[pk])).content.decode()
        assert f'href="{reverse("admin:audit_trail", args=[kind, pk])}"' in page, kind
    sign_in(client, person_in(account))
    assert "Audit trail" not in client.get(reverse("admin:facts_fact_change", args=[fact.pk])).content.decode()
    assert client.get(reverse("admin:audit_trail", args=["fact", fact.pk])).status_code == 403


def test_nothing_is_told_of_another_account_or_of_what_does_not_exist(
    account: Account, client: Client, administrator
) -> None:
    other = AccountFactory()
    with entered(other):
        foreign = _asthma(other)
    assert _actions(client, "fact", foreign.pk) == _actions(client, "fact", unknown_id()) == []
    assert client.get(reverse("admin:audit_trail", args=["secret", foreign.pk])).status_code == 404


def test_a_trail_costs_the_same_however_long_it_is(account: Account, client: Client, administrator) -> None:
    ana = SubjectFactory(account=account)
    address = reverse("admin:audit_trail", args=["subject", ana.pk])

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    submit(ana, {"city": "Lisbon"})
    queries()
    few = queries()
    for city in ("Porto", "Rome", "Oslo"):
        submit(ana, {"city": city})
    assert queries() == few


@pytest.mark.django_db
def test_every_kind_is_one_and_those_with_pages_have_them() -> None:
    assert len(set(audit_trail.KINDS.values())) == len(audit_trail.KINDS)
    for kind in audit_trail.PAGES:
        assert reverse(audit_trail.page_of(kind), args=[unknown_id()])
