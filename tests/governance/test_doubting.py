"""A curator doubts a fact: it leaves every reader, a review asks about it, and only who decides there may do so."""

from __future__ import annotations

import pytest

from facts.errors import Conflicting, DomainError, NotFound
from facts.models import Fact, FactText
from facts.vocabulary import Sensitivity, Status
from governance import doubting
from governance.models import Feedback, Review, ReviewKind, ReviewStatus, Role
from tests.factories import FactFactory, SubjectFactory, key_principal, person_in, unknown_id


@pytest.fixture
def fact(account) -> Fact:
    return FactFactory(subject=SubjectFactory(account=account), statement="Ana lives in Rome.")


def test_a_doubted_fact_is_served_to_nobody_and_asked_about(account, fact):
    curator = person_in(account)
    doubted = doubting.doubt(curator, fact.pk, reason="  She moved.\x00  ".replace("\x00", ""))
    assert doubted.status == Status.DISPUTED
    assert not FactText.objects.get(fact=fact).active
    review = Review.objects.get(fact=fact)
    assert (review.kind, review.status, review.reasons) == (
        ReviewKind.CONTEST,
        ReviewStatus.PENDING,
        ["doubted_by_curator"],
    )
    assert Feedback.objects.get(fact=fact).comment == "She moved."


@pytest.mark.parametrize("status", [Status.DISPUTED, Status.CANDIDATE, Status.DISABLED, Status.REDACTED])
def test_what_is_gone_or_being_decided_is_not_doubted(account, status):
    fact = FactFactory(subject=SubjectFactory(account=account), status=status)
    with pytest.raises(Conflicting) as refused:
        doubting.doubt(person_in(account), fact.pk, reason="No.")
    assert refused.value.code == "not_contestable"
    assert not Review.objects.exists()


def test_only_who_decides_there_may_doubt_and_others_learn_nothing(account, fact):
    restricted = FactFactory(subject=fact.subject, sensitivity=Sensitivity.RESTRICTED)
    asked = [
        (person_in(account, role=Role.MEMBER), fact.pk),
        (person_in(account, path="/sales"), fact.pk),
        (key_principal(account), fact.pk),
        (person_in(account), restricted.pk),
        (person_in(account), unknown_id()),
    ]
    told = set()
    for principal, fact_id in asked:
        with pytest.raises(NotFound) as refused:
            doubting.doubt(principal, fact_id, reason="No.")
        told.add((refused.value.code, refused.value.message))
    assert len(told) == 1
    fact.refresh_from_db()
    assert fact.status == Status.ACTIVE


def test_a_doubt_needs_a_reason(account, fact):
    with pytest.raises(DomainError) as refused:
        doubting.doubt(person_in(account), fact.pk, reason=" \n")
    assert refused.value.code == "reason_missing"
