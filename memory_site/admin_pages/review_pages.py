"""Reviews: the queue of what waits for people, the page on which they decide, and deciding many at once."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
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
from facts.models import Evidence, Fact, Subject
from governance.models import (
    Feedback,
    LookedAt,
    Promotion,
    PromotionStatus,
    Rating,
    Remark,
    Review,
    ReviewDecision,
    ReviewKind,
    ReviewStatus,
    Role,
)
from governance.reviewing import presence, review_authority, review_undo
from governance.reviewing.review_claims import deciders
from governance.reviewing.review_queue import HIGH_RISK, MEDIUM_RISK, with_risk
from governance.reviewing.review_rewording import merge_targets
from governance.reviewing.second_look import is_second_look
from governance.sharing import promotion_undo
from memory_site.admin_pages import promotion_panel, review_form, saved_views, threads
from memory_site.admin_pages.deciding import asked, surroundings
from memory_site.admin_pages.deciding.hands import HandsFilter
from memory_site.admin_pages.deciding.many_pages import ManyPages
from memory_site.admin_pages.deciding.stale import Moved, moved
from memory_site.admin_pages.deciding.typed_fields import put_off_until
from memory_site.admin_pages.fact_display import claim, date_only, words
from memory_site.admin_pages.fact_pages import HIDDEN
from memory_site.admin_pages.governed import GovernedAdmin, Queue, typed
from memory_site.admin_pages.review_bulk_pages import many_reviews
from memory_site.admin_pages.review_filters import ConcernedFilter, RiskFilter, StateFilter
from memory_site.admin_pages.review_form import ASIDES, PROMOTION_VERBS, VERBS
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated, shorten

#: Facts offered to merge into, and objections shown.
SHOWN = 20
#: People offered to give a review to.
OFFERED_PEOPLE = 100
#: Subjects offered for a name in a text; their keys on the keyboard are 5 to 9.
CALLED = 5


class ReviewAdmin(GovernedAdmin):
    """The queue of reviews, the riskiest first, and the page on which a curator decides."""

    empty_list = "Nothing waits for a review. Facts that the gates do not place by themselves appear here."
    list_display = ["pick", "said", "about", "kind_and_why", "risk_words", "created", "due", "hands", "status"]
    list_display_links = ["said"]
    list_filter = [StateFilter, HandsFilter, RiskFilter, "kind", ConcernedFilter]
    list_select_related = ["fact__subject", "conflict_set__subject", "event__subject", "assignee__user"]
    sortable_by = ("risk_words", "created", "due")

    def __init__(self, *args: Any) -> None:
        """Add the pages for deciding about many."""
        super().__init__(*args)
        self.many = ManyPages(self, many_reviews(self))

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[Review]:
        """Return the reviews of the scopes in which the person decides, with their risk."""
        return with_risk(eyes.reviews())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Review]:
        """Say in the list which reviews the person has chosen."""
        return self.many.with_choice(request, super().get_queryset(request))

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """Say where a review stands only in lists of more than those that wait."""
        waiting = {None, "", ReviewStatus.PENDING, "overdue", "deferred"}
        return [name for name in self.list_display if name != "status" or request.GET.get("state") not in waiting]

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Put the riskiest first, then what is due first; of those that do not wait, the newest."""
        waits = request.GET.get(StateFilter.parameter_name, ReviewStatus.PENDING) in StateFilter.waiting
        return ["-risk", "due_at", "id"] if waits else ["-id"]

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses that decisions are posted to."""
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/decide/", view(require_POST(self.decide)), name="review_decide"),
            path("<uuid:pk>/undo-promotion/", view(require_POST(self.undo_promotion)), name="promotion_undo"),
            path("<uuid:pk>/undo/<uuid:decision>/", view(require_POST(self.undo)), name="review_undo"),
            *self.many.get_urls(),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Tell the list how many are chosen, on all of its pages."""
        return super().changelist_view(request, {**self.many.of_list(request), **(extra_context or {})})

    @admin.display(description="choose")
    def pick(self, review: Review) -> SafeString | str:
        """A box to choose it for a decision about many."""
        return self.many.box(review) if review.status == ReviewStatus.PENDING else ""

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

    @admin.display(description="kind, and why")
    def kind_and_why(self, review: Review) -> SafeString | str:
        """What sort of question it is and, of new facts, why the gates left it to a person."""
        if review.kind != ReviewKind.NEW_FACT or is_second_look(review):
            return self.kind_words(review)
        return format_html('{}<br><span class="quiet">{}</span>', self.kind_words(review), self.why(review))

    def kind_words(self, review: Review) -> str:
        """What sort of question it is."""
        return "second look" if is_second_look(review) else words(review.kind)

    def why(self, review: Review) -> str:
        """Why the gates left it to a person."""
        return ", ".join(dict.fromkeys(words(str(reason)) for reason in review.reasons))

    @admin.display(description="risk", ordering="risk")
    def risk_words(self, review: Review) -> str:
        """How much is at stake, by which the list is sorted."""
        if review.risk >= HIGH_RISK:
            return "high"
        return "medium" if review.risk >= MEDIUM_RISK else "low"

    @admin.display(description="since", ordering="created_at")
    def created(self, review: Review) -> SafeString:
        """Since when it waits."""
        return date_only(review.created_at)

    @admin.display(description="due", ordering="due_at")
    def due(self, review: Review) -> SafeString:
        """When it should be decided."""
        shown = date_only(review.due_at)
        return format_html("{} (escalated)", shown) if review.escalated_at else shown

    @admin.display(description="in the hands of")
    def hands(self, review: Review) -> SafeString | str:
        """Who has taken it."""
        return isolated(presence.name_of(review.assignee)) if review.assignee else "–"

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
        if verb in ASIDES:
            messages.success(request, ASIDES[verb])
            return redirect(_address(pk) + queue.query())
        presence.leave(request.principal, object_id=pk)
        if review.kind == ReviewKind.PROMOTION and verb in PROMOTION_VERBS:
            named = {"promoted": str(pk), "verb": verb}
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
        return redirect(_address(pk) + Queue(self, request).query())

    def undo(self, request: HttpRequest, pk: uuid.UUID, decision: uuid.UUID) -> HttpResponse:
        """Take a decision back and show the review again."""
        review = self.get_or_404(request, str(pk))
        try:
            review_undo.undo(request.principal, decision, rationale=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, review, error=error)
        return redirect(_address(pk) + Queue(self, request).query(undone=str(decision)))

    def _page(self, request: HttpRequest, review: Review, *, error: DomainError | None = None) -> HttpResponse:
        eyes = of(request)
        queue = Queue(self, request)
        review = (
            self.visible(eyes)
            .select_related(*self.list_select_related, "fact__scope", "event__scope", "event__speaker")
            .get(pk=review.pk)
        )
        fact = review.fact
        if fact is not None:
            fact.readable = review.readable
        waits = review.status == ReviewStatus.PENDING
        is_decided_here = review.kind not in {ReviewKind.CONFLICT, ReviewKind.POSSIBLE_CONFLICT}
        refused = review_authority.refusal(eyes.principal, review) if waits and is_decided_here else None
        may_decide = waits and is_decided_here and refused is None
        promotion_asked = promotion_panel.of_review(eyes, review)
        typed_form = request.POST if error is not None else QueryDict()
        context = self.context(
            request,
            title=f"Review: {self.kind_words(review)}",
            noun="review",
            review=review,
            fact=fact,
            about=self.about(review),
            risk=self.risk_words(review),
            reasons=list(dict.fromkeys(words(str(reason)) for reason in review.reasons)),
            hidden=HIDDEN,
            rows=claim(fact) if fact and review.readable else [],
            unresolved=review.detail if _may_read_event(eyes, review) else {},
            excerpts=_excerpts(eyes, review),
            objections=_objections(review) if review.readable else [],
            asked=promotion_asked,
            question=asked.of_review(review, promotion_asked and promotion_asked["promotion"]),
            consequences=asked.consequences(review),
            labels=asked.labels(review),
            gate_decisions=list(fact.gate_decisions.all()[:20]) if fact else [],
            may_decide=may_decide,
            refused=refused,
            is_overdue=waits and review.due_at is not None and review.due_at < now(),
            put_off_until=put_off_until(),
            verbs=_verbs(review) if waits else set(),
            parts=_parts(fact, typed_form) if fact and review.readable else [],
            targets=_targets(eyes, review) if waits else [],
            called=_called(eyes, review) if may_decide else [],
            may_merge=eyes.has_role_at_root(Role.CURATOR),
            changed=_changed_since_asked(review) if waits and error is None else [],
            error=error,
            typed=typed_form,
            **_what_changed(review, typed_form, error),
            **_around(eyes, review, promotion_asked, waits=waits and is_decided_here),
            **_decided(eyes, review, request, queue) | _promoted(eyes, request, queue, shown=review.pk),
            **queue.links(review.pk),
        )
        return TemplateResponse(request, "memory/review.html", context, status=200 if error is None else error.status)


