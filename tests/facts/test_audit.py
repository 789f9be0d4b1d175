"""The audit chain: sound when only written to, and telling wherever somebody tampered with it."""

from __future__ import annotations

import contextlib
import threading
import uuid

import pytest
from django.db import connection

from facts import audit
from facts.actors import pipeline
from facts.audit import Anchor, ChainFault
from facts.models import Account, AuditEntry, AuditTip
from facts.tenancy import account_transaction
from tests.factories import AccountFactory, SubjectFactory, entered, submit
from tests.tampering import tamper

GROUP = uuid.UUID(int=7)


def write(account: Account, action: str = "test.done") -> AuditEntry | None:
    """Append one entry and return the chain's last."""
    audit.record(
        account.id,
        action=action,
        object_type="test",
        object_id="1",
        actor=pipeline(),
        group=GROUP,
        metadata={"count": 1, "share": 0.5, "ids": ["a"], "unicode": "é"},
    )
    return AuditEntry.objects.filter(account_id=account.id).order_by("seq").last()


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
        ("DELETE FROM {} WHERE seq = 5", [(5, "is missing, with all that follow: 5 entries were written")]),
        ("DELETE FROM {} WHERE seq > 2", [(3, "is missing, with all that follow: 5 entries were written")]),
        ("DELETE FROM {}", [(1, "is missing, with all that follow: 5 entries were written")]),
    ],
    ids=[
        "changed",
        "another author",
        "backdated",
        "removed",
        "first removed",
        "hash changed",
        "last cut off",
        "end cut off",
        "all gone",
    ],
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


def _copied(entry: AuditEntry, **changes: object) -> AuditEntry:
    """Return an entry whose hash fits, as somebody makes it who knows how."""
    copy = AuditEntry(account_id=entry.account_id, **{**_fields(entry), **changes})
    copy.hash = audit._hash_of(copy)
    return copy


def _fields(entry: AuditEntry) -> dict[str, object]:
    names = ("seq", "action", "object_type", "object_id", "actor", "group", "metadata", "occurred_at", "previous_hash")
    return {name: getattr(entry, name) for name in names}


@pytest.mark.django_db(transaction=True)
def test_an_entry_that_was_added_with_the_right_hashes_is_found_by_the_tip(chain):
    with account_transaction(chain.id):
        last = AuditEntry.objects.get(seq=5)
        _copied(last, seq=6, previous_hash=last.hash).save(force_insert=True)
        assert faults(chain) == [ChainFault(6, "was added afterwards: 5 entries were written")]


@pytest.mark.django_db(transaction=True)
def test_a_last_entry_that_was_replaced_with_the_right_hashes_is_found_by_the_tip(chain):
    tamper("DELETE FROM facts_auditentry WHERE seq = 5")
    with account_transaction(chain.id):
        fourth = AuditEntry.objects.get(seq=4)
        _copied(fourth, seq=5, previous_hash=fourth.hash, action="test.other").save(force_insert=True)
        assert faults(chain) == [ChainFault(5, "is not the entry that was written last")]


@pytest.mark.django_db(transaction=True)
def test_a_missing_tip_is_a_fault_and_stops_no_writer(chain):
    tamper("DELETE FROM facts_audittip")
    with account_transaction(chain.id):
        assert faults(chain) == [ChainFault(5, "nothing tells whether it is the last entry: the tip is gone")]


@pytest.mark.django_db(transaction=True)
def test_a_chain_that_was_made_anew_with_its_tip_is_found_by_an_anchor(chain):
    with account_transaction(chain.id):
        noted, third = audit.tip(chain.id), AuditEntry.objects.get(seq=3)
    tamper("DELETE FROM facts_auditentry WHERE seq > 3")
    tamper(f"UPDATE facts_audittip SET seq = 3, hash = '{third.hash}'")
    with account_transaction(chain.id):
        assert faults(chain) == []
        missing = [ChainFault(5, "is not the entry that was noted down")]
        assert list(audit.verify(chain.id, anchor=noted)) == missing
        write(chain)
        write(chain)
        assert list(audit.verify(chain.id, anchor=noted)) == missing
        assert list(audit.verify(chain.id, anchor=audit.tip(chain.id))) == []


@pytest.mark.parametrize("text", ["", "5", "5:", "0:" + "a" * 64, "5:" + "A" * 64, "-1:" + "a" * 64, "5:" + "a" * 63])
def test_a_malformed_anchor_is_refused(text):
    with pytest.raises(ValueError, match="SEQ:HASH"):
        Anchor.parse(text)


def test_an_anchor_is_written_as_it_is_read():
    assert str(Anchor.parse("5:" + "a" * 64)) == "5:" + "a" * 64


def test_the_tip_is_of_its_own_account(account):
    write(account)
    with entered(AccountFactory()):
        assert AuditTip.objects.count() == 0


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


def test_gathered_entries_are_chained_in_their_order_and_without_what_was_taken_back(account):
    with audit.gathered(account.id):
        write(account, "first")
        with contextlib.suppress(RuntimeError), audit.savepoint():
            write(account, "taken back")
            raise RuntimeError
        with audit.gathered(account.id):
            audit.record(account.id, action="second", object_type="t", object_id="1", actor=pipeline(), group=GROUP)
        assert not AuditEntry.objects.exists()
    assert list(AuditEntry.objects.order_by("seq").values_list("seq", "action")) == [(1, "first"), (2, "second")]
    assert faults(account) == []


def test_nothing_is_chained_of_what_failed(account):
    with contextlib.suppress(RuntimeError), audit.gathered(account.id):
        write(account)
        raise RuntimeError
    assert not AuditEntry.objects.exists()
    write(account)
    assert faults(account) == []
