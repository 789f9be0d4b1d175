"""An export that nobody here wrote, where there is one: every record is accounted for, and nothing comes twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from facts.models import Account, Event
from ingest.slack.importing import Options, examine, import_export

EXPORT = os.environ.get("MEMORY_SLACK_EXPORT", "")


@pytest.mark.skipif(not EXPORT, reason="MEMORY_SLACK_EXPORT names no export")
def test_every_record_is_accounted_for_and_none_is_stored_twice(account: Account) -> None:
    found = examine(Path(EXPORT), Options())
    first = import_export(account.id, Path(EXPORT), Options())
    assert first.messages == sum(first.counts.values()) - first.counts.get("edited_before", 0) == found.messages
    assert first.counts["captured"] == Event.objects.filter(revision=1).count()
    again = import_export(account.id, Path(EXPORT), Options())
    assert "captured" not in again.counts
    assert "revised" not in again.counts
