"""The two endpoints of a terminal that asks to be let in."""

from __future__ import annotations

import pytest

from facts.models import Account
from governance import device_login, keys
from governance.access import APP_RIGHTS
from governance.models import Role
from memory_site.api import throttling
from tests.api import Caller, problem
from tests.factories import person_in

GRANTED = {"label": "laptop", "project": "shop", "is_confined": False, "rights": APP_RIGHTS, "delegated": []}


@pytest.fixture
def terminal(account: Account) -> Caller:
    return Caller()


def test_a_login_begins(terminal) -> None:
    response = terminal.post("/v1/cli/device/start")
    body = response.json()
    assert response.status_code == 200
    assert body == {
        "device_code": body["device_code"],
        "user_code": body["user_code"],
        "verification_uri": "http://testserver/device/",
        "verification_uri_complete": f"http://testserver/device/?user_code={body['user_code']}",
        "expires_in": 600,
        "interval": 3,
    }


def test_the_key_is_answered_once(account, terminal) -> None:
    started = terminal.post("/v1/cli/device/start").json()
    asked = {"device_code": started["device_code"]}
    assert terminal.post("/v1/cli/device/poll", asked).json() == {"status": "pending"}
    device_login.approve(person_in(account, role=Role.ACCOUNT_ADMIN), started["user_code"], **GRANTED)
    body = terminal.post("/v1/cli/device/poll", asked).json()
    assert body == {"status": "approved", "api_key": body["api_key"], "org_id": account.key, "project_id": "shop"}
    assert keys.authenticate(body["api_key"]).account_id == account.id
    again = problem(terminal.post("/v1/cli/device/poll", asked))
    assert again == (404, "device_code_not_found", "device_code")


def test_a_wrong_credential_is_nobodys_business_here(terminal) -> None:
    terminal.headers = {"Authorization": "Bearer hk_unknown"}
    assert terminal.post("/v1/cli/device/start").status_code == 200


@pytest.mark.parametrize("body", [{}, {"device_code": ""}, {"device_code": None}, {"device_code": "x" * 129}])
def test_malformed_questions(terminal, body) -> None:
    assert problem(terminal.post("/v1/cli/device/poll", body)) == (422, "invalid_payload", "device_code")


@pytest.mark.parametrize(("path", "limit"), [("start", 20), ("poll", 60)])
def test_an_address_is_held_to_its_calls_a_minute(terminal, monkeypatch, path, limit) -> None:
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_000_010.0)
    statuses = [terminal.post(f"/v1/cli/device/{path}", {"device_code": "x"}).status_code for _ in range(limit + 1)]
    assert 429 not in statuses[:-1]
    assert statuses[-1] == 429
    refused = terminal.post(f"/v1/cli/device/{path}", {"device_code": "x"})
    assert refused.headers["Retry-After"] == "50"
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_000_060.0)
    assert terminal.post(f"/v1/cli/device/{path}", {"device_code": "x"}).status_code != 429
