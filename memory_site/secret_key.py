"""The key that signs sessions and queued work, made once for this installation."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

KEY_BYTES = 48  # 64 characters; Django warns below 50


def load_or_create(path: Path) -> str:
    """Return the key kept in `path`, making it when there is none; only its owner may read the file.

    The key is written aside and linked into place, so that processes starting at once agree on one.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(KEY_BYTES))
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()
