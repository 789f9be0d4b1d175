"""Addresses of the web surface."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from memory_site import consent_page, front_door, health

urlpatterns: list[URLPattern | URLResolver] = [
    path("", front_door.enter),
    path("favicon.ico", RedirectView.as_view(url=static("memory_site/icon.svg"))),
    path("health", health.health, name="health"),
    path("ready", health.ready, name="ready"),
    path("consent/<str:token>/", consent_page.consent, name="consent"),
    path("device/", RedirectView.as_view(pattern_name="admin:device_login", query_string=True), name="device"),
    path("me/", include("memory_site.portal.urls")),
    path("admin/", admin.site.urls),
    path("context/", include("ingest.api.context_urls")),
    path("context/", include("memory_site.api.context_urls")),
    path("v1/", include("memory_site.api.urls")),
    path("api/v1/", include("memory_site.api.urls")),
]
