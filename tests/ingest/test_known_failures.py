"""What users of other memories met, as far as it can happen to messages here: the same inputs, read by the local rules.

``docs/failures.md`` lists all of them with the tests that show that they do not happen here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from facts.clock import now
from facts.models import Account, ConflictSet, Event, Evidence, Fact, Passage
from governance.access import Principal
from governance.models import Review
from ingest import outcomes, processing
from ingest.line import Part
from tests.factories import JANUARY, MARCH, MAY, AccountFactory, SubjectFactory, entered, key_principal
from tests.ingest.fakes import tell

Say = Callable[..., Event]


@pytest.fixture
def app(account: Account) -> Principal:
    return key_principal(account)


@pytest.fixture
def say(app: Principal) -> Say:
    """Return a function that takes a message of ana's in and processes it."""

    def take_in(text: str, **fields: Any) -> Event:
        event = tell(app, text, **fields)
        processing.drain(Part(account_id=app.account_id), seconds=5)
        return event

    return take_in


def current() -> set[str]:
    """Return what is served: current statements that nothing withholds."""
    return set(Fact.objects.filter(status="active", withheld="").values_list("statement", flat=True))


def test_two_names_are_never_two_silent_truths(say: Say) -> None:
    say("My name is Alex Chen.", at=MARCH)
    say("My name is Alexandra Chan.", at=MARCH + timedelta(days=1))
    assert ConflictSet.objects.get().status == "open"
    assert not any("Chen" in statement or "Chan" in statement for statement in current())


def test_what_an_assistant_recalls_is_no_evidence(say: Say, app: Principal) -> None:
    turns = [{"role": "assistant", "content": "As I recall you use Vim."}] * 5
    event = say("", payload={"messages": turns})
    assert (Fact.objects.count(), Review.objects.count()) == (0, 0)
    assert outcomes.find(app, event.id)[1].reason == "not_human_speech"


def test_praise_of_the_assistant_is_no_fact_about_its_author(say: Say) -> None:
    say("You are great at SQL.")
    assert Fact.objects.count() == 0


def test_a_change_of_one_thing_leaves_another_alone(say: Say) -> None:
    say("Billing uses Postgres.", at=MARCH)
    before = current()
    say("Search moved to MySQL.", at=MAY)
    assert before
    assert before <= current()
    assert not ConflictSet.objects.exists()


def test_a_shared_first_name_is_nobody(say: Say, account: Account) -> None:
    for name in ("Victor Hale", "Victor Braca"):
        SubjectFactory(account=account, key=name.lower().replace(" ", "."), name=name)
    say("Victor likes tea.")
    assert not Fact.objects.filter(subject__name__startswith="Victor").exists()
    assert all(kind == "unresolved_subject" for kind in Review.objects.values_list("kind", flat=True))


def test_old_messages_that_come_late_do_not_become_current(say: Say) -> None:
    say("I work at Globex now.", at=MAY)
    say("I work at Acme.", at=JANUARY)
    assert {statement for statement in current() if "Acme" in statement} == set()
    assert any("Globex" in statement for statement in current())


def test_nul_loses_neither_the_message_nor_its_neighbours(say: Say) -> None:
    event = say("hello\u0000world", thread="th\u0000read")
    assert Passage.objects.get(event_id=event.id).text == "hello world"
    assert any("Lyon" in one for one in current() | _after(say))


def _after(say: Say) -> set[str]:
    say("I live in Lyon.", at=MAY)
    return current()


def test_repeating_oneself_is_one_fact(say: Say) -> None:
    for day in range(4):
        say("I live in Rome.", at=MARCH + timedelta(days=day))
    fact = Fact.objects.get()
    assert (fact.status, Evidence.objects.filter(fact=fact).count()) == ("active", 4)


def test_a_message_from_a_clock_ahead_does_not_rule(say: Say) -> None:
    ahead = now() + timedelta(hours=2)
    say("I live in Rome.", at=ahead)
    say("I live in Oslo.", at=now())
    assert len([statement for statement in current() if "Rome" in statement or "Oslo" in statement]) <= 1


def test_another_account_saying_the_same_shares_nothing(say: Say, account: Account) -> None:
    say("I live in Rome.")
    with entered(other := AccountFactory()):
        tell(key_principal(other), "I live in Oslo.")
        assert not Fact.objects.exists()
    assert {fact.account_id for fact in Fact.objects.all()} == {account.id}
