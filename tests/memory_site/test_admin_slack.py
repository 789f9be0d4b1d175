"""The admin's pages of Slack: which channels are listened to, and the button that changes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts.models import Account, LongJob, Subject
from governance.models import Role
from ingest import backfill_outlook, opting_out
from ingest.models import SlackChannel, SlackWorkspace
from ingest.slack import channels
from tests.admin_scene import sign_in
from tests.factories import entered, person_in
from tests.ingest.slack_exports import said
from tests.ingest.slack_live import SECRET, Talk, connect, listen

LIST = "admin:ingest_slackchannel_changelist"


@pytest.fixture
def workspace(account: Account, settings: Any) -> SlackWorkspace:
    settings.SLACK_SIGNING_SECRET = SECRET
    made = connect(account)
    listen(made)
    channels.note(made, {"id": "C2", "name": "random"})
    return made


def shown(client: Client, name: str, *arguments: Any) -> str:
    with entered(None):
        return client.get(reverse(name, args=arguments)).content.decode()


def test_channels_show_where_their_messages_go_and_how_many_came(
    account: Account, client: Client, workspace: SlackWorkspace
) -> None:
    talk = Talk()
    talk.tell(said("one"))
    talk.tell(said("two", after=60))
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    listed = " ".join(shown(client, LIST).split())
    assert "#general" in listed
    assert "/slack/general" in listed
    assert "2025-01-10 09:01 UTC" in listed
    assert '<td class="field-kept">2</td>' in listed
    assert '<td class="field-scope">none yet</td>' in listed


def test_the_list_costs_as_much_for_many_channels(account: Account, client: Client, workspace: SlackWorkspace) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    shown(client, LIST)
    with CaptureQueriesContext(connection) as few:
        shown(client, LIST)
    for number in range(20):
        channels.note(workspace, {"id": f"C9{number}", "name": f"more-{number}"})
    with CaptureQueriesContext(connection) as many:
        shown(client, LIST)
    assert len(many) == len(few)


def test_a_button_opts_a_channel_in_and_out(account: Account, client: Client, workspace: SlackWorkspace) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    channel = SlackChannel.objects.get(channel_id="C2")
    page = reverse("admin:slack_channel_switch", args=[channel.pk])
    for answer, listening in (("yes", True), ("no", False)):
        with entered(None):
            assert client.post(page, {"listen": answer}).status_code == 302
        channel.refresh_from_db()
        assert channel.listening is listening
        assert channel.switched_by is not None
    assert "Stop listening" in shown(
        client, "admin:ingest_slackchannel_change", SlackChannel.objects.get(name="general").pk
    )


def test_reading_the_history_is_estimated_before_it_is_begun(
    account: Account, client: Client, workspace: SlackWorkspace, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SLACK_BOT_TOKEN, settings.TASKS_EAGER, settings.SLACK_BACKFILL_SECONDS = "xoxb-secret", False, 2
    talk = Talk()
    talk.tell(said("one"))
    talk.tell(said("two", after=60))
    channel = SlackChannel.objects.get(name="general")
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    record = "admin:ingest_slackchannel_change"
    monkeypatch.setattr(backfill_outlook, "now", lambda: datetime(2025, 1, 20, 9, tzinfo=UTC))
    SlackChannel.objects.filter(pk=channel.pk).update(switched_at=datetime(2025, 1, 20, 8, tzinfo=UTC))
    assert "nobody knows before: under a minute at least" in shown(client, record, channel.pk)
    SlackChannel.objects.filter(pk=channel.pk).update(switched_at=datetime(2025, 1, 10, 9, tzinfo=UTC))
    looked = backfill_outlook.outlook(workspace)
    # Two messages in ten days, for a year: one page, and the lists of people and of channels.
    assert (looked.channels, looked.days, looked.messages, looked.expected) == (1, 365, 73, timedelta(seconds=6))
    assert "<b>73 messages</b>" in shown(client, record, channel.pk)
    assert "Read the history" not in shown(client, record, SlackChannel.objects.get(name="random").pk)
    with entered(None):
        begun = client.post(reverse("admin:slack_channel_backfill", args=[channel.pk]))
    work = LongJob.objects.get()
    assert begun["Location"] == reverse("admin:facts_longjob_change", args=[work.pk])
    assert "The worker goes on" not in shown(client, "admin:facts_longjob_change", work.pk)
    assert "It is being read" in shown(client, "admin:ingest_slackworkspace_change", workspace.pk)
    LongJob.objects.update(state="failed", finished_at=work.created_at, token=None)
    assert "The worker goes on where it stopped" in shown(client, "admin:facts_longjob_change", work.pk)


def test_only_administrators_see_and_switch(account: Account, client: Client, workspace: SlackWorkspace) -> None:
    sign_in(client, person_in(account, role=Role.CURATOR))
    channel = SlackChannel.objects.get(channel_id="C2")
    with entered(None):
        assert client.get(reverse(LIST)).status_code == 403
        page = reverse("admin:slack_channel_switch", args=[channel.pk])
        assert client.post(page, {"listen": "yes"}).status_code == 404
    channel.refresh_from_db()
    assert not channel.listening


def test_workspaces_requests_and_people_who_opted_out(
    account: Account, client: Client, workspace: SlackWorkspace, settings: Any
) -> None:
    settings.SLACK_BOT_TOKEN = "xoxb-secret"
    Talk().happen(type="reaction_added", user="U1")
    opting_out.stop_remembering(account.id, Subject.objects.get(key="bo"), via=opting_out.PORTAL)
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    pages = {
        name: shown(client, f"admin:ingest_{name}_changelist") for name in ("slackworkspace", "slackreceipt", "optout")
    }
    assert "Example" in pages["slackworkspace"]
    assert "unknown_type" in pages["slackreceipt"]
    assert "Bo Berg" in pages["optout"]
    one = shown(client, "admin:ingest_slackworkspace_change", workspace.pk)
    assert not any(secret in page for page in (*pages.values(), one) for secret in ("xoxb-secret", SECRET))
