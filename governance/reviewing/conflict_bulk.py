"""Doing the same to many conflict sets: what would become of each, and each in its own transaction.

No verb here chooses a side. Which one holds is asked because neither being newer nor being more trusted answers it,
and what becomes of the others (they ended, or never were true) differs from set to set: that is decided one by one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from facts.errors import DomainError, NotFound
from facts.models import ConflictMember, ConflictSet, FactRevision
from facts.vocabulary import ConflictKind, ConflictStatus
from governance import conflicts
from governance.access import Principal
from governance.reviewing import conflict_claims, many
from governance.reviewing.many import Item, Outlook, Result


class ConflictBulkVerb(StrEnum):
    """What can be done to many conflict sets alike."""

    DISMISS = "dismiss"
    DEFER = "defer"
    CLAIM = "claim"
    ASSIGN = "assign"


#: Sentences by code: why a set would not change.
WHY_NOT = {
    "conflict_already_resolved": "It is decided already.",
    "own_request": "You put one of its sides in yourself.",
    "conflict_claimed": "It is in somebody else’s hands.",
    "stale_version": "It has changed since you chose it.",
    "verb_unfit": "What comes from a less trusted source is let through on its own page only.",
}
#: What each verb does to a set that changes.
EFFECTS = {
    ConflictBulkVerb.DISMISS: {
        "": "all its sides are current, each apart by these words, and readers get them again",
        ConflictKind.POSSIBLE: "readers get its facts as before, without the mark, and they are never proposed again",
    },
    ConflictBulkVerb.DEFER: {"": "it leaves the list until then and withholds as before"},
    ConflictBulkVerb.CLAIM: {"": "it is yours to decide"},
    ConflictBulkVerb.ASSIGN: {"": "it is theirs to decide"},
}


def look_ahead(
    principal: Principal, rows: Sequence[ConflictSet], *, verb: str, versions: Mapping[uuid.UUID, int | None]
) -> list[Outlook]:
    """Return what ``verb`` would do to each of these sets, which are the caller's to decide, in their order.

    ``versions``: the version of each set that the person saw. Two queries; nothing is changed.
    """
    own = _own(principal, rows)
    result = []
    for conflict in rows:
        code = _obstacle(conflict, principal, verb=verb, seen=versions.get(conflict.pk))
        if not code and conflict.pk in own:
            code = "own_request"
        if code:
            result.append(Outlook(conflict, code=code, why_not=WHY_NOT[code]))
        else:
            effects = EFFECTS[ConflictBulkVerb(verb)]
            result.append(Outlook(conflict, effect=effects.get(ConflictKind(conflict.kind), effects[""])))
    return result


def _obstacle(conflict: ConflictSet, principal: Principal, *, verb: str, seen: int | None) -> str:
    if conflict.status != ConflictStatus.OPEN:
        return "conflict_already_resolved"
    if verb != ConflictBulkVerb.ASSIGN and conflict.assignee_id not in {None, principal.membership_id}:
        return "conflict_claimed"
    if verb in {ConflictBulkVerb.DISMISS, ConflictBulkVerb.DEFER} and seen != conflict.version:
        return "stale_version"
    if verb == ConflictBulkVerb.DISMISS and conflict.kind == ConflictKind.QUARANTINE:
        return "verb_unfit"
    return ""


def _own(principal: Principal, rows: Sequence[ConflictSet]) -> set[uuid.UUID]:
    """Return the sets of which the person put a present side in."""
    members = ConflictMember.objects.filter(
        account_id=principal.account_id, conflict_set__in=[one.pk for one in rows], left_at__isnull=True
    )
    by_fact: dict[uuid.UUID, set[uuid.UUID]] = {}
    for fact_id, conflict_id in members.values_list("fact_id", "conflict_set_id"):
        by_fact.setdefault(fact_id, set()).add(conflict_id)
    mine = FactRevision.objects.filter(
        account_id=principal.account_id,
        fact_id__in=by_fact,
        version=1,
        actor__membership_id=str(principal.membership_id),
    )
    return {pk for fact_id in mine.values_list("fact_id", flat=True) for pk in by_fact[fact_id]}


def decide_all(
    principal: Principal,
    items: Sequence[Item],
    *,
    verb: str,
    seen: Mapping[uuid.UUID, int],
    rationale: str = "",
    distinction: str = "",
    until: datetime | None = None,
    to: uuid.UUID | None = None,
) -> list[Result]:
    """Do the same to each set, in the given order; the version of an item is the one of the set that was seen.

    ``seen`` gives the versions of their facts. ``dismiss`` needs a ``distinction``, ``defer`` needs ``until``,
    ``assign`` needs ``to``, a membership. Called as ``many.each``; raises ``DomainError`` (``unknown_decision``,
    ``distinction_missing``, ``invalid_date``, ``assignee_not_found``, ``batch_too_large``) before anything is done.
    """
    _check(verb, distinction=distinction, until=until, to=to)

    def decide(item: Item) -> str:
        if verb == ConflictBulkVerb.CLAIM:
            return conflict_claims.claim(principal, item.id).status
        if verb == ConflictBulkVerb.ASSIGN:
            return conflict_claims.assign(principal, item.id, to=to).status
        conflicts.check_seen(principal, item.id, versions=seen)
        # Without the version that was seen nothing is decided: no set has this one.
        common: dict[str, Any] = {"rationale": rationale, "expected_version": item.version or -1}
        if verb == ConflictBulkVerb.DISMISS:
            _require_no_quarantine(principal, item.id)
            decision = conflicts.dismiss(principal, item.id, distinction=distinction, **common)
        else:
            decision = conflicts.defer(principal, item.id, until=until, **common)
        return decision.conflict_set.status

    return many.each(principal, items, decide)


def _check(verb: str, *, distinction: str, until: datetime | None, to: uuid.UUID | None) -> None:
    if verb not in list(ConflictBulkVerb):
        raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")
    if verb == ConflictBulkVerb.DISMISS and not distinction.strip():
        raise DomainError("Say what separates them.", code="distinction_missing", field="distinction")
    if verb == ConflictBulkVerb.DEFER and until is None:
        raise DomainError("A date in the future is needed.", code="invalid_date", field="until")
    if verb == ConflictBulkVerb.ASSIGN and to is None:
        raise NotFound("No such person decides here.", code="assignee_not_found", field="assignee")


def _require_no_quarantine(principal: Principal, conflict_id: uuid.UUID) -> None:
    found = ConflictSet.objects.filter(account_id=principal.account_id, pk=conflict_id, kind=ConflictKind.QUARANTINE)
    if found.exists():
        raise DomainError(WHY_NOT["verb_unfit"], code="verb_unfit", field="verb")
