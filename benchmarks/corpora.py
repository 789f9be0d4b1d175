"""Writing large corpora of facts and of what was said, through the ledger's own tables and index rows.

For benchmarks of reading: rows are as capture, consolidation and indexing leave them, without a gate
decision and an audit entry for each, which nothing that is measured looks at.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import psycopg

    from facts.models import Account, Event, Fact, Scope, Subject

CHUNK = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn: by whom, what, and when."""

    key: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One fact with the keys of the turns that support it; with an end it is superseded."""

    statement: str
    at: datetime
    until: datetime | None = None
    predicate: str = ""
    value: dict[str, Any] | None = None
    sources: tuple[str, ...] = field(default_factory=tuple)


def use_directory(directory: Path) -> None:
    """Set Django up on an embedded database of its own below ``directory``, migrated."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="memory_site.settings", MEMORY_VAR_DIR=str(directory), DATABASE_URL="", TASKS_EAGER=""
    )
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    from memory_site.database import preparation

    preparation.create_database(connections["owner"])
    call_command("migrate", verbosity=0, interactive=False)


def say(
    account: Account, scope: Scope, subject: Subject, turns: Sequence[Said], *, searchable: bool
) -> dict[str, Event]:
    """Write one event for each turn, and unless not ``searchable`` its passage; return the events by their keys."""
    from facts import index
    from facts.models import Event, Passage

    events = {
        turn.key: Event(
            account=account,
            scope=scope,
            subject=subject,
            source_key=f"{scope.path} {turn.key}",
            kind="conversation.message",
            text=turn.text,
            occurred_at=turn.at,
            content_hash="sha256:" + sha256(turn.text.encode()).hexdigest(),
        )
        for turn in turns
    }
    Event.objects.bulk_create(events.values(), batch_size=CHUNK)
    if searchable:
        passages = [
            Passage(
                account=account,
                event=events[turn.key],
                scope=scope,
                subject=subject,
                ordinal=0,
                speaker_name=turn.speaker,
                text=turn.text,
                occurred_at=turn.at,
            )
            for turn in turns
        ]
        Passage.objects.bulk_create(passages, batch_size=CHUNK)
        for chunk in _chunks(passages):
            index.write_passage_text(chunk)
    return events


def know(
    account: Account,
    scope: Scope,
    subject: Subject,
    facts: Sequence[Known],
    *,
    events: dict[str, Event],
    shared: bool = False,
) -> list[Fact]:
    """Write facts with their first revision, evidence and text rows, and return them.

    They are for their subject alone, or ``shared`` with all readers of the scope.
    """
    from facts import index
    from facts.canonical import identity_key, statement_hash, value_key
    from facts.models import AccountSecret, Evidence, Fact, FactRevision
    from facts.vocabulary import Level, Sensitivity, Status

    secret = bytes(AccountSecret.objects.get(account=account).statement_key)
    made = [
        Fact(
            account=account,
            scope=scope,
            subject=subject,
            level=Level.SCOPE if shared else Level.PEER,
            sensitivity=Sensitivity.INTERNAL if shared else Sensitivity.PERSONAL,
            status=Status.SUPERSEDED if known.until else Status.ACTIVE,
            statement=known.statement,
            statement_hash=statement_hash(secret, known.statement),
            predicate=known.predicate,
            value=known.value,
            # Every person of the corpus is one subject here: the whole statement tells claims apart.
            identity_key=identity_key(known.predicate, {"of": known.statement}) if known.predicate else "",
            value_key=value_key(known.value, denies=False) if known.predicate else "",
            confidence=0.9,
            valid_from=known.at,
            valid_to=known.until,
            recorded_from=known.at,
            start_assumed=True,
            corroboration=1,
        )
        for known in facts
    ]
    Fact.objects.bulk_create(made, batch_size=CHUNK)
    kept = [column for column in FactRevision._meta.concrete_fields if _is_shared(column.attname, Fact)]
    FactRevision.objects.bulk_create(
        [
            FactRevision(
                fact=fact,
                action="fact.proposed",
                group=fact.id,
                **{column.attname: getattr(fact, column.attname) for column in kept},
            )
            for fact in made
        ],
        batch_size=CHUNK,
    )
    Evidence.objects.bulk_create(
        [
            Evidence(account=account, fact=fact, event=events[key], quote=events[key].text)
            for fact, known in zip(made, facts, strict=True)
            for key in known.sources
        ],
        batch_size=CHUNK,
    )
    for chunk in _chunks(made):
        index.write_fact_text(chunk)
    return made


