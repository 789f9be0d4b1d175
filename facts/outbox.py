"""What happened to facts, told to whoever must react: written with the change, read afterwards, in order."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from facts.models import OutboxEntry


def publish(
    account_id: uuid.UUID, *, topic: str, object_id: uuid.UUID, payload: Mapping[str, Any] | None = None
) -> None:
    """Write one entry in the caller's transaction. ``payload`` holds ids and states, never text."""
    OutboxEntry.objects.create(account_id=account_id, topic=topic, object_id=object_id, payload=dict(payload or {}))
