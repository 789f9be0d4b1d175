"""The admin's page of imports: how far each has come, and what it could not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from facts import long_jobs, long_work
from facts.models import Account, Job, LongJob
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


def _upload(client: Client, content: bytes, source: str = "mem0", **fields: str) -> HttpResponse:
    form = {"file": SimpleUploadedFile("m.json", content), "source": source, "scope": "/imported", **fields}
    return client.post(reverse("admin:import_new"), form)


def test_a_file_is_uploaded_and_imported_by_the_worker(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    assert "Import a file" in client.get(reverse("admin:import_new")).content.decode()
    memory = {"id": "1", "memory": "Likes tea", "user_id": "ana", "created_at": "2024-03-01T12:00:00Z"}
    answer = _upload(client, json.dumps([memory, {"memory": "x"}]).encode())
    work = LongJob.objects.get()
    assert answer.headers["Location"] == reverse("admin:facts_longjob_change", args=[work.pk])
    long_work.take_turn(account.id, Job.objects.get(kind=long_jobs.TURN).pk)
    run = ImportRun.objects.get()
    assert (run.status, run.counts["fact_active"]) == ("faulty", 1)
    shown = client.get(reverse("admin:ingest_importrun_change", args=[run.pk])).content.decode()
    assert "record 2: missing_time (created_at)" in shown
    assert "100%" not in shown


@pytest.mark.parametrize("content", [b"no json", b"x" * (2 * 1024 * 1024 + 1)])
def test_a_file_that_cannot_be_imported_is_told_in_the_form(account: Account, client: Client, content: bytes) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    assert b"errorlist" in _upload(client, content).content
    assert not LongJob.objects.exists()


def test_uploading_is_the_administrators_business(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.CURATOR))
    assert client.get(reverse("admin:import_new")).status_code == 403
    assert _upload(client, b"[]").status_code == 403
