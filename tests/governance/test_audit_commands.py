"""The commands that check an audit chain and write it out."""

from __future__ import annotations

import hashlib
import json
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from facts import audit
from facts.actors import pipeline
from facts.models import Account
from facts.tenancy import account_transaction
from tests.factories import AccountFactory
from tests.tampering import tamper

#: What the help of the command says a hash is made from.
HASHED = ("account_id", "seq", "action", "object_type", "object_id", "actor", "group", "metadata")
HASHED += ("occurred_at", "previous_hash")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def accounts(transactional_db) -> list[Account]:
    """Two accounts, the first with three entries, the second with one."""
    made = [AccountFactory(key="first"), AccountFactory(key="second")]
    for account in (made[0], made[0], made[0], made[1]):
        with account_transaction(account.id):
            audit.record(
                account.id,
                action="test.done",
                object_type="test",
                object_id="1",
                actor=pipeline(),
                group=uuid.UUID(int=7),
                metadata={"nom": "é", "n": 1.5},
            )
    return made


def _run(name: str, **options: object) -> str:
    out = StringIO()
    call_command(name, stdout=out, **options)
    return out.getvalue()


def _tip(account: Account) -> str:
    with account_transaction(account.id):
        return str(audit.tip(account.id))


def test_sound_chains_are_said_to_be_sound_with_their_tips(accounts) -> None:
    first, second = accounts
    assert _run("verify_audit").splitlines() == [
        f"first: 3 entries, sound; tip {_tip(first)}",
        f"second: 1 entry, sound; tip {_tip(second)}",
    ]


def test_a_broken_chain_is_named_with_its_first_broken_place_and_the_others_are_checked(accounts) -> None:
    tamper(f"DELETE FROM facts_auditentry WHERE account_id = '{accounts[0].id}' AND seq = 2")
    out = StringIO()
    with pytest.raises(CommandError, match=r"^Not sound: first\.$"):
        call_command("verify_audit", "--json", stdout=out)
    first, second = map(json.loads, out.getvalue().splitlines())
    assert first == {
        "account": "first",
        "sound": False,
        "entries": 3,
        "tip": _tip(accounts[0]),
        "first_fault": 3,
        "faults": [
            {"seq": 3, "problem": "expected entry 2"},
            {"seq": 3, "problem": "does not point to the entry before it"},
        ],
        "more_faults": False,
    }
    assert (second["sound"], second["faults"]) == (True, [])
    assert "second: 1 entry, sound" in _run("verify_audit", account="second")


def test_an_anchor_belongs_to_one_account_and_is_checked(accounts) -> None:
    anchor = _tip(accounts[0])
    assert "sound" in _run("verify_audit", account="first", anchor=anchor)
    with pytest.raises(CommandError, match=r"^Not sound"):
        _run("verify_audit", account="second", anchor=anchor)
    with pytest.raises(CommandError, match="of one account"):
        _run("verify_audit", anchor=anchor)
    with pytest.raises(CommandError, match="SEQ:HASH"):
        _run("verify_audit", account="first", anchor="latest")
    with pytest.raises(CommandError, match="no account 'third'"):
        _run("verify_audit", account="third")


def test_what_is_written_out_can_be_checked_by_whoever_has_only_that(accounts) -> None:
    entries = [json.loads(line) for line in _run("export_audit", account="first").splitlines()]
    assert [entry["seq"] for entry in entries] == [1, 2, 3]
    previous = "0" * 64
    for entry in entries:
        body = json.dumps([entry[name] for name in HASHED], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        assert entry["hash"] == hashlib.sha256(body.encode()).hexdigest()
        assert entry["previous_hash"] == previous
        previous = entry["hash"]


def test_an_export_goes_on_where_the_last_one_ended(accounts) -> None:
    lines = _run("export_audit", account="first", after=2).splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [3]
    assert _run("export_audit", account="first", after=3) == ""
    with pytest.raises(CommandError, match="no account"):
        _run("export_audit", account="third")
