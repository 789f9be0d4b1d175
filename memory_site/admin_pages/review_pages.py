"""Reviews: the queue of what waits for people, the page on which they decide, and deciding many at once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.clock import now
from facts.errors import DomainError
from facts.models import Evidence
from facts.tenancy import account_transaction
from governance.models import Feedback, Promotion, Rating, Review, ReviewDecision, ReviewKind, ReviewStatus
from governance.reviewing import review_bulk, review_undo
from governance.reviewing.review_bulk import Result
from governance.reviewing.review_claims import deciders
from governance.reviewing.review_queue import HIGH_RISK, MEDIUM_RISK, in_queue, with_risk
from governance.reviewing.review_rewording import merge_targets
from governance.reviewing.second_look import is_second_look
from governance.sharing import promotion_undo
from memory_site.admin_pages import promotion_panel, review_form, threads
from memory_site.admin_pages.fact_display import claim, instant, words
from memory_site.admin_pages.fact_pages import HIDDEN
from memory_site.admin_pages.governed import FILTERS, DefaultChoiceFilter, GovernedAdmin, Queue, typed
from memory_site.admin_pages.middleware import commits_by_item
from memory_site.admin_pages.review_form import CLAIMS, PROMOTION_VERBS, VERBS
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten

#: Facts offered to merge into, and refusals told one by one after many decisions.
SHOWN = 20


class StateFilter(DefaultChoiceFilter):
    """Which reviews: those that wait, unless another choice is made."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        decided = [choice for choice in ReviewStatus.choices if choice[0] != ReviewStatus.PENDING]
        return [
            (ReviewStatus.PENDING, "Waiting"),
            ("overdue", "Overdue or escalated"),
            ("deferred", "Put off"),
            *decided,
            (self.everything, "All"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Review]) -> QuerySet[Review]:
        """Keep the chosen ones."""
        match self.value() or ReviewStatus.PENDING:
            case ReviewStatus.PENDING:
                return in_queue(queryset)
            case "overdue":
                return in_queue(queryset).filter(Q(due_at__lt=now()) | Q(escalated_at__isnull=False))
            case "deferred":
                return queryset.filter(status=ReviewStatus.PENDING, deferred_until__gt=now())
            case self.everything:
                return queryset
            case status:
                return queryset.filter(status=status)


