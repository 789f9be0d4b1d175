from __future__ import annotations

import logging
import uuid
from functools import partial

import pytest

from facts import isolation
from facts.isolation import Incomplete

FIRST, SECOND, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))


def test_each_account_has_its_turn_and_what_they_return_is_summed() -> None:
    assert isolation.each_account([FIRST, SECOND], lambda account_id: account_id.int, name="work") == 3
    assert isolation.each_account([], lambda account_id: 1, name="work") == 0


def test_one_account_stops_no_other_and_its_failure_is_seen(caplog: pytest.LogCaptureFixture, db: None) -> None:
    done = []

    def work(account_id: uuid.UUID) -> int:
        if account_id == SECOND:
            raise ValueError("a secret word")
        done.append(account_id)
        return 1

    with caplog.at_level(logging.ERROR), pytest.raises(Incomplete, match=rf"^work failed for 1 accounts.*{SECOND}$"):
        isolation.each_account([FIRST, SECOND, THIRD], work, name="work")
    assert done == [FIRST, THIRD]
    (record,) = caplog.records
    assert (record.work, record.account, record.error_class) == ("work", str(SECOND), "ValueError")
    assert "secret" not in caplog.text


def test_steps_go_on_and_the_failures_are_told_together(caplog: pytest.LogCaptureFixture, db: None) -> None:
    done = []

    def divide(by: int) -> float:
        return 1 / by

    def incomplete() -> None:
        raise Incomplete("two accounts failed")

    with pytest.raises(Incomplete, match=r"^divide failed: ZeroDivisionError; two accounts failed$"):
        isolation.steps(partial(divide, by=0), incomplete, lambda: done.append("last"))
    assert done == ["last"]
    assert [record.work for record in caplog.records if record.message == "work_failed"] == ["divide"]


def test_a_stop_of_the_process_is_no_failure() -> None:
    def stop() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        isolation.steps(stop)
