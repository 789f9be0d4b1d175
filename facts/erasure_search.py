"""Looking for words in everything that is stored: what an erasure finds repeated, and that nothing is left of it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.search import SearchVectorField
from django.db import connection, models
from django.db.models import Model

from facts import erasure
from facts.erasure import Erasing

#: Shorter words are looked for only as whole words (names); as parts of texts they would be everywhere.
LEAST_TEXT = 12
#: Texts looked for in one search. A scan of every table for each of a thousand messages would take hours.
MOST_TEXTS = 200
#: Characters of a long text that are looked for.
LONGEST_TEXT = 200
LEAST_NAME = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found: rows by table, how many tables were searched, and for how many words."""

    rows: dict[str, int]
    tables: int
    words: int

    def as_json(self) -> dict[str, Any]:
        """Return the form that receipts keep."""
        return {"tables": self.tables, "words": self.words, "left": self.rows}


def distinctive(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts worth looking for: long enough, the longest first, at most :data:`MOST_TEXTS`."""
    cut = {text.strip()[:LONGEST_TEXT] for text in texts}
    return tuple(sorted((text for text in cut if len(text) >= LEAST_TEXT), key=lambda text: (-len(text), text)))[
        :MOST_TEXTS
    ]


def text_columns(model: type[Model]) -> list[str]:
    """Return the columns of a model in which words may stand."""
    kinds = (models.CharField, models.TextField, models.JSONField)
    return [
        field.column
        for field in model._meta.local_concrete_fields
        if isinstance(field, kinds) and not isinstance(field, SearchVectorField)
    ]


def keys_saying(erasing: Erasing, model: type[Model], *columns: str) -> list[Any]:
    """Return the primary keys of the account's rows in which one of the words stands."""
    if not erasing.texts and not erasing.names:
        return []
    table, key = model._meta.db_table, model._meta.pk.column
    owned = "account_id = %(account)s AND" if _is_owned(model) else ""
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT "{key}" FROM "{table}" WHERE {owned} ({_says(columns)})', _parameters(erasing))
        return [row[0] for row in cursor.fetchall()]


def keys_citing(account_id: uuid.UUID, model: type[Model], ids: Sequence[uuid.UUID], *columns: str) -> list[Any]:
    """Return the primary keys of the account's rows that name one of these ids anywhere in the columns."""
    if not ids:
        return []
    table, key = model._meta.db_table, model._meta.pk.column
    names = " OR ".join(f'"{column}"::text ~ %(ids)s' for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT "{key}" FROM "{table}" WHERE account_id = %(account)s AND ({names})',
            {"account": account_id, "ids": "|".join(str(one) for one in ids)},
        )
        return [row[0] for row in cursor.fetchall()]


def search(erasing: Erasing) -> Found:
    """Look for all words in every text and JSON column of every registered table."""
    rows = {}
    searched = [model for model in erasure.registered_models() if text_columns(model)]
    for model in searched:
        count = len(keys_saying(erasing, model, *text_columns(model)))
        if count:
            rows[model._meta.label] = count
    return Found(rows=rows, tables=len(searched), words=len(erasing.texts) + len(erasing.names))


def _is_owned(model: type[Model]) -> bool:
    return any(field.column == "account_id" for field in model._meta.local_concrete_fields)


def _says(columns: Sequence[str]) -> str:
    """Return the condition that one of the words stands in the columns.

    What ILIKE does anew for each text is done once for all: 200 texts in 20,000 rows took 3.0 s with it, 1.0 so.
    """
    return " OR ".join(
        f'lower("{column}"::text) LIKE ANY((SELECT array_agg(lower(text)) FROM unnest(%(texts)s::text[]) text)::text[])'
        f' OR coalesce("{column}"::text ~* %(names)s, false)'
        for column in columns
    )


def _parameters(erasing: Erasing) -> dict[str, Any]:
    """Return the words as patterns, texts also as JSON spells them."""
    spelt = {form for text in erasing.texts for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])}
    names = "|".join(re.sub(r"([^\w\s])", r"\\\1", name) for name in erasing.names)
    literally = [re.sub(r"([%_\\])", r"\\\1", form) for form in sorted(spelt)]
    return {
        "account": erasing.account_id,
        "texts": [f"%{form}%" for form in literally],
        "names": rf"(?<![[:alnum:]_])(?:{names})(?![[:alnum:]_])" if names else None,
    }
