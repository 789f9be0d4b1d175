"""Row-level security, asked as the restricted role that web, worker and tests use."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.apps import apps
from django.db import Error, connection, transaction

from facts import suppressions
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, Fact, Membership
from facts.tenancy import account_transaction, enter_account
from governance import keys
from governance.models import ApiKey, GateDecision
from tests.factories import (
    JANUARY,
    MARCH,
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    GrantFactory,
    IdentityFactory,
    MembershipFactory,
    SubjectFactory,
    api_key,
    entered,
    submit,
)

#: Tables without an account policy, and why they need none.
NOT_OWNED = {
    "auth_group": "Django's own; not used",
    "auth_group_permissions": "Django's own; not used",
    "auth_permission": "names of models",
    "django_admin_log": "not written: decisions are in the audit chain",
    "django_content_type": "names of models",
    "django_migrations": "names of migrations",
    "django_q_ormq": "queue: function paths and ids, never content",
    "django_q_schedule": "queue: function paths",
    "django_q_task": "queue: function paths, ids and error classes",
    "django_session": "opaque sessions of users, who may belong to several accounts",
    "facts_account": "the list of tenants, asked before one is entered",
    "facts_embeddingspace": "names of embedders",
    "facts_user": "people, who may belong to several accounts",
    "facts_user_groups": "Django's own; not used",
    "facts_user_user_permissions": "Django's own; not used",
    "memory_site_callcount": "calls per credential and minute",
    "memory_site_heartbeat": "signs of life of processes",
    "memory_site_scheduledrun": "when each schedule last completed",
}

POLICIES = """
SELECT k.relname, k.relrowsecurity AND k.relforcerowsecurity,
       coalesce(bool_or(p.polname = 'account_only' AND p.polcmd = '*' AND p.polwithcheck IS NOT NULL), false)
FROM pg_class k LEFT JOIN pg_policy p ON p.polrelid = k.oid
WHERE k.relnamespace = 'public'::regnamespace AND k.relkind IN ('r', 'p', 'v', 'm', 'f')
GROUP BY k.oid, k.relname, k.relrowsecurity, k.relforcerowsecurity
"""


def rows_of(statement: str, parameters: list | None = None) -> list[tuple]:
    """Return what a statement yields on the application's connection."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def owned_tables() -> list[str]:
    """Return the tables and partitions that the account policy protects."""
    return sorted(name for (name, _, policy) in rows_of(POLICIES) if policy)


@pytest.mark.django_db
def test_every_table_has_a_forced_account_policy_or_a_reason():
    without = {name for name, forced, policy in rows_of(POLICIES) if not (forced and policy)}
    assert without == set(NOT_OWNED)


@pytest.mark.django_db
def test_every_model_with_an_account_is_protected():
    protected = set(owned_tables())
    models = [model for model in apps.get_models() if any(field.name == "account" for field in model._meta.fields)]
    assert {model._meta.db_table for model in models} <= protected
    assert len(models) > 30


@pytest.mark.django_db
def test_the_role_is_neither_owner_nor_superuser():
    ((role, superuser, bypasses, owns),) = rows_of(
        "SELECT current_user, rolsuper, rolbypassrls,"
        " EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relowner = r.oid)"
        " FROM pg_roles r WHERE rolname = current_user"
    )
    assert (role, superuser, bypasses, owns) == ("memory_app", False, False, False)


@pytest.fixture
def canary(db) -> Account:
    """An account with rows in as many tables as the core writes, none of which may be seen from elsewhere."""
    account = AccountFactory()
    with entered(account):
        member = MembershipFactory(account=account)
        GrantFactory(subject=member.subject)
        GateRuleFactory(account=account)
        IdentityFactory(subject=member.subject)
        submit(member.subject, {"city": "Lyon"}, at=JANUARY)
        submit(member.subject, {"city": "Paris"}, at=MARCH)
        forgotten = FactFactory(subject=member.subject)
        suppressions.suppress(forgotten, cause="forgotten", actor=pipeline(), evidence_until=None)
        api_key(account)
    return account


def counts() -> dict[str, int]:
    """Return the number of visible rows of each protected table that shows any."""
    found = {table: rows_of(f"SELECT count(*) FROM {table}")[0][0] for table in owned_tables()}
    return {table: number for table, number in found.items() if number}


def test_without_an_account_nothing_is_visible(canary):
    with entered(canary):
        visible = counts()
    assert {"facts_fact", "facts_event", "facts_passage", "facts_facttext", "facts_conflictset"} <= set(visible)
    assert len(visible) >= 20
    with entered(None):
        assert counts() == {}


