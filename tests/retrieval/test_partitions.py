from __future__ import annotations

import uuid
from datetime import UTC, date, datetime

import pytest
from django.db import connection, connections

from facts.ids import lower_bound
from facts.models import Account
from retrieval.models import Trace
from retrieval.traces import partitions


@pytest.fixture
def owner(db: None) -> object:
    """A cursor of the owner, inside the test's transaction of that alias."""
    with connections["owner"].cursor() as cursor:
        yield cursor


def _partitions(cursor: object) -> list[str]:
    cursor.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'retrieval_trace'::regclass ORDER BY 1"
    )
    return [row[0] for row in cursor.fetchall()]


@pytest.mark.django_db(databases=["default", "owner"])
def test_missing_months_are_made_once(owner: object) -> None:
    made = partitions.create_partitions(owner, first=date(2031, 11, 30))
    assert made == [
        "retrieval_trace_2031_11",
        "retrieval_trace_2031_12",
        "retrieval_trace_2032_01",
        "retrieval_trace_2032_02",
    ]
    assert partitions.create_partitions(owner, first=date(2031, 12, 1)) == ["retrieval_trace_2032_03"]
    assert set(made) < set(_partitions(owner))


@pytest.mark.django_db(databases=["default", "owner"])
def test_every_partition_is_forced_to_the_account(owner: object) -> None:
    partitions.create_partitions(owner, first=date(2031, 11, 30))
    owner.execute(
        "SELECT c.relname FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid"
        " WHERE c.relname LIKE 'retrieval_trace%%' AND c.relkind IN ('r', 'p')"
        " AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND p.polname = 'account_only')"
    )
    assert owner.fetchall() == []


@pytest.mark.django_db(databases=["default", "owner"])
def test_traces_move_from_the_default_partition(owner: object) -> None:
    trace_id = uuid.UUID(int=lower_bound(datetime(2031, 12, 5, tzinfo=UTC)).int + 7)
    account = Account(key="moving", name="Moving")
    account.save(using="owner")
    traced = Trace(
        id=trace_id,
        account=account,
        scope_path="/",
        reader_posture="peer",
        credential_id=account.id,
        credential_name="key",
        budget=1,
        budget_unit="tokens",
        question_time=datetime(2031, 12, 5, tzinfo=UTC),
        profile="p",
        ranker="r",
        considered=0,
        facts_served=0,
        passages_served=0,
        withheld=0,
        tokens=0,
        status="ok",
        duration_ms=1,
    )
    traced.save(using="owner", force_insert=True)
    owner.execute("SET CONSTRAINTS ALL IMMEDIATE")
    owner.execute("SELECT tableoid::regclass::text FROM retrieval_trace WHERE id = %s", [trace_id])
    assert owner.fetchone() == ("retrieval_trace_default",)
    partitions.create_partitions(owner, first=date(2031, 12, 1))
    owner.execute("SELECT tableoid::regclass::text FROM retrieval_trace WHERE id = %s", [trace_id])
    assert owner.fetchone() == ("retrieval_trace_2031_12",)


@pytest.mark.django_db(databases=["default", "owner"])
def test_old_months_are_dropped_whole(owner: object) -> None:
    partitions.create_partitions(owner, first=date(2019, 1, 1))
    assert partitions.drop_partitions_before(datetime(2019, 3, 31, tzinfo=UTC)) == [
        "retrieval_trace_2019_01",
        "retrieval_trace_2019_02",
    ]
    assert "retrieval_trace_2019_03" in _partitions(owner)


def test_the_application_may_make_no_partition(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_schema_privilege(current_user, 'public', 'CREATE')")
        assert cursor.fetchone() == (False,)
