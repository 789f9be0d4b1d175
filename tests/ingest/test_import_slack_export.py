"""The command that imports a Slack export: what it says, and how it ends."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from facts.models import Account, Event, Fact
from ingest.models import EventOutcome, ImportRun
from tests.ingest.slack_exports import said, write

DAY = "general/2025-01-10"


def run(path: Path, account: Account, *options: str) -> tuple[str, str]:
    out, error = io.StringIO(), io.StringIO()
    try:
        call_command("import_slack_export", str(path), "--account", account.key, *options, stdout=out, stderr=error)
    except SystemExit as ended:
        return out.getvalue(), f"{error.getvalue()}exit code {ended.code}"
    return out.getvalue(), error.getvalue()


def test_it_reports_what_was_imported_and_where_to(account: Account, tmp_path: Path) -> None:
    records = [said("hello"), said("hello"), said("joined", subtype="channel_join"), said("")]
    out, error = run(write(tmp_path, {DAY: records}), account)
    assert error == ""
    assert out.splitlines() == [
        "4 messages in 1 files",
        "       1  captured",
        "       1  deduplicated",
        "       1  no_text                 It has no words: a picture, a button, a reaction.",
        "       1  subtype:channel_join    A notice of Slack's own: nobody said it.",
        "  #general -> /slack/general",
    ]


def test_it_waits_for_the_facts_when_asked(account: Account, tmp_path: Path) -> None:
    records = [said("I live in Lyon."), said("thanks", user="U2", after=1), said("Who lives in Rome?", after=2)]
    out, error = run(write(tmp_path, {DAY: records}), account, "--wait")
    assert error == ""
    assert not EventOutcome.objects.filter(result="pending").exists()
    assert Fact.objects.get().statement == "Ana lives in Lyon."
    said_of_facts = out[out.index("Messages:") :].splitlines()
    assert "       1  facts" in said_of_facts
    assert "       1  fact      new                     Nothing was known about this." in said_of_facts


def test_what_could_not_be_read_ends_in_exit_code_1(account: Account, tmp_path: Path) -> None:
    path = write(tmp_path, {DAY: [said("kept")], "general/2025-01-11": b"{"}, dms=[{"id": "D1"}])
    write(tmp_path, {"D1/2025-01-10": [said("between us")]}, dms=[{"id": "D1"}])
    out, error = run(path, account)
    assert "Direct messages are not imported: 1 files were left out." in out
    assert error.startswith("not read: general/2025-01-11.json: it is no JSON")
    assert error.endswith("exit code 1")
    assert Event.objects.get().text == "kept"


def test_a_dry_run_says_so_and_stores_nothing(account: Account, tmp_path: Path) -> None:
    out, error = run(write(tmp_path, {DAY: [said("hello")]}), account, "--dry-run", "--wait")
    assert (out.splitlines()[0], error) == ("1 messages in 1 files (nothing stored)", "")
    assert not ImportRun.objects.exists()


def test_options_reach_the_import(account: Account, tmp_path: Path) -> None:
    channels = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}]
    days = {DAY: [said("a"), said("b", after=86_400)], "random/2025-01-10": [said("c", after=86_400)]}
    options = ["--scope", "/team", "--channel", "#random=/fun", "--since", "2025-01-11", "--trust", "semi_trusted"]
    run(write(tmp_path, days, channels=channels), account, *options, "--team", "T9", "--limit", "3")
    assert sorted(Event.objects.values_list("text", "scope__path", "origin_trust")) == [
        ("b", "/team", "semi_trusted"),
        ("c", "/fun", "semi_trusted"),
    ]
    assert set(Event.objects.values_list("source_key", flat=True)) == {
        "slack:T9:C1:1736586000.000100",
        "slack:T9:C2:1736586000.000100",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--channel", "general"], "a channel is given as NAME=/PATH"),
        (["--since", "yesterday"], "This is no ISO 8601 date and time."),
        (["--limit", "0"], "a number of at least 1"),
        (["--scope", "/a/../b"], "A scope path has no empty, '.' or '..' part."),
    ],
)
def test_options_that_make_no_sense(account: Account, tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message.replace(".", r"\.")):
        run(write(tmp_path, {DAY: [said("a")]}), account, *options)
    assert not Event.objects.exists()


@pytest.mark.parametrize(("key", "message"), [("nobody", "There is no account 'nobody'."), ("", "no such file")])
def test_what_is_not_there(account: Account, tmp_path: Path, key: str, message: str) -> None:
    named: Any = Account(key=key) if key else account
    with pytest.raises(CommandError, match=message):
        run(tmp_path / "missing", named)
