"""What a pass looks at: the facts about one subject in one scope, when something about it is new there.

Facts of different subjects are never put before a model together, so that nothing known of one flows into what is said
of another. What is restricted, withheld, or quotes a secret or an order is told to no model.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from facts.clock import now
from facts.models import Fact, FactRevision, Relation, Scope, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import RelationKind, Sensitivity, Status
from ingest.extraction import checks, secrets
from ingest.models import ReasoningMark

#: By this name the pass writes; what it wrote itself is nothing new to it.
NAME = "reasoning"
#: Facts that are looked at together, the newest ones.
MOST_FACTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Facts about one subject in one scope, by the numbers under which they are told; ``derived``: those among them
    that a pass before has deduced."""

    scope: Scope
    subject: Subject
    facts: tuple[Fact, ...]
    derived: frozenset[uuid.UUID]


def scopes_with_news(account_id: uuid.UUID, *, until: datetime, path: str = "") -> list[Scope]:
    """Return the scopes in which something current was recorded since their mark, up to ``until``, by their paths."""
    scopes = Scope.objects.filter(account_id=account_id).order_by("path")
    if path:
        scopes = scopes.filter(path=path)
    marks = _marks(account_id)
    return [scope for scope in scopes if _news(account_id, scope.id, marks.get(scope.id), until).exists()]


def subjects_with_news(account_id: uuid.UUID, scope_id: uuid.UUID, *, until: datetime) -> list[uuid.UUID]:
    """Return about whom something current was recorded in a scope since its mark, up to ``until``, by their ids."""
    news = _news(account_id, scope_id, _marks(account_id).get(scope_id), until)
    current = Fact.objects.filter(_offered(), account_id=account_id, pk__in=news.values("fact_id"))
    return sorted(set(current.values_list("subject_id", flat=True)))


def offer(account_id: uuid.UUID, scope_id: uuid.UUID, subject_id: uuid.UUID) -> Offer:
    """Return what is known of a subject in a scope, as far as it may be put before a model."""
    rows = Fact.objects.filter(_offered(), account_id=account_id, scope_id=scope_id, subject_id=subject_id)
    newest = rows.select_related("account", "scope", "subject").order_by("-recorded_from", "-id")[:MOST_FACTS]
    facts = tuple(sorted((fact for fact in newest if _may_be_told(fact)), key=lambda fact: fact.id))
    edges = Relation.objects.filter(
        account_id=account_id, source_id__in=[fact.id for fact in facts], kind=RelationKind.DERIVED_FROM
    )
    return Offer(
        scope=Scope.objects.get(account_id=account_id, pk=scope_id),
        subject=Subject.objects.get(account_id=account_id, pk=subject_id),
        facts=facts,
        derived=frozenset(edges.values_list("source_id", flat=True)),
    )


def set_mark(account_id: uuid.UUID, scope_id: uuid.UUID, *, until: datetime) -> None:
    """Note that a scope has been reasoned about up to ``until``; a mark never goes back."""
    mark, is_new = ReasoningMark.objects.select_for_update().get_or_create(
        account_id=account_id, scope_id=scope_id, defaults={"reached_at": until}
    )
    if not is_new and mark.reached_at < until:
        mark.reached_at = until
        mark.save(update_fields=["reached_at"])


def still_stands(account_id: uuid.UUID, facts: Sequence[Fact]) -> bool:
    """Tell whether these facts are what they were when they were offered; the caller holds their subject's lock."""
    versions = dict(
        Fact.objects.filter(_offered(), account_id=account_id, pk__in=[fact.id for fact in facts]).values_list(
            "id", "version"
        )
    )
    return all(versions.get(fact.id) == fact.version for fact in facts)


def _offered() -> Q:
    at = now()
    lasting = Q(expires_at__isnull=True) | Q(expires_at__gt=at)
    standing = Q(valid_to__isnull=True) | Q(valid_to__gt=at)
    open_ones = ~Q(sensitivity=Sensitivity.RESTRICTED) & Q(directive=False)
    return lasting & standing & open_ones & Q(status=Status.ACTIVE, withheld=Withheld.NOTHING)


def _may_be_told(fact: Fact) -> bool:
    return not (secrets.holds_secret(fact.statement) or checks.is_directive(fact.statement))


def _marks(account_id: uuid.UUID) -> dict[uuid.UUID, datetime]:
    return dict(ReasoningMark.objects.filter(account_id=account_id).values_list("scope_id", "reached_at"))


def _news(
    account_id: uuid.UUID, scope_id: uuid.UUID, since: datetime | None, until: datetime
) -> QuerySet[FactRevision]:
    """Return the revisions in which a fact of the scope is current, but for what the pass itself wrote."""
    found = FactRevision.objects.filter(
        account_id=account_id, scope_id=scope_id, status=Status.ACTIVE, recorded_from__lte=until
    ).exclude(actor__name=NAME)
    return found if since is None else found.filter(recorded_from__gt=since)
