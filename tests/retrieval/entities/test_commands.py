"""The operator's commands for the index of names."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from facts.models import Account
from governance.models import Role
from retrieval.entities import rebuilding
from retrieval.models import AliasPair, Mention, PairState
from tests.factories import FactFactory, SubjectFactory, maker_of, person_in
from tests.retrieval.strategies.naming import SHARED


def _run(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


def test_a_dry_run_tells_and_a_run_writes_what_facts_name(account: Account) -> None:
    FactFactory(subject=SubjectFactory(account=account, key="ana"), statement="Met Bruno there")
    told = _run("rebuild_entities", "--account", account.key, "--dry-run")
    assert told == (
        "1 of 2  /: 0 facts would hold 0 mentions of 0 names.\n"
        "2 of 2  /support: 1 facts would hold 2 mentions of 2 names.\n"
    )
    assert not Mention.objects.exists()
    told = _run("rebuild_entities", "--account", account.key)
    assert "2 of 2  /support: 1 facts hold 2 mentions of 2 names.\n2 names compared with each other.\n" in told
    assert Mention.objects.count() == 2
    assert "Bruno" not in told


def test_one_scope_may_be_named(account: Account) -> None:
    FactFactory(subject=SubjectFactory(account=account, key="ana"))
    assert _run("rebuild_entities", "--account", account.key, "--scope", "/support").startswith("1 of 1  /support: 1")


@pytest.mark.parametrize("arguments", [("--account", "nobody"), ("--scope", "/nowhere"), ("--scope", "/a/../b")])
def test_what_is_not_there_is_said(account: Account, arguments: tuple[str, str]) -> None:
    given = {"--account": account.key, **dict([arguments])}
    with pytest.raises(CommandError):
        _run("rebuild_entities", *[part for pair in given.items() for part in pair])


def test_pairs_are_listed_and_decided_as_a_person(account: Account) -> None:
    topic = SubjectFactory(account=account, key="launches", kind="topic")
    FactFactory(subject=topic, statement="We ship Atlas and Atlantis", **SHARED)
    rebuilding.keep(account.id)
    pair = AliasPair.objects.create(account=account, first="atlantis", second="atlas", similarity=0.8)
    username = maker_of(person_in(account)).user.username
    person = ("entity_pairs", "--account", account.key, "--as", username)
    assert _run(*person) == f"{pair.id}  0.80  Atlantis  =  Atlas\n"
    for decision, state in (("--same", "same"), ("--undo", "proposed"), ("--different", "different")):
        assert _run(*person, decision, pair.id) == "Recorded.\n"
        pair.refresh_from_db()
        assert pair.state == PairState(state)
    assert _run(*person) == "There are none.\n"


def test_only_curators_of_the_account_see_pairs(account: Account) -> None:
    username = maker_of(person_in(account, role=Role.MEMBER)).user.username
    for name in (username, "nobody"):
        with pytest.raises(CommandError):
            _run("entity_pairs", "--account", account.key, "--as", name)
