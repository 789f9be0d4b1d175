"""Who may see a fact or passage: the audience rule, in the one form in which queries can apply it.

Each index row packs what the rule looks at into one small integer, its *audience code*. A reader is turned into two
sets of codes: those that may be seen about anybody, and those that may be seen about the reader itself. A query then
needs only ``audience = ANY(general) OR (subject = reader AND audience = ANY(own))``, inside the index.

Code layout: sensitivity (bits 0-1) + 4 x level (bits 2-3) + 16 x about-a-scope + 32 x provisional.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from django.db.models import Q

from facts.vocabulary import LEVEL_RANK, SENSITIVITY_RANK, Level, Sensitivity, Status, SubjectKind

_ABOUT_SCOPE = 16
_PROVISIONAL = 32


class Posture(StrEnum):
    """As whom a read happens. ``internal`` is server-side work only; no request can ask for it."""

    PEER = "peer"
    PUBLIC_ONLY = "public_only"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Reader:
    """The resolved reader of one call.

    ``subject_id`` is set exactly for posture ``peer``. ``restricted`` tells whether restricted facts about others were
    granted to this reader.
    """

    posture: Posture
    subject_id: uuid.UUID | None = None
    restricted: bool = False

    def __post_init__(self) -> None:
        if (self.posture is Posture.PEER) != (self.subject_id is not None):
            raise ValueError("A peer reader names its subject; no other reader does.")


def audience_code(*, level: str, sensitivity: str, subject_kind: str, status: str = Status.ACTIVE) -> int:
    """Return the packed audience of a row."""
    return (
        SENSITIVITY_RANK[sensitivity]
        + 4 * LEVEL_RANK[level]
        + _ABOUT_SCOPE * (subject_kind == SubjectKind.SCOPE)
        + _PROVISIONAL * (status == Status.PROVISIONAL)
    )


def may_see(
    *,
    posture: Posture,
    own: bool,
    restricted_granted: bool,
    level: str,
    sensitivity: str,
    about_scope: bool,
    provisional: bool,
) -> bool:
    """The audience rule in words; every other form of it is derived from this function.

    ``own``: the reader is the subject.
    """
    if posture is Posture.INTERNAL:
        return not provisional
    if provisional and not own:
        return False
    if sensitivity == Sensitivity.PUBLIC:
        return True
    if posture is Posture.PUBLIC_ONLY:
        return False
    if sensitivity == Sensitivity.RESTRICTED:
        return own or restricted_granted
    return sensitivity == Sensitivity.INTERNAL or about_scope or own or level != Level.PEER


#: Every code that a row can carry.
ALL_CODES = tuple(
    sensitivity + 4 * level + _ABOUT_SCOPE * about_scope + _PROVISIONAL * provisional
    for provisional, about_scope, level, sensitivity in product(
        (0, 1), (0, 1), LEVEL_RANK.values(), SENSITIVITY_RANK.values()
    )
)


@dataclass(frozen=True, slots=True)
class AudienceCodes:
    """The codes a reader may see about anybody (``general``) and about itself (``own``), sorted."""

    general: tuple[int, ...]
    own: tuple[int, ...]


def visible_codes(reader: Reader) -> AudienceCodes:
    """Return the audience codes that ``reader`` may see."""

    def codes(own: bool) -> tuple[int, ...]:
        return tuple(
            SENSITIVITY_RANK[sensitivity]
            + 4 * LEVEL_RANK[level]
            + _ABOUT_SCOPE * about_scope
            + _PROVISIONAL * provisional
            for provisional, about_scope, level, sensitivity in product(
                (False, True), (False, True), Level.values, Sensitivity.values
            )
            if may_see(
                posture=reader.posture,
                own=own,
                restricted_granted=reader.restricted,
                level=level,
                sensitivity=sensitivity,
                about_scope=about_scope,
                provisional=provisional,
            )
        )

    general = codes(False)
    return AudienceCodes(general=general, own=codes(True) if reader.subject_id else general)


def visible_to(reader: Reader, *, subject: str = "subject") -> Q:
    """Return the same rule as a condition on fact or passage rows (level, sensitivity, subject), without status.

    Which statuses may be listed is decided by the caller: a current read asks for active, a history read for more.
    """
    if reader.posture is Posture.INTERNAL:
        return Q()
    public = Q(sensitivity=Sensitivity.PUBLIC)
    if reader.posture is Posture.PUBLIC_ONLY:
        return public
    own = Q(**{f"{subject}_id": reader.subject_id})
    shared = Q(sensitivity=Sensitivity.INTERNAL) | (
        Q(sensitivity=Sensitivity.PERSONAL) & (~Q(level=Level.PEER) | Q(**{f"{subject}__kind": SubjectKind.SCOPE}))
    )
    if reader.restricted:
        shared |= Q(sensitivity=Sensitivity.RESTRICTED)
    return public | own | shared


__all__ = [
    "AudienceCodes",
    "Posture",
    "Reader",
    "audience_code",
    "may_see",
    "visible_codes",
    "visible_to",
]
