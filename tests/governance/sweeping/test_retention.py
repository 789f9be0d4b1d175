"""Removing raw text takes exactly that: quotes, facts, hashes and what is kept by other rules stay."""

from __future__ import annotations

from datetime import timedelta

import numpy
import pytest
from django.db import connection

from facts import audit, embedding, index
from facts.embedding import Embedded, EmbedderIdentity
from facts.models import (
    Account,
    AuditEntry,
    Event,
    Evidence,
    Fact,
    FactText,
    Passage,
    PassageText,
    PassageVector,
)
from facts.tenancy import account_transaction
from facts.vocabulary import Sensitivity, SourceType, SubjectKind
from governance.sweeping import retention
from ingest import line
from ingest.models import CandidateOutcome, CandidateResult, EventOutcome
from tests.factories import JULY, AccountFactory, SubjectFactory, say, submit

WORDS = "I live in Lyon, and my cat is called Zanzibar."


def _message(account: Account, *, days: int = 8, text: str = WORDS, **fields: object) -> Event:
    """Return a processed live message that was recorded so many days before July, with a fact, as ingestion leaves it.

    One thing read out of it was refused.
    """
    ana = SubjectFactory(account=account)
    event = say(
        ana,
        text,
        **{
            "source_type": SourceType.CHANNEL_MESSAGE,
            "channel_id": "C1",
            "payload": {"text": text, "slack": {"user": "U1"}},
            "urls": ["https://zanzibar.example"],
            "recorded_at": JULY - timedelta(days=days),
            "processed_at": JULY - timedelta(days=days),
            **fields,
        },
    )
    submit(ana, {"city": "Lyon"}, event=event, statement="Ana lives in Lyon.", quote="I live in Lyon")
    outcome = EventOutcome.objects.create(
        account=account,
        event=event,
        recipe=line.RECIPE,
        scope=event.scope,
        subject=ana,
        occurred_at=event.occurred_at,
        result="facts",
        finished_at=JULY,
    )
    CandidateOutcome.objects.create(
        account=account,
        outcome=outcome,
        ordinal=0,
        result=CandidateResult.REJECTED,
        reason="low_confidence",
        statement="Ana's cat is called Zanzibar.",
        quote="my cat is called Zanzibar",
    )
    return event


def test_the_words_go_and_what_came_of_them_stays(account: Account, at) -> None:
    event = _message(account)
    passage = Passage.objects.get()
    vector = Embedded(EmbedderIdentity("test", "m", "1", 384, "r"), numpy.zeros(384, dtype=numpy.float32))
    embedding.space(vector.identity)
    index.write_passage_vectors(account.id, vectors=[(passage.id, vector)])
    fact_before = Fact.objects.values().get()
    at(JULY)
    assert [retention.remove(), retention.remove()] == [1, 0]
    gone = Event.objects.get()
    assert (gone.text, gone.payload, gone.urls, gone.text_removed_at) == ("", {}, [], JULY)
    assert (gone.content_hash, gone.source_key, gone.occurred_at) == (
        event.content_hash,
        event.source_key,
        event.occurred_at,
    )
    assert [model.objects.count() for model in (Passage, PassageText, PassageVector)] == [0, 0, 0]
    assert list(Evidence.objects.values_list("quote", "event", "passage")) == [("I live in Lyon", event.id, None)]
    assert Fact.objects.values().get() == fact_before
    assert FactText.objects.count() == 1
    candidate = CandidateOutcome.objects.get()
    assert (candidate.statement, candidate.quote, candidate.reason) == ("", "", "low_confidence")
    entry = AuditEntry.objects.get(action="retention.raw_text_removed")
    assert entry.metadata == {"events": 1, "passages": 1, "candidates": 1}
    assert list(audit.verify(account.id)) == []


def test_the_words_are_nowhere_afterwards(account: Account, at) -> None:
    _message(account)
    at(JULY)
    retention.remove()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        )
        tables = [row[0] for row in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', ["%zanzibar%"])
            if cursor.fetchone()[0]:
                found.append(table)
    assert found == []


def test_what_is_kept_longer_keeps_every_word(account: Account, at) -> None:
    for fields in (
        {"days": 6},
        {"days": 99, "source_type": SourceType.CONVERSATION, "channel_id": ""},
        {"days": 99, "source_type": SourceType.BACKFILL},
        {"days": 99, "processed_at": None},
    ):
        _message(account, **fields)
    passages = sorted(Passage.objects.values_list("id", "text"))
    at(JULY)
    assert retention.remove() == 0
    assert set(Event.objects.values_list("text", "text_removed_at")) == {(WORDS, None)}
    assert sorted(Passage.objects.values_list("id", "text")) == passages
    assert CandidateOutcome.objects.exclude(quote="").count() == 4


def test_an_event_stays_as_guarded_as_its_strictest_passage_was(account: Account, at) -> None:
    stricter = _message(account, sensitivity=Sensitivity.INTERNAL)
    open_one = say(
        SubjectFactory(account=account, kind=SubjectKind.TOPIC),
        source_type=SourceType.CHANNEL_MESSAGE,
        sensitivity=Sensitivity.INTERNAL,
        recorded_at=JULY - timedelta(days=9),
        processed_at=JULY,
    )
    assert Passage.objects.get(event=stricter).sensitivity == Sensitivity.PERSONAL
    at(JULY)
    assert retention.remove() == 2
    kept = dict(Event.objects.values_list("id", "sensitivity"))
    assert kept == {stricter.id: Sensitivity.PERSONAL, open_one.id: Sensitivity.INTERNAL}


def test_one_entry_a_batch_and_none_for_nothing(account: Account, at, monkeypatch) -> None:
    monkeypatch.setattr(retention, "TOGETHER", 2)
    for _ in range(3):
        _message(account)
    at(JULY)
    assert retention.remove() == 3
    entries = AuditEntry.objects.filter(action="retention.raw_text_removed").order_by("seq")
    assert [entry.metadata["events"] for entry in entries] == [2, 1]


@pytest.mark.django_db(transaction=True)
def test_removed_at_the_same_moment(at, together) -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        for _ in range(3):
            _message(account)
    at(JULY)
    assert together(retention.remove) == 3
    with account_transaction(account.id):
        assert AuditEntry.objects.filter(action="retention.raw_text_removed").count() == 1
        assert (Passage.objects.count(), Evidence.objects.exclude(quote="").count()) == (0, 3)
        assert list(audit.verify(account.id)) == []
