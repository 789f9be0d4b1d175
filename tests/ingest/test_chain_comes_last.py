"""The audit chain of an account is locked at the end of what is consolidated, so that captures need not wait for it."""

from __future__ import annotations

import threading

import pytest
from django.db import connections

from facts import audit, embedding, tenancy
from facts.models import AuditEntry
from facts.tenancy import account_transaction
from governance import placement
from ingest import processing, reading
from ingest.line import Part
from tests.factories import MAY, key_principal
from tests.ingest.fakes import FakeExtractor, cities, tell

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 20


def test_a_capture_does_not_wait_for_what_is_consolidated_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_spaces", {})
    app = key_principal(tenancy.create_account(key="acme", name="Acme"))
    monkeypatch.setattr(reading, "configured_extractor", lambda: FakeExtractor(cities))
    tell(app)
    placed, captured = threading.Event(), threading.Event()
    submit = placement.submit

    def submit_and_stay(*arguments, **named):
        made = submit(*arguments, **named)
        placed.set()
        assert captured.wait(PATIENCE)
        return made

    monkeypatch.setattr(placement, "submit", submit_and_stay)

    def work() -> None:
        try:
            processing.process_front(Part(account_id=app.account_id))
        finally:
            connections.close_all()

    worker = threading.Thread(target=work)
    worker.start()
    assert placed.wait(PATIENCE)
    tell(app, "i live in Rome", at=MAY, subject_id="ben")
    captured.set()
    worker.join(PATIENCE)
    with account_transaction(app.account_id):
        assert list(AuditEntry.objects.order_by("seq").values_list("action", flat=True)) == [
            "key.created",
            "events.captured",
            "events.captured",
            "fact.proposed",
            "gate.accepted",
        ]
        assert list(audit.verify(app.account_id)) == []
