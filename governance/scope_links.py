"""Linking scopes sideways: a person who decides at both ends says that reads may step from one to the other.

A link grants nothing. Whoever follows it must be allowed to read both scopes anyway.
"""

from __future__ import annotations

from facts import audit
from facts.errors import DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Scope, ScopeLink
from facts.tenancy import account_transaction, get_scope, normalise_path
from governance.access import Principal, has_role
from governance.models import Role

#: The only kind that reads follow today.
RELATED = "related"


def link(principal: Principal, *, source: str, target: str) -> ScopeLink:
    """Link the scopes at these two paths, once.

    Raises ``DomainError`` (``unknown_scope``, ``invalid_scope`` for a scope and itself) and ``Refused``
    (``forbidden_scope``) for whoever is no curator at both ends.
    """
    with account_transaction(principal.account_id):
        here, there = _end(principal, source), _end(principal, target)
        if here.id == there.id:
            raise DomainError("A scope is not linked with itself.", code="invalid_scope", field="target")
        made, is_new = ScopeLink.objects.get_or_create(
            account_id=principal.account_id, source=here, target=there, kind=RELATED, defaults={"id": new_id()}
        )
        if is_new:
            _record(principal, made, action="scope_link.made")
    return made


def unlink(principal: Principal, *, source: str, target: str) -> None:
    """Take the link between these two scopes away, whichever way it was made.

    Raises as :func:`link`, and ``NotFound`` (``link_not_found``).
    """
    with account_transaction(principal.account_id):
        ends = _end(principal, source), _end(principal, target)
        links = ScopeLink.objects.filter(account_id=principal.account_id, source__in=ends, target__in=ends)
        found = list(links.select_for_update(of=("self",)))
        if not found:
            raise NotFound("These scopes are not linked.", code="link_not_found")
        for row in found:
            _record(principal, row, action="scope_link.removed")
            row.delete()


def _end(principal: Principal, path: str) -> Scope:
    """Return one end, where the person decides; authority is asked first, so that nobody learns what exists."""
    path = normalise_path(path)
    if not has_role(principal, path, Role.CURATOR):
        raise Refused("You may not decide here.", code="forbidden_scope", field="scope")
    scope = get_scope(principal.account_id, path)
    if scope is None:
        raise DomainError("There is no such scope.", code="unknown_scope", field="scope")
    return scope


def _record(principal: Principal, row: ScopeLink, *, action: str) -> None:
    audit.record(
        principal.account_id,
        action=action,
        object_type="scope_link",
        object_id=row.id,
        actor=principal.actor,
        group=new_id(),
        metadata={"source": str(row.source_id), "target": str(row.target_id)},
    )
