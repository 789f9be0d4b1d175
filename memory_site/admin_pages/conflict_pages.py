"""Conflict sets: the queue, the page that compares their members, and the decisions."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts import resolution
from facts.clock import now
from facts.errors import DomainError
from facts.models import AuditEntry, ConflictDecision, ConflictSet
from facts.vocabulary import ConflictStatus
from governance import conflicts
from governance.models import LookedAt, Remark
from governance.reviewing import presence
from governance.reviewing.deciders import deciders_at
from memory_site.admin_pages import conflict_form, saved_views
from memory_site.admin_pages.conflict_bulk_pages import many_conflicts
from memory_site.admin_pages.conflict_form import ASIDES, VERBS
from memory_site.admin_pages.conflict_sides import Side, alike, sides_of
from memory_site.admin_pages.conflict_summary import in_short, with_sides
from memory_site.admin_pages.deciding import asked, surroundings
from memory_site.admin_pages.deciding.hands import HandsFilter
from memory_site.admin_pages.deciding.many_pages import ManyPages
from memory_site.admin_pages.deciding.stale import moved, versions_of
from memory_site.admin_pages.deciding.typed_fields import put_off_until
from memory_site.admin_pages.fact_display import date_only
from memory_site.admin_pages.governed import DefaultChoiceFilter, GovernedAdmin, Queue, SubjectFilter
from memory_site.admin_pages.governed import typed as text_of
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import isolated

#: People offered to give a conflict to.
OFFERED_PEOPLE = 100
#: What makes a set another one than it was.
_CHANGES = (
    "conflict.joined",
    "conflict.left",
    "conflict.reopened",
    "conflict.undone",
    "conflict.resolved",
    "conflict.dismissed",
    "conflict.dissolved",
    "conflict.decided.defer",
)


class WaitingFilter(DefaultChoiceFilter):
    """Which sets: those that wait now, unless another choice is made."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [
            ("waiting", "Waiting"),
            ("overdue", "Overdue"),
            ("deferred", "Put off"),
            (ConflictStatus.RESOLVED, "Resolved"),
            (ConflictStatus.DISMISSED, "Dismissed"),
            (ConflictStatus.DISSOLVED, "Dissolved"),
            (self.everything, "All"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ConflictSet]) -> QuerySet[ConflictSet]:
        """Keep the chosen ones."""
        put_off = Q(status=ConflictStatus.OPEN, deferred_until__gt=now())
        match self.value() or "waiting":
            case "waiting":
                return queryset.filter(status=ConflictStatus.OPEN).exclude(put_off)
            case "overdue":
                return queryset.filter(status=ConflictStatus.OPEN, due_at__lt=now()).exclude(put_off)
            case "deferred":
                return queryset.filter(put_off)
            case self.everything:
                return queryset
            case status:
                return queryset.filter(status=status)


