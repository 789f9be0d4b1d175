"""What people say in these tests, and what has become of it: as rows that two accounts can be compared by."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.factories import MARCH
from tests.faults.installation import Installation

#: Repetitions, an update, contradictions, a denial, thanks, in this order; each a day after the one before.
LINES = (
    "I live in Lyon.",
    "I live in Lyon.",
    "I prefer tea.",
    "Thanks!",
    "I now live in Rome.",
    "I am allergic to nuts.",
    "I live in Paris.",
    "I'm not allergic to nuts.",
)


def message(person: str, text: str, *, day: int) -> dict[str, Any]:
    """Return one message as it is captured, with a key by which a repeat is recognised."""
    return {
        "project_id": "p",
        "subject_id": person,
        "occurred_at": (MARCH + timedelta(days=day)).isoformat(),
        "idempotency_key": f"{person}-{day}",
        "payload": {"text": text},
    }


def story(people: int) -> list[list[dict[str, Any]]]:
    """Return the same lines said by many people, as one batch of messages for each line."""
    return [[message(f"person{n}", text, day=day) for n in range(people)] for day, text in enumerate(LINES)]


def facts(installation: Installation, account_id: str) -> list[tuple[Any, ...]]:
    """Return every fact: whose, what, status, interval, withheld or not, and on which messages it rests."""
    return installation.rows(
        "SELECT s.key, f.statement, f.status, f.valid_from, f.valid_to, f.withheld, f.corroboration,"
        " array(SELECT e.text || e.occurred_at::text FROM facts_evidence v JOIN facts_event e ON e.id = v.event_id"
        "   WHERE v.fact_id = f.id ORDER BY 1)"
        " FROM facts_fact f JOIN facts_subject s ON s.id = f.subject_id WHERE f.account_id = %s ORDER BY 1, 2, 4",
        [account_id],
    )


def conflict_sets(installation: Installation, account_id: str) -> list[tuple[Any, ...]]:
    """Return every conflict set: whose, of which kind and status, and its present members."""
    return installation.rows(
        "SELECT s.key, c.kind, c.status,"
        " array(SELECT f.statement FROM facts_conflictmember m JOIN facts_fact f ON f.id = m.fact_id"
        "   WHERE m.conflict_set_id = c.id AND m.left_at IS NULL ORDER BY 1) AS members"
        " FROM facts_conflictset c JOIN facts_subject s ON s.id = c.subject_id"
        " WHERE c.account_id = %s ORDER BY 1, 2, 3, 4",
        [account_id],
    )


def passages(installation: Installation, account_id: str) -> list[tuple[Any, ...]]:
    """Return every passage with its place, and whether it can be found by words and by vector."""
    return installation.rows(
        "SELECT s.key, p.occurred_at, p.ordinal, p.text,"
        " (SELECT count(*) FROM facts_passagetext t WHERE t.passage_id = p.id),"
        " (SELECT count(*) FROM facts_passagevector v WHERE v.passage_id = p.id)"
        " FROM facts_passage p JOIN facts_subject s ON s.id = p.subject_id WHERE p.account_id = %s ORDER BY 1, 2, 3",
        [account_id],
    )


def doubled(installation: Installation, account_id: str) -> list[tuple[Any, ...]]:
    """Return what was written twice: revisions that change nothing, audit entries of one decision, candidates."""
    revisions = installation.rows(
        "SELECT fact_id, action, version FROM ("
        " SELECT *, lag(to_jsonb(r) - '{id,version,recorded_from,recorded_to,group}'::text[])"
        "   OVER (PARTITION BY fact_id ORDER BY version) AS before"
        " FROM facts_factrevision r WHERE account_id = %s) r"
        " WHERE before = to_jsonb(r) - '{id,version,recorded_from,recorded_to,group,before}'::text[]",
        [account_id],
    )
    entries = installation.rows(
        "SELECT action, object_id, metadata::text, count(*) FROM facts_auditentry"
        " WHERE account_id = %s AND action IN ('fact.proposed', 'gate.accepted', 'conflict.opened')"
        " GROUP BY 1, 2, 3 HAVING count(*) > 1",
        [account_id],
    )
    outcomes = installation.rows(
        "SELECT event_id, count(*) FROM ingest_eventoutcome WHERE account_id = %s GROUP BY 1 HAVING count(*) <> 1",
        [account_id],
    )
    decisions = installation.rows(
        "SELECT fact_id, gate, count(*) FROM governance_gatedecision WHERE account_id = %s GROUP BY 1, 2"
        " HAVING count(*) <> 1",
        [account_id],
    )
    return [*revisions, *entries, *outcomes, *decisions]


def pending(installation: Installation, account_id: str) -> int:
    """Return how many events wait."""
    return installation.rows(
        "SELECT count(*) FROM ingest_eventoutcome WHERE account_id = %s AND result = 'pending'", [account_id]
    )[0][0]


def results(installation: Installation, account_id: str) -> dict[str, int]:
    """Return how many events ended how."""
    return dict(
        installation.rows(
            "SELECT result, count(*) FROM ingest_eventoutcome WHERE account_id = %s GROUP BY 1", [account_id]
        )
    )