class HandsFilter(DefaultChoiceFilter):
    """In whose hands: anybody's, unless another choice is made."""

    title = "in the hands of"
    parameter_name = "hands"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [(self.everything, "Anybody"), ("mine", "Me"), ("nobody", "Nobody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Review]) -> QuerySet[Review]:
        """Keep the chosen ones."""
        match self.value():
            case "mine":
                return queryset.filter(assignee_id=request.principal.membership_id)
            case "nobody":
                return queryset.filter(assignee__isnull=True)
            case _:
                return queryset


class ReviewAdmin(GovernedAdmin):
    """The queue of reviews, the riskiest first, and the page on which a curator decides."""

    empty_list = "Nothing waits for a review. Facts that the gates do not place by themselves appear here."
    list_display = ["pick", "said", "about", "kind_words", "risk_words", "why", "created", "due", "hands", "status"]
    list_display_links = ["said"]
    list_filter = [StateFilter, HandsFilter, "kind"]
    list_select_related = ["fact__subject", "conflict_set__subject", "event__subject", "assignee__user"]
    sortable_by = ("risk_words", "created", "due")

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[Review]:
        """Return the reviews of the scopes in which the person decides, with their risk."""
        return with_risk(eyes.reviews())

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Put the riskiest first, then what is due first."""
        return ["-risk", "due_at", "id"]

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses that decisions are posted to."""
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/decide/", view(require_POST(self.decide)), name="review_decide"),
            path("<uuid:pk>/undo-promotion/", view(require_POST(self.undo_promotion)), name="promotion_undo"),
            path("<uuid:pk>/undo/<uuid:decision>/", view(require_POST(self.undo)), name="review_undo"),
            path("decide/", view(commits_by_item(require_POST(self.decide_many))), name="review_decide_many"),
            *super().get_urls(),
        ]

    @admin.display(description="choose")
    def pick(self, review: Review) -> SafeString | str:
        """A box to choose it for a decision about many."""
        if review.status != ReviewStatus.PENDING:
            return ""
        version = f":{review.fact.version}" if review.fact else ""
        return format_html(
            '<input type="checkbox" form="many" name="review" value="{}{}" aria-label="Choose this review">',
            review.pk,
            version,
        )

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
        return "second look" if is_second_look(review) else words(review.kind)

    @admin.display(description="risk", ordering="risk")
    def risk_words(self, review: Review) -> str:
        """How much is at stake, by which the list is sorted."""
        if review.risk >= HIGH_RISK:
            return "high"
        return "medium" if review.risk >= MEDIUM_RISK else "low"

    @admin.display(description="why")
    def why(self, review: Review) -> str:
        """Why the gates left it to a person."""
        return ", ".join(dict.fromkeys(words(str(reason)) for reason in review.reasons))

    @admin.display(description="since", ordering="created_at")
    def created(self, review: Review) -> SafeString:
        """Since when it waits."""
        return instant(review.created_at)

    @admin.display(description="due", ordering="due_at")
    def due(self, review: Review) -> SafeString:
        """When it should be decided."""
        shown = instant(review.due_at)
        return format_html("{} (escalated)", shown) if review.escalated_at else shown

    @admin.display(description="in the hands of")
    def hands(self, review: Review) -> SafeString | str:
        """Who has taken it."""
        return isolated(_name(review)) if review.assignee else "–"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one review."""
        return self._page(request, self.get_or_404(request, object_id))

    def decide(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Do what the pressed button says and, when it is decided, go on to the next one."""
        review = self.get_or_404(request, str(pk))
        queue = Queue(self, request)
        following = queue.after(pk)
        verb = request.POST.get("verb", "")
        try:
            review_form.decide(request.principal, review, request.POST)
        except DomainError as error:
            return self._page(request, review, error=error)
        if verb in CLAIMS:
            messages.success(request, CLAIMS[verb])
            return redirect(_address(pk) + queue.query())
        if review.kind == ReviewKind.PROMOTION and verb in PROMOTION_VERBS:
            messages.success(request, PROMOTION_VERBS[verb])
            named = {}
        else:
            named = {"decided": str(review_undo.last_decision(review.account_id, pk).pk)}
        following = pk if following in {None, str(pk)} else following
        return redirect(_address(following) + queue.query(**named))

    def undo_promotion(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Take back the approval of the promotion that a review asked about."""
        review = self.get_or_404(request, str(pk))
        promotion = Promotion.objects.filter(account_id=review.account_id, review_id=review.pk).first()
        if promotion is None:
            raise Http404
        try:
            promotion_undo.undo(request.principal, promotion.pk)
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "Taken back: the copy has left every reader, and the request waits again.")
        return redirect(_address(pk))

    def undo(self, request: HttpRequest, pk: uuid.UUID, decision: uuid.UUID) -> HttpResponse:
        """Take a decision back and show the review again."""
        review = self.get_or_404(request, str(pk))
        try:
            review_undo.undo(request.principal, decision, rationale=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, review, error=error)
        return redirect(_address(pk) + Queue(self, request).query(undone="yes"))

    def decide_many(self, request: HttpRequest) -> HttpResponse:
        """Do the same to all chosen reviews, each by itself, and say what became of them."""
        if request.principal is None:
            raise PermissionDenied
        form = request.POST
        verb = form.get("verb", "")
        with account_transaction(request.principal.account_id):
            if not self.has_view_permission(request):
                raise PermissionDenied
        try:
            until = review_form.day(form) if verb == review_bulk.BulkVerb.DEFER else None
            results = review_bulk.decide_all(
                request.principal, review_form.items(form), verb=verb, rationale=typed(form, "reason"), until=until
            )
        except DomainError as error:
            messages.error(request, error.message)
        else:
            with account_transaction(request.principal.account_id):
                self._tell(request, verb, results)
        filters = form.get(FILTERS, "")
        return redirect(reverse("admin:governance_review_changelist") + (f"?{filters}" if filters else ""))

    def _tell(self, request: HttpRequest, verb: str, results: Sequence[Result]) -> None:
        done = [result for result in results if result.done]
        refused = [result for result in results if not result.done]
        if not results:
            messages.warning(request, "Choose at least one review.")
        if done:
            messages.success(request, f"Done for {len(done)} of {len(results)}: {words(verb)}.")
        named = self.visible(of(request)).filter(pk__in=[result.review_id for result in refused])
        labels = {review.pk: review for review in named.select_related(*self.list_select_related)}
        for result in refused[:SHOWN]:
            label = self.said(labels[result.review_id]) if result.review_id in labels else "A review"
            messages.error(request, format_html("{}: {}", label, result.message))
        if len(refused) > SHOWN:
            messages.error(request, f"And {len(refused) - SHOWN} more were not decided.")

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
        waits = review.status == ReviewStatus.PENDING
        done = _decision_named(eyes, request.GET.get("decided"))
        last = review_undo.last_decision(review.account_id, review.pk)
        context = self.context(
            request,
            title=f"Review: {self.kind_words(review)}",
            review=review,
            noun="review",
            fact=fact,
            about=self.about(review),
            risk=self.risk_words(review),
            reasons=list(dict.fromkeys(words(str(reason)) for reason in review.reasons)),
            hidden=HIDDEN,
            rows=claim(fact) if fact and review.readable else [],
            unresolved=review.detail if _may_read_event(eyes, review) else {},
            excerpts=threads.excerpts(eyes, evidence).get(fact.pk, []) if fact and review.readable else [],
            objections=_objections(review) if review.readable else [],
            asked=promotion_panel.of_review(eyes, review),
            gate_decisions=list(fact.gate_decisions.all()[:20]) if fact else [],
            may_decide=waits and review.kind not in {ReviewKind.CONFLICT, ReviewKind.POSSIBLE_CONFLICT},
            verbs=_verbs(review) if waits else set(),
            parts=review_form.editable_parts(fact) if fact and review.readable else [],
            targets=_targets(eyes, review) if waits else [],
            mine=review.assignee_id is not None and review.assignee_id == request.principal.membership_id,
            taken_by=_name(review) if review.assignee else "",
            deciders=[(member, _member_name(member)) for member in deciders(review)[:100]] if waits else [],
            changed=fact is not None and waits and fact.version != review.fact_version,
            decisions=[(row, VERBS.get(row.verb, row.verb)) for row in review.decisions.all()[:20]],
            undoable=last if last is not None and review_undo.may_undo(last) else None,
            done=done,
            done_text=VERBS.get(done.verb, done.verb) if done else "",
            done_undoable=done is not None and review_undo.may_undo(done),
            undone="undone" in request.GET,
            error=error,
            typed=request.POST if error is not None else QueryDict(),
            **queue.links(review.pk),
        )
        return TemplateResponse(request, "memory/review.html", context, status=200 if error is None else error.status)


def _address(pk: object) -> str:
    return reverse("admin:governance_review_change", args=[pk])


def _verbs(review: Review) -> set[str]:
    """Return what can be done about a waiting review besides approving, rejecting and putting it off."""
    if review.kind == ReviewKind.UNRESOLVED_SUBJECT:
        return {"name_subject"}
    if review.kind == ReviewKind.PROMOTION or is_second_look(review) or review.fact is None:
        return set()
    return {"edit", "merge", *(["end"] if review.kind == ReviewKind.REVALIDATION else [])}


def _targets(eyes: Sight, review: Review) -> list[Any]:
    """Return the facts to merge into, of those whose words the person may read."""
    if "merge" not in _verbs(review):
        return []
    return list(
        eyes.facts().filter(readable=True, pk__in=merge_targets(review.fact).values("pk")).order_by("-id")[:SHOWN]
    )


def _objections(review: Review) -> list[Feedback]:
    """Return what was said against the fact of a contest, newest first."""
    if review.kind != ReviewKind.CONTEST:
        return []
    said = Feedback.objects.filter(account_id=review.account_id, fact_id=review.fact_id, rating=Rating.INCORRECT)
    return list(said.exclude(comment="").order_by("-pk")[:SHOWN])


def _may_read_event(eyes: Sight, review: Review) -> bool:
    return review.kind == ReviewKind.UNRESOLVED_SUBJECT and eyes.events().filter(pk=review.event_id).exists()


def _decision_named(eyes: Sight, text: str | None) -> ReviewDecision | None:
    """Return the decision that the address names, if this person may see its review."""
    try:
        pk = uuid.UUID(text or "")
    except ValueError:
        return None
    rows = ReviewDecision.objects.filter(account_id=eyes.principal.account_id, pk=pk)
    return rows.filter(review__in=eyes.reviews().values("pk")).select_related("review").first()


def _name(review: Review) -> str:
    return _member_name(review.assignee)


def _member_name(member: Any) -> str:
    return member.user.get_full_name() or member.user.get_username()
