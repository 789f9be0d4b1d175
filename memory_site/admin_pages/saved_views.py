"""Views of lists: what people keep under a name, what they used last, and the tabs that offer both.

A view is a list's own parameters and nothing else: what a list does not know is not kept, and what a view shows is
what its reader may see. Rows are never stored.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR, ChangeList
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from facts.canonical import has_control_characters
from facts.errors import DomainError, NotFound, Refused
from governance.models import Role
from memory_site.admin_pages.list_presets import presets_of
from memory_site.admin_pages.sight import Sight
from memory_site.models import LastFilters, SavedView

#: Views that a person may keep of one list, and that are offered of those that others share.
MOST_OWN, MOST_SHARED = 20, 20
NAME_LENGTH = 60
#: Characters of all values of a view.
QUERY_LENGTH = 1_000

#: The parameter that asks for a list without any filter, and the one that says that the last ones were put back.
EVERYTHING, PUT_BACK = "_all", "_last"

Query = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One view above a list. ``view`` is set for what was kept, ``is_own`` where the person may change it."""

    name: str
    address: str
    is_current: bool
    view: SavedView | None = None
    is_own: bool = False
    by: str = ""


def label_of(changelist: ChangeList) -> str:
    """Return the name under which views of a list are kept."""
    return changelist.opts.label


def known(changelist: ChangeList) -> frozenset[str]:
    """Return the parameters that a list knows: of its filters, its search and its order."""
    of_filters = {name for spec in changelist.filter_specs for name in spec.expected_parameters()}
    search = {SEARCH_VAR} if changelist.search_fields else set()
    # ``sortable_by`` is ``None`` where every column sorts.
    order = {ORDER_VAR} if changelist.sortable_by is None or changelist.sortable_by else set()
    return frozenset(of_filters | search | order)


def query_of(changelist: ChangeList) -> dict[str, str]:
    """Return what a list is asked, as far as it knows the parameters; empty values ask nothing.

    A filter names in ``momentary`` those of its parameters that only say how far somebody has looked.
    """
    momentary = {name for spec in changelist.filter_specs for name in getattr(spec, "momentary", ())}
    kept = known(changelist) - momentary
    return {name: value for name, value in sorted(changelist.params.items()) if name in kept and value}


def tabs(eyes: Sight, changelist: ChangeList) -> list[Tab]:
    """Return the views of a list for one person: as it comes, the presets, their own, and those that are shared.

    At most two queries.
    """
    label, present, knows = label_of(changelist), query_of(changelist), known(changelist)
    presets = presets_of(label)
    result = [Tab(name=presets.standard, address=address({}), is_current=not present)]
    result += [
        Tab(name=name, address=address(query), is_current=present == dict(query))
        for name, query in presets.further.items()
        if knows.issuperset(query)
    ]
    for view in _offered(eyes, label):
        query = {name: value for name, value in view.query.items() if name in knows}
        if not query:
            continue
        own = view.owner_id == eyes.principal.membership_id
        result.append(
            Tab(
                name=view.name,
                address=address(query),
                is_current=present == query,
                view=view,
                is_own=own or eyes.has_role_at_root(Role.ACCOUNT_ADMIN),
                by="" if own else _name(view),
            )
        )
    return result


def address(query: Query) -> str:
    """Return the query string of a list under a view."""
    return f"?{urlencode(query)}" if query else f"?{EVERYTHING}"


def _offered(eyes: Sight, label: str) -> list[SavedView]:
    """Return the person's own views and the shared ones, without those that name what they may not know of."""
    mine = Q(owner_id=eyes.principal.membership_id)
    views = SavedView.objects.filter(mine | Q(shared=True), account_id=eyes.principal.account_id, list_name=label)
    listed = list(views.select_related("owner__user").order_by("name", "id")[: 10 * (MOST_OWN + MOST_SHARED)])
    own = [view for view in listed if view.owner_id == eyes.principal.membership_id]
    shared = [view for view in listed if view.owner_id != eyes.principal.membership_id]
    keys = {view.query["subject"] for view in shared if "subject" in view.query}
    known_keys = set(eyes.subjects().filter(key__in=keys).values_list("key", flat=True)) if keys else set()
    # Lists name a scope by its id or by its path.
    scopes = {name for scope in eyes.scopes for name in (str(scope.pk), scope.path)}
    shared = [
        view
        for view in shared
        if view.query.get("subject") in {None, *known_keys} and view.query.get("scope") in {None, *scopes}
    ]
    return own + shared[:MOST_SHARED]


