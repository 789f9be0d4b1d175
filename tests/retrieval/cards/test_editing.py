"""People and the lines of cards: what they decide stays, vanishes with its facts, and can be taken back."""

from __future__ import annotations

import uuid

import pytest

from facts import lifecycle, outbox
from facts.actors import pipeline
from facts.errors import Conflicting, DomainError, NotFound
from facts.models import Account, AuditEntry, Fact, Subject
from facts.vocabulary import Status
from governance import forgetting
from governance.access import Principal
from retrieval.cards import compacting, composing, editing, rebuilding
from retrieval.models import Card, CardEdit, CardKind, CardVersion
from tests.factories import FactFactory, person_in
from tests.retrieval.cards.conftest import Work
from tests.retrieval.cards.test_compacting import Scripted, sum_up


@pytest.fixture
def facts(account: Account, ana: Subject, work: Work) -> list[Fact]:
    made = [
        FactFactory(subject=ana, statement=f"Ana leads {name}.", valid_from=None)
        for name in ("Atlas", "Borealis", "Cirrus")
    ]
    work()
    return made


@pytest.fixture
def curator(account: Account) -> Principal:
    return person_in(account)


def profile() -> Card:
    return Card.objects.get(kind=CardKind.SUBJECT_PROFILE)


def texts() -> list[str]:
    return [line["text"] for line in profile().lines]


def line(text: str) -> str:
    return editing.name_of(next(stored for stored in profile().lines if stored["text"] == text))


def end(fact: Fact, to: str = Status.SUPERSEDED) -> None:
    lifecycle.transition(fact.id, account_id=fact.account_id, to=to, actor=pipeline(), action="fact.changed")


def test_a_reworded_line_stays_through_every_build(
    account: Account, ana: Subject, facts: list[Fact], curator: Principal, work: Work
) -> None:
    editing.reword(profile(), line("Ana leads Atlas."), " Ana\n heads\u202e Atlas. ", actor=curator.actor)
    assert texts() == ["Ana heads Atlas.", "Ana leads Borealis.", "Ana leads Cirrus."]
    FactFactory(subject=ana, statement="Ana likes tea.", valid_from=None)
    work()
    rebuilding.rebuild(account.id, profile().id)
    assert texts() == ["Ana heads Atlas.", "Ana leads Borealis.", "Ana leads Cirrus.", "Ana likes tea."]
    stored = profile().lines[0]
    assert (stored["edited"], stored["facts"], stored["section"]) == (
        True,
        [str(facts[0].id)],
        "Role & Responsibilities",
    )
    edit = CardEdit.objects.get()
    assert (edit.kind, edit.original["text"], edit.made_by_id) == (
        "reworded",
        "Ana leads Atlas.",
        curator.membership_id,
    )
    assert edit.facts == {str(facts[0].id): facts[0].version}
    version = CardVersion.objects.filter(change="edited").get()
    assert version.made_by_id == curator.membership_id


def test_what_people_decided_goes_before_what_a_model_words(
    account: Account, ana: Subject, facts: list[Fact], curator: Principal, work: Work
) -> None:
    editing.reword(profile(), line("Ana leads Atlas."), "Ana heads Atlas.", actor=curator.actor)
    editing.remove(profile(), line("Ana leads Borealis."), actor=curator.actor)
    FactFactory(subject=ana, statement="Ana likes tea.", valid_from=None)
    work()
    scripted = Scripted(sum_up)
    composing.register(lambda: scripted)
    try:
        compacting.compact(account.id, profile().id)
    finally:
        composing.register(None)
    assert [fact.text for fact in scripted.asked[0].facts] == ["Ana leads Cirrus.", "Ana likes tea."]
    assert texts() == ["Ana heads Atlas.", "In short: Ana leads Cirrus.", "In short: Ana likes tea."]


