"""Somebody leaves the account: what that would end, carrying it out as one decision, and taking it back.

Access ends with the transaction: the membership is gone, and with it every session and role; keys that the person made
or that read as them are revoked. What waited for their consent counts as refused, what they had taken in hand goes back
to the queue. What becomes of the facts about them is chosen.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from facts import audit
from facts.clock import now
from facts.erasure import ErasureMode
from facts.errors import Conflicting, NotFound, Refused
from facts.ids import new_id
from facts.models import ConflictSet, Evidence, Fact, Membership, Scope, Subject
from facts.status_graph import FINAL
from facts.tenancy import ROOT, account_transaction
from facts.vocabulary import ConflictStatus, Level
from governance import erasing, forgetting, keys
from governance.access import Delegation, Principal, has_role, may_act, person
from governance.models import (
    ApiKey,
    Consent,
    ConsentStatus,
    Grant,
    LeaversFacts,
    Leaving,
    Promotion,
    PromotionStatus,
    Review,
    ReviewStatus,
    Role,
)
from governance.reviewing.review_authority import counts_by_place
from governance.sharing import consents


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What somebody's leaving would end or leave behind; numbers count rows as they are now.

    ``keys``: working keys they made or that read as them, ``keys_delegated`` of which act in their name.
    ``only_they_decide``: waiting reviews that nobody else of the account may decide. ``facts_about``: live facts about
    them, ``facts_shared`` of which others can see; ``facts_from``: live facts about others that they told,
    ``facts_only_from`` of which nobody else told.
    """

    membership: Membership
    grants: tuple[Grant, ...]
    keys: int
    keys_delegated: int
    reviews_assigned: int
    conflicts_assigned: int
    only_they_decide: int
    facts_about: int
    facts_shared: int
    facts_from: int
    facts_only_from: int
    open_conflicts: int
    consents_pending: int
    promotions_about: int
    promotions_asked: int


def preview(principal: Principal, membership_id: uuid.UUID) -> Preview:
    """Return what :func:`leave` would end now; raises as that does."""
    with account_transaction(principal.account_id):
        member = _member(principal, membership_id)
        about = _live(principal.account_id).filter(subject_id=member.subject_id)
        told = _told_by(member)
        own_keys = _keys_of(member)
        conflicts = ConflictSet.objects.filter(account_id=member.account_id, status=ConflictStatus.OPEN)
        promoting = Promotion.objects.filter(account_id=member.account_id, status=PromotionStatus.REQUESTED)
        return Preview(
            membership=member,
            grants=tuple(_grants_of(member).select_related("scope").order_by("scope__path", "role")),
            keys=own_keys.count(),
            keys_delegated=sum(bool(key.delegated) and key.maker_id == member.id for key in own_keys),
            reviews_assigned=_assigned(member).count(),
            conflicts_assigned=conflicts.filter(assignee=member).count(),
            only_they_decide=_only_decided_by(member),
            facts_about=about.count(),
            facts_shared=about.exclude(level=Level.PEER).count(),
            facts_from=len(told),
            facts_only_from=sum(_only_from(fact_id, member) for fact_id in told),
            open_conflicts=conflicts.filter(subject_id=member.subject_id).count(),
            consents_pending=_pending_consents(member).count(),
            promotions_about=promoting.filter(fact__subject_id=member.subject_id).count(),
            promotions_asked=promoting.filter(requested_by__membership_id=str(member.id)).count(),
        )


def leave(principal: Principal, membership_id: uuid.UUID, *, facts: LeaversFacts) -> Leaving:
    """End somebody's access and settle what they leave behind, all or nothing.

    For account administrators who are signed in, and not about themselves. Raises ``NotFound``
    (``member_not_found``), ``Refused`` (``human_required``, ``forbidden_scope``, ``own_request``), ``Conflicting``
    (``last_administrator``, and of an erasure ``try_again``).
    """
    with account_transaction(principal.account_id):
        member = _member(principal, membership_id)
        if member.id == principal.membership_id:
            raise Refused("Somebody else has to let you go.", code="own_request")
        if not _administrators(member.account_id, without=member.id):
            raise Conflicting("Nobody would administer the account any more.", code="last_administrator")
        detail: dict[str, Any] = {"membership": str(member.id)}
        detail["consents"] = _lapse_consents(principal, member)
        detail["reviews"] = _hand_back(_assigned(member))
        open_sets = ConflictSet.objects.filter(account_id=member.account_id, assignee=member)
        detail["conflicts"] = _hand_back(open_sets)
        detail["keys"] = _revoke_keys(principal, member)
        detail["grants"] = _take_grants(member)
        subject, user = member.subject, member.user
        member.delete()
        receipt = _settle_facts(principal, subject, facts)
        detail["receipt"] = str(receipt) if receipt else None
        leaving = Leaving.objects.create(
            account_id=principal.account_id,
            subject=subject,
            user=user,
            facts=facts,
            detail=detail,
            actor=principal.actor.as_json(),
        )
        _record(leaving, "member.left", principal)
    return leaving


