"""Cards in tests: made as the worker makes them."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from facts import outbox
from facts.models import Account, Fact, Subject
from facts.vocabulary import Level, Sensitivity
from retrieval.cards import rebuilding
from retrieval.models import Card
from tests.factories import FactFactory

Work = Callable[[], int]


@pytest.fixture
def work(account: Account) -> Work:
    """What the worker does each minute for the account; returns how many cards it looked at."""

    def worked() -> int:
        outbox.deliver(account.id)
        return rebuilding.rebuild_due(account.id)

    return worked


def shared(subject: Subject, statement: str, **fields: object) -> Fact:
    """A fact that every reader of its scope may see."""
    return FactFactory(
        subject=subject, statement=statement, sensitivity=Sensitivity.INTERNAL, level=Level.SCOPE, **fields
    )


def texts(account_id: uuid.UUID, kind: str, **where: object) -> list[list[str]]:
    """What the stored cards of a kind say."""
    found = Card.objects.filter(account_id=account_id, kind=kind, **where).exclude(builder="").order_by("key", "id")
    return [[line["text"] for line in card.lines] for card in found]