def embed_everything(account_id: uuid.UUID, *, cache: Path | None = None) -> int:
    """Write the missing vectors of an account; ``cache`` keeps those of texts embedded before. Return their number."""
    from facts import embedding, index
    from facts.embedding import Embedded

    provider = embedding.writing()
    if provider is None:
        return 0
    space = embedding.space(provider.identity)
    known = _Vectors(cache)
    written = 0
    for missing, write in (
        (index.facts_missing_vectors, index.write_fact_vectors),
        (index.passages_missing_vectors, index.write_passage_vectors),
    ):
        while rows := missing(account_id, space=space, limit=CHUNK):
            vectors = known.of([text for _, text in rows], provider)
            embedded = [Embedded(provider.identity, vector) for vector in vectors]
            write(account_id, vectors=[(row[0], v) for row, v in zip(rows, embedded, strict=True)])
            written += len(rows)
    known.save()
    return written


def vectors_of(texts: Sequence[str], *, cache: Path | None = None) -> np.ndarray:
    """Return the vectors of texts as stored ones are made, those in ``cache`` without making them again."""
    from facts import embedding

    return np.array(_Vectors(cache).of(texts, embedding.provider()))


def copy_facts(
    account_id: uuid.UUID, *, source: uuid.UUID, target: uuid.UUID, about: tuple[uuid.UUID, uuid.UUID] | None = None
) -> None:
    """Copy the facts of one scope, their first revisions and their index rows into another, without their evidence.

    ``about``: only those of the first of these subjects, told of the second in the copy.
    """
    from facts import embedding, vector_tables
    from facts.models import Fact, FactRevision, FactText, FactVector

    serving = embedding.serving()
    copied = {
        Fact._meta.db_table: (Fact, "id"),
        FactRevision._meta.db_table: (FactRevision, "fact_id"),
        FactText._meta.db_table: (FactText, "fact_id"),
    }
    if serving is not None:
        copied[vector_tables.table("fact", serving.dimensions)] = (FactVector, "fact_id")
    replaced = {"scope_id": "%(target)s", "group": "m.new", **({"subject_id": "%(subject)s"} if about else {})}
    with owner() as connection, connection.transaction():
        # Checks and the triggers of append-only tables are for what is not known to be right.
        connection.execute("SET LOCAL session_replication_role = replica")
        # Nothing is known of the new table: each of its rows goes by an index into the large ones.
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute(
            "CREATE TEMP TABLE copied ON COMMIT DROP AS SELECT id AS old, gen_random_uuid() AS new FROM facts_fact"
            " WHERE account_id = %s AND scope_id = %s AND coalesce(subject_id = %s, true)",
            [account_id, source, about[0] if about else None],
        )
        for table, (model, key) in copied.items():
            columns = [column.column for column in model._meta.concrete_fields]
            values = {key: "m.new", **({"id": "gen_random_uuid()"} if key != "id" else {}), **replaced}
            chosen = ", ".join(values.get(column, f'x."{column}"') for column in columns)
            named = ", ".join(f'"{column}"' for column in columns)
            connection.execute(
                f"INSERT INTO {table} ({named}) SELECT {chosen} FROM {table} x JOIN copied m ON m.old = x.{key}",
                {"target": target, "subject": about[1] if about else None},
            )


def settle() -> None:
    """Vacuum and analyse as autovacuum would: searches are index-only from here on."""
    with owner() as connection:
        connection.execute("VACUUM ANALYZE")


@contextmanager
def owner() -> Iterator[psycopg.Connection]:
    """Open a connection of the owner of the tables, each statement of which is committed by itself."""
    import psycopg
    from django.db import connections

    parameters = connections["owner"].get_connection_params()
    wanted = {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}
    with psycopg.connect(**wanted, autocommit=True) as connection:
        yield connection


class _Vectors:
    """Vectors by text, kept in a file between runs."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rows: dict[str, np.ndarray] = {}
        if path is not None and path.exists():
            with np.load(path) as stored:
                self._rows = dict(zip(stored["digests"].tolist(), stored["vectors"], strict=True))

    def of(self, texts: Sequence[str], provider: Any) -> list[np.ndarray]:
        digests = [sha256(f"{provider.identity}\n{text}".encode()).hexdigest() for text in texts]
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._rows}
        if new:
            self._rows |= dict(zip(new, provider.embed_documents(list(new.values())), strict=True))
        return [self._rows[digest] for digest in digests]

    def save(self) -> None:
        if self._path is not None and self._rows:
            np.savez(self._path, digests=np.array(list(self._rows)), vectors=np.array(list(self._rows.values())))


def _is_shared(name: str, model: type) -> bool:
    return name != "id" and name in {column.attname for column in model._meta.concrete_fields}


def _chunks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]
