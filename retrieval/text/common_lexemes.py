"""Which words are too common in a corpus to search by: counted by a worker, read by every question.

Only corpora of at least 200 rows are counted. In a smaller one everything is matched, which costs nothing
there.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
from django.db import connection

from facts import isolation, statements, textindex
from facts.clock import now
from facts.models import Account, CommonLexemes, IndexedUnit
from facts.tenancy import account_transaction

#: Below this many rows a corpus has no counts.
COUNTED_FROM = 200
#: A corpus is counted again when it has grown or shrunk by this share.
STALE_AFTER = 0.2
#: Smallest share of the rows that is stored; half the share from which a lexeme is left out of matching, so
#: that the sum over several scopes stays nearly exact.
STORED_SHARE = 0.025

TABLES = {IndexedUnit.FACT: "facts_facttext", IndexedUnit.PASSAGE: "facts_passagetext"}


@dataclass(slots=True)
class Commonness:
    """The counted rows of a corpus and, for each lexeme asked about, how many of them hold it."""

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question's lexemes, how common each is in each unit, and whether there are passages at all.

    The lexemes that tell most come first: the least common ones, and of those that nobody counted the longest. Who
    searches by some of them only takes these.
    """

    lexemes: list[str]
    common: dict[str, Commonness]
    passages_stored: bool


def analyse(
    text: textindex.IndexText, *, account_id: uuid.UUID, scope_ids: Sequence[uuid.UUID], subject_id: uuid.UUID | None
) -> Analysis:
    """Return what is known of a question before it is searched for, in one round trip; ``scope_ids`` are summed."""
    about = "x.account_id = %(account)s AND x.scope_id = ANY(%(scopes)s)"
    passages = f"{about} AND x.subject_id = %(subject)s" if subject_id else about
    (lexemes, passages_stored, counted), *_ = statements.rows(
        f"SELECT tsvector_to_array({textindex.tsvector_sql()}),"
        # One index for each half; without either the whole table may be read where there is no passage.
        f" EXISTS (SELECT FROM facts_passagetext x WHERE {passages} AND x.active AND x.fits)"
        f" OR EXISTS (SELECT FROM facts_passagetext x WHERE {passages} AND x.active AND NOT x.fits),"
        " (SELECT jsonb_agg(jsonb_build_array(x.unit, x.rows, x.counts)) FROM facts_commonlexemes x"
        f" WHERE {about} AND x.subject_id IS NOT DISTINCT FROM %(subject)s::uuid)",
        {
            "stem": text.stem,
            "plain": text.plain,
            "account": account_id,
            "scopes": list(scope_ids),
            "subject": subject_id,
        },
    )
    common = {unit: Commonness() for unit in IndexedUnit.values}
    for unit, counted_rows, counts in orjson.loads(counted or "[]"):
        common[unit].rows += counted_rows
        common[unit].counts.update({lexeme: counts[lexeme] for lexeme in lexemes if lexeme in counts})
    lexemes.sort(key=lambda lexeme: (sum(unit.counts[lexeme] for unit in common.values()), -len(lexeme), lexeme))
    return Analysis(lexemes=lexemes, common=common, passages_stored=passages_stored)


def refresh(account_id: uuid.UUID) -> int:
    """Count again every corpus of the account that has changed enough; return how many were counted."""
    with account_transaction(account_id):
        return sum(_refresh_unit(account_id, unit) for unit in IndexedUnit)


def refresh_all() -> int:
    """Do :func:`refresh` for every account; return how many corpora were counted.

    Raises ``isolation.Incomplete`` when it failed for some, after doing it for all others.
    """
    accounts = list(Account.objects.order_by("id").values_list("id", flat=True))
    return isolation.each_account(accounts, refresh, name="count lexemes")


def _refresh_unit(account_id: uuid.UUID, unit: IndexedUnit) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT scope_id, subject_id, count(*) FROM {TABLES[unit]} WHERE account_id = %s AND active"
            " GROUP BY GROUPING SETS ((scope_id), (scope_id, subject_id)) HAVING count(*) >= %s",
            [account_id, COUNTED_FROM],
        )
        sizes = {(scope_id, subject_id): rows for scope_id, subject_id, rows in cursor.fetchall()}
    known = {
        (row.scope_id, row.subject_id): row
        for row in CommonLexemes.objects.filter(account_id=account_id, unit=unit).only("scope_id", "subject_id", "rows")
    }
    gone = [row.id for corpus, row in known.items() if corpus not in sizes]
    CommonLexemes.objects.filter(account_id=account_id, id__in=gone).delete()
    stale = [
        corpus
        for corpus, rows in sizes.items()
        if corpus not in known or abs(known[corpus].rows - rows) > STALE_AFTER * known[corpus].rows
    ]
    for scope_id, subject_id in stale:
        rows = sizes[scope_id, subject_id]
        counted = {
            "rows": rows,
            "counts": _count(account_id, unit, scope_id, subject_id, rows),
            "refreshed_at": now(),
        }
        CommonLexemes.objects.update_or_create(
            account_id=account_id, scope_id=scope_id, subject_id=subject_id, unit=unit, defaults=counted
        )
    return len(stale)


def _count(
    account_id: uuid.UUID, unit: IndexedUnit, scope_id: uuid.UUID, subject_id: uuid.UUID | None, rows: int
) -> dict[str, int]:
    """Return the rows that hold each lexeme of a noticeable share."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT lexeme, count(*) FROM {TABLES[unit]}, unnest(tsvector_to_array(tsv)) AS lexeme"
            " WHERE account_id = %(account)s AND scope_id = %(scope)s AND active"
            " AND (%(subject)s::uuid IS NULL OR subject_id = %(subject)s)"
            " GROUP BY lexeme HAVING count(*) >= %(least)s ORDER BY lexeme",
            {"account": account_id, "scope": scope_id, "subject": subject_id, "least": STORED_SHARE * rows},
        )
        return dict(cursor.fetchall())
