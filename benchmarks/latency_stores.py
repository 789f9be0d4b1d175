"""The stores that latency is measured on, written once into a database of their own.

``turns``: the facts of a corpus in one scope, with the turns they came from as searchable passages; ``facts``: the same
without. ``large`` is ``facts`` of a larger corpus. ``many``: scopes of a thousand facts each, all of one account;
``alone``: the first of those scopes and nothing else.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpora

if TYPE_CHECKING:
    from facts.models import Account, Scope, Subject

ACCOUNT = "bench"
SCOPE_FACTS = 1_000
STORES = ("facts", "turns", "large", "many", "alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A loaded store: the account's id, a key for it, and the one scope and subject that questions are about."""

    account: Account
    key: str
    scope: Scope
    subject: Subject


def load(name: str, corpus: Path, *, facts: int, vectors: Path | None) -> Store:
    """Write the store ``name`` of at most ``facts`` facts where it is not there yet; return it with a new key.

    ``vectors`` is a file that keeps vectors between runs.
    """
    from facts.actors import system
    from facts.models import Account, Scope, Subject
    from facts.tenancy import account_transaction, create_account
    from governance import access, keys
    from retrieval.text import common_lexemes

    account = Account.objects.filter(key=ACCOUNT).first()
    if account is None:
        account = create_account(key=ACCOUNT, name="Benchmark")
        rows = list(_lines(corpus, SCOPE_FACTS if name == "alone" else facts))
        if name == "many":
            _write_many(account, rows, scopes=facts // SCOPE_FACTS, vectors=vectors)
        else:
            _write_scope(account, ACCOUNT, rows, with_turns=name == "turns", vectors=vectors)
        corpora.settle()
        common_lexemes.refresh_all()
    with account_transaction(account.id):
        _, raw = keys.create_key(
            account_id=account.id, label="benchmark", rights=access.APP_RIGHTS, actor=system("benchmark")
        )
        return Store(
            account=account,
            key=raw,
            scope=Scope.objects.get(account=account, path=f"/{ACCOUNT}"),
            subject=Subject.objects.get(account=account, key=ACCOUNT),
        )


def _lines(corpus: Path, most: int) -> Iterator[dict[str, Any]]:
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(most), lines, strict=False):
            yield json.loads(line)


def _write_scope(
    account: Account, key: str, rows: Sequence[dict[str, Any]], *, with_turns: bool, vectors: Path | None
) -> Scope:
    """Write one scope with its facts, their evidence and, where they are to be found, the turns."""
    from facts.tenancy import account_transaction, ensure_scope, ensure_subject

    turns = [
        corpora.Said(key=row["id"], speaker="", text=row["utterance"], at=datetime.fromisoformat(row["valid_from"]))
        for row in rows
    ]
    known = [
        corpora.Known(
            statement=row["text"],
            at=datetime.fromisoformat(row["valid_from"]),
            predicate=row["predicate"],
            value={"value": row["object"]},
            sources=(row["id"],),
        )
        for row in rows
    ]
    with account_transaction(account.id):
        scope = ensure_scope(account.id, f"/{key}")
        subject = ensure_subject(account.id, key=ACCOUNT)
        events = corpora.say(account, scope, subject, turns, searchable=with_turns)
        corpora.know(account, scope, subject, known, events=events)
        corpora.embed_everything(account.id, cache=vectors)
    return scope


def _write_many(account: Account, rows: Sequence[dict[str, Any]], *, scopes: int, vectors: Path | None) -> None:
    """Write ``scopes`` scopes; what the corpus has not enough facts for is copied inside the database."""
    from facts.tenancy import account_transaction, ensure_scope

    parts = [rows[start : start + SCOPE_FACTS] for start in range(0, len(rows) - SCOPE_FACTS + 1, SCOPE_FACTS)]
    written = [
        _write_scope(account, ACCOUNT if number == 0 else f"scope{number}", part, with_turns=False, vectors=vectors)
        for number, part in enumerate(parts[:scopes])
    ]
    with account_transaction(account.id):
        copies = [ensure_scope(account.id, f"/scope{number}") for number in range(len(written), scopes)]
    for number, scope in enumerate(copies):
        corpora.copy_facts(account.id, source=written[number % len(written)].id, target=scope.id)
