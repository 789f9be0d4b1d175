"""Whether the evidence for a question is served: LoCoMo through the real context path, without a language model.

    python -m benchmarks.locomo --data FILE --json OUT

Two runs: every turn captured as an event and nothing else; and besides, the file's own observations as facts with
the turns they name as evidence. Each question of the categories 1 to 4 with evidence is asked at budgets of 900 and
2,000 tokens. An evidence turn is served when its passage is in the packet, or a fact whose evidence it is. Turn recall
is the share of the evidence turns among the first passages of the ranking. Beside it, on the same turns (and
observations): BM25 over stemmed words without stop words, vectors alone, reciprocal rank fusion of both (k = 60), and
chance; what they rank is packed into the same budgets.

The first two conversations are those that figures in the code were chosen on; judge by the others. ``--data`` or
``MEMORY_LOCOMO`` names the file; without it nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import corpora, retrieval_scores
from benchmarks.locomo_data import Conversation, Question, read
from benchmarks.retrieval_scores import Bm25, Outcome

if TYPE_CHECKING:
    from facts.models import Account
    from governance.access import Principal

BUDGETS = (900, 2_000)
#: Conversations that may be looked at while something is improved.
DEVELOPED_ON = 2
OURS = "memory_site"
RUNS = ("turns", "turns_and_observations")
#: Far above the product's own: what is served is measured here, on machines that do other things as well.
DEADLINE_MS = 10_000
#: In one ranking turns and observations have keys of different kinds.
_OBSERVATION = "observation "


def load(run: str, conversations: Sequence[Conversation], *, vectors: Path | None) -> Account:
    """Write the conversations into an account named after the run, each into a scope of its own."""
    from facts.models import Account
    from facts.tenancy import account_transaction, create_account, ensure_scope, ensure_subject
    from retrieval.text import common_lexemes

    account = Account.objects.filter(key=run).first()
    if account is not None:
        return account
    account = create_account(key=run, name=run)
    with account_transaction(account.id):
        subject = ensure_subject(account.id, key="speakers")
        for talk in conversations:
            scope = ensure_scope(account.id, f"/{talk.name}")
            events = corpora.say(account, scope, subject, talk.turns, searchable=True)
            if run != "turns":
                corpora.know(account, scope, subject, talk.observations, events=events)
        corpora.embed_everything(account.id, cache=vectors)
    corpora.settle()
    common_lexemes.refresh_all()
    return account


def ask(account: Account, talk: Conversation) -> list[Outcome]:
    """Return what context calls serve for the questions of a conversation."""
    from facts.models import Passage
    from facts.tenancy import account_transaction

    principal = _caller(account)
    with account_transaction(account.id):
        passages = Passage.objects.filter(account=account, scope__path=f"/{talk.name}").select_related("event")
        turns = {passage.id: passage.event.source_key.split(" ", 1)[1] for passage in passages}
        events = {passage.event_id: turns[passage.id] for passage in passages}
    return [_asked(principal, talk, question, turns=turns, events=events) for question in talk.questions]


def _caller(account: Account) -> Principal:
    from facts.actors import system
    from facts.tenancy import account_transaction
    from governance import access, keys

    with account_transaction(account.id):
        _, raw = keys.create_key(
            account_id=account.id, label="benchmark", rights=access.APP_RIGHTS, actor=system("benchmark")
        )
    return keys.authenticate(raw)


def _asked(
    principal: Principal,
    talk: Conversation,
    question: Question,
    *,
    turns: Mapping[Any, str],
    events: Mapping[Any, str],
) -> Outcome:
    from facts.tenancy import account_transaction
    from retrieval.context.assembly import ContextRequest, assemble
    from retrieval.models import Trace
    from retrieval.profiles.shipped import CONTEXT
    from retrieval.traces.writing import unpack

    served: dict[int, frozenset[str]] = {}
    for budget in BUDGETS:
        request = ContextRequest(
            scope_path=f"/{talk.name}",
            exact=True,
            subject_key="speakers",
            query=question.text,
            purpose="benchmark",
            budget=budget,
        )
        answer = assemble(principal=principal, request=request, profile=replace(CONTEXT, deadline_ms=DEADLINE_MS))
        heard = {events[passage.event_id] for passage in answer.packet.passages}
        known = {events[event] for fact in answer.packet.facts for event in fact.source_event_ids}
        served[budget] = frozenset(heard | known)
    with account_transaction(principal.account_id):
        decisions = unpack(Trace.objects.get(account_id=principal.account_id, pk=answer.trace_id).decisions)
    ranks = {decision["id"]: decision["rank"] for decision in decisions if decision["rank"]}
    ranked = sorted((row_id for row_id in turns if str(row_id) in ranks), key=lambda row_id: ranks[str(row_id)])
    return Outcome(
        category=question.category,
        evidence=question.evidence,
        ranked=[turns[row_id] for row_id in ranked],
        served=served,
    )


class Corpus:
    """What the simple rankings look at: the turns of a conversation, and its observations when they are facts."""

    def __init__(self, talk: Conversation, *, observations: bool, vectors: Path | None) -> None:
        from facts.textindex import passage_text
        from retrieval.context.rendering import fact_line, passage_line
        from retrieval.text import tokens

        texts = {turn.key: passage_text(turn.speaker, turn.text) for turn in talk.turns}
        lines = {turn.key: passage_line(turn.text, turn.speaker, turn.at) for turn in talk.turns}
        self._stands_for = {turn.key: frozenset({turn.key}) for turn in talk.turns}
        for number, known in enumerate(talk.observations if observations else ()):
            key = f"{_OBSERVATION}{number}"
            texts[key], lines[key] = known.statement, fact_line(known.statement, known.at)
            self._stands_for[key] = frozenset(known.sources)
        self._keys = list(texts)
        self._costs = {key: tokens.estimate(line) for key, line in lines.items()}
        self._bm25 = Bm25(dict(zip(texts, _stemmed(list(texts.values())), strict=True)))
        self._vectors = corpora.vectors_of(list(texts.values()), cache=vectors)

    def outcomes(self, questions: Sequence[Question]) -> dict[str, list[Outcome]]:
        """Return what each of the simple rankings would serve."""
        from facts import embedding

        provider = embedding.provider()
        found: dict[str, list[Outcome]] = defaultdict(list)
        for question, stems in zip(questions, _stemmed([question.text for question in questions]), strict=True):
            by_words = self._bm25.rank(stems)
            vector = np.asarray(provider.embed_query(question.text))
            by_vector = retrieval_scores.by_vector(vector, keys=self._keys, vectors=self._vectors)
            for name, ranked in (
                ("bm25", by_words),
                ("vectors", by_vector),
                ("rrf", retrieval_scores.reciprocal_ranks([by_words, by_vector])),
                ("random", retrieval_scores.at_random(self._keys, seed=question.text)),
            ):
                found[name].append(self._outcome(question, ranked))
        return found

    def _outcome(self, question: Question, ranked: Sequence[str]) -> Outcome:
        served = {
            budget: frozenset().union(
                *(self._stands_for[key] for key in retrieval_scores.pack(ranked, costs=self._costs, budget=budget))
            )
            for budget in BUDGETS
        }
        turns = [key for key in ranked if not key.startswith(_OBSERVATION)]
        return Outcome(category=question.category, evidence=question.evidence, ranked=turns, served=served)


def _stemmed(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text as the English dictionary of the database stems them, without stop words."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.number, w.lexeme, cardinality(w.positions)"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS t(text, number), unnest(to_tsvector('english', t.text)) w",
            [list(texts)],
        )
        found: list[list[str]] = [[] for _ in texts]
        for number, lexeme, times in cursor.fetchall():
            found[number - 1] += [lexeme] * times
    return found


def measure(conversations: Sequence[Conversation], *, vectors: Path | None) -> dict[str, Any]:
    """Return the summaries by run, part of the conversations, and ranking."""
    runs: dict[str, Any] = {}
    for run in RUNS:
        account = load(run, conversations, vectors=vectors)
        parts: dict[str, dict[str, list[Outcome]]] = {
            name: defaultdict(list) for name in ("developed_on", "others", "all")
        }
        for number, talk in enumerate(conversations):
            corpus = Corpus(talk, observations=run != RUNS[0], vectors=vectors)
            found = {OURS: ask(account, talk), **corpus.outcomes(talk.questions)}
            for part in ("developed_on" if number < DEVELOPED_ON else "others", "all"):
                for ranking, outcomes in found.items():
                    parts[part][ranking] += outcomes
            print(f"{run}: {talk.name}, {len(talk.questions)} questions", file=sys.stderr)
        runs[run] = {
            part: {ranking: retrieval_scores.summary(outcomes) for ranking, outcomes in rankings.items()}
            for part, rankings in parts.items()
            if rankings
        }
    return runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, ask, write; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MEMORY_LOCOMO"))
    parser.add_argument("--json", type=Path, help="where the figures go; without it they are printed")
    parser.add_argument("--conversations", type=int, help="only so many, from the first")
    parser.add_argument("--vectors", type=Path, help="file (.npz) that keeps vectors between runs")
    options = parser.parse_args(arguments)
    if options.data is None or not Path(options.data).exists():
        print("No LoCoMo file: nothing measured.", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as temporary:
        # The embedded server may run as another user, who has to reach its files.
        Path(temporary).chmod(0o755)
        corpora.use_directory(Path(temporary).resolve())
        from facts import embedding
        from retrieval.profiles.shipped import CONTEXT, RANKER_VERSION

        conversations = read(Path(options.data))[: options.conversations]
        figures = {
            "benchmark": "locomo",
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "machine": f"{os.cpu_count()} × {platform.processor() or platform.machine()}",
            "profile": CONTEXT.label,
            "ranker": RANKER_VERSION,
            "embedder": embedding.provider().identity.model,
            "conversations": [talk.name for talk in conversations],
            "budgets": list(BUDGETS),
            "runs": measure(conversations, vectors=options.vectors),
        }
    written = json.dumps(figures, indent=1)
    if options.json is None:
        print(written)
    else:
        options.json.write_text(written + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
