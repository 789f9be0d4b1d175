"""Setting and listing how long an account keeps raw text, at the command line."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from facts.models import Account
from governance.models import RetentionRule


def _run(account: Account, **options: object) -> list[str]:
    out = StringIO()
    call_command("set_retention", account=account.key, stdout=out, **options)
    return out.getvalue().splitlines()


def test_what_holds_is_listed(account: Account) -> None:
    assert _run(account) == [
        "channel_message: 7 days",
        "conversation: for ever",
        "url_fetch: for ever",
        "web_search: for ever",
        "backfill: for ever",
        "admin_input: for ever",
    ]


def test_terms_are_set_for_a_source_and_a_channel_and_lifted_again(account: Account) -> None:
    _run(account, source="conversation", days="30")
    _run(account, days="forever")
    assert _run(account, channel="C1", days="1")[:3] == [
        "channel_message: for ever",
        "  in C1: 1 days",
        "conversation: 30 days",
    ]
    for options in ({"channel": "C1"}, {"source": "conversation"}, {}):
        _run(account, days="default", **options)
    assert RetentionRule.objects.count() == 0


@pytest.mark.parametrize("days", ["soon", "-1", "1.5", "", "99999", "٣x"])
def test_what_is_no_term_changes_nothing(account: Account, days: str) -> None:
    with pytest.raises(CommandError):
        _run(account, days=days)
    assert RetentionRule.objects.count() == 0


@pytest.mark.django_db
def test_an_unknown_account_is_named() -> None:
    with pytest.raises(CommandError, match="no account 'nowhere'"):
        call_command("set_retention", account="nowhere")
