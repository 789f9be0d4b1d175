"""The admin's page of long work and the command `jobs`: they show, cancel and resume the same."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from facts import long_jobs, progress_teller
from facts.actors import system
from facts.clock import now
from facts.long_jobs import Kind, Run, Step
from facts.models import Account, LongJob
from governance.models import Role
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import AccountFactory, entered, person_in, unknown_id

LIST = "admin:facts_longjob_changelist"
PAGE = "admin:facts_longjob_change"


def _step(run: Run) -> Step:
    run.note(run.job.done + 1)
    return Step(finished=run.job.done >= run.job.total)


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    long_jobs.register(Kind(name="counting", title="Counting", unit="numbers", step=_step))
    long_jobs.register(Kind(name="by_hand", title="By hand", unit="things", command="manage.py by_hand"))
    yield
    long_jobs._kinds.pop("counting")
    long_jobs._kinds.pop("by_hand")


@pytest.fixture
def job(account: Account) -> LongJob:
    """Work of which a quarter is done, at 5 a second, so that the rest takes five minutes."""
    run = long_jobs.begin(account.id, kind="by_hand", title=HOSTILE, total=2_000, actor=system("test"))
    run.note(500, counts={"captured": 480, "no_text": 20})
    at = now().timestamp()
    LongJob.objects.filter(pk=run.job.pk).update(pace=[[at - 100, 0], [at, 500]])
    return LongJob.objects.get(pk=run.job.pk)


def _run(*arguments: str) -> tuple[str, str]:
    out, error = io.StringIO(), io.StringIO()
    try:
        call_command("jobs", *arguments, stdout=out, stderr=error)
    except SystemExit as ended:
        return out.getvalue(), f"{error.getvalue()}exit code {ended.code}"
    return out.getvalue(), error.getvalue()


def test_the_pages_show_how_far_it_is_and_how_long_it_takes(account: Account, client: Client, job: LongJob) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    listed = client.get(reverse(LIST)).content.decode()
    shown = client.get(reverse(PAGE, args=[job.pk])).content.decode()
    for page in (listed, shown):
        assert "500 of 2,000 things" in page
        assert re.search(r"(?:4 min [45]\d|5 min 0) s left", page)
        assert 'max="1" value="0.25' in page
        assert "<script>document" not in page
    assert "captured</td><td" in shown
    assert "manage.py by_hand" not in shown, "it goes on"


def test_the_buttons_end_it_and_let_it_go_on(account: Account, client: Client, job: LongJob) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    client.post(reverse("admin:long_job_cancel", args=[job.pk]))
    job.refresh_from_db()
    assert (job.state, job.cancelled_by["kind"]) == ("cancelling", "person")
    LongJob.objects.update(updated_at=now() - timedelta(days=1))
    client.post(reverse("admin:long_job_resume", args=[job.pk]))
    job.refresh_from_db()
    assert (job.state, job.done) == ("waiting", 500)
    again = client.post(reverse("admin:long_job_resume", args=[job.pk]), follow=True).content.decode()
    assert "Only what was stopped can be resumed." in again


def test_long_work_is_the_administrators_business(account: Account, client: Client, job: LongJob) -> None:
    sign_in(client, person_in(account, role=Role.CURATOR))
    assert client.get(reverse(LIST)).status_code == 403
    assert client.post(reverse("admin:long_job_cancel", args=[job.pk])).status_code == 404
    job.refresh_from_db()
    assert job.state == "running"
    with entered(other := AccountFactory()):
        stranger = person_in(other, role=Role.ACCOUNT_ADMIN)
        sign_in(client, stranger)
        assert client.post(reverse("admin:long_job_cancel", args=[job.pk])).status_code == 404
        assert HOSTILE[:10] not in client.get(reverse(LIST)).content.decode()


def test_the_command_lists_what_is_open(account: Account, job: LongJob) -> None:
    long_jobs.cancel(account.id, long_jobs.begin(account.id, kind="counting", actor=system("test")).job.pk,
                     actor=system("test"))  # fmt: skip
    LongJob.objects.filter(kind="counting").update(state="cancelled", finished_at=now())
    out, _ = _run()
    assert f"{job.pk}  {account.key}  By hand" in out
    assert "running    [######..................] 25% 500 of 2,000 things, " in out
    assert "Counting" not in out
    assert "Counting" in _run("list", "--all", "--account", account.key)[0]
    with pytest.raises(CommandError, match="no account"):
        _run("list", "--account", "nobody")


def test_the_command_cancels_and_resumes(account: Account, job: LongJob) -> None:
    assert _run("cancel", str(job.pk))[0].startswith("cancelling")
    LongJob.objects.update(updated_at=now() - timedelta(days=1))
    assert _run("resume", str(job.pk))[0] == "It goes on when its command is called again: manage.py by_hand\n"
    with pytest.raises(CommandError, match="Only what was stopped"):
        _run("resume", str(job.pk))
    with pytest.raises(CommandError, match="no such work"):
        _run("cancel", str(unknown_id()))


def test_the_command_does_work_in_steps_itself(account: Account) -> None:
    made = long_jobs.submit(account.id, kind="counting", total=3, actor=system("test"))
    assert _run("resume", str(made.pk), "--here")[0] == "done       [########################] 100% 3 of 3 numbers\n"
    assert _run("follow", str(made.pk))[0] == "done       [########################] 100% 3 of 3 numbers\n"


def test_following_what_failed_ends_in_exit_code_1(account: Account, job: LongJob) -> None:
    LongJob.objects.update(state="failed", finished_at=now(), error_class="OSError")
    assert _run("follow", str(job.pk))[1] == "last error: OSError\nexit code 1"


def test_on_a_terminal_one_line_is_rewritten(account: Account, job: LongJob, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str, ending: str = "\n") -> int:
            return super().write(text + ending)

    out = Terminal()
    monkeypatch.setattr(progress_teller, "LIVELY", 0.0)
    teller = progress_teller.Teller(out)
    for _ in range(3):
        teller.tell(job)
    teller.end()
    assert out.getvalue().count("\r") == 3
    assert out.getvalue().count("\n") == 1
