"""Who may decide a conflict set, and the decisions as a caller makes them.

The verbs themselves live in ``facts.resolution``; here stands authority: a curator of the set's scope, or a key to
which such a person delegated ``resolve``, and nobody on a fact that they themselves put in.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from facts import resolution
from facts.actors import Actor
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.locks import lock_subject
from facts.models import ConflictDecision, ConflictSet, Fact
from facts.tenancy import account_transaction
from governance.access import Delegation, Principal, require_authority
from governance.provenance import put_in_by
from governance.reviewing import review_opening
from governance.reviewing.reviews import resume_for, withdraw_for


def deciding_actor(principal: Principal, conflict_id: uuid.UUID) -> Actor:
    """Return the actor of a decision about this set, or raise.

    ``NotFound`` (``conflict_not_found``), ``Refused`` (``human_required``, ``forbidden_scope``, ``own_request``).
    Runs inside the account's transaction.
    """
    conflict = (
        ConflictSet.objects.filter(account_id=principal.account_id, pk=conflict_id).select_related("scope").first()
    )
    if conflict is None:
        raise NotFound("There is no such conflict set.", code="conflict_not_found")
    actor = require_authority(principal, Delegation.RESOLVE, path=conflict.scope.path)
    members = conflict.members.filter(left_at__isnull=True).values_list("fact_id", flat=True)
    if put_in_by(principal.account_id, members, actor):
        raise Refused("Nobody decides about what they put in themselves.", code="own_request")
    return actor


def refusal(principal: Principal, conflict_id: uuid.UUID) -> DomainError | None:
    """Return why the caller may not decide about this set, to be said before they try; ``None`` where they may."""
    try:
        deciding_actor(principal, conflict_id)
    except DomainError as error:
        return error
    return None


def check_seen(principal: Principal, conflict_id: uuid.UUID, *, versions: Mapping[uuid.UUID, int]) -> None:
    """Raise ``Conflicting`` (``stale_version``) where a member is not what it was at the version that the person saw.

    ``versions`` gives that version by fact; members that it leaves out are not looked at. Takes the lock that the
    decision takes, so that it holds until then in the caller's account transaction. Repetition is no change.
    """
    conflict = ConflictSet.objects.filter(account_id=principal.account_id, pk=conflict_id).first()
    if conflict is None:
        raise NotFound("There is no such conflict set.", code="conflict_not_found")
    lock_subject(conflict.scope_id, conflict.subject_id)
    members = conflict.members.filter(left_at__isnull=True, fact_id__in=versions).select_related("fact")
    for member in members:
        seen = versions[member.fact_id]
        if member.fact.version != seen:
            review_opening.check_unchanged(member.fact, seen=seen)


def keep_one(
    principal: Principal,
    conflict_id: uuid.UUID,
    *,
    fact_id: uuid.UUID,
    others_never_true: bool = False,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep one member; see ``facts.resolution.keep_one``."""
    return _decide(
        principal,
        conflict_id,
        resolution.keep_one,
        fact_id=fact_id,
        others_never_true=others_never_true,
        rationale=rationale,
        expected_version=expected_version,
    )


def reject_all(
    principal: Principal, conflict_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> ConflictDecision:
    """No member was ever true; see ``facts.resolution.reject_all``."""
    return _decide(
        principal, conflict_id, resolution.reject_all, rationale=rationale, expected_version=expected_version
    )


def keep_by_qualifier(
    principal: Principal,
    conflict_id: uuid.UUID,
    *,
    qualifiers: Mapping[uuid.UUID, Mapping[str, Any]],
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep every member under what sets it apart; see ``facts.resolution.keep_by_qualifier``."""
    return _decide(
        principal,
        conflict_id,
        resolution.keep_by_qualifier,
        qualifiers=qualifiers,
        rationale=rationale,
        expected_version=expected_version,
    )


def keep_as_events(
    principal: Principal, conflict_id: uuid.UUID, *, rationale: str = "", expected_version: int | None = None
) -> ConflictDecision:
    """Keep every member as an occurrence; see ``facts.resolution.keep_as_events``."""
    return _decide(
        principal, conflict_id, resolution.keep_as_events, rationale=rationale, expected_version=expected_version
    )


def keep_by_interval(
    principal: Principal,
    conflict_id: uuid.UUID,
    *,
    intervals: Mapping[uuid.UUID, tuple[datetime | None, datetime | None]],
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Keep every member in its own time; see ``facts.resolution.keep_by_interval``."""
    return _decide(
        principal,
        conflict_id,
        resolution.keep_by_interval,
        intervals=intervals,
        rationale=rationale,
        expected_version=expected_version,
    )


def dismiss(
    principal: Principal,
    conflict_id: uuid.UUID,
    *,
    distinction: str,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Say that the members do not contradict each other; see ``facts.resolution.dismiss``."""
    return _decide(
        principal,
        conflict_id,
        resolution.dismiss,
        distinction=distinction,
        rationale=rationale,
        expected_version=expected_version,
    )


def defer(
    principal: Principal,
    conflict_id: uuid.UUID,
    *,
    until: datetime,
    rationale: str = "",
    expected_version: int | None = None,
) -> ConflictDecision:
    """Decide later; see ``facts.resolution.defer``."""
    return _decide(
        principal,
        conflict_id,
        resolution.defer,
        until=until,
        rationale=rationale,
        expected_version=expected_version,
    )


def _decide(
    principal: Principal, conflict_id: uuid.UUID, verb: Callable[..., ConflictDecision], **given: Any
) -> ConflictDecision:
    """Carry a verb out as the caller, and close what was asked about the facts that it decided."""
    with account_transaction(principal.account_id):
        actor = deciding_actor(principal, conflict_id)
        decision = verb(conflict_id, account_id=principal.account_id, actor=actor, **given)
        withdraw_for(_changed(decision), account_id=principal.account_id, actor=actor)
        return decision


def _changed(decision: ConflictDecision) -> list[uuid.UUID]:
    changes = decision.changes
    return [uuid.UUID(change["fact"]) for change in changes if change["from_version"] != change["to_version"]]


def undo(principal: Principal, decision_id: uuid.UUID, *, rationale: str = "") -> ConflictDecision:
    """Take a decision back; see ``facts.resolution.undo``."""
    with account_transaction(principal.account_id):
        decision = ConflictDecision.objects.filter(account_id=principal.account_id, pk=decision_id).first()
        if decision is None:
            raise NotFound("There is no such decision.", code="decision_not_found")
        actor = deciding_actor(principal, decision.conflict_set_id)
        decision = resolution.undo(decision_id, account_id=principal.account_id, actor=actor, rationale=rationale)
        for fact in Fact.objects.filter(account_id=principal.account_id, pk__in=_changed(decision)):
            resume_for(fact)
        return decision


def undo_last(principal: Principal, conflict_id: uuid.UUID, *, rationale: str = "") -> ConflictDecision:
    """Take the last decision about a set back; raises ``Conflicting`` (``nothing_to_undo``) when there is none."""
    with account_transaction(principal.account_id):
        last = (
            ConflictDecision.objects.filter(
                account_id=principal.account_id, conflict_set_id=conflict_id, undone_at__isnull=True
            )
            .order_by("-decided_at", "-id")
            .first()
        )
        if last is None:
            raise Conflicting("There is no decision that could be undone.", code="nothing_to_undo")
        return undo(principal, last.id, rationale=rationale)
