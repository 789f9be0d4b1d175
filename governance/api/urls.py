"""Addresses of governance, below the API's prefix."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
