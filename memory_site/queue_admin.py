"""The queue in the admin: to look at, for superusers only.

The queue's own pages let whoever may see a result run it again, and whoever may add a schedule run any function.
"""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django_q.models import Failure, OrmQ, Schedule, Success

from memory_site.models import Heartbeat


class LookOnlyAdmin(admin.ModelAdmin):
    """A page that shows rows to superusers and changes nothing."""

    actions = None
    list_per_page = 50
    show_full_result_count = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show it to superusers."""
        return request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Show it to superusers."""
        return request.user.is_superuser

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds rows here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody changes rows here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody deletes rows here."""
        return False


class ResultAdmin(LookOnlyAdmin):
    """What ran; `group` is the function that was queued."""

    list_display = ["group", "name", "started", "stopped", "attempt_count"]
    fields = ["group", "name", "started", "stopped", "attempt_count", "args"]
    search_fields = ["group"]
    search_help_text = "Path of the function"


class FailureAdmin(ResultAdmin):
    """What failed, with the class of the error."""

    fields = [*ResultAdmin.fields, "result"]


class ScheduleAdmin(LookOnlyAdmin):
    """What runs by the clock."""

    list_display = ["name", "args", "schedule_type", "minutes", "cron", "next_run"]
    fields = list_display


class QueuedAdmin(LookOnlyAdmin):
    """What waits, or is being worked on: then `lock` is in the future."""

    list_display = ["id", "key", "lock"]
    fields = list_display


class HeartbeatAdmin(LookOnlyAdmin):
    """Signs of life of the background processes."""

    list_display = ["name", "beat_at"]


def register(site: admin.AdminSite) -> None:
    """Put these pages in place of the queue's own."""
    pages: dict[type[Model], type[LookOnlyAdmin]] = {
        Success: ResultAdmin,
        Failure: FailureAdmin,
        Schedule: ScheduleAdmin,
        OrmQ: QueuedAdmin,
        Heartbeat: HeartbeatAdmin,
    }
    for model, page in pages.items():
        if site.is_registered(model):
            site.unregister(model)
        site.register(model, page)
