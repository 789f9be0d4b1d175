"""What all our pages of records have in common: read-only, bounded in cost, and shown by role instead of by model."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from facts.models import Subject
from governance.models import Role
from memory_site.admin_pages import saved_views, sight
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated

#: Rows counted at most: exact counts of big tables are what makes lists crawl.
COUNTED = 10_000
#: Records that "next" walks through at most.
QUEUE_LENGTH = 500
#: Subjects whose records are shown where the start of a name is typed.
MOST_SUBJECTS = 1_000
#: Longest list of scopes to choose from.
OFFERED_SCOPES = 40
#: Parameter in which Django's lists hand their filters on to the page of a record.
FILTERS = "_changelist_filters"


class BoundedPaginator(Paginator):
    """Counts up to ``most`` rows and one more and leaves it at that; sorts ids and looks up only the rows of a page."""

    most = COUNTED

    @property
    def most_in_words(self) -> str:
        """How many rows are counted, as people write it."""
        return f"{self.most:,}"

    @cached_property
    def ids(self) -> list[Any]:
        """The ids of the rows that are counted, in their order: found once, for counting and for every page."""
        return list(self.object_list.values_list("pk", flat=True)[: self.most + 1])

    @cached_property
    def count(self) -> int:
        """The number of rows, or ``most + 1`` for "more"."""
        return len(self.ids)

    def page(self, number: int | str) -> Page:
        """Return a page, found by its ids: what a row needs beside it is not joined to all that are sorted."""
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        return self._get_page(self.object_list.filter(pk__in=self.ids[first : first + self.per_page]), number, self)


class GovernedList(ChangeList):
    """A list whose links say when they ask for everything: an address without a query is the list as it was left."""

    everything = saved_views.address({})

    def get_query_string(self, new_params: dict[str, Any] | None = None, remove: list[str] | None = None) -> str:
        """Return the query of a link to this list."""
        query = super().get_query_string(new_params, remove)
        return query if query != "?" else self.everything


class GovernedAdmin(admin.ModelAdmin):
    """A look at governed records: no adding, changing, deleting or actions.

    ``needs`` is the role somebody must have in the whole account. Pages that are open to more people say so in
    :meth:`is_open_to`. ``visible`` decides which rows there are.
    """

    actions = None
    needs: str = Role.ACCOUNT_ADMIN
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    #: Rows of the list that are counted; fewer where each is dear to look at, or to find.
    counted = COUNTED
    counted_of_found = COUNTED
    sortable_by = ()
    change_form_template = "memory/record.html"
    list_title = ""
    #: Labels of fields on the page of a record, where Django's would say nothing to people.
    labels: Mapping[str, str] = {}
    empty_list = "Nothing here yet."

    @property
    def title_of_list(self) -> str:
        """The name of the list, in navigation and breadcrumbs."""
        return self.list_title or capfirst(self.opts.verbose_name_plural)

    @admin.display(description="subject")
    def about(self, row: Any) -> SafeString:
        """Whom or what a row is about."""
        return isolated(row.subject.display_name)

    def is_open_to(self, eyes: Sight) -> bool:
        """Tell whether the person may use this page at all."""
        return eyes.has_role_at_root(self.needs)

    def visible(self, eyes: Sight) -> QuerySet:
        """Return the rows the person may see: by default all of the account."""
        return self.model.objects.filter(account_id=eyes.principal.account_id)

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Return the rows of this page for the signed-in person."""
        eyes = sight.of(request)
        if eyes is None:
            # As they are: the order of a page may need what only `visible` adds.
            return self.model.objects.none()
        rows = self.visible(eyes)
        ordering = self.get_ordering(request)
        return rows.order_by(*ordering) if ordering else rows

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show the page in the navigation to whom it is open."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Open the page by role. Which rows there are is decided by the queryset, so ``obj`` is one of them."""
        eyes = sight.of(request)
        return eyes is not None and self.is_open_to(eyes)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds records by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody edits records."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody deletes records."""
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Django's own log knows nothing of these records; their history is on their pages and in the audit chain."""
        raise Http404

    def get_paginator(self, request: HttpRequest, *args: Any, **options: Any) -> BoundedPaginator:
        """Return the pages of the list, which end where counting ends."""
        paginator = super().get_paginator(request, *args, **options)
        paginator.most = min(self.counted, self.counted_of_found) if request.GET.get(SEARCH_VAR) else self.counted
        return paginator

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Use our kind of list."""
        return GovernedList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list under its name, as the person left it, saying what it means when it is empty."""
        eyes = sight.of(request)
        if eyes is not None and not request.GET:
            left = saved_views.last_filters(eyes, self.opts.label)
            if left:
                return HttpResponseRedirect(request.path + saved_views.address({**left, saved_views.PUT_BACK: "yes"}))
        was_put_back = saved_views.PUT_BACK in request.GET
        request.GET = without(request.GET, saved_views.EVERYTHING, saved_views.PUT_BACK)
        named = {"title": self.title_of_list, "empty": self.empty_list, **(extra_context or {})}
        response = super().changelist_view(request, named)
        changelist = getattr(response, "context_data", {}).get("cl")
        if eyes is not None and changelist is not None:
            saved_views.remember(eyes, changelist)
            response.context_data |= {
                "tabs": saved_views.tabs(eyes, changelist),
                "was_put_back": was_put_back,
                "everything": saved_views.address({}),
                "may_share": eyes.is_curator,
                "kept_query": urlencode(saved_views.query_of(changelist)),
            }
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show a record under the names that lists use."""
        title = capfirst(self.opts.verbose_name)
        named = {
            "title": title,
            "subtitle": None,
            "record_title": title,
            "list_title": self.title_of_list,
            **(extra_context or {}),
        }
        return super().changeform_view(request, object_id, form_url, named)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> Any:
        """Call the page of a record by what it is about."""
        context["record_title"] = context["title"] = self.titled(context["original"])
        return super().render_change_form(request, context, **options)

    def titled(self, record: Any) -> str:
        """Return what the page of a record is called: by default what sort of record it is."""
        return capfirst(self.opts.verbose_name)

    def get_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """Return the record, or answer 404 for what does not exist or is not for this person."""
        found = self.get_object(request, object_id) if self.has_view_permission(request) else None
        if found is None:
            raise Http404
        return found

    def context(self, request: HttpRequest, **values: Any) -> dict[str, Any]:
        """Return what every page of this model gives its template."""
        return {**self.admin_site.each_context(request), "opts": self.opts, "list_title": self.title_of_list, **values}


class Queue:
    """The list that a reviewer walks through: the rows of the filtered list they came from, in its order."""

    def __init__(self, page: GovernedAdmin, request: HttpRequest) -> None:
        """Read the filters from the request and look up the ids, at most :data:`QUEUE_LENGTH`."""
        self.opts = page.opts
        self.filters: str = request.POST.get(FILTERS, "") or request.GET.get(FILTERS, "")
        self.ids = [str(pk) for pk in _listed(page, request, self.filters)]

    def position(self, pk: object) -> int | None:
        """Return the place of a record, from 1, or ``None`` when the list does not (any longer) hold it."""
        return self.ids.index(str(pk)) + 1 if str(pk) in self.ids else None

    def after(self, pk: object) -> str | None:
        """Return the id that follows, the first one for a record that is not in the list, ``None`` at the end."""
        place = self.position(pk) or 0
        return self.ids[place] if place < len(self.ids) else None

    def before(self, pk: object) -> str | None:
        """Return the id in front, or ``None`` at the start."""
        place = self.position(pk)
        return self.ids[place - 2] if place and place > 1 else None

    def links(self, pk: object) -> dict[str, Any]:
        """Return what a page needs to offer the way through the list."""
        return {
            "queue": self,
            "place": self.position(pk),
            "previous_address": self._address(self.before(pk)),
            "following_address": self._address(self.after(pk)),
            "list_query": f"?{self.filters}" if self.filters else "",
            "filters_name": FILTERS,
        }

    def _address(self, pk: str | None) -> str:
        if pk is None:
            return ""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[pk]) + self.query()

    def query(self, **more: str) -> str:
        """Return the query string that takes the filters, and ``more``, along."""
        values = {**({FILTERS: self.filters} if self.filters else {}), **more}
        return f"?{urlencode(values)}" if values else ""


def without(query: QueryDict, *names: str) -> QueryDict:
    """Return a query without some of its parameters."""
    rest = query.copy()
    for name in names:
        rest.pop(name, None)
    return rest


def typed(form: QueryDict, name: str) -> str:
    """Return what was typed into a field, without space around it and without NUL, which the database refuses."""
    return form.get(name, "").replace("\x00", "").strip()


def _listed(page: GovernedAdmin, request: HttpRequest, filters: str) -> QuerySet:
    """Return the ids that the list shows under these filters, on all of its pages; wrong filters are none."""
    query = QueryDict(filters.replace("%00", ""), mutable=True)
    query.pop(PAGE_VAR, None)
    try:
        changelist: ChangeList = page.get_changelist_instance(with_query(request, query))
    except IncorrectLookupParameters:
        changelist = page.get_changelist_instance(with_query(request, QueryDict()))
    return changelist.queryset.values_list("pk", flat=True)[:QUEUE_LENGTH]


def with_query(request: HttpRequest, query: QueryDict) -> HttpRequest:
    """Return a request for the list, by the same person."""
    same = HttpRequest()
    same.method, same.path, same.META = "GET", request.path, request.META
    same.user, same.session = request.user, request.session
    same.principal, same._messages = request.principal, request._messages
    same.resolver_match = request.resolver_match
    same.GET = query
    return same


class DefaultChoiceFilter(admin.SimpleListFilter):
    """A filter whose first choice applies when nothing is chosen; ``all`` switches it off."""

    everything = "all"

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        """Return the choices without Django's own "All", which would be the default."""
        chosen = self.value() or self.lookup_choices[0][0]
        for value, title in self.lookup_choices:
            query = changelist.get_query_string({self.parameter_name: value})
            yield {"selected": chosen == value, "query_string": query, "display": title}


