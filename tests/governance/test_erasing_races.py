"""Erasing a subject while a worker is in the middle of its messages leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from facts import audit, embedding
from facts.errors import Conflicting
from facts.locks import hold_subjects
from facts.models import Event, Fact, Passage, Subject
from facts.tenancy import account_transaction
from governance import erasing
from ingest import processing, reading
from ingest.line import Part
from ingest.models import CandidateOutcome, EventOutcome
from tests.factories import JANUARY, AccountFactory, key_principal, person_in
from tests.ingest.fakes import FakeExtractor, cities, tell

pytestmark = pytest.mark.django_db(transaction=True)

WAIT = 20


class Place:
    """An account in which one message waits to be processed, and whoever may erase there."""

    def __init__(self) -> None:
        self.account = AccountFactory()
        with account_transaction(self.account.id):
            self.app, self.curator = key_principal(self.account), person_in(self.account)
        self.event = tell(self.app, "i live in Zanzolin")
        with account_transaction(self.account.id):
            self.subject_id = Event.objects.get().subject_id

    def drain(self) -> Any:
        """Process what waits."""
        return processing.drain(Part(account_id=self.account.id), seconds=5)

    def erase(self) -> Any:
        """Erase the subject of the message."""
        return erasing.erase(self.curator, subject_id=self.subject_id)

    def left(self) -> tuple[Any, ...]:
        """Return what is left of the message and of its subject."""
        with account_transaction(self.account.id):
            assert list(audit.verify(self.account.id)) == []
            return (
                list(Event.objects.values_list("text", flat=True)),
                Passage.objects.count(),
                set(Fact.objects.values_list("status", "statement")),
                list(CandidateOutcome.objects.exclude(statement="", quote="")),
                set(EventOutcome.objects.values_list("result", flat=True)) & {"pending"},
            )


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return a new place; no vectors are made, whose space an earlier test may have left in memory only."""
    monkeypatch.setattr(embedding, "try_embed", lambda texts, **_: None)
    return Place()


def started(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Run a function in a thread with a connection of its own; returns the thread and where its result goes."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


def test_while_the_message_is_being_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    in_hand, go_on = threading.Event(), threading.Event()

    def answer(item: Any) -> Any:
        in_hand.set()
        assert go_on.wait(WAIT)
        return cities(item)

    monkeypatch.setattr(reading, "configured_extractor", lambda: FakeExtractor(answer))
    worker, done = started(place.drain)
    assert in_hand.wait(WAIT)
    receipt = place.erase()
    go_on.set()
    worker.join(WAIT)
    assert not isinstance(done[0], Exception)
    assert receipt.counters["stores"]["waiting_events"] == 1
    assert place.left() == ([""], 0, set(), [], set())


def test_while_a_conversation_of_another_is_being_read_in_which_the_subject_spoke(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_hand, go_on = threading.Event(), threading.Event()
    turns = [{"speaker": "ana", "content": "i drink Zanzolin"}, {"speaker": "bob", "content": "so do i"}]
    talk = tell(place.app, subject_id="bob", payload={"messages": turns})

    def answer(item: Any) -> Any:
        if not in_hand.is_set() and "Zanzolin" in item.text and "drink" in item.text:
            in_hand.set()
            assert go_on.wait(WAIT)
        return ()

    monkeypatch.setattr(reading, "configured_extractor", lambda: FakeExtractor(answer))
    worker, done = started(place.drain)
    assert in_hand.wait(WAIT)
    place.erase()
    go_on.set()
    worker.join(WAIT)
    assert not isinstance(done[0], Exception)
    place.drain()
    with account_transaction(place.account.id):
        assert Event.objects.get(pk=talk.pk).text == "[…]\n\nso do i"
        assert "Zanzolin" not in str(list(Passage.objects.values_list("text", flat=True)))
        assert Passage.objects.filter(text="so do i").exists()


def test_while_what_was_read_is_being_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    in_hand, go_on = threading.Event(), threading.Event()
    record = processing.outcomes.record

    def slowly(*args: Any, **kwargs: Any) -> None:
        record(*args, **kwargs)
        in_hand.set()
        assert go_on.wait(WAIT)

    monkeypatch.setattr(reading, "configured_extractor", lambda: FakeExtractor(cities))
    monkeypatch.setattr(processing.outcomes, "record", slowly)
    worker, done = started(place.drain)
    assert in_hand.wait(WAIT)
    eraser, erased = started(place.erase)
    eraser.join(0.3)
    assert eraser.is_alive()
    go_on.set()
    for thread in (worker, eraser):
        thread.join(WAIT)
    assert not isinstance(done[0], Exception)
    assert erased[0].counters["facts_deleted"] == 1
    assert place.left() == ([""], 0, {("deleted", "")}, [], set())


def test_two_erasures_at_the_same_moment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "configured_extractor", lambda: FakeExtractor(cities))
    tell(place.app, "i live in Marmelink", at=JANUARY)
    place.drain()
    threads = [started(place.erase) for _ in range(2)]
    for thread, _ in threads:
        thread.join(WAIT)
    counted = sorted(results[0].counters["facts_deleted"] for _, results in threads)
    assert counted == [0, 2]
    assert place.left() == (["", ""], 0, {("deleted", "")}, [], set())


def test_a_message_that_is_being_taken_in_goes_with_its_subject_or_finds_it_gone(place: Place) -> None:
    with account_transaction(place.account.id):
        tell(place.app, "i also live in Zanzolin")
        eraser, erased = started(place.erase)
        eraser.join(0.5)
        assert eraser.is_alive()  # it waits for what is being taken in
    eraser.join(WAIT)
    assert not isinstance(erased[0], Exception)
    assert place.left()[0] == ["", ""]
    with account_transaction(place.account.id):
        gone = Subject.objects.get(pk=place.subject_id)
        with pytest.raises(Conflicting) as refused:
            hold_subjects(place.account.id, {gone.id: "ana"})
        assert refused.value.code == "try_again"
    tell(place.app, "i live in Lyon")
    with account_transaction(place.account.id):
        assert Event.objects.get(text="i live in Lyon").subject_id != place.subject_id
