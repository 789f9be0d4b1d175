"""Statements about somebody whom nobody could name, as a review keeps them until a person says who is meant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from facts.candidates import Candidate

#: What of a candidate is kept as it is; the rest is an instant or has its own name in the detail.
_PLAIN = (
    "confidence",
    "category",
    "kind",
    "form",
    "predicate",
    "update_marker",
    "denies",
    "start_stated",
    "end_stated",
    "volatility",
    "sensitivity",
)
_INSTANTS = ("valid_from", "valid_to")


def detail_of(candidate: Candidate) -> dict[str, Any]:
    """Return the detail of a review that asks whom the candidate is about."""
    claim = {name: getattr(candidate, name) for name in _PLAIN}
    claim |= {"value": candidate.value and dict(candidate.value), "qualifiers": dict(candidate.qualifiers)}
    for name in _INSTANTS:
        moment = getattr(candidate, name)
        claim[name] = moment.isoformat() if moment else None
    return {
        "about": candidate.about[:200],
        "statement": candidate.statement,
        "quote": candidate.quote,
        "candidate": claim,
    }


def candidate_of(detail: Mapping[str, Any]) -> Candidate:
    """Return the candidate that :func:`detail_of` kept, now that it is known whom it is about.

    Reviews of before the claim was kept give a statement without one, stated with certainty by who decides.
    """
    kept = {"confidence": 1.0, **detail.get("candidate", {})}
    for name in _INSTANTS:
        if kept.get(name):
            kept[name] = datetime.fromisoformat(kept[name])
    return Candidate(statement=detail["statement"], quote=detail["quote"], **kept)
