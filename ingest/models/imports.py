"""The records of imports: which channel belongs to which scope, and how far an import has come."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Scope, Subject
from facts.models.owned import Owned, one_of


class ChannelBinding(Owned):
    """A channel of a workspace and the scope in which everything said there is kept, by whatever way it comes.

    ``team`` is "-" where the source does not name its workspace.
    """

    team = models.CharField(max_length=64)
    channel_id = models.CharField(max_length=128)
    name = models.CharField(max_length=200)
    is_private = models.BooleanField(default=False)
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "team", "channel_id"], name="channel_bound_once"),
        ]

    def __str__(self) -> str:
        return f"#{self.name}"


class ImportStatus(models.TextChoices):
    """Where an import stands. One that was killed is still ``running``; starting it again continues it."""

    RUNNING = "running"
    DONE = "done"
    FAULTY = "faulty", "done, but for files that could not be read"


class ImportRun(Owned):
    """One import of one source with one set of options, across restarts.

    ``options`` is compared when an import is started again; ``messages`` are the records of all its files,
    ``messages_done`` those that were taken in or skipped; ``counts`` says what became of them, by reason.
    """

    kind = models.CharField(max_length=32)
    source = models.CharField(max_length=1_000)
    options = models.JSONField(default=dict)
    status = models.CharField(max_length=8, choices=ImportStatus.choices, default=ImportStatus.RUNNING)
    files = models.PositiveIntegerField(default=0)
    messages = models.PositiveIntegerField(default=0)
    messages_done = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict, blank=True)
    started_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            one_of("status", ImportStatus, "import_status_known"),
            models.CheckConstraint(
                condition=Q(status=ImportStatus.RUNNING, finished_at__isnull=True)
                | (~Q(status=ImportStatus.RUNNING) & Q(finished_at__isnull=False)),
                name="import_finished_iff_not_running",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.started_at:%Y-%m-%d %H:%M}"


class ImportedFile(Owned):
    """How far one file of an import has come: ``position`` records of it were taken in or skipped.

    ``digest`` is that of its content; a file that changed meanwhile is read from its start again. ``fault`` says why
    it could not be read, "" when it could.
    """

    run = models.ForeignKey(ImportRun, on_delete=models.CASCADE, related_name="imported_files")
    name = models.CharField(max_length=500)
    digest = models.CharField(max_length=64)
    position = models.PositiveIntegerField(default=0)
    fault = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["account", "run", "name"], name="imported_file_once")]


class ImportFault(Owned):
    """A record of an import that could not be taken in: its line, counted from 1, the field, and why. No content."""

    run = models.ForeignKey(ImportRun, on_delete=models.CASCADE, related_name="import_faults")
    line = models.PositiveIntegerField()
    field = models.CharField(max_length=100, blank=True)
    code = models.CharField(max_length=64)

    class Meta:
        ordering = ["line"]
        constraints = [models.UniqueConstraint(fields=["account", "run", "line"], name="import_fault_once")]


class ImportUpload(Owned):
    """A file that was uploaded to be imported, until that is over."""

    run = models.OneToOneField(ImportRun, on_delete=models.CASCADE, related_name="upload")
    content = models.BinaryField()
    created_at = models.DateTimeField(default=now)