def test_a_decision_is_taken_back_and_the_one_before_counts_again(facts: list[Fact], curator: Principal) -> None:
    editing.reword(profile(), line("Ana leads Atlas."), "Ana heads Atlas.", actor=curator.actor)
    second = editing.reword(profile(), line("Ana heads Atlas."), "Ana runs Atlas.", actor=curator.actor)
    assert texts()[0] == "Ana runs Atlas."
    removed = editing.remove(profile(), line("Ana runs Atlas."), actor=curator.actor)
    assert texts() == ["Ana leads Borealis.", "Ana leads Cirrus."]
    for edit, first in ((removed, "Ana runs Atlas."), (second, "Ana heads Atlas.")):
        editing.undo(profile(), edit.id, actor=curator.actor)
        assert texts()[0] == first
    editing.undo(profile(), CardEdit.objects.filter(undone_at=None).get().id, actor=curator.actor)
    assert sorted(texts()) == ["Ana leads Atlas.", "Ana leads Borealis.", "Ana leads Cirrus."]
    with pytest.raises(NotFound):
        editing.undo(profile(), second.id, actor=curator.actor)
    with pytest.raises(NotFound):
        editing.undo(profile(), uuid.uuid4(), actor=curator.actor)


def test_a_pinned_line_stays_although_others_weigh_more(
    account: Account, ana: Subject, facts: list[Fact], curator: Principal, work: Work
) -> None:
    editing.pin(profile(), line("Ana leads Cirrus."), actor=curator.actor)
    for number in range(12):
        FactFactory(subject=ana, statement=f"{number} " + "x" * 170, valid_from=None, confidence=1.0)
    rebuilding.rebuild(account.id, profile().id)
    # two lines fewer than fit of the others, which weigh more
    assert texts()[0] == "Ana leads Cirrus."
    assert all(text.endswith("x") for text in texts()[1:6])


def test_what_people_wrote_vanishes_with_its_facts_and_comes_back_with_them(
    account: Account, facts: list[Fact], curator: Principal, work: Work
) -> None:
    editing.reword(profile(), line("Ana leads Atlas."), "Ana heads Atlas.", actor=curator.actor)
    receipt = forgetting.disable(curator, fact_id=facts[0].id, reason="a mistake")
    outbox.deliver(account.id)
    assert texts() == ["Ana leads Borealis.", "Ana leads Cirrus."]
    work()
    assert texts() == ["Ana leads Borealis.", "Ana leads Cirrus."]
    forgetting.enable(curator, receipt.id)
    work()
    assert texts()[0] == "Ana heads Atlas."
    end(facts[0], Status.REDACTED)
    outbox.deliver(account.id)
    assert not CardEdit.objects.exists()
    kept = str(
        list(Card.objects.values_list("lines", flat=True)) + list(CardVersion.objects.values_list("lines", flat=True))
    )
    assert "Atlas" not in kept


def test_a_card_with_decisions_outlives_a_time_with_nothing_to_say(
    account: Account, ana: Subject, facts: list[Fact], curator: Principal, work: Work
) -> None:
    editing.remove(profile(), line("Ana leads Atlas."), actor=curator.actor)
    end(facts[1])
    end(facts[2])
    work()
    assert texts() == []
    FactFactory(subject=ana, statement="Ana likes tea.", valid_from=None)
    FactFactory(subject=ana, statement="Ana likes mails.", valid_from=None)
    work()
    assert sorted(texts()) == ["Ana likes mails.", "Ana likes tea."]


@pytest.mark.parametrize("text", ["", " \n\u200b", "x" * 301])
def test_a_line_is_neither_empty_nor_endless(facts: list[Fact], curator: Principal, text: str) -> None:
    with pytest.raises(DomainError) as refused:
        editing.reword(profile(), line("Ana leads Atlas."), text, actor=curator.actor)
    assert refused.value.code == "invalid_line"
    assert not CardEdit.objects.exists()


def test_who_looked_at_something_else_is_told_so(facts: list[Fact], curator: Principal) -> None:
    seen = line("Ana leads Atlas.")
    editing.reword(profile(), seen, "Ana heads Atlas.", actor=curator.actor)
    with pytest.raises(Conflicting) as refused:
        editing.remove(profile(), seen, actor=curator.actor)
    assert refused.value.code == "stale_version"


def test_the_audit_chain_says_who_decided_and_no_words(facts: list[Fact], curator: Principal) -> None:
    edit = editing.reword(profile(), line("Ana leads Atlas."), "Ana heads Atlas.", actor=curator.actor)
    editing.undo(profile(), edit.id, actor=curator.actor)
    found = AuditEntry.objects.filter(object_type="card").order_by("seq")
    assert [entry.action for entry in found] == ["card.line_reworded", "card.edit_undone"]
    assert "Atlas" not in str([vars(entry) for entry in found])
