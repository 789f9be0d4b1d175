"""Turning stored facts and fresh candidates into the claims that the planner compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from facts.canonical import identity_key, normalise_predicate, qualifiers_of_identity, value_key
from facts.consolidation import Claim
from facts.models import Fact


def make_claim(
    *,
    statement_hash: str,
    predicate: str,
    value: Mapping[str, Any] | None,
    qualifiers: Mapping[str, Any],
    denies: bool,
    form: str,
) -> Claim:
    """Return the comparable claim; without predicate or value it compares by its statement alone."""
    predicate = normalise_predicate(predicate)
    if not predicate or value is None:
        return Claim(statement_hash=statement_hash, form=form)
    return Claim(
        statement_hash=statement_hash,
        predicate=predicate,
        identity_key=identity_key(predicate, qualifiers),
        value_key=value_key(value, denies=denies),
        value=value,
        qualified=bool(qualifiers_of_identity(qualifiers)),
        denies=denies,
        form=form,
    )


def claim_of(fact: Fact) -> Claim:
    """Return the claim of a stored fact."""
    return make_claim(
        statement_hash=fact.statement_hash,
        predicate=fact.predicate,
        value=fact.value,
        qualifiers=fact.qualifiers,
        denies=fact.denies,
        form=fact.form,
    )
