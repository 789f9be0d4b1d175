"""Reading the names in facts into the index, fact by fact as they come, or a whole scope anew.

Facts are read in one transaction, their names found outside of any, and written in a last one that replaces what was
there; so a failure leaves the index as it was. All writing of one account waits for ``Lock.ENTITIES``, which makes it
safe to run twice, late, or in two places.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import NamedTuple

from django.db import connection

from facts import isolation
from facts.clock import now
from facts.ids import lower_bound
from facts.locks import Lock, lock_account
from facts.models import Account, Fact
from facts.status_graph import FINAL
from facts.tenancy import account_transaction
from retrieval.entities import known, names, pruning, resolving
from retrieval.entities.known import KnownNames
from retrieval.entities.names import CERTAIN, RECIPE, Name
from retrieval.models import Mention, NamesRead

#: Facts whose names are written in one transaction: well under a second.
CHUNK = 500
#: Bound on the facts of one account that a run of the worker reads, some seconds of work.
PER_RUN = 5_000
#: Facts that are younger are looked for in every run, older ones once in this time.
RECENT = timedelta(hours=1)
#: A name of the subject that others go by as well.
SHARED = 0.5


class Unread(NamedTuple):
    """A fact as it is read for names."""

    fact_id: uuid.UUID
    scope_id: uuid.UUID
    subject_id: uuid.UUID
    statement: str


class Reading(NamedTuple):
    """The names in one fact."""

    fact_id: uuid.UUID
    scope_id: uuid.UUID
    names: list[Name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild of one scope read, and what it wrote, or without writing would write."""

    facts: int
    mentions: int
    names: int


_caught_up: dict[uuid.UUID, float] = {}


#: Is told, inside the account, of the scopes in which other names are read now.
Listener = Callable[[uuid.UUID, Iterable[uuid.UUID]], object]


def keep_all(*, changed: Listener = lambda account_id, scope_ids: None) -> int:
    """Read the facts of every account that have not been read yet, within bounds; return their number.

    Raises ``isolation.Incomplete`` when it failed for some, after doing it for all others.
    """
    accounts = list(Account.objects.order_by("id").values_list("id", flat=True))
    return isolation.each_account(accounts, lambda account_id: keep(account_id, changed=changed), name="read names")


def keep(account_id: uuid.UUID, *, changed: Listener = lambda account_id, scope_ids: None) -> int:
    """Drop what wiped facts named and read new facts, at most :data:`PER_RUN`; return how many were read.

    Each run looks at recent facts. Every hour a process looks at all facts once more, and until it finds none
    unread it goes on doing so.
    """
    pruning.drop_wiped(account_id)
    looks_at_all = _caught_up.get(account_id, 0.0) < monotonic()
    known_names: KnownNames | None = None
    read = 0
    while read < PER_RUN:
        with account_transaction(account_id):
            facts = _unread(account_id, recent_only=not looks_at_all)
            if facts and known_names is None:
                known_names = known.load(account_id)
        if not facts or known_names is None:
            break
        _write([reading(fact, known_names) for fact in facts], account_id=account_id, known_names=known_names)
        with account_transaction(account_id):
            changed(account_id, {fact.scope_id for fact in facts})
        read += len(facts)
    if looks_at_all and read < PER_RUN:
        _tidy(account_id)
        _caught_up[account_id] = monotonic() + RECENT.total_seconds()
    return read


def _tidy(account_id: uuid.UUID) -> None:
    """Follow what has become of subjects and their names, and remove what nothing holds any more."""
    with account_transaction(account_id):
        known_names = known.load(account_id)
        lock_account(Lock.ENTITIES, account_id)
        resolving.follow_subjects(account_id, known=known_names)
        pruning.prune_locked(account_id)


def forget() -> None:
    """Make this process look at all facts again."""
    _caught_up.clear()


def rebuild_scope(
    account_id: uuid.UUID,
    scope_id: uuid.UUID,
    *,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda number: None,
) -> Rebuilt:
    """Read all facts of a scope again and replace its mentions in one transaction.

    ``progress`` is told the number of facts read so far. With ``dry_run`` nothing is written.
    """
    with account_transaction(account_id):
        known_names = known.load(account_id)
    readings: list[Reading] = []
    for facts in _chunks(account_id, scope_id):
        readings.extend(reading(fact, known_names) for fact in facts)
        progress(len(readings))
    if not dry_run:
        with account_transaction(account_id):
            lock_account(Lock.ENTITIES, account_id)
            _clear(account_id, scope_id, read=[item.fact_id for item in readings])
            _insert(readings, account_id=account_id, known_names=known_names)
            pruning.prune_locked(account_id)
    found = {name.folded for item in readings for name in item.names}
    return Rebuilt(facts=len(readings), mentions=sum(len(item.names) for item in readings), names=len(found))


