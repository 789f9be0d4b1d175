"""Aliases in a question stand for the subject's name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from facts.models import Account, Identity
from retrieval import known_names
from tests.factories import AccountFactory, IdentityFactory, SubjectFactory, entered


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    known_names.forget()
    yield
    known_names.forget()


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
        (["U042"], "what did U042 promise", "what did Oleksandr Koval (U042) promise"),
        (["olek@example.com"], "mail of olek@example.com?", "mail of Oleksandr Koval (olek@example.com)?"),
    ],
)
def test_the_name_is_written_in(account: Account, aliases: list[str], question: str, expected: str) -> None:
    known_as(account, "Oleksandr Koval", *aliases)
    assert known_names.with_names(account.id, question) == expected


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
    assert known_names.with_names(account.id, question) == question


def test_an_alias_of_two_subjects_says_nothing(account: Account) -> None:
    subject = SubjectFactory(account=account, name="Robert Ash")
    Identity.objects.create(account=account, subject=subject, platform="slack", value="Bob")
    known_as(account, "Bobbie Lane", "bob")
    assert known_names.with_names(account.id, "Where is Bob?") == "Where is Bob?"


def test_an_alias_written_with_accents_is_found(account: Account) -> None:
    known_as(account, "Zoë Washburne", "Zoé")
    assert known_names.with_names(account.id, "Where is zoe?") == "Where is zoe? (Zoë Washburne)"


def test_at_most_three_names_are_written_in(account: Account) -> None:
    for number in range(5):
        known_as(account, f"Person Number{number}", f"alias{number}")
    asked = known_names.with_names(account.id, "alias0 alias1 alias2 alias3 alias4")
    assert asked.count("Person") == known_names.MAX_NAMES


def test_names_of_another_account_are_unknown(account: Account) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    other = AccountFactory()
    with entered(other):
        assert known_names._read(other.id) == {}
        known_names.forget()
        assert known_names.with_names(other.id, "Olek?") == "Olek?"


def test_aliases_are_read_once(account: Account, django_assert_num_queries) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    known_names.with_names(account.id, "Olek?")
    with django_assert_num_queries(0):
        known_names.with_names(account.id, "Olek again?")


def test_a_huge_question_is_read_in_part(account: Account) -> None:
    known_as(account, "Oleksandr Koval", "Olek")
    assert known_names.with_names(account.id, "word " * 100_000 + "Olek") == "word " * 100_000 + "Olek"
