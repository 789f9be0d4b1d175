"""What every test stands on: the test database, and its emptying after tests that commit.

The database is created and migrated by the owner; tests use the restricted role, as the product does. A test
that commits (`transaction=True`, `live_server`) leaves an empty database behind, whatever triggers guard its
tables.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import hypothesis
import psycopg
import pytest
from django.db import connections
from django.test.utils import setup_databases, teardown_databases
from psycopg import sql

from facts import embedding, tenancy
from facts.models import Account
from facts.tenancy import account_transaction
from retrieval import outcomes
from tests.factories import AccountFactory

# A deadline would make the outcome depend on the machine's load.
hypothesis.settings.register_profile("memory", deadline=None)
hypothesis.settings.load_profile("memory")

KEPT_TABLES = ["django_migrations", "django_content_type", "auth_permission"]
#: Milliseconds that a statement of a read may take, and below which a bound is meant.
PATIENCE, IMPATIENT = 60_000, 100
LOCK_TIMEOUT = "10s"  # a test that leaves a transaction open in a thread fails here instead of hanging


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker,
    django_db_keepdb: bool,
    django_db_createdb: bool,
) -> Iterator[None]:
    """Create the test database as the owner, whichever aliases the tests ask for; each process has its own."""
    with django_db_blocker.unblock():
        created = setup_databases(
            verbosity=request.config.option.verbose,
            interactive=False,
            aliases={"default", "owner"},
            serialized_aliases=set(),
            keepdb=django_db_keepdb and not django_db_createdb,
        )
        _execute_as_owner("ALTER DATABASE {} SET synchronous_commit = off")
    yield
    with django_db_blocker.unblock():
        connections.close_all()
        if not django_db_keepdb:
            teardown_databases(created, verbosity=request.config.option.verbose)


@pytest.fixture
def account(db: None) -> Iterator[Account]:
    """An account, entered for the whole test: everything the test does happens in one transaction of that account."""
    made = AccountFactory()
    with account_transaction(made.id):
        yield made


@pytest.fixture(autouse=True)
def _search_on_the_connection_of_the_test(request: pytest.FixtureRequest, settings: Any) -> None:
    """Run the strategies of searches where they see what an uncommitted test stored; other connections do not."""
    if not _commits(request):
        settings.SEARCH_THREADS = 0


@pytest.fixture(autouse=True)
def _embedder_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin with the embedder of the settings, whatever a test before registered, and remember nothing of its spaces.

    Both are the whole process's, and tests that commit empty the table whose numbers are remembered.
    """
    before = embedding._state
    monkeypatch.setattr(embedding, "_spaces", {})
    embedding.register(before.asked_for, blueprint=before.blueprint, remake=before.remake)
    yield
    embedding._state = before


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer depend on the machine's load: reads have all the time that they need.

    In a test that lives in one transaction the bound that a read sets also holds for what comes after it, until the
    next one; there the clock of searches stands still as well. Who wants to see something dropped asks for less than
    :data:`IMPATIENT` milliseconds, or commits.
    """
    settings.CONTEXT_DEADLINE_MS = PATIENCE
    if _commits(request):
        return

    def patient(account_id: uuid.UUID, *, local: Mapping[str, str] | None = None) -> None:
        bound = (local or {}).get("statement_timeout")
        if bound is not None and int(bound) >= IMPATIENT:
            local = {**(local or {}), "statement_timeout": str(PATIENCE)}
        enter(account_id, local=local)

    enter = tenancy.enter_account
    monkeypatch.setattr(tenancy, "enter_account", patient)
    monkeypatch.setattr(outcomes, "time", SimpleNamespace(monotonic=lambda: 0.0))


@pytest.fixture(autouse=True)
def _empty_after_commits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty all tables after a test that commits.

    Django's own flush skips `default`, a mirror, and could not get past append-only triggers.
    """
    yield
    if not _commits(request):
        return
    connections["default"].close()
    with psycopg.connect(**_owner_parameters(), autocommit=True) as owner:
        rows = owner.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL (%s)",
            [KEPT_TABLES],
        ).fetchall()
        if not rows:
            return
        owner.execute("SET session_replication_role = replica")
        owner.execute(sql.SQL("SET lock_timeout = {}").format(LOCK_TIMEOUT))
        tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in rows)
        owner.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(tables))


def _commits(request: pytest.FixtureRequest) -> bool:
    """Tell whether a test may leave rows behind."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and marker.kwargs.get("transaction", False):
        return True
    return bool({"transactional_db", "live_server"} & set(request.fixturenames))


def _owner_parameters() -> dict[str, object]:
    """Return what psycopg needs to connect to the test database as its owner."""
    parameters = connections["owner"].get_connection_params()
    return {name: parameters[name] for name in parameters if name not in {"cursor_factory", "context"}}


def _execute_as_owner(statement: str) -> None:
    """Run one statement whose `{}` is the name of the test database."""
    parameters = _owner_parameters()
    with psycopg.connect(**parameters, autocommit=True) as owner:
        owner.execute(sql.SQL(statement).format(sql.Identifier(str(parameters["dbname"]))))
