"""Deciding many reviews alike: what is chosen, what would change and what not, and what became of each."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, Value
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from facts.errors import DomainError
from facts.models import Fact
from facts.tenancy import account_transaction
from governance.access import Principal
from governance.models import Review, ReviewDecision
from governance.reviewing import review_bulk, review_undo, selections
from governance.reviewing.bulk_outlook import look_ahead
from governance.reviewing.review_bulk import BulkVerb, Result
from memory_site.admin_pages import review_form
from memory_site.admin_pages.deciding.typed_fields import reason
from memory_site.admin_pages.governed import FILTERS
from memory_site.admin_pages.middleware import commits_by_item
from memory_site.admin_pages.sight import Sight, of

if TYPE_CHECKING:
    from memory_site.admin_pages.review_pages import ReviewAdmin

#: The name of the list in what people have chosen.
LIST = "reviews"
#: What the verbs are called on the pages.
TITLES = {
    BulkVerb.APPROVE: "Approve",
    BulkVerb.REJECT: "Reject",
    BulkVerb.DEFER: "Put off",
    BulkVerb.CLAIM: "Take",
}
DONE = {
    BulkVerb.APPROVE: "approved",
    BulkVerb.REJECT: "rejected",
    BulkVerb.DEFER: "put off",
    BulkVerb.CLAIM: "taken",
    "undo": "undone",
}


def with_choice(request: HttpRequest, rows: QuerySet[Review]) -> QuerySet[Review]:
    """Say of each row of the list whether the person has chosen it; on other pages nothing is looked up."""
    on_list = (request.resolver_match.url_name or "").endswith("_changelist")
    chosen = list(selections.of(request.principal, LIST).items) if on_list and request.principal else []
    is_chosen = ExpressionWrapper(Q(pk__in=chosen), BooleanField()) if chosen else Value(False)
    return rows.annotate(is_chosen=is_chosen)


class BulkPages:
    """The pages below the list of reviews for deciding about what is chosen there."""

    def __init__(self, page: ReviewAdmin) -> None:
        """Serve the list of ``page``."""
        self.page = page

    def get_urls(self) -> list[URLPattern]:
        """Return their addresses."""
        view = self.page.admin_site.admin_view
        return [
            path("choose/", view(require_POST(self.choose)), name="review_choose"),
            path("bulk/", view(require_GET(self.confirm)), name="review_bulk"),
            path("bulk/decide/", view(commits_by_item(require_POST(self.decide))), name="review_decide_many"),
            path("bulk/undo/", view(commits_by_item(require_POST(self.undo))), name="review_undo_many"),
            path("bulk/done/", view(require_GET(self.done)), name="review_bulk_done"),
        ]

    def choose(self, request: HttpRequest) -> HttpResponse:
        """Take over what is chosen on one page of the list, and go where the pressed button leads."""
        self._require_access(request)
        form = request.POST
        try:
            count = self._chosen_of(request)
            message = ""
        except DomainError as error:
            count, message = len(selections.of(request.principal, LIST).items), error.message
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse({"count": count, "message": message})
        if message:
            messages.error(request, message)
        elif form.get("verb") in list(BulkVerb):
            return redirect(f"{reverse('admin:review_bulk')}?{urlencode({'verb': form['verb'], **_filters(form)})}")
        return redirect(_list(form.get(FILTERS, "")))

    def _chosen_of(self, request: HttpRequest) -> int:
        """Keep the choice that a form of the list makes; returns how many are chosen now."""
        form = request.POST
        if form.get("verb") == "clear":
            selections.clear(request.principal, LIST)
            return 0
        visible = self.page.visible(of(request))
        chosen = {item.review_id: item.version for item in review_form.items(form.getlist("chosen"))}
        allowed = set(visible.filter(pk__in=list(chosen)).values_list("pk", flat=True))
        shown = [item.review_id for item in review_form.items(form.getlist("shown"))]
        kept = {pk: version for pk, version in chosen.items() if pk in allowed}
        return len(selections.choose(request.principal, LIST, shown=shown, chosen=kept).items)

    def confirm(self, request: HttpRequest) -> HttpResponse:
        """Say exactly what would change, what would not and why, before anything does."""
        return self._confirm(request, request.GET.get("verb", ""))

    def _confirm(self, request: HttpRequest, verb: str, error: DomainError | None = None) -> HttpResponse:
        self._require_access(request)
        eyes = of(request)
        selection = selections.of(request.principal, LIST)
        filters = (request.POST or request.GET).get(FILTERS, "")
        if verb not in list(BulkVerb) or not selection.items:
            messages.warning(request, "Choose at least one review.")
            return redirect(_list(filters))
        rows = list(self._rows(eyes, list(selection.items)))
        versions = {uuid.UUID(pk): version for pk, version in selection.items.items()}
        outlooks = look_ahead(request.principal, rows, verb=verb, versions=versions)
        context = self.page.context(
            request,
            title=f"{TITLES[BulkVerb(verb)]} many",
            verb=verb,
            verb_title=TITLES[BulkVerb(verb)],
            changing=[(one, self.page.said(one.review)) for one in outlooks if not one.code],
            staying=[(one, self.page.said(one.review)) for one in outlooks if one.code],
            missing=len(selection.items) - len(rows),
            needs_reason=verb == BulkVerb.REJECT,
            needs_day=verb == BulkVerb.DEFER,
            put_off_until=self.page.put_off_until(),
            filters_name=FILTERS,
            filters=filters,
            list_query=f"?{filters}" if filters else "",
            typed=request.POST,
            error=error,
        )
        status = 200 if error is None else error.status
        return TemplateResponse(request, "memory/review_bulk.html", context, status=status)

    def decide(self, request: HttpRequest) -> HttpResponse:
        """Do it to what the confirmation listed, and to nothing else; each by itself, each with its own result."""
        principal = _signed_in(request)
        form = request.POST
        verb = form.get("verb", "")
        with account_transaction(principal.account_id):
            self._require_access(request)
            chosen = selections.of(principal, LIST).items
        posted = [item for item in review_form.items(form.getlist("review")) if str(item.review_id) in chosen]
        try:
            until = review_form.day(form) if verb == BulkVerb.DEFER else None
            rationale = reason(form, needed=verb == BulkVerb.REJECT)
            results = review_bulk.decide_all(principal, posted, verb=verb, rationale=rationale, until=until)
        except DomainError as error:
            with account_transaction(principal.account_id):
                answer = self._confirm(request, verb, error)
                return answer if answer.status_code == 302 else answer.render()
        with account_transaction(principal.account_id):
            selections.finish(principal, LIST, verb=verb, outcome=_outcome(principal, results))
        return redirect(f"{reverse('admin:review_bulk_done')}?{urlencode(_filters(form))}")

    def undo(self, request: HttpRequest) -> HttpResponse:
        """Take back the named decisions among those of the last time, each by itself."""
        principal = _signed_in(request)
        with account_transaction(principal.account_id):
            self._require_access(request)
            outcome = selections.of(principal, LIST).outcome
        wanted = set(request.POST.getlist("decision"))
        items = []
        for item in outcome.get("items", []):
            if item.get("decision") and item["decision"] in wanted:
                item = {**item, **_taken_back(principal, uuid.UUID(item["decision"]))}
            items.append(item)
        with account_transaction(principal.account_id):
            selections.finish(principal, LIST, verb=outcome.get("verb", ""), outcome=items)
        return redirect(f"{reverse('admin:review_bulk_done')}?{urlencode(_filters(request.POST))}")

    def done(self, request: HttpRequest) -> HttpResponse:
        """Show what became of each the last time, with an undo for those that can be taken back."""
        self._require_access(request)
        outcome = selections.of(request.principal, LIST).outcome
        items = outcome.get("items", [])
        rows = {str(row.pk): row for row in self._rows(of(request), [item["id"] for item in items])}
        undoable = _undoable(request.principal, [item["decision"] for item in items if item.get("decision")])
        shown = [
            {
                **item,
                "row": rows.get(item["id"]),
                "said": self.page.said(rows[item["id"]]) if item["id"] in rows else "A review",
                "undoable": item.get("decision") in undoable,
            }
            for item in items
        ]
        filters = request.GET.get(FILTERS, "")
        context = self.page.context(
            request,
            title="What became of them",
            verb_done=DONE.get(outcome.get("verb", ""), ""),
            changed=[item for item in shown if not item.get("code")],
            left=[item for item in shown if item.get("code")],
            undoable=[item for item in shown if item["undoable"]],
            filters_name=FILTERS,
            filters=filters,
            list_query=f"?{filters}" if filters else "",
        )
        return TemplateResponse(request, "memory/review_bulk_done.html", context)

    def _rows(self, eyes: Sight, ids: Sequence[str]) -> QuerySet[Review]:
        rows = self.page.visible(eyes).filter(pk__in=ids).select_related(*self.page.list_select_related)
        return rows.order_by("-risk", "due_at", "id")

    def _require_access(self, request: HttpRequest) -> None:
        if not self.page.has_view_permission(request):
            raise PermissionDenied


def _signed_in(request: HttpRequest) -> Principal:
    """Return who is signed in; raises ``PermissionDenied`` for somebody of no account."""
    if request.principal is None:
        raise PermissionDenied
    return request.principal


def _list(filters: str) -> str:
    return reverse("admin:governance_review_changelist") + (f"?{filters}" if filters else "")


def _filters(form: Any) -> dict[str, str]:
    return {FILTERS: form[FILTERS]} if form.get(FILTERS) else {}


def _outcome(principal: Principal, results: Sequence[Result]) -> list[dict[str, str]]:
    """Return what became of each item, with the decision that an undo would take back."""
    done = [result.review_id for result in results if result.done]
    rows = ReviewDecision.objects.filter(
        account_id=principal.account_id, review_id__in=done, undone_at__isnull=True
    ).order_by("decided_at", "id")
    decisions = {review_id: str(pk) for review_id, pk in rows.values_list("review_id", "pk")}
    return [
        {"id": str(result.review_id), "status": result.status, "decision": decisions.get(result.review_id, "")}
        if result.done
        else {"id": str(result.review_id), "code": result.code, "message": result.message}
        for result in results
    ]


def _taken_back(principal: Principal, decision_id: uuid.UUID) -> dict[str, str]:
    """Undo one decision; returns what to note about it."""
    try:
        with account_transaction(principal.account_id, durable=True):
            review_undo.undo(principal, decision_id)
    except DomainError as error:
        return {"undo": error.message}
    return {"status": "pending", "decision": "", "undo": "undone"}


def _undoable(principal: Principal, decision_ids: Sequence[str]) -> set[str]:
    """Return the decisions whose facts are still as they left them: what an undo looks at first. Two queries."""
    rows = ReviewDecision.objects.filter(
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
