"""`manage.py connect_slack`: whose workspace it is, as Slack tells it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from facts.models import Account, Job
from ingest.models import SlackChannel, SlackWorkspace
from tests.factories import AccountFactory, entered
from tests.ingest.slack_live import listen
from tests.stubs import slack_server


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("connect_slack", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_slack_tells_who_the_bot_is(account: Account, settings: Any) -> None:
    settings.SLACK_SIGNING_SECRET = "s"
    with slack_server.running() as slack:
        settings.SLACK_API_URL, settings.SLACK_BOT_TOKEN = slack.api_url, slack_server.TOKEN
        out, err = run("T1", "--account", account.key, "--app", "A1", "--root", "/chat")
        with pytest.raises(CommandError, match="belongs to another workspace: T1"):
            run("T2", "--account", account.key)
        settings.SLACK_BOT_TOKEN = "xoxb-wrong"
        with pytest.raises(CommandError, match="invalid_auth"):
            run("T1", "--account", account.key)
    made = SlackWorkspace.objects.get()
    assert (made.name, made.bot_user_id, made.bot_id, made.app_id, made.root) == ("Stub", "UBOT", "BBOT", "A1", "/chat")
    assert "Stub (T1) belongs to" in out
    assert err == ""
    assert "xoxb" not in out
    assert Job.objects.filter(kind="slack.members").count() == 1


def test_without_a_token_the_bot_has_to_be_named(account: Account) -> None:
    with pytest.raises(CommandError, match="Give --bot-user"):
        run("T1", "--account", account.key)
    _, err = run("T1", "--account", account.key, "--bot-user", "UBOT")
    assert "SLACK_SIGNING_SECRET is not set" in err
    assert not Job.objects.filter(kind="slack.members").exists()


def test_a_workspace_belongs_to_one_account(account: Account) -> None:
    run("T1", "--account", account.key, "--bot-user", "UBOT")
    other = AccountFactory(key="other")
    with entered(None), pytest.raises(CommandError, match="another account"):
        run("T1", "--account", other.key, "--bot-user", "UBOT")


def test_disconnecting_stops_listening_and_keeps_what_there_is(account: Account) -> None:
    run("T1", "--account", account.key, "--bot-user", "UBOT")
    listen(SlackWorkspace.objects.get())
    out, _ = run("T1", "--account", account.key, "--disconnect")
    assert "disconnected" in out
    assert SlackWorkspace.objects.get().disconnected_at is not None
    assert not SlackChannel.objects.get().listening
    with pytest.raises(CommandError, match="No such workspace"):
        run("T9", "--account", account.key, "--disconnect")
    with pytest.raises(CommandError, match="no account"):
        run("T9", "--account", "nowhere")
