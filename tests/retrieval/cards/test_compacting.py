"""Compaction: what a model is shown, what of its answer is kept, and what is served of it to whom."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from facts import lifecycle, outbox
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, Fact, Identity, Subject
from facts.vocabulary import Category, Sensitivity, Status, SubjectKind
from retrieval.cards import compacting, composing, rebuilding
from retrieval.cards.compacting import Outcome
from retrieval.cards.composing import ComposeFailed, Proposed, Task
from retrieval.models import Card, CardKind, CardVersion
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.cards.conftest import Work, shared

Answer = Callable[[Task], Sequence[Proposed]]


@dataclass
class Scripted:
    """A composer that answers by a function, and remembers what it was asked."""

    answer: Answer
    asked: list[Task] = field(default_factory=list)
    identity: str = "scripted:test:1"

    def compose(self, *, account_id: uuid.UUID, task: Task) -> Sequence[Proposed]:
        """Answer."""
        self.asked.append(task)
        return self.answer(task)


def sum_up(task: Task) -> list[Proposed]:
    """One line for each fact and each previous line, in other words than theirs."""
    before = [Proposed(section=line.section, text=line.text, numbers=line.numbers) for line in task.previous]
    section = task.sections[1] if task.sections else ""
    words = [
        Proposed(section=section, text=f"In short: {fact.text.split(' (')[0]}", numbers=(fact.number,))
        for fact in task.facts
    ]
    return [*before, *words]


@pytest.fixture
def composer() -> Iterator[Scripted]:
    scripted = Scripted(sum_up)
    composing.register(lambda: scripted)
    yield scripted
    composing.register(None)


def profile() -> Card:
    return Card.objects.get(kind=CardKind.SUBJECT_PROFILE)


def texts_of(card: Card) -> list[str]:
    card.refresh_from_db()
    return [line["text"] for line in card.lines]


def end(fact: Fact, to: str = Status.SUPERSEDED) -> None:
    lifecycle.transition(fact.id, account_id=fact.account_id, to=to, actor=pipeline(), action="fact.changed")


def test_without_a_model_a_profile_quotes_facts_under_its_sections(account: Account, ana: Subject, work: Work) -> None:
    composing.register(None)
    for statement, category in [
        ("Ana leads Atlas.", Category.GENERAL),
        ("Ana will send the plan by Friday.", Category.COMMITMENT),
        ("Ana is blocked by the vendor.", Category.BLOCKER),
        ("Ana took the desk over from Ben.", Category.HANDOFF),
    ]:
        FactFactory(subject=ana, statement=statement, category=category, valid_from=None)
    FactFactory(subject=ana, statement="Ana likes short mails.", kind="preference", valid_from=None)
    work()
    assert compacting.compact(account.id, profile().id) is Outcome.BUILT
    assert {line["text"]: line["section"] for line in profile().lines} == {
        "Ana leads Atlas.": "Role & Responsibilities",
        "Ana will send the plan by Friday.": "Current Focus",
        "Ana likes short mails.": "Patterns",
        "Ana is blocked by the vendor.": "Risks",
        "Ana took the desk over from Ben.": "Key Relationships",
    }
    assert not profile().compact_due


def test_a_model_is_shown_the_facts_once_by_names_and_oldest_first(
    account: Account, ana: Subject, work: Work, composer: Scripted
) -> None:
    Identity.objects.create(account=account, subject=ana, platform="slack", value="U0ANA777")
    for statement in ["<@U0ANA777> leads Atlas.", "Ana leads Atlas.", "U0ANA777 met U0NOBODY1.", "Ana is\u202e busy."]:
        FactFactory(subject=ana, statement=statement, valid_from=None)
    FactFactory(subject=ana, statement="Ana is ill.", sensitivity=Sensitivity.RESTRICTED)
    work()
    assert compacting.compact(account.id, profile().id) is Outcome.COMPOSED
    (task,) = composer.asked
    assert [fact.text for fact in task.facts] == ["Ana leads Atlas.", "Ana met U0NOBODY1.", "Ana is busy."]
    assert (task.title, task.previous, task.kind) == ("Ana", (), CardKind.SUBJECT_PROFILE)
    card = profile()
    assert texts_of(card) == ["In short: Ana leads Atlas.", "In short: Ana met U0NOBODY1.", "In short: Ana is busy."]
    assert (card.builder, card.compact_due, card.compactions) == ("scripted:test:1", False, 0)
    assert all(line["composed"] and line["section"] == "Current Focus" for line in card.lines)


def test_no_more_than_fifty_facts_are_shown(account: Account, ana: Subject, work: Work, composer: Scripted) -> None:
    for number in range(60):
        FactFactory(subject=ana, statement=f"Ana closed ticket {number}.", valid_from=None)
    work()
    compacting.compact(account.id, profile().id)
    (task,) = composer.asked
    assert [fact.text for fact in task.facts] == [f"Ana closed ticket {number}." for number in range(10, 60)]
    assert sum(len(text) + 1 for text in texts_of(profile())) <= 1_000


def test_then_only_what_is_new_is_shown_until_all_is_again(
    account: Account, ana: Subject, work: Work, composer: Scripted, settings
) -> None:
    settings.SUMMARY_WHOLE_EVERY = 2
    FactFactory(subject=ana, statement="Ana leads Atlas.", valid_from=None)
    for number in range(4):
        FactFactory(subject=ana, statement=f"Ana closed ticket {number}.", valid_from=None)
        work()
        if number:
            compacting.compact(account.id, profile().id)
    compacting.compact(account.id, profile().id)
    assert [(len(task.previous), [fact.text for fact in task.facts]) for task in composer.asked] == [
        (0, ["Ana leads Atlas.", "Ana closed ticket 0.", "Ana closed ticket 1."]),
        (3, ["Ana closed ticket 2."]),
        (4, ["Ana closed ticket 3."]),
    ]
    FactFactory(subject=ana, statement="Ana closed ticket 4.", valid_from=None)
    work()
    compacting.compact(account.id, profile().id)
    assert (composer.asked[-1].previous, len(composer.asked[-1].facts)) == ((), 6)
    assert profile().compactions == 0


def test_during_the_day_new_facts_are_quoted_and_what_left_is_said_no_more(
    account: Account, ana: Subject, work: Work, composer: Scripted
) -> None:
    facts = [
        FactFactory(subject=ana, statement=f"Ana leads {name}.", valid_from=None)
        for name in ("Atlas", "Borealis", "Cirrus")
    ]
    work()
    compacting.compact(account.id, profile().id)
    end(facts[0])
    FactFactory(subject=ana, statement="Ana is on leave.", valid_from=None)
    work()
    card = profile()
    assert texts_of(card) == ["In short: Ana leads Borealis.", "In short: Ana leads Cirrus.", "Ana is on leave."]
    assert card.compact_due
    assert card.builder == "scripted:test:1"
    for fact in facts[1:]:
        end(fact)
    FactFactory(subject=ana, statement="Ana sells tea.", valid_from=None)
    work()
    assert sorted(texts_of(card)) == ["Ana is on leave.", "Ana sells tea."]
    assert card.builder == rebuilding.BUILDER


def test_a_model_that_fails_leaves_the_card_as_it_was(
    account: Account, ana: Subject, work: Work, composer: Scripted
) -> None:
    for name in ("Atlas", "Borealis"):
        FactFactory(subject=ana, statement=f"Ana leads {name}.", valid_from=None)
    work()
    before = texts_of(profile())

    def fails(task: Task) -> list[Proposed]:
        raise ComposeFailed("provider_timeout", everywhere=True)

    def invents(task: Task) -> list[Proposed]:
        return [Proposed(section="Risks", text="Ana will resign.", numbers=(99,))]

    for answer, error_class in ((fails, "provider_timeout"), (invents, "unsupported_lines")):
        composer.answer = answer
        with pytest.raises(ComposeFailed) as failure:
            compacting.compact(account.id, profile().id)
        assert failure.value.error_class == error_class
        assert (texts_of(profile()), profile().compact_due) == (before, True)


def test_what_changed_while_the_model_thought_is_not_said(
    account: Account, ana: Subject, work: Work, composer: Scripted
) -> None:
    facts = [FactFactory(subject=ana, statement=f"Ana leads {name}.", valid_from=None) for name in ("Atlas", "Borea")]
    work()

    def slowly(task: Task) -> list[Proposed]:
        end(facts[0], Status.RETRACTED)
        FactFactory(subject=ana, statement="Ana sells tea.", valid_from=None)
        outbox.deliver(account.id)
        return sum_up(task)

    composer.answer = slowly
    assert compacting.compact(account.id, profile().id) is Outcome.COMPOSED
    assert texts_of(profile()) == ["In short: Ana leads Borea.", "Ana sells tea."]
    assert profile().compact_due
    assert work() > 0
    assert texts_of(profile()) == ["In short: Ana leads Borea.", "Ana sells tea."]


def test_a_shared_profile_says_only_what_every_reader_of_the_scope_may_see(
    account: Account, ana: Subject, work: Work, composer: Scripted
) -> None:
    client = SubjectFactory(account=account, kind=SubjectKind.CLIENT, key="acme", name="Acme")
    for name in ("Atlas", "Borealis"):
        shared(ana, f"Ana leads {name}.", valid_from=None)
        shared(client, f"Acme buys {name}.", valid_from=None)
    FactFactory(subject=ana, statement="Ana is in debt.", valid_from=None)
    shared(ana, "Ana may leave.", status=Status.PROVISIONAL, valid_from=None)
    work()
    for card in Card.objects.filter(kind=CardKind.SHARED_PROFILE):
        compacting.compact(account.id, card.id)
    assert {(task.title, tuple(fact.text for fact in task.facts)) for task in composer.asked} == {
        ("Ana", ("Ana leads Atlas.", "Ana leads Borealis.")),
        ("Acme", ("Acme buys Atlas.", "Acme buys Borealis.")),
    }
    assert not Card.objects.filter(kind=CardKind.SUBJECT_PROFILE, subject=client).exists()


def test_each_change_of_lines_is_a_version(account: Account, ana: Subject, work: Work, composer: Scripted) -> None:
    facts = [FactFactory(subject=ana, statement=f"Ana leads {name}.", valid_from=None) for name in ("Atlas", "Borea")]
    work()
    compacting.compact(account.id, profile().id)
    found = CardVersion.objects.filter(card=profile())
    assert [(row.number, row.change, len(row.lines)) for row in found] == [(2, "compacted", 2), (1, "built", 2)]
    end(facts[0], Status.REDACTED)
    outbox.deliver(account.id)
    assert "Atlas" not in str(list(CardVersion.objects.values_list("lines", flat=True)))


def test_time_alone_takes_a_composed_line_away(
    account: Account, ana: Subject, work: Work, composer: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = now() + timedelta(hours=1)
    for name in ("Atlas", "Borealis"):
        FactFactory(subject=ana, statement=f"Ana leads {name}.", valid_from=None)
    FactFactory(subject=ana, statement="Ana is on leave.", valid_from=None, valid_to=soon)
    work()
    compacting.compact(account.id, profile().id)
    assert profile().due_at == soon
    monkeypatch.setattr(rebuilding, "now", lambda: soon + timedelta(seconds=1))
    rebuilding.rebuild_due(account.id)
    assert texts_of(profile()) == ["In short: Ana leads Atlas.", "In short: Ana leads Borealis."]
