"""The database server goes away in the middle of the load and comes back: a server that is not ours to start."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings

from tests.faults import story
from tests.faults.installation import PATIENCE, Installation, until, working

pytestmark = pytest.mark.slow

PEOPLE = 4


@contextmanager
def serving(installation: Installation, environment: dict[str, str]) -> Iterator[str]:
    """Have the web server for a while; yields its address."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    command = ["-m", "gunicorn", "--config", "python:memory_site.gunicorn_config", "--chdir", str(settings.BASE_DIR)]
    web = installation.start(
        *command, "--bind", f"127.0.0.1:{port}", "memory_site.wsgi:application", environment=environment
    )
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: call(f"{address}/health")[0] == 200, "the web server does not start")
        yield address
    finally:
        web.terminate()
        try:
            web.wait(timeout=30)
        except subprocess.TimeoutExpired:
            web.kill()
            web.wait()


def call(url: str, *, key: str = "", body: Any = None) -> tuple[int, Any]:
    """Return status and JSON of an answer; status 0 where nobody listens."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode(), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except urllib.error.URLError:
        return 0, None


def test_a_database_that_restarts_is_waited_for(installation: Installation) -> None:
    account = installation.inside("account", "restarted")
    key = installation.inside("key", account)
    environment = {"DATABASE_URL": installation.url}
    messages = [message for batch in story.story(PEOPLE) for message in batch]
    answers: Counter[tuple[int, str]] = Counter()
    arrived, stopped = threading.Event(), threading.Event()

    def send(address: str) -> None:
        """Send every message until it is taken, as a client does that is told to come again."""
        for number, message in enumerate(messages):
            if number == len(messages) // 3:
                arrived.set()
                stopped.wait(PATIENCE)
            status = 0
            while status != 202:
                status, said = call(f"{address}/v1/capture", key=key, body={"events": [message]})
                answers[status, said["error"]["type"] if status >= 400 else ""] += 1

    with serving(installation, environment) as address, working(installation, environment=environment) as worker:
        until(worker.is_up, "the worker does not start")
        sender = threading.Thread(target=send, args=(address,), daemon=True)
        sender.start()
        assert arrived.wait(PATIENCE)
        data = installation.server.data
        installation.server._run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        question = {"scope": "/p", "subject_id": "person0", "query": "tea"}
        asked = [
            ("/v1/capture", {"events": messages[:1]}),
            ("/v1/context", question),
            ("/ready", None),
            ("/health", None),
        ]
        with ThreadPoolExecutor(len(asked)) as pool:
            said = list(pool.map(lambda what: call(address + what[0], key=key, body=what[1]), asked))
        assert [status for status, _ in said] == [503, 503, 503, 200]
        assert [body["error"]["type"] for _, body in said[:2]] == ["unavailable"] * 2
        stopped.set()
        installation.server._start(PATIENCE)
        # Once more, without a break in between, while messages keep coming.
        installation.server._run("pg_ctl", "-D", data, "-w", "-m", "immediate", "restart")
        sender.join(PATIENCE)
        assert not sender.is_alive()
        assert set(answers) <= {(202, ""), (503, "unavailable")}
        assert answers[202, ""] == len(messages)

        with installation.ticking():
            until(lambda: story.pending(installation, account) == 0, "events are left")
        until(lambda: call(f"{address}/ready")[0] == 200, "it is not ready again")
        assert not worker.has_ended()

    calm = installation.inside("account", "not restarted")
    installation.tell(calm, [messages])
    assert installation.inside("settle", calm) == "0"
    assert story.facts(installation, account) == story.facts(installation, calm)
    assert story.conflict_sets(installation, account) == story.conflict_sets(installation, calm)
    assert story.passages(installation, account) == story.passages(installation, calm)
    assert story.results(installation, account) == story.results(installation, calm)
    assert story.doubled(installation, account) == []
    assert installation.inside("audit", account) == "0"
