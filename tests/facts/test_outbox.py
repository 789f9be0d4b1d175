from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from django.db import connection

from facts import outbox
from facts.clock import now
from facts.ids import new_id
from facts.models import Account, OutboxEntry
from facts.tenancy import account_transaction
from tests.factories import AccountFactory


class Listener:
    """Remembers what it is told; raises when it is told to."""

    def __init__(self) -> None:
        self.told: list[tuple[uuid.UUID, list[uuid.UUID]]] = []
        self.fails = False

    def __call__(self, account_id: uuid.UUID, entries: Sequence[OutboxEntry]) -> None:
        if self.fails:
            raise RuntimeError("not now")
        self.told.append((account_id, [entry.object_id for entry in entries]))


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """The only handler there is."""
    made = Listener()
    monkeypatch.setattr(outbox, "_handlers", {"test": made})
    return made


def _publish(account: Account, count: int = 1) -> list[uuid.UUID]:
    ids = [new_id() for _ in range(count)]
    with account_transaction(account.id):
        for object_id in ids:
            outbox.publish(account.id, topic="test", object_id=object_id)
    return ids


def test_each_entry_is_told_once_and_in_order(account: Account, listener: Listener) -> None:
    ids = _publish(account, 3)
    assert outbox.deliver(account.id) == 3
    assert outbox.deliver(account.id) == 0
    assert listener.told == [(account.id, ids)]


def test_big_amounts_are_told_in_batches(account: Account, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "BATCH", 2)
    monkeypatch.setattr(outbox, "BATCHES", 2)
    ids = _publish(account, 5)
    assert outbox.deliver(account.id) == 4
    assert outbox.deliver(account.id) == 1
    assert [told for _, told in listener.told] == [ids[:2], ids[2:4], ids[4:]]


@pytest.mark.django_db(transaction=True)
def test_what_fails_is_told_again_and_stops_no_other_account(listener: Listener) -> None:
    first, second = AccountFactory(), AccountFactory()
    ids = _publish(first)
    listener.fails = True
    assert outbox.deliver_everywhere() == 0
    listener.fails = False
    others = _publish(second)
    assert outbox.deliver_everywhere() == 2
    assert sorted(listener.told) == sorted([(first.id, ids), (second.id, others)])


@pytest.mark.django_db(transaction=True)
def test_two_deliveries_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    account = AccountFactory()
    ids = _publish(account)
    told: list[uuid.UUID] = []
    inside, go_on = threading.Event(), threading.Event()

    def slow(account_id: uuid.UUID, entries: Sequence[OutboxEntry]) -> None:
        told.extend(entry.object_id for entry in entries)
        inside.set()
        go_on.wait(10)

    def first() -> None:
        outbox.deliver(account.id)
        connection.close()

    monkeypatch.setattr(outbox, "_handlers", {"test": slow})
    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    assert outbox.deliver(account.id) == 0
    go_on.set()
    thread.join()
    assert told == ids


def test_delivered_entries_leave_after_a_while(account: Account, listener: Listener) -> None:
    old, fresh = _publish(account, 2)
    outbox.deliver(account.id)
    waiting = _publish(account)[0]
    OutboxEntry.objects.filter(object_id=old).update(delivered_at=now() - outbox.KEPT - timedelta(seconds=1))
    assert outbox.prune_everywhere() == 1
    assert set(OutboxEntry.objects.values_list("object_id", flat=True)) == {fresh, waiting}
