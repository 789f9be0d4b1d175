"""Whether this installation lives (`/health`) and whether it can do its work (`/ready`). Both are open to
anyone.

They say which part is missing, never why: an address, a version or an error message is for the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from facts import embedding
from facts.clock import now
from facts.embedding import EmbedderIdentity
from facts.models import EmbeddingSpace
from memory_site import heartbeat, scheduled_runs
from memory_site.models import ScheduledRun
from memory_site.schedules import COUNTS_DEAD_LETTERS
from retrieval.rerankers import registry as rerankers
from retrieval.rerankers.base import RerankerUnavailable

logger = logging.getLogger(__name__)

OK = "ok"
OFF = "off"  # switched off, which is no reason to wait
DEGRADED = "degraded"  # reads do without it and say so, which is no reason to wait either
WAITING = "waiting"

_lasting: set[str] = set()  # parts that, once there, stay there for the life of the process


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    """Answer 200 whenever the process can answer at all."""
    return JsonResponse({"status": OK})


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when all parts are there, else 503, with the state of each."""
    components = {name: _state(name, probe) for name, probe in PROBES.items()}
    complete = all(component["status"] in {OK, OFF, DEGRADED} for component in components.values())
    body = {"status": "ready" if complete else "starting", "components": components}
    return JsonResponse(body, status=200 if complete else 503)


def _state(name: str, probe: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what the probe says; a probe that fails means that its part is not there."""
    try:
        return probe()
    except Exception:  # whatever is wrong, the answer is that the part is missing
        logger.warning("not_ready", exc_info=True, extra={"component": name})
        connection.close()
        return {"status": WAITING}


def _database() -> dict[str, Any]:
    """Ask the database for a row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"status": OK}


def _migrations() -> dict[str, Any]:
    """Compare the migrations of the code with those of the database."""
    if "migrations" not in _lasting:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return {"status": WAITING}
        _lasting.add("migrations")
    return {"status": OK}


def _worker() -> dict[str, Any]:
    """Look when the worker last took up a task, and since when one waits."""
    moment = now()
    beat_at, due = heartbeat.last_beat(), heartbeat.oldest_due(at=moment)
    return {
        "status": OK if heartbeat.is_fresh(beat_at, at=moment) else WAITING,
        "last_beat_at": beat_at.isoformat() if beat_at else None,
        "oldest_waiting_seconds": round((moment - due).total_seconds(), 1) if due else None,
    }


def _schedules() -> dict[str, Any]:
    """Say when everything that runs by the clock was last completed. What is late is no reason to wait either."""
    found = scheduled_runs.states(at=now())
    late = [state.name for state in found if state.is_late]
    return {
        "status": DEGRADED if late else OK,
        "late": late,
        "completed": {
            state.name: state.completed_at.isoformat(timespec="seconds") if state.completed_at else None
            for state in found
        },
    }


def _embedder() -> dict[str, Any]:
    """Say whose vectors reads go by, how many are missing, and which others are being made.

    Embeds one word, which loads the model on first use; nobody is sent anything.
    """
    asked_for = embedding.provider()
    if asked_for is None:
        return {"status": OFF}
    reader = embedding.reading()
    if reader is None:
        serving = embedding.serving()
        note = "reads go by text alone: the embedder whose vectors are there cannot be made; see manage.py reembed"
        state = {"status": DEGRADED, "note": note, **(_vectors(embedding.identity_of(serving)) if serving else {})}
    else:
        if not reader.remote and "embedder" not in _lasting:
            reader.embed_documents(["ready"])
            _lasting.add("embedder")
        state = {"status": OK, **_vectors(reader.identity)}
    if reader is not asked_for:
        state["being_made"] = _vectors(asked_for.identity)
    return state


def _vectors(identity: EmbedderIdentity) -> dict[str, Any]:
    """Describe an embedder, with the number of missing vectors that the worker counted last."""
    space = embedding.space(identity)
    row = EmbeddingSpace.objects.get(pk=space.id)
    return {
        "provider": identity.provider,
        "model": identity.model,
        "dimensions": identity.dimensions,
        "recipe": identity.recipe,
        "vectors_missing": row.missing,
        "texts_refused": row.refused,
        "counted_at": row.counted_at.isoformat() if row.counted_at else None,
    }


def _reranker() -> dict[str, Any]:
    """Say which reranker searches use; load a local one at the first use."""
    reranker = rerankers.configured()
    if reranker is None:
        return {"status": OFF}
    try:
        if "reranker" not in _lasting:
            reranker.load()
            _lasting.add("reranker")
    except RerankerUnavailable:
        logger.warning("reranker_not_loaded", exc_info=True)
        return {"status": DEGRADED, "name": reranker.label}
    return {"status": OK, "name": reranker.label}


def _deliveries() -> dict[str, Any]:
    """Say how many deliveries were given up, in all accounts together, as the worker counted last. Each waits for a
    person, which is no reason to wait for anybody else."""
    run = ScheduledRun.objects.filter(name=COUNTS_DEAD_LETTERS).first()
    counted_at = run.completed_at if run else None
    return {
        "status": OK,
        "dead": run.settled if run else None,
        "counted_at": counted_at.isoformat(timespec="seconds") if counted_at else None,
    }


PROBES: dict[str, Callable[[], dict[str, Any]]] = {
    "database": _database,
    "migrations": _migrations,
    "worker": _worker,
    "schedules": _schedules,
    "embedder": _embedder,
    "reranker": _reranker,
    "deliveries": _deliveries,
}
