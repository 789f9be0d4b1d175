"""Letting a user into an account."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from facts.actors import system
from facts.errors import Conflicting
from facts.models import Account, AuditEntry, Membership
from governance.members import add_member
from governance.models import Grant, Role
from tests.factories import UserFactory


def test_a_user_gets_in_once_with_each_role(account: Account) -> None:
    user = UserFactory(username="ada")
    for _ in range(2):
        add_member(account.id, user=user, role=Role.CURATOR, path="/support", actor=system())
    add_member(account.id, user=user, role=Role.READER, path="/", actor=system())
    membership = Membership.objects.get()
    assert (membership.user, membership.subject.key) == (user, "ada")
    grants = {(grant.scope.path, grant.role) for grant in Grant.objects.filter(subject=membership.subject)}
    assert grants == {("/support", Role.CURATOR), ("/", Role.READER)}
    assert AuditEntry.objects.filter(action="member.granted").count() == 2


def test_two_users_are_not_one_person(account: Account) -> None:
    add_member(account.id, user=UserFactory(username="ada"), role=Role.READER, path="/", actor=system())
    with pytest.raises(Conflicting) as refused:
        add_member(account.id, user=UserFactory(), role=Role.READER, path="/", actor=system(), subject_key="ada")
    assert refused.value.code == "subject_taken"


def test_the_command_opens_the_admin(account: Account) -> None:
    user = UserFactory(username="ada")
    output = io.StringIO()
    call_command("add_member", account=account.key, user="ada", stdout=output)
    user.refresh_from_db()
    assert user.is_staff
    assert output.getvalue() == f"ada is curator of {account.key} at /.\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"account": "nowhere", "user": "ada"}, "There is no account 'nowhere'."),
        ({"user": "nobody"}, "There is no user 'nobody'."),
    ],
)
def test_the_command_says_what_is_missing(account: Account, given: dict[str, str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("add_member", **{"account": account.key, **given})
