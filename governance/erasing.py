"""Erasing: content leaves every store for good, a tombstone and a receipt stay.

What goes is worked out under the locks of those who write, wiped store by store through the registry of ``facts``, and
searched for afterwards, all in one transaction. The receipt says what each store lost and where the same words still
stand, because others said them too; its digest is chained in the audit.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, transaction
from psycopg.errors import DeadlockDetected

from facts import audit, erasure, erasure_plan, lifecycle, suppressions, withholding
from facts.actors import Actor
from facts.erasure import Erasing, ErasureMode
from facts.erasure_search import search
from facts.errors import Conflicting, DomainError, Refused
from facts.ids import new_id
from facts.models import Evidence, Fact, Subject
from facts.status_graph import FINAL
from facts.tenancy import ROOT, account_transaction
from facts.vocabulary import Status
from governance.access import Delegation, Principal
from governance.forgetting import facts_named, forgetting_actor, hidden_from
from governance.merging import unmerging
from governance.models import ForgetMode, ForgetReceipt
from governance.reviewing.reviews import withdraw_for

#: Plans made until one holds under the locks that were taken for it.
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What an erasure would do: facts deleted, withdrawn, and kept on other sources; events; rows of each store.

    ``stores`` leaves out rows that only repeat words (``facts.erasure.preview``).
    """

    facts_deleted: int
    facts_withdrawn: int
    facts_released: int
    events_erased: int
    events_shortened: int
    stores: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is to be erased, found and allowed."""

    account_id: uuid.UUID
    fact: Fact | None
    subject: Subject | None
    within: str | None
    mode: ErasureMode
    actor: Actor

    def plan(self) -> Erasing:
        """Work out what goes, by what is stored now."""
        if self.fact is not None:
            return erasure_plan.for_fact(self.fact)
        return erasure_plan.for_subject(self.subject, within=self.within, mode=self.mode)


def preview(
    principal: Principal,
    *,
    fact_id: uuid.UUID | None = None,
    subject_id: uuid.UUID | None = None,
    within: str | None = None,
    mode: ErasureMode = ErasureMode.PROPORTIONATE,
) -> Preview:
    """Return what :func:`erase` would do now, to whoever may ask for it; raises as that does."""
    with account_transaction(principal.account_id):
        asked = _asked(principal, fact_id=fact_id, subject_id=subject_id, within=within, mode=mode)
        erasing = asked.plan()
        return Preview(
            facts_deleted=len(erasing.facts),
            facts_withdrawn=len(erasing.withdrawn),
            facts_released=len(erasing.released - erasing.withdrawn),
            events_erased=len(erasing.events),
            events_shortened=len(erasing.cuts),
            stores=erasure.preview(erasing),
        )


def erase(
    principal: Principal,
    *,
    fact_id: uuid.UUID | None = None,
    subject_id: uuid.UUID | None = None,
    within: str | None = None,
    mode: ErasureMode = ErasureMode.PROPORTIONATE,
) -> ForgetReceipt:
    """Erase one fact, or a subject, for good; ``within`` narrows a subject's to the scope of that path.

    Subjects may ask this for themselves when they are signed in; all others, and keys, need authority. Raises
    ``DomainError`` (``invalid_forget_scope``), ``NotFound`` (``fact_not_found``, ``subject_not_found``),
    ``Conflicting`` (``erased_already``, ``try_again``) and ``Refused`` (``human_required``, ``forbidden_scope``).
    """
    with account_transaction(principal.account_id):
        asked = _asked(principal, fact_id=fact_id, subject_id=subject_id, within=within, mode=mode)
        if asked.subject is not None and asked.subject.merged_into_id is not None and within is None:
            # What was its own is its own again: every store finds that by the subject.
            made = unmerging.of_subject(asked.account_id, asked.subject.id)
            unmerging.divide(unmerging.locked(made), actor=asked.actor, rationale="")
            asked.subject.refresh_from_db()
        erasing, group = _locked_plan(asked), new_id()
        hashes = _end_facts(erasing, actor=asked.actor, group=group)
        reviews = withdraw_for([*erasing.facts], account_id=asked.account_id, actor=asked.actor)
        stores = erasure.wipe(erasing)
        _count_sources_anew(erasing, actor=asked.actor, group=group)
        withholding.refresh(asked.account_id, erasing.facts)
        counters = {
            "facts_deleted": len(erasing.facts),
            "facts_withdrawn": len(erasing.withdrawn),
            "facts_released": len(erasing.released - erasing.withdrawn),
            "events_erased": len(erasing.events),
            "events_shortened": len(erasing.cuts),
            "reviews_withdrawn": reviews,
            "erasure": mode.value,
            "stores": stores,
            "search": search(erasing).as_json(),
            "facts": [str(one) for one in sorted(erasing.facts)],
            "statement_hashes": hashes,
        }
        return _receipt(asked, counters, group=group)


def _asked(
    principal: Principal,
    *,
    fact_id: uuid.UUID | None,
    subject_id: uuid.UUID | None,
    within: str | None,
    mode: ErasureMode,
) -> _Asked:
    if (fact_id is None) == (subject_id is None):
        raise DomainError("Name one fact or one subject.", code="invalid_forget_scope", field="fact_id")
    if not principal.is_person and Delegation.FORGET not in principal.delegated:
        raise Refused("A person has to decide this.", code="human_required")
    facts = facts_named(principal.account_id, fact_id=fact_id, subject_id=subject_id, within=within)
    subject = None
    if subject_id is not None:
        subject = Subject.objects.get(account_id=principal.account_id, pk=subject_id)
    paths = _paths(subject, within=within)
    with hidden_from(principal, facts, subject_id):
        actor = forgetting_actor(principal, facts, subject_id, within=within or ROOT, also_at=paths)
    if fact_id is not None and facts[0].status == Status.DELETED:
        raise Conflicting("It was erased already.", code="erased_already", field="fact_id")
    return _Asked(
        account_id=principal.account_id,
        fact=facts[0] if fact_id is not None else None,
        subject=subject,
        within=within,
        mode=mode,
        actor=actor,
    )


def _paths(subject: Subject | None, *, within: str | None) -> set[str]:
    """Return where the subject said something: authority is needed there too."""
    if subject is None:
        return set()
    events = erasure_plan.own_events(subject, within=within)
    return set(events.order_by().values_list("scope__path", flat=True).distinct())


def _locked_plan(asked: _Asked) -> Erasing:
    """Return a plan that holds under the locks taken for it. Raises ``Conflicting`` (``try_again``).

    A message that is taken in and read at this very moment may hold what is waited for here, and wait for what is held:
    then the locks are let go and taken again.
    """
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                return _plan_under_locks(asked)
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
    raise _too_busy()


def _plan_under_locks(asked: _Asked) -> Erasing:
    erasing = asked.plan()
    for _ in range(_TRIES):
        erasure_plan.lock_events(asked.account_id, erasing.touched_events)
        erasure_plan.lock_facts(erasing)
        # Whoever takes in a message of the subject meanwhile has come first, or finds that it is gone.
        list(Subject.objects.select_for_update().filter(pk__in=erasing.subject_ids).order_by("id").values_list("id"))
        again = asked.plan()
        is_covered = set(again.touched_events) <= set(erasing.touched_events) and again.facts <= erasing.facts
        if is_covered and again.released <= erasing.released:
            return again
        erasing = again
    raise _too_busy()


def _too_busy() -> Conflicting:
    return Conflicting("Too much is going on there just now.", code="try_again")


def _end_facts(erasing: Erasing, *, actor: Actor, group: uuid.UUID) -> list[str]:
    """Make tombstones of the facts that go, keep them from coming back, and withdraw what loses its only source.

    Returns the keyed hashes of the statements.
    """
    hashes = []
    common = {"account_id": erasing.account_id, "actor": actor, "group": group}
    for fact in Fact.objects.filter(account_id=erasing.account_id, pk__in=erasing.facts).order_by("id"):
        hashes.append(fact.statement_hash)
        suppressions.erase(fact, actor=actor)
        lifecycle.transition(fact.id, to=Status.DELETED, action="fact.erased", **common)
    for fact in _standing(erasing, erasing.withdrawn):
        lifecycle.transition(fact.id, to=Status.RETRACTED, action="source.erased", **common)
    withdraw_for([*erasing.withdrawn], account_id=erasing.account_id, actor=actor)
    return sorted(hashes)


def _count_sources_anew(erasing: Erasing, *, actor: Actor, group: uuid.UUID) -> None:
    """Let facts that stay stand on their other sources, without the share of those that went."""
    for fact in _standing(erasing, erasing.released - erasing.withdrawn):
        sources = Evidence.objects.filter(
            account_id=erasing.account_id, fact=fact, human=True, event__withdrawn_at__isnull=True
        )
        lifecycle.amend(
            fact.id,
            account_id=erasing.account_id,
            actor=actor,
            action="source.erased",
            changes={"corroboration": sources.values("event__source_key").distinct().count()},
            group=group,
        )


def _standing(erasing: Erasing, fact_ids: Iterable[uuid.UUID]) -> list[Fact]:
    facts = Fact.objects.filter(account_id=erasing.account_id, pk__in=list(fact_ids))
    return list(facts.exclude(status__in=FINAL).order_by("id"))


def _receipt(asked: _Asked, counters: dict[str, Any], *, group: uuid.UUID) -> ForgetReceipt:
    """Write the receipt, and chain its digest with its counts."""
    receipt = ForgetReceipt.objects.create(
        account_id=asked.account_id,
        mode=ForgetMode.DELETE,
        target="fact" if asked.fact is not None else "subject",
        target_id=asked.fact.id if asked.fact is not None else asked.subject.id,
        counters=counters,
        actor=asked.actor.as_json(),
    )
    audit.record(
        asked.account_id,
        action="forget.delete",
        object_type="forget_receipt",
        object_id=receipt.id,
        actor=asked.actor,
        group=group,
        metadata={
            "target": receipt.target,
            "erasure": counters["erasure"],
            "stores": counters["stores"],
            "left": sum(counters["search"]["left"].values()),
            "receipt": digest(receipt),
        },
    )
    return receipt


def digest(receipt: ForgetReceipt) -> str:
    """Return the SHA-256 of what a receipt of an erasure says, as the audit chain has it."""
    said = [receipt.mode, receipt.target, str(receipt.target_id), receipt.counters]
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
