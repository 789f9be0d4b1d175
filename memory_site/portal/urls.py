"""Addresses of the portal."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path

from memory_site.portal import entrance, fact_pages, leaving_pages, overview, sharing_pages, trail_pages

app_name = "me"

urlpatterns: list[URLPattern] = [
    path("", overview.home, name="home"),
    path("login/", entrance.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(next_page="me:login"), name="logout"),
    path("account/", entrance.choose_account, name="account"),
    path("capture/", overview.set_capture, name="capture"),
    path("facts/", fact_pages.listing, name="facts"),
    path("facts/<uuid:fact_id>/", fact_pages.show, name="fact"),
    path("facts/<uuid:fact_id>/contest/", fact_pages.contest, name="contest"),
    path("facts/<uuid:fact_id>/redact/", fact_pages.redact, name="redact"),
    path("facts/<uuid:fact_id>/withdraw/", fact_pages.withdraw, name="withdraw"),
    path("messages/", trail_pages.messages_page, name="messages"),
    path("reads/", trail_pages.reads_page, name="reads"),
    path("consents/", sharing_pages.consents_page, name="consents"),
    path("consents/<uuid:consent_id>/agree/", sharing_pages.agree, name="agree"),
    path("consents/<uuid:consent_id>/refuse/", sharing_pages.refuse, name="refuse"),
    path("export/", leaving_pages.export_page, name="export"),
    path("export.json", leaving_pages.export_json, name="export_json"),
    path("export.html", leaving_pages.export_html, name="export_html"),
    path("erase/", leaving_pages.erase_page, name="erase"),
    path("receipts/<uuid:forget_id>/", leaving_pages.receipt_page, name="receipt"),
    path("receipts/<uuid:forget_id>.json", leaving_pages.receipt_json, name="receipt_json"),
]
