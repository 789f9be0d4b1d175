"""The account: scopes, subjects and their names, who belongs to it, and what was granted to whom."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Func, IntegerField, OuterRef, QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.models import Account, Fact, Identity, Scope, Subject
from facts.vocabulary import Status
from governance.models import Role
from memory_site.admin_pages import account_page, erasing_page, identity_page, leaving_page, merging_page, subject_pages
from memory_site.admin_pages.governed import GovernedAdmin, SubjectFilter, subjects_called
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated

#: Facts of one subject that a list counts at most.
COUNTED_FACTS = 1_000


class AccountAdmin(GovernedAdmin):
    """The account that the person is in, and no other."""

    list_title = "Account"
    list_display = ["name", "key", "timezone", "gate_preset", "consent_mode", "created_at"]

    def visible(self, eyes: Sight) -> QuerySet[Account]:
        """Return the one account."""
        return Account.objects.filter(pk=eyes.principal.account_id)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show it, and choose its time zone."""
        return account_page.page(self, request, self.get_or_404(request, object_id))


class ScopeAdmin(GovernedAdmin):
    """The tree of scopes, as far as it is granted."""

    list_display = ["path", "name", "parent", "created_at"]
    fields = list_display
    list_select_related = ["parent"]
    ordering = ["path"]
    search_fields = ["path__startswith"]
    search_help_text = "The start of a path, such as /support."

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever may read any scope."""
        return bool(eyes.scope_ids)

    def visible(self, eyes: Sight) -> QuerySet[Scope]:
        """Return the scopes granted to the person."""
        return Scope.objects.filter(account_id=eyes.principal.account_id, pk__in=eyes.scope_ids)


class SubjectAdmin(GovernedAdmin):
    """Whom and what facts are about."""

    empty_list = "Nobody and nothing is known yet. Subjects come with what is sent to POST /v1/capture."
    list_display = ["called", "key", "kind", "fact_count", "created_at"]
    list_display_links = ["called"]
    list_filter = ["kind"]
    ordering = ["key"]
    counted = 1_000  # the facts of every subject in front of a page are counted with it
    search_fields = ["key"]
    search_help_text = "A key, or the start of a key or name."

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one subject with what is known of it."""
        return subject_pages.page(self, request, self.get_or_404(request, object_id))

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the pages that erase and merge."""
        wrap = self.admin_site.admin_view
        return [
            path("<uuid:pk>/erase/", wrap(self.erase), name="subject_erase"),
            path("<uuid:pk>/merge/", wrap(self.merge), name="subject_merge"),
            path("<uuid:pk>/unmerge/", wrap(require_POST(self.unmerge)), name="subject_unmerge"),
            *super().get_urls(),
        ]

    def merge(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Show what merging it into another one would change, and carry it out."""
        return merging_page.page(self, request, self.get_or_404(request, str(pk)))

    def unmerge(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Take its merge back."""
        return merging_page.undo(self, request, self.get_or_404(request, str(pk)))

    def erase(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Show what an erasure would take, and carry it out."""
        return erasing_page.page(self, request, self.get_or_404(request, str(pk)))

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to whoever decides anywhere."""
        return eyes.is_curator

    def visible(self, eyes: Sight) -> QuerySet[Subject]:
        """Return the subjects of whom the person knows, each with its current facts in the curated scopes counted.

        They are counted for the subjects of a page only, up to a limit: a join would go through the facts of all.
        """
        if not eyes.curated_ids:
            return eyes.subjects().annotate(current_facts=Value(0))
        current = Fact.objects.filter(
            account_id=eyes.principal.account_id,
            subject_id=OuterRef("pk"),
            status=Status.ACTIVE,
            scope_id__in=eyes.curated_ids,
        )
        some = ArraySubquery(current.order_by().values("pk")[: COUNTED_FACTS + 1])
        return eyes.subjects().annotate(current_facts=Func(some, function="cardinality", output_field=IntegerField()))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Subject], search_term: str
    ) -> tuple[QuerySet[Subject], bool]:
        """Look for a key, or the start of a key or name."""
        term = search_term.strip()
        return (queryset.filter(pk__in=subjects_called(request, term).values("pk")) if term else queryset), False

    @admin.display(description="name")
    def called(self, subject: Subject) -> SafeString:
        """The name to show."""
        return isolated(subject.display_name)

    @admin.display(description="current facts")
    def fact_count(self, subject: Subject) -> str:
        """How much is known."""
        if subject.current_facts > COUNTED_FACTS:
            return f"more than {COUNTED_FACTS:,}"
        return f"{subject.current_facts:,}"


class IdentityAdmin(GovernedAdmin):
    """All names of all subjects, and the page on which a curator says that one is certain."""

    list_display = ["value", "sort", "about", "certainty", "created_at"]
    empty_list = "No name is known. They come with what is captured, and from connected workspaces."
    list_filter = ["confirmed", SubjectFilter]
    list_select_related = ["subject"]
    ordering = ["platform", "value"]
    search_fields = ["value__exact"]
    search_help_text = "The exact name on its platform, such as U0123 or an address."
    needs = Role.CURATOR

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one name, and confirm it or take that back."""
        return identity_page.page(self, request, self.get_or_404(request, object_id))

    @admin.display(description="what it is")
    def sort(self, identity: Identity) -> str:
        """What sort of name it is."""
        return identity_page.platform(identity)

    @admin.display(description="whose it is")
    def certainty(self, identity: Identity) -> SafeString:
        """Whether it is certain whose it is, and who says so."""
        return identity_page.certainty(identity)


class MembershipAdmin(GovernedAdmin):
    """Who signs in to this account, and as whom they read."""

    list_display = ["user", "subject", "created_at"]
    fields = list_display
    list_select_related = ["user", "subject"]
    list_filter = [SubjectFilter]
    ordering = ["id"]
    search_fields = ["user__username__istartswith", "user__email__iexact"]
    search_help_text = "The start of a user name, or an e-mail address."
    change_form_template = "memory/membership.html"

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the page on which somebody leaves."""
        view = self.admin_site.admin_view(self.leave)
        return [path("<uuid:pk>/leave/", view, name="member_leaves"), *super().get_urls()]

    def leave(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Show what somebody's leaving would end, and carry it out."""
        return leaving_page.page(self, request, self.get_or_404(request, str(pk)))


class GrantAdmin(GovernedAdmin):
    """Which role whom was given or denied where."""

    list_display = ["about", "role", "scope", "effect", "propagates", "restricted", "granted_at"]
    fields = ["subject", *list_display[1:], "granted_by"]
    list_filter = ["role", "effect", SubjectFilter]
    list_select_related = ["subject", "scope"]
    ordering = ["scope__path", "subject__key"]
