"""What a read may see, as conditions that hold inside its queries, before anything is ranked."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection

from facts.audience import ALL_CODES, Posture, Reader, visible_codes
from facts.clock import now
from facts.models import Scope
from facts.vocabulary import Status

#: Bound on the facts that a read of the past ranks, and what an answer lacks that reached it.
HISTORY_LIMIT = 20_000
CUT_HISTORY = "older_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """The scopes, subject, reader and instants of one read.

    ``scope_ids`` are those the caller may read, possibly none. ``subject_id`` narrows to one subject.
    ``at`` is the question's time, against which validity is checked; ``now`` the present, against which
    expiry is.
    """

    account_id: uuid.UUID
    scope_ids: tuple[uuid.UUID, ...]
    subject_id: uuid.UUID | None
    reader: Reader
    at: datetime
    now: datetime

    def current(self, table: str) -> str:
        """Return the condition on the rows of an index table; all of it can be checked inside the index."""
        return f"{self.allowed(table)} AND {table}.active AND {self.window(table)}"

    def window(self, table: str) -> str:
        """Return the part of being current that is about time: not expired, begun and not ended."""
        return _WINDOW.format(t=table)

    def allowed(self, table: str) -> str:
        """Return the condition without the test of being current: for rows chosen by their history."""
        return f"{self._place(table)} AND {self._audience(table)}"

    def parameters(self) -> dict[str, Any]:
        """Return what the conditions refer to."""
        general, own = _masks(self.reader.posture, self.reader.restricted)
        return {
            "account": self.account_id,
            "scope": self.scope_ids[0] if self.scope_ids else None,
            "scopes": list(self.scope_ids),
            "subject": self.subject_id,
            "reader": self.reader.subject_id,
            "general": general,
            "own": own,
            "at": self.at,
            "now": self.now,
        }

    def _place(self, table: str) -> str:
        scope = f"{table}.scope_id = %(scope)s" if len(self.scope_ids) == 1 else f"{table}.scope_id = ANY(%(scopes)s)"
        subject = f" AND {table}.subject_id = %(subject)s" if self.subject_id else ""
        return f"{table}.account_id = %(account)s AND {scope}{subject}"

    def _audience(self, table: str) -> str:
        """Return the audience rule: a code is visible when its bit is set in the reader's mask.

        Who reads about nobody but itself sees all of it, which then needs no look at any row.
        """
        if self.subject_id is not None and self.subject_id == self.reader.subject_id and self._sees_all_of_itself():
            return "true"
        general = f"(%(general)s::bigint >> {table}.audience) & 1 = 1"
        if self.reader.subject_id is None:
            return general
        own = f"{table}.subject_id = %(reader)s AND (%(own)s::bigint >> {table}.audience) & 1 = 1"
        return f"({general} OR ({own}))"

    def _sees_all_of_itself(self) -> bool:
        _, own = _masks(self.reader.posture, self.reader.restricted)
        return own == _bits(ALL_CODES)

    def past_facts(self, *, known_at: datetime | None) -> list[uuid.UUID]:
        """Return the facts that held at ``at``, as believed now or, with ``known_at``, as believed then.

        A believed fact is one that was active, or has ended since; from the instant of its expiry on it holds no
        more. History is read under today's permissions: what is forgotten, withdrawn or disputed today, or not for
        this reader today, stays hidden; what turned out never to have been true is for its own subject.

        Of very many, those that began last before ``at``: :data:`HISTORY_LIMIT`, and one more that tells
        (:func:`is_cut`) that there are others.
        """
        began = "r.valid_from" if known_at else "f.valid_from"
        believed = _BELIEVED_THEN if known_at else _BELIEVED_NOW
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT t.fact_id FROM facts_facttext t JOIN facts_fact f ON f.id = t.fact_id {believed}"
                f" AND {self.allowed('t')} ORDER BY {began} DESC NULLS LAST, t.fact_id DESC"
                f" LIMIT {HISTORY_LIMIT + 1}",
                {**self.parameters(), **_believed_parameters(known_at)},
            )
            return [row[0] for row in cursor.fetchall()]

    def held(self, *, known_at: datetime | None) -> str:
        """Return the condition on facts of the alias ``f`` to be among :meth:`past_facts`, but for who may see them.

        For queries that start from a few facts; ``held_parameters`` are what it refers to.
        """
        believed = _BELIEVED_THEN if known_at else _BELIEVED_NOW
        return f"EXISTS (SELECT 1 FROM (SELECT 1) one {believed})"

    def held_parameters(self, *, known_at: datetime | None) -> dict[str, Any]:
        """Return what conditions refer to that include :meth:`held`."""
        return {**self.parameters(), **_believed_parameters(known_at)}


def is_cut(past: Sequence[uuid.UUID] | None) -> bool:
    """Tell whether there are more facts of the time asked about than a read ranks; ``None`` is the present."""
    return past is not None and len(past) > HISTORY_LIMIT


def of_reader(reader: Reader, scopes: Iterable[Scope], *, account_id: uuid.UUID) -> Visibility:
    """Return what a reader may see of these scopes now."""
    moment = now()
    return Visibility(
        account_id=account_id,
        scope_ids=tuple(scope.id for scope in scopes),
        subject_id=None,
        reader=reader,
        at=moment,
        now=moment,
    )


_WINDOW = (
    "({t}.expires_at IS NULL OR {t}.expires_at > %(now)s)"
    " AND ({t}.valid_to IS NULL OR {t}.valid_to > %(at)s)"
    " AND ({t}.valid_from IS NULL OR {t}.valid_from <= %(at)s)"
)
_HELD = (
    "({t}.expires_at IS NULL OR {t}.expires_at > %(at)s)"
    " AND ({t}.valid_to IS NULL OR {t}.valid_to > %(at)s) AND ({t}.valid_from IS NULL OR {t}.valid_from <= %(at)s)"
)
_BELIEVED_NOW = f"WHERE f.status = ANY(%(ended)s) AND {_HELD.format(t='f')}"
_BELIEVED_THEN = (
    "JOIN facts_factrevision r ON r.account_id = f.account_id AND r.fact_id = f.id"
    " AND r.recorded_from <= %(known_at)s AND (r.recorded_to IS NULL OR r.recorded_to > %(known_at)s)"
    " WHERE r.status = ANY(%(ended)s)"
    " AND (f.status = ANY(%(readable)s) OR (f.status = %(rejected)s AND f.subject_id = %(reader)s))"
    f" AND {_HELD.format(t='r')}"
)


def _believed_parameters(known_at: datetime | None) -> dict[str, Any]:
    return {
        "known_at": known_at,
        "ended": [Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED],
        "readable": [Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED, Status.NEEDS_REVALIDATION],
        "rejected": Status.REJECTED,
    }


@lru_cache
def _masks(posture: Posture, restricted: bool) -> tuple[int, int]:
    """Return the reader's audience codes about anybody and about itself, each as the bits of one integer."""
    somebody = uuid.UUID(int=0) if posture is Posture.PEER else None
    codes = visible_codes(Reader(posture=posture, subject_id=somebody, restricted=restricted))
    return _bits(codes.general), _bits(codes.own)


def _bits(codes: Iterable[int]) -> int:
    return sum(1 << code for code in codes)
