"""The audience rule in its forms, over every combination there is: words, codes, condition, index rows."""

from __future__ import annotations

from itertools import product

import pytest
from django.db.models import Q

from facts.audience import Posture, Reader, audience_code, may_see, visible_codes, visible_to
from facts.models import Fact, FactText
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from tests.factories import FactFactory, SubjectFactory, unknown_id

COMBINATIONS = list(product(Level.values, Sensitivity.values, [SubjectKind.PERSON, SubjectKind.SCOPE], [True, False]))


def readers(subject_id) -> list[Reader]:
    """Return every sort of reader: the subject, another peer with and without restricted, nobody, the server."""
    return [
        Reader(Posture.PEER, subject_id),
        Reader(Posture.PEER, unknown_id()),
        Reader(Posture.PEER, unknown_id(), restricted=True),
        Reader(Posture.PUBLIC_ONLY),
        Reader(Posture.INTERNAL),
    ]


def said_in_words(reader: Reader, subject_id, level, sensitivity, kind, provisional) -> bool:
    """Ask the rule in its first form."""
    return may_see(
        posture=reader.posture,
        own=reader.subject_id == subject_id,
        restricted_granted=reader.restricted,
        level=level,
        sensitivity=sensitivity,
        about_scope=kind == SubjectKind.SCOPE,
        provisional=provisional,
    )


def test_codes_agree_with_words():
    subject_id = unknown_id()
    for reader, (level, sensitivity, kind, provisional) in product(readers(subject_id), COMBINATIONS):
        status = Status.PROVISIONAL if provisional else Status.ACTIVE
        code = audience_code(level=level, sensitivity=sensitivity, subject_kind=kind, status=status)
        codes = visible_codes(reader)
        seen = code in codes.general or (reader.subject_id == subject_id and code in codes.own)
        assert seen == said_in_words(reader, subject_id, level, sensitivity, kind, provisional)


def test_codes_are_all_different():
    codes = {
        audience_code(level=level, sensitivity=sensitivity, subject_kind=kind, status=status)
        for level, sensitivity, kind, status in product(
            Level.values,
            Sensitivity.values,
            [SubjectKind.PERSON, SubjectKind.SCOPE],
            [Status.ACTIVE, Status.PROVISIONAL],
        )
    }
    assert codes == {code for code in range(64) if code >> 2 & 3 != 3}


@pytest.mark.parametrize(
    ("reader", "level", "sensitivity", "kind", "provisional", "seen"),
    [
        ("own", "peer", "personal", "person", False, True),
        ("own", "peer", "restricted", "person", False, True),
        ("own", "peer", "personal", "person", True, True),
        ("other", "peer", "personal", "person", False, False),
        ("other", "peer", "internal", "person", False, True),
        ("other", "scope", "personal", "person", False, True),
        ("other", "peer", "personal", "scope", False, True),
        ("other", "account", "restricted", "scope", False, False),
        ("other", "peer", "public", "person", True, False),
        ("granted", "peer", "restricted", "person", False, True),
        ("granted", "peer", "personal", "person", False, False),
        ("nobody", "account", "public", "person", False, True),
        ("nobody", "account", "internal", "scope", False, False),
        ("server", "peer", "restricted", "person", False, True),
        ("server", "peer", "public", "person", True, False),
    ],
)
def test_the_rule_in_words(reader, level, sensitivity, kind, provisional, seen):
    subject_id = unknown_id()
    named = dict(zip(["own", "other", "granted", "nobody", "server"], readers(subject_id), strict=True))
    assert said_in_words(named[reader], subject_id, level, sensitivity, kind, provisional) is seen


def test_queries_agree_with_words(account):
    ada, place = SubjectFactory(account=account), SubjectFactory(account=account, kind=SubjectKind.SCOPE)
    for level, sensitivity, kind, provisional in COMBINATIONS:
        FactFactory(
            subject=ada if kind == SubjectKind.PERSON else place,
            level=level,
            sensitivity=sensitivity,
            status=Status.PROVISIONAL if provisional else Status.ACTIVE,
        )
    facts = list(Fact.objects.select_related("subject"))
    assert len(facts) == 48
    for reader in readers(ada.id):
        allowed = {
            fact.id
            for fact in facts
            if said_in_words(
                reader, fact.subject_id, fact.level, fact.sensitivity, fact.subject.kind, fact.status == "provisional"
            )
        }
        own_provisional = Q(status=Status.PROVISIONAL, subject_id=reader.subject_id)
        served = Q(status=Status.ACTIVE) | own_provisional
        assert set(Fact.objects.filter(visible_to(reader), served).values_list("id", flat=True)) == allowed
        codes = visible_codes(reader)
        in_index = Q(audience__in=codes.general) | Q(subject_id=reader.subject_id, audience__in=codes.own)
        assert set(FactText.objects.filter(in_index, active=True).values_list("fact_id", flat=True)) == allowed


def test_a_reader_names_a_subject_exactly_as_a_peer():
    with pytest.raises(ValueError, match="names its subject"):
        Reader(Posture.PEER)
    with pytest.raises(ValueError, match="names its subject"):
        Reader(Posture.PUBLIC_ONLY, unknown_id())
