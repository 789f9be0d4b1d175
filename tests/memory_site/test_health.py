"""The two pages that say how the installation is, and what they keep to themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django_q.models import OrmQ

from facts import embedding
from memory_site import health
from memory_site.models import Heartbeat

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Embedder:
    """Embeds, or fails as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.error:
            raise self.error
        return [[1.0] for _ in texts]


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "now", lambda: MOMENT)
    monkeypatch.setattr(health, "_lasting", set())
    monkeypatch.setattr(embedding, "provider", lambda: Embedder())


def states(client: Client) -> dict[str, str]:
    return {name: part["status"] for name, part in client.get("/ready").json()["components"].items()}


def test_health_needs_no_database(client: Client) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert client.post("/health").status_code == 405


@pytest.mark.django_db
def test_ready_when_all_parts_are_there(client: Client) -> None:
    Heartbeat.objects.create(name="worker", beat_at=MOMENT - timedelta(seconds=30))
    OrmQ.objects.create(key="memory", payload="x", lock=MOMENT - timedelta(seconds=2.5))
    answer = client.get("/ready")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "components": {
            "database": {"status": "ok"},
            "migrations": {"status": "ok"},
            "worker": {
                "status": "ok",
                "last_beat_at": "2026-03-01T11:59:30+00:00",
                "oldest_waiting_seconds": 2.5,
            },
            "embedder": {"status": "ok"},
        },
    }


@pytest.mark.django_db
@pytest.mark.parametrize("beat_at", [None, MOMENT - timedelta(seconds=181)])
def test_waits_for_the_worker(client: Client, beat_at: datetime | None) -> None:
    if beat_at:
        Heartbeat.objects.create(name="worker", beat_at=beat_at)
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "starting")
    assert states(client) == {"database": "ok", "migrations": "ok", "worker": "waiting", "embedder": "ok"}


@pytest.mark.django_db
def test_a_failing_part_is_named_and_its_error_is_not(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "provider", lambda: Embedder(RuntimeError("secret path")))
    answer = client.get("/ready")
    assert answer.json()["components"]["embedder"] == {"status": "waiting"}
    assert b"secret" not in answer.content


@pytest.mark.django_db
def test_a_switched_off_embedder_is_no_reason_to_wait(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    Heartbeat.objects.create(name="worker", beat_at=MOMENT)
    monkeypatch.setattr(embedding, "provider", lambda: None)
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["components"]["embedder"]) == (200, {"status": "off"})


@pytest.mark.django_db
def test_waits_for_migrations(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health.MigrationExecutor, "migration_plan", lambda self, targets: ["0001"])
    assert states(client)["migrations"] == "waiting"
    monkeypatch.undo()
    monkeypatch.setattr(embedding, "provider", lambda: Embedder())
    assert states(client)["migrations"] == "ok"
