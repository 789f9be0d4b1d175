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

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.http import HttpRequest

from facts.audience import Reader, visible_to
from facts.models import ConflictMember, ConflictSet, Event, Fact, Scope
from facts.status_graph import FINAL
from facts.vocabulary import ConflictStatus, Sensitivity, Status
from governance.access import Principal, all_readable_scopes, has_role, resolve_reader
from governance.models import Review, ReviewStatus, Role
from retrieval.models import Trace

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
        """Return the facts that may be listed; each says whether its text may be shown (``readable``)."""
        own = Q(subject_id=self.principal.subject_id) & ~Q(status__in=FINAL)
        as_reader = Q(scope_id__in=self.scope_ids, status__in=SHOWN_TO_READERS) & visible_to(self.reader)
        curated = Q(scope_id__in=self.curated_ids)
        as_curator = curated & ~Q(status__in=FINAL)
        if not self.reader.restricted:
            as_curator &= ~Q(sensitivity=Sensitivity.RESTRICTED) | Q(_awaits_decision())
        readable = ExpressionWrapper(own | as_reader | as_curator, output_field=BooleanField())
        listed = Fact.objects.filter(curated | own | as_reader, account_id=self.principal.account_id)
        return listed.annotate(readable=readable)

    def events(self) -> QuerySet[Event]:
        """Return the events that may be read."""
        own = Q(subject_id=self.principal.subject_id) | Q(speaker_id=self.principal.subject_id)
        open_ones = Q(scope_id__in=self.scope_ids, sensitivity__in=[Sensitivity.PUBLIC, Sensitivity.INTERNAL])
        curated = Q(scope_id__in=self.curated_ids)
        if not self.reader.restricted:
            curated &= ~Q(sensitivity=Sensitivity.RESTRICTED)
        return Event.objects.filter(own | open_ones | curated, account_id=self.principal.account_id)

    def conflicts(self) -> QuerySet[ConflictSet]:
        """Return the conflict sets that the person may decide."""
        return ConflictSet.objects.filter(account_id=self.principal.account_id, scope_id__in=self.curated_ids)

    def reviews(self) -> QuerySet[Review]:
        """Return the reviews that the person may decide."""
        place = (
            Q(fact__scope_id__in=self.curated_ids)
            | Q(fact=None, conflict_set__scope_id__in=self.curated_ids)
            | Q(fact=None, conflict_set=None, event__scope_id__in=self.curated_ids)
        )
        return Review.objects.filter(place, account_id=self.principal.account_id)

    def traces(self) -> QuerySet[Trace]:
        """Return the traces that the person left, and those of the scopes they curate."""
        mine = Q(credential_id=self.principal.membership_id)
        placeless = Q(scope=None) if self.has_role_at_root(Role.CURATOR) else Q(pk__in=[])
        return Trace.objects.filter(
            mine | Q(scope_id__in=self.curated_ids) | placeless, account_id=self.principal.account_id
        )


def _awaits_decision() -> Exists:
    """Tell whether an open conflict set or a pending review waits for a decision about the fact."""
    in_conflict = ConflictMember.objects.filter(
        account_id=OuterRef("account_id"),
        fact_id=OuterRef("pk"),
        left_at__isnull=True,
        conflict_set__status=ConflictStatus.OPEN,
    )
    in_review = Review.objects.filter(
        account_id=OuterRef("account_id"), fact_id=OuterRef("pk"), status=ReviewStatus.PENDING
    )
    return Exists(in_conflict) | Exists(in_review)


def of(request: HttpRequest) -> Sight | None:
    """Return the sight of the signed-in person; ``None`` for somebody who belongs to no account."""
    if request.principal is None:
        return None
    if not hasattr(request, "sight"):
        request.sight = Sight(request.principal)
    return request.sight
