"""Whether the evidence for a question is found: LoCoMo through the real context path, without a language model.

    python -m benchmarks.locomo --file locomo10.json [--vector 0.6 --text 0.4 --recency 0.05]

Every turn becomes a passage, every conversation a scope of its own. Each question with evidence (categories
1 to 4) is asked once; recall@k is the share of its evidence turns among the first k passages, averaged over
questions. The data (CC BY-NC 4.0) is not kept here; ``--file`` or ``MEMORY_LOCOMO`` says where it is, and
without it nothing is measured. Weights tuned on part of the conversations are to be judged on the others.
Prints one JSON object.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpora

if TYPE_CHECKING:
    from facts.models import Account

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DEPTHS = (8, 10, 20, 50)
_TURN = re.compile(r"D(\d+):(\d+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A question, the turns that answer it, and the instant at which it is asked."""

    conversation: str
    category: str
    text: str
    evidence: frozenset[str]
    asked_at: datetime


def read(path: Path) -> tuple[dict[str, list[corpora.Said]], list[Question]]:
    """Return the turns of each conversation and all questions with evidence."""
    conversations: dict[str, list[corpora.Said]] = {}
    questions: list[Question] = []
    for sample in json.loads(path.read_text(encoding="utf-8")):
        name, content = sample["sample_id"], sample["conversation"]
        turns = list(_turns(content))
        conversations[name] = turns
        known = {turn.key for turn in turns}
        end = max(turn.at for turn in turns) + timedelta(days=1)
        for item in sample["qa"]:
            found = {
                f"D{int(a)}:{int(b)}" for cited in item.get("evidence") or [] for a, b in _TURN.findall(str(cited))
            }
            if item.get("category") in CATEGORIES and found & known:
                questions.append(
                    Question(name, CATEGORIES[item["category"]], str(item["question"]), frozenset(found & known), end)
                )
    return conversations, questions


def _turns(content: dict[str, Any]) -> Iterator[corpora.Said]:
    number = 1
    while f"session_{number}" in content:
        start = datetime.strptime(content[f"session_{number}_date_time"].strip(), "%I:%M %p on %d %B, %Y")
        for second, turn in enumerate(content[f"session_{number}"]):
            session, position = map(int, _TURN.fullmatch(turn["dia_id"]).groups())
            text = turn.get("text", "")
            yield corpora.Said(
                key=f"D{session}:{position}",
                speaker=turn["speaker"],
                text=text or turn["speaker"],
                at=start.replace(tzinfo=UTC) + timedelta(seconds=second),
            )
        number += 1


def load(conversations: dict[str, list[corpora.Said]], *, vectors: Path | None) -> Account:
    """Write the conversations into an account; the key of each turn is the source key of its event."""
    from facts.models import Account
    from facts.tenancy import account_transaction, create_account, ensure_scope, ensure_subject
    from retrieval import common_lexemes

    account = Account.objects.filter(key="locomo").first()
    if account is not None:
        return account
    account = create_account(key="locomo", name="LoCoMo")
    with account_transaction(account.id):
        subject = ensure_subject(account.id, key="speakers")
        for name, turns in conversations.items():
            corpora.say(account, ensure_scope(account.id, f"/{name}"), subject, turns, searchable=True)
        corpora.embed_everything(account.id, cache=vectors)
    corpora.settle()
    common_lexemes.refresh_all()
    return account


def ask(account: Account, questions: Sequence[Question], weights: dict[str, float | None]) -> dict[str, Any]:
    """Return the mean recall at each depth, over all questions and for each category."""
    from facts.actors import system
    from facts.models import Event
    from facts.tenancy import account_transaction
    from governance import access, keys
    from retrieval.context import ContextRequest, assemble
    from retrieval.profiles import CONTEXT

    given = {name: value for name, value in weights.items() if value is not None}
    profile = dataclasses.replace(CONTEXT, passages=max(DEPTHS), weights=dataclasses.replace(CONTEXT.weights, **given))
    with account_transaction(account.id):
        _, raw = keys.create_key(
            account_id=account.id, label="benchmark", rights=access.APP_RIGHTS, actor=system("benchmark")
        )
        turns = {event.id: event.source_key.split(" ", 1)[1] for event in Event.objects.filter(account=account)}
    principal = keys.authenticate(raw)
    recalls: dict[str, list[list[float]]] = defaultdict(list)
    for question in questions:
        request = ContextRequest(
            scope_path=f"/{question.conversation}",
            exact=True,
            subject_key="speakers",
            query=question.text,
            purpose="benchmark",
            budget=1_000_000,
        )
        answer = assemble(principal=principal, request=request, profile=profile)
        ranked = [turns[passage.event_id] for passage in answer.packet.passages]
        row = [len(question.evidence & set(ranked[:depth])) / len(question.evidence) for depth in DEPTHS]
        recalls["all"].append(row)
        recalls[question.category].append(row)
    return {
        "weights": dataclasses.asdict(profile.weights),
        **{
            name: {"questions": len(rows)}
            | {
                f"recall@{depth}": round(sum(column) / len(rows), 4)
                for depth, column in zip(DEPTHS, zip(*rows, strict=True), strict=True)
            }
            for name, rows in sorted(recalls.items())
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, ask, print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", type=Path, default=os.environ.get("MEMORY_LOCOMO"))
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--vectors", type=Path, help="file (.npz) that keeps vectors between runs")
    for name in ("vector", "text", "recency"):
        parser.add_argument(f"--{name}", type=float)
    options = parser.parse_args(arguments)
    if options.file is None or not Path(options.file).exists():
        print("No LoCoMo file: nothing measured.", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        directory = (options.directory or Path(temporary)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        # The embedded server may run as another user, who has to reach its files.
        Path(temporary).chmod(0o755)
        corpora.use_directory(directory)
        conversations, questions = read(Path(options.file))
        account = load(conversations, vectors=options.vectors)
        weights = {name: getattr(options, name) for name in ("vector", "text", "recency")}
        print(json.dumps(ask(account, questions, weights)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
