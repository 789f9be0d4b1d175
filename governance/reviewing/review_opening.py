"""How every decision about a review begins and ends: lock, check again, and afterwards keep what it did."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Max, Min

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, NotFound
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import ConflictMember, ConflictSet, Fact, FactRevision
from facts.vocabulary import ConflictStatus
from governance.access import Principal
from governance.models import Review, ReviewDecision, ReviewKind, ReviewStatus
from governance.reviewing.review_authority import deciding_actor
from governance.reviewing.reviewed import is_unchanged

#: Kinds that are decided where they belong: a conflict set on its own page.
_DECIDED_ELSEWHERE = frozenset({ReviewKind.CONFLICT, ReviewKind.POSSIBLE_CONFLICT})


@dataclass(slots=True, kw_only=True)
class Opened:
    """A review in the hands of one person: locked, checked, with everything that the decision will be kept under.

    ``place``   (scope id, subject id) of the facts that the decision may change.
    ``detail``  what the verb adds for the record and its undo: ids, times and states.
    """

    review: Review
    fact: Fact | None
    actor: Actor
    place: tuple[uuid.UUID, uuid.UUID]
    rationale: str
    at: datetime = field(default_factory=now)
    group: uuid.UUID = field(default_factory=new_id)
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def by(self) -> dict[str, Any]:
        """How changes of facts name their author, reason and group."""
        return {"actor": self.actor, "reason": self.rationale, "group": self.group}


def get(principal: Principal, review_id: uuid.UUID) -> Review:
    """Return a review with what it is about; raises ``NotFound`` (``review_not_found``)."""
    review = (
        Review.objects.filter(account_id=principal.account_id, pk=review_id)
        .select_related("fact__scope", "fact__subject", "fact__account", "event__scope", "event__subject")
        .first()
    )
    if review is None:
        raise NotFound("There is no such review.", code="review_not_found")
    return review


def open_review(
    principal: Principal,
    review_id: uuid.UUID,
    *,
    rationale: str = "",
    expected_version: int | None = None,
    another_subject: uuid.UUID | None = None,
) -> Opened:
    """Check who decides, lock the subject and the review, and check that it still is what was looked at.

    ``expected_version``: the version of the fact that the person saw; without it, the one that was asked about.
    ``another_subject``: one about whom the decision will write, too; locked in the one order of such locks.
    Raises what :func:`governance.reviewing.review_authority.deciding_actor` raises, and ``Conflicting``:
    ``review_decided``, ``stale_version``, ``decided_elsewhere``. In whose hands a review is keeps nobody off. Runs in
    the caller's account transaction.
    """
    asked = get(principal, review_id)
    actor = deciding_actor(principal, asked)
    if asked.kind in _DECIDED_ELSEWHERE:
        raise Conflicting("Conflicts are decided on their own page.", code="decided_elsewhere")
    concerned = asked.fact or asked.event
    place = (concerned.scope_id, concerned.subject_id)
    for locked in sorted({place, (place[0], another_subject or place[1])}):
        lock_subject(*locked)
    review = lock_pending(asked)
    if review.fact is not None:
        review.fact.refresh_from_db()
        seen = review.fact_version if expected_version is None else expected_version
        check_unchanged(review.fact, seen=seen)
    return Opened(review=review, fact=review.fact, actor=actor, place=place, rationale=rationale)


def lock_pending(asked: Review) -> Review:
    """Lock a review's row and return it as it is now, with what it is about; raises ``review_decided``."""
    review = Review.objects.select_for_update().get(account_id=asked.account_id, pk=asked.pk)
    review.fact, review.event = asked.fact, asked.event
    if review.status != ReviewStatus.PENDING:
        raise Conflicting(f"The review is {review.status} already.", code="review_decided")
    return review


def check_unchanged(fact: Fact, *, seen: int | None) -> None:
    """Raise ``Conflicting`` (``stale_version``) unless the fact is what it was at version ``seen``."""
    known = FactRevision.objects.filter(account_id=fact.account_id, fact=fact, version=seen).exists()
    if not known or not is_unchanged(fact, since=seen):
        raise Conflicting("What you reviewed has changed.", code="stale_version", field="version")


def close(opened: Opened, *, verb: str, status: str) -> Review:
    """Write the decision on the review, and keep what an undo needs."""
    review = opened.review
    review.status, review.decided_at, review.rationale = status, now(), opened.rationale
    review.decided_by = opened.actor.as_json()
    review.save(update_fields=["status", "decided_by", "decided_at", "rationale"])
    keep(opened, verb=verb)
    return review


def keep(opened: Opened, *, verb: str) -> ReviewDecision:
    """Write the row from which a decision is taken back, and the audit entry."""
    review = opened.review
    changes = _changes(opened)
    decision = ReviewDecision.objects.create(
        account_id=review.account_id,
        review=review,
        verb=verb,
        detail={**opened.detail, **_conflicts(opened, [change["fact"] for change in changes])},
        changes=changes,
        actor=opened.actor.as_json(),
        decided_at=opened.at,
        group=opened.group,
    )
    audit.record(
        review.account_id,
        action=f"review.decided.{verb}",
        object_type="review",
        object_id=review.id,
        actor=opened.actor,
        group=opened.group,
        metadata={"decision": str(decision.id), "kind": review.kind, "changed": len(changes)},
    )
    return decision


def _changes(opened: Opened) -> list[dict[str, Any]]:
    """Return which facts the decision led from which version to which, from the revisions that it wrote."""
    scope_id, subject_id = opened.place
    written = (
        FactRevision.objects.filter(
            account_id=opened.review.account_id,
            scope_id=scope_id,
            subject_id=subject_id,
            recorded_from__gte=opened.at,
            group=opened.group,
        )
        .order_by("fact_id")
        .values("fact_id")
        .annotate(first=Min("version"), last=Max("version"))
    )
    return [
        {"fact": str(row["fact_id"]), "from_version": row["first"] - 1, "to_version": row["last"]} for row in written
    ]


def _conflicts(opened: Opened, changed: Iterable[str]) -> dict[str, Any]:
    """Return the conflict sets that the decision opened, by version, and whether it added to one that was there."""
    concerned = {*changed, *([str(opened.fact.id)] if opened.fact else [])}
    joined = ConflictMember.objects.filter(
        account_id=opened.review.account_id,
        fact_id__in=concerned,
        joined_at__gte=opened.at,
        left_at__isnull=True,
        conflict_set__status=ConflictStatus.OPEN,
    ).values_list("conflict_set_id", flat=True)
    sets = list(ConflictSet.objects.filter(account_id=opened.review.account_id, pk__in=list(joined)))
    new = {str(one.id): one.version for one in sets if one.opened_at >= opened.at}
    found: dict[str, Any] = {"conflicts_opened": new} if new else {}
    if len(new) < len(sets):
        found["joined_conflict"] = True
    return found
