from __future__ import annotations

import pytest
from django.db import connection

from facts.models import Account, CommonLexemes, FactText, IndexedUnit, Subject
from facts.tenancy import ensure_scope
from retrieval.text import common_lexemes, lexical
from tests.factories import AccountFactory, FactFactory, SubjectFactory, entered


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_lexemes, "COUNTED_FROM", 3)


def _facts(subject: Subject, *statements: str) -> None:
    for statement in statements:
        FactFactory(subject=subject, statement=statement)


def test_a_corpus_is_counted_from_its_least_size(account: Account) -> None:
    ana = SubjectFactory(account=account)
    _facts(ana, "green tea", "black tea")
    assert common_lexemes.refresh(account.id) == 0
    _facts(ana, "cold coffee")
    # The scope and the subject in it, for facts and for the passages that they cite.
    assert common_lexemes.refresh(account.id) == 4
    row = CommonLexemes.objects.get(subject=ana, unit=IndexedUnit.FACT)
    assert (row.rows, row.counts) == (3, {"black": 1, "coffe": 1, "cold": 1, "green": 1, "tea": 2})
    assert CommonLexemes.objects.get(subject=None, unit=IndexedUnit.FACT).counts == row.counts


def test_only_noticeable_lexemes_are_stored(account: Account) -> None:
    ana = SubjectFactory(account=account)
    _facts(ana, *[f"tea x{number}" for number in range(50)])
    common_lexemes.refresh(account.id)
    assert CommonLexemes.objects.get(subject=ana, unit=IndexedUnit.FACT).counts == {"tea": 50}


def test_a_corpus_is_counted_again_when_it_has_changed_enough(account: Account) -> None:
    ana = SubjectFactory(account=account)
    _facts(ana, *[f"tea number {number}" for number in range(10)])
    assert common_lexemes.refresh(account.id) == 4
    _facts(ana, "coffee", "coffee")
    assert common_lexemes.refresh(account.id) == 0
    _facts(ana, "coffee")
    assert common_lexemes.refresh(account.id) == 4
    assert CommonLexemes.objects.get(subject=ana, unit=IndexedUnit.FACT).rows == 13


def test_a_corpus_that_has_become_small_is_forgotten(account: Account) -> None:
    ana = SubjectFactory(account=account)
    _facts(ana, "tea", "tea", "tea")
    common_lexemes.refresh(account.id)
    FactText.objects.filter(account=account).update(active=False)
    common_lexemes.refresh(account.id)
    assert not CommonLexemes.objects.filter(unit=IndexedUnit.FACT).exists()


def test_the_lexemes_that_tell_most_come_first(account: Account) -> None:
    ana = SubjectFactory(account=account)
    _facts(ana, "green tea", "black tea", "white tea", "green coffee")
    common_lexemes.refresh(account.id)
    found = common_lexemes.analyse(
        lexical.searchable("a tea, green or oolong, or a gyokuro"),
        account_id=account.id,
        scope_ids=[FactText.objects.first().scope_id],
        subject_id=ana.id,
    )
    assert found.lexemes == ["gyokuro", "oolong", "green", "tea"]


def test_a_question_is_analysed_in_one_round_trip(account: Account) -> None:
    ana = SubjectFactory(account=account)
    _facts(ana, "green tea", "black tea", "coffee")
    _facts(SubjectFactory(account=account), "green hills")
    common_lexemes.refresh(account.id)
    scope = ensure_scope(account.id, "/support").id
    found = common_lexemes.analyse(
        lexical.searchable("Which green teas, please?"), account_id=account.id, scope_ids=[scope], subject_id=ana.id
    )
    assert (found.lexemes, found.passages_stored) == (["green", "tea"], True)
    common = found.common
    assert (common["fact"].rows, dict(common["fact"].counts)) == (3, {"green": 1, "tea": 2})
    whole = common_lexemes.analyse(
        lexical.searchable("green teas"), account_id=account.id, scope_ids=[scope], subject_id=None
    ).common
    assert (whole["fact"].rows, dict(whole["fact"].counts)) == (4, {"green": 2, "tea": 2})


def test_several_scopes_are_summed(account: Account) -> None:
    ana = SubjectFactory(account=account)
    for path in ("/", "/support"):
        for statement in ("green tea", "tea", "coffee"):
            FactFactory(subject=ana, statement=statement, scope__path=path)
    common_lexemes.refresh(account.id)
    scopes = [ensure_scope(account.id, path).id for path in ("/", "/support", "/sales")]
    common = common_lexemes.analyse(
        lexical.searchable("tea"), account_id=account.id, scope_ids=scopes, subject_id=ana.id
    ).common
    assert (common["fact"].rows, dict(common["fact"].counts)) == (6, {"tea": 4})


def test_a_question_without_words_has_no_lexemes(account: Account) -> None:
    found = common_lexemes.analyse(
        lexical.searchable("of the ???"), account_id=account.id, scope_ids=[], subject_id=None
    )
    assert (found.lexemes, found.passages_stored) == ([], False)
    assert found.common["fact"].rows == 0


def test_counts_of_another_account_are_not_seen(account: Account) -> None:
    other = AccountFactory()
    with entered(other):
        _facts(SubjectFactory(account=other), "tea", "tea", "tea")
        common_lexemes.refresh(other.id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM facts_commonlexemes")
        assert cursor.fetchone() == (0,)
