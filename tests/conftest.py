"""What every test stands on: the test database, and its emptying after tests that commit.

The database is created and migrated by the owner; tests use the restricted role, as the product does. A test
that commits (`transaction=True`, `live_server`) leaves an empty database behind, whatever triggers guard its
tables.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from django.db import connections
from django.test.utils import teardown_databases

from facts import embedding, tenancy
from facts.models import Account
from facts.tenancy import account_transaction
from retrieval import outcomes
from tests import database
from tests.factories import AccountFactory

# A deadline would make the outcome depend on the machine's load.
hypothesis.settings.register_profile("memory", deadline=None)
hypothesis.settings.load_profile("memory")

#: Milliseconds that a statement of a read may take, and below which a bound is meant.
PATIENCE, IMPATIENT = 60_000, 100

#: The files that take longest, about a minute or more alone.
LONGEST = (
    "faults/test_kills.py",
    "faults/test_database.py",
    "faults/test_stopping.py",
    "faults/test_poison.py",
    "faults/test_races.py",
    "memory_site/test_isolation_walk.py",
    "memory_site/test_program.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that processes that share the work end at about the same time."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker,
    django_db_keepdb: bool,
    django_db_createdb: bool,
) -> Iterator[None]:
    """Create the test database, whichever aliases the tests ask for; each process has its own."""
    with django_db_blocker.unblock():
        created = database.create(
            verbosity=request.config.option.verbose, keepdb=django_db_keepdb and not django_db_createdb
        )
        database.be_quick()
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
    """Empty all tables after a test that commits."""
    yield
    if _commits(request):
        connections["default"].close()
        database.empty()


def _commits(request: pytest.FixtureRequest) -> bool:
    """Tell whether a test may leave rows behind."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and marker.kwargs.get("transaction", False):
        return True
    return bool({"transactional_db", "live_server"} & set(request.fixturenames))
