from datetime import timedelta

import pytest

from facts.clock import now
from governance import idempotency
from governance.models import IdempotencyRecord
from tests.api import caller_with_key, problem
from tests.memory_site import api_views

pytestmark = pytest.mark.urls("tests.memory_site.api_views")


@pytest.fixture
def done(monkeypatch):
    calls = []
    monkeypatch.setattr(api_views, "done", calls)
    return calls


def test_a_repeat_gets_the_same_answer_and_does_nothing(account, done):
    caller = caller_with_key(account)
    first = caller.post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"})
    second = caller.post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"})
    assert (first.status_code, first.json()) == (201, {"count": 1, "secret": "shown once"})
    assert "Idempotent-Replay" not in first.headers
    assert (second.status_code, second.json()) == (201, {"count": 1, "secret": None})
    assert second.headers["Idempotent-Replay"] == "true"
    assert done == ["a"]


def test_both_prefixes_are_the_same_address(account, done):
    caller = caller_with_key(account)
    caller.post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"})
    replay = caller.post("/api/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"})
    assert replay.headers["Idempotent-Replay"] == "true"


def test_another_request_under_the_same_key_is_refused(account, done):
    caller = caller_with_key(account)
    caller.post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"})
    response = caller.post("/v1/once", {"name": "b"}, headers={"Idempotency-Key": "k-1"})
    assert problem(response) == (409, "idempotency_mismatch", "Idempotency-Key")
    assert done == ["a"]


def test_keys_of_two_credentials_do_not_meet(account, done):
    for caller in (caller_with_key(account), caller_with_key(account)):
        assert caller.post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"}).status_code == 201
    assert done == ["a", "a"]


def test_a_failed_request_may_be_repeated(account, done):
    caller = caller_with_key(account)
    for _ in range(2):
        response = caller.post("/v1/once", {"name": "bad"}, headers={"Idempotency-Key": "k-1"})
        assert problem(response) == (422, "invalid_payload", "name")
    assert done == ["bad", "bad"]
    assert not IdempotencyRecord.objects.exists()


def test_without_a_key_everything_happens_again(account, done):
    caller = caller_with_key(account)
    for _ in range(2):
        caller.post("/v1/once", {"name": "a"})
    assert done == ["a", "a"]


@pytest.mark.parametrize("key", ["", "x" * 201, "with space"])
def test_malformed_keys(account, done, key):
    response = caller_with_key(account).post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": key})
    assert problem(response) == (422, "invalid_idempotency_key", "Idempotency-Key")
    assert done == []


def test_what_is_shown_once_is_not_stored(account, done):
    caller_with_key(account).post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": "k-1"})
    assert IdempotencyRecord.objects.get().body == {"count": 1, "secret": None}


def test_old_records_are_forgotten(account, done):
    caller = caller_with_key(account)
    for key in ("old", "new"):
        caller.post("/v1/once", {"name": "a"}, headers={"Idempotency-Key": key})
    IdempotencyRecord.objects.filter(key="old").update(created_at=now() - timedelta(hours=25))
    assert idempotency.forget_old(account.id) == 1
    assert list(IdempotencyRecord.objects.values_list("key", flat=True)) == ["new"]
