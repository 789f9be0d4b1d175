"""Other names in a question: whoever asks about "Olek" also asks about Oleksandr Koval.

Facts call a subject by its name; people use whatever an identity says as well. Where a question holds such an alias
and not the name, the name is written in before the alias, for the vector and the text search alike. An alias of
several subjects says nothing.

The aliases of an account are read by one query and remembered for some seconds. They add words to a search: what may be
seen is decided where it is found. Which name an alias stands for is known among peers; nobody else's question is
changed. Only names are aliases here: whose address, number or handle it is, is told to nobody who tries one.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from django.db.models import F

from facts.audience import Posture, Reader
from facts.models import Identity
from facts.tenancy import account_transaction
from facts.words import words

SECONDS = 10.0
#: Accounts remembered by one process.
CAPACITY = 1_024
#: Aliases of an account that are known here, the newest first.
MAX_ALIASES = 20_000
#: Words of an alias, and words of a question that are looked at.
MAX_ALIAS_WORDS = 5
MAX_QUESTION_WORDS = 200
#: Names written into one question.
MAX_NAMES = 3

#: What no name has: digits, and the signs of addresses and handles.
_NO_NAME = re.compile(r"[\d@_:/#]")

#: The folded words of an alias.
Alias = tuple[str, ...]


class Known(NamedTuple):
    """The name that an alias stands for, and the alias as it is written."""

    name: str
    written: str


_remembered: dict[uuid.UUID, tuple[float, Mapping[Alias, Known]]] = {}


def with_names(account_id: uuid.UUID, text: str, *, reader: Reader) -> str:
    """Return the question ``text`` of ``reader`` with the names of the subjects whose aliases it holds.

    May be called inside and outside of the account's transaction.
    """
    aliases = {} if reader.posture is Posture.PUBLIC_ONLY else _of_account(account_id)
    if not aliases:
        return text
    asked = [word.folded for word in words(text)[:MAX_QUESTION_WORDS]]
    missing: dict[str, str] = {}
    for alias in _spans(asked):
        known = aliases.get(alias)
        if known is not None and not _holds(asked, known.name):
            missing.setdefault(known.name, known.written)
    for name, written in list(missing.items())[:MAX_NAMES]:
        text = _written_in(text, written, name)
    return text


def forget() -> None:
    """Drop what this process remembers."""
    _remembered.clear()


def _spans(asked: list[str]) -> Iterator[Alias]:
    """Yield the runs of words that could be an alias, longer ones first at each place."""
    for start in range(len(asked)):
        for length in range(min(MAX_ALIAS_WORDS, len(asked) - start), 0, -1):
            yield tuple(asked[start : start + length])


def _holds(asked: list[str], name: str) -> bool:
    return {word.folded for word in words(name)} <= set(asked)


def _written_in(text: str, alias: str, name: str) -> str:
    """Return ``text`` with ``name`` before the alias, or at the end where the alias is written another way."""
    found = re.search(rf"(?<!\w){re.escape(alias)}(?!\w)", text, re.IGNORECASE)
    if found is None:
        return f"{text} ({name})"
    return f"{text[: found.start()]}{name} ({found.group()}){text[found.end() :]}"


def _of_account(account_id: uuid.UUID) -> Mapping[Alias, Known]:
    known = _remembered.get(account_id)
    if known is not None and known[0] > time.monotonic():
        return known[1]
    found = _read(account_id)
    if len(_remembered) >= CAPACITY:
        _remembered.clear()
    _remembered[account_id] = (time.monotonic() + SECONDS, found)
    return found


def _read(account_id: uuid.UUID) -> dict[Alias, Known]:
    """Return the name that each alias of one subject stands for."""
    with account_transaction(account_id):
        rows = list(
            Identity.objects.filter(account_id=account_id)
            .exclude(subject__name="")
            .exclude(value__iexact=F("subject__name"))
            .order_by("-id")
            .values_list("value", "subject_id", "subject__name")[:MAX_ALIASES]
        )
    owners: dict[Alias, set[uuid.UUID]] = {}
    known: dict[Alias, Known] = {}
    for value, subject_id, name in rows:
        alias = tuple(word.folded for word in words(value))
        if 0 < len(alias) <= MAX_ALIAS_WORDS and not _NO_NAME.search(value):
            owners.setdefault(alias, set()).add(subject_id)
            known[alias] = Known(name, value)
    return {alias: known[alias] for alias, subjects in owners.items() if len(subjects) == 1}
