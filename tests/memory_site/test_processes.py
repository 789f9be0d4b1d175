"""Children: told apart from the terminal, ended with their parent, started again with growing pauses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from django.conf import settings

from memory_site import processes

PATIENCE = 30.0  # seconds; only ever waited for when something is broken

# Starts a child of its own, says both process ids, and waits.
PARENT = textwrap.dedent(
    """
    import os, sys, time
    from memory_site.processes import Child
    child = Child("child", [sys.executable, "-c", sys.argv[1]])
    child.start()
    print(child.pid, flush=True)
    time.sleep(600)
    """
)
OBEDIENT = "import time; from memory_site.processes import stop_with_parent; stop_with_parent(); time.sleep(600)"
STUBBORN = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(600)"


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def goes_away(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if is_gone(pid):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
def test_a_child_ends_when_its_parent_is_killed() -> None:
    command = [sys.executable, "-c", PARENT, OBEDIENT]
    with subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert not is_gone(child)
        parent.kill()
    assert goes_away(child)


@pytest.mark.slow
def test_a_child_that_cannot_stop_is_ended_with_its_group_when_its_parent_is_killed() -> None:
    stubborn = OBEDIENT.replace("stop_with_parent()", "stop_with_parent(grace=0.1)")
    command = [sys.executable, "-c", PARENT, f"import signal; signal.signal(15, signal.SIG_IGN); {stubborn}"]
    with subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert not is_gone(child)
        parent.kill()
    assert goes_away(child)


@pytest.mark.slow
def test_a_child_that_ignores_the_request_is_ended_with_its_group() -> None:
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])"
    reading, writing = os.pipe()
    child = processes.Child("stubborn", [sys.executable, "-c", f"import os; os.dup2({writing}, 1); {grandchild}"])
    child.descriptors = (writing,)
    child.start()
    os.close(writing)
    with os.fdopen(reading) as output:
        assert output.readline() == "on\n"
        assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
        child.stop(grace=0.1)
        assert output.read() == ""  # the last holder of the other end is gone
    assert child.has_ended()


def test_has_ended_before_the_start_and_after_the_end() -> None:
    child = processes.Child("short", [sys.executable, "-c", ""])
    assert child.has_ended()
    child.start()
    child.stop(grace=PATIENCE)
    assert child.has_ended()
    child.kill()


def test_pauses_double_and_a_series_of_failures_ends_it() -> None:
    restarts = processes.Restarts("The web process")
    assert [restarts.pause_after_failure(at=second) for second in range(5)] == [1, 2, 4, 8, 16]
    with pytest.raises(processes.TooManyFailures) as raised:
        restarts.pause_after_failure(at=5)
    assert str(raised.value) == "The web process failed 6 times within 120 s; giving up."


def test_failures_far_apart_are_no_series() -> None:
    restarts = processes.Restarts("The web process")
    assert {restarts.pause_after_failure(at=120 * number) for number in range(20)} == {1}


def test_a_child_is_asked_once() -> None:
    # Its first request may have started an orderly end that a second one would cut off.
    counting = "import signal, time; signal.signal(15, lambda *_: print('asked', flush=True)); print('on', flush=True)"
    counting += "; time.sleep(0.5)"  # goes on after a signal; long enough for a second one to arrive
    reading, writing = os.pipe()
    child = processes.Child("counting", [sys.executable, "-c", f"import os; os.dup2({writing}, 1); {counting}"])
    child.descriptors = (writing,)
    child.start()
    os.close(writing)
    with os.fdopen(reading) as output:
        assert output.readline() == "on\n"
        child.ask_to_stop()
        assert output.readline() == "asked\n"
        child.stop(grace=PATIENCE)
        assert output.read() == ""


def test_only_a_second_ctrl_c_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, object] = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    event = processes.stop_requested()
    assert set(handlers) == {signal.SIGTERM, signal.SIGINT}
    handlers[signal.SIGINT](signal.SIGINT, None)
    assert event.is_set()
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    with pytest.raises(KeyboardInterrupt):
        handlers[signal.SIGINT](signal.SIGINT, None)
