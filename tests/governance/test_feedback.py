"""Ratings: recorded of what was served, and "incorrect" disputes without deciding."""

from __future__ import annotations

import pytest

from facts.actors import Actor, pipeline
from facts.audience import Posture, Reader
from facts.errors import DomainError, NotFound
from facts.models import Fact
from facts.vocabulary import Status
from governance import feedback
from governance.models import Feedback, Review
from tests.factories import FactFactory, SubjectFactory, unknown_id


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account)


def rate(
    fact: Fact, rating: str = "incorrect", *, reader: Reader | None = None, actor: Actor | None = None
) -> Feedback:
    """Rate a fact as its own subject."""
    return feedback.rate(
        account_id=fact.account_id,
        reader=reader or Reader(Posture.PEER, fact.subject_id),
        actor=actor or pipeline(),
        rating=rating,
        fact_id=fact.id,
        comment="x" * 3000,
    )


@pytest.mark.parametrize("before", [Status.ACTIVE, Status.PROVISIONAL])
def test_incorrect_disputes_and_asks_curators(ada, before):
    fact = FactFactory(subject=ada, status=before)
    made = rate(fact)
    fact.refresh_from_db()
    review = Review.objects.get()
    assert (made.rating, len(made.comment), fact.status) == ("incorrect", 2000, "disputed")
    assert (review.kind, review.fact_version, review.reasons) == ("contest", fact.version, ["rated_incorrect"])


@pytest.mark.parametrize("rating", ["useful", "irrelevant"])
def test_other_ratings_only_are_recorded(ada, rating):
    fact = FactFactory(subject=ada)
    rate(fact, rating)
    fact.refresh_from_db()
    assert (fact.status, fact.version, Feedback.objects.get().fact_id) == ("active", 1, fact.id)


def test_a_second_voice_changes_nothing_more(ada):
    fact = FactFactory(subject=ada)
    rate(fact)
    rate(fact)
    fact.refresh_from_db()
    assert (fact.version, Feedback.objects.count(), Review.objects.count()) == (2, 2, 1)


@pytest.mark.parametrize("status", [Status.CANDIDATE, Status.HELD, Status.DISABLED, Status.RETRACTED, Status.DELETED])
def test_what_is_served_to_nobody_is_not_there(ada, status):
    fact = FactFactory(subject=ada, status=status)
    with pytest.raises(NotFound) as refused:
        rate(fact)
    assert refused.value.code == "fact_not_found"


@pytest.mark.parametrize(
    ("fields", "reader"),
    [
        ({}, Reader(Posture.PUBLIC_ONLY)),
        ({}, Reader(Posture.PEER, unknown_id())),
        ({"status": Status.PROVISIONAL, "sensitivity": "public"}, Reader(Posture.PEER, unknown_id())),
        ({"status": Status.REJECTED, "sensitivity": "public"}, Reader(Posture.PUBLIC_ONLY)),
    ],
)
def test_what_the_reader_may_not_see_is_not_there(ada, fields, reader):
    fact = FactFactory(subject=ada, **fields)
    with pytest.raises(NotFound):
        rate(fact, reader=reader)
    assert not Feedback.objects.exists()


@pytest.mark.parametrize("named", [{}, {"fact_id": unknown_id(), "trace_id": unknown_id()}])
def test_one_thing_is_rated(account, named):
    with pytest.raises(DomainError) as refused:
        feedback.rate(
            account_id=account.id, reader=Reader(Posture.PUBLIC_ONLY), actor=pipeline(), rating="useful", **named
        )
    assert refused.value.field == "fact_id"


def test_an_unknown_rating(ada):
    with pytest.raises(DomainError) as refused:
        rate(FactFactory(subject=ada), "splendid")
    assert refused.value.field == "rating"
