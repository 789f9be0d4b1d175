"""What becomes of this app's columns that name a subject, when the subject is merged. Registered when Django starts."""

from __future__ import annotations

import uuid

from facts.subject_rows import Following, follows, forbids, stays
from ingest.models import OptOut


def register() -> None:
    """Register every column."""
    for table, column in (
        ("ingest.EventOutcome", "subject"),
        ("ingest.Action", "subject"),
        ("ingest.Action", "assignee"),
        ("ingest.Delivery", "recipient"),
        ("ingest.ChannelBinding", "subject"),
    ):
        follows(Following(table=table, column=column))
    follows(Following(table="ingest.MoodEntry", column="subject", once=("day",)))
    # Who asked not to be remembered has asked it as both.
    follows(Following(table="ingest.OptOut", column="subject", once=()))
    for name, because in {
        "ingest.TargetRecipient.subject": "who is told about people was granted to one, not to the other",
        "ingest.SlackChannel.switched_by": "who did it then",
    }.items():
        stays(name, because)
    forbids("opt_outs", _opt_outs_differ)


def _opt_outs_differ(account_id: uuid.UUID, source: uuid.UUID, target: uuid.UUID) -> str:
    said = OptOut.objects.filter(account_id=account_id, subject__in=[source, target]).values_list("active", flat=True)
    return "One of the two asked not to be remembered, the other one to be: ask them." if len(set(said)) > 1 else ""