def keep(eyes: Sight, changelist: ChangeList, *, name: str, shared: bool) -> SavedView:
    """Keep what a list shows now under a name.

    Raises ``DomainError``: ``invalid_name``, ``nothing_to_keep``, ``name_taken``, ``too_many_views``; for sharing
    ``Refused`` (``forbidden_scope``) for who decides nowhere, and ``invalid_subject`` for a subject not named by key.
    """
    query = query_of(changelist)
    name = " ".join(name.split())
    if not name or len(name) > NAME_LENGTH or has_control_characters(name):
        raise DomainError(f"A name has 1 to {NAME_LENGTH} characters.", code="invalid_name", field="name")
    if not query or sum(map(len, query.values())) > QUERY_LENGTH:
        raise DomainError("There is nothing to keep: choose a filter first.", code="nothing_to_keep")
    if shared:
        _require_sharing(eyes, query)
    owned = {
        "account_id": eyes.principal.account_id,
        "owner_id": eyes.principal.membership_id,
        "list_name": label_of(changelist),
    }
    if SavedView.objects.filter(**owned).count() >= MOST_OWN:
        message = f"You keep {MOST_OWN} views of this list already: remove one first."
        raise DomainError(message, code="too_many_views", status=409)
    try:
        with transaction.atomic():
            return SavedView.objects.create(**owned, name=name, query=query, shared=shared)
    except IntegrityError as error:
        message = "You have a view of that name already."
        raise DomainError(message, code="name_taken", field="name", status=409) from error


def share(eyes: Sight, view_id: uuid.UUID, *, shared: bool) -> SavedView:
    """Offer a view to others, or to its owner alone; raises as :func:`remove`, and for sharing as :func:`keep`."""
    view = _changeable(eyes, view_id)
    if shared:
        _require_sharing(eyes, view.query)
    view.shared = shared
    view.save(update_fields=["shared"])
    return view


def remove(eyes: Sight, view_id: uuid.UUID) -> SavedView:
    """Drop a view of one's own, or as an administrator one that is shared; raises ``NotFound`` for any other."""
    view = _changeable(eyes, view_id)
    SavedView.objects.filter(account_id=view.account_id, pk=view.pk).delete()
    return view


def _changeable(eyes: Sight, view_id: uuid.UUID) -> SavedView:
    allowed = Q(owner_id=eyes.principal.membership_id)
    if eyes.has_role_at_root(Role.ACCOUNT_ADMIN):
        allowed |= Q(shared=True)
    view = SavedView.objects.filter(allowed, account_id=eyes.principal.account_id, pk=view_id).first()
    if view is None:
        raise NotFound("There is no such view.", code="view_not_found")
    return view


def _require_sharing(eyes: Sight, query: Query) -> None:
    if not eyes.is_curator:
        raise Refused("Only who decides somewhere may share a view.", code="forbidden_scope")
    if "subject" in query and not eyes.subjects().filter(key=query["subject"]).exists():
        # By a key it can be told who may know of the subject at all.
        raise DomainError("To share a view about somebody, filter by their key.", code="invalid_subject")


def last_filters(eyes: Sight, label: str) -> dict[str, str]:
    """Return the filters under which the person looked at a list last; empty for none."""
    return _last(eyes, label).values_list("query", flat=True).first() or {}


def remember(eyes: Sight, changelist: ChangeList) -> None:
    """Keep the filters and the order of a list for the person's next visit, in at most two queries.

    What was searched for is of the moment and not kept.
    """
    label = label_of(changelist)
    query = {name: value for name, value in query_of(changelist).items() if name != SEARCH_VAR}
    if sum(map(len, query.values())) > QUERY_LENGTH or query == last_filters(eyes, label):
        return
    if not query:
        _last(eyes, label).delete()
        return
    owned = {"account_id": eyes.principal.account_id, "owner_id": eyes.principal.membership_id, "list_name": label}
    LastFilters.objects.bulk_create(
        [LastFilters(**owned, query=query)],
        update_conflicts=True,
        unique_fields=["account", "owner", "list_name"],
        update_fields=["query"],
    )


def _last(eyes: Sight, label: str) -> QuerySet[LastFilters]:
    return LastFilters.objects.filter(
        account_id=eyes.principal.account_id, owner_id=eyes.principal.membership_id, list_name=label
    )


def _name(view: SavedView) -> str:
    return view.owner.user.get_full_name() or view.owner.user.get_username()
