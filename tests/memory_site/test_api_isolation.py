"""Requests that really commit, side by side: nothing of one account or request reaches another one."""

import threading
import time

import pytest
from django.db import connection, connections

from facts.tenancy import account_transaction
from governance.models import IdempotencyRecord
from tests.api import caller_with_key, signed_in
from tests.factories import AccountFactory, MembershipFactory
from tests.memory_site import api_views

pytestmark = [pytest.mark.urls("tests.memory_site.api_views"), pytest.mark.django_db(transaction=True)]

PATIENCE = 30  # seconds that another thread gets before the test counts as failed


def key_caller(account):
    with account_transaction(account.id):
        return caller_with_key(account)


def test_one_connection_serves_two_accounts_after_each_other():
    accounts = AccountFactory(), AccountFactory()
    callers = [key_caller(account) for account in accounts]
    answers = [caller.get("/v1/echo").json()["account"] for caller in callers * 2]
    assert answers == [str(account.id) for account in accounts] * 2


def test_a_session_leaves_no_trace_on_the_connection():
    account = AccountFactory()
    with account_transaction(account.id):
        membership = MembershipFactory(account=account)
    assert signed_in(membership).get("/v1/echo").json()["account"] == str(account.id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.account', true), current_setting('app.user', true)")
        assert {value or "" for value in cursor.fetchone()} == {""}


def test_two_equal_requests_at_once_do_the_work_once(monkeypatch):
    account = AccountFactory()
    caller = key_caller(account)
    at_work, go_on = threading.Event(), threading.Event()
    calls = []

    class Done(list):
        def append(self, item):
            calls.append(item)
            at_work.set()
            assert go_on.wait(PATIENCE)

    monkeypatch.setattr(api_views, "done", Done())
    answers = {}

    def ask(name):
        try:
            answers[name] = caller.client.post(
                "/v1/once",
                b'{"name": "a"}',
                content_type="application/json",
                headers={**caller.headers, "Idempotency-Key": "k"},
            )
        finally:
            connections.close_all()

    first = threading.Thread(target=ask, args=("first",))
    first.start()
    assert at_work.wait(PATIENCE)
    second = threading.Thread(target=ask, args=("second",))
    second.start()
    wait_until_blocked()
    go_on.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert calls == ["a"]
    assert [answers[name].status_code for name in ("first", "second")] == [201, 201]
    assert answers["second"].headers["Idempotent-Replay"] == "true"
    with account_transaction(account.id):
        assert IdempotencyRecord.objects.count() == 1


def wait_until_blocked():
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
    pytest.fail("the second request never waited for the first")
