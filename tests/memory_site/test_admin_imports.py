"""The admin's page of imports: how far each has come, and what it could not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Account
from governance.models import Role
from ingest.models import ImportRun
from ingest.slack.importing import Options, import_export
from tests.admin_scene import sign_in
from tests.factories import person_in
from tests.ingest.slack_exports import said, write

LIST = "admin:ingest_importrun_changelist"


@pytest.fixture
def run(account: Account, tmp_path: Path) -> ImportRun:
    """An import of two messages, in which one file could not be read."""
    days = {"general/2025-01-10": [said("a"), said("b", after=1)], "general/2025-01-11": b"<b>no</b>"}
    return ImportRun.objects.get(pk=import_export(account.id, write(tmp_path, days), Options()).run_id)


def test_an_import_shows_its_progress_and_its_faults(account: Account, client: Client, run: ImportRun) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    listed = client.get(reverse(LIST)).content.decode()
    assert "2 of 2" in listed
    shown = client.get(reverse("admin:ingest_importrun_change", args=[run.pk])).content.decode()
    assert "general/2025-01-11.json: it is no JSON" in shown
    assert "captured" in shown


def test_imports_are_the_administrators_business(account: Account, client: Client, run: ImportRun) -> None:
    sign_in(client, person_in(account, role=Role.CURATOR))
    assert client.get(reverse(LIST)).status_code == 403
