"""Facts: the list, and the page that shows one with everything behind it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, time
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.dateparse import parse_date
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.clock import now
from facts.errors import DomainError, NotFound
from facts.models import ConflictMember, Evidence, Fact, FactRevision
from facts.status_graph import may_follow
from facts.tenancy import ancestor_paths
from facts.vocabulary import Status
from governance import doubting, ending, forgetting, subject_rights
from governance.access import has_role, is_read_by_curators
from governance.models import ForgetMode, ForgetReceipt, ReviewStatus, Role
from governance.sharing import promotions
from ingest.actions import selectors
from memory_site.admin_pages import fact_lineage, fact_reads, threads
from memory_site.admin_pages.fact_audience import audience_of
from memory_site.admin_pages.fact_display import Change, changes, claim, words
from memory_site.admin_pages.fact_lineage import Graph
from memory_site.admin_pages.fact_search import facts_called
from memory_site.admin_pages.fact_timeline import timeline
from memory_site.admin_pages.governed import FILTERS, GovernedAdmin, Queue, ScopeFilter, SubjectFilter, typed
from memory_site.admin_pages.sight import Sight, of
from memory_site.admin_pages.texts import Part, differences, isolated, shorten
from retrieval.traces.selectors import GONE

#: What stands in place of a text that the person may not read.
HIDDEN = "not for you to read"
#: Characters of a statement in lists.
SHORT = 140
#: Rows of each list on the page of a fact.
SHOWN = 50
#: Revisions that are shown and drawn, the last ones.
REVISIONS = 100


class FactAdmin(GovernedAdmin):
    """Everything that is or was believed, as far as the person may see it."""

    empty_list = "No fact yet. Facts appear here when something was said from which they could be read."
    list_display = ["said", "about", "status_words", "category_words", "audience", "valid_from_day"]
    list_display_links = ["said"]
    list_filter = ["status", "category", "sensitivity", ScopeFilter, SubjectFilter]
    list_select_related = ["subject", "scope"]
    counted = 2_000  # further down, the database sorts every fact for each page
    counted_of_found = 500  # words are looked for in every fact up to there
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
            path("<uuid:pk>/end/", view(require_POST(self.end)), name="fact_end"),
            path("<uuid:pk>/contest/", view(require_POST(self.contest)), name="fact_contest"),
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
        return facts_called(queryset, term, eyes=of(request)), False

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
        return self._back(request, pk)

    def promote(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Ask for the fact to be known in a scope above its own."""
        fact = self.get_or_404(request, str(pk))
        target, reason = typed(request.POST, "target"), typed(request.POST, "reason")
        try:
            promotions.request_promotion(request.principal, fact_id=pk, target=target, reason=reason)
        except DomainError as error:
            return self._page(request, fact, error=error)
        messages.success(request, "Asked for. Another curator of that scope decides, and before that its subject.")
        return self._back(request, pk)

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
        return self._back(request, pk)

    def end(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Say that the fact is over."""
        fact = self.get_or_404(request, str(pk))
        try:
            at = _day(typed(request.POST, "at"))
            ending.end(request.principal, pk, at=at, reason=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, fact, error=error)
        messages.success(request, "It is over: from now on it is history.")
        return self._back(request, pk)

    def contest(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Have the fact looked at again; nobody is served it until then."""
        fact = self.get_or_404(request, str(pk))
        own = fact.subject_id == request.principal.subject_id
        try:
            ask = subject_rights.contest if own else doubting.doubt
            ask(request.principal, pk, reason=typed(request.POST, "reason"))
        except DomainError as error:
            return self._page(request, fact, error=error)
        messages.success(request, "It is in review. Until somebody decides, nobody is served it.")
        return self._back(request, pk)

    def _back(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Return to the page of the fact, on the way through the same list."""
        filters = typed(request.POST, FILTERS)
        query = f"?{urlencode({FILTERS: filters})}" if filters else ""
        return redirect(reverse("admin:facts_fact_change", args=[pk]) + query)

    def _page(self, request: HttpRequest, fact: Fact, *, error: DomainError | None = None) -> HttpResponse:
        eyes = of(request)
        queue = Queue(self, request)
        owned = {"account_id": fact.account_id}
        fact = eyes.facts().select_related("scope", "subject").get(pk=fact.pk)
        revisions = list(fact.revisions.order_by("-version")[: REVISIONS + 1])[::-1]
        evidence = list(
            Evidence.objects.filter(fact=fact, **owned)
            .select_related("event", "event__speaker", "event__subject", "event__scope")
            .order_by("-event__occurred_at")[:SHOWN]
        )
        curates = has_role(eyes.principal, fact.scope.path, Role.CURATOR)
        own = fact.subject_id == eyes.principal.subject_id
        memberships = ConflictMember.objects.filter(fact=fact, **owned).select_related("conflict_set")
        reviews = list(fact.reviews.order_by("-id")[:SHOWN]) if curates else []
        receipt = _receipt(fact) if (curates or own) and fact.status == Status.DISABLED else None
        drawn = fact_lineage.graph(eyes, fact) if fact.readable else None
        context = self.context(
            request,
            title=f"Fact about {fact.subject.display_name}",
            fact=fact,
            noun="fact",
            subject_address=_subject_address(eyes, fact),
            rows=claim(fact),
            extraction=" ".join(filter(None, [fact.extractor_provider, fact.extractor_model, fact.prompt_version])),
            times=timeline(fact, revisions[-REVISIONS:], at=now()) if fact.readable and revisions else None,
            revisions=_with_changes(revisions)[:REVISIONS] if fact.readable else [],
            earlier_revisions=max(0, fact.version - REVISIONS),
            excerpts=threads.excerpts(eyes, evidence).get(fact.pk, []) if fact.readable else [],
            lineage=drawn,
            rewordings=_rewordings(fact, drawn) if drawn else [],
            audience=audience_of(fact) if fact.readable and (curates or own) else None,
            reads=fact_reads.considering(eyes, fact) if fact.readable else None,
            actions_of=list(selectors.visible(eyes.principal).filter(fact=fact)[:SHOWN]) if fact.readable else [],
            memberships=list(memberships.order_by("-joined_at")[:SHOWN]) if curates else [],
            gate_decisions=list(fact.gate_decisions.all()[:SHOWN]) if fact.readable else [],
            reviews=reviews,
            pending=next((review for review in reviews if review.status == ReviewStatus.PENDING), None),
            may_forget=(curates or own) and fact.status not in GONE,
            may_end=curates and fact.readable and is_read_by_curators(fact) and may_follow(fact.status, Status.EXPIRED),
            may_contest=fact.readable and _may_contest(fact, own=own, curates=curates),
            promotable_to=_promotable_to(eyes, fact),
            receipt=receipt,
            receipt_facts=len(receipt.counters.get("facts", [])) if receipt else 0,
            hidden=HIDDEN,
            error=error,
            typed=request.POST,
            **queue.links(fact.pk),
        )
        return TemplateResponse(request, "memory/fact.html", context, status=200 if error is None else error.status)


def _day(text: str) -> datetime | None:
    """Return the beginning of a typed day, in UTC; ``None`` for nothing. Raises ``DomainError``."""
    if not text:
        return None
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        raise DomainError("A day is written like 2025-03-31.", code="invalid_interval", field="at")
    return datetime.combine(day, time(), tzinfo=UTC)


def _may_contest(fact: Fact, *, own: bool, curates: bool) -> bool:
    if own:
        return fact.status in subject_rights.CONTESTABLE
    return curates and is_read_by_curators(fact) and fact.status in doubting.DOUBTABLE


def _subject_address(eyes: Sight, fact: Fact) -> str:
    """Return the page of the subject, for whoever may open it."""
    known = eyes.is_curator and eyes.subjects().filter(pk=fact.subject_id).exists()
    return reverse("admin:facts_subject_change", args=[fact.subject_id]) if known else ""


def _rewordings(fact: Fact, drawn: Graph) -> list[tuple[str, Fact, list[list[Part]]]]:
    """Return the facts that this one replaced, or that replaced it, each with the words that differ."""
    others = [
        (node.said, node.fact)
        for node in drawn.nodes
        if node.of == 1 and node.fact is not None and node.fact.readable and node.said in {"replaced", "replaced by"}
    ]
    return [(said, other, differences([other.statement, fact.statement])) for said, other in others]


def _promotable_to(eyes: Sight, fact: Fact) -> list[str]:
    """Return the scopes above a current fact for which the person may ask, the nearest first."""
    if fact.status != Status.ACTIVE or not fact.readable:
        return []
    above = ancestor_paths(fact.scope.path)
    return [path for path in above if has_role(eyes.principal, path, Role.CURATOR)]


def _with_changes(revisions: list[FactRevision]) -> list[tuple[FactRevision, list[Change]]]:
    """Return the revisions, newest first, each with what it changed against the one before."""
    pairs = [(None, revisions[0]), *pairwise(revisions)] if revisions else []
    return [(after, changes(before, after)) for before, after in reversed(pairs)]


def _receipt(fact: Fact) -> ForgetReceipt | None:
    """Return the request by which the fact was forgotten and that can still be lifted."""
    receipts = ForgetReceipt.objects.filter(
        account_id=fact.account_id, mode=ForgetMode.DISABLE, lifted_at=None, counters__facts__contains=[str(fact.pk)]
    )
    return receipts.first()
