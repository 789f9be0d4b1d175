"""The pages of cards: whose cards are listed, and which of their lines are shown."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts import outbox
from facts.models import Account, Fact, Subject
from facts.vocabulary import Level, Sensitivity, Status
from governance.models import Role
from retrieval.cards import rebuilding
from retrieval.models import Card, CardKind
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import FactFactory, SubjectFactory, maker_of, person_in

LIST = "admin:retrieval_card_changelist"


@pytest.fixture
def ana(account: Account) -> Subject:
    return SubjectFactory(account=account, key="ana", name="Ana Lima")


@pytest.fixture
def cards(account: Account, ana: Subject) -> dict[str, Card]:
    """A profile of Ana with a personal line, and the card of her scope."""
    shared = {"sensitivity": Sensitivity.INTERNAL, "level": Level.SCOPE}
    FactFactory(subject=ana, statement="Ana leads Atlas.", **shared)
    FactFactory(subject=ana, statement=f"Ana said {HOSTILE[:100]}", valid_from=None, **shared)
    FactFactory(subject=ana, statement="Ana likes tea.")
    outbox.deliver(account.id)
    rebuilding.rebuild_due(account.id)
    return {card.kind: card for card in Card.objects.all()}


def _page(card: Card) -> str:
    return reverse("admin:retrieval_card_change", args=[card.pk])


def test_a_curator_sees_every_line_with_its_fact(client: Client, account: Account, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(account))
    assert client.get(reverse(LIST)).content.decode().count("/change/") >= 2
    body = client.get(_page(cards[CardKind.SUBJECT_PROFILE])).content.decode()
    assert "Ana likes tea. (2025-03-10)" in body
    assert "Ana Lima</bdi> alone" in body
    assert reverse("admin:facts_fact_change", args=[Fact.objects.get(statement="Ana likes tea.").pk]) in body
    assert "&lt;script&gt;" in body
    assert "<script>document" not in body


def test_a_reader_sees_no_card_but_their_own(client: Client, account: Account, cards: dict[str, Card]) -> None:
    reader = person_in(account, role=Role.READER)
    sign_in(client, reader)
    assert "/change/" not in client.get(reverse(LIST)).content.decode().split("<tbody", 1)[-1]
    for card in cards.values():
        assert client.get(_page(card)).status_code == 404
        assert client.post(reverse("admin:card_rebuild", args=[card.pk])).status_code == 404
    Card.objects.filter(pk=cards[CardKind.SUBJECT_PROFILE].pk).update(subject=maker_of(reader).subject)
    body = client.get(_page(cards[CardKind.SUBJECT_PROFILE])).content.decode()
    assert ("Ana leads Atlas." in body, "Ana likes tea." in body, "Build anew" in body) == (True, False, False)
    assert client.post(reverse("admin:card_rebuild", args=[cards[CardKind.SUBJECT_PROFILE].pk])).status_code == 403


def test_a_line_whose_fact_is_gone_is_not_shown(client: Client, account: Account, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(account))
    Fact.objects.filter(statement="Ana likes tea.").update(status=Status.DISABLED)
    Fact.objects.filter(statement="Ana leads Atlas.").update(withheld="conflict_open")
    body = client.get(_page(cards[CardKind.SUBJECT_PROFILE])).content.decode()
    assert "Ana likes tea." not in body
    assert "Ana leads Atlas." not in body
    assert body.count("not for you to read, or not true any more") == 2


def test_a_card_is_built_anew(client: Client, account: Account, ana: Subject, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(account))
    FactFactory(subject=ana, statement="Ana rides a bicycle.")
    card = cards[CardKind.SUBJECT_PROFILE]
    answer = client.post(reverse("admin:card_rebuild", args=[card.pk]), follow=True)
    assert "Built anew." in answer.content.decode()
    assert "Ana rides a bicycle." in answer.content.decode()
    Fact.objects.update(status=Status.SUPERSEDED)
    answer = client.post(reverse("admin:card_rebuild", args=[card.pk]), follow=True)
    assert "the card is gone" in answer.content.decode()
    assert not Card.objects.filter(pk=card.pk).exists()


def test_a_card_about_a_name_is_called_so_only_while_a_line_says_it(
    client: Client, account: Account, ana: Subject
) -> None:
    sign_in(client, person_in(account))
    fact = FactFactory(subject=ana, statement="Nightfall is late.", sensitivity=Sensitivity.INTERNAL)
    lines = [{"text": "Nightfall is late.", "facts": [str(fact.id)], "edited": False}]
    named = {"kind": CardKind.ENTITY_CARD, "key": "nightfall", "title": "Nightfall", "builder": "extractive-2"}
    card = Card.objects.create(account=account, scope=fact.scope, lines=lines, sensitivity="internal", **named)
    assert "Nightfall" in client.get(_page(card)).content.decode()
    Fact.objects.update(status=Status.REDACTED)
    for address in (_page(card), reverse(LIST)):
        assert "Nightfall" not in client.get(address).content.decode()


def test_a_role_elsewhere_shows_no_card(client: Client, account: Account, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN, path="/sales"))
    assert client.get(_page(cards[CardKind.SCOPE_CARD])).status_code == 404
