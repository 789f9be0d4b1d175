"""The key that signs sessions and queued work, made once for this installation."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

KEY_BYTES = 48  # 64 characters; Django warns below 50


def load_or_create(path: Path) -> str:
    """Return the key kept in `path`, making it when there is none; only its owner may read the file.

    The key is written aside and linked into place, so that those who start at once agree on one.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(KEY_BYTES))
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(fresh)
        finally:
            Path(fresh).unlink()
    return path.read_text().strip()
