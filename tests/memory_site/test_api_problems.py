import pytest
from django.test import Client

from memory_site.api import parsers
from tests.api import Caller, caller_with_key, problem
from tests.memory_site.api_views import RAISED

pytestmark = pytest.mark.urls("tests.memory_site.api_views")


@pytest.fixture
def caller(account):
    return caller_with_key(account)


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("domain", (409, "stale_version", "version")),
        ("fieldless", (409, "conflict_already_resolved", None)),
        ("django_invalid", (422, "invalid_payload", "name")),
        ("django_denied", (403, "forbidden", None)),
        ("denied", (403, "forbidden", None)),
        ("missing", (404, "not_found", None)),
        ("suspicious", (400, "bad_request", None)),
        ("store", (503, "unavailable", None)),
        ("unknown", (500, "internal_error", None)),
    ],
)
def test_each_exception_has_its_problem(caller, what, expected):
    assert set(RAISED) >= {what}
    assert problem(caller.post("/v1/raise", {"what": what})) == expected


def test_a_problem_is_complete(caller):
    response = caller.post("/v1/raise", {"what": "domain"}, headers={"X-Request-ID": "given-1"})
    assert response.json() == {
        "type": "urn:memory:error:stale_version",
        "title": "It has changed since it was looked at.",
        "status": 409,
        "detail": "The budget is spent.",
        "errors": [{"field": "version", "code": "stale_version", "message": "The budget is spent."}],
        "request_id": "given-1",
        "error": {"type": "stale_version", "message": "The budget is spent.", "field": "version"},
    }


@pytest.mark.parametrize("what", ["unknown", "store", "denied", "missing", "suspicious"])
def test_what_was_raised_below_stays_there(caller, what):
    body = caller.post("/v1/raise", {"what": what}).content
    assert b"secret" not in body
    assert b"10.0.0.1" not in body


def test_a_store_out_of_reach_says_when_to_come_back(caller):
    assert caller.post("/v1/raise", {"what": "store"}).headers["Retry-After"] == "2"


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/", "/api/v1/nothing/here", "/v1/echo/"])
def test_an_unknown_address_is_a_problem_for_anybody(db, path):
    assert problem(Caller().get(path)) == (404, "not_found", None)
    assert problem(Caller().post(path)) == (404, "not_found", None)


def test_an_unknown_method_names_the_known_ones(caller):
    response = caller.delete("/v1/echo")
    assert problem(response) == (405, "method_not_allowed", None)
    assert response.headers["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_other_media_types_are_refused(caller):
    response = Client().post("/v1/echo", {"a": "1"}, headers=caller.headers)
    assert problem(response) == (415, "unsupported_media_type", None)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"{", "The body is not valid JSON."),
        (b'{"a": NaN}', "The body is not valid JSON."),
        (b'{"a": -Infinity}', "The body is not valid JSON."),
        (b'{"a": "\xff"}', "The body is not valid JSON."),
        (b"[" * 100_000, "The body is not valid JSON."),
        (b"[1]", "The body has to be a JSON object."),
        (b'"text"', "The body has to be a JSON object."),
        (b"null", "The body has to be a JSON object."),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "The body is nested deeper than 64 levels."),
    ],
)
def test_bodies_that_are_no_sensible_object(caller, body, detail):
    response = caller.post("/v1/echo", body)
    assert problem(response) == (422, "invalid_payload", None)
    assert response.json()["detail"] == detail


def test_nesting_up_to_the_limit_is_accepted(caller):
    depth = parsers.MAX_DEPTH
    body = b'{"a":' * depth + b"1" + b"}" * depth
    assert caller.post("/v1/echo", body).status_code == 200


def test_wide_bodies_are_not_deep(caller):
    body = {"items": [{"a": [number]} for number in range(200)]}
    assert caller.post("/v1/echo", body).json() == {"said": body}


def test_of_a_repeated_key_the_last_value_counts(caller):
    assert caller.post("/v1/echo", b'{"a": 1, "a": 2}').json() == {"said": {"a": 2}}


def test_a_lone_surrogate_reaches_the_endpoint(caller):
    response = caller.post("/v1/echo", b'{"a": "\\ud83d cut"}')
    assert response.json() == {"said": {"a": "\ud83d cut"}}


def test_a_lone_surrogate_in_a_name_is_refused(caller):
    response = caller.post("/v1/validate", b'{"scope": "/\\ud83d"}')
    assert problem(response) == (422, "invalid_payload", "scope")


def test_a_nul_in_a_name_is_refused(caller):
    response = caller.post("/v1/validate", b'{"scope": "/a", "subject_id": "a\\u0000b"}')
    assert problem(response) == (422, "invalid_payload", "subject_id")


def test_too_large_a_body(caller, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert problem(caller.post("/v1/echo", {"a": "x" * 100})) == (413, "payload_too_large", None)
    assert caller.post("/v1/echo", {"a": "x" * 50}).status_code == 200


def test_an_empty_body_is_an_empty_object(caller):
    assert caller.post("/v1/echo", b"").json() == {"said": {}}


def test_faults_are_named_by_field(caller):
    response = caller.post("/v1/validate", {"scope": "/a", "items": [{"at": "2025-01-01T00:00Z"}, {}]})
    assert problem(response) == (422, "invalid_payload", "items.1.at")
    assert response.json()["errors"] == [
        {"field": "items.1.at", "code": "required", "message": "This field is required."}
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (422, "missing_scope", "scope")),
        ({"scope": "  ", "project_id": None}, (422, "missing_scope", "scope")),
        ({"scope": "/a/../b"}, (422, "invalid_scope", "scope")),
        ({"scope": "/a", "project_id": "b"}, (422, "ambiguous_field", "scope")),
        ({"scope": "/a", "reader": "x", "peer_key": "y"}, (422, "ambiguous_field", "reader")),
        ({"scope": "/a", "at": "2025-01-01T10:00:00"}, (422, "naive_datetime", "at")),
        ({"scope": "/a", "at": "2025-02-30T10:00:00Z"}, (422, "invalid_datetime", "at")),
        ({"scope": "/a", "at": 1735689600}, (422, "invalid_datetime", "at")),
        ({"at": "yesterday"}, (422, "invalid_datetime", "at")),
    ],
)
def test_faults_with_a_code_of_their_own_give_it_to_the_whole(caller, body, expected):
    assert problem(caller.post("/v1/validate", body)) == expected


def test_answers_are_json_whatever_the_caller_accepts(caller):
    with_html = Caller(headers={**caller.headers, "Accept": "text/html"})
    response = with_html.get("/v1/echo")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
