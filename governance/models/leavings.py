"""Who left an account, what that ended, and what of it can be brought back."""

from __future__ import annotations

from django.db import models

from facts.clock import now
from facts.models import Subject, User
from facts.models.owned import Owned, one_of


class LeaversFacts(models.TextChoices):
    """What becomes of the facts about somebody who leaves."""

    KEEP = "keep", "stay with the account, as governed as before"
    FORGET = "forget", "are forgotten, and can be brought back"
    ERASE = "erase", "are erased for good, with what they said themselves"


class Leaving(Owned):
    """One person's leaving. ``detail`` holds ids, roles and numbers: what ended, and what an undo gives back."""

    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    facts = models.CharField(max_length=8, choices=LeaversFacts.choices)
    detail = models.JSONField(default=dict)
    actor = models.JSONField(default=dict)
    left_at = models.DateTimeField(default=now)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [one_of("facts", LeaversFacts, "leaving_facts_known")]
        indexes = [models.Index(fields=["account", "subject"], name="leaving_by_subject")]

    @property
    def may_be_undone(self) -> bool:
        """Whether there is anything to bring back."""
        return self.undone_at is None and self.facts != LeaversFacts.ERASE and self.user_id is not None
