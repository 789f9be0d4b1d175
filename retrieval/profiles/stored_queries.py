"""Questions kept by account administrators, to see what a change of a profile would do to their answers."""

from __future__ import annotations

import uuid

from django.db.models import Q, QuerySet

from facts import audit
from facts.canonical import has_control_characters
from facts.errors import DomainError, NotFound
from facts.ids import new_id
from facts.models import Scope
from facts.tenancy import get_scope
from governance.access import Principal
from retrieval.context.assembly import MAX_QUERY
from retrieval.models import StoredQuery
from retrieval.profiles.profile_versions import require_administrator

#: Questions that an account may keep.
MOST_QUERIES = 200


def add(principal: Principal, *, scope_path: str, subject_key: str, query: str) -> StoredQuery:
    """Keep a question asked at ``scope_path``, with ``subject_key`` about that subject only.

    Raises ``DomainError``: ``unknown_scope``, ``empty_query``, ``query_too_long``, ``too_many_queries``,
    ``invalid_subject``, and what ``profile_versions.require_administrator`` raises.
    """
    require_administrator(principal)
    scope = get_scope(principal.account_id, scope_path)
    if scope is None:
        raise DomainError("There is no such scope.", code="unknown_scope", field="scope")
    query, subject_key = query.replace("\x00", "").strip(), subject_key.strip()
    if not query:
        raise DomainError("A stored query asks something.", code="empty_query", field="query")
    if len(query) > MAX_QUERY:
        raise DomainError(f"A query has at most {MAX_QUERY:,} characters.", code="query_too_long", field="query")
    if len(subject_key) > 200 or has_control_characters(subject_key):
        raise DomainError("A subject key has 1 to 200 characters.", code="invalid_subject", field="subject")
    if StoredQuery.objects.filter(account_id=principal.account_id).count() >= MOST_QUERIES:
        raise DomainError(
            f"An account keeps at most {MOST_QUERIES} queries.", code="too_many_queries", field="query", status=409
        )
    kept = StoredQuery.objects.create(
        account_id=principal.account_id,
        scope=scope,
        subject_key=subject_key,
        query=query,
        created_by=principal.name[:200],
    )
    _record(principal, kept.pk, "stored_query.added")
    return kept


def remove(principal: Principal, query_id: uuid.UUID) -> None:
    """Drop a stored question; raises ``NotFound`` (``stored_query_not_found``)."""
    require_administrator(principal)
    deleted, _ = StoredQuery.objects.filter(account_id=principal.account_id, pk=query_id).delete()
    if not deleted:
        raise NotFound("There is no such stored query.", code="stored_query_not_found")
    _record(principal, query_id, "stored_query.removed")


def reached_by(account_id: uuid.UUID, scope: Scope | None) -> QuerySet[StoredQuery]:
    """Return the questions whose answers an override for ``scope`` could change: at and below it, newest first."""
    found = StoredQuery.objects.filter(account_id=account_id).select_related("scope").order_by("-id")
    if scope is None or scope.path == "/":
        return found
    return found.filter(Q(scope=scope) | Q(scope__path__startswith=scope.path + "/"))


def _record(principal: Principal, query_id: uuid.UUID, action: str) -> None:
    audit.record(
        principal.account_id,
        action=action,
        object_type="stored_query",
        object_id=query_id,
        actor=principal.actor,
        group=new_id(),
    )