def test_a_setting_that_was_never_made_shows_nothing_either(canary):
    with entered(None), connection.cursor() as cursor:
        cursor.execute("RESET app.account")
        assert counts() == {}


def test_another_account_sees_nothing_of_it(canary):
    other = AccountFactory()
    with entered(other):
        assert counts() == {"facts_accountsecret": 1, "facts_scope": 1}
        assert not Fact.objects.filter(account_id=canary.id).exists()


def test_rows_for_another_account_are_refused(canary):
    with entered(canary):
        subject = SubjectFactory(account=canary)
    with entered(AccountFactory()), pytest.raises(Error, match="row-level security"), transaction.atomic():
        SubjectFactory(account=canary, key="smuggled")
    with entered(AccountFactory()):
        assert type(subject).objects.filter(pk=subject.pk).update(name="changed") == 0
        assert type(subject).objects.filter(pk=subject.pk).delete()[0] == 0
    with entered(canary):
        subject.refresh_from_db()
        assert subject.name != "changed"


def test_a_row_cannot_be_moved_to_another_account(canary):
    other = AccountFactory()
    with entered(canary), pytest.raises(Error, match="row-level security"), transaction.atomic():
        Fact.objects.update(account=other)


def test_a_transaction_belongs_to_one_account(account):
    with pytest.raises(RuntimeError, match="another account"), transaction.atomic():
        enter_account(AccountFactory().id)


@pytest.mark.django_db(transaction=True)
def test_the_account_ends_with_its_transaction():
    account = AccountFactory()
    with account_transaction(account.id):
        assert rows_of("SELECT current_setting('app.account')") == [(str(account.id),)]
    assert rows_of("SELECT coalesce(current_setting('app.account', true), '')") == [("",)]
    with pytest.raises(RuntimeError, match="inside a transaction"):
        enter_account(account.id)


def test_a_key_is_found_by_its_digest_alone(canary):
    with entered(canary):
        key, raw = api_key(canary)
        api_key(canary, label="another")
    with entered(None):
        assert ApiKey.objects.count() == 0
        rows_of("SELECT set_config('app.key_digest', %s, true)", [keys.digest(raw)])
        assert list(ApiKey.objects.values_list("id", flat=True)) == [key.id]
        assert ApiKey.objects.update(expires_at=now() + timedelta(days=1)) == 0
        assert ApiKey.objects.all().delete()[0] == 0
        rows_of("SELECT set_config('app.key_digest', '', true)")
        assert ApiKey.objects.count() == 0


def test_a_membership_is_found_by_its_user_alone(canary):
    with entered(canary):
        membership = Membership.objects.get()
        MembershipFactory(account=canary)
    with entered(None):
        rows_of("SELECT set_config('app.user', %s, true)", [str(membership.user_id)])
        assert list(Membership.objects.values_list("id", flat=True)) == [membership.id]
        rows_of("SELECT set_config('app.user', '', true)")
        assert Membership.objects.count() == 0


APPEND_ONLY = ["facts_auditentry", "facts_factrevision", "governance_gatedecision"]


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("statement", ["UPDATE {} SET actor = '{{}}'", "DELETE FROM {}"], ids=["update", "delete"])
def test_what_is_recorded_cannot_be_changed(canary, table, statement):
    with entered(canary), pytest.raises(Error, match="append-only"), transaction.atomic():
        connection.cursor().execute(statement.format(table))


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_the_application_may_not_empty_a_table(canary, table):
    with entered(canary), pytest.raises(Error, match="permission denied"), transaction.atomic():
        connection.cursor().execute(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.django_db(databases=["default", "owner"])
def test_nor_does_a_guarded_table_let_its_owner_do_so_by_mistake(table):
    guards = rows_of(
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
        " AND tgenabled = 'O' AND (tgtype & 32) <> 0",
        [table],
    )
    assert guards == [(1,)]


def test_a_revision_may_be_closed_once_and_nothing_else(canary):
    with entered(canary):
        assert rows_of(
            "UPDATE facts_factrevision SET recorded_to = clock_timestamp() WHERE recorded_to IS NULL RETURNING 1"
        )
        for change in ("recorded_to = clock_timestamp()", "recorded_to = NULL", "version = 9"):
            with pytest.raises(Error, match="append-only"), transaction.atomic():
                connection.cursor().execute(f"UPDATE facts_factrevision SET {change}")


def test_gate_decisions_are_there_to_be_guarded(canary):
    with entered(canary):
        assert GateDecision.objects.count() == 4