class ScopeFilter(admin.SimpleListFilter):
    """One of the scopes granted to the person; not offered where there are too many to choose from."""

    title = "scope"
    parameter_name = "scope"
    field = "scope_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the granted scopes."""
        eyes = sight.of(request)
        scopes = eyes.scopes if eyes else []
        return [(str(scope.pk), scope.path) for scope in scopes] if 1 < len(scopes) <= OFFERED_SCOPES else []

    def has_output(self) -> bool:
        """Also there when it is chosen by an address."""
        return bool(self.lookup_choices) or self.value() is not None

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        """Keep the rows of the scope; nothing for an address that names none."""
        if self.value() is None:
            return queryset
        try:
            return queryset.filter(**{self.field: uuid.UUID(self.value())})
        except ValueError:
            return queryset.none()


class SubjectFilter(admin.ListFilter):
    """Finds records by the key or name of their subject, typed with suggestions."""

    title = "subject"
    parameter = "subject"
    template = "memory/filter_subject.html"

    def __init__(self, request: HttpRequest, params: dict[str, list[str]], model: type[Model], page: Any) -> None:
        """Take the parameter out of those that the list still has to make sense of."""
        super().__init__(request, params, model, page)
        self.typed = params.pop(self.parameter, [""])[-1].replace("\x00", "").strip()
        if self.typed:
            self.used_parameters[self.parameter] = self.typed

    def has_output(self) -> bool:
        """Always there."""
        return True

    def expected_parameters(self) -> list[str]:
        """Return the parameters that belong to this filter."""
        return [self.parameter]

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        """Return the one entry that the template makes a search field of."""
        others = [(name, value) for name, value in changelist.params.items() if name != self.parameter]
        clear = changelist.get_query_string(remove=[self.parameter])
        yield {"selected": bool(self.typed), "typed": self.typed, "others": others, "query_string": clear}

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        """Keep the rows about the subject of this key or, where there is none, whose key or name starts with it.

        They are looked up first: the planner knows how much is about these, and nothing of what a condition finds.
        """
        if not self.typed:
            return queryset
        called = subjects_called(request, self.typed).order_by("key").values_list("pk", flat=True)
        return queryset.filter(subject_id__in=list(called[:MOST_SUBJECTS]))


def subjects_called(request: HttpRequest, typed: str) -> QuerySet[Subject]:
    """Return those of whom the person knows: with this key or, where none has it, whose key or name starts with it."""
    eyes = sight.of(request)
    subjects = Subject.objects.none() if eyes is None else eyes.subjects()
    exact = subjects.filter(key=typed)
    return (
        exact if exact.exists() else subjects.filter(key__istartswith=typed) | subjects.filter(name__istartswith=typed)
    )