def undo(principal: Principal, leaving_id: uuid.UUID) -> Leaving:
    """Let the person in again, as whom they were, with their roles, what they had in hand and nobody took since, and
    what was forgotten about them.

    Keys stay revoked and consents refused: the one is made anew, the other theirs to give. Raises ``NotFound``
    (``leaving_not_found``), ``Refused`` as :func:`leave`, ``Conflicting``: ``leaving_undone``, ``leaving_final`` (what
    they left was erased, or the user is gone), ``subject_taken`` (they, or the person they were, are in already).
    """
    with account_transaction(principal.account_id):
        _require_administrator(principal)
        leaving = (
            Leaving.objects.select_for_update(of=("self",))
            .filter(account_id=principal.account_id, pk=leaving_id)
            .select_related("subject", "user")
            .first()
        )
        if leaving is None:
            raise NotFound("Nobody left by that id.", code="leaving_not_found")
        if leaving.undone_at is not None:
            raise Conflicting("It was undone already.", code="leaving_undone")
        if not leaving.may_be_undone:
            raise Conflicting("What is gone for good does not come back.", code="leaving_final")
        here = Membership.objects.filter(account_id=leaving.account_id)
        if here.filter(Q(user=leaving.user) | Q(subject=leaving.subject)).exists():
            raise Conflicting("Somebody signs in as that person.", code="subject_taken")
        member = Membership.objects.create(
            id=uuid.UUID(leaving.detail["membership"]),
            account_id=leaving.account_id,
            user=leaving.user,
            subject=leaving.subject,
        )
        _give_grants(member, leaving.detail["grants"])
        for model, name in ((Review, "reviews"), (ConflictSet, "conflicts")):
            waiting = model.objects.filter(account_id=leaving.account_id, pk__in=leaving.detail[name])
            waiting.filter(assignee__isnull=True, status__in=["pending", "open"]).update(assignee=member)
        if leaving.detail["receipt"]:
            _bring_back(principal, uuid.UUID(leaving.detail["receipt"]))
        leaving.undone_at, leaving.undone_by = now(), principal.actor.as_json()
        leaving.save(update_fields=["undone_at", "undone_by"])
        _record(leaving, "member.returned", principal)
    return leaving


def _require_administrator(principal: Principal) -> None:
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    if not has_role(principal, ROOT, Role.ACCOUNT_ADMIN):
        raise Refused("You may not decide here.", code="forbidden_scope")


def _member(principal: Principal, membership_id: uuid.UUID) -> Membership:
    _require_administrator(principal)
    found = Membership.objects.filter(account_id=principal.account_id, pk=membership_id)
    member = found.select_related("user", "subject").select_for_update(of=("self",)).first()
    if member is None:
        raise NotFound("Nobody signs in by that id.", code="member_not_found")
    return member


def _administrators(account_id: uuid.UUID, *, without: uuid.UUID) -> list[Membership]:
    others = Membership.objects.filter(account_id=account_id, user__is_active=True).exclude(pk=without)
    return [one for one in others.select_related("user", "subject") if has_role(person(one), ROOT, Role.ACCOUNT_ADMIN)]


def _grants_of(member: Membership) -> QuerySet[Grant]:
    return Grant.objects.filter(account_id=member.account_id, subject_id=member.subject_id)


def _keys_of(member: Membership) -> QuerySet[ApiKey]:
    working = ApiKey.objects.filter(account_id=member.account_id, revoked_at__isnull=True)
    return working.filter(Q(maker=member) | Q(peer_id=member.subject_id)).order_by("id")


def _assigned(member: Membership) -> QuerySet[Review]:
    return Review.objects.filter(account_id=member.account_id, assignee=member, status=ReviewStatus.PENDING)


def _pending_consents(member: Membership) -> QuerySet[Consent]:
    return Consent.objects.filter(
        account_id=member.account_id, subject_id=member.subject_id, status=ConsentStatus.PENDING
    ).order_by("id")


def _live(account_id: uuid.UUID) -> QuerySet[Fact]:
    return Fact.objects.filter(account_id=account_id).exclude(status__in=FINAL)


