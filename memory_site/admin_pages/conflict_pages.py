"""Conflict sets: the queue, the page that compares their members, and the decisions."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.dateparse import parse_date
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts import resolution
from facts.clock import now
from facts.errors import DomainError
from facts.models import AuditEntry, ConflictDecision, ConflictMember, ConflictSet, Evidence, Fact
from facts.vocabulary import ConflictStatus
from governance import conflicts
from governance.access import Principal
from memory_site.admin_pages import threads
from memory_site.admin_pages.conflict_summary import in_short, with_sides
from memory_site.admin_pages.fact_display import claim_rows, instant
from memory_site.admin_pages.governed import DefaultChoiceFilter, GovernedAdmin, Queue, SubjectFilter
from memory_site.admin_pages.governed import typed as text_of
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import Part, differences

#: What each decision did, for the message after it and in the history.
VERBS = {
    "keep_one": "One side was kept; the others ended or never took effect.",
    "keep_one_never_true": "One side was kept; the others were never true.",
    "reject_all": "No side was ever true.",
    "keep_by_qualifier": "All sides were kept, each under its own condition.",
    "keep_by_interval": "All sides were kept, each in its own time.",
    "keep_as_events": "All sides were kept as separate occurrences.",
    "dismiss": "There is no contradiction; it will not be proposed again.",
    "defer": "Put off.",
}
_CHANGES = {
    "conflict.joined": "a fact joined",
    "conflict.left": "a fact left",
    "conflict.reopened": "it was opened again",
    "conflict.undone": "a decision was undone",
    "conflict.resolved": "it was resolved",
    "conflict.dismissed": "it was dismissed",
    "conflict.dissolved": "it dissolved: fewer than two facts were left",
    "conflict.decided.defer": "it was put off",
}


class WaitingFilter(DefaultChoiceFilter):
    """Which sets: those that wait now, unless another choice is made."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [
            ("waiting", "Waiting"),
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
            case "deferred":
                return queryset.filter(put_off)
            case self.everything:
                return queryset
            case status:
                return queryset.filter(status=status)


@dataclass(frozen=True, slots=True)
class Side:
    """One member as the page shows it. ``statement`` is in parts, those that differ marked."""

    number: int
    fact: Fact
    withheld: bool
    joined_since: bool
    consequence: str
    statement: list[Part]
    rows: list[Any]
    excerpts: list[threads.Excerpt]
    more_evidence: int
    typed: Mapping[str, str]