def _excerpts(eyes: Sight, review: Review) -> list[threads.Excerpt]:
    """Return what was said for the fact or, where nobody could be named, in the event; as far as it is to be read."""
    if review.fact is None and review.event is not None:
        quoted = Evidence(account_id=review.account_id, event=review.event, quote=review.detail.get("quote", ""))
        return threads.excerpts(eyes, [quoted])[None] if _may_read_event(eyes, review) else []
    if review.fact is None or not review.readable:
        return []
    evidence = Evidence.objects.filter(account_id=review.account_id, fact=review.fact)
    evidence = evidence.select_related("event", "event__speaker", "event__subject", "event__scope")
    latest = evidence.order_by("-event__occurred_at")[: threads.SHOWN_EVIDENCE]
    return threads.excerpts(eyes, latest).get(review.fact_id, [])


def _what_changed(review: Review, typed_form: QueryDict, error: DomainError | None) -> dict[str, Any]:
    """Return what was seen, what it is now and by whom, and what was about to be decided."""
    fact = review.fact
    is_stale = error is not None and error.code in {"stale_version", "review_decided"}
    seen = review_form.version(typed_form)
    versions = {fact.pk: seen} if fact is not None and seen is not None else {}
    return {
        "is_stale": is_stale,
        "moved": moved([fact], versions) if is_stale and fact is not None else [],
        "decided_meanwhile": review_undo.last_decision(review.account_id, review.pk) if is_stale else None,
        "meant": review_form.MEANT.get(typed_form.get("verb", ""), "") if is_stale else "",
    }


