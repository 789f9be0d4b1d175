from datetime import timedelta

import pytest
from django.test import Client

from facts.actors import pipeline
from facts.clock import now
from governance import keys
from memory_site.api import throttling
from tests.api import Caller, caller_with_key, problem
from tests.factories import AccountFactory, MembershipFactory, UserFactory, api_key, entered

pytestmark = pytest.mark.urls("tests.memory_site.api_views")


@pytest.fixture(autouse=True)
def _fresh_limits():
    throttling.forget_blocked()
    keys.forget_cached()


def signed_in(user, *, csrf=False, **session):
    client = Client(enforce_csrf_checks=csrf)
    with entered(None):
        client.force_login(user)
        if session:
            stored = client.session
            stored.update(session)
            stored.save()
    return Caller(client=client)


def test_a_key_enters_its_account(account):
    assert caller_with_key(account).get("/v1/echo").json() == {"account": str(account.id), "person": False}


def test_the_scheme_is_not_case_sensitive(account):
    _, raw = api_key(account)
    assert Caller(headers={"Authorization": f"bearer  {raw}"}).get("/v1/echo").status_code == 200


def test_every_failure_has_the_same_answer(account):
    revoked, revoked_raw = api_key(account)
    keys.revoke_key(account.id, revoked.id, actor=pipeline())
    _, expired_raw = api_key(account, expires_at=now() - timedelta(seconds=1))
    headers = [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer mem_unknown"},
        {"Authorization": "Bearer " + "x" * 5000},
        {"Authorization": f"Bearer {revoked_raw}"},
        {"Authorization": f"Bearer {expired_raw}"},
    ]
    answers = set()
    for given in headers:
        response = Caller(headers={**given, "X-Request-ID": "same"}).get("/v1/echo")
        assert problem(response) == (401, "unauthorized", None)
        answers.add((response.content, response.headers["WWW-Authenticate"]))
    assert len(answers) == 1
    assert answers.pop()[1] == 'Bearer realm="memory"'


def test_a_revoked_key_stops_at_once_in_this_process(account):
    key, raw = api_key(account)
    caller = Caller(headers={"Authorization": f"Bearer {raw}"})
    assert caller.get("/v1/echo").status_code == 200
    keys.revoke_key(account.id, key.id, actor=pipeline())
    assert caller.get("/v1/echo").status_code == 401


def test_a_session_is_a_person_of_their_account(account):
    membership = MembershipFactory(account=account)
    assert signed_in(membership.user).get("/v1/echo").json() == {"account": str(account.id), "person": True}


def test_a_person_of_two_accounts_chooses_by_the_session(account):
    membership = MembershipFactory(account=account)
    other = AccountFactory(key="other")
    with entered(other):
        MembershipFactory(account=other, user=membership.user)
    assert signed_in(membership.user).get("/v1/echo").json()["account"] == str(account.id)
    assert signed_in(membership.user, account="other").get("/v1/echo").json()["account"] == str(other.id)


def test_a_session_cannot_choose_an_account_without_a_membership(account):
    membership = MembershipFactory(account=account)
    AccountFactory(key="foreign")
    response = signed_in(membership.user, account="foreign").get("/v1/echo")
    assert problem(response) == (403, "no_account", None)


def test_a_user_of_no_account(db):
    assert problem(signed_in(UserFactory()).get("/v1/echo")) == (403, "no_account", None)


def test_a_session_changes_nothing_without_the_csrf_token(account):
    membership = MembershipFactory(account=account)
    caller = signed_in(membership.user, csrf=True)
    assert caller.get("/v1/echo").status_code == 200
    assert problem(caller.post("/v1/echo", {})) == (403, "csrf_failed", None)


def test_a_session_with_the_csrf_token(account):
    membership = MembershipFactory(account=account)
    caller = signed_in(membership.user, csrf=True)
    token = "a" * 32
    caller.client.cookies["csrftoken"] = token
    assert caller.post("/v1/echo", {"a": 1}, headers={"X-CSRFToken": token}).json() == {"said": {"a": 1}}


def test_a_wrong_key_is_not_made_up_for_by_a_session(account):
    membership = MembershipFactory(account=account)
    caller = signed_in(membership.user)
    caller.headers = {"Authorization": "Bearer mem_wrong"}
    assert problem(caller.get("/v1/echo")) == (401, "unauthorized", None)


def test_a_key_with_a_limit(account, monkeypatch):
    monkeypatch.setattr(throttling.time, "time", lambda: 1_000_000_030.0)
    caller = caller_with_key(account, requests_per_minute=2)
    assert [caller.get("/v1/echo").status_code for _ in range(2)] == [200, 200]
    response = caller.get("/v1/echo")
    assert problem(response) == (429, "rate_limited", None)
    assert response.headers["Retry-After"] == "50"
    monkeypatch.setattr(throttling.time, "time", lambda: 1_000_000_080.0)
    assert caller.get("/v1/echo").status_code == 200


def test_keys_are_limited_each_for_itself(account):
    first, second = (caller_with_key(account, requests_per_minute=1) for _ in range(2))
    assert first.get("/v1/echo").status_code == 200
    assert first.get("/v1/echo").status_code == 429
    assert second.get("/v1/echo").status_code == 200


def test_the_general_limit_holds_for_keys_without_one(account, settings):
    settings.MEMORY_REQUESTS_PER_MINUTE = 1
    caller = caller_with_key(account)
    assert [caller.get("/v1/echo").status_code for _ in range(2)] == [200, 429]


def test_an_unlimited_key_is_not_counted(account, django_assert_num_queries):
    caller = caller_with_key(account)
    caller.get("/v1/echo")
    with django_assert_num_queries(0):
        caller.client.get("/v1/echo", headers=caller.headers)


def test_failures_of_an_address_are_limited(account, settings, monkeypatch):
    settings.MEMORY_FAILED_KEYS_PER_MINUTE = 2
    monkeypatch.setattr(throttling.time, "time", lambda: 1_000_000_030.0)
    wrong = Caller(headers={"Authorization": "Bearer mem_wrong"})
    good = caller_with_key(account)
    assert [wrong.get("/v1/echo").status_code for _ in range(3)] == [401, 401, 429]
    refused = good.get("/v1/echo")
    assert problem(refused) == (429, "rate_limited", None)
    assert refused.headers["Retry-After"] == "50"
    monkeypatch.setattr(throttling.time, "time", lambda: 1_000_000_081.0)
    assert good.get("/v1/echo").status_code == 200


def test_behind_a_proxy_the_address_is_the_one_it_saw(rf, settings):
    request = rf.get("/", headers={"X-Forwarded-For": "6.6.6.6, 10.1.1.1"})
    assert throttling.client_address(request) == "127.0.0.1"
    settings.MEMORY_BEHIND_PROXY = True
    assert throttling.client_address(request) == "10.1.1.1"
