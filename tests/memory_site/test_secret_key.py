"""The generated key: made once, kept to its owner."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory_site import secret_key


def test_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    key = secret_key.load_or_create(path)
    assert len(key) == 64
    assert secret_key.load_or_create(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_those_that_start_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: secret_key.load_or_create(path), range(32)))
    assert keys == {path.read_text()}
