"""Forgetting: hiding what is known so that it is served nowhere, with a receipt, and lifting that again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from facts import audit, conflict_sets, erasure_plan, lifecycle, suppressions, withholding
from facts.actors import Actor
from facts.audience import may_see
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Event, Fact, FactRevision, Subject
from facts.models.conflicts import SuppressionCause
from facts.returning import bring_back
from facts.status_graph import FINAL
from facts.tenancy import ROOT, account_transaction
from facts.vocabulary import Status, SubjectKind
from governance.access import (
    Delegation,
    Principal,
    check_limit,
    has_role,
    is_read_by_curators,
    require_authority,
    resolve_reader,
    role_at,
    within_limit,
)
from governance.models import ForgetMode, ForgetReceipt, Role
from governance.placement import place_waiting
from governance.reviewing.reviews import resume_for, withdraw_for

#: In these a fact may be read by others than its subject, now or as history.
_READ = frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED})


def disable(
    principal: Principal,
    *,
    fact_id: uuid.UUID | None = None,
    subject_id: uuid.UUID | None = None,
    within: str | None = None,
    reason: str = "",
) -> ForgetReceipt:
    """Hide one fact, or all facts of a subject, and the passages they cite; reversible by :func:`enable`.

    Exactly one of ``fact_id`` and ``subject_id``; ``within`` narrows to the scope of that path. The subject itself may
    always ask this for what is about it, also through a key of its own; anybody else needs authority. Raises
    ``DomainError`` (``invalid_forget_scope``), ``NotFound`` (``fact_not_found``, ``subject_not_found``), ``Refused``.
    """
    if (fact_id is None) == (subject_id is None):
        raise DomainError("Name one fact or one subject.", code="invalid_forget_scope", field="fact_id")
    with account_transaction(principal.account_id):
        facts = facts_named(principal.account_id, fact_id=fact_id, subject_id=subject_id, within=within)
        with hidden_from(principal, facts, subject_id):
            actor = forgetting_actor(principal, facts, subject_id, within=within or ROOT)
        group, at = new_id(), now()
        events = _hide_events(principal.account_id, subject_id, within=within, at=at)
        hidden: list[uuid.UUID] = []
        for fact in _locked(facts):
            if fact.status in FINAL or fact.status == Status.DISABLED:
                continue
            fact = lifecycle.transition(
                fact.id,
                account_id=fact.account_id,
                to=Status.DISABLED,
                actor=actor,
                action="fact.disabled",
                reason=reason,
                group=group,
            )
            suppressions.suppress(fact, cause=SuppressionCause.FORGOTTEN, actor=actor, evidence_until=None)
            hidden.append(fact.id)
        withholding.refresh_events(principal.account_id, events)
        reviews = withdraw_for(hidden, account_id=principal.account_id, actor=actor)
        receipt = ForgetReceipt.objects.create(
            account_id=principal.account_id,
            mode=ForgetMode.DISABLE,
            target="fact" if fact_id else "subject",
            target_id=fact_id or subject_id,
            counters={
                "facts_disabled": len(hidden),
                "events_hidden": len(events),
                "reviews_withdrawn": reviews,
                "facts": [str(i) for i in hidden],
            },
            actor=actor.as_json(),
            reason=reason[:500],
            created_at=at,
        )
        audit.record(
            principal.account_id,
            action="forget.disable",
            object_type="forget_receipt",
            object_id=receipt.id,
            actor=actor,
            group=group,
            metadata={"facts": len(hidden), "target": receipt.target},
        )
    return receipt


def enable(principal: Principal, receipt_id: uuid.UUID, *, reason: str = "") -> ForgetReceipt:
    """Lift a disabling: each fact returns as it was before, or as expired if its time has passed.

    A fact whose identity is taken meanwhile comes back as a candidate in a conflict set with the fact that has it; the
    receipt's counters name those (``in_conflict``). Raises ``NotFound`` (``receipt_not_found``), ``Conflicting``
    (``forget_lifted``) and ``Refused``.
    """
    with account_transaction(principal.account_id):
        named = ForgetReceipt.objects.filter(account_id=principal.account_id, pk=receipt_id, mode=ForgetMode.DISABLE)
        receipt = named.first()
        if receipt is None:
            raise NotFound("There is no such receipt.", code="receipt_not_found")
        ids = [uuid.UUID(value) for value in receipt.counters.get("facts", [])]
        facts = Fact.objects.filter(account_id=principal.account_id, pk__in=ids).select_related("scope").order_by("id")
        try:
            actor = forgetting_actor(principal, facts, receipt.target_id if receipt.target == "subject" else None)
        except Refused:
            # Whoever may not lift it learns nothing of it.
            raise NotFound("There is no such receipt.", code="receipt_not_found") from None
        group = new_id()
        events = _events_hidden_by(receipt)
        erasure_plan.lock_events(principal.account_id, events)
        forgotten = [fact for fact in _locked(facts) if fact.status == Status.DISABLED]
        receipt = named.select_for_update().get()
        if receipt.lifted_at is not None:
            raise Conflicting("It was lifted already.", code="forget_lifted")
        Event.objects.filter(account_id=principal.account_id, pk__in=events).update(forgotten_at=None)
        in_conflict = _enable_all(forgotten, actor=actor, reason=reason, group=group)
        withholding.refresh_events(principal.account_id, events)
        receipt.lifted_at = now()
        receipt.lifted_by = actor.as_json()
        receipt.counters = {**receipt.counters, "facts_enabled": len(forgotten), "in_conflict": in_conflict}
        receipt.save(update_fields=["lifted_at", "lifted_by", "counters"])
        audit.record(
            principal.account_id,
            action="forget.lifted",
            object_type="forget_receipt",
            object_id=receipt.id,
            actor=actor,
            group=group,
            metadata={"facts": len(forgotten), "in_conflict": len(in_conflict)},
        )
    return receipt


def _hide_events(
    account_id: uuid.UUID, subject_id: uuid.UUID | None, *, within: str | None, at: datetime
) -> list[uuid.UUID]:
    """Mark what a forgotten subject said, so that passages which no fact cites are hidden as well.

    The mark is the time of the receipt, by which the lifting finds its own.
    """
    if subject_id is None:
        return []
    subject = Subject.objects.get(account_id=account_id, pk=subject_id)
    events = erasure_plan.own_events(subject, within=within).filter(forgotten_at__isnull=True)
    ids = list(events.values_list("id", flat=True))
    erasure_plan.lock_events(account_id, ids)
    Event.objects.filter(account_id=account_id, pk__in=ids).update(forgotten_at=at)
    return ids


def _events_hidden_by(receipt: ForgetReceipt) -> list[uuid.UUID]:
    if receipt.target != "subject":
        return []
    events = Event.objects.filter(account_id=receipt.account_id, forgotten_at=receipt.created_at)
    return list(events.values_list("id", flat=True))


def _enable_all(facts: Sequence[Fact], *, actor: Actor, reason: str, group: uuid.UUID) -> list[str]:
    """Bring all back, then plan anew what waited for a conflict that is gone; returns whose place was taken."""
    displaced = []
    for fact in facts:
        back, has_its_place = bring_back(
            fact,
            to_version=_version_before_forgetting(fact),
            actor=actor,
            action="fact.enabled",
            reason=reason,
            group=group,
        )
        suppressions.lift(fact.account_id, fact_id=fact.id, causes=(SuppressionCause.FORGOTTEN,))
        resume_for(back)
        if not has_its_place:
            displaced.append(str(fact.id))
    for fact in Fact.objects.filter(pk__in=[fact.id for fact in facts], status=Status.CANDIDATE).order_by("id"):
        if not conflict_sets.is_contested(fact):
            place_waiting(fact, actor=actor, action="fact.enabled", reason=reason, group=group)
    return displaced


def _version_before_forgetting(fact: Fact) -> int:
    revisions = FactRevision.objects.filter(account_id=fact.account_id, fact=fact).exclude(status=Status.DISABLED)
    return revisions.order_by("-version").values_list("version", flat=True)[0]


def _locked(facts: Iterable[Fact]) -> list[Fact]:
    """Lock the subjects of these facts, in one order for everybody, and return the facts as they are then."""
    facts = list(facts)
    for scope_id, subject_id in sorted({(fact.scope_id, fact.subject_id) for fact in facts}):
        lock_subject(scope_id, subject_id)
    for fact in facts:
        fact.refresh_from_db()
    return facts


def facts_named(
    account_id: uuid.UUID, *, fact_id: uuid.UUID | None, subject_id: uuid.UUID | None, within: str | None
) -> list[Fact]:
    """Return the one fact, or the facts about the subject, in the scope of that path or everywhere.

    Raises ``NotFound`` (``fact_not_found``, ``subject_not_found``).
    """
    facts = Fact.objects.filter(account_id=account_id).select_related("scope", "subject").order_by("id")
    if within is not None:
        facts = facts.filter(scope__path=within)
    if fact_id is not None:
        found = list(facts.filter(pk=fact_id))
        if not found:
            raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id")
        return found
    subject = Subject.objects.filter(account_id=account_id, pk=subject_id).first()
    if subject is None:
        raise NotFound("There is no such subject.", code="subject_not_found", field="subject_id")
    if subject.merged_into_id is not None:
        return list(facts.filter(pk__in=erasure_plan.own_facts(subject, within=within).values("pk")))
    return list(facts.filter(subject_id=subject_id))


@contextmanager
def hidden_from(principal: Principal, facts: Sequence[Fact], subject_id: uuid.UUID | None) -> Iterator[None]:
    """Turn a refusal into ``NotFound``, as for what does not exist, unless the caller knows of one of these facts."""
    try:
        yield
    except Refused:
        is_itself = subject_id is not None and subject_id == principal.subject_id
        if is_itself or any(_is_known_to(principal, fact) for fact in facts):
            raise
        if subject_id is not None:
            raise NotFound("There is no such subject.", code="subject_not_found", field="subject_id") from None
        raise NotFound("There is no such fact.", code="fact_not_found", field="fact_id") from None


def _is_known_to(principal: Principal, fact: Fact) -> bool:
    """Tell whether the caller may read the fact, by the role of a curator or by the audience rule."""
    path = fact.scope.path
    if not within_limit(principal, path) or (principal.is_person and role_at(principal, path) is None):
        return False
    if has_role(principal, path, Role.CURATOR) and is_read_by_curators(fact):
        return True
    reader = resolve_reader(principal, subject=fact.subject)
    own = reader.subject_id == fact.subject_id
    return (own or fact.status in _READ) and may_see(
        posture=reader.posture,
        own=own,
        restricted_granted=reader.restricted,
        level=fact.level,
        sensitivity=fact.sensitivity,
        about_scope=fact.subject.kind == SubjectKind.SCOPE,
        provisional=fact.status == Status.PROVISIONAL,
    )


def forgetting_actor(
    principal: Principal,
    facts: Sequence[Fact],
    subject_id: uuid.UUID | None,
    *,
    within: str = ROOT,
    also_at: Iterable[str] = (),
) -> Actor:
    """Subjects speak for themselves; all others need authority where each of the facts lives, or else ``within``.

    ``also_at``: further paths where it is needed. A key that is confined to a scope forgets nothing outside of it,
    whoever it speaks for.
    """
    paths = sorted({fact.scope.path for fact in facts} | set(also_at)) or [within]
    about = {fact.subject_id for fact in facts} | ({subject_id} if subject_id else set())
    if principal.subject_id is not None and about == {principal.subject_id}:
        for path in paths:
            check_limit(principal, path)
        return principal.actor
    if not principal.is_person and Delegation.FORGET not in principal.delegated:
        raise Refused("A person has to decide this.", code="human_required")
    actor = principal.actor
    for path in paths:
        actor = require_authority(principal, Delegation.FORGET, path=path)
    return actor
