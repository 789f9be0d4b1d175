"""What the overview tells of the work behind reads, and to whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from facts.clock import now
from facts.models import Account, Event
from facts.tenancy import ensure_scope
from governance.access import Right
from governance.models import Feedback, Rating, Review, Role
from ingest.models import CandidateOutcome, EventOutcome, ModelCall
from retrieval import read_stats
from tests.api import caller_with_key, signed_in
from tests.factories import SubjectFactory, maker_of, person_in, say, submit
from tests.retrieval.test_statistics import _noon, _trace

OVERVIEW = "/v1/stats/overview"
BEHIND = ("conflicts", "reviews", "ratings", "extraction", "cost")


def _outcome(event: Event, **fields: object) -> EventOutcome:
    return EventOutcome.objects.create(
        account_id=event.account_id,
        event=event,
        recipe=str(fields),
        scope_id=event.scope_id,
        subject_id=event.subject_id,
        occurred_at=event.occurred_at,
        finished_at=now(),
        **fields,
    )


@pytest.fixture
def busy(account: Account) -> Account:
    """An account in which something of everything was done, all in /support."""
    ana = SubjectFactory(account=account)
    for city in ("Lyon", "Rome"):
        submit(ana, {"city": city}, at=_noon(2))
    submit(ana, {"condition": "x"}, predicate="has_condition", sensitivity="restricted")
    event = say(ana)
    _outcome(event, result="facts")
    refused = _outcome(event, result="rejected")
    for ordinal, reason in enumerate(("question", "question", "low_confidence")):
        CandidateOutcome.objects.create(
            account=account, outcome=refused, ordinal=ordinal, result="rejected", reason=reason
        )
    trace = _trace(account, now())
    for rating in (Rating.USEFUL, Rating.INCORRECT):
        Feedback.objects.create(account=account, trace_id=trace.pk, rating=rating)
    called = {"account": account, "role": "extraction", "provider": "p", "model": "m", "prompt_version": "1"}
    ModelCall.objects.create(**called, latency_ms=10, cost_usd="0.5", output_tokens=1)
    ModelCall.objects.create(**called, latency_ms=10, output_tokens=1)
    return account


def test_an_administrator_is_told_all_of_it(busy: Account) -> None:
    Review.objects.update(created_at=now() - timedelta(hours=1), due_at=now() - timedelta(minutes=1))
    body = signed_in(maker_of(person_in(busy, role=Role.ACCOUNT_ADMIN))).get(OVERVIEW).json()
    assert body["calls_by_kind"] == {"context": 1}
    assert body["conflicts"] == {"opened": 1, "closed": 0}
    reviews = body["reviews"]
    assert (reviews["waiting"], reviews["overdue"], reviews["opened"], reviews["decided"]) == (1, 1, 1, 0)
    assert 3600 <= reviews["oldest_seconds"] < 3700
    assert reviews["decided_p50_seconds"] is None
    assert body["ratings"] == {"by_rating": {"incorrect": 1, "useful": 1}, "wasted_share": 0.5}
    assert body["extraction"] == {
        "events": 2,
        "yield": 0.5,
        "rejected_by_reason": {"question": 2, "low_confidence": 1},
    }
    assert body["cost"] == {"usd": 0.5, "usd_by_role": {"extraction": 0.5}, "calls": 2, "unpriced_calls": 1}


def test_a_curator_elsewhere_and_readers_are_told_nothing_of_it(busy: Account) -> None:
    ensure_scope(busy.id, "/sales")
    elsewhere = signed_in(maker_of(person_in(busy, path="/sales"))).get(OVERVIEW).json()
    assert (elsewhere["conflicts"], elsewhere["cost"]) == ({"opened": 0, "closed": 0}, None)
    assert (elsewhere["reviews"]["waiting"], elsewhere["extraction"]["events"]) == (0, 0)
    reader = signed_in(maker_of(person_in(busy, role=Role.READER))).get(OVERVIEW).json()
    key = caller_with_key(busy, rights=[Right.READ]).get(OVERVIEW).json()
    assert {name: reader[name] for name in BEHIND} == dict.fromkeys(BEHIND)
    assert {name: key[name] for name in BEHIND} == dict.fromkeys(BEHIND)


def test_a_key_for_diagnostics_is_told_what_happened_and_not_what_waits_for_people(busy: Account) -> None:
    rights = [Right.READ, Right.DIAGNOSTICS]
    body = caller_with_key(busy, rights=rights).get(OVERVIEW).json()
    assert (body["conflicts"]["opened"], body["cost"]["usd"], body["reviews"]["waiting"]) == (1, 0.5, None)
    confined = caller_with_key(busy, rights=rights, scope_limit=ensure_scope(busy.id, "/support")).get(OVERVIEW).json()
    assert (confined["conflicts"]["opened"], confined["cost"]) == (1, None)


def test_of_one_subject_none_of_it_is_told(busy: Account) -> None:
    administrator = signed_in(maker_of(person_in(busy, role=Role.ACCOUNT_ADMIN)))
    body = administrator.get(OVERVIEW, subject_id=SubjectFactory(account=busy, key="bea").key).json()
    assert {name: body[name] for name in BEHIND} == dict.fromkeys(BEHIND)


def test_what_was_counted_stays_when_its_rows_are_gone(busy: Account) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_modelcall SET created_at = created_at - interval '2 days'")
        cursor.execute("UPDATE facts_account SET created_at = created_at - interval '9 days'")
    read_stats.roll_up_everywhere()
    ModelCall.objects.all().delete()
    read_stats.roll_up_everywhere()
    body = signed_in(maker_of(person_in(busy, role=Role.ACCOUNT_ADMIN))).get(OVERVIEW).json()
    assert (body["cost"]["usd"], body["cost"]["calls"]) == (0.5, 2)
