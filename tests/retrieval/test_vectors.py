from __future__ import annotations

import pytest

from facts import embedding
from facts.models import Account, FactVector, PassageVector, Subject
from retrieval import vectors
from tests.factories import FactFactory
from tests.retrieval.conftest import WordEmbedder


def test_missing_vectors_are_written_once(account: Account, ana: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "CHUNK", 2)
    for number in range(3):
        FactFactory(subject=ana, statement=f"Ana likes tea number {number}.")
    assert vectors.fill_missing_everywhere() == 6
    assert (FactVector.objects.count(), PassageVector.objects.count()) == (3, 3)
    assert vectors.fill_missing_everywhere() == 0


def test_a_failing_embedder_ends_the_round(
    account: Account, ana: Subject, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")

    def fail(texts: list[str]) -> None:
        raise RuntimeError("gone")

    monkeypatch.setattr(embedder, "embed_documents", fail)
    assert vectors.fill_missing_everywhere() == 0


def test_without_an_embedder_there_is_nothing_to_do(account: Account, ana: Subject) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")
    embedding.register(None)
    assert vectors.fill_missing_everywhere() == 0


@pytest.mark.parametrize(
    ("size", "seconds", "expected"), [(10, 0.0, 100), (10, 5.0, 10), (10, 50.0, 1), (100, 10.0, 50), (1, 900.0, 1)]
)
def test_a_chunk_is_a_few_seconds_of_work(size: int, seconds: float, expected: int) -> None:
    assert vectors._next_size(size, seconds=seconds) == expected
