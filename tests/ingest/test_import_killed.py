"""An import whose process is killed in the middle of a chunk: nothing half done, and the next one goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from facts import long_work
from facts.actors import system
from facts.models import Event, LongJob
from facts.tenancy import account_transaction
from ingest.imports import running
from ingest.imports.running import Options
from tests.factories import AccountFactory

#: An import in chunks of two that stays in the transaction of its second one until it is killed.
IMPORTER = """
import time, uuid, django
django.setup()
from django.db import connections
for alias in ("default", "owner"):
    connections[alias].settings_dict["NAME"] = {database!r}
from facts import long_work
from ingest.imports import running

running.CHUNK = 2
note, calls = running._note_faults, iter(range(9))

def stay(*arguments):
    note(*arguments)
    if next(calls) == 1:
        print("there", flush=True)
        time.sleep(60)

running._note_faults = stay
long_work.drive(uuid.UUID({account!r}), uuid.UUID({job!r}))
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_killed_process_leaves_whole_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = AccountFactory()
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(_said(n)) + "\n" for n in range(7)))
    work = running.begin(account.id, path, Options(source="events"), actor=system("test"))
    script = IMPORTER.format(database=connection.settings_dict["NAME"], account=str(account.id), job=str(work.pk))
    importer = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        cwd=Path(settings.BASE_DIR),
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "memory_site.settings"},
    )
    try:
        assert importer.stdout.readline() == b"there\n"
    finally:
        importer.kill()
        importer.communicate()
    with account_transaction(account.id):
        left = LongJob.objects.get()
        assert (left.state, left.done, Event.objects.count()) == ("running", 2, 2)
    monkeypatch.setattr(running, "CHUNK", 2)
    done = long_work.drive(account.id, work.pk)
    assert (done.state, done.done, done.counts) == ("done", 7, {"captured": 7})
    with account_transaction(account.id):
        assert Event.objects.count() == 7


def _said(number: int) -> dict[str, Any]:
    return {"text": f"m{number}", "subject_id": "ana", "occurred_at": f"2024-03-{number + 1:02}T09:00:00Z"}
