"""Whether a fact may be told at a place: only where everybody who reads what arrives there may read the fact."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from facts.audience import Posture, Reader, may_see
from facts.models import Fact, Membership, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import Status, SubjectKind
from governance.access import Principal, grants_of, has_role, is_read_by_curators, resolve_reader, role_at
from governance.models import Role
from ingest.deliveries.places import Place
from ingest.models import TargetAudience

#: Somebody who may read a scope, and whom nothing there is about.
_ANYBODY = Reader(posture=Posture.PEER, subject_id=uuid.UUID(int=0))
#: Why a fact is told nowhere.
NOT_CURRENT = "fact_not_current"


def why_not_current(fact: Fact) -> str:
    """Return why the fact is told nobody at all, "" where it is current."""
    if fact.status != Status.ACTIVE:
        return NOT_CURRENT
    return "" if fact.withheld == Withheld.NOTHING else str(fact.withheld)


def may_be_told(fact: Fact, place: Place) -> bool:
    """Tell whether everybody who reads what arrives at the place may read the fact. Nobody reading there: no.

    Curators tell by an address that they vouch for what they read themselves, and no more.
    """
    if place.by_curator and not is_read_by_curators(fact):
        return False
    target = place.target
    if target is None:
        return place.recipient is not None and may_read(fact, place.recipient)
    if target.audience == TargetAudience.SCOPE:
        # Somebody who may read a scope need not be let into those above it: only what is kept right there is told.
        return fact.scope_id == target.scope_id and _sees(fact, _ANYBODY)
    return may_all_read(fact, target.recipients.filter(account_id=fact.account_id))


def may_all_read(fact: Fact, subjects: Iterable[Subject]) -> bool:
    """Tell whether there is somebody, and each of them may read the fact."""
    readers = list(subjects)
    return bool(readers) and all(may_read(fact, subject) for subject in readers)


def may_read(fact: Fact, subject: Subject) -> bool:
    """Tell whether one person may read the fact: it is about them, or their role in its scope lets them.

    Whoever has memberships and none that is good any more reads nothing.
    """
    members = Membership.objects.filter(account_id=fact.account_id, subject=subject)
    states = list(members.values_list("user__is_active", flat=True))
    if states and not any(states):
        return False
    principal = Principal(
        account_id=fact.account_id,
        name=subject.key,
        is_person=True,
        subject_id=subject.id,
        grants=grants_of(fact.account_id, subject.id),
    )
    return is_readable(fact, principal)


def is_readable(fact: Fact, principal: Principal) -> bool:
    """Tell whether a person may read a fact, whatever its status: no query where fact and grants are loaded."""
    if fact.subject_id == principal.subject_id:
        return True
    if role_at(principal, fact.scope.path) is None:
        return False
    if has_role(principal, fact.scope.path, Role.CURATOR) and is_read_by_curators(fact):
        return True
    return _sees(fact, resolve_reader(principal))


def _sees(fact: Fact, reader: Reader) -> bool:
    return may_see(
        posture=reader.posture,
        own=fact.subject_id == reader.subject_id,
        restricted_granted=reader.restricted,
        level=fact.level,
        sensitivity=fact.sensitivity,
        about_scope=fact.subject.kind == SubjectKind.SCOPE,
        provisional=fact.status == Status.PROVISIONAL,
    )