def _changed_since_asked(review: Review) -> list[Moved]:
    """Return what changed about the fact since the review was asked for."""
    fact = review.fact
    if fact is None or review.fact_version in {None, fact.version}:
        return []
    return moved([fact], {fact.pk: review.fact_version})


def _around(eyes: Sight, review: Review, asked_for: dict[str, Any] | None, *, waits: bool) -> dict[str, Any]:
    """Return what lies around the review: who else looks, whose it is, readers, uses, near facts, remarks, history."""
    account_id = review.account_id
    facts = [review.fact] if review.fact is not None else []
    promotion = asked_for["promotion"] if asked_for else None
    choices = surroundings.choices_of_review(eyes, review.fact, promotion) if facts and waits else []
    uses = surroundings.uses(eyes, facts)
    people = deciders(review)[:OFFERED_PEOPLE] if waits else []
    return {
        "others_here": surroundings.others_here(eyes, about=LookedAt.REVIEW, object_id=review.pk),
        "mine": review.assignee_id is not None and review.assignee_id == eyes.principal.membership_id,
        "taken_by": presence.name_of(review.assignee) if review.assignee else "",
        "deciders": [(one, presence.name_of(one)) for one in people],
        "deciders_other": [presence.name_of(one) for one in people if one.pk != eyes.principal.membership_id],
        "assignee_id": review.assignee_id,
        "choices": choices,
        "uses": [(0, uses.get(review.fact_id))] if facts else [],
        "is_used": bool(uses),
        "near": surroundings.near(eyes, facts) if facts else None,
        "remarks": surroundings.remarks_on(Remark.objects.filter(account_id=account_id, review=review)),
        "history": surroundings.history(account_id, "review", review.pk),
    }


