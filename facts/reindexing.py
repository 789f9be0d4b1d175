"""Indexing text again after a change of its form (:data:`facts.textindex.ANALYZER_VERSION`), while reads go on.

New rows are written in the new form; those that are there are rewritten in chunks, by id, each chunk with its progress
in one transaction. Until then the old form answers what it can: words themselves are the same in both. Safe to stop, to
start again, and to run twice at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import connection

from facts import isolation, textindex
from facts.models import Account, CommonLexemes, FactText, IndexedUnit, PassageText
from facts.tenancy import account_transaction
from facts.textindex import IndexText

#: Rows of one transaction: a second of work at the most.
CHUNK = 500


@dataclass(frozen=True, slots=True)
class _Unit:
    """Where the rows of a unit are, what their text is made from, and how."""

    table: str
    key: str
    source: str
    columns: str
    prepare: Callable[..., IndexText]


_UNITS: Mapping[IndexedUnit, _Unit] = {
    IndexedUnit.FACT: _Unit("facts_facttext", "fact_id", "facts_fact", "s.statement", textindex.prepare),
    IndexedUnit.PASSAGE: _Unit(
        "facts_passagetext",
        "passage_id",
        "facts_passage",
        "s.speaker_name, s.text, s.occurred_at",
        textindex.prepare_passage,
    ),
}


def pending() -> list[uuid.UUID]:
    """Return the accounts of which some text rows may be in another form."""
    behind = Account.objects.exclude(text_version=textindex.ANALYZER_VERSION)
    return list(behind.order_by("id").values_list("id", flat=True))


def _untold(rows: int) -> None:
    """Tell nobody."""


def count_rows(account_id: uuid.UUID) -> int:
    """Return how many text rows the account has, in whatever form."""
    with account_transaction(account_id):
        facts = FactText.objects.filter(account_id=account_id).count()
        return facts + PassageText.objects.filter(account_id=account_id).count()


def reindex(account_id: uuid.UUID, *, most: int | None = None, note: Callable[[int], None] = _untold) -> int:
    """Bring the account's text rows into the present form, at least ``most`` of them; return how many were looked at.

    When all are, the account says so, and its counts of common lexemes are made anew. ``note`` is told after each chunk
    how many were looked at so far.
    """
    looked_at = 0
    while most is None or looked_at < most:
        with account_transaction(account_id):
            count = _chunk(account_id)
        if not count:
            break
        looked_at += count
        note(looked_at)
    return looked_at


def reindex_pending(*, most: int) -> int:
    """Do :func:`reindex` for every account that needs it; return how many rows were looked at.

    Raises ``isolation.Incomplete`` when it failed for some, after doing it for all others.
    """
    return isolation.each_account(pending(), lambda account_id: reindex(account_id, most=most), name="reindex")


def _chunk(account_id: uuid.UUID) -> int:
    """Rewrite one chunk and note how far it went; return its rows, 0 when nothing is left."""
    # Without the key, so that nobody has to wait who writes a row of the account.
    account = Account.objects.select_for_update(no_key=True).get(pk=account_id)
    if account.text_version == textindex.ANALYZER_VERSION:
        return 0
    done = account.text_progress if account.text_progress.get("version") == textindex.ANALYZER_VERSION else {}
    for unit, where in _UNITS.items():
        count, last = _rewrite(account_id, where, after=done.get(unit.value))
        if last is not None:
            account.text_progress = {**done, "version": textindex.ANALYZER_VERSION, unit.value: str(last)}
            account.save(update_fields=["text_progress"])
            return count
    account.text_version, account.text_progress = textindex.ANALYZER_VERSION, {}
    account.save(update_fields=["text_version", "text_progress"])
    CommonLexemes.objects.filter(account_id=account_id).delete()
    return 0


def _rewrite(account_id: uuid.UUID, unit: _Unit, *, after: str | None) -> tuple[int, uuid.UUID | None]:
    """Rewrite the next rows, by id from behind ``after``; return their number and the last of them.

    Only what differs is written: each write costs index-only scans until the next vacuum.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT t.{unit.key}, {unit.columns} FROM {unit.table} t JOIN {unit.source} s ON s.id = t.{unit.key}"
            f" WHERE t.account_id = %(account)s AND (%(after)s::uuid IS NULL OR t.{unit.key} > %(after)s::uuid)"
            f" ORDER BY t.{unit.key} LIMIT %(limit)s FOR UPDATE OF t",
            {"account": account_id, "after": after, "limit": CHUNK},
        )
        found = cursor.fetchall()
        if not found:
            return 0, None
        prepared = [unit.prepare(*row[1:]) for row in found]
        cursor.execute(
            f"UPDATE {unit.table} t SET tsv = x.tsv FROM ("
            f"SELECT u.id, {textindex.tsvector_sql('u.stem', 'u.plain')} AS tsv"
            " FROM unnest(%(ids)s::uuid[], %(stems)s::text[], %(plains)s::text[]) AS u(id, stem, plain)) x"
            f" WHERE t.account_id = %(account)s AND t.{unit.key} = x.id AND t.tsv <> x.tsv",
            {
                "account": account_id,
                "ids": [row[0] for row in found],
                "stems": [item.stem for item in prepared],
                "plains": [item.plain for item in prepared],
            },
        )
    return len(found), found[-1][0]
