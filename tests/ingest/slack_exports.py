"""Slack exports written for a test: a folder of lists and days."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ANA = {
    "id": "U1",
    "team_id": "T1",
    "name": "ana",
    "real_name": "Ana Silva",
    "profile": {"display_name": "Ana", "real_name": "Ana Silva", "email": "Ana@Example.org"},
}
BO = {"id": "U2", "team_id": "T1", "name": "bo", "profile": {"display_name": "", "real_name": "Bo Berg"}}
ROBOT = {"id": "U3", "team_id": "T1", "name": "robot", "is_bot": True, "profile": {"bot_id": "B3"}}
USERS = [ANA, BO, ROBOT]

#: 2025-01-10 09:00:00 UTC, the second from which :func:`said` counts.
START = 1736499600


def said(text: str, *, user: str = "U1", after: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a message that was said ``after`` seconds from :data:`START`."""
    return {"type": "message", "user": user, "text": text, "ts": f"{START + after}.000100", **fields}


def changed(message: Mapping[str, Any], text: str, *, after: int) -> dict[str, Any]:
    """Return the record of an edit."""
    now = {**message, "text": text, "edited": {"user": message["user"], "ts": f"{START + after}.000000"}}
    return {
        "type": "message",
        "subtype": "message_changed",
        "ts": f"{START + after}.000200",
        "message": now,
        "previous_message": dict(message),
    }


def deleted(message: Mapping[str, Any], *, after: int) -> dict[str, Any]:
    """Return the record of a deletion."""
    return {
        "type": "message",
        "subtype": "message_deleted",
        "ts": f"{START + after}.000300",
        "deleted_ts": message["ts"],
        "previous_message": dict(message),
    }


def write(
    root: Path,
    days: Mapping[str, Sequence[Any] | bytes],
    *,
    channels: Sequence[Mapping[str, Any]] = ({"id": "C1", "name": "general"},),
    users: Sequence[Mapping[str, Any]] = USERS,
    **lists: Sequence[Mapping[str, Any]],
) -> Path:
    """Write an export below ``root``: ``days`` by name (``general/2025-01-10``), bytes as they are; returns it."""
    files: dict[str, Any] = {"channels": channels, "users": users, **lists, **days}
    for name, content in files.items():
        path = root / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(list(content)).encode())
    return root


def pack(folder: Path, archive: Path, *, inside: str = "") -> Path:
    """Pack a folder as a ZIP file, below the folder ``inside`` of it; returns the file."""
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(folder.rglob("*.json")):
            packed.write(path, inside + path.relative_to(folder).as_posix())
    return archive
