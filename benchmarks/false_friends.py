"""Whether a question about one fact gets that fact and not its neighbours: served precision and recall.

    python -m benchmarks.false_friends [--file WORLD.jsonl] [--max-distance 0.5] [--json OUT]

Each file holds a small world (subjects, facts, ended facts, facts of another scope), questions of which each has
exactly one right fact among near neighbours, and questions of which the world knows nothing. Each question goes
through the real context path twice, without the recall gate and with it. Recall is the share of questions whose fact
is served; precision the share of what is served that is right, averaged over the questions that were served
anything; ``unknown_empty`` the share of the questions about nothing that got an empty packet. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpora

if TYPE_CHECKING:
    from facts.models import Account
    from governance.access import Principal

DATA = Path(__file__).parent / "data"
FILES = (DATA / "false_friends_seen.jsonl", DATA / "false_friends_unseen.jsonl")


@dataclass(slots=True)
class World:
    """One file: what is known, and what is asked."""

    subjects: list[dict[str, Any]] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    unknown: list[dict[str, Any]] = field(default_factory=list)


def read(path: Path) -> World:
    """Return the world of a file; raises ``ValueError`` for a question whose fact is not in it."""
    world = World()
    lists = {
        "subject": world.subjects,
        "fact": world.facts,
        "question": world.questions,
        "unknown": world.unknown,
    }
    for line in path.read_text(encoding="utf-8").splitlines():
        for kind, row in json.loads(line).items():
            lists[kind].append(row)
    known = {row["id"] for row in world.facts}
    missing = [row["right"] for row in world.questions if row["right"] not in known]
    if missing:
        raise ValueError(f"{path.name} has no fact {missing[0]!r}")
    return world


def load(world: World, *, key: str) -> tuple[Account, dict[uuid.UUID, str]]:
    """Write a world into an account of its own; return it and the key of each fact by its id."""
    from facts.models import Identity
    from facts.tenancy import account_transaction, create_account, ensure_scope, ensure_subject
    from retrieval.text import common_lexemes

    account = create_account(key=key, name=key)
    keys: dict[uuid.UUID, str] = {}
    with account_transaction(account.id):
        subjects = {
            row["key"]: ensure_subject(account.id, key=row["key"], kind=row["kind"], name=row["name"])
            for row in world.subjects
        }
        Identity.objects.bulk_create(
            Identity(account=account, subject=subjects[row["key"]], platform="alias", value=alias)
            for row in world.subjects
            for alias in row["aliases"]
        )
        for row in world.facts:
            known = corpora.Known(
                statement=row["statement"],
                at=_day(row["from"]),
                until=_day(row["to"]) if row["to"] else None,
                predicate=row["predicate"],
                value={"text": row["value"]},
            )
            scope = ensure_scope(account.id, row["scope"])
            [fact] = corpora.know(account, scope, subjects[row["subject"]], [known], events={}, shared=True)
            keys[fact.id] = row["id"]
        corpora.embed_everything(account.id)
    corpora.settle()
    common_lexemes.refresh_all()
    return account, keys


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def score(world: World, keys: dict[uuid.UUID, str], principal: Principal) -> dict[str, Any]:
    """Return precision, recall and emptiness over all questions and for each kind of trap."""
    rows: dict[str, list[tuple[bool, int]]] = defaultdict(list)
    wrong: list[dict[str, Any]] = []
    for question in world.questions:
        served = [keys[fact_id] for fact_id in _served(principal, question)]
        right = question["right"] in served
        for name in ("all", question["trap"]):
            rows[name].append((right, len(served)))
        if not right:
            wrong.append({"question": question["text"], "right": question["right"], "served": served[:3]})
    empty = [not _served(principal, question) for question in world.unknown]
    return {
        **{name: figures(outcome) for name, outcome in sorted(rows.items())},
        "unknown_questions": len(empty),
        "unknown_empty": round(sum(empty) / len(empty), 4) if empty else None,
        "missed": wrong,
    }


def figures(outcomes: Sequence[tuple[bool, int]]) -> dict[str, Any]:
    """Return the figures of (right fact served, number served) of some questions."""
    answered = [(right, served) for right, served in outcomes if served]
    return {
        "questions": len(outcomes),
        "recall": round(sum(right for right, _ in outcomes) / len(outcomes), 4),
        "precision": round(sum(right / served for right, served in answered) / len(answered), 4) if answered else None,
        "served": round(sum(served for _, served in outcomes) / len(outcomes), 2),
    }


def _served(principal: Principal, question: dict[str, Any]) -> list[uuid.UUID]:
    from retrieval.context.assembly import ContextRequest, assemble

    request = ContextRequest(
        scope_path=question["scope"], exact=False, query=question["text"], purpose="benchmark", budget=900
    )
    return [fact.id for fact in assemble(principal=principal, request=request).packet.facts]


def _principal(account: Account) -> Principal:
    from facts.actors import system
    from facts.tenancy import account_transaction, ensure_subject
    from governance import access, keys

    with account_transaction(account.id):
        peer = ensure_subject(account.id, key="reader", name="Reader")
        _, raw = keys.create_key(
            account_id=account.id, label="benchmark", rights=access.APP_RIGHTS, peer=peer, actor=system("benchmark")
        )
    return keys.authenticate(raw)


def main(arguments: Sequence[str] | None = None) -> int:
    """Load each world, ask with and without the gate, print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", type=Path, action="append", help="a world; default: all that are kept here")
    parser.add_argument("--max-distance", type=float, default=0.75, help="limit of the gate, a cosine distance")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        # The embedded server may run as another user, who has to reach its files.
        Path(temporary).chmod(0o755)
        corpora.use_directory(Path(temporary).resolve())
        result = {}
        for path in options.file or [path for path in FILES if path.exists()]:
            world = read(path)
            account, keys = load(world, key=path.stem)
            principal = _principal(account)
            result[path.stem] = {
                name: score_with(limit, world, keys, principal)
                for name, limit in (("without_gate", 0.0), ("with_gate", options.max_distance))
            }
    text = json.dumps(result, ensure_ascii=False, indent=1)
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    print(text)
    return 0


def score_with(limit: float, world: World, keys: dict[uuid.UUID, str], principal: Principal) -> dict[str, Any]:
    """Return the figures with the recall gate at ``limit`` (0: off)."""
    from django.test import override_settings

    # Nothing here depends on speed: a busy machine must not cost a strategy.
    with override_settings(HAKI_RECALL_MAX_DISTANCE=limit, CONTEXT_DEADLINE_MS=10_000):
        return {"max_distance": limit, **score(world, keys, principal)}


if __name__ == "__main__":
    sys.exit(main())
