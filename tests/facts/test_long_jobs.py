"""Long work: what is written about it, and how it is stopped and resumed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest

from facts import jobs, long_jobs, long_work, progress_lines
from facts.actors import system
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.long_jobs import CancelAsked, Kind, Run, Step, TakenOver
from facts.models import Account, AuditEntry, Job, LongJob
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from tests.factories import AccountFactory, entered, unknown_id

ACTOR = system("test")
STEPS = 5


class Work:
    """Counts to :data:`STEPS`, a unit a step; what it wrote is in ``written``."""

    def __init__(self) -> None:
        """Begin with nothing done, no pauses and no failures."""
        self.written: list[int] = []
        self.fails_at: dict[int, Exception] = {}
        self.pauses: dict[int, Step] = {}

    def step(self, run: Run) -> Step:
        """Do the next unit, or fail once where that was asked for."""
        at = run.job.position.get("next", 0)
        if at in self.fails_at:
            raise self.fails_at.pop(at)
        if at in self.pauses:
            return self.pauses.pop(at)
        with account_transaction(run.job.account_id):
            run.note(at + 1, total=STEPS, position={"next": at + 1}, counts={"written": 1})
            self.written.append(at)
        return Step(finished=at + 1 == STEPS)


@pytest.fixture
def work() -> Iterator[Work]:
    """A kind of work in steps, known for the test."""
    made = Work()
    long_jobs.register(Kind(name="counting", title="Counting", unit="numbers", step=made.step))
    long_jobs.register(Kind(name="by_hand", title="By hand", unit="things", command="manage.py by_hand"))
    yield made
    long_jobs._kinds.pop("counting")
    long_jobs._kinds.pop("by_hand")


def _submit(account: Account) -> LongJob:
    return long_jobs.submit(account.id, kind="counting", actor=ACTOR, title="To five")


def _turn(job: LongJob) -> LongJob:
    """Let the worker take its latest delivery; pauses of failed tries are over."""
    Job.objects.filter(input_key=str(job.pk), status=JobStatus.QUEUED).update(run_after=now())
    turn = Job.objects.filter(input_key=str(job.pk)).latest("id")
    long_work.take_turn(job.account_id, turn.pk)
    job.refresh_from_db()
    return job


def test_the_worker_does_all_steps_and_says_so(account: Account, work: Work) -> None:
    job = _turn(_submit(account))
    assert (job.state, job.done, job.total, job.counts) == ("done", 5, 5, {"written": 5})
    assert (work.written, job.token, job.error_class) == ([0, 1, 2, 3, 4], None, "")
    assert job.started_at <= job.finished_at
    assert Job.objects.get(input_key=str(job.pk)).status == JobStatus.DONE


def test_what_is_open_is_not_begun_twice_and_what_is_over_is(account: Account, work: Work) -> None:
    first = _submit(account)
    assert _submit(account).pk == first.pk
    _turn(first)
    assert _submit(account).pk != first.pk


def test_a_second_delivery_of_a_turn_does_nothing(account: Account, work: Work) -> None:
    job = _turn(_submit(account))
    long_work.take_turn(account.id, Job.objects.get(input_key=str(job.pk)).pk)
    long_work.take_turn(account.id, unknown_id())
    assert work.written == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("at", range(STEPS))
def test_a_step_that_fails_is_tried_again_and_nothing_is_done_twice(account: Account, work: Work, at: int) -> None:
    work.fails_at[at] = DomainError("The words of somebody.", code="invalid_scope")
    job = _turn(_submit(account))
    assert (job.state, job.done, job.error_class) == ("waiting", at, "invalid_scope")
    assert job.resume_at > now()
    job = _turn(job)
    assert (job.state, work.written, job.error_class, job.counts) == ("done", [0, 1, 2, 3, 4], "", {"written": 5})


def test_work_that_fails_again_and_again_is_given_up_and_can_be_resumed(account: Account, work: Work) -> None:
    job = _submit(account)
    for _ in range(5):
        work.fails_at[2] = RuntimeError("no")
        job = _turn(job)
    assert (job.state, job.done, job.error_class) == ("failed", 2, "RuntimeError")
    assert job.finished_at is not None
    work.fails_at.clear()
    job = _turn(long_jobs.resume(account.id, job.pk, actor=ACTOR))
    assert (job.state, work.written) == ("done", [0, 1, 2, 3, 4])


def test_work_whose_workers_all_died_is_closed(account: Account, work: Work) -> None:
    job = _submit(account)
    Job.objects.filter(input_key=str(job.pk)).update(attempts=5)
    job = _turn(job)
    assert (job.state, job.error_class, work.written) == ("failed", "attempts_used_up", [])


def test_a_worker_that_died_is_taken_over_from_after_its_silence(account: Account, work: Work) -> None:
    job = _submit(account)
    turn = Job.objects.get(input_key=str(job.pk))
    jobs.claim(account.id, turn.pk)
    dead = long_jobs.take(account.id, job.pk)
    dead.note(2, total=STEPS, position={"next": 2})
    work.written += [0, 1]
    long_work.take_turn(account.id, turn.pk)
    assert work.written == [0, 1], "the claim stands"
    Job.objects.filter(pk=turn.pk).update(claimed_at=now() - jobs.CLAIM_LASTS - timedelta(seconds=1))
    long_work.take_turn(account.id, turn.pk)
    assert work.written == [0, 1, 2, 3, 4]
    with pytest.raises(TakenOver):
        dead.note(3)


def test_a_turn_ends_in_time_and_the_next_one_goes_on(
    account: Account, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(step=10)
    monkeypatch.setattr(long_work.time, "monotonic", lambda: float(next(ticks)))
    job = _turn(_submit(account))
    assert (job.state, work.written, job.token) == ("waiting", [0, 1], None)
    assert Job.objects.get(input_key=str(job.pk)).attempts == 0
    assert [_turn(job).state, _turn(job).state] == ["waiting", "done"]


def test_a_short_pause_is_waited_and_a_long_one_goes_back_to_the_queue(
    account: Account, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(long_work.time, "sleep", slept.append)
    work.pauses = {1: Step(pause=timedelta(seconds=2.5)), 3: Step(pause=timedelta(seconds=60), reason="rate_limited")}
    job = _turn(_submit(account))
    assert slept == [1.0, 1.0, 0.5]
    assert (job.state, job.done, job.error_class) == ("paused", 3, "rate_limited")
    assert timedelta(seconds=50) < job.resume_at - now() <= timedelta(seconds=60)
    assert Job.objects.get(input_key=str(job.pk)).run_after > now() + timedelta(seconds=50)
    assert _turn(job).state == "done"


def test_cancelling_what_nobody_works_on_ends_it_at_once(account: Account, work: Work) -> None:
    job = long_jobs.cancel(account.id, _submit(account).pk, actor=ACTOR)
    assert (job.state, job.cancelled_by["name"]) == ("cancelled", "test")
    assert (_turn(job).state, work.written) == ("cancelled", [])
    with pytest.raises(Conflicting, match="over"):
        long_jobs.cancel(account.id, job.pk, actor=ACTOR)
    job = _turn(long_jobs.resume(account.id, job.pk, actor=ACTOR))
    assert (job.state, work.written, job.cancelled_at) == ("done", [0, 1, 2, 3, 4], None)
    assert list(AuditEntry.objects.order_by("seq").values_list("action", flat=True)) == [
        "long_job.cancelled",
        "long_job.resumed",
    ]


@pytest.mark.parametrize("at", range(1, STEPS))
def test_work_that_goes_on_is_cancelled_at_its_next_step_and_resumed_there(
    account: Account, work: Work, at: int
) -> None:
    job = _submit(account)
    step = work.step

    def cancelling(run: Run) -> Step:
        done = step(run)
        if run.job.done == at:
            assert long_jobs.cancel(account.id, job.pk, actor=ACTOR).state == "cancelling"
        return done

    long_jobs.register(Kind(name="counting", title="Counting", unit="numbers", step=cancelling))
    job = _turn(job)
    assert (job.state, job.done, work.written) == ("cancelled", at, list(range(at)))
    long_jobs.register(Kind(name="counting", title="Counting", unit="numbers", step=step))
    job = _turn(long_jobs.resume(account.id, job.pk, actor=ACTOR))
    assert (job.state, work.written, job.counts) == ("done", [0, 1, 2, 3, 4], {"written": 5})


def test_a_command_does_all_steps_in_its_own_process(account: Account, work: Work) -> None:
    told: list[int] = []
    job = _submit(account)
    done = long_work.drive(account.id, job.pk, tell=lambda seen: told.append(seen.done))
    assert (done.state, told) == ("done", [1, 2, 3, 4, 5])
    assert _turn(done).state == "done"
    assert work.written == [0, 1, 2, 3, 4]
    with pytest.raises(NotFound):
        long_work.drive(account.id, job.pk)


def test_an_interrupted_command_leaves_its_place(account: Account, work: Work) -> None:
    work.fails_at[2] = KeyboardInterrupt()
    job = _submit(account)
    with pytest.raises(KeyboardInterrupt):
        long_work.drive(account.id, job.pk)
    job.refresh_from_db()
    assert (job.state, job.done) == ("paused", 2)
    assert long_work.drive(account.id, job.pk).state == "done"
    assert work.written == [0, 1, 2, 3, 4]


def test_work_in_a_loop_of_its_own(account: Account, work: Work) -> None:
    with long_jobs.working(account.id, kind="by_hand", input_key="x", total=3, actor=ACTOR) as run:
        for done in (1, 2, 3):
            run.advance(done, counts={"odd": done % 2})
    job = LongJob.objects.get()
    assert (job.state, job.done, job.total, job.counts, job.unit) == ("done", 3, 3, {"odd": 2}, "things")
    assert not Job.objects.exists(), "only its command does it"


@pytest.mark.parametrize(
    ("ending", "state", "error_class"),
    [(KeyboardInterrupt(), "paused", ""), (ValueError("secret words"), "failed", "ValueError")],
)
def test_a_loop_that_ends_early(
    account: Account, work: Work, ending: BaseException, state: str, error_class: str
) -> None:
    def loop() -> None:
        with long_jobs.working(account.id, kind="by_hand", total=3, actor=ACTOR) as run:
            run.advance(1)
            raise ending

    with pytest.raises(type(ending)):
        loop()
    job = LongJob.objects.get()
    assert (job.state, job.error_class, job.done) == (state, error_class, 1)


def test_a_loop_is_cancelled_after_what_it_has_written(account: Account, work: Work) -> None:
    def loop() -> None:
        with long_jobs.working(account.id, kind="by_hand", actor=ACTOR) as run:
            long_jobs.cancel(account.id, run.job.pk, actor=ACTOR)
            run.advance(7)

    with pytest.raises(CancelAsked):
        loop()
    job = LongJob.objects.get()
    assert (job.state, job.done) == ("cancelled", 7)


def test_whoever_begins_last_goes_on_and_the_other_stops(account: Account, work: Work) -> None:
    first = long_jobs.begin(account.id, kind="by_hand", actor=ACTOR)
    first.advance(1)
    second = long_jobs.begin(account.id, kind="by_hand", actor=ACTOR)
    assert second.job.pk == first.job.pk
    with pytest.raises(TakenOver):
        first.advance(2)
    first.close("failed")
    second.advance(2)
    assert (LongJob.objects.get().state, LongJob.objects.get().done) == ("running", 2)


def test_silent_work_is_told_as_such_and_may_be_resumed_or_cancelled(account: Account, work: Work) -> None:
    run = long_jobs.begin(account.id, kind="by_hand", total=10, actor=ACTOR)
    assert not long_jobs.may_resume(run.job)
    with pytest.raises(Conflicting):
        long_jobs.resume(account.id, run.job.pk, actor=ACTOR)
    LongJob.objects.update(updated_at=now() - long_jobs.SILENT - timedelta(seconds=1))
    job = LongJob.objects.get()
    assert (long_jobs.is_silent(job), long_jobs.estimated_end(job)) == (True, None)
    assert progress_lines.line(job).endswith("0 of 10 things, no sign of life")
    assert long_jobs.cancel(account.id, job.pk, actor=ACTOR).state == "cancelled"


def test_what_was_begun_anew_meanwhile_is_not_resumed(account: Account, work: Work) -> None:
    old = long_jobs.cancel(account.id, _submit(account).pk, actor=ACTOR)
    _submit(account)
    with pytest.raises(Conflicting, match="anew"):
        long_jobs.resume(account.id, old.pk, actor=ACTOR)


def test_a_line_tells_amount_and_time_left(account: Account, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    run = long_jobs.begin(account.id, kind="by_hand", total=2_000, actor=ACTOR)
    job = run.job
    at = now()
    for module in (long_jobs, progress_lines):
        monkeypatch.setattr(module, "now", lambda: at)
    job.done, job.pace = 500, [[at.timestamp() - 100, 0], [at.timestamp(), 500]]
    assert long_jobs.estimated_end(job) == pytest.approx(at + timedelta(seconds=300), abs=timedelta(milliseconds=1))
    assert progress_lines.line(job) == ("running    [######..................] 25% 500 of 2,000 things, 5 min 0 s left")
    job.total = None
    assert progress_lines.line(job) == "running    500 things, time left unknown"
    assert progress_lines.share(LongJob(state="running", done=3, total=0)) == 0.0
    assert progress_lines.duration(timedelta(days=2, hours=3, minutes=9)) == "2 d 3 h"


def test_another_account_sees_and_stops_nothing(account: Account, work: Work) -> None:
    job = _submit(account)
    other = AccountFactory()
    with entered(other):
        assert not LongJob.objects.exists()
        for verb in (long_jobs.cancel, long_jobs.resume):
            with pytest.raises(NotFound):
                verb(other.id, job.pk, actor=ACTOR)


def test_what_cannot_go_on_is_not_tried_again(account: Account, work: Work) -> None:
    work.pauses = {2: Step(failed="no_token")}
    job = _turn(_submit(account))
    assert (job.state, job.done, job.error_class) == ("failed", 2, "no_token")
    assert Job.objects.get(input_key=str(job.pk)).status == JobStatus.DONE
    work.pauses = {3: Step(failed="no_token")}
    job = long_jobs.resume(account.id, job.pk, actor=ACTOR)
    assert long_work.drive(account.id, job.pk).state == "failed"


def test_whoever_began_it_hears_of_every_end(account: Account, work: Work) -> None:
    ends: list[str] = []
    kind = long_jobs.kind_of("counting")
    long_jobs.register(
        Kind(name=kind.name, title=kind.title, unit=kind.unit, step=kind.step, ended=lambda job: ends.append(job.state))
    )
    _turn(_submit(account))
    long_jobs.cancel(account.id, _submit(account).pk, actor=ACTOR)
    last = _submit(account)
    work.fails_at[0] = RuntimeError()
    _turn(last)
    assert ends == ["done", "cancelled"], "a pause is no end"
    Job.objects.filter(input_key=str(last.pk)).update(attempts=5)
    _turn(last)
    assert ends == ["done", "cancelled", "failed"]
