"""Changing the embedder: what serves while vectors are made anew, and that nothing is lost, doubled or mixed."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections

from facts import embedding, index, vector_tables
from facts.embedding import EmbedderIdentity
from facts.models import Account, EmbeddingSpace, FactVector, FactVector768, IndexedUnit, PassageVector, Subject
from facts.tenancy import account_transaction
from retrieval import reembedding, vectors
from retrieval.context.assembly import ContextAnswer
from retrieval.embedders import registry
from retrieval.embedders.base import EmbeddingUnavailable
from tests.factories import AccountFactory, FactFactory, SubjectFactory, entered
from tests.retrieval.conftest import WordEmbedder, statements


class OtherEmbedder(WordEmbedder):
    """The word embedder under another name; fails, or calls back, when it is told to."""

    def __init__(self, *, version: str = "2", dimensions: int = 384) -> None:
        self.identity = EmbedderIdentity("test", "words", version, dimensions, "hash")
        self.embedded: list[str] = []
        self.before_batch: Callable[[], None] = lambda: None

    def embed_query(self, text: str) -> np.ndarray:
        vector = np.zeros(self.identity.dimensions, dtype=np.float32)
        vector[:384] = super().embed_query(text)
        return vector

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.before_batch()
        self.embedded += texts
        return np.array([self.embed_query(text) for text in texts])


def change(to: Any, *, known: Sequence[Any] = ()) -> None:
    """Do what a restart with other settings does; ``known`` embedders can still be made."""
    by_identity = {one.identity: one for one in known}
    embedding.register(to, remake=lambda identity, blueprint: by_identity.get(identity))


def reembed(**options: Any) -> str:
    output = io.StringIO()
    call_command("reembed", stdout=output, **options)
    return output.getvalue()


def in_space(provider: Any) -> int:
    """Return how many vectors there are in the space of an embedder."""
    space = embedding.space(provider.identity)
    with connection.cursor() as cursor:
        tables = [vector_tables.table(unit, space.dimensions) for unit in IndexedUnit]
        counts = [f"(SELECT count(*) FROM {table} WHERE space_id = {space.id})" for table in tables]
        cursor.execute(f"SELECT {' + '.join(counts)}")
        return cursor.fetchone()[0]


def serves(provider: Any) -> bool:
    return embedding.identity_of(EmbeddingSpace.objects.get(serving=True)) == provider.identity


def semantic(answer: ContextAnswer) -> str:
    return answer.strategies["semantic"]


@pytest.fixture
def three(account: Account, ana: Subject, embedder: WordEmbedder) -> list[str]:
    """Three facts with their passages, all with vectors of the first embedder, which serves."""
    said = [f"Ana likes tea number {number}." for number in range(3)]
    for statement in said:
        FactFactory(subject=ana, statement=statement)
    assert vectors.fill_missing_everywhere() == 6
    assert serves(embedder)
    return said


def test_the_first_embedder_serves_at_once(account: Account, embedder: WordEmbedder) -> None:
    assert embedding.reading() is embedder
    row = EmbeddingSpace.objects.get()
    assert (row.serving, row.serving_since is not None) == (True, True)


def test_reads_go_on_with_the_vectors_before(
    three: list[str], ask: Callable[..., ContextAnswer], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(OtherEmbedder(), known=[embedder])
    assert embedding.reading() is embedder
    # A stored word that no text search finds: only vectors of the serving space answer.
    answer = ask("number tea")
    assert semantic(answer) == "contributed"
    assert set(statements(answer)) == set(three)


def test_without_the_embedder_before_text_alone_answers_and_says_so(
    three: list[str], account: Account, ask: Callable[..., ContextAnswer]
) -> None:
    change(OtherEmbedder())
    assert embedding.reading() is None
    assert registry.switched_off() is False
    answer = ask("tea")
    assert semantic(answer) == "dropped: dependency_unavailable"
    assert "degraded_retrieval: without semantic (dependency_unavailable)" in answer.packet.warnings
    assert len(statements(answer)) == 3


def test_what_is_written_meanwhile_is_found_at_once_and_gets_its_new_vector(
    three: list[str], ana: Subject, ask: Callable[..., ContextAnswer], embedder: WordEmbedder
) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])
    assert embedding.writing() is embedder
    FactFactory(subject=ana, statement="Ana likes coffee.")
    assert "Ana likes coffee." in statements(ask("coffee"))
    reembed()
    assert serves(other)
    assert (in_space(other), embedding.writing()) == (8, other)
    answer = ask("coffee")
    assert (semantic(answer), "Ana likes coffee." in statements(answer)) == ("contributed", True)


def test_without_the_embedder_before_new_things_get_the_new_vectors(three: list[str], embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    change(other)
    assert embedding.writing() is other
    assert [one.identity for one in embedding.try_embed(["x"])] == [other.identity]


def test_the_command_counts_without_writing(three: list[str], account: Account, embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])
    said = reembed(dry_run=True)
    assert said.splitlines() == [
        "Asked for: test:words@2/384/hash",
        "Serving:   test:words@1/384/hash",
        f"  {account.key}: 6 missing",
        "6 vectors are missing.",
    ]
    assert (in_space(other), serves(embedder), other.embedded) == (0, True, [])
    assert EmbeddingSpace.objects.filter(asked_for_at__isnull=False).count() == 1


def test_the_command_says_what_it_did(
    three: list[str], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "CHUNK", 2)
    change(OtherEmbedder())
    lines = reembed().splitlines()
    assert lines[1] == "Serving:   test:words@1/384/hash, which cannot be made here: reads go by text alone until then."
    assert lines[4].startswith("2 of 6 (33%), ")
    assert lines[4].endswith(" s left")
    assert lines[-2].startswith("6 vectors written in ")
    assert lines[-1] == "Switched over: reads use the new vectors."
    assert "It serves already." in reembed()


def test_a_stopped_run_goes_on_where_it_was(
    three: list[str], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "CHUNK", 2)
    other = OtherEmbedder()
    change(other, known=[embedder])

    def stop() -> None:
        if len(other.embedded) == 3:
            raise KeyboardInterrupt

    other.before_batch = stop
    with pytest.raises(KeyboardInterrupt):
        reembed()
    assert (in_space(other), serves(embedder)) == (3, True)
    other.before_batch = lambda: None
    reembed()
    assert (in_space(other), serves(other)) == (6, True)
    assert (len(other.embedded), in_space(embedder)) == (6, 6)


def test_a_failing_embedder_switches_nothing(three: list[str], embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])

    def fail() -> None:
        raise EmbeddingUnavailable("gone")

    other.before_batch = fail
    with pytest.raises(CommandError, match="not switched over: the embedder failed"):
        reembed()
    assert serves(embedder)
    assert vectors.fill_missing_everywhere() == 0
    assert (serves(embedder), EmbeddingSpace.objects.get(version="2").missing) == (True, 6)


@pytest.mark.parametrize("by_worker", [True, False])
def test_a_refused_text_does_not_hold_up_the_switch(
    three: list[str], embedder: WordEmbedder, by_worker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])
    embed = other.embed_documents

    def refuse(texts: Sequence[str]) -> np.ndarray:
        if "Ana likes tea number 1." in texts:
            raise EmbeddingUnavailable("too long")
        return embed(texts)

    monkeypatch.setattr(other, "embed_documents", refuse)
    if by_worker:
        vectors.fill_missing_everywhere()
    else:
        said = reembed()
        assert "2 texts are refused by the embedder" in said
        assert "Switched over" in said
    assert serves(other)
    assert in_space(other) == 4
    row = EmbeddingSpace.objects.get(version="2")
    assert (row.missing, row.refused) == (0, 2)


def test_without_vectors_there_is_nothing_to_do(account: Account) -> None:
    embedding.register(None)
    with pytest.raises(CommandError, match="HAKI_EMBED_PROVIDER=none"):
        reembed()


def test_the_worker_switches_over_too(three: list[str], embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])
    assert vectors.fill_missing_everywhere(seconds=0) == 0
    assert (serves(embedder), EmbeddingSpace.objects.get(version="2").missing) == (True, 6)
    assert vectors.fill_missing_everywhere() == 6
    assert (serves(other), embedding.reading(), EmbeddingSpace.objects.get(version="2").missing) == (True, other, 0)


def test_a_process_with_old_settings_does_not_switch_back(three: list[str], embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    change(embedder, known=[other])
    old = embedding._state
    change(other, known=[embedder])
    reembed()
    embedding._state = old
    embedding.look_again()
    assert embedding.reading() is other
    FactFactory(subject=Subject.objects.get(key="ana"), statement="Ana likes coffee.")
    # It writes the vectors that serve, and its own.
    assert vectors.fill_missing_everywhere() == 4
    assert serves(other)


def test_a_restart_with_the_settings_before_switches_back(three: list[str], embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])
    reembed()
    change(embedder, known=[other])
    assert embedding.reading() is other
    assert vectors.fill_missing_everywhere() == 0
    assert serves(embedder)


def test_another_width_has_tables_of_its_own(
    three: list[str], account: Account, ana: Subject, ask: Callable[..., ContextAnswer], embedder: WordEmbedder
) -> None:
    wide = OtherEmbedder(dimensions=768)
    change(wide, known=[embedder])
    reembed()
    assert (FactVector768.objects.count(), FactVector.objects.count()) == (3, 3)
    answer = ask("tea number")
    assert (semantic(answer), set(statements(answer))) == ("contributed", set(three))
    FactVector768.objects.update(active=False)
    index.sync_facts(account.id, list(FactVector768.objects.values_list("fact_id", flat=True)))
    assert FactVector768.objects.filter(active=True).count() == 3


@pytest.mark.parametrize("dimensions", vector_tables.WIDTHS)
def test_vectors_of_every_width_are_kept_and_found(account: Account, ana: Subject, dimensions: int) -> None:
    fact = FactFactory(subject=ana, statement="Ana likes tea.")
    provider = OtherEmbedder(dimensions=dimensions)
    (embedded,) = embedding.try_embed(["Ana likes tea."], by=provider)
    assert index.write_fact_vectors(account.id, vectors=[(fact.id, embedded)]) == 1
    table = vector_tables.table(IndexedUnit.FACT, dimensions)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT vector_dims(h::vector), h <=> %s::halfvec < 0.001 FROM {table}", [index.literal(embedded.numbers)]
        )
        assert cursor.fetchall() == [(dimensions, True)]


def test_a_width_without_a_table_is_named() -> None:
    with pytest.raises(vector_tables.UnknownWidth, match="of 512 numbers, only for 384, 768, 1024, 1536"):
        vector_tables.table(IndexedUnit.FACT, 512)


def test_facts_of_the_past_get_new_vectors_and_forgotten_ones_do_not(
    account: Account, ana: Subject, embedder: WordEmbedder
) -> None:
    for status in ("active", "superseded", "expired", "disputed", "disabled", "retracted"):
        FactFactory(subject=ana, statement=f"Ana likes {status} tea.", status=status)
    missing = index.facts_missing_vectors(account.id, space=embedding.space(embedder.identity), limit=10)
    assert {text for _, text in missing} == {
        f"Ana likes {status} tea." for status in ("active", "superseded", "expired", "disputed")
    }


def test_old_vectors_are_dropped_when_every_process_has_noticed(
    three: list[str], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(reembedding, "sleep", slept.append)
    monkeypatch.setattr(embedding, "NOTICE_SECONDS", 2.0)
    other = OtherEmbedder()
    change(other, known=[embedder])
    said = reembed(drop_old=True)
    assert said.splitlines()[-1] == "6 vectors deleted of test:words@1/384/hash"
    assert (slept, in_space(embedder), in_space(other)) == ([4.0], 0, 6)
    assert reembed(drop_old=True).splitlines()[-1] == "0 vectors deleted of test:words@1/384/hash"
    assert slept == [4.0]


def test_a_process_notices_within_seconds(
    three: list[str], embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = OtherEmbedder()
    change(other, known=[embedder])
    assert embedding.reading() is embedder
    EmbeddingSpace.objects.filter(serving=True).update(serving=False)
    EmbeddingSpace.objects.filter(pk=embedding.space(other.identity).id).update(serving=True)
    assert embedding.reading() is embedder
    monkeypatch.setattr(embedding, "NOTICE_SECONDS", -1)
    assert embedding.reading() is other


@pytest.mark.django_db(transaction=True)
def test_every_account_is_complete_before_the_switch_and_writers_are_not_lost(
    embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "CHUNK", 2)
    accounts = [AccountFactory() for _ in range(2)]
    for one in accounts:
        with entered(one):
            for number in range(3):
                FactFactory(subject=SubjectFactory(account=one, key=f"s{number}"), statement=f"It is {number}.")
    assert vectors.fill_missing_everywhere() == 12
    other = OtherEmbedder()
    change(other, known=[embedder])
    pending = [f"Late {number}." for number in range(4)]

    def write_one() -> None:
        """Let another connection write a fact while the model works."""
        if not pending:
            return
        statement = pending.pop()

        def write() -> None:
            with account_transaction(accounts[0].id):
                fact = FactFactory(subject=SubjectFactory(account=accounts[0], key=statement), statement=statement)
                embedded = embedding.try_embed([statement])
                index.write_fact_vectors(accounts[0].id, vectors=[(fact.id, embedded[0])])
            connections["default"].close()

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()

    other.before_batch = write_one
    reembed()
    assert pending == []
    with account_transaction(accounts[0].id):
        assert (in_space(embedder) >= 10, in_space(other), serves(other)) == (True, 14, True)
        assert index.count_missing_vectors(accounts[0].id, space=embedding.space(other.identity)) == 0
        assert FactVector.objects.filter(space_id=embedding.space(other.identity).id).count() == 7
    with account_transaction(accounts[1].id):
        assert in_space(other) == 6


@pytest.mark.django_db(transaction=True)
def test_a_vector_is_not_written_from_what_somebody_is_changing(embedder: WordEmbedder) -> None:
    account = AccountFactory()
    with entered(account):
        facts = [FactFactory(subject=SubjectFactory(account=account, key=key), statement=key) for key in ("a", "b")]
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        with account_transaction(account.id), connection.cursor() as cursor:
            cursor.execute("UPDATE facts_fact SET status = 'disabled' WHERE id = %s", [facts[0].id])
            locked.set()
            release.wait(10)
            index.sync_facts(account.id, [facts[0].id])
        connections["default"].close()

    thread = threading.Thread(target=hold)
    thread.start()
    locked.wait(10)
    try:
        assert vectors.fill_missing_everywhere() == 3
        with account_transaction(account.id):
            assert list(FactVector.objects.values_list("fact_id", flat=True)) == [facts[1].id]
    finally:
        release.set()
        thread.join()
    assert vectors.fill_missing_everywhere() == 0
    with account_transaction(account.id):
        assert (FactVector.objects.count(), PassageVector.objects.count()) == (1, 2)


def test_of_two_that_begin_at_once_one_serves(account: Account, embedder: WordEmbedder) -> None:
    other = OtherEmbedder()
    first = embedding._adopt(other)
    assert embedding.identity_of(embedding._adopt(embedder)) == other.identity
    assert list(EmbeddingSpace.objects.filter(serving=True).values_list("pk", flat=True)) == [first.pk]


def test_what_is_recorded_of_an_embedder_follows_its_settings(account: Account) -> None:
    embedding.register(OtherEmbedder(), blueprint={"query_prefix": "a"})
    space = embedding.note_asked_for()
    assert EmbeddingSpace.objects.get(pk=space.id).blueprint == {"query_prefix": "a"}
    embedding.register(OtherEmbedder(), blueprint={"query_prefix": "b"})
    assert embedding.note_asked_for() == space
    assert EmbeddingSpace.objects.get(pk=space.id).blueprint == {"query_prefix": "b"}
