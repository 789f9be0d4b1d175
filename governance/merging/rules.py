"""Who may merge which subjects: people only, and nobody into themselves or into somebody who can read as both."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Q

from facts import subject_rows
from facts.actors import Actor
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import ConflictMember, Fact, Membership, Subject
from facts.status_graph import LIVE
from facts.tenancy import ROOT
from facts.vocabulary import ConflictKind, ConflictStatus, SubjectKind
from governance.access import Delegation, Principal, require_authority
from governance.models import ApiKey

#: Subjects that several names may stand for. Scopes, pages, searches and channels are told by their addresses.
MERGED_KINDS = frozenset({SubjectKind.PERSON, SubjectKind.AGENT, SubjectKind.CLIENT, SubjectKind.TOPIC})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The subject that is said to be another one (``source``), and that one (``target``)."""

    source: Subject
    target: Subject


def deciding_actor(principal: Principal) -> Actor:
    """Return the actor of a decision about subjects: a curator of the whole account, or a key to which one delegated.

    Raises ``Refused`` (``human_required``, ``forbidden_scope``).
    """
    return require_authority(principal, Delegation.RESOLVE, path=ROOT)


def pair(principal: Principal, *, source_id: uuid.UUID, target_id: uuid.UUID, actor: Actor) -> Pair:
    """Return the two subjects if they may be merged at all; asked again under the locks.

    Raises ``NotFound`` (``subject_not_found``), ``DomainError`` (``invalid_merge``), ``Refused`` (``own_request``) and
    ``Conflicting``: ``subject_merged``, ``subject_signs_in``, ``subject_has_keys``, ``cannot_be_one``.
    """
    found = {
        one.id: one for one in Subject.objects.filter(account_id=principal.account_id, pk__in=[source_id, target_id])
    }
    if not {source_id, target_id} <= found.keys():
        raise NotFound("There is no such subject.", code="subject_not_found", field="subject_id")
    source, target = found[source_id], found[target_id]
    if source.id == target.id or source.kind != target.kind or source.kind not in MERGED_KINDS:
        raise DomainError(
            "Two different people, agents, clients or topics can be one, and only of the same kind.",
            code="invalid_merge",
            field="into",
        )
    if source.merged_into_id is not None or target.merged_into_id is not None:
        raise Conflicting("One of the two is merged into another one already.", code="subject_merged", field="into")
    if actor.subject_id in {source.id, target.id}:
        raise own_request()
    if Membership.objects.filter(account_id=principal.account_id, subject=source).exists():
        raise Conflicting(
            "Somebody signs in as this one: merge the other one into it, unless somebody signs in as both.",
            code="subject_signs_in",
            field="subject_id",
        )
    live = ApiKey.objects.filter(account_id=principal.account_id, peer=source, revoked_at__isnull=True)
    if live.exists():
        raise Conflicting(
            "Keys speak as this one: revoke them first, or merge the other way round.",
            code="subject_has_keys",
            field="subject_id",
        )
    reason = subject_rows.why_not(principal.account_id, source=source.id, target=target.id)
    if reason:
        raise Conflicting(reason, code="cannot_be_one", field="into")
    return Pair(source=source, target=target)


def own_request() -> Refused:
    """Return the refusal of somebody who is one of the two."""
    return Refused("Nobody decides who they are themselves; ask another curator.", code="own_request")


def refuse_open_conflicts(both: Pair) -> None:
    """Raise ``Conflicting`` (``conflict_open``) while one of them disputes what the other one says something about.

    A set that is open has been asked about as it is; what comes to it is decided before, or after.
    """
    for disputed, other in ((both.source, both.target), (both.target, both.source)):
        members = ConflictMember.objects.filter(
            account_id=both.source.account_id,
            left_at__isnull=True,
            conflict_set__status=ConflictStatus.OPEN,
            conflict_set__subject=disputed,
        ).exclude(conflict_set__kind=ConflictKind.POSSIBLE)
        said = set(members.exclude(fact__predicate="").values_list("fact__scope_id", "fact__predicate"))
        about = Q(pk__in=())
        for scope_id, predicate in said:
            about |= Q(scope_id=scope_id, predicate=predicate)
        live = Fact.objects.filter(about, account_id=both.source.account_id, subject=other, status__in=LIVE)
        if live.exists():
            raise Conflicting(
                "Decide the open conflicts about them first: both say something there.", code="conflict_open"
            )
