"""Consents: what people are asked to agree to, how long it waits, and what they said. They answer, nobody else.

What it is about is shown to whoever may read the fact; that it waits, to whoever decides where it would be known.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from facts.clock import now
from facts.models import Scope
from governance.models import Consent, ConsentStatus
from governance.sharing.consent_records import REFUSED
from memory_site.admin_pages import consent_panel
from memory_site.admin_pages.fact_display import actor_name, instant
from memory_site.admin_pages.fact_pages import HIDDEN
from memory_site.admin_pages.governed import DefaultChoiceFilter, GovernedAdmin, ScopeFilter, SubjectFilter
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated, shorten

#: Characters of a statement in the list.
SHOWN = 140


class StateFilter(DefaultChoiceFilter):
    """Which consents: those that wait, unless another choice is made."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [
            ("waiting", "Waiting"),
            ("unreached", "Could not be asked"),
            ("granted", "Agreed"),
            ("refused", "Said no or took it back"),
            (self.everything, "All"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Consent]) -> QuerySet[Consent]:
        """Keep the chosen ones; the longest waiting first where they wait."""
        match self.value() or "waiting":
            case "waiting":
                return queryset.filter(status=ConsentStatus.PENDING).order_by("id")
            case "unreached":
                return queryset.filter(status=ConsentStatus.PENDING, unreached_at__isnull=False).order_by("id")
            case "granted":
                return queryset.filter(status=ConsentStatus.GRANTED)
            case "refused":
                return queryset.filter(status__in=REFUSED)
            case self.everything:
                return queryset
            case _:
                return queryset.none()


class PlaceFilter(ScopeFilter):
    """Where it would be known."""

    title = "place"
    parameter_name = "place"
    field = "target_id"


class WaitingFilter(admin.SimpleListFilter):
    """How long ago it was asked."""

    title = "age"
    parameter_name = "asked"
    spans = {"week": timedelta(days=7), "month": timedelta(days=30), "quarter": timedelta(days=90)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [
            ("week", "More than 7 days ago"),
            ("month", "More than 30 days ago"),
            ("quarter", "More than 90 days ago"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Consent]) -> QuerySet[Consent]:
        """Keep what was asked before then."""
        span = self.spans.get(self.value() or "")
        return queryset if span is None else queryset.filter(requested_at__lt=now() - span)


class AskedByFilter(admin.SimpleListFilter):
    """Who asked: oneself, another person, or the gates of the account."""

    title = "who asked"
    parameter_name = "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("me", "I did"), ("person", "A person"), ("gates", "The gates, by themselves")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Consent]) -> QuerySet[Consent]:
        """Keep those that were asked so."""
        match self.value():
            case "me":
                return queryset.filter(requested_by__membership_id=str(request.principal.membership_id))
            case "person":
                return queryset.filter(requested_by__kind="person")
            case "gates":
                return queryset.exclude(requested_by__kind__in=["person", "key"])
            case _:
                return queryset


class ConsentAdmin(GovernedAdmin):
    """What was asked of people where the person who looks decides, those that wait first."""

    list_title = "Consents"
    empty_list = (
        "Nobody is asked to agree to anything. Before something personal is seen by others, its subject is asked; "
        "that question waits here."
    )
    list_display = ["what", "about", "level", "place", "state", "asked_by", "since"]
    list_display_links = ["what"]
    list_filter = [StateFilter, WaitingFilter, AskedByFilter, "fact__level", PlaceFilter, SubjectFilter]
    list_select_related = ["fact", "subject", "target"]
    ordering = ["-id"]

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[Consent]:
        """Return what was asked about facts of the curated scopes, or for one of those to know it; whoever decides
        everywhere sees all."""
        account_id = eyes.principal.account_id
        asked = Consent.objects.filter(account_id=account_id)
        if Scope.objects.filter(account_id=account_id).exclude(id__in=eyes.curated_ids).exists():
            asked = asked.filter(Q(target_id__in=eyes.curated_ids) | Q(fact__scope_id__in=eyes.curated_ids))
        readable = eyes.facts().filter(pk=OuterRef("fact_id"), readable=True)
        return asked.annotate(readable=Exists(readable))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one consent; there is nothing to decide there."""
        return consent_panel.page(self, request, self.get_or_404(request, object_id))

    @admin.display(description="may it be known that")
    def what(self, consent: Consent) -> SafeString:
        """The fact it is about, for whoever may read it."""
        if not consent.readable:
            return format_html("<i>{}</i>", HIDDEN)
        return isolated(shorten(consent.fact.statement, SHOWN))

    @admin.display(description="level", ordering="fact__level")
    def level(self, consent: Consent) -> str:
        """How widely the fact is meant to be seen where it is."""
        return consent.fact.level

    @admin.display(description="to be known in")
    def place(self, consent: Consent) -> SafeString:
        """Where it would be known."""
        return isolated(consent.target.path)

    @admin.display(description="state")
    def state(self, consent: Consent) -> SafeString:
        """Where it stands, and how the answer came."""
        return consent_panel.standing(consent)

    @admin.display(description="asked by")
    def asked_by(self, consent: Consent) -> SafeString:
        """Who asked."""
        return isolated(actor_name(consent.requested_by))

    @admin.display(description="since")
    def since(self, consent: Consent) -> SafeString:
        """How long it waits, or when the answer came."""
        if consent.status == ConsentStatus.PENDING:
            return format_html("waits {}", timesince(consent.requested_at, depth=1))
        return format_html("answered {}", instant(consent.decided_at))
