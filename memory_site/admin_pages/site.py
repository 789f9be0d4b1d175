"""The admin site: our home page, navigation by task, and the choice of account."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path
from django.views.decorators.http import require_GET, require_POST

from memory_site.admin_pages import (
    believed_page,
    device_pages,
    figures_page,
    home,
    name_pages,
    navigation,
    playground_page,
    schedule_page,
    sight,
    view_pages,
)
from memory_site.admin_pages.governed import subjects_called, typed
from memory_site.api.authentication import ACCOUNT_IN_SESSION
from memory_site.sign_in import AdminSignInForm

#: Suggestions for one typed name.
SUGGESTIONS = 12


class MemoryAdminSite(AdminSite):
    """Django's admin site with our home page."""

    site_header = "Memory"
    site_title = "Memory"
    index_title = "What waits for you"
    site_url = None
    login_form = AdminSignInForm

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Add the addresses that belong to no model."""
        return [
            path("account/", self.admin_view(require_POST(self.choose_account)), name="choose_account"),
            path("device/", self.admin_view(device_pages.decide), name="device_login"),
            path("believed/<uuid:pk>/", self.admin_view(require_GET(believed_page.show)), name="believed"),
            path("figures/", self.admin_view(require_GET(figures_page.show)), name="figures"),
            path("names/", self.admin_view(name_pages.decide), name="name_pairs"),
            path("playground/", self.admin_view(playground_page.ask), name="playground"),
            path("schedules/", self.admin_view(schedule_page.show), name="schedules"),
            path("views/keep/", self.admin_view(require_POST(view_pages.keep)), name="view_keep"),
            path("views/<uuid:pk>/share/", self.admin_view(require_POST(view_pages.share)), name="view_share"),
            path("views/<uuid:pk>/remove/", self.admin_view(require_POST(view_pages.remove)), name="view_remove"),
            path("subjects.json", self.admin_view(require_GET(self.suggest_subjects)), name="suggest_subjects"),
            *super().get_urls(),
        ]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what every page needs: Django's own, the account, and how much waits."""
        context = super().each_context(request)
        context["account"] = getattr(request, "account", None)
        context["accounts"] = request.accounts
        return context

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        """Return the navigation, grouped by task, each model with the number of what waits there."""
        if app_label is not None:
            return super().get_app_list(request, app_label)
        apps = self._build_app_dict(request).values()
        models = {model["object_name"]: model for app in apps for model in app["models"]}
        eyes = sight.of(request)
        for name, count in (home.waiting_counts(eyes) if eyes else {}).items():
            if name in models:
                models[name]["waiting"] = count
        for model in models.values():
            page = self._registry[model["model"]]
            model["name"] = getattr(page, "title_of_list", model["name"])
        return navigation.groups(models, eyes)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show what waits, or what to do first; to somebody without an account, how to get into one."""
        request.current_app = self.name
        context = {**self.each_context(request), "title": self.index_title, "subtitle": None, **(extra_context or {})}
        eyes = sight.of(request)
        if eyes is None:
            return TemplateResponse(request, "memory/no_account.html", {**context, "title": "No account yet"})
        context["figures"] = home.figures(eyes)
        context["capture_url"] = request.build_absolute_uri("/v1/capture")
        context["context_url"] = request.build_absolute_uri("/v1/context")
        return TemplateResponse(request, "memory/home.html", context)

    def choose_account(self, request: HttpRequest) -> HttpResponse:
        """Change to another account of the signed-in person; anything else is ignored."""
        wanted = request.POST.get("account", "")
        if wanted in {account.key for account in request.accounts}:
            request.session[ACCOUNT_IN_SESSION] = wanted
        return redirect("admin:index")

    def suggest_subjects(self, request: HttpRequest) -> JsonResponse:
        """Return the keys and names of some subjects that start with what was typed."""
        text = typed(request.GET, "q")
        eyes = sight.of(request)
        if eyes is None or not eyes.is_curator or not text:
            return JsonResponse({"subjects": []})
        found = subjects_called(request, text).order_by("key")[:SUGGESTIONS]
        return JsonResponse({"subjects": [{"key": subject.key, "name": subject.name} for subject in found]})
