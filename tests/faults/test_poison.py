"""A message whose reading kills the process that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import story
from tests.faults.extractor import POISON
from tests.faults.installation import Installation, until, working

pytestmark = pytest.mark.slow

POISONED = f"I am allergic to {POISON}."


def test_a_poisoned_message_ends_failed_lets_the_rest_through_and_can_be_retried(
    installation: Installation, tmp_path: Path
) -> None:
    account = installation.inside("account", "poisoned")
    poison = tmp_path / "poison"
    poison.touch()
    texts = ["I live in Lyon.", POISONED, "I prefer tea."]
    told = [[story.message(person, text, day=day) for day, text in enumerate(texts)] for person in ("ana",)]
    told += [[story.message("ben", "I live in Oslo.", day=0)]]
    installation.tell(account, told)
    poisoned = "SELECT id::text FROM facts_event WHERE account_id = %s AND text = %s"
    ((event_id,),) = installation.rows(poisoned, [account, POISONED])

    def outcome() -> tuple[str, str, int, str]:
        (row,) = installation.rows(
            "SELECT o.result, j.status, j.attempts, o.error_class FROM ingest_eventoutcome o"
            " JOIN facts_job j ON j.id = o.job_id WHERE o.event_id = %s",
            [event_id],
        )
        return row

    def given_up() -> bool:
        # Whoever claimed it died at once. Waiting for the claims to run out is not what this is about.
        installation.rows(
            "UPDATE facts_job SET claimed_at = claimed_at - interval '1 hour' WHERE status = 'running'"
            " AND input_key = %s AND claimed_at BETWEEN now() - interval '1 hour' AND now() - interval '2 seconds'",
            [event_id],
        )
        return outcome()[0] == "failed"

    environment = {"DJANGO_SETTINGS_MODULE": "tests.faults.settings", "FAULTS_POISON": str(poison)}
    with installation.ticking(), working(installation, environment=environment) as worker:
        until(given_up, "the poisoned message is tried for ever")
        assert outcome() == ("failed", "dead", 5, "attempts_used_up")
        until(lambda: story.pending(installation, account) == 0, "the rest is held up")
        statements = {row[1] for row in story.facts(installation, account)}
        assert statements == {"Ana lives in Lyon.", "Ana prefers tea.", "Ben lives in Oslo."}

        poison.unlink()
        (event,) = installation.rows(
            "SELECT id FROM facts_event WHERE account_id = %s AND text = %s", [account, POISONED]
        )
        installation.inside("retry", account, str(event[0]))
        until(lambda: outcome()[:3] == ("facts", "done", 1), "the retry is not run")
        assert not worker.has_ended()
    assert "Ana is allergic to cyanide." in {row[1] for row in story.facts(installation, account)}
    assert story.results(installation, account) == {"facts": 4}
    assert story.doubled(installation, account) == []
    assert installation.inside("audit", account) == "0"
