"""One installation for all tests of this folder; each test works in an account of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.installation import Installation


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Return a migrated installation with a database server that nobody else uses."""
    if not Path("/proc/self/task").exists():
        pytest.skip("no list of processes on this system")
    made = Installation(tmp_path_factory.mktemp("installation"))
    yield made
    made.remove()
