"""How the project wipes the tables that belong to no app of its own. Registered when Django starts."""

from __future__ import annotations

from django.contrib.admin.models import LogEntry
from django.db.models import Q, QuerySet
from django_q.models import Task

from facts.erasure import Erasing, Store, holds_no_content, register
from facts.erasure_search import keys_saying
from memory_site.models import LastFilters, SavedView


def register_stores() -> None:
    """Register the tables of the framework, of the queue and of this project."""
    for store in (
        Store(name="admin_log", tables=("admin.LogEntry",), find=_log, wipe=_wipe_log),
        Store(name="failed_tasks", tables=("django_q.Task",), find=_failed_tasks, wipe=_wipe_failed_tasks),
        Store(name="saved_views", tables=("memory_site.SavedView",), find=_saved_views, wipe=_delete),
        Store(name="last_filters", tables=("memory_site.LastFilters",), find=_last_filters, wipe=_delete),
    ):
        register(store)
    for table, because in {
        "auth.Permission": "names of permissions",
        "auth.Group": "names of groups",
        "contenttypes.ContentType": "names of models",
        "sessions.Session": "who is signed in",
        "django_q.Schedule": "names of functions and times",
        "django_q.OrmQ": "ids of jobs that wait",
        "memory_site.Heartbeat": "names of processes",
        "memory_site.CallCount": "addresses and numbers of calls",
        "memory_site.ScheduledRun": "names of schedules and when they ran",
    }.items():
        holds_no_content(table, because)


def _log(erasing: Erasing) -> QuerySet:
    """What the admin noted about these rows, or in these words."""
    ids = [str(key) for key in (*erasing.facts, *erasing.touched_events, *erasing.subject_ids)]
    return LogEntry.objects.filter(
        Q(object_id__in=ids) | Q(pk__in=keys_saying(erasing, LogEntry, "object_repr", "change_message"))
    ).exclude(object_repr="", change_message="")


def _wipe_log(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(object_repr="", change_message="")


def _failed_tasks(erasing: Erasing) -> QuerySet:
    """All of them: what failed is kept as a packed traceback, in which the database may have quoted a row."""
    return Task.objects.filter(success=False, result__isnull=False)


def _wipe_failed_tasks(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(result=None)


def _saved_views(erasing: Erasing) -> QuerySet:
    """Views of lists that are named after, or look for, what goes."""
    saying = keys_saying(erasing, SavedView, "name", "query")
    return SavedView.objects.filter(account_id=erasing.account_id, pk__in=saying)


def _last_filters(erasing: Erasing) -> QuerySet:
    """Filters that look for what goes."""
    saying = keys_saying(erasing, LastFilters, "query")
    return LastFilters.objects.filter(account_id=erasing.account_id, pk__in=saying)


def _delete(erasing: Erasing, rows: QuerySet) -> None:
    rows.delete()