class ConflictAdmin(GovernedAdmin):
    """The queue of conflict sets, and the page on which a curator decides one."""

    list_title = "Conflicts"
    empty_list = "No conflict waits. When two facts cannot both hold, both are withheld from readers and appear here."
    list_display = ["pick", "what", "about", "scope", "kind_words", "opened", "due", "hands", "state"]
    list_display_links = ["what"]
    list_filter = [WaitingFilter, HandsFilter, "kind", SubjectFilter]
    list_select_related = ["subject", "scope", "assignee__user"]
    ordering = ["opened_at", "id"]

    def __init__(self, *args: Any) -> None:
        """Add the pages for doing the same to many."""
        super().__init__(*args)
        self.many = ManyPages(self, many_conflicts())

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[ConflictSet]:
        """Return the sets of the scopes in which the person decides."""
        return eyes.conflicts()

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConflictSet]:
        """Bring the sides along, for their claims in the list."""
        eyes = of(request)
        rows = self.many.with_choice(request, super().get_queryset(request))
        return rows if eyes is None else with_sides(eyes, rows)

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses that decisions are posted to."""
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/decide/", view(require_POST(self.decide)), name="conflict_decide"),
            path("<uuid:pk>/undo/<uuid:decision>/", view(require_POST(self.undo)), name="conflict_undo"),
            *self.many.get_urls(),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Tell the list how many are chosen, on all of its pages."""
        return super().changelist_view(request, {**self.many.of_list(request), **(extra_context or {})})

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """Say where a set stands only in lists of more than those that wait."""
        waiting = {None, "", "waiting", "overdue", "deferred"}
        return [name for name in self.list_display if name != "state" or request.GET.get("state") not in waiting]

    @admin.display(description="choose")
    def pick(self, conflict: ConflictSet) -> SafeString | str:
        """A box to choose it for something that is done to many."""
        return self.many.box(conflict) if conflict.status == ConflictStatus.OPEN else ""

    @admin.display(description="what contradicts")
    def what(self, conflict: ConflictSet) -> SafeString:
        """Name a set by what its sides say."""
        return in_short(conflict)

    @admin.display(description="kind")
    def kind_words(self, conflict: ConflictSet) -> str:
        """What sort of conflict it is."""
        return conflict.kind

    @admin.display(description="opened")
    def opened(self, conflict: ConflictSet) -> SafeString:
        """When it was opened."""
        return date_only(conflict.opened_at)

    @admin.display(description="due")
    def due(self, conflict: ConflictSet) -> SafeString:
        """When it should be decided."""
        return date_only(conflict.due_at)

    @admin.display(description="in the hands of")
    def hands(self, conflict: ConflictSet) -> SafeString | str:
        """Who has taken it."""
        return isolated(presence.name_of(conflict.assignee)) if conflict.assignee else "–"

    @admin.display(description="state")
    def state(self, conflict: ConflictSet) -> str:
        """Where it stands, in words."""
        if conflict.status == ConflictStatus.OPEN and conflict.deferred_until and conflict.deferred_until > now():
            return "put off"
        return conflict.resolution.replace("_", " ") or conflict.get_status_display().lower()

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one set."""
        return self._page(request, self.get_or_404(request, object_id))

    def decide(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Take one decision and go on to the next set; what cannot be done is said on the same page."""
        conflict = self.get_or_404(request, str(pk))
        queue = Queue(self, request)
        following = queue.after(pk)
        verb = request.POST.get("verb", "")
        try:
            if verb in ASIDES:
                conflict_form.aside(request.principal, conflict, request.POST)
                messages.success(request, ASIDES[verb])
                return redirect(_address(pk) + queue.query())
            decision = conflict_form.decide(request.principal, conflict, request.POST)
        except DomainError as error:
            conflict.refresh_from_db()
            return self._page(request, conflict, queue=queue, error=error)
        presence.leave(request.principal, object_id=pk)
        if following == str(pk):
            following = None
        return redirect(_address(following or pk) + queue.query(decided=str(decision.id)))

    def undo(self, request: HttpRequest, pk: uuid.UUID, decision: uuid.UUID) -> HttpResponse:
        """Take a decision back and show the set again."""
        conflict = self.get_or_404(request, str(pk))
        try:
            conflicts.undo(request.principal, decision, rationale=text_of(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, conflict, error=error)
        return redirect(_address(pk) + Queue(self, request).query(undone=str(decision)))

    def _page(
        self,
        request: HttpRequest,
        conflict: ConflictSet,
        *,
        queue: Queue | None = None,
        error: DomainError | None = None,
    ) -> HttpResponse:
        eyes = of(request)
        queue = queue or Queue(self, request)
        typed = request.POST if error is not None else QueryDict()
        changed = _changed_since(conflict, conflict_form.version(typed)) if error is not None else []
        joined = {entry.metadata.get("fact") for entry in changed}
        sides = sides_of(eyes, conflict, typed=typed, joined=joined)
        is_open = conflict.status == ConflictStatus.OPEN
        refused = conflicts.refusal(eyes.principal, conflict.pk) if is_open else None
        may_decide = is_open and refused is None
        context = self.context(
            request,
            title=f"Conflict about {conflict.subject.display_name}",
            noun="conflict",
            conflict=conflict,
            sides=sides,
            alike=alike(sides),
            is_open=is_open,
            may_decide=may_decide,
            refused=refused,
            question=asked.of_conflict(conflict),
            is_overdue=is_open and conflict.due_at is not None and conflict.due_at < now(),
            put_off_until=put_off_until(),
            error=error,
            typed=typed,
            **_what_changed(sides, changed, typed, error),
            **_around(eyes, conflict, sides, is_open=is_open),
            **_decided(eyes, conflict, request, queue),
            **queue.links(conflict.pk),
        )
        status = 200 if error is None else error.status
        return TemplateResponse(request, "memory/conflict.html", context, status=status)


def _address(pk: object) -> str:
    return reverse("admin:facts_conflictset_change", args=[pk])


def _what_changed(
    sides: list[Side], changed: list[AuditEntry], typed: QueryDict, error: DomainError | None
) -> dict[str, Any]:
    """Return what was seen, what it is now, and what was about to be decided."""
    facts = [side.fact for side in sides]
    is_stale = error is not None and error.code in {"stale_version", "conflict_already_resolved"}
    return {
        "is_stale": is_stale,
        "stale": [(entry, surroundings.HAPPENED[entry.action]) for entry in changed],
        "moved": moved(facts, versions_of(typed.getlist("seen"))) if is_stale else [],
        "meant": conflict_form.meant(typed, facts) if is_stale else "",
    }


def _around(eyes: Sight, conflict: ConflictSet, sides: list[Side], *, is_open: bool) -> dict[str, Any]:
    """Return what lies around the set: who else looks, whose it is, readers, uses, near facts, remarks, history."""
    facts = [side.fact for side in sides]
    account_id = conflict.account_id
    people = deciders_at(account_id, conflict.scope.path) if is_open else []
    uses = surroundings.uses(eyes, facts)
    return {
        "others_here": surroundings.others_here(eyes, about=LookedAt.CONFLICT_SET, object_id=conflict.pk),
        "mine": conflict.assignee_id is not None and conflict.assignee_id == eyes.principal.membership_id,
        "taken_by": presence.name_of(conflict.assignee) if conflict.assignee else "",
        "deciders": [(one, presence.name_of(one)) for one in people[:OFFERED_PEOPLE]],
        "assignee_id": conflict.assignee_id,
        "deciders_other": [presence.name_of(one) for one in people if one.pk != eyes.principal.membership_id],
        "choices": surroundings.choices_of_conflict(eyes, conflict.kind, facts) if is_open else [],
        "uses": [(side.number, uses.get(side.fact.pk)) for side in sides],
        "is_used": bool(uses),
        "near": surroundings.near(eyes, facts),
        "remarks": surroundings.remarks_on(Remark.objects.filter(account_id=account_id, conflict_set=conflict)),
        "history": surroundings.history(account_id, "conflict_set", conflict.pk),
    }


def _decided(eyes: Sight, conflict: ConflictSet, request: HttpRequest, queue: Queue) -> dict[str, Any]:
    """Return the decisions about the set, and what the address says was decided a moment ago."""
    decisions = list(conflict.decisions.all()[:20])
    done = _decision_named(eyes, request.GET.get("decided"))
    undone = _decision_named(eyes, request.GET.get("undone"))
    undoable = decisions[0] if decisions and resolution.may_undo(decisions[0]) else None
    elsewhere = done is not None and done.conflict_set_id != conflict.pk
    return {
        "decisions": [(row, VERBS.get(row.verb, row.verb)) for row in decisions],
        "undoable": undoable,
        "undo_last": _undo_address(undoable),
        "done": done,
        "done_text": VERBS.get(done.verb, done.verb) if done else "",
        "done_about": done.conflict_set.subject.display_name if done else "",
        "done_look": _address(done.conflict_set_id) + queue.query() if elsewhere else "",
        "done_undoable": done is not None and resolution.may_undo(done),
        "undo_done": _undo_address(done),
        "undone": undone,
        "undone_text": VERBS.get(undone.verb, undone.verb) if undone else "",
        "go_on": reverse("admin:governance_review_changelist") + saved_views.address({}),
        "go_on_words": "To the reviews that wait",
    }


def _undo_address(decision: ConflictDecision | None) -> str:
    return reverse("admin:conflict_undo", args=[decision.conflict_set_id, decision.pk]) if decision else ""


def _decision_named(eyes: Sight, text: str | None) -> ConflictDecision | None:
    """Return the decision that the address names, if this person may see its set."""
    try:
        pk = uuid.UUID(text or "")
    except ValueError:
        return None
    rows = ConflictDecision.objects.filter(account_id=eyes.principal.account_id, pk=pk)
    return rows.filter(conflict_set__scope_id__in=eyes.curated_ids).select_related("conflict_set__subject").first()


def _changed_since(conflict: ConflictSet, version: int) -> list[AuditEntry]:
    """Return what happened to the set after the version that the form was made from, oldest first."""
    if version in {-1, conflict.version}:
        return []
    entries = AuditEntry.objects.filter(
        account_id=conflict.account_id, object_type="conflict_set", object_id=str(conflict.pk), action__in=_CHANGES
    )
    return list(entries.filter(metadata__version__gt=version).order_by("seq")[:20])
