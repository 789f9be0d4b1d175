from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest

from facts import embedding, refused_texts
from facts.clock import now
from facts.isolation import Incomplete
from facts.models import Account, EmbeddingSpace, Fact, FactVector, PassageVector, RefusedText, Subject
from retrieval import vectors
from tests.factories import AccountFactory, FactFactory, SubjectFactory, entered
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


BAD = "Ana likes it unpronounceable."


@pytest.fixture
def choosy(embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The embedder refuses texts with any of these words."""
    words = ["unpronounceable"]
    embed = embedder.embed_documents

    def refuse(texts: Sequence[str]) -> np.ndarray:
        if any(word in text for text in texts for word in words):
            raise ValueError("too long")
        return embed(texts)

    monkeypatch.setattr(embedder, "embed_documents", refuse)
    return words


def _space() -> EmbeddingSpace:
    return EmbeddingSpace.objects.get(pk=embedding.space(embedding.provider().identity).id)


def _with_vector(account: Account) -> set[str]:
    return set(
        Fact.objects.filter(
            account=account, pk__in=FactVector.objects.filter(account=account).values("fact_id")
        ).values_list("statement", flat=True)
    )


def test_a_refused_text_holds_up_nothing_and_is_counted(account: Account, ana: Subject, choosy: list[str]) -> None:
    for statement in ("Ana likes tea.", BAD, "Ana likes milk."):
        FactFactory(subject=ana, statement=statement)
    assert vectors.fill_missing_everywhere() == FactVector.objects.count() + PassageVector.objects.count()
    assert _with_vector(account) == {"Ana likes tea.", "Ana likes milk."}
    assert RefusedText.objects.filter(unit="fact").count() == 1
    assert (_space().missing, _space().refused) == (0, RefusedText.objects.count())
    assert vectors.missing_by_account(embedding.space(embedding.provider().identity)) == {}


def test_a_refused_text_is_tried_again_after_twice_as_long_until_it_is_taken(
    account: Account, ana: Subject, choosy: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    FactFactory(subject=ana, statement=BAD)
    vectors.fill_missing_everywhere()
    start = now()
    refused = RefusedText.objects.get(unit="fact")
    assert timedelta(minutes=59) < refused.retry_at - start <= timedelta(hours=1)
    for times, hours in ((2, 2), (3, 4)):
        RefusedText.objects.update(retry_at=start)
        vectors.fill_missing_everywhere()
        refused.refresh_from_db()
        assert refused.times == times
        assert timedelta(hours=hours, minutes=-1) < refused.retry_at - start < timedelta(hours=hours, minutes=1)
    RefusedText.objects.update(times=100, retry_at=start)
    vectors.fill_missing_everywhere()
    refused.refresh_from_db()
    assert timedelta(days=6, hours=23) < refused.retry_at - start < timedelta(days=7, minutes=1)
    choosy.clear()
    assert vectors.fill_missing_everywhere() == 0
    RefusedText.objects.update(retry_at=start)
    assert vectors.fill_missing_everywhere() >= 1
    assert (_with_vector(account), RefusedText.objects.count(), _space().refused) == ({BAD}, 0, 0)


def test_a_refusal_of_what_is_gone_is_forgotten_when_its_time_comes(
    account: Account, ana: Subject, embedder: WordEmbedder
) -> None:
    space = embedding.space(embedder.identity)
    refused_texts.note(account.id, "fact", [uuid.UUID(int=1)], space=space)
    vectors.fill_missing_everywhere()
    assert RefusedText.objects.count() == 1
    RefusedText.objects.update(retry_at=now())
    vectors.fill_missing_everywhere()
    assert RefusedText.objects.count() == 0


def test_an_embedder_that_is_down_refuses_nothing(account: Account, ana: Subject, choosy: list[str]) -> None:
    choosy.append(vectors.PROBE)
    for statement in ("Ana likes tea.", BAD):
        FactFactory(subject=ana, statement=statement)
    assert vectors.fill_missing_everywhere() == 0
    assert (RefusedText.objects.count(), _space().missing, _space().refused) == (0, 4, 0)


def test_what_was_made_before_the_embedder_went_down_is_kept(
    account: Account, ana: Subject, choosy: list[str], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for statement in (BAD, "Ana likes tea."):
        FactFactory(subject=ana, statement=statement)
    refuse = embedder.embed_documents

    def until_tea(texts: Sequence[str]) -> np.ndarray:
        made = refuse(texts)
        if list(texts) == ["Ana likes tea."]:
            choosy.append("")
        return made

    monkeypatch.setattr(embedder, "embed_documents", until_tea)
    vectors.fill_missing_everywhere()
    assert _with_vector(account) == {"Ana likes tea."}
    assert RefusedText.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_the_refused_text_of_one_account_holds_up_no_other(choosy: list[str]) -> None:
    accounts = [AccountFactory(key=key) for key in ("first", "second")]
    for account, statement in zip(accounts, (BAD, "Ana likes tea."), strict=True):
        with entered(account):
            FactFactory(subject=SubjectFactory(account=account, key="ana"), statement=statement)
    vectors.fill_missing_everywhere()
    with entered(accounts[1]):
        assert _with_vector(accounts[1]) == {"Ana likes tea."}
        assert RefusedText.objects.count() == 0
    with entered(accounts[0]):
        assert RefusedText.objects.filter(unit="fact").count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_account_that_fails_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = sorted(AccountFactory().pk for _ in range(3))
    seen = []

    def fill(account_id: uuid.UUID, **options: object) -> int:
        seen.append(account_id)
        if account_id == accounts[0]:
            raise ZeroDivisionError
        return 1

    monkeypatch.setattr(vectors, "fill", fill)
    with pytest.raises(Incomplete, match=str(accounts[0])):
        vectors.fill_missing_everywhere()
    assert seen == accounts
