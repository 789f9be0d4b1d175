"""That one subject is another one: who said so, and everything that is needed to take it back."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models.owned import Owned
from facts.models.tenancy import Subject


class SubjectMerge(Owned):
    """A person said that ``source`` is ``target``. Nothing is lost: ``source`` stays, as another name of ``target``.

    ``facts``: ``[{"fact": id, "from_version": n, "to_version": m, "moved": true}]``, those of the target that the
    merge changed with ``moved`` false. ``rows``: by table and column the ids of rows that were of the source and are of
    the target now. ``detail``: conflict sets that were opened, evidence that was brought elsewhere, names that their
    platform had confirmed as the source's, and after an undo which facts could not be divided. Ids, times and states
    only.
    """

    source = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+", db_index=False)
    target = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+", db_index=False)
    facts = models.JSONField(default=list)
    rows = models.JSONField(default=dict)
    detail = models.JSONField(default=dict)
    rationale = models.TextField(blank=True)
    actor = models.JSONField(default=dict)
    merged_at = models.DateTimeField(default=now)
    group = models.UUIDField()
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "source"], condition=Q(undone_at__isnull=True), name="subject_merged_once"
            )
        ]
        indexes = [models.Index(fields=["account", "target"], name="merge_by_target")]
