"""What the admin site shows of the project itself."""

from __future__ import annotations

from django.contrib import admin

from memory_site import queue_admin

queue_admin.register(admin.site)
