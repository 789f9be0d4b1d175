from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from governance import keys
from governance.models import ApiKey
from tests.factories import MembershipFactory, SubjectFactory


def run(account, *arguments):
    output = StringIO()
    call_command("create_key", "--account", account.key, "--label", "app", *arguments, stdout=output)
    return output.getvalue()


def test_raw_prints_the_key_and_nothing_else(account):
    raw = run(account, "--raw").strip()
    principal = keys.authenticate(raw)
    assert (principal.account_id, principal.name) == (account.id, "app")
    assert principal.rights == {"capture", "read", "read_as_subject"}
    assert principal.delegated == frozenset()


def test_without_raw_it_says_that_the_key_is_shown_once(account):
    raw, blank, sentence, _ = run(account).split("\n")
    assert keys.authenticate(raw).name == "app"
    assert (blank, sentence) == ("", "app: capture, read, read_as_subject. This is shown once; keep it safe.")


def test_everything_that_can_be_said(account):
    membership = MembershipFactory(account=account, user__username="grace")
    SubjectFactory(account=account, key="ada")
    raw = run(
        account,
        *("--raw", "--rights", "read", "diagnostics", "--delegate", "resolve", "keys", "--as", "grace"),
        *("--scope", "/support/emea", "--peer", "ada", "--expires", "2100-01-01", "--per-minute", "60"),
    ).strip()
    principal, made = keys.authenticate(raw), ApiKey.objects.get()
    assert principal.rights == {"read", "diagnostics"}
    assert principal.delegated == {"resolve", "keys"}
    assert (principal.scope_limit, principal.requests_per_minute) == ("/support/emea", 60)
    assert (made.maker_id, made.peer.key, made.expires_at.year) == (membership.id, "ada", 2100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delegate", "resolve"), "A delegation needs the person who makes it."),
        (("--as", "nobody"), "'nobody' is no member of this account."),
        (("--peer", "nobody"), "There is no peer 'nobody' in this account."),
        (("--expires", "2020-01-01"), "--expires has to be in the future."),
        (("--expires", "2100-01-01T00:00"), "State the offset from UTC, such as Z or +02:00."),
        (("--per-minute", "0"), "--per-minute has to be at least 1."),
        (("--scope", "a/../b"), "A scope path has no"),
    ],
)
def test_what_does_not_go_is_said(account, arguments, message):
    with pytest.raises(CommandError, match=message.replace("+", r"\+").replace(".", r"\.")):
        run(account, *arguments)
    assert not ApiKey.objects.exists()


def test_an_unknown_account(db):
    with pytest.raises(CommandError, match="There is no account 'nowhere'"):
        call_command("create_key", "--account", "nowhere", "--label", "app")
