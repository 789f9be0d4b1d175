"""What the worker does for reading: one account, or one step, stops no other."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from facts import reindexing
from facts.isolation import Incomplete
from facts.models import Account
from retrieval import tasks, vectors
from retrieval.cards import rebuilding as card_rebuilding
from retrieval.entities import proposing
from retrieval.entities import rebuilding as entity_rebuilding
from retrieval.text import common_lexemes
from tests.factories import AccountFactory

pytestmark = pytest.mark.django_db

#: What goes through all accounts, with the function that does it for one.
WORKS: list[tuple[Callable[[], Any], Any, str]] = [
    (lambda: reindexing.reindex_pending(most=10), reindexing, "reindex"),
    (common_lexemes.refresh_all, common_lexemes, "refresh"),
    (entity_rebuilding.keep_all, entity_rebuilding, "keep"),
    (proposing.propose_all, proposing, "propose"),
]
#: Each task with its steps.
TASKS: list[tuple[Callable[[], None], list[tuple[Any, str]]]] = [
    (
        tasks.keep_indexes,
        [(reindexing, "reindex_pending"), (vectors, "fill_missing_everywhere"), (common_lexemes, "refresh_all")],
    ),
    (tasks.keep_names, [(entity_rebuilding, "keep_all"), (proposing, "propose_all")]),
    (tasks.keep_cards, [(tasks.outbox, "deliver_everywhere"), (card_rebuilding, "rebuild_everywhere")]),
]


@pytest.mark.parametrize(("work", "module", "name"), WORKS, ids=[name for _, _, name in WORKS])
def test_an_account_that_fails_stops_no_other(
    work: Callable[[], Any], module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = sorted(AccountFactory().pk for _ in range(3))
    Account.objects.update(text_version="1")
    seen = []

    def one(account_id: uuid.UUID, **options: Any) -> int:
        seen.append(account_id)
        if account_id == second:
            raise ValueError("cannot")
        return 1

    monkeypatch.setattr(module, name, one)
    with pytest.raises(Incomplete, match=str(second)):
        work()
    assert seen == [first, second, third]


@pytest.mark.parametrize(("task", "steps"), TASKS, ids=[task.__name__ for task, _ in TASKS])
def test_a_step_that_fails_stops_no_later_one(
    task: Callable[[], None], steps: list[tuple[Any, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for module, name in steps:

        def fail(name: str = name, **options: Any) -> None:
            seen.append(name)
            raise ValueError("cannot")

        monkeypatch.setattr(module, name, fail)
    with pytest.raises(Incomplete):
        task()
    assert seen == [name for _, name in steps]
