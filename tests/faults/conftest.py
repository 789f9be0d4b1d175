"""One installation for all tests of this folder; each test works in an account of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.faults.installation import Installation


@pytest.fixture(scope="session")
def installation(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Installation]:
    """Return a migrated installation with a database server that nobody else uses."""
    if not Path("/proc/self/task").exists():
        pytest.skip("no list of processes on this system")
    with django_db_blocker.unblock():
        made = Installation(tmp_path_factory.mktemp("installation"))
    yield made
    made.remove()