def _decided(eyes: Sight, review: Review, request: HttpRequest, queue: Queue) -> dict[str, Any]:
    """Return the decisions about the review, and what the address says was decided a moment ago."""
    done = _decision_named(eyes, request.GET.get("decided"))
    last = review_undo.last_decision(review.account_id, review.pk)
    undoable = last if last is not None and review_undo.may_undo(last) else None
    undone = _decision_named(eyes, request.GET.get("undone"))
    elsewhere = done is not None and done.review_id != review.pk
    return {
        "decisions": [(row, VERBS.get(row.verb, row.verb)) for row in review.decisions.all()[:20]],
        "undoable": undoable,
        "undo_last": _undo_address(undoable),
        "done": done,
        "done_text": VERBS.get(done.verb, done.verb) if done else "",
        "done_look": _address(done.review_id) + queue.query() if elsewhere else "",
        "done_undoable": done is not None and review_undo.may_undo(done),
        "undo_done": _undo_address(done),
        "undone": undone,
        "undone_text": VERBS.get(undone.verb, undone.verb) if undone else "",
        "go_on": reverse("admin:facts_conflictset_changelist") + saved_views.address({}),
        "go_on_words": "To the conflicts that wait",
    }


def _promoted(eyes: Sight, request: HttpRequest, queue: Queue, *, shown: uuid.UUID) -> dict[str, Any]:
    """Return what the address says was decided about a promotion a moment ago; nothing where it says nothing."""
    verb = request.GET.get("verb", "")
    try:
        pk = uuid.UUID(request.GET.get("promoted", ""))
    except ValueError:
        return {}
    asked_for = Promotion.objects.filter(account_id=eyes.principal.account_id, review_id=pk)
    asked_for = asked_for.filter(review__in=eyes.reviews().values("pk")).select_related("copy").first()
    if asked_for is None or verb not in PROMOTION_VERBS or asked_for.status == PromotionStatus.REQUESTED:
        return {}
    return {
        "done": {"undone_at": None, "pk": pk},
        "done_text": PROMOTION_VERBS[verb],
        "done_look": _address(pk) + queue.query() if pk != shown else "",
        "done_undoable": promotion_undo.may_undo(asked_for),
        "undo_done": reverse("admin:promotion_undo", args=[pk]),
    }


def _undo_address(decision: ReviewDecision | None) -> str:
    return reverse("admin:review_undo", args=[decision.review_id, decision.pk]) if decision else ""


def _parts(fact: Fact, typed_form: QueryDict) -> list[tuple[str, str]]:
    """Return the parts of the value that can be typed, as they were typed."""
    return [(key, typed_form.get(f"value:{key}", text)) for key, text in review_form.editable_parts(fact)]


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


def _called(eyes: Sight, review: Review) -> list[Subject]:
    """Return the subjects whose key or name begins with the name in a text; none where the text is not to be read."""
    name = str(review.detail.get("about", "")).replace("\x00", "").strip()
    if not name or not _may_read_event(eyes, review):
        return []
    called = Q(key__istartswith=name) | Q(name__istartswith=name)
    return list(eyes.subjects().filter(called, merged_into__isnull=True).order_by("key")[:CALLED])


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
