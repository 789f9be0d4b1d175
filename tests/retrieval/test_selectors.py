from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from facts import withholding
from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import Account, Event, Fact, Passage, Subject
from facts.models.evidence import Withheld
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity, Status
from governance.access import Principal, Right
from governance.models import Role
from retrieval.context.assembly import ContextAnswer
from retrieval.models import Trace
from retrieval.traces import selectors
from tests.factories import (
    JANUARY,
    MARCH,
    FactFactory,
    SubjectFactory,
    key_principal,
    person_in,
    say,
    submit,
)


def _timeline(principal: Principal, reader: Reader) -> list[Event]:
    return list(selectors.events(principal, reader, scopes=[ensure_scope(principal.account_id, "/support")]))


def _peer(subject_id: uuid.UUID, *, restricted: bool = False) -> Reader:
    return Reader(posture=Posture.PEER, subject_id=subject_id, restricted=restricted)


@pytest.mark.parametrize(
    ("sensitivity", "to_peer", "to_granted", "to_nobody"),
    [
        (Sensitivity.PUBLIC, True, True, True),
        (Sensitivity.INTERNAL, True, True, False),
        (Sensitivity.PERSONAL, False, False, False),
        (Sensitivity.RESTRICTED, False, True, False),
    ],
)
def test_a_message_is_shown_to_those_who_may_see_its_strictest_passage(
    app: Principal, ana: Subject, sensitivity: str, to_peer: bool, to_granted: bool, to_nobody: bool
) -> None:
    message = say(ana, "I have asthma.", sensitivity=Sensitivity.PUBLIC)
    FactFactory(subject=ana, event=message, sensitivity=sensitivity)
    FactFactory(subject=ana, event=message, sensitivity=Sensitivity.PUBLIC)
    bob = SubjectFactory(account=ana.account).id
    assert _timeline(app, _peer(ana.id)) == [message]
    assert _timeline(app, _peer(bob)) == [message] * to_peer
    assert _timeline(app, _peer(bob, restricted=True)) == [message] * to_granted
    assert _timeline(app, Reader(posture=Posture.PUBLIC_ONLY)) == [message] * to_nobody


@pytest.mark.parametrize("reason", [Withheld.CONFLICT, Withheld.FORGOTTEN])
def test_a_message_of_which_anything_is_withheld_is_shown_to_nobody(app: Principal, ana: Subject, reason: str) -> None:
    message = say(ana, "I have asthma.", sensitivity=Sensitivity.PUBLIC)
    Passage.objects.filter(event=message).update(withheld=reason)
    assert _timeline(app, _peer(ana.id)) == []
    assert _timeline(app, Reader(posture=Posture.INTERNAL)) == []


def _disable(fact: Fact) -> None:
    Fact.objects.filter(pk=fact.pk).update(status=Status.DISABLED)


def _reject(fact: Fact) -> None:
    Fact.objects.filter(pk=fact.pk).update(status=Status.REJECTED)


def _dispute(fact: Fact) -> None:
    submit(fact.subject, {"value": "coffee"}, predicate="favourite_drink", at=MARCH)


def _make_personal(fact: Fact) -> None:
    Fact.objects.filter(pk=fact.pk).update(sensitivity=Sensitivity.PERSONAL)


def _make_restricted(fact: Fact) -> None:
    Fact.objects.filter(pk=fact.pk).update(sensitivity=Sensitivity.RESTRICTED)


def _move(fact: Fact) -> None:
    sales = ensure_scope(fact.account_id, "/sales")
    Fact.objects.filter(pk=fact.pk).update(scope=sales)
    Passage.objects.filter(evidence__fact=fact).update(scope=sales)


@pytest.fixture
def drink(ana: Subject) -> Fact:
    """A fact and its passage, both served to everybody."""
    event = say(ana, "tea", occurred_at=JANUARY, sensitivity=Sensitivity.INTERNAL)
    placed = submit(ana, {"value": "tea"}, predicate="favourite_drink", at=JANUARY, event=event, statement="Tea.")
    Fact.objects.filter(pk=placed.fact_id).update(sensitivity=Sensitivity.INTERNAL)
    withholding.refresh(ana.account_id, [placed.fact_id])
    return Fact.objects.get(pk=placed.fact_id)


def _rendered(principal: Principal, answer: ContextAnswer) -> tuple[int, int, int]:
    """Return how many facts and passages an inspection shows, and how many it no longer does."""
    again = selectors.packet_of(principal, Trace.objects.get(pk=answer.trace_id))
    return len(again.packet.facts), len(again.packet.passages), again.gone


@pytest.mark.parametrize(
    ("change", "still_shown"),
    [
        (_disable, (0, 0, 2)),
        (_reject, (0, 1, 1)),
        (_dispute, (0, 0, 2)),
        (_make_personal, (0, 0, 2)),
        (_make_restricted, (0, 0, 2)),
        (_move, (0, 0, 2)),
    ],
)
def test_a_maker_inspects_what_its_reader_may_see_today(
    account: Account,
    drink: Fact,
    ask: Callable[..., ContextAnswer],
    change: Callable[[Fact], None],
    still_shown: tuple[int, int, int],
) -> None:
    SubjectFactory(account=account, key="bob")
    maker = key_principal(account, rights=(Right.READ, Right.READ_FOR_OTHERS), scope_limit=drink.scope)
    answer = ask("tea", principal=maker, peer_key="bob")
    assert _rendered(maker, answer) == (1, 1, 0)
    change(drink)
    withholding.refresh(account.id, [drink.id])
    assert _rendered(maker, answer) == still_shown


@pytest.mark.parametrize(
    ("sensitivity", "granted", "shown"),
    [
        (Sensitivity.INTERNAL, False, (1, 1, 0)),
        (Sensitivity.PERSONAL, False, (0, 0, 2)),
        (Sensitivity.RESTRICTED, False, (0, 0, 2)),
        (Sensitivity.RESTRICTED, True, (1, 1, 0)),
    ],
)
def test_a_curator_inspects_the_traces_of_others_as_themselves(
    account: Account,
    ana: Subject,
    app: Principal,
    ask: Callable[..., ContextAnswer],
    sensitivity: str,
    granted: bool,
    shown: tuple[int, int, int],
) -> None:
    message = say(ana, "I have tea.", sensitivity=Sensitivity.INTERNAL)
    FactFactory(subject=ana, event=message, statement="Ana has tea.", sensitivity=sensitivity)
    answer = ask("tea")
    assert _rendered(app, answer) == (1, 1, 0)
    assert _rendered(person_in(account, role=Role.CURATOR, restricted=granted), answer) == shown


def test_a_person_inspects_their_own_reads_under_their_own_grants(
    account: Account, ana: Subject, ask: Callable[..., ContextAnswer]
) -> None:
    FactFactory(subject=ana, statement="Ana has tea.", sensitivity=Sensitivity.RESTRICTED)
    reader = person_in(account, role=Role.READER, restricted=True)
    assert _rendered(reader, ask("tea", principal=reader)) == (1, 1, 0)


def test_an_inspection_leaves_out_withdrawn_messages(
    drink: Fact, app: Principal, ask: Callable[..., ContextAnswer]
) -> None:
    answer = ask("tea")
    Event.objects.filter(passages__evidence__fact=drink).update(withdrawn_at=now())
    assert _rendered(app, answer) == (1, 0, 1)