def _told_by(member: Membership) -> list[uuid.UUID]:
    """Return the live facts about others that rest on something this person said."""
    said = Evidence.objects.filter(account_id=member.account_id, event__speaker_id=member.subject_id)
    about_others = _live(member.account_id).exclude(subject_id=member.subject_id)
    return list(about_others.filter(pk__in=said.values("fact_id")).values_list("id", flat=True))


def _only_from(fact_id: uuid.UUID, member: Membership) -> bool:
    others = Evidence.objects.filter(account_id=member.account_id, fact_id=fact_id)
    return not others.exclude(event__speaker_id=member.subject_id).exists()


def _only_decided_by(member: Membership) -> int:
    """Return how many waiting reviews nobody but this person may decide."""
    waiting = Review.objects.filter(account_id=member.account_id, status=ReviewStatus.PENDING)
    by_path = counts_by_place(waiting)
    others = [
        person(one)
        for one in Membership.objects.filter(account_id=member.account_id, user__is_active=True)
        .exclude(pk=member.pk)
        .select_related("user", "subject")
    ]
    them = person(member)
    return sum(
        count
        for path, count in by_path.items()
        if _decides(them, path) and not any(_decides(who, path) for who in others)
    )


def _decides(who: Principal, path: str) -> bool:
    return may_act(who, Delegation.RESOLVE, path=path)


def _lapse_consents(principal: Principal, member: Membership) -> int:
    """Count every open question to them as refused: nobody is there to answer, and silence is no yes."""
    asked = list(_pending_consents(member).select_related("fact"))
    for consent in asked:
        consents.say_no(consents.locked_consent(consent), channel="", verified=False, actor=principal.actor)
    return len(asked)


def _hand_back(rows: QuerySet) -> list[str]:
    ids = [str(pk) for pk in rows.order_by("id").values_list("id", flat=True)]
    rows.update(assignee=None)
    return ids


def _revoke_keys(principal: Principal, member: Membership) -> int:
    found = list(_keys_of(member))
    for key in found:
        keys.revoke_key(member.account_id, key.id, actor=principal.actor)
    return len(found)


def _take_grants(member: Membership) -> list[dict[str, Any]]:
    rows = list(_grants_of(member).order_by("id"))
    taken = [
        {
            "scope": str(row.scope_id),
            "role": row.role,
            "effect": row.effect,
            "propagates": row.propagates,
            "restricted": row.restricted,
            "granted_by": row.granted_by,
        }
        for row in rows
    ]
    _grants_of(member).delete()
    return taken


def _give_grants(member: Membership, taken: Sequence[dict[str, Any]]) -> None:
    scopes = set(Scope.objects.filter(account_id=member.account_id).values_list("id", flat=True))
    for row in taken:
        if uuid.UUID(row["scope"]) in scopes:
            Grant.objects.get_or_create(
                account_id=member.account_id,
                scope_id=uuid.UUID(row["scope"]),
                subject_id=member.subject_id,
                role=row["role"],
                effect=row["effect"],
                defaults={name: row[name] for name in ("propagates", "restricted", "granted_by")},
            )


def _settle_facts(principal: Principal, subject: Subject, facts: LeaversFacts) -> uuid.UUID | None:
    """Do with the facts about them what was chosen; returns the receipt, if there is one."""
    match facts:
        case LeaversFacts.FORGET:
            return forgetting.disable(principal, subject_id=subject.id).id
        case LeaversFacts.ERASE:
            return erasing.erase(principal, subject_id=subject.id, mode=ErasureMode.PROPORTIONATE).id
    return None


def _bring_back(principal: Principal, receipt_id: uuid.UUID) -> None:
    """Lift the forgetting, unless somebody has."""
    try:
        forgetting.enable(principal, receipt_id)
    except Conflicting as error:
        if error.code != "forget_lifted":
            raise


def _record(leaving: Leaving, action: str, principal: Principal) -> None:
    detail = leaving.detail
    audit.record(
        leaving.account_id,
        action=action,
        object_type="leaving",
        object_id=leaving.id,
        actor=principal.actor,
        group=new_id(),
        metadata={
            "membership": detail["membership"],
            "subject": str(leaving.subject_id),
            "facts": str(leaving.facts),
            "grants": len(detail["grants"]),
            "keys": detail["keys"],
            "consents": detail["consents"],
            "reviews": len(detail["reviews"]),
            "conflicts": len(detail["conflicts"]),
            "receipt": detail["receipt"],
        },
    )
