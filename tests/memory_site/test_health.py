"""The two pages that say how the installation is, and what they keep to themselves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django_q.models import OrmQ

from facts import embedding
from memory_site import health, schedules
from memory_site.models import Heartbeat, ScheduledRun
from retrieval.embedders import registry
from retrieval.rerankers import registry as rerankers
from retrieval.rerankers.base import RerankerUnavailable

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

#: What is said of the embedder below.
EMBEDDER = {
    "provider": "test",
    "model": "one",
    "dimensions": 384,
    "recipe": "r",
    "vectors_missing": None,
    "texts_refused": None,
    "counted_at": None,
}


class Embedder:
    """Embeds, or fails as it is told."""

    remote = False

    def __init__(self, error: Exception | None = None, *, version: str = "1") -> None:
        self.error = error
        self.identity = embedding.EmbedderIdentity("test", "one", version, 384, "r")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.error:
            raise self.error
        return [[1.0] for _ in texts]


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(health, "now", lambda: MOMENT)
    monkeypatch.setattr(health, "_lasting", set())
    monkeypatch.setattr(embedding, "_spaces", {})
    embedding.register(Embedder())
    yield
    registry.register()
    rerankers.use(None)


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
            "schedules": {"status": "ok", "late": [], "completed": {entry.name: None for entry in schedules.TABLE}},
            "embedder": {"status": "ok", **EMBEDDER},
            "reranker": {"status": "off"},
            "deliveries": {"status": "ok", "dead": None, "counted_at": None},
        },
    }


@pytest.mark.django_db
@pytest.mark.parametrize("beat_at", [None, MOMENT - timedelta(seconds=181)])
def test_waits_for_the_worker(client: Client, beat_at: datetime | None) -> None:
    if beat_at:
        Heartbeat.objects.create(name="worker", beat_at=beat_at)
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "starting")
    assert states(client) == {
        "database": "ok",
        "migrations": "ok",
        "worker": "waiting",
        "schedules": "ok",
        "embedder": "ok",
        "reranker": "off",
        "deliveries": "ok",
    }


@pytest.mark.django_db
def test_what_is_late_by_the_clock_is_named_and_holds_up_nobody(client: Client) -> None:
    Heartbeat.objects.create(name="worker", beat_at=MOMENT)
    for name, hours in (("expire facts", 3.1), ("age reviews", 3), ("remove raw text", 71)):
        completed = MOMENT - timedelta(hours=hours)
        ScheduledRun.objects.create(name=name, scheduled_at=MOMENT - timedelta(days=9), completed_at=completed)
    ScheduledRun.objects.create(name="ask to revalidate", scheduled_at=MOMENT - timedelta(hours=4))
    ScheduledRun.objects.create(name="heartbeat", scheduled_at=MOMENT - timedelta(seconds=180))
    answer = client.get("/ready")
    told = answer.json()["components"]["schedules"]
    assert (answer.status_code, told["status"]) == (200, "degraded")
    assert told["late"] == ["expire facts", "ask to revalidate"]
    assert told["completed"]["expire facts"] == "2026-03-01T08:54:00+00:00"
    assert told["completed"]["ask to revalidate"] is None


@pytest.mark.django_db
def test_a_failing_part_is_named_and_its_error_is_not(client: Client) -> None:
    embedding.register(Embedder(RuntimeError("secret path")))
    answer = client.get("/ready")
    assert answer.json()["components"]["embedder"] == {"status": "waiting"}
    assert b"secret" not in answer.content


@pytest.mark.django_db
def test_a_switched_off_embedder_is_no_reason_to_wait(client: Client) -> None:
    Heartbeat.objects.create(name="worker", beat_at=MOMENT)
    embedding.register(None)
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["components"]["embedder"]) == (200, {"status": "off"})


@pytest.mark.django_db
def test_waits_for_migrations(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health.MigrationExecutor, "migration_plan", lambda self, targets: ["0001"])
    assert states(client)["migrations"] == "waiting"
    monkeypatch.undo()
    assert states(client)["migrations"] == "ok"


@pytest.mark.django_db
def test_vectors_that_are_being_made_are_counted(client: Client) -> None:
    before = Embedder()
    embedding.register(before)
    assert embedding.reading() is before
    after = Embedder(version="2")
    embedding.register(after, remake=lambda identity, blueprint: before)
    embedding.note_missing(embedding.space(after.identity), 7, refused=2)
    found = client.get("/ready").json()["components"]["embedder"]
    made = found.pop("being_made")
    assert found == {"status": "ok", **EMBEDDER}
    assert (made["model"], made["vectors_missing"], made["counted_at"] is not None) == ("one", 7, True)
    assert made["texts_refused"] == 2


@pytest.mark.django_db
def test_an_embedder_that_cannot_be_made_again_degrades_and_is_no_reason_to_wait(client: Client) -> None:
    Heartbeat.objects.create(name="worker", beat_at=MOMENT)
    assert embedding.reading() is not None
    embedding.register(Embedder(version="2"))
    answer = client.get("/ready")
    found = answer.json()["components"]["embedder"]
    assert (answer.status_code, found["status"], found["being_made"]["vectors_missing"]) == (200, "degraded", None)
    assert "manage.py reembed" in found["note"]


@pytest.mark.django_db
def test_a_remote_embedder_is_asked_nothing(client: Client) -> None:
    remote = Embedder(RuntimeError("asked"))
    remote.remote = True
    embedding.register(remote)
    assert states(client)["embedder"] == "ok"


class Reranker:
    """Loads, or cannot."""

    label = "local:tiny"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def load(self) -> None:
        if self.error:
            raise self.error


@pytest.mark.django_db
@pytest.mark.parametrize(("error", "status"), [(None, "ok"), (RerankerUnavailable("secret path"), "degraded")])
def test_the_reranker_is_named(client: Client, error: Exception | None, status: str) -> None:
    rerankers.use(Reranker(error))
    answer = client.get("/ready")
    assert answer.json()["components"]["reranker"] == {"status": status, "name": "local:tiny"}
    assert b"secret" not in answer.content
