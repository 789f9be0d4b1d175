"""Aliases in a question stand for the subject's name."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from facts.audience import Posture, Reader
from facts.models import Account, Identity
from retrieval.text import known_names
from tests.factories import AccountFactory, IdentityFactory, SubjectFactory, entered


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    known_names.forget()
    yield
    known_names.forget()


PEER = Reader(posture=Posture.PEER, subject_id=uuid.uuid4())


def known_as(account: Account, name: str, *aliases: str) -> None:
    subject = SubjectFactory(account=account, name=name)
    for alias in aliases:
        IdentityFactory(subject=subject, account=account, platform="alias", value=alias)
    known_names.forget()


@pytest.mark.parametrize(
    ("aliases", "question", "expected"),
    [
        (["Olek"], "Which laptop does Olek have?", "Which laptop does Oleksandr Koval (Olek) have?"),
        (["Olek"], "olek's laptop", "Oleksandr Koval (olek)'s laptop"),
        (["the Big O"], "What does The Big O drink?", "What does Oleksandr Koval (The Big O) drink?"),
        (["オレク"], "オレク の ノート", "Oleksandr Koval (オレク) の ノート"),
        (["אולק"], "מה אולק שותה", "מה Oleksandr Koval (אולק) שותה"),
    ],
)
def test_the_name_is_written_in(account: Account, aliases: list[str], question: str, expected: str) -> None:
    known_as(account, "Oleksandr Koval", *aliases)
    assert known_names.with_names(account.id, question, reader=PEER) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Which laptop does Oleksandr Koval have?",
        "Which laptop does Oleksandr Koval, called Olek, have?",
        "Which laptop does Oleksandra have?",
        "Where is Olekania?",
        "",
        "?!",
        "\x00",
    ],
)
def test_a_question_without_an_alias_stays(account: Account, question: str) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    assert known_names.with_names(account.id, question, reader=PEER) == question


@pytest.mark.parametrize("alias", ["olek@example.com", "U042", "@olek", "olek_k", "slack:olek"])
def test_whose_address_or_handle_it_is_is_not_told(account: Account, alias: str) -> None:
    known_as(account, "Oleksandr Koval", alias)
    assert known_names.with_names(account.id, f"Who is {alias}?", reader=PEER) == f"Who is {alias}?"


def test_nobodys_question_is_not_changed(account: Account) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    nobody = Reader(posture=Posture.PUBLIC_ONLY)
    assert known_names.with_names(account.id, "Who is Olek?", reader=nobody) == "Who is Olek?"


def test_an_alias_of_two_subjects_says_nothing(account: Account) -> None:
    subject = SubjectFactory(account=account, name="Robert Ash")
    Identity.objects.create(account=account, subject=subject, platform="slack", value="Bob")
    known_as(account, "Bobbie Lane", "bob")
    assert known_names.with_names(account.id, "Where is Bob?", reader=PEER) == "Where is Bob?"


def test_an_alias_written_with_accents_is_found(account: Account) -> None:
    known_as(account, "Zoë Washburne", "Zoé")
    assert known_names.with_names(account.id, "Where is zoe?", reader=PEER) == "Where is zoe? (Zoë Washburne)"


def test_at_most_three_names_are_written_in(account: Account) -> None:
    for letter in "abcde":
        known_as(account, f"Person Number {letter}", f"alias {letter}")
    asked = known_names.with_names(account.id, "alias a, alias b, alias c, alias d, alias e", reader=PEER)
    assert asked.count("Person") == known_names.MAX_NAMES


def test_names_of_another_account_are_unknown(account: Account) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    other = AccountFactory()
    with entered(other):
        assert known_names._read(other.id) == {}
        known_names.forget()
        assert known_names.with_names(other.id, "Olek?", reader=PEER) == "Olek?"


def test_aliases_are_read_once(account: Account, django_assert_num_queries) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    known_names.with_names(account.id, "Olek?", reader=PEER)
    with django_assert_num_queries(0):
        known_names.with_names(account.id, "Olek again?", reader=PEER)


def test_a_huge_question_is_read_in_part(account: Account) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    assert known_names.with_names(account.id, "word " * 100_000 + "Olek", reader=PEER) == "word " * 100_000 + "Olek"