class ConflictAdmin(GovernedAdmin):
    """The queue of conflict sets, and the page on which a curator decides one."""

    list_title = "Conflicts"
    empty_list = "No conflict waits. When two facts cannot both hold, both are withheld from readers and appear here."
    list_display = ["what", "about", "scope", "kind_words", "opened", "due", "state"]
    list_display_links = ["what"]
    list_filter = [WaitingFilter, "kind", SubjectFilter]
    list_select_related = ["subject", "scope"]
    ordering = ["opened_at", "id"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[ConflictSet]:
        """Return the sets of the scopes in which the person decides."""
        return eyes.conflicts()

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConflictSet]:
        """Bring the sides along, for their claims in the list."""
        eyes = of(request)
        rows = super().get_queryset(request)
        return rows if eyes is None else with_sides(eyes, rows)

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses that decisions are posted to."""
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/decide/", view(require_POST(self.decide)), name="conflict_decide"),
            path("<uuid:pk>/undo/<uuid:decision>/", view(require_POST(self.undo)), name="conflict_undo"),
            *super().get_urls(),
        ]

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
        return instant(conflict.opened_at)

    @admin.display(description="due")
    def due(self, conflict: ConflictSet) -> SafeString:
        """When it should be decided."""
        return instant(conflict.due_at)

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
        try:
            decision = _decide(request.principal, conflict, request.POST)
        except DomainError as error:
            conflict.refresh_from_db()
            return self._page(request, conflict, queue=queue, error=error)
        if following == str(pk):
            following = None
        query = queue.query(decided=str(decision.id))
        return redirect(reverse("admin:facts_conflictset_change", args=[following or pk]) + query)

    def undo(self, request: HttpRequest, pk: uuid.UUID, decision: uuid.UUID) -> HttpResponse:
        """Take a decision back and show the set again."""
        conflict = self.get_or_404(request, str(pk))
        try:
            conflicts.undo(request.principal, decision, rationale=text_of(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, conflict, error=error)
        query = Queue(self, request).query(undone="1")
        return redirect(reverse("admin:facts_conflictset_change", args=[pk]) + query)

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
        stale = _changed_since(conflict, _version(typed)) if error is not None else []
        decisions = list(conflict.decisions.all()[:20])
        done = _decision_named(eyes, request.GET.get("decided"))
        is_open = conflict.status == ConflictStatus.OPEN
        context = self.context(
            request,
            title=f"Conflict about {conflict.subject.display_name}",
            conflict=conflict,
            sides=_sides(eyes, conflict, typed=typed, stale={entry.metadata.get("fact") for entry in stale}),
            is_open=is_open,
            noun="conflict",
            may_decide=is_open and conflicts.may_decide(eyes.principal, conflict.scope.path),
            decisions=[(row, VERBS.get(row.verb, row.verb)) for row in decisions],
            undoable=decisions[0] if decisions and resolution.may_undo(decisions[0]) else None,
            done=done,
            done_text=VERBS.get(done.verb, done.verb) if done else "",
            done_undoable=done is not None and resolution.may_undo(done),
            undone="undone" in request.GET,
            error=error,
            stale=[(entry, _CHANGES.get(entry.action, entry.action)) for entry in stale],
            typed=typed,
            **queue.links(conflict.pk),
        )
        status = 200 if error is None else error.status
        return TemplateResponse(request, "memory/conflict.html", context, status=status)


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


def _sides(eyes: Sight, conflict: ConflictSet, *, typed: QueryDict, stale: set[object]) -> list[Side]:
    """Return the members to compare: the current ones or, of a closed set, those it was decided about."""
    memberships = ConflictMember.objects.filter(account_id=conflict.account_id, conflict_set=conflict)
    if conflict.status == ConflictStatus.OPEN:
        memberships = memberships.filter(left_at__isnull=True)
    members = list(memberships)
    facts = eyes.facts().select_related("scope", "subject").in_bulk([member.fact_id for member in members])
    evidence = Evidence.objects.filter(account_id=conflict.account_id, fact_id__in=facts)
    evidence = evidence.select_related("event", "event__speaker", "event__subject", "event__scope")
    rows = [row for row in evidence.order_by("-event__occurred_at")[:200] if facts[row.fact_id].readable]
    counts: dict[uuid.UUID, int] = {}
    shown = []
    for row in rows:
        counts[row.fact_id] = counts.get(row.fact_id, 0) + 1
        if counts[row.fact_id] <= threads.SHOWN_EVIDENCE:
            shown.append(row)
    quoted = threads.excerpts(eyes, shown)
    # The older belief first: what was known, then what came.
    members = sorted((member for member in members if member.fact_id in facts), key=lambda member: member.fact_id)
    in_order = [facts[member.fact_id] for member in members]
    statements = differences([fact.statement if fact.readable else "" for fact in in_order])
    claims = claim_rows(in_order)
    return [
        Side(
            number=number,
            fact=fact,
            withheld=member.withheld,
            joined_since=str(fact.pk) in stale,
            consequence=_consequence(fact, in_order),
            statement=statement,
            rows=rows_of,
            excerpts=quoted.get(fact.pk, []),
            more_evidence=max(counts.get(fact.pk, 0) - threads.SHOWN_EVIDENCE, 0),
            typed={name: typed.get(f"{name}:{fact.pk}", "") for name in ("condition", "value", "from", "to")},
        )
        for number, (member, fact, statement, rows_of) in enumerate(
            zip(members, in_order, statements, claims, strict=True), start=1
        )
    ]


def _consequence(kept: Fact, sides: list[Fact]) -> str:
    """Return what becomes of the other sides when this one is kept as the latest (``facts.resolution.keep_one``)."""
    others = [fact for fact in sides if fact.pk != kept.pk]
    start = kept.valid_from
    if start is None:
        return "The others held until now." if len(others) > 1 else "The other held until now."
    later = [fact for fact in others if fact.valid_from is not None and fact.valid_from >= start]
    if not later:
        return f"{'The others' if len(others) > 1 else 'The other'} held until this began."
    if len(later) == len(others):
        return f"{'The others' if len(others) > 1 else 'The other'} never took effect."
    return "Those before it held until this began; those after it never took effect."


def _decide(principal: Principal, conflict: ConflictSet, form: QueryDict) -> ConflictDecision:
    """Call the service that the pressed button stands for. Raises ``DomainError``, also for an unknown button."""
    verb, _, argument = form.get("verb", "").partition(":")
    decide = _DECISIONS.get(verb)
    if decide is None:
        raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")
    common = {"rationale": text_of(form, "reason"), "expected_version": _version(form)}
    return decide(principal, conflict, form, argument, common)


def _version(form: QueryDict) -> int:
    """Return the version that the form was made from; one that no set has, where the form does not say."""
    text = form.get("version", "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1


def _keep(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    never_true = form.get("verb", "").startswith("keep_one_never_true")
    return conflicts.keep_one(
        principal, conflict.pk, fact_id=_fact_id(argument), others_never_true=never_true, **common
    )


def _by_qualifier(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    qualifiers: dict[uuid.UUID, dict[str, str]] = {}
    for member in _members(conflict):
        name, value = text_of(form, f"condition:{member}"), text_of(form, f"value:{member}")
        if name and value:
            qualifiers[member] = {name: value}
    return conflicts.keep_by_qualifier(principal, conflict.pk, qualifiers=qualifiers, **common)


def _by_interval(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    intervals = {member: (_day(form, f"from:{member}"), _day(form, f"to:{member}")) for member in _members(conflict)}
    return conflicts.keep_by_interval(principal, conflict.pk, intervals=intervals, **common)


def _as_events(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    return conflicts.keep_as_events(principal, conflict.pk, **common)


def _none_true(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    return conflicts.reject_all(principal, conflict.pk, **common)


def _dismiss(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    return conflicts.dismiss(principal, conflict.pk, distinction=text_of(form, "distinction"), **common)


def _defer(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    until = _day(form, "until")
    if until is None:
        raise DomainError("Say until when.", code="invalid_date", field="until")
    return conflicts.defer(principal, conflict.pk, until=until, **common)


_DECISIONS: dict[str, Callable[..., ConflictDecision]] = {
    "keep_one": _keep,
    "keep_one_never_true": _keep,
    "keep_by_qualifier": _by_qualifier,
    "keep_by_interval": _by_interval,
    "keep_as_events": _as_events,
    "reject_all": _none_true,
    "dismiss": _dismiss,
    "defer": _defer,
}


def _members(conflict: ConflictSet) -> list[uuid.UUID]:
    rows = ConflictMember.objects.filter(account_id=conflict.account_id, conflict_set=conflict, left_at__isnull=True)
    return list(rows.values_list("fact_id", flat=True))


def _fact_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Http404 from None


def _day(form: QueryDict, name: str) -> datetime | None:
    """Return the start of a day, UTC; ``None`` for an empty field. Raises ``DomainError`` (``invalid_date``)."""
    text = text_of(form, name)
    if not text:
        return None
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        raise DomainError("A date looks like 2026-03-31.", code="invalid_date", field=name.partition(":")[0])
    return datetime.combine(day, time.min, tzinfo=UTC)
