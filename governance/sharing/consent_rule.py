"""When the subject has to agree: the one place of that rule."""

from __future__ import annotations

from facts.vocabulary import Level, Sensitivity, SubjectKind


def consent_needed(*, subject_kind: str, sensitivity: str, level: str) -> bool:
    """Tell whether the subject has to agree: a personal fact about a person, to be seen beyond that person."""
    return subject_kind == SubjectKind.PERSON and sensitivity == Sensitivity.PERSONAL and level != Level.PEER
