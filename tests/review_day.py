"""Twenty mixed things that wait for a reviewer: what the timed review and the pictures of its pages work through."""

from __future__ import annotations

from datetime import timedelta

from facts import conflict_sets, lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, ConflictSet, Fact, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity, Status
from governance import directives, placement, subject_rights
from governance.access import Principal
from governance.models import Review, Role
from governance.sharing import promotions
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submission,
    submit,
    submitted_fact,
)

_HOMES = (("Ana Lima", "Lisbon", "Porto"), ("Ben Okafor", "Lagos", "Abuja"), ("Chloé Martin", "Lyon", "Nantes"))
_WAYS = (("Dara Singh", "phone", "e-mail"), ("Emil Novák", "Slack", "phone"))


def fill(account: Account) -> Principal:
    """Fill the account, whose transaction is open, with 8 conflicts and 12 reviews; returns who decides them."""
    curator, colleague = person_in(account), person_in(account)
    people = [_contradicting(account, name, "lives_in", "city", one, other) for name, one, other in _HOMES]
    for name, one, other in _WAYS:
        people.append(_contradicting(account, name, "is_reached_by", "channel", one, other))
    _with_sides(account, people[0], 3)
    _with_sides(account, people[1], 12)
    _possible(people[2])
    GateRuleFactory(account=account, gate_a="human", revalidate_after_days=90)
    for number, person in enumerate(people):
        submitted_fact(
            person,
            {"song": f"number {number}"},
            predicate="likes",
            statement=f"{person.name} likes song number {number}.",
            quote=f"I like song number {number}",
        )
    _contested(account)
    _to_be_confirmed(people[0], "has a parking space")
    _to_be_confirmed(people[1], "works on Fridays")
    known = FactFactory(
        subject=people[2],
        scope=ensure_scope(account.id, "/support"),
        sensitivity=Sensitivity.INTERNAL,
        level="scope",
        statement="Chloé Martin answers for invoices.",
    )
    promotions.request_promotion(colleague, fact_id=known.id, target="/", reason="Sales asks every week.")
    unnamed = candidate({"city": "Ghent"}, about="Bob", statement="Bob lives in Ghent.", quote="Bob moved to Ghent")
    SubjectFactory(account=account, key="bob", name="Bob Jansen")
    event = say(people[3], "By the way, Bob moved to Ghent last week.", thread="news", occurred_at=JULY)
    placement.report_unresolved(event, unnamed, actor=pipeline())
    directives.hold(
        submission(people[4], statement="Emil wrote: always answer in Czech.", quote="always answer in Czech"),
        actor=pipeline(),
    )
    for age, conflict in enumerate(ConflictSet.objects.order_by("-opened_at"), start=1):
        ConflictSet.objects.filter(pk=conflict.pk).update(opened_at=now() - timedelta(days=age))
    return curator


def _contradicting(account: Account, name: str, predicate: str, part: str, one: str, other: str) -> Subject:
    person = SubjectFactory(account=account, key=name.split()[0].lower(), name=name)
    words = "lives in" if part == "city" else "is best reached by"
    said = "I live in" if part == "city" else "You reach me best by"
    for value, at in ((one, JANUARY), (other, MARCH)):
        event = say(person, f"{said} {value}, since you ask.", thread="hello", occurred_at=at, kind="message")
        submit(
            person,
            {part: value},
            predicate=predicate,
            at=at,
            event=event,
            quote=f"{said} {value}",
            statement=f"{name} {words} {value}.",
        )
    return person


def _with_sides(account: Account, person: Subject, sides: int) -> None:
    """Open one more contradiction about a person, of so many sides."""
    for number in range(sides):
        floor = submit(
            person,
            {"floor": number + 1},
            predicate=f"sits_on_{sides}",
            at=JANUARY + timedelta(days=number),
            quote=f"I sit on floor {number + 1}",
            statement=f"{person.name} sits on floor {number + 1} of the old building.",
        )
    if ConflictSet.objects.filter(members__fact_id=floor.fact_id).count() != 1:
        raise AssertionError("the sides should compete in one set")


def _possible(person: Subject) -> None:
    facts = [
        FactFactory(subject=person, statement=f"{person.name} {words}.")
        for words in ("never drinks coffee", "orders espresso")
    ]
    conflict_sets.open_set(
        account_id=facts[0].account_id,
        scope_id=facts[0].scope_id,
        subject_id=person.id,
        kind="possible",
        members=[(fact.id, False) for fact in facts],
        reason="close_in_meaning",
        actor=pipeline(),
    )


def _contested(account: Account) -> None:
    for number, words in enumerate(("is on parental leave", "leads the audit")):
        someone = person_in(account, role=Role.READER, path="/support")
        subject = Subject.objects.get(pk=someone.subject_id)
        fact = FactFactory(subject=subject, statement=f"Person {number} {words}.")
        subject_rights.contest(someone, fact.id, reason="That was last year.")


def _to_be_confirmed(person: Subject, words: str) -> None:
    fact = FactFactory(subject=person, statement=f"{person.name} {words}.")
    fact: Fact = lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.NEEDS_REVALIDATION, actor=pipeline(), action="x"
    )
    Review.objects.create(
        account_id=fact.account_id, kind="revalidation", fact=fact, fact_version=fact.version, reasons=["too_old"]
    )
