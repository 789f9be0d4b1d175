"""Two workers, four processes in all, and contradicting messages about one subject, round after round."""

from __future__ import annotations

import pytest

from tests.faults import story
from tests.faults.installation import Installation, until, working

pytestmark = pytest.mark.slow

ROUNDS = 20
CITIES = ("Lyon", "Rome", "Oslo", "Bern")


def test_contradictions_that_workers_race_for_open_one_set_each(installation: Installation) -> None:
    account = installation.inside("account", "raced")
    # Each message is captured by itself, so that each is delivered by itself.
    installation.tell(
        account,
        [
            [story.message(f"person{number:02}", f"I live in {city}.", day=day)]
            for number in range(ROUNDS)
            for day, city in enumerate(CITIES)
        ],
    )
    with working(installation) as first, working(installation) as second:
        until(lambda: story.pending(installation, account) == 0, "events are left")
        assert not first.has_ended()
        assert not second.has_ended()
    members = sorted(f"The user lives in {city}." for city in CITIES)
    assert story.conflict_sets(installation, account) == [
        (f"person{number:02}", "contradiction", "open", members) for number in range(ROUNDS)
    ]
    facts = story.facts(installation, account)
    assert [(row[0], row[2]) for row in facts if row[1] == "The user lives in Lyon."] == [
        (f"person{number:02}", "active") for number in range(ROUNDS)
    ]
    assert len(facts) == ROUNDS * len(CITIES)
    assert story.results(installation, account) == {"facts": ROUNDS * len(CITIES)}
    assert story.doubled(installation, account) == []
    assert installation.inside("audit", account) == "0"
