"""The audit chain: sound when only written to, and telling wherever somebody tampered with it."""

from __future__ import annotations

import threading
import uuid

import psycopg
import pytest
from django.db import connection, connections

from facts import audit
from facts.actors import pipeline
from facts.audit import ChainFault
from facts.models import Account, AuditEntry
from facts.tenancy import account_transaction
from tests.factories import AccountFactory, SubjectFactory, entered, submit

GROUP = uuid.UUID(int=7)


def write(account: Account, action: str = "test.done") -> AuditEntry:
    """Append one entry."""
    return audit.record(
        account.id,
        action=action,
        object_type="test",
        object_id="1",
        actor=pipeline(),
        group=GROUP,
        metadata={"count": 1, "share": 0.5, "ids": ["a"], "unicode": "é"},
    )


def faults(account: Account) -> list[ChainFault]:
    """Verify the account's chain."""
    return list(audit.verify(account.id))


def test_a_chain_counts_and_points_back(account):
    first, second = write(account), write(account)
    assert (first.seq, first.previous_hash) == (1, audit.GENESIS)
    assert (second.seq, second.previous_hash) == (2, first.hash)
    assert faults(account) == []


def test_an_empty_chain_is_sound(account):
    assert faults(account) == []


def test_all_the_core_writes_is_in_it(account):
    ada = SubjectFactory(account=account)
    submit(ada, {"city": "Lyon"})
    submit(ada, {"city": "Paris"})
    assert list(AuditEntry.objects.order_by("seq").values_list("action", flat=True)) == [
        "fact.proposed",
        "gate.accepted",
        "fact.proposed",
        "conflict.opened",
    ]
    assert faults(account) == []


@pytest.fixture
def chain(transactional_db) -> Account:
    """An account with five committed entries."""
    account = AccountFactory()
    for _ in range(5):
        with account_transaction(account.id):
            write(account)
    return account


def tamper(statement: str) -> None:
    """Run a statement as the owner, past the triggers and the policies."""
    parameters = connections["owner"].get_connection_params()
    parameters = {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}
    with psycopg.connect(**parameters, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")
        owner.execute(statement)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE {} SET metadata = '{{}}' WHERE seq = 3", [(3, "content does not match its hash")]),
        ("UPDATE {} SET actor = '{{}}' WHERE seq = 5", [(5, "content does not match its hash")]),
        (
            "UPDATE {} SET occurred_at = occurred_at + interval '1 microsecond' WHERE seq = 1",
            [(1, "content does not match its hash")],
        ),
        ("DELETE FROM {} WHERE seq = 3", [(4, "expected entry 3"), (4, "does not point to the entry before it")]),
        ("DELETE FROM {} WHERE seq = 1", [(2, "expected entry 1"), (2, "does not point to the entry before it")]),
        (
            "UPDATE {} SET hash = repeat('0', 64) WHERE seq = 2",
            [(2, "content does not match its hash"), (3, "does not point to the entry before it")],
        ),
    ],
    ids=["changed", "another author", "backdated", "removed", "first removed", "hash changed"],
)
@pytest.mark.django_db(transaction=True)
def test_tampering_is_found(chain, statement, found):
    tamper(statement.format("facts_auditentry"))
    with account_transaction(chain.id):
        assert [(fault.seq, fault.problem) for fault in faults(chain)] == found


@pytest.mark.django_db(transaction=True)
def test_a_changed_order_is_found(chain):
    tamper("UPDATE facts_auditentry SET seq = CASE seq WHEN 2 THEN 103 ELSE 102 END WHERE seq IN (2, 3)")
    tamper("UPDATE facts_auditentry SET seq = seq - 100 WHERE seq > 100")
    with account_transaction(chain.id):
        assert {fault.seq for fault in faults(chain)} == {2, 3, 4}


@pytest.mark.django_db(transaction=True)
def test_an_inserted_entry_is_found(chain):
    tamper("UPDATE facts_auditentry SET seq = seq + 100 WHERE seq >= 3")
    tamper("UPDATE facts_auditentry SET seq = seq - 99 WHERE seq > 100")
    tamper(
        'INSERT INTO facts_auditentry (id, account_id, seq, action, object_type, object_id, actor, "group", metadata,'
        " occurred_at, previous_hash, hash) SELECT gen_random_uuid(), account_id, 3, action, object_type, object_id,"
        " actor, \"group\", metadata, occurred_at, hash, repeat('1', 64) FROM facts_auditentry WHERE seq = 2"
    )
    with account_transaction(chain.id):
        assert 3 in {fault.seq for fault in faults(chain)}


@pytest.mark.django_db(transaction=True)
def test_writers_at_the_same_moment_keep_one_chain():
    account = AccountFactory()
    start = threading.Barrier(4)

    def work() -> None:
        try:
            start.wait(timeout=10)
            for _ in range(10):
                with account_transaction(account.id):
                    write(account)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    with account_transaction(account.id):
        assert list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True)) == list(range(1, 41))
        assert faults(account) == []


@pytest.mark.django_db
def test_accounts_have_chains_of_their_own():
    for _ in range(2):
        account = AccountFactory()
        with entered(account):
            assert write(account).seq == 1
