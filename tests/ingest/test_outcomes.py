"""Who may know what became of a message, and of how much of it the words are repeated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from facts.clock import now
from facts.errors import NotFound
from facts.models import Account, Event, Passage
from facts.models.evidence import Withheld
from facts.vocabulary import Sensitivity
from governance.access import Principal
from governance.models import Role
from ingest import outcomes
from ingest.extraction import ExtractorIdentity
from ingest.models import CandidateOutcome, CandidateResult, EventOutcome, OutcomeResult
from tests.factories import FactFactory, SubjectFactory, key_principal, maker_of, person_in, say


def _processed(event: Event) -> Event:
    """Let the event have been read, with one candidate that was rejected."""
    tally = outcomes.Tally()
    tally.add(result=CandidateResult.REJECTED, reason="question", statement="Ana has asthma.", quote="asthma")
    outcome = EventOutcome.objects.create(
        account=event.account, event=event, scope=event.scope, subject=event.subject, occurred_at=event.occurred_at
    )
    outcomes.record(outcome, tally, identity=ExtractorIdentity(provider="rules", model="rules", prompt_version="1"))
    return event


def _words(principal: Principal, event: Event) -> tuple[str, str]:
    _, outcome, (candidate,) = outcomes.find(principal, event.id)
    assert outcome is not None
    assert (outcome.result, candidate.reason) == (OutcomeResult.REJECTED, "question")
    return candidate.statement, candidate.quote


def _knows(principal: Principal, event: Event) -> bool:
    try:
        outcomes.find(principal, event.id)
    except NotFound:
        return False
    return True


def _withdraw(event: Event) -> None:
    Event.objects.filter(pk=event.pk).update(withdrawn_at=now())


def _forget(event: Event) -> None:
    Passage.objects.filter(event=event).update(withheld=Withheld.FORGOTTEN)


def _dispute(event: Event) -> None:
    Passage.objects.filter(event=event).update(withheld=Withheld.CONFLICT)


@pytest.mark.parametrize("change", [_withdraw, _forget, _dispute])
def test_words_of_what_is_withheld_are_repeated_to_nobody(account: Account, change: Callable[[Event], None]) -> None:
    ana = SubjectFactory(account=account)
    event = _processed(say(ana, "Do I have asthma?"))
    callers = [person_in(account), key_principal(account)]
    assert [_words(caller, event) for caller in callers] == [("Ana has asthma.", "asthma")] * 2
    change(event)
    assert [_words(caller, event) for caller in callers] == [("", "")] * 2
    assert CandidateOutcome.objects.get().statement == "Ana has asthma."


@pytest.mark.parametrize("of_the_event", [True, False])
@pytest.mark.parametrize(
    ("sensitivity", "member", "curator", "granted"),
    [
        (Sensitivity.INTERNAL, True, True, True),
        (Sensitivity.PERSONAL, False, True, True),
        (Sensitivity.RESTRICTED, False, False, True),
    ],
)
def test_who_may_know_goes_by_the_strictest_of_a_message_and_what_cites_it(
    account: Account, sensitivity: str, member: bool, curator: bool, granted: bool, of_the_event: bool
) -> None:
    ana = SubjectFactory(account=account)
    event = _processed(say(ana, "asthma?", sensitivity=sensitivity if of_the_event else Sensitivity.INTERNAL))
    if not of_the_event:
        FactFactory(subject=ana, event=event, sensitivity=sensitivity)
    assert _knows(person_in(account, role=Role.MEMBER), event) == member
    assert _knows(person_in(account), event) == curator
    assert _knows(person_in(account, restricted=True), event) == granted
    assert _knows(key_principal(account), event)


def test_whoever_said_it_may_know(account: Account) -> None:
    speaker = person_in(account, role=Role.MEMBER)
    ana = SubjectFactory(account=account)
    event = _processed(say(ana, "asthma?", speaker=maker_of(speaker).subject, sensitivity=Sensitivity.RESTRICTED))
    assert _words(speaker, event) == ("Ana has asthma.", "asthma")
