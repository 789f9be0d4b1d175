"""What a signed-in person may see in the admin.

Curators see what lies in the scopes they curate, because they decide about it; ``restricted`` content only with a
grant that says so, about themselves, or while a decision about it waits for them. Everybody else sees what the audience
rule allows and no conflict withholds, in the scopes granted to them, and history under the same rule; other statuses
only about themselves. What was forgotten is repeated to nobody. What may be listed but not read shows without its text.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from facts.audience import Reader, visible_to
from facts.models import ConflictMember, ConflictSet, Event, Evidence, Fact, Passage, Scope, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import ConflictStatus, Sensitivity
from governance.access import (
    Principal,
    all_readable_scopes,
    curated_scopes,
    has_role,
    read_by_curators,
    resolve_reader,
)
from governance.models import Promotion, PromotionStatus, Review, ReviewStatus
from governance.reviewing.review_queue import reviews_for
from retrieval.models import Trace
from retrieval.traces import selectors
from retrieval.traces.selectors import GONE, OPEN_STATUSES


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
        return frozenset(scope.id for scope in curated_scopes(self.principal, self.scopes))

    @property
    def is_curator(self) -> bool:
        """Whether there is any scope in which the person decides."""
        return bool(self.curated_ids)

    def has_role_at_root(self, role: str) -> bool:
        """Tell whether the person has at least this role in the whole account."""
        return has_role(self.principal, "/", role)

    def facts(self) -> QuerySet[Fact]:
        """Return the facts that may be listed; each says whether its text may be shown (``readable``)."""
        own = Q(subject_id=self.principal.subject_id) & ~Q(status__in=GONE)
        open_ones = Q(scope_id__in=self.scope_ids, status__in=OPEN_STATUSES, withheld=Withheld.NOTHING)
        as_reader = open_ones & visible_to(self.reader)
        curated = Q(scope_id__in=self.curated_ids)
        as_curator = curated & ~Q(status__in=GONE)
        if not self.reader.restricted:
            as_curator &= read_by_curators() | Q(_awaits_decision())
        # What is to be known where they decide lies below, where they may have no say.
        as_curator |= Q(_asked_to(self.curated_ids)) & ~Q(status__in=GONE) & read_by_curators()
        readable = ExpressionWrapper(own | as_reader | as_curator, output_field=BooleanField())
        listed = Fact.objects.filter(curated | own | as_reader | as_curator, account_id=self.principal.account_id)
        return listed.annotate(readable=readable)

    def events(self) -> QuerySet[Event]:
        """Return the events that may be read. A passage can be stricter than its event, by the facts that cite it."""
        own = Q(subject_id=self.principal.subject_id) | Q(speaker_id=self.principal.subject_id)
        open_ones = Q(scope_id__in=self.scope_ids, sensitivity__in=[Sensitivity.PUBLIC, Sensitivity.INTERNAL])
        curated = Q(scope_id__in=self.curated_ids)
        if not self.reader.restricted:
            curated &= read_by_curators() & ~_cited_by_a_secret()
        passages = Passage.objects.filter(account_id=OuterRef("account_id"), event_id=OuterRef("pk"))
        withheld = _is_any(passages.exclude(withheld=Withheld.NOTHING))
        forgotten = _is_any(passages.filter(withheld=Withheld.FORGOTTEN))
        stricter = _is_any(passages.exclude(visible_to(self.reader)))
        as_reader = (own | (open_ones & ~stricter)) & ~withheld & Q(withdrawn_at__isnull=True)
        listed = (curated & ~forgotten) | as_reader
        return Event.objects.filter(listed, account_id=self.principal.account_id)

    def subjects(self) -> QuerySet[Subject]:
        """Return the subjects of whom the person knows: themselves, and of whom something is known, or who spoke, where
        they decide; whoever decides everywhere knows of all."""
        known = Subject.objects.filter(account_id=self.principal.account_id)
        elsewhere = Scope.objects.filter(account_id=self.principal.account_id).exclude(id__in=self.curated_ids)
        if not elsewhere.exists():
            return known
        here = {"account_id": OuterRef("account_id"), "scope_id__in": self.curated_ids}
        return known.filter(
            Q(pk=self.principal.subject_id)
            | Exists(Fact.objects.filter(**here, subject_id=OuterRef("pk")))
            | Exists(Event.objects.filter(**here, subject_id=OuterRef("pk")))
            | Exists(Event.objects.filter(**here, speaker_id=OuterRef("pk")))
        )

    def conflicts(self) -> QuerySet[ConflictSet]:
        """Return the conflict sets that the person may decide."""
        return ConflictSet.objects.filter(account_id=self.principal.account_id, scope_id__in=self.curated_ids)

    def reviews(self) -> QuerySet[Review]:
        """Return the reviews that the person may decide, each saying whether its fact's text may be shown."""
        readable = Exists(self.facts().filter(pk=OuterRef("fact_id"), readable=True))
        return reviews_for(self.principal).annotate(readable=readable)

    def traces(self) -> QuerySet[Trace]:
        """Return the traces that the person left, and those of the scopes they curate, without their decisions."""
        return selectors.traces(self.principal)


def _is_any(rows: QuerySet) -> Q:
    """Tell whether there is any such row, looking for each row around it by itself.

    ``Exists`` lets the planner first gather them for all rows of the account, which it does wherever it takes a list to
    be read to its end; lists are read a page at a time. Of ``IS NULL`` it would guess that hardly any row passes, and
    sort all of a scope; of a truth value that half of them do.
    """
    found = Subquery(rows.order_by().values(found=Value(True))[:1], output_field=BooleanField())
    return Q(Coalesce(found, Value(False)))


def _cited_by_a_secret() -> Q:
    """Tell whether a restricted fact, about which nobody has to decide, cites the event."""
    secrets = Evidence.objects.filter(
        account_id=OuterRef("account_id"), event_id=OuterRef("pk"), fact__sensitivity=Sensitivity.RESTRICTED
    )
    return _is_any(secrets.filter(~Q(_awaits_decision(fact="fact_id"))))


def _asked_to(scope_ids: frozenset[uuid.UUID]) -> Exists:
    """Tell whether somebody asks for the fact to be known in one of these scopes."""
    return Exists(
        Promotion.objects.filter(
            account_id=OuterRef("account_id"),
            fact_id=OuterRef("pk"),
            target_id__in=scope_ids,
            status=PromotionStatus.REQUESTED,
        )
    )


def _awaits_decision(*, fact: str = "pk") -> Exists:
    """Tell whether an open conflict set or a pending review waits for a decision about the fact, named by a column."""
    in_conflict = ConflictMember.objects.filter(
        account_id=OuterRef("account_id"),
        fact_id=OuterRef(fact),
        left_at__isnull=True,
        conflict_set__status=ConflictStatus.OPEN,
    )
    in_review = Review.objects.filter(
        account_id=OuterRef("account_id"), fact_id=OuterRef(fact), status=ReviewStatus.PENDING
    )
    return Exists(in_conflict) | Exists(in_review)


def of(request: HttpRequest) -> Sight | None:
    """Return the sight of the signed-in person; ``None`` for somebody who belongs to no account."""
    if request.principal is None:
        return None
    if not hasattr(request, "sight"):
        request.sight = Sight(request.principal)
    return request.sight