def reading(fact: Unread, known_names: KnownNames) -> Reading:
    """Return the names in a fact: as written, as known, and those of its subject. Pure.

    A known name inside of a longer one is not that name: "Victor" of "Victor Hale" is no other Victor.
    """
    found = {name.folded: name for name in names.names_in(fact.statement)}
    for name in names.known_in(fact.statement, known_names.__contains__):
        if name.folded not in found and not _is_part_of(name.folded, found):
            found[name.folded] = name
        elif name.folded in found:
            found[name.folded] = found[name.folded]._replace(confidence=CERTAIN)
    own = known_names.own_names(fact.subject_id)
    if own and not any(name in found for name in own):
        found[own[0]] = Name(own[0], "", CERTAIN)
    for shared in known_names.shared_names(fact.subject_id):
        found.setdefault(shared, Name(shared, "", SHARED))
    return Reading(fact.fact_id, fact.scope_id, sorted(found.values()))


def _is_part_of(folded: str, found: Iterable[str]) -> bool:
    return any(f" {folded} " in f" {other} " for other in found)


def _unread(account_id: uuid.UUID, *, recent_only: bool) -> list[Unread]:
    """Return up to :data:`CHUNK` facts, whatever their status, that have not been read by today's rules."""
    since = lower_bound(now() - RECENT) if recent_only else uuid.UUID(int=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT f.id, f.scope_id, f.subject_id, f.statement FROM facts_fact f"
            " WHERE f.account_id = %(account)s AND f.id >= %(since)s AND NOT f.status = ANY(%(wiped)s)"
            " AND NOT EXISTS (SELECT FROM retrieval_namesread r WHERE r.fact_id = f.id AND r.recipe = %(recipe)s)"
            " ORDER BY f.id LIMIT %(limit)s",
            {"account": account_id, "since": since, "wiped": list(FINAL), "recipe": RECIPE, "limit": CHUNK},
        )
        return [Unread(*row) for row in cursor.fetchall()]


def _chunks(account_id: uuid.UUID, scope_id: uuid.UUID) -> Iterator[list[Unread]]:
    """Yield the facts of a scope, a chunk in each transaction."""
    after = uuid.UUID(int=0)
    while True:
        with account_transaction(account_id):
            rows = Fact.objects.filter(account_id=account_id, scope_id=scope_id, id__gt=after)
            rows = rows.exclude(status__in=FINAL).order_by("id")
            facts = [Unread(*row) for row in rows.values_list("id", "scope_id", "subject_id", "statement")[:CHUNK]]
        if not facts:
            return
        yield facts
        after = facts[-1].fact_id


def _write(readings: Sequence[Reading], *, account_id: uuid.UUID, known_names: KnownNames) -> None:
    with account_transaction(account_id):
        lock_account(Lock.ENTITIES, account_id)
        read = [item.fact_id for item in readings]
        Mention.objects.filter(account_id=account_id, fact_id__in=read).delete()
        NamesRead.objects.filter(account_id=account_id, fact_id__in=read).delete()
        _insert(readings, account_id=account_id, known_names=known_names)


def _clear(account_id: uuid.UUID, scope_id: uuid.UUID, *, read: Sequence[uuid.UUID]) -> None:
    """Remove a scope's mentions but for those of facts that came after the reading: another run has read them."""
    parameters = {"account": account_id, "scope": scope_id, "read": list(read), "wiped": list(FINAL)}
    with connection.cursor() as cursor:
        for table in ("retrieval_mention", "retrieval_namesread"):
            cursor.execute(
                f"DELETE FROM {table} m WHERE m.account_id = %(account)s AND m.scope_id = %(scope)s"
                " AND (m.fact_id = ANY(%(read)s) OR EXISTS (SELECT FROM facts_fact f"
                "      WHERE f.id = m.fact_id AND (f.status = ANY(%(wiped)s) OR f.scope_id <> m.scope_id)))",
                parameters,
            )


def _insert(readings: Sequence[Reading], *, account_id: uuid.UUID, known_names: KnownNames) -> None:
    """Write mentions and aliases of facts that are still there.

    What is wiped at this very moment is dropped again by the next run (``pruning.drop_wiped``).
    """
    ids = [item.fact_id for item in readings]
    there = Fact.objects.filter(account_id=account_id, id__in=ids).exclude(status__in=FINAL)
    still_there = set(there.values_list("id", flat=True))
    readings = [item for item in readings if item.fact_id in still_there]
    found = {name.folded for item in readings for name in item.names}
    aliases = resolving.regroup(account_id, found, known=known_names)
    Mention.objects.bulk_create(
        [
            Mention(
                account_id=account_id,
                alias_id=aliases[name.folded],
                fact_id=item.fact_id,
                scope_id=item.scope_id,
                surface=name.shown,
                confidence=name.confidence,
            )
            for item in readings
            for name in item.names
        ],
        batch_size=1_000,
    )
    NamesRead.objects.bulk_create(
        [
            NamesRead(account_id=account_id, fact_id=item.fact_id, scope_id=item.scope_id, recipe=RECIPE)
            for item in readings
        ],
        batch_size=1_000,
        ignore_conflicts=True,
    )
