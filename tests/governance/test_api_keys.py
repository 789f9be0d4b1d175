from datetime import UTC, datetime

import pytest

from governance import keys
from governance.access import Delegation, Right
from governance.models import ApiKey, IdempotencyRecord, Role
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import (
    AccountFactory,
    ScopeFactory,
    SubjectFactory,
    api_key,
    entered,
    maker_of,
    person_in,
    unknown_id,
)


@pytest.fixture
def administrator(account):
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def caller(administrator):
    return signed_in(maker_of(administrator))


def with_keys(account, administrator, **key):
    return caller_with_key(account, maker=maker_of(administrator), delegated=[Delegation.KEYS], **key)


def test_a_key_is_shown_once(account, caller):
    response = caller.post("/v1/keys", {"org_id": "someone-else", "project_id": "shop", "label": "checkout"})
    body = response.json()
    made = ApiKey.objects.get()
    assert response.status_code == 201
    assert body == {
        "id": str(made.id),
        "key": body["key"],
        "prefix": body["key"][:10],
        "label": "checkout",
        "org_id": account.key,
        "project_id": "shop",
        "scope": "/shop",
        "rights": ["capture", "read", "read_as_subject"],
        "delegated": [],
        "peer_key": None,
        "requests_per_minute": None,
        "created_at": made.created_at.isoformat(),
        "expires_at": None,
        "revoked_at": None,
        "last_used_at": None,
    }
    assert keys.authenticate(body["key"]).scope_limit == "/shop"
    (listed,) = caller.get("/v1/keys").json()["keys"]
    assert "key" not in listed
    assert body["key"] not in str(listed)


def test_the_older_client_may_leave_the_label_out(caller):
    assert caller.post("/v1/keys", {"org_id": "o", "project_id": "p", "label": None}).json()["label"] == "unnamed key"


def test_everything_that_a_key_can_have(account, caller, administrator):
    SubjectFactory(account=account, key="ada")
    body = {
        "label": "all",
        "rights": ["read", "read_for_others"],
        "delegated": ["resolve"],
        "peer_key": "ada",
        "expires_at": "2100-01-01",
        "requests_per_minute": 60,
    }
    answer = caller.post("/v1/keys", body).json()
    made = ApiKey.objects.get()
    assert (answer["rights"], answer["delegated"], answer["peer_key"]) == (
        ["read", "read_for_others"],
        ["resolve"],
        "ada",
    )
    assert made.expires_at == datetime(2100, 1, 1, 23, 59, 59, 999999, tzinfo=UTC)
    assert (made.maker_id, made.requests_per_minute, made.scope_limit) == (administrator.membership_id, 60, None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"rights": ["fly"]}, (422, "unknown_right", "rights")),
        ({"delegated": ["consent"]}, (422, "unknown_delegation", "delegated")),
        ({"rights": "read"}, (422, "invalid_payload", "rights")),
        ({"peer_key": "nobody"}, (404, "peer_not_found", "peer_key")),
        ({"expires_at": "2020-01-01T00:00:00Z"}, (422, "invalid_date", "expires_at")),
        ({"expires_at": "2100-01-01T00:00:00"}, (422, "naive_datetime", "expires_at")),
        ({"requests_per_minute": 0}, (422, "invalid_payload", "requests_per_minute")),
        ({"label": "x" * 129}, (422, "invalid_payload", "label")),
    ],
)
def test_malformed_keys_are_not_made(caller, body, expected):
    assert problem(caller.post("/v1/keys", {"label": "k", **body})) == expected
    assert not ApiKey.objects.exists()


def test_a_repeat_makes_no_second_key_and_shows_none(caller):
    first, second = (
        caller.post("/v1/keys", {"label": "k"}, headers={"Idempotency-Key": "make"}).json() for _ in range(2)
    )
    assert first["key"].startswith("mem_")
    assert second == {**first, "key": None}
    assert ApiKey.objects.count() == 1
    assert first["key"] not in str(IdempotencyRecord.objects.get().body)


@pytest.mark.parametrize("role", [Role.CURATOR, Role.READER, None])
def test_people_need_to_administer(account, role):
    caller = signed_in(maker_of(person_in(account, role=role)))
    assert problem(caller.post("/v1/keys", {"label": "k"})) == (403, "forbidden_scope", "scope")
    assert problem(caller.get("/v1/keys")) == (403, "forbidden_scope", "scope")
    assert problem(caller.delete(f"/v1/keys/{unknown_id()}")) == (403, "forbidden_scope", "scope")


def test_an_administrator_of_a_scope_makes_keys_there(account):
    caller = signed_in(maker_of(person_in(account, role=Role.ACCOUNT_ADMIN, path="/shop")))
    assert caller.post("/v1/keys", {"label": "k", "scope": "/shop/till"}).status_code == 201
    assert problem(caller.post("/v1/keys", {"label": "k"})) == (403, "forbidden_scope", "scope")


def test_a_plain_key_makes_no_keys(account):
    caller = caller_with_key(account)
    assert problem(caller.post("/v1/keys", {"label": "k"})) == (403, "human_required", None)
    assert problem(caller.get("/v1/keys")) == (403, "human_required", None)
    assert problem(caller.delete(f"/v1/keys/{unknown_id()}")) == (403, "human_required", None)


