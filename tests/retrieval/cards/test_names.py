from __future__ import annotations

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, Subject
from facts.vocabulary import Status
from retrieval.cards import marking
from retrieval.entities import rebuilding as entity_rebuilding
from retrieval.models import Card, CardKind
from tests.factories import FactFactory
from tests.retrieval.cards.conftest import Work, shared


def _learn(account: Account, work: Work) -> None:
    """What the worker does: names first, then cards."""
    entity_rebuilding.keep(account.id, changed=marking.mark_scopes)
    work()


def _named(account: Account) -> dict[str, list[str]]:
    cards = Card.objects.filter(account_id=account.id, kind=CardKind.ENTITY_CARD).order_by("-sources", "key")
    return {card.title: [line["text"] for line in card.lines] for card in cards}


def test_facts_that_share_a_name_make_a_card_about_it(account: Account, ana: Subject, work: Work) -> None:
    shared(ana, "The release of Atlas is late.", valid_from=None)
    shared(ana, "We sold Atlas to a bank.", valid_from=None)
    shared(ana, "The team of Borealis is small.", valid_from=None)
    FactFactory(subject=ana, statement="She dreams about Atlas.", valid_from=None)
    _learn(account, work)
    assert _named(account) == {"Atlas": ["The release of Atlas is late.", "We sold Atlas to a bank."]}
    card = Card.objects.get(kind=CardKind.ENTITY_CARD)
    assert (card.key, card.subject, card.scope.path, card.sources, card.due_at) == ("atlas", None, "/support", 2, None)


def test_a_name_that_too_few_facts_share_has_no_card_any_more(account: Account, ana: Subject, work: Work) -> None:
    facts = [shared(ana, f"The {what} of Atlas is late.", valid_from=None) for what in ("release", "launch")]
    shared(ana, "The weather is fine.")
    _learn(account, work)
    assert list(_named(account)) == ["Atlas"]
    lifecycle.transition(
        facts[0].id, account_id=account.id, to=Status.SUPERSEDED, actor=pipeline(), action="fact.superseded"
    )
    _learn(account, work)
    assert _named(account) == {}


def test_a_card_about_a_name_goes_as_a_whole_with_a_forgotten_fact(account: Account, ana: Subject, work: Work) -> None:
    facts = [shared(ana, f"The {what} of Atlas is late.", valid_from=None) for what in ("release", "launch", "sale")]
    _learn(account, work)
    marking.forget_facts(account.id, [facts[0].id])
    assert _named(account) == {}
    assert Card.objects.get(kind=CardKind.SCOPE_CARD).due_at <= now()
    work()
    assert {title: len(lines) for title, lines in _named(account).items()} == {"Atlas": 3}


def test_a_scope_has_at_most_eight_cards_about_names(account: Account, ana: Subject, work: Work) -> None:
    for number in range(10):
        for what in ("release", "launch"):
            shared(ana, f"The {what} of Project{number} is late.", valid_from=None)
    _learn(account, work)
    assert len(_named(account)) == 8
