"""Which actions somebody may see: their own, and those of the scopes in which they decide."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from facts.vocabulary import Sensitivity, Status
from governance.access import Principal, all_readable_scopes, curated_scopes, has_role, resolve_reader
from governance.models import Role
from ingest.deliveries.audience import is_readable
from ingest.models import Action

#: Facts in these are repeated to nobody.
GONE = frozenset({Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED})


def visible(principal: Principal) -> QuerySet[Action]:
    """Return the actions that the caller may see, with their facts; keys see none.

    One's own are those about oneself, and tasks and messages given to one. What is restricted shows to curators with a
    grant for it alone.
    """
    actions = Action.objects.filter(account_id=principal.account_id)
    if not principal.is_person:
        return actions.none()
    own = Q(subject_id=principal.subject_id) | Q(assignee_id=principal.subject_id)
    scopes = curated_scopes(principal, all_readable_scopes(principal))
    curated = Q(scope__in=[scope.id for scope in scopes])
    if not resolve_reader(principal).restricted:
        curated &= ~Q(fact__sensitivity=Sensitivity.RESTRICTED)
    return actions.filter(own | curated).select_related("fact__subject", "fact__scope", "subject", "scope", "assignee")


def may_know_what(principal: Principal, action: Action) -> bool:
    """Tell whether the caller may know whom an action that they see is about, and where: whoever decides there, whom it
    is about, and who may read the fact. Others were given it to do, and learn the rest where it was said."""
    return (
        action.subject_id == principal.subject_id
        or has_role(principal, action.scope.path, Role.CURATOR)
        or may_read_words(principal, action)
    )


def may_read_words(principal: Principal, action: Action) -> bool:
    """Tell whether the caller may read the fact behind an action that they see: a task can be about what only others
    may read."""
    return action.fact.status not in GONE and is_readable(action.fact, principal)
