"""Deciding about many things alike: what is chosen, what would change and what not, and what became of each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, ExpressionWrapper, Model, Q, QuerySet, Value
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET, require_POST

from facts.errors import DomainError
from facts.models import Fact
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.reviewing import selections
from governance.reviewing.many import Item, Outlook, Result
from memory_site.admin_pages.deciding.typed_fields import items_of, put_off_until
from memory_site.admin_pages.governed import FILTERS, GovernedAdmin
from memory_site.admin_pages.middleware import commits_by_item
from memory_site.admin_pages.sight import Sight, of

#: Whether the person has chosen a row, as the list annotates it.
CHOSEN = "is_chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """What can be done to many: what it is called before, as a button and after, and what has to be typed for it.

    ``is_undone``: whether it leaves a decision that can be taken back.
    """

    title: str
    button: str
    done: str
    needs_reason: bool = False
    needs_day: bool = False
    needs_distinction: bool = False
    needs_person: bool = False
    is_undone: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """One kind of things that are decided about alike.

    ``name``       of the list in what people have chosen, and of the things in sentences.
    ``prefix``     of the names of the addresses.
    ``rows``       all that the person may decide, in ``order``.
    ``look_ahead`` returns what a verb would do to rows, ``decide`` does it to items as a form says.
    ``decisions``  the model of what an undo takes back, by the column ``about``; ``take_back`` undoes one.
    ``value``      what a form says of a row: its id, and the version that is seen now.
    ``shown``      how a row is named, and what sort it is; ``sides`` its facts, whose versions are posted too.
    ``people``     to whom all of the rows can be given: value and name.
    """

    name: str
    noun: str
    prefix: str
    verbs: Mapping[str, Verb]
    rows: Callable[[Sight], QuerySet]
    order: Sequence[str]
    look_ahead: Callable[..., Sequence[Outlook]]
    decide: Callable[[Principal, Sequence[Item], QueryDict], Sequence[Result]]
    decisions: type[Model]
    about: str
    take_back: Callable[[Principal, uuid.UUID], object]
    value: Callable[[Any], str]
    shown: Callable[[Any], tuple[SafeString | str, str]]
    sides: Callable[[Any], Sequence[Fact]] = lambda _: ()
    people: Callable[[Principal, Sequence[Any]], Sequence[tuple[str, str]]] = lambda *_: ()


class ManyPages:
    """The pages below a list for deciding about what is chosen there."""

    def __init__(self, page: GovernedAdmin, many: Many) -> None:
        """Serve the list of ``page``."""
        self.page, self.many = page, many

    def get_urls(self) -> list[URLPattern]:
        """Return their addresses."""
        view, prefix = self.page.admin_site.admin_view, self.many.prefix
        return [
            path("choose/", view(require_POST(self.choose)), name=f"{prefix}_choose"),
            path("bulk/", view(require_GET(self.confirm)), name=f"{prefix}_bulk"),
            path("bulk/decide/", view(commits_by_item(require_POST(self.decide))), name=f"{prefix}_decide_many"),
            path("bulk/undo/", view(commits_by_item(require_POST(self.undo))), name=f"{prefix}_undo_many"),
            path("bulk/done/", view(require_GET(self.done)), name=f"{prefix}_bulk_done"),
        ]

    # What the list shows

    def with_choice(self, request: HttpRequest, rows: QuerySet) -> QuerySet:
        """Say of each row of the list whether the person has chosen it; on other pages nothing is looked up."""
        on_list = (request.resolver_match.url_name or "").endswith("_changelist")
        chosen = list(self._selection(request).items) if on_list and request.principal else []
        is_chosen = ExpressionWrapper(Q(pk__in=chosen), BooleanField()) if chosen else Value(False)
        return rows.annotate(**{CHOSEN: is_chosen})

    def of_list(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the list tells of the choice, on all of its pages, and the buttons for it."""
        return {
            "chosen_count": len(self._selection(request).items) if request.principal else 0,
            "many": self.many,
            "choose_address": self._address("choose"),
        }

    def box(self, row: Any) -> SafeString:
        """Return a box to choose a row."""
        return format_html(
            '<input type="hidden" form="many" name="shown" value="{}">'
            '<input type="checkbox" form="many" name="chosen" value="{}" aria-label="Choose this {}"{}>',
            row.pk,
            self.many.value(row),
            self.many.noun,
            mark_safe(" checked") if getattr(row, CHOSEN) else "",
        )

    # The pages

    def choose(self, request: HttpRequest) -> HttpResponse:
        """Take over what is chosen on one page of the list, and go where the pressed button leads."""
        self._require_access(request)
        form = request.POST
        try:
            count = self._chosen_of(request)
            message = ""
        except DomainError as error:
            count, message = len(self._selection(request).items), error.message
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse({"count": count, "message": message})
        if message:
            messages.error(request, message)
        elif form.get("verb") in self.many.verbs:
            return redirect(f"{self._address('bulk')}?{urlencode({'verb': form['verb'], **_filters(form)})}")
        return redirect(self._list(form.get(FILTERS, "")))

    def _chosen_of(self, request: HttpRequest) -> int:
        """Keep the choice that a form of the list makes; returns how many are chosen now."""
        form = request.POST
        if form.get("verb") == "clear":
            selections.clear(request.principal, self.many.name)
            return 0
        visible = self.page.visible(of(request))
        chosen = {item.id: item.version for item in items_of(form.getlist("chosen"))}
        allowed = set(visible.filter(pk__in=list(chosen)).values_list("pk", flat=True))
        shown = [item.id for item in items_of(form.getlist("shown"))]
        kept = {pk: version for pk, version in chosen.items() if pk in allowed}
        return len(selections.choose(request.principal, self.many.name, shown=shown, chosen=kept).items)

    def confirm(self, request: HttpRequest) -> HttpResponse:
        """Say exactly what would change, what would not and why, before anything does."""
        return self._confirm(request, request.GET.get("verb", ""))

    def _confirm(self, request: HttpRequest, name: str, error: DomainError | None = None) -> HttpResponse:
        self._require_access(request)
        selection = self._selection(request)
        filters = (request.POST or request.GET).get(FILTERS, "")
        verb = self.many.verbs.get(name)
        if verb is None or not selection.items:
            messages.warning(request, f"Choose at least one {self.many.noun}.")
            return redirect(self._list(filters))
        rows = list(self._rows(of(request), list(selection.items)))
        versions = {uuid.UUID(pk): version for pk, version in selection.items.items()}
        outlooks = self.many.look_ahead(request.principal, rows, verb=name, versions=versions)
        changing = [self._line(one) for one in outlooks if not one.code]
        context = self.page.context(
            request,
            title=f"{verb.title} many",
            noun=self.many.noun,
            verb=name,
            words=verb,
            changing=changing,
            staying=[self._line(one) for one in outlooks if one.code],
            missing=len(selection.items) - len(rows),
            people=self.many.people(request.principal, [line["row"] for line in changing])
            if verb.needs_person and changing
            else [],
            put_off_until=put_off_until(),
            decide_address=self._address("decide_many"),
            list_address=self._list(filters),
            filters_name=FILTERS,
            filters=filters,
            typed=request.POST,
            error=error,
        )
        status = 200 if error is None else error.status
        return TemplateResponse(request, "memory/deciding/many.html", context, status=status)

    def decide(self, request: HttpRequest) -> HttpResponse:
        """Do it to what the confirmation listed, and to nothing else; each by itself, each with its own result."""
        principal = _signed_in(request)
        form = request.POST
        with account_transaction(principal.account_id):
            self._require_access(request)
            chosen = self._selection(request).items
        posted = [item for item in items_of(form.getlist("item")) if str(item.id) in chosen]
        try:
            results = self.many.decide(principal, posted, form)
        except DomainError as error:
            with account_transaction(principal.account_id):
                answer = self._confirm(request, form.get("verb", ""), error)
                return answer if answer.status_code == 302 else answer.render()
        with account_transaction(principal.account_id):
            outcome = self._outcome(principal, self.many.verbs[form["verb"]], results)
            selections.finish(principal, self.many.name, verb=form.get("verb", ""), outcome=outcome)
        return redirect(f"{self._address('bulk_done')}?{urlencode(_filters(form))}")

    def undo(self, request: HttpRequest) -> HttpResponse:
        """Take back the named decisions among those of the last time, each by itself."""
        principal = _signed_in(request)
        with account_transaction(principal.account_id):
            self._require_access(request)
            outcome = self._selection(request).outcome
        wanted = set(request.POST.getlist("decision"))
        items = []
        for item in outcome.get("items", []):
            if item.get("decision") and item["decision"] in wanted:
                item = {**item, **self._taken_back(principal, uuid.UUID(item["decision"]))}
            items.append(item)
        with account_transaction(principal.account_id):
            selections.finish(principal, self.many.name, verb=outcome.get("verb", ""), outcome=items)
        return redirect(f"{self._address('bulk_done')}?{urlencode(_filters(request.POST))}")

    def done(self, request: HttpRequest) -> HttpResponse:
        """Show what became of each the last time, with an undo for those that can be taken back."""
        self._require_access(request)
        outcome = self._selection(request).outcome
        items = outcome.get("items", [])
        rows = {str(row.pk): row for row in self._rows(of(request), [item["id"] for item in items])}
        undoable = self._undoable(request.principal, [item["decision"] for item in items if item.get("decision")])
        shown = [
            {
                **item,
                "line": self._line(Outlook(rows[item["id"]])) if item["id"] in rows else None,
                "undoable": item.get("decision") in undoable,
            }
            for item in items
        ]
        filters = request.GET.get(FILTERS, "")
        verb = self.many.verbs.get(outcome.get("verb", ""))
        context = self.page.context(
            request,
            title="What became of them",
            noun=self.many.noun,
            verb_done=verb.done if verb else "",
            changed=[item for item in shown if not item.get("code")],
            left=[item for item in shown if item.get("code")],
            undoable=[item for item in shown if item["undoable"]],
            undo_address=self._address("undo_many"),
            list_address=self._list(filters),
            filters_name=FILTERS,
            filters=filters,
        )
        return TemplateResponse(request, "memory/deciding/many_done.html", context)

    # What they are made of

    def _line(self, outlook: Outlook) -> dict[str, Any]:
        said, kind = self.many.shown(outlook.row)
        return {
            "row": outlook.row,
            "value": self.many.value(outlook.row),
            "seen": [f"{fact.pk}:{fact.version}" for fact in self.many.sides(outlook.row)],
            "address": self._record(outlook.row.pk),
            "said": said,
            "kind": kind,
            "effect": outlook.effect,
            "code": outlook.code,
            "why_not": outlook.why_not,
        }

    def _selection(self, request: HttpRequest) -> Any:
        return selections.of(request.principal, self.many.name)

    def _rows(self, eyes: Sight, ids: Sequence[str]) -> QuerySet:
        rows = self.many.rows(eyes).filter(pk__in=ids).select_related(*self.page.list_select_related)
        return rows.order_by(*self.many.order)

    def _require_access(self, request: HttpRequest) -> None:
        if not self.page.has_view_permission(request):
            raise PermissionDenied

    def _address(self, name: str) -> str:
        return reverse(f"admin:{self.many.prefix}_{name}")

    def _record(self, pk: object) -> str:
        opts = self.page.opts
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[pk])

    def _list(self, filters: str) -> str:
        opts = self.page.opts
        address = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
        return f"{address}?{filters}" if filters else address

    def _outcome(self, principal: Principal, verb: Verb, results: Sequence[Result]) -> list[dict[str, str]]:
        """Return what became of each item, with the decision that an undo would take back."""
        done = [result.id for result in results if result.done] if verb.is_undone else []
        about = self.many.about
        rows = self.many.decisions.objects.filter(
            account_id=principal.account_id, undone_at__isnull=True, **{f"{about}__in": done}
        ).order_by("decided_at", "id")
        decisions = {pk: str(decision) for pk, decision in rows.values_list(about, "pk")}
        return [
            {"id": str(result.id), "status": result.status, "decision": decisions.get(result.id, "")}
            if result.done
            else {"id": str(result.id), "code": result.code, "message": result.message}
            for result in results
        ]

    def _taken_back(self, principal: Principal, decision_id: uuid.UUID) -> dict[str, str]:
        """Undo one decision; returns what to note about it."""
        try:
            with account_transaction(principal.account_id, durable=True):
                self.many.take_back(principal, decision_id)
        except DomainError as error:
            return {"undo": error.message}
        return {"status": "waiting", "decision": "", "undo": "undone"}

    def _undoable(self, principal: Principal, decision_ids: Sequence[str]) -> set[str]:
        """Return the decisions whose facts are still as they left them: what an undo looks at first. Two queries."""
        rows = self.many.decisions.objects.filter(
            account_id=principal.account_id, pk__in=decision_ids, undone_at__isnull=True
        ).values_list("pk", "changes")
        made = {str(pk): changes for pk, changes in rows}
        facts = {change["fact"] for changes in made.values() for change in changes}
        versions = {
            str(pk): version
            for pk, version in Fact.objects.filter(account_id=principal.account_id, pk__in=facts).values_list(
                "pk", "version"
            )
        }
        return {
            pk
            for pk, changes in made.items()
            if all(versions.get(change["fact"]) == change["to_version"] for change in changes)
        }


def _signed_in(request: HttpRequest) -> Principal:
    """Return who is signed in; raises ``PermissionDenied`` for somebody of no account."""
    if request.principal is None:
        raise PermissionDenied
    return request.principal


def _filters(form: QueryDict) -> dict[str, str]:
    return {FILTERS: form[FILTERS]} if form.get(FILTERS) else {}
