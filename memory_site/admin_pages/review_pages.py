"""Reviews: facts that the gates left to a person."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Evidence
from governance import reviews
from governance.models import Review, ReviewStatus
from memory_site.admin_pages import threads
from memory_site.admin_pages.fact_display import claim, instant, words
from memory_site.admin_pages.fact_pages import HIDDEN
from memory_site.admin_pages.governed import DefaultChoiceFilter, GovernedAdmin, Queue, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten

_DECISIONS = {
    "approve": (reviews.approve, "Approved: the fact was placed."),
    "reject": (reviews.reject, "Rejected: the fact will not come back from what was said up to now."),
}


class StateFilter(DefaultChoiceFilter):
    """Which reviews: those that wait, unless another choice is made."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [*ReviewStatus.choices, (self.everything, "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Review]) -> QuerySet[Review]:
        """Keep the chosen ones."""
        chosen = self.value() or ReviewStatus.PENDING
        return queryset if chosen == self.everything else queryset.filter(status=chosen)


class ReviewAdmin(GovernedAdmin):
    """The queue of reviews, and the page on which a curator approves or rejects."""

    empty_list = "Nothing waits for a review. Facts that the gates do not place by themselves appear here."
    list_display = ["said", "about", "kind_words", "why", "created", "due", "status"]
    list_display_links = ["said"]
    list_filter = [StateFilter, "kind"]
    list_select_related = ["fact__subject", "conflict_set__subject", "event__subject"]
    ordering = ["due_at", "id"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[Review]:
        """Return the reviews of the scopes in which the person decides."""
        return eyes.reviews()

    def get_urls(self) -> list[URLPattern]:
        """Add the address that decisions are posted to."""
        view = self.admin_site.admin_view(require_POST(self.decide))
        return [path("<uuid:pk>/decide/", view, name="review_decide"), *super().get_urls()]

    @admin.display(description="what waits")
    def said(self, review: Review) -> str | SafeString:
        """The statement that is asked about."""
        if review.fact is None:
            return words(review.kind)
        return isolated(shorten(review.fact.statement, 120)) if review.readable else HIDDEN

    @admin.display(description="subject")
    def about(self, review: Review) -> SafeString | str:
        """Whom it is about."""
        concerned = review.fact or review.conflict_set or review.event
        return isolated(concerned.subject.display_name) if concerned else "–"

    @admin.display(description="kind")
    def kind_words(self, review: Review) -> str:
        """What sort of question it is."""
        return words(review.kind)

    @admin.display(description="why")
    def why(self, review: Review) -> str:
        """Why the gates left it to a person."""
        return ", ".join(dict.fromkeys(words(str(reason)) for reason in review.reasons))

    @admin.display(description="since")
    def created(self, review: Review) -> SafeString:
        """Since when it waits."""
        return instant(review.created_at)

    @admin.display(description="due")
    def due(self, review: Review) -> SafeString:
        """When it should be decided."""
        return instant(review.due_at)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one review."""
        return self._page(request, self.get_or_404(request, object_id))

    def decide(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Approve or reject, and go on to the next one."""
        review = self.get_or_404(request, str(pk))
        queue = Queue(self, request)
        following = queue.after(pk)
        service, text = _DECISIONS.get(request.POST.get("verb", ""), (None, ""))
        try:
            if service is None:
                raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")
            service(request.principal, pk, rationale=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, review, error=error)
        messages.success(request, text)
        following = pk if following in {None, str(pk)} else following
        return redirect(reverse("admin:governance_review_change", args=[following]) + queue.query())

    def _page(self, request: HttpRequest, review: Review, *, error: DomainError | None = None) -> HttpResponse:
        eyes = of(request)
        queue = Queue(self, request)
        review = self.visible(eyes).select_related(*self.list_select_related, "fact__scope").get(pk=review.pk)
        fact = review.fact
        evidence = (
            Evidence.objects.filter(account_id=review.account_id, fact=fact)
            .select_related("event", "event__speaker", "event__subject", "event__scope")
            .order_by("-event__occurred_at")[: threads.SHOWN_EVIDENCE]
        )
        context = self.context(
            request,
            title=f"Review: {words(review.kind)}",
            review=review,
            noun="review",
            fact=fact,
            about=self.about(review),
            reasons=list(dict.fromkeys(words(str(reason)) for reason in review.reasons)),
            hidden=HIDDEN,
            rows=claim(fact) if fact and review.readable else [],
            excerpts=threads.excerpts(eyes, evidence).get(fact.pk, []) if fact and review.readable else [],
            gate_decisions=list(fact.gate_decisions.all()[:20]) if fact else [],
            may_decide=review.status == ReviewStatus.PENDING and fact is not None,
            changed=fact is not None and review.status == ReviewStatus.PENDING and fact.version != review.fact_version,
            error=error,
            typed=request.POST,
            **queue.links(review.pk),
        )
        return TemplateResponse(request, "memory/review.html", context, status=200 if error is None else error.status)
