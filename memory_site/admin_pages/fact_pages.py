"""Facts: the list, and the page that shows one with everything behind it."""

from __future__ import annotations

import uuid
from itertools import pairwise
from typing import Any

from django.contrib import admin, messages
from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts import textindex
from facts.errors import DomainError, NotFound
from facts.models import ConflictMember, Evidence, Fact, FactText, Relation
from facts.tenancy import ancestor_paths
from facts.vocabulary import Status
from governance import forgetting
from governance.access import has_role
from governance.models import ForgetMode, ForgetReceipt, ReviewStatus, Role
from governance.sharing import promotions
from memory_site.admin_pages import threads
from memory_site.admin_pages.fact_display import changes, claim, words
from memory_site.admin_pages.governed import GovernedAdmin, ScopeFilter, SubjectFilter, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten
from retrieval.traces.selectors import GONE

#: What stands in place of a text that the person may not read.
HIDDEN = "not for you to read"
#: Characters of a statement in lists.
SHORT = 140
#: Rows of each list on the page of a fact.
SHOWN = 50


class FactAdmin(GovernedAdmin):
    """Everything that is or was believed, as far as the person may see it."""

    empty_list = "No fact yet. Facts appear here when something was said from which they could be read."
    list_display = ["said", "about", "status_words", "category_words", "audience", "valid_from_day"]
    list_display_links = ["said"]
    list_filter = ["status", "category", "sensitivity", ScopeFilter, SubjectFilter]
    list_select_related = ["subject", "scope"]
    search_fields = ["statement"]
    search_help_text = "All of the words, as full text; or the id of a fact."
    ordering = ["-id"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to everybody in the account; the rows differ."""
        return True

    def visible(self, eyes: Sight) -> QuerySet[Fact]:
        """Return the facts that may be listed."""
        return eyes.facts()

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses that the buttons post to."""
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/forget/", view(require_POST(self.forget)), name="fact_forget"),
            path("<uuid:pk>/promote/", view(require_POST(self.promote)), name="fact_promote"),
            path("<uuid:pk>/enable/", view(require_POST(self.enable)), name="fact_enable"),
            *super().get_urls(),
        ]

    @admin.display(description="statement")
    def said(self, fact: Fact) -> str | SafeString:
        """The statement, or that it is hidden."""
        return isolated(shorten(fact.statement, SHORT)) if fact.readable else HIDDEN

    @admin.display(description="status")
    def status_words(self, fact: Fact) -> str:
        """The status, and whether a conflict withholds it."""
        return f"{words(fact.status)}, withheld" if fact.withheld else words(fact.status)

    @admin.display(description="category")
    def category_words(self, fact: Fact) -> str:
        """The category."""
        return words(fact.category)

    @admin.display(description="audience")
    def audience(self, fact: Fact) -> str:
        """How widely it is seen."""
        return f"{fact.level}, {fact.sensitivity}"

    @admin.display(description="valid from")
    def valid_from_day(self, fact: Fact) -> str:
        """When it began to hold."""
        return f"{fact.valid_from:%Y-%m-%d}" if fact.valid_from else "always"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Fact], search_term: str
    ) -> tuple[QuerySet[Fact], bool]:
        """Search the text index for all of the words, in what the person may read; or look up an id."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(pk=uuid.UUID(term)), False
        except ValueError:
            query = SearchQuery(textindex.phrase(term), config="english", search_type="plain")
            found = FactText.objects.filter(account_id=request.principal.account_id, tsv=query)
            return queryset.filter(readable=True, pk__in=found.values("fact_id")), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one fact."""
        return self._page(request, self.get_or_404(request, object_id))

    def forget(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Hide the fact everywhere."""
        fact = self.get_or_404(request, str(pk))
        try:
            forgetting.disable(request.principal, fact_id=pk, reason=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, fact, error=error)
        messages.success(request, "Forgotten: it is served nowhere now, and will not be read again from what was said.")
        return redirect(reverse("admin:facts_fact_change", args=[pk]))

    def promote(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Ask for the fact to be known in a scope above its own."""
        fact = self.get_or_404(request, str(pk))
        target, reason = typed(request.POST, "target"), typed(request.POST, "reason")
        try:
            promotions.request_promotion(request.principal, fact_id=pk, target=target, reason=reason)
        except DomainError as error:
            return self._page(request, fact, error=error)
        messages.success(request, "Asked for. Another curator of that scope decides, and before that its subject.")
        return redirect(reverse("admin:facts_fact_change", args=[pk]))

    def enable(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Take the forgetting back."""
        fact = self.get_or_404(request, str(pk))
        receipt = _receipt(fact)
        try:
            if receipt is None:
                raise NotFound("It was not forgotten by a request that can be lifted.", code="receipt_not_found")
            receipt = forgetting.enable(request.principal, receipt.pk, reason=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, fact, error=error)
        if str(pk) in receipt.counters.get("in_conflict", []):
            messages.warning(request, "It is back in a conflict: another fact makes its claim now.")
        else:
            messages.success(request, "It is back as it was before.")
        return redirect(reverse("admin:facts_fact_change", args=[pk]))

    def _page(self, request: HttpRequest, fact: Fact, *, error: DomainError | None = None) -> HttpResponse:
        eyes = of(request)
        owned = {"account_id": fact.account_id}
        fact = eyes.facts().select_related("scope", "subject").get(pk=fact.pk)
        revisions = list(fact.revisions.order_by("version"))
        evidence = list(
            Evidence.objects.filter(fact=fact, **owned)
            .select_related("event", "event__speaker", "event__subject", "event__scope")
            .order_by("-event__occurred_at")[:SHOWN]
        )
        relations = list(
            Relation.objects.filter(Q(source=fact) | Q(target=fact), **owned).order_by("created_at")[:SHOWN]
        )
        others = _others(eyes, fact, relations)
        curates = has_role(eyes.principal, fact.scope.path, Role.CURATOR)
        may_forget = curates or fact.subject_id == eyes.principal.subject_id
        memberships = ConflictMember.objects.filter(fact=fact, **owned).select_related("conflict_set")
        reviews = list(fact.reviews.order_by("-id")[:SHOWN]) if curates else []
        receipt = _receipt(fact) if may_forget and fact.status == Status.DISABLED else None
        context = self.context(
            request,
            title=f"Fact about {fact.subject.display_name}",
            fact=fact,
            rows=claim(fact),
            extraction=" ".join(filter(None, [fact.extractor_provider, fact.extractor_model, fact.prompt_version])),
            revisions=_with_changes(revisions) if fact.readable else [],
            excerpts=threads.excerpts(eyes, evidence).get(fact.pk, []) if fact.readable else [],
            relations=[(_direction(relation, fact), others.get(_other_id(relation, fact))) for relation in relations],
            memberships=list(memberships.order_by("-joined_at")[:SHOWN]) if curates else [],
            gate_decisions=list(fact.gate_decisions.all()[:SHOWN]) if fact.readable else [],
            reviews=reviews,
            pending=next((review for review in reviews if review.status == ReviewStatus.PENDING), None),
            may_forget=may_forget and fact.status not in GONE,
            promotable_to=_promotable_to(eyes, fact),
            receipt=receipt,
            receipt_facts=len(receipt.counters.get("facts", [])) if receipt else 0,
            hidden=HIDDEN,
            error=error,
            typed=request.POST,
        )
        return TemplateResponse(request, "memory/fact.html", context, status=200 if error is None else error.status)


def _promotable_to(eyes: Sight, fact: Fact) -> list[str]:
    """Return the scopes above a current fact for which the person may ask, the nearest first."""
    if fact.status != Status.ACTIVE or not fact.readable:
        return []
    above = ancestor_paths(fact.scope.path)
    return [path for path in above if has_role(eyes.principal, path, Role.CURATOR)]


def _with_changes(revisions: list[Any]) -> list[tuple[Any, list[Any]]]:
    """Return the revisions, newest first, each with what it changed."""
    pairs = [(None, revisions[0]), *pairwise(revisions)] if revisions else []
    return [(after, changes(before, after)) for before, after in reversed(pairs)]


def _receipt(fact: Fact) -> ForgetReceipt | None:
    """Return the request by which the fact was forgotten and that can still be lifted."""
    receipts = ForgetReceipt.objects.filter(
        account_id=fact.account_id, mode=ForgetMode.DISABLE, lifted_at=None, counters__facts__contains=[str(fact.pk)]
    )
    return receipts.first()


def _other_id(relation: Relation, fact: Fact) -> uuid.UUID:
    return relation.target_id if relation.source_id == fact.pk else relation.source_id


def _others(eyes: Sight, fact: Fact, relations: list[Relation]) -> dict[uuid.UUID, Fact]:
    """Return the facts at the other ends that may be listed."""
    return eyes.facts().in_bulk({_other_id(relation, fact) for relation in relations})


def _direction(relation: Relation, fact: Fact) -> str:
    """Return the relation as read from this fact."""
    kind = words(relation.kind)
    return kind if relation.source_id == fact.pk else f"← {kind} this"
