"""What every answer carries, and what the log says of it."""

from __future__ import annotations

import json
import logging

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django_q.models import OrmQ, Schedule

from memory_site import logs, schedules, urls
from memory_site.middleware import CONTENT_SECURITY_POLICY, ContentSecurityPolicyMiddleware


def fail(request: HttpRequest, name: str) -> HttpResponse:
    raise ValueError(f"{name} lives in Lyon")


urlpatterns = [path("people/<str:name>", fail), *urls.urlpatterns]


@pytest.fixture
def lines() -> list[dict[str, object]]:
    """Return what is logged during the test, as it would be written."""
    written: list[dict[str, object]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(json.loads(self.format(record)))

    handler = Keep(level=logging.INFO)
    handler.setFormatter(logs.JsonFormatter())
    handler.addFilter(logs.AddressFilter())
    root, requests = logging.getLogger(), logging.getLogger("memory_site.requests")
    root.addHandler(handler)
    requests.setLevel(logging.INFO)
    yield written
    root.removeHandler(handler)
    requests.setLevel(logging.NOTSET)


def test_every_answer_is_named_and_guarded(client: Client) -> None:
    headers = client.get("/health").headers
    assert len(headers["X-Request-ID"]) == 32
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(("given", "kept"), [("abc-1.2_3", True), ("a b", False), ("x" * 65, False), ("", False)])
def test_the_name_of_a_request_is_kept_if_it_is_harmless(client: Client, given: str, kept: bool) -> None:
    answer = client.get("/health", headers={"X-Request-ID": given})
    assert (answer.headers["X-Request-ID"] == given) is kept


def test_a_view_may_set_a_policy_of_its_own() -> None:
    own = ContentSecurityPolicyMiddleware(
        lambda request: HttpResponse(headers={"Content-Security-Policy": "default-src 'none'"})
    )
    assert own(HttpRequest()).headers["Content-Security-Policy"] == "default-src 'none'"


def test_the_policy_allows_nothing_inline() -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'self';")


def test_a_request_is_logged_by_its_pattern(client: Client, lines: list[dict[str, object]]) -> None:
    client.get("/health", headers={"X-Request-ID": "r-1"})
    (line,) = lines
    assert {key: line[key] for key in ("message", "method", "route", "answer", "request_id", "level")} == {
        "message": "request",
        "method": "GET",
        "route": "health",
        "answer": 200,
        "request_id": "r-1",
        "level": "info",
    }


@pytest.mark.urls(__name__)
def test_neither_the_address_nor_the_error_puts_content_into_the_log(lines: list[dict[str, object]]) -> None:
    answer = Client(raise_request_exception=False).get("/people/Ada")
    assert answer.status_code == 500
    failure = next(line for line in lines if line["logger"] == "django.request")
    assert failure["message"] == "Internal Server Error: people/<str:name>"
    assert failure["error"] == "ValueError"
    assert failure["raised_at"][-1].endswith(" fail")
    assert "Ada" not in json.dumps(lines)
    assert "Lyon" not in json.dumps(lines)


@pytest.mark.urls(__name__)
def test_an_unknown_address_is_not_logged_either(client: Client, lines: list[dict[str, object]]) -> None:
    client.get("/Ada")
    assert {line["message"] for line in lines} == {"Not Found: no such address", "request"}


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["success", "failure", "schedule", "ormq"])
def test_the_queue_is_shown_to_superusers_and_cannot_be_changed(client: Client, page: str) -> None:
    schedules.sync()
    OrmQ.objects.create(key="memory", payload="x", lock="2026-03-01T12:00Z")
    users = get_user_model().objects
    client.force_login(users.create_superuser(username="ada"))
    assert client.get(f"/admin/django_q/{page}/").status_code == 200
    assert client.get(f"/admin/django_q/{page}/add/").status_code == 403
    assert client.post(f"/admin/django_q/{page}/", {"action": "resubmit_task"}).status_code == 200
    client.force_login(users.create_user(username="bob", is_staff=True))
    assert client.get(f"/admin/django_q/{page}/").status_code == 403


@pytest.mark.django_db
def test_a_schedule_cannot_be_rewritten_in_the_admin(client: Client) -> None:
    schedules.sync()
    client.force_login(get_user_model().objects.create_superuser(username="ada"))
    row = Schedule.objects.get(name="heartbeat")
    address = f"/admin/django_q/schedule/{row.pk}/change/"
    assert client.get(address).status_code == 200
    assert client.post(address, {"func": "os.system"}).status_code == 403
    assert client.post(address.replace("change", "delete")).status_code == 403
