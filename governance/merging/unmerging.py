"""Taking a merge back: what was the source's is its own again, as it was, while nothing has built on the merge.

What was recorded about the one that the two were cannot be divided: it stays with the target, and is listed.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Q, QuerySet

from facts import conflict_sets, identities, lifecycle, subject_rows, withholding
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, NotFound
from facts.ids import new_id
from facts.models import (
    ConflictSet,
    Evidence,
    Fact,
    FactRevision,
    Relation,
    Subject,
    SubjectMerge,
)
from facts.returning import bring_back
from facts.status_graph import FINAL
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus, RelationKind, Status
from governance.access import Principal
from governance.merging import rules
from governance.merging.merging import CONSENTS, NAMES, lock_places, record
from governance.placement import reinforce
from governance.reviewing.reviewed import is_unchanged
from governance.sharing import consent_links


def of_subject(account_id: uuid.UUID, subject_id: uuid.UUID) -> SubjectMerge:
    """Return the merge that made this subject another one; raises ``NotFound`` (``merge_not_found``)."""
    found = standing(account_id).filter(source_id=subject_id).first()
    if found is None:
        raise NotFound("This subject is merged into no other one.", code="merge_not_found", field="subject_id")
    return found


def standing(account_id: uuid.UUID) -> QuerySet[SubjectMerge]:
    """Return the merges that were not taken back."""
    merges = SubjectMerge.objects.filter(account_id=account_id, undone_at__isnull=True)
    return merges.select_related("source", "target")


def unmerge(principal: Principal, *, subject_id: uuid.UUID, rationale: str = "") -> SubjectMerge:
    """Take back that this subject is another one; ``detail["kept"]`` lists the facts that stay with that one.

    Raises ``NotFound`` (``merge_not_found``), ``Conflicting`` (``merge_built_upon``) and ``Refused``
    (``human_required``, ``forbidden_scope``, ``own_request``).
    """
    with account_transaction(principal.account_id):
        actor = rules.deciding_actor(principal)
        made = of_subject(principal.account_id, subject_id)
        if actor.subject_id in {made.source_id, made.target_id}:
            raise rules.own_request()
        made = locked(made)
        if not may_unmerge(made):
            raise Conflicting("Something has built on the merge since.", code="merge_built_upon")
        return divide(made, actor=actor, rationale=rationale)


def may_unmerge(made: SubjectMerge) -> bool:
    """Tell whether nothing has built on the merge.

    The target is nobody else by now, the facts say what the merge left them saying (being repeated is no change),
    nothing was derived or promoted from them, and the conflict sets that it opened are as they were.
    """
    if made.undone_at is not None or made.target.merged_into_id is not None:
        return False
    versions = {change["fact"]: change["to_version"] for change in made.facts}
    facts = Fact.objects.filter(account_id=made.account_id, pk__in=versions).exclude(status=Status.DELETED)
    if any(fact.status in FINAL or not is_unchanged(fact, since=versions[str(fact.id)]) for fact in facts):
        return False
    built = Relation.objects.filter(
        account_id=made.account_id,
        target_id__in=versions,
        kind__in=[RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM],
        created_at__gte=made.merged_at,
    )
    opened = made.detail["conflicts_opened"]
    sets = ConflictSet.objects.filter(account_id=made.account_id, pk__in=opened)
    untouched = all(one.status == ConflictStatus.OPEN and one.version == opened[str(one.id)] for one in sets)
    return untouched and not built.exists()


def divide(made: SubjectMerge, *, actor: Actor, rationale: str) -> SubjectMerge:
    """Give the source its own again. The caller has locked both; also for an erasure, whatever has built on it."""
    account_id, group = made.account_id, new_id()
    by = {"actor": actor, "reason": rationale[:500], "group": group}
    changed = {uuid.UUID(change["fact"]): change for change in made.facts}
    _dissolve(made, actor=actor, group=group)
    cited = _return_evidence(made)
    # The other one may be as it was: what came earlier was put into the history before it.
    Relation.objects.filter(
        Q(source_id__in=changed) | Q(target_id__in=changed),
        account_id=account_id,
        kind=RelationKind.SUPERSEDES,
        created_at__gte=made.merged_at,
    ).delete()
    facts = list(Fact.objects.filter(account_id=account_id, pk__in=changed).exclude(status__in=FINAL).order_by("id"))
    for fact in facts:
        if changed[fact.id]["moved"] and fact.subject_id == made.target_id:
            how = {"account_id": account_id, "action": "subject.unmerged", **by}
            lifecycle.move_to_subject(fact.id, subject_id=made.source_id, **how)
    subject_rows.move_back(account_id, made.rows, source=made.source_id, target=made.target_id)
    if "names_confirmed" in made.detail:  # what earlier versions merged kept it
        identities.confirm_returned(
            account_id,
            made.rows.get(NAMES, ()),
            subject_id=made.source_id,
            by_platform=made.detail["names_confirmed"],
        )
    consent_links.ask_anew(account_id, made.rows.get(CONSENTS, ()))
    # Those that stop being current go first, so that the identity is free for the one that was.
    for revision in sorted(_revisions(made), key=lambda revision: (revision.status == Status.ACTIVE, revision.fact_id)):
        _restore(revision, repeated_in=changed[revision.fact_id]["to_version"], by=by)
    withholding.refresh(account_id, cited)
    Subject.objects.filter(account_id=account_id, pk=made.source_id).update(merged_into=None)
    made.undone_at, made.undone_by = now(), actor.as_json()
    made.detail = {**made.detail, "kept": [str(fact_id) for fact_id in _kept(made)]}
    made.save(update_fields=["undone_at", "undone_by", "detail"])
    record(made, action="subject.unmerged", actor=actor, group=group, kept=len(made.detail["kept"]))
    return made


def locked(made: SubjectMerge) -> SubjectMerge:
    """Lock both subjects of a merge and return it as it is then; raises ``Conflicting`` (``merge_built_upon``)."""
    # What was the source's is the target's now.
    lock_places(made.account_id, (made.target, made.source))
    again = (
        SubjectMerge.objects.select_for_update(of=("self",))
        .select_related("source", "target")
        .get(account_id=made.account_id, pk=made.pk)
    )
    if again.undone_at is not None:
        raise Conflicting("It was taken back already.", code="merge_built_upon")
    return again


def _kept(made: SubjectMerge) -> list[uuid.UUID]:
    """Return the facts about the target recorded after the merge: nobody can tell which of the two they mean."""
    later = Fact.objects.filter(
        account_id=made.account_id, subject_id=made.target_id, recorded_from__gt=made.merged_at
    ).exclude(status__in=FINAL)
    return list(later.order_by("id").values_list("id", flat=True))


def _dissolve(made: SubjectMerge, *, actor: Actor, group: uuid.UUID) -> None:
    opened = ConflictSet.objects.filter(
        account_id=made.account_id, pk__in=made.detail["conflicts_opened"], status=ConflictStatus.OPEN
    )
    for conflict in opened:
        conflict_sets.close(conflict, status=ConflictStatus.DISSOLVED, actor=actor, resolution="unmerged", group=group)


def _return_evidence(made: SubjectMerge) -> list[uuid.UUID]:
    """Let evidence support again what it supported; return the facts that lose it."""
    for one in made.detail["evidence"]:
        Evidence.objects.filter(account_id=made.account_id, pk=one["evidence"], fact_id=one["to"]).update(
            fact_id=one["from"]
        )
    return [uuid.UUID(one["to"]) for one in made.detail["evidence"]]


def _revisions(made: SubjectMerge) -> list[FactRevision]:
    """Return the revisions that the merge began from, of facts that it changed and that still have content."""
    wanted = Q(pk__in=())
    for change in made.facts:
        wanted |= Q(fact_id=change["fact"], version=change["from_version"])
    found = FactRevision.objects.filter(wanted, account_id=made.account_id).select_related("fact")
    return [revision for revision in found if revision.fact.status not in FINAL]


def _restore(revision: FactRevision, *, repeated_in: int, by: dict[str, Any]) -> None:
    """Bring a fact back to what it was before the merge; sources that it gained since go on counting."""
    fact = Fact.objects.get(account_id=revision.account_id, pk=revision.fact_id)
    if all(getattr(fact, name) == getattr(revision, name) for name in ("status", *lifecycle.MUTABLE)):
        return
    repeated = FactRevision.objects.filter(
        account_id=fact.account_id, fact=fact, version__gt=repeated_in, action="fact.reinforced"
    )
    said_again = repeated.order_by("-version").first()
    bring_back(fact, to_version=revision.version, action="subject.unmerged", **by)
    if said_again is not None and said_again.last_reinforced_at is not None:
        fact.refresh_from_db()
        reinforce(fact, said_again.last_reinforced_at, actor=by["actor"], reason="subject.unmerged", group=by["group"])
