"""Tells Django to use our admin site wherever it says ``admin.site``."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class MemoryAdminConfig(AdminConfig):
    """The admin application with our site as the default one."""

    default_site = "memory_site.admin_pages.site.MemoryAdminSite"
