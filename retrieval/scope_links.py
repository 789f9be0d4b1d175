"""Sideways relations between scopes, as far as a caller may follow them: a link never grants access."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from facts.errors import Refused
from facts.models import Scope, ScopeLink
from governance.access import Principal, readable_scopes

#: Links that one read follows, in the order of the paths they lead to.
MAX_LINKS = 20


def linked(principal: Principal, scopes: Iterable[Scope]) -> list[Scope]:
    """Return the scopes that are linked, in either direction, with one of ``scopes``, and readable at both ends.

    Each end is authorised anew by the rules of access, also the one that the read came from. None of ``scopes`` is
    returned again. Inside the account.
    """
    asked = list(scopes)
    here = {scope.id for scope in asked if _may_read(principal, scope)}
    links = ScopeLink.objects.filter(
        Q(source_id__in=here) | Q(target_id__in=here), account_id=principal.account_id
    ).select_related("source", "target")
    known = {scope.id for scope in asked}
    others = {end.id: end for link in links for end in (link.source, link.target) if end.id not in known}
    found = [scope for scope in sorted(others.values(), key=lambda scope: scope.path) if _may_read(principal, scope)]
    return found[:MAX_LINKS]


def _may_read(principal: Principal, scope: Scope) -> bool:
    try:
        return any(found.id == scope.id for found in readable_scopes(principal, scope.path, exact=True))
    except Refused:
        return False
