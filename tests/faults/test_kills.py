"""The worker is killed again and again while messages arrive: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.faults import story
from tests.faults.installation import Installation, Worker, kill, until, working

pytestmark = pytest.mark.slow

KILLS = 100
PEOPLE = 12
#: What is killed, and how often: one of the two processes that run tasks, whatever it does just then; one that brings
#: them tasks or notes results; those that keep all of them going; the watchdog, whose queue has to notice; everything.
KINDS = {"runner": 91, "helper": 2, "guard": 1, "queue": 1, "watchdog": 2, "everything": 3}
SLOW = {"DJANGO_SETTINGS_MODULE": "tests.faults.settings", "FAULTS_THINKING": "0.3"}


class Aim:
    """Tells a worker's processes apart, which all look the same from outside."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._helpers: dict[int, list[int]] = {}

    def at(self, tree: list[int], kind: str, chance: random.Random) -> int:
        """Return a process of that kind.

        The tree begins with watchdog, queue and guard. The guard first starts two runners, then two helpers; whatever
        it starts later takes the place of a runner.
        """
        helpers = self._helpers.setdefault(tree[2], sorted(tree[3:])[2:4])
        kinds = {
            "watchdog": tree[:1],
            "queue": tree[1:2],
            "guard": tree[2:3],
            "helper": helpers,
            "runner": [pid for pid in tree[3:] if pid not in helpers],
        }
        return chance.choice(kinds[kind] or tree)


def storm(worker: Worker, feeder: subprocess.Popen[str], batches: list[str], chance: random.Random) -> Counter[str]:
    """Kill :data:`KILLS` times, feeding in the batches on the way; return what was killed how often."""
    done: Counter[str] = Counter()
    aim = Aim()
    kinds = [kind for kind, times in KINDS.items() for _ in range(times)]
    chance.shuffle(kinds)
    feed_at = [round(KILLS * 0.8 * n / len(batches)) for n in range(len(batches))]
    while done.total() < KILLS:
        number = done.total()
        while feed_at and feed_at[0] <= number:
            feed_at.pop(0)
            feeder.stdin.write(batches.pop(0))
            feeder.stdin.flush()
        time.sleep(chance.uniform(0.2, 0.6))
        if worker.has_ended():
            worker.start()
        tree, kind = worker.tree(), kinds[number]
        if len(tree) < 7:
            # It is starting: mostly let it, sometimes not.
            if chance.random() < 0.98:
                continue
            kind = "everything"
        if kind == "everything":
            worker.kill_all()
        elif not kill(aim.at(tree, kind, chance)):
            continue
        done[kind] += 1
    return done


def test_a_hundred_kills_lose_nothing_and_double_nothing(installation: Installation) -> None:
    seed = int(os.environ.get("FAULTS_SEED", random.randrange(10**6)))
    print(f"FAULTS_SEED={seed}")
    chance = random.Random(seed)
    told = story.story(PEOPLE)
    calm, hurt = installation.inside("account", "calm"), installation.inside("account", "hurt")
    installation.tell(calm, told)
    assert installation.inside("settle", calm) == "0"
    installation.rows("DELETE FROM django_q_ormq")

    # In smaller batches, so that messages arrive all the time.
    batches = [json.dumps(batch[half::2]) + "\n" for batch in told for half in (0, 1)]
    feeder = installation.start(
        "-m", "tests.faults.inside", "tell", hurt, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    with working(installation, environment=SLOW) as worker:
        until(worker.is_up, "the worker does not start")
        with installation.ticking():
            print(storm(worker, feeder, batches, chance))
        feeder.communicate(timeout=60)
        assert feeder.returncode == 0
        worker.kill_all()
        worker.start()

        with installation.ticking():
            until(lambda: story.pending(installation, hurt) == 0, "events are left")
        before = story.facts(installation, hurt)
        # Whatever was handed out to the dead is handed out again now, and changes nothing.
        installation.rows("UPDATE django_q_ormq SET lock = now() - interval '1 second'")
        until(lambda: not installation.rows("SELECT 1 FROM django_q_ormq"), "tasks are left")
        assert story.facts(installation, hurt) == before
        worker.signal(signal.SIGTERM)
        until(lambda: not worker.members(), "processes are left")

    assert story.facts(installation, hurt) == story.facts(installation, calm)
    assert story.conflict_sets(installation, hurt) == story.conflict_sets(installation, calm)
    assert story.passages(installation, hurt) == story.passages(installation, calm)
    assert story.results(installation, hurt) == story.results(installation, calm)
    assert story.doubled(installation, hurt) == []
    assert installation.inside("audit", hurt) == "0"
    assert set(installation.rows("SELECT DISTINCT status FROM facts_job WHERE account_id = %s", [hurt])) == {("done",)}
