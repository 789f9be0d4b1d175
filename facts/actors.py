"""Who acts: the one shape in which decisions and changes name their author."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class ActorKind(StrEnum):
    """What sort of author a change has."""

    PERSON = "person"
    KEY = "key"
    PIPELINE = "pipeline"
    SWEEPER = "sweeper"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The author of a change.

    ``membership_id`` names the person (also when a key acts for that person), ``key_id`` the API key used, ``name``
    what to show later, when both may be gone.
    """

    kind: ActorKind
    name: str
    membership_id: uuid.UUID | None = None
    subject_id: uuid.UUID | None = None
    key_id: uuid.UUID | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the stored form: plain strings, absent parts left out."""
        return {key: str(value) for key, value in asdict(self).items() if value is not None}


def pipeline(name: str = "pipeline") -> Actor:
    """Return the actor of automatic processing."""
    return Actor(kind=ActorKind.PIPELINE, name=name)


def sweeper(name: str) -> Actor:
    """Return the actor of a scheduled sweep."""
    return Actor(kind=ActorKind.SWEEPER, name=name)


def system(name: str = "system") -> Actor:
    """Return the actor of set-up and maintenance work."""
    return Actor(kind=ActorKind.SYSTEM, name=name)
