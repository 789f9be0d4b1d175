"""How well evidence was found: pure scoring, and the simple rankings to compare with."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

DEPTHS = (8, 10, 20)
#: Parameters of BM25 as they are usually left.
BM25_K1, BM25_B = 1.2, 0.75
RRF_K = 60
#: Entries of each list that are fused.
RRF_HEAD = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one question got: the ranking of turns, best first, and the turns served at each budget."""

    category: str
    evidence: frozenset[str]
    ranked: Sequence[str]
    served: Mapping[int, frozenset[str]]

    def scores(self) -> dict[str, float]:
        """Return each measure of this question, 0 to 1."""
        found = {
            f"turn_recall_at_{depth}": len(self.evidence & set(self.ranked[:depth])) / len(self.evidence)
            for depth in DEPTHS
        }
        for budget, turns in self.served.items():
            found[f"gold_served_any_{budget}"] = float(bool(self.evidence & turns))
            found[f"gold_served_all_{budget}"] = float(self.evidence <= turns)
        return found


def summary(outcomes: Iterable[Outcome]) -> dict[str, dict[str, float]]:
    """Return the mean of each measure, overall and for each category, with the number of questions."""
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for outcome in outcomes:
        scores = outcome.scores()
        groups["overall"].append(scores)
        groups[outcome.category].append(scores)
    return {
        name: {"questions": len(rows)}
        | {measure: round(sum(row[measure] for row in rows) / len(rows), 4) for measure in rows[0]}
        for name, rows in sorted(groups.items())
    }


def pack(ranked: Iterable[str], *, costs: Mapping[str, int], budget: int) -> list[str]:
    """Return what of a ranking fits into ``budget`` tokens; what does not fit is skipped."""
    taken, left = [], budget
    for key in ranked:
        if costs[key] <= left:
            taken.append(key)
            left -= costs[key]
    return taken


@dataclass(slots=True)
class Bm25:
    """Ranks documents, each a list of stemmed words, by the words they share with a question."""

    documents: Mapping[str, Sequence[str]]
    _counts: dict[str, Counter[str]] = field(init=False)
    _rows: Counter[str] = field(init=False)
    _mean: float = field(init=False)

    def __post_init__(self) -> None:
        self._counts = {key: Counter(words) for key, words in self.documents.items()}
        self._rows = Counter(word for counts in self._counts.values() for word in counts)
        self._mean = sum(map(len, self.documents.values())) / len(self.documents)

    def rank(self, question: Iterable[str]) -> list[str]:
        """Return the keys of the documents with any word of the question, best first; ties in the given order."""
        wanted = {word: self._rarity(word) for word in set(question)}
        scores = {}
        for key, counts in self._counts.items():
            length = BM25_K1 * (1 - BM25_B + BM25_B * len(self.documents[key]) / self._mean)
            score = sum(
                rarity * counts[word] * (BM25_K1 + 1) / (counts[word] + length)
                for word, rarity in sorted(wanted.items())
                if counts[word]
            )
            if score:
                scores[key] = score
        return sorted(scores, key=lambda key: -scores[key])

    def _rarity(self, word: str) -> float:
        rows = self._rows[word]
        return math.log(1 + (len(self.documents) - rows + 0.5) / (rows + 0.5))


def by_vector(question: np.ndarray, *, keys: Sequence[str], vectors: np.ndarray) -> list[str]:
    """Return ``keys`` by the cosine of their unit vectors with the question's, nearest first."""
    return [keys[row] for row in np.argsort(-(vectors @ question), kind="stable")]


def reciprocal_ranks(lists: Sequence[Sequence[str]]) -> list[str]:
    """Return the heads of several rankings as one, by the sum of 1 / (60 + rank)."""
    scores: dict[str, float] = defaultdict(float)
    for ranked in lists:
        for rank, key in enumerate(ranked[:RRF_HEAD], start=1):
            scores[key] += 1 / (RRF_K + rank)
    return sorted(scores, key=lambda key: -scores[key])


def at_random(keys: Sequence[str], *, seed: str) -> list[str]:
    """Return ``keys`` in an order that depends on nothing but ``seed``."""
    return random.Random(seed).sample(keys, len(keys))  # noqa: S311 - chance to compare with, no secret
