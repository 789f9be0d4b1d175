"""What a signed-in person may see in the admin.

Curators see what lies in the scopes they curate, because they decide about it; ``restricted`` content only with a
grant that says so, about themselves, or while a decision about it waits for them. Everybody else sees what the audience
rule allows, in the scopes granted to them, and history under the same rule; other statuses only about themselves. What
may be listed but not read shows without its text.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from facts.audience import Reader, visible_to
from facts.models import ConflictMember, Event, Fact, Scope
from facts.status_graph import FINAL
from facts.vocabulary import ConflictStatus, Sensitivity, Status
from governance.access import Principal, all_readable_scopes, has_role, resolve_reader
from governance.models import Review, ReviewStatus, Role

#: Statuses that listings show to everybody whom the audience rule allows.
SHOWN_TO_READERS = (Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED)


@dataclass
class Sight:
    """The rights of one signed-in person for one request; look-ups happen once, when first needed."""

    principal: Principal

    @cached_property
    def reader(self) -> Reader:
        """As whom the person reads."""
        return resolve_reader(self.principal)

    @cached_property
    def scopes(self) -> list[Scope]:
        """The scopes granted to the person at all."""
        return all_readable_scopes(self.principal)

    @cached_property
    def scope_ids(self) -> frozenset[uuid.UUID]:
        """The ids of the granted scopes."""
        return frozenset(scope.id for scope in self.scopes)

    @cached_property
    def curated_ids(self) -> frozenset[uuid.UUID]:
        """The ids of the scopes in which the person decides."""
        return frozenset(scope.id for scope in self.scopes if has_role(self.principal, scope.path, Role.CURATOR))

    @property
    def is_curator(self) -> bool:
        """Whether there is any scope in which the person decides."""
        return bool(self.curated_ids)

    def has_role_at_root(self, role: str) -> bool:
        """Tell whether the person has at least this role in the whole account."""
        return has_role(self.principal, "/", role)

    def facts(self) -> QuerySet[Fact]:
        """Return the facts that may be listed, each knowing whether a decision about it waits (``awaits_decision``)."""
        own = Q(subject_id=self.principal.subject_id) & ~Q(status__in=FINAL)
        as_reader = Q(scope_id__in=self.scope_ids, status__in=SHOWN_TO_READERS) & visible_to(self.reader)
        listed = Q(scope_id__in=self.curated_ids) | own | as_reader
        return with_waiting(Fact.objects.filter(listed, account_id=self.principal.account_id))

    def may_read(self, fact: Fact) -> bool:
        """Tell whether the fact's text may be shown. Asks the database unless the fact came from :meth:`facts`."""
        if fact.subject_id == self.principal.subject_id:
            return fact.status not in FINAL
        if fact.scope_id in self.curated_ids:
            if fact.sensitivity != Sensitivity.RESTRICTED or self.reader.restricted:
                return True
            return _awaits_decision(fact)
        if fact.scope_id not in self.scope_ids or fact.status not in SHOWN_TO_READERS:
            return False
        return Fact.objects.filter(visible_to(self.reader), account_id=fact.account_id, pk=fact.pk).exists()

    def events(self) -> QuerySet[Event]:
        """Return the events that may be read."""
        own = Q(subject_id=self.principal.subject_id) | Q(speaker_id=self.principal.subject_id)
        open_ones = Q(scope_id__in=self.scope_ids, sensitivity__in=[Sensitivity.PUBLIC, Sensitivity.INTERNAL])
        curated = Q(scope_id__in=self.curated_ids)
        if not self.reader.restricted:
            curated &= ~Q(sensitivity=Sensitivity.RESTRICTED)
        return Event.objects.filter(own | open_ones | curated, account_id=self.principal.account_id)


def with_waiting(facts: QuerySet[Fact]) -> QuerySet[Fact]:
    """Let each fact know whether an open conflict set or a pending review waits for a decision about it."""
    in_conflict = ConflictMember.objects.filter(
        account_id=OuterRef("account_id"),
        fact_id=OuterRef("pk"),
        left_at__isnull=True,
        conflict_set__status=ConflictStatus.OPEN,
    )
    in_review = Review.objects.filter(
        account_id=OuterRef("account_id"), fact_id=OuterRef("pk"), status=ReviewStatus.PENDING
    )
    return facts.annotate(awaits_decision=Exists(in_conflict) | Exists(in_review))


def _awaits_decision(fact: Fact) -> bool:
    if hasattr(fact, "awaits_decision"):
        return fact.awaits_decision
    return with_waiting(Fact.objects.filter(account_id=fact.account_id, pk=fact.pk)).get().awaits_decision


def of(request: HttpRequest) -> Sight | None:
    """Return the sight of the signed-in person; ``None`` for somebody who belongs to no account."""
    if request.principal is None:
        return None
    if not hasattr(request, "sight"):
        request.sight = Sight(request.principal)
    return request.sight
