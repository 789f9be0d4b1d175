"""The pages of cards: whose cards are listed, and which of their lines are shown."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts import lifecycle, outbox
from facts.actors import pipeline
from facts.models import Account, Fact, Job, Subject
from facts.vocabulary import Level, Sensitivity, Status
from governance.models import Role
from retrieval.cards import editing, nightly, rebuilding
from retrieval.models import Card, CardEdit, CardKind
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


def _post(client: Client, card: Card, name: str, **fields: str) -> str:
    return client.post(reverse(f"admin:card_{name}", args=[card.pk]), fields, follow=True).content.decode()


def _named(card: Card, start: str) -> str:
    card.refresh_from_db()
    return editing.name_of(next(line for line in card.lines if line["text"].startswith(start)))


def test_a_curator_decides_about_lines_and_takes_it_back(client: Client, cards: dict[str, Card]) -> None:
    curator = person_in(cards[CardKind.SCOPE_CARD].account)
    sign_in(client, curator)
    card = cards[CardKind.SUBJECT_PROFILE]
    body = _post(client, card, "line", line=_named(card, "Ana likes tea."), decision="reword", text=HOSTILE[:200])
    assert "Done." in body
    assert "<script>document" not in body
    assert '<span class="chip">edited</span>' in body
    assert "Role &amp; Responsibilities" in body
    body = _post(client, card, "line", line=_named(card, "Ana leads Atlas."), decision="remove")
    assert "<del>" in body
    assert [line["edited"] for line in Card.objects.get(pk=card.pk).lines] == [True, False]
    Fact.objects.filter(statement="Ana likes tea.").update(version=9)
    assert "a fact has changed since" in client.get(_page(card)).content.decode()
    for edit in CardEdit.objects.all():
        assert "Taken back." in _post(client, card, "undo", edit=str(edit.pk))
    assert "no such decision" in _post(client, card, "undo", edit=str(edit.pk))
    texts = [line["text"] for line in Card.objects.get(pk=card.pk).lines]
    assert sum(text.startswith(("Ana leads Atlas.", "Ana likes tea.")) for text in texts) == 2
    history = client.get(_page(card)).content.decode().split("What it said before")[1]
    assert history.count(", undone by ") == 2
    assert "<ins>" in history


def test_what_is_no_longer_supported_is_said_to_its_editor(client: Client, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(cards[CardKind.SCOPE_CARD].account))
    card = cards[CardKind.SUBJECT_PROFILE]
    _post(client, card, "line", line=_named(card, "Ana likes tea."), decision="reword", text="Ana drinks tea.")
    fact = Fact.objects.get(statement="Ana likes tea.")
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.SUPERSEDED, actor=pipeline(), action="fact.superseded"
    )
    rebuilding.rebuild(card.account_id, card.pk)
    body = client.get(_page(card)).content.decode()
    assert "no longer supported" in body
    assert "Ana drinks tea." in body
    assert "Ana drinks tea." not in body.split("What people decided")[0]
    Fact.objects.filter(pk=fact.pk).update(status=Status.REDACTED)
    assert "Ana drinks tea." not in client.get(_page(card)).content.decode()


def test_the_subject_of_a_profile_decides_about_its_own_and_no_other_card(
    client: Client, account: Account, cards: dict[str, Card]
) -> None:
    reader = person_in(account, role=Role.READER)
    sign_in(client, reader)
    card = cards[CardKind.SUBJECT_PROFILE]
    name = _named(card, "Ana leads Atlas.")
    refused = client.post(reverse("admin:card_line", args=[card.pk]), {"line": name, "decision": "pin"})
    assert refused.status_code == 404
    Card.objects.filter(pk=card.pk).update(subject=maker_of(reader).subject)
    assert "Change this line" in client.get(_page(card)).content.decode()
    # a line that is not shown to them is not theirs to decide about
    hidden = client.post(
        reverse("admin:card_line", args=[card.pk]), {"line": _named(card, "Ana likes"), "decision": "pin"}
    )
    assert hidden.status_code == 403
    for address, fields in (("line", {"line": name, "decision": "no"}), ("undo", {"edit": "x"}), ("compact", {})):
        assert client.post(reverse(f"admin:card_{address}", args=[card.pk]), fields).status_code == 403
    shared = cards[CardKind.SHARED_PROFILE]
    assert client.post(reverse("admin:card_line", args=[shared.pk]), {"line": name}).status_code == 404
    assert not CardEdit.objects.exists()


def test_a_decision_about_what_changed_meanwhile_is_refused(client: Client, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(cards[CardKind.SCOPE_CARD].account))
    card = cards[CardKind.SUBJECT_PROFILE]
    assert "says something else by now" in _post(client, card, "line", line="0" * 16, decision="pin")
    name = _named(card, "Ana likes tea.")
    assert "1 to 300 characters" in _post(client, card, "line", line=name, decision="reword", text=" ")


def test_a_card_is_summed_up_when_asked(client: Client, cards: dict[str, Card]) -> None:
    sign_in(client, person_in(cards[CardKind.SCOPE_CARD].account))
    card = cards[CardKind.SUBJECT_PROFILE]
    assert "The worker sums it up" in _post(client, card, "compact")
    (job,) = Job.objects.filter(kind=nightly.ONE)
    nightly.run_one(card.account_id, job.pk)
    card.refresh_from_db()
    assert card.compacted_at is not None
    assert not card.compact_due