def test_a_key_hands_out_no_more_than_it_has(account, administrator):
    caller = with_keys(account, administrator, rights=[Right.READ])
    assert problem(caller.post("/v1/keys", {"rights": ["capture"]})) == (403, "forbidden_right", "rights")
    more = {"rights": ["read"], "delegated": ["resolve"]}
    assert problem(caller.post("/v1/keys", more)) == (403, "forbidden_right", "rights")
    assert caller.post("/v1/keys", {"rights": ["read"], "delegated": ["keys"]}).status_code == 201


def test_a_key_hands_out_no_other_peer_than_its_own(account, administrator):
    ada, _ = (SubjectFactory(account=account, key=key) for key in ("ada", "bob"))
    caller = with_keys(account, administrator, peer=ada)
    assert caller.post("/v1/keys", {"peer_key": "ada"}).json()["peer_key"] == "ada"
    assert problem(caller.post("/v1/keys", {"peer_key": "bob"})) == (403, "forbidden_right", "peer_key")
    trusted = with_keys(account, administrator, rights=[Right.READ, Right.READ_FOR_OTHERS])
    assert trusted.post("/v1/keys", {"rights": ["read"], "peer_key": "bob"}).json()["peer_key"] == "bob"


@pytest.mark.parametrize(
    ("asked", "expires_at", "rate"),
    [
        ({}, datetime(2100, 1, 1, tzinfo=UTC), 60),
        ({"expires_at": "2100-01-02", "requests_per_minute": 61}, datetime(2100, 1, 1, tzinfo=UTC), 60),
        (
            {"expires_at": "2099-01-01T00:00:00Z", "requests_per_minute": 59},
            datetime(2099, 1, 1, tzinfo=UTC),
            59,
        ),
    ],
)
def test_a_key_hands_out_neither_more_time_nor_a_higher_rate(account, administrator, asked, expires_at, rate):
    caller = with_keys(account, administrator, expires_at=datetime(2100, 1, 1, tzinfo=UTC), requests_per_minute=60)
    made = ApiKey.objects.get(pk=caller.post("/v1/keys", asked).json()["id"])
    assert (made.expires_at, made.requests_per_minute) == (expires_at, rate)


def test_a_confined_key_manages_its_own_subtree(account, administrator):
    shop, sales = (ScopeFactory(account=account, path=path) for path in ("/shop", "/sales"))
    caller = with_keys(account, administrator, scope_limit=shop)
    elsewhere, _ = api_key(account, scope_limit=sales)
    made = caller.post("/v1/keys", {"label": "till", "scope": "/shop/till"}).json()
    assert caller.post("/v1/keys", {"label": "same"}).json()["scope"] == "/shop"
    assert problem(caller.post("/v1/keys", {"scope": "/sales"})) == (403, "forbidden_scope", "scope")
    assert {key["scope"] for key in caller.get("/v1/keys").json()["keys"]} == {"/shop", "/shop/till"}
    assert problem(caller.delete(f"/v1/keys/{elsewhere.id}")) == (404, "key_not_found", None)
    assert caller.delete(f"/v1/keys/{made['id']}").json() == {"id": made["id"], "status": "revoked"}


def test_revoking_stops_a_key(caller):
    made = caller.post("/v1/keys", {"label": "k"}).json()
    using = Caller(headers={"Authorization": f"Bearer {made['key']}"})
    assert using.get("/v1/conflicts").status_code == 200
    for _ in range(2):
        assert caller.delete(f"/v1/keys/{made['id']}").json() == {"id": made["id"], "status": "revoked"}
    assert problem(using.get("/v1/conflicts")) == (401, "unauthorized", None)
    assert caller.get("/v1/keys").json()["keys"][0]["revoked_at"] is not None


def test_an_unknown_key(caller):
    assert problem(caller.delete(f"/v1/keys/{unknown_id()}")) == (404, "key_not_found", None)
    assert problem(caller.delete("/v1/keys/not-an-id")) == (404, "not_found", None)


def test_another_accounts_key_is_unknown(account, caller):
    other = AccountFactory(key="other")
    with entered(other):
        foreign, _ = api_key(other)
    assert problem(caller.delete(f"/v1/keys/{foreign.id}")) == (404, "key_not_found", None)
    assert caller.get("/v1/keys").json()["keys"] == []


def test_keys_come_in_pages_newest_first(caller):
    made = [caller.post("/v1/keys", {"label": label}).json()["id"] for label in "abc"]
    first = caller.get("/v1/keys", limit=2).json()
    second = caller.get("/v1/keys", limit=2, cursor=first["next_cursor"]).json()
    assert [key["id"] for key in first["keys"]] == [made[2], made[1]]
    assert ([key["id"] for key in second["keys"]], second["next_cursor"]) == ([made[0]], None)


def test_a_cursor_of_another_listing_is_refused(account, caller):
    for label in "ab":
        caller.post("/v1/keys", {"label": label})
    cursor = caller.get("/v1/keys", limit=1).json()["next_cursor"]
    assert problem(caller.get("/v1/conflicts", cursor=cursor)) == (422, "invalid_cursor", "cursor")
