"""Who could read what is placed in a scope: people by their roles there, and keys by their limits."""

from __future__ import annotations

from facts.models import User
from facts.tenancy import ensure_scope
from governance.access import Right
from governance.models import ApiKey, Role
from governance.readers import readers_at
from tests.factories import GrantFactory, api_key, maker_of, person_in


def name_of(principal) -> str:
    return maker_of(principal).subject.display_name


def test_people_by_their_roles(account):
    above, there = person_in(account, role=Role.READER), person_in(account, role=Role.READER, path="/support")
    person_in(account, role=Role.READER, path="/sales")
    person_in(account, role=Role.READER, propagates=False)
    person_in(account, role=None)
    denied = person_in(account, role=Role.READER)
    scope = ensure_scope(account.id, "/support")
    GrantFactory(subject=maker_of(denied).subject, role=Role.READER, effect="deny", scope=scope)
    gone = maker_of(person_in(account, role=Role.READER, path="/support"))
    User.objects.filter(pk=gone.user_id).update(is_active=False)
    assert set(readers_at(account.id, "/support").people) == {name_of(above), name_of(there)}


def test_keys_by_their_limits(account):
    support, emea = (ensure_scope(account.id, path) for path in ("/support", "/support/emea"))
    api_key(account)
    api_key(account, scope_limit=support)
    api_key(account, scope_limit=emea)
    api_key(account, rights=[Right.CAPTURE])
    revoked, _ = api_key(account)
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=revoked.created_at)
    assert readers_at(account.id, "/support").keys == 2
