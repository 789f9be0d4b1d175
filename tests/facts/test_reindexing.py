from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from facts import reindexing, textindex
from facts.models import Account, CommonLexemes, FactText, PassageText
from tests.factories import FactFactory, SubjectFactory, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def old(account: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    """An account with five facts and passages in a form of before."""
    monkeypatch.setattr(reindexing, "CHUNK", 2)
    ana = SubjectFactory(account=account, key="ana")
    event = say(ana, "Her well-being matters")
    for number in range(5):
        FactFactory(subject=ana, statement=f"Ana's well-being has number {number}.", event=event)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE facts_facttext SET tsv = ts_delete(tsv, 'wellb')")
        cursor.execute("UPDATE facts_passagetext SET tsv = ts_delete(tsv, 'wellb')")
    Account.objects.filter(pk=account.id).update(text_version="1")
    return account


def _found(model: type[FactText | PassageText]) -> int:
    return model.objects.extra(where=["tsv @@ 'wellb'::tsquery"]).count()


def test_every_row_gets_the_present_form(old: Account) -> None:
    assert (_found(FactText), _found(PassageText)) == (0, 0)
    assert reindexing.reindex(old.id) == 6
    assert (_found(FactText), _found(PassageText)) == (5, 1)
    old.refresh_from_db()
    assert (old.text_version, old.text_progress) == (textindex.ANALYZER_VERSION, {})
    assert reindexing.pending() == []
    assert reindexing.reindex(old.id) == 0


def test_it_goes_on_where_it_was_stopped(old: Account) -> None:
    assert reindexing.reindex(old.id, most=3) == 4
    assert (_found(FactText), _found(PassageText)) == (4, 0)
    assert reindexing.pending() == [old.id]
    assert reindexing.reindex_pending(most=1_000) == 2
    assert (_found(FactText), _found(PassageText)) == (5, 1)


def test_another_form_meanwhile_begins_anew(old: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    reindexing.reindex(old.id, most=3)
    monkeypatch.setattr(textindex, "ANALYZER_VERSION", "another")
    assert reindexing.reindex(old.id) == 6


def test_counts_of_words_are_made_anew(old: Account) -> None:
    fact = FactText.objects.first()
    CommonLexemes.objects.create(account=old, scope_id=fact.scope_id, unit="fact", rows=5, counts={})
    reindexing.reindex(old.id)
    assert not CommonLexemes.objects.exists()


def test_rows_of_the_present_form_are_not_written(old: Account) -> None:
    reindexing.reindex(old.id)
    Account.objects.filter(pk=old.id).update(text_version="1")
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text, ctid::text FROM facts_facttext ORDER BY fact_id")
        before = cursor.fetchall()
        reindexing.reindex(old.id)
        cursor.execute("SELECT xmin::text, ctid::text FROM facts_facttext ORDER BY fact_id")
        assert cursor.fetchall() == before


def test_the_command_does_every_account_that_needs_it(old: Account) -> None:
    out = StringIO()
    call_command("reindex_text", stdout=out)
    assert out.getvalue() == f"{old.key}: 6 rows looked at.\nAll text is in form {textindex.ANALYZER_VERSION}.\n"
    assert _found(FactText) == 5
