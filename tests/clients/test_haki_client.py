"""Haki's published Python client, unmodified: every method of both clients, the helpers, and the command line.

`make test` installs the locked package into a directory of its own, because it asks for Python 3.12 (its code runs on
3.11) and brings an HTTP library that the project does not use.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from django.test import Client

from facts.clock import now
from facts.models import Account, ConflictSet, Fact, Membership
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance.access import Delegation
from governance.models import ApiKey, DeviceLogin, Role
from tests.factories import AccountFactory, ScopeFactory, SubjectFactory, api_key, maker_of, person_in, submit

INSTALLED = Path(sys.prefix) / "haki-client"
sys.path.append(str(INSTALLED))
haki = pytest.importorskip("haki", reason="the package gethaki is not installed; `make test` does that")
runtime = pytest.importorskip("haki.runtime")

pytestmark = pytest.mark.django_db(transaction=True)

PROJECT = "shop"
PATIENCE = 60  # seconds for a command to end


@dataclass(frozen=True)
class Place:
    """An account with an administrator, and where it is served."""

    address: str
    account: Account
    administrator: Membership

    def key(self, *delegated: str) -> str:
        """Return a key of the account; what is delegated is done in the administrator's name."""
        with account_transaction(self.account.id):
            return api_key(self.account, maker=self.administrator, delegated=delegated)[1]

    def client(self, *delegated: str) -> Any:
        """Return a client with a key of its own."""
        return haki.HakiClient(self.address, self.key(*delegated), timeout=PATIENCE)

    def facts(self) -> dict[str, str]:
        """Return the status of each fact by its statement."""
        with account_transaction(self.account.id):
            return dict(Fact.objects.values_list("statement", "status"))


class Awaited:
    """The asynchronous client, each of its calls awaited on a loop of its own thread.

    The thread of the tests may run a loop already: the browser's.
    """

    def __init__(self, client: Any, portal: BlockingPortal) -> None:
        self._client, self._portal = client, portal

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        return lambda *args, **kwargs: self._portal.call(partial(method, *args, **kwargs))


@pytest.fixture
def place(live_server) -> Place:
    account = AccountFactory(key="acme")
    with account_transaction(account.id):
        return Place(live_server.url, account, maker_of(person_in(account, role=Role.ACCOUNT_ADMIN)))


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, place: Place) -> Iterator[Callable[..., Any]]:
    """Return what makes clients of either kind, each with a key of its own (``key=None``: with none)."""
    made: list[Any] = []
    with start_blocking_portal() as portal:

        def make(*delegated: str, key: str | None = "") -> Any:
            key = place.key(*delegated) if key == "" else key
            if request.param == "sync":
                client = haki.HakiClient(place.address, key, timeout=PATIENCE)
                made.append(client.close)
                return client
            waiting = Awaited(haki.AsyncHakiClient(place.address, key, timeout=PATIENCE), portal)
            made.append(waiting.aclose)
            return waiting

        yield make
        for close in made:
            close()


def said(text: str, *, subject: str = "ana", minute: int = 0, **fields: Any) -> dict[str, Any]:
    """Return an event as the documentation of the client writes it."""
    return {
        "org_id": "org_default",
        "project_id": PROJECT,
        "subject_type": "user",
        "subject_id": subject,
        "kind": "conversation.message",
        "occurred_at": datetime(2026, 3, 2, 9, minute, tzinfo=UTC).isoformat(),
        "payload": {"role": "user", "content": text},
        "idempotency_key": f"{subject}-{minute}",
        **fields,
    }


def remember(client: Any, *texts: str, subject: str = "ana") -> None:
    """Say something, a minute apart, and let it be processed message by message."""
    for minute, text in enumerate(texts):
        client.capture([said(text, subject=subject, minute=minute)])
        client.consolidate_subject(project_id=PROJECT, subject_id=subject)


def error_of(call: Callable[[], Any]) -> tuple[int, str, str | None]:
    """Return what the client's error says: status, type and field."""
    with pytest.raises(haki.HakiApiError) as caught:
        call()
    assert str(caught.value)
    return caught.value.status_code, caught.value.error_type, caught.value.field


def test_health(connect) -> None:
    assert connect(key=None).health()["status"] == "ok"


def test_without_a_key_the_error_says_so(connect) -> None:
    assert error_of(lambda: connect(key=None).timeline("ana", PROJECT)) == (401, "unauthorized", None)


def test_capture_is_idempotent_by_batch(connect) -> None:
    client = connect()
    first = client.capture([said("I live in Lyon.")], "batch-1")
    again = client.capture([said("I live in Lyon.")], "batch-1")
    assert (first["status"], first["events"][0]["deduplicated"]) == ("accepted", False)
    assert again["events"][0] == {**first["events"][0], "deduplicated": True, "job_id": again["events"][0]["job_id"]}


def test_what_waits_is_processed_by_account_or_by_subject(connect, place) -> None:
    client = connect()
    client.capture([said("I live in Lyon."), said("I live in Porto.", subject="ben")])
    assert client.consolidate_subject(project_id=PROJECT, subject_id="ana") == {"processed": 1, "pending": 0}
    assert place.facts() == {"Ana lives in Lyon.": Status.ACTIVE}
    assert client.consolidate() == {"processed": 1, "pending": 0}
    assert place.facts() == {"Ana lives in Lyon.": Status.ACTIVE, "Ben lives in Porto.": Status.ACTIVE}


def test_context_serves_facts_and_episodes_under_the_names_of_the_client(connect) -> None:
    client = connect()
    remember(client, "I live in Lyon.")
    answer = client.context("ana", "Where does she live?", PROJECT, purpose="support", budget_tokens=500)
    packet = answer["packet"]
    (fact,), (episode,) = packet["facts"], packet["episodes"]
    (event,) = client.timeline("ana", PROJECT)["events"]
    assert (packet["status"], packet["warnings"], packet["empty_reason"]) == ("ok", [], None)
    assert (fact["predicate"], fact["value"], fact["status"]) == ("home_city", {"value": "Lyon"}, "active")
    assert fact["valid_from"] == "2026-03-02T09:00:00+00:00"
    assert fact["source_event_ids"] == [event["id"]]
    assert {name: episode[name] for name in ("event_id", "kind", "occurred_at", "excerpt")} == {
        "event_id": event["id"],
        "kind": "conversation.message",
        "occurred_at": "2026-03-02T09:00:00+00:00",
        "excerpt": "I live in Lyon.",
    }
    assert answer["token_count"] > 0


def test_a_packet_becomes_a_block_for_the_prompt(connect) -> None:
    client = connect()
    remember(client, "I live in Lyon.")
    packet = client.context("ana", "Where does she live?", PROJECT, purpose="support")["packet"]
    (event,) = client.timeline("ana", PROJECT)["events"]
    lines = runtime.build_prompt_context(packet).splitlines()
    at = "2026-03-02T09:00:00+00:00"
    assert (lines[0], lines[-1]) == ("<haki_memory>", "</haki_memory>")
    assert f"- home_city: {{'value': 'Lyon'}} (valid from {at}; sources: {event['id']})" in lines
    assert f"- [{at}] conversation.message: I live in Lyon. (event: {event['id']})" in lines


def test_where_nothing_is_known_the_block_is_empty(connect) -> None:
    packet = connect().context("nobody", "Where do they live?", PROJECT, purpose="support")["packet"]
    nothing = {"cards": [], "facts": [], "episodes": []}
    assert packet == {**nothing, "warnings": [], "status": "ok", "empty_reason": "no_memory"}
    assert runtime.build_prompt_context(packet) == ""


def test_a_trace_says_why(connect) -> None:
    client = connect()
    remember(client, "I live in Lyon.")
    answer = client.context("ana", "Where does she live?", PROJECT, purpose="support")
    trace = client.inspect(answer["trace_id"], project_id=PROJECT, subject_id="ana")
    (decision,) = [each for each in trace["decisions"] if each["fact_id"]]
    assert decision["fact_id"] == answer["packet"]["facts"][0]["id"]
    assert (decision["action"], decision["reason_code"]) == ("included", "top_score")
    assert trace["packet"]["facts"] == answer["packet"]["facts"]


def test_facts_are_listed_in_every_status(connect) -> None:
    client = connect()
    remember(client, "I live in Lyon.", "I moved to Porto.")
    listed = {
        status: [fact["value"] for fact in client.facts(project_id=PROJECT, subject_id="ana", status=status)["facts"]]
        for status in ("active", "superseded")
    }
    assert listed == {"active": [{"value": "Porto"}], "superseded": [{"value": "Lyon"}]}
    assert len(client.facts(project_id=PROJECT, subject_id="ana")["facts"]) == 2


def test_forgetting_hides_a_fact_or_a_subject(connect, place) -> None:
    client = connect(Delegation.FORGET)
    remember(client, "I live in Lyon.")
    remember(client, "I live in Porto.", subject="ben")
    (fact,) = client.facts(project_id=PROJECT, subject_id="ana")["facts"]
    receipt = client.forget(project_id=PROJECT, fact_id=fact["id"])
    assert (receipt["status"], receipt["mode"], receipt["scope"], receipt["facts_disabled"]) == (
        "forgotten",
        "disable",
        "fact",
        1,
    )
    assert client.forget(project_id=PROJECT, subject_id="ben")["scope"] == "subject"
    assert place.facts() == {"Ana lives in Lyon.": Status.DISABLED, "Ben lives in Porto.": Status.DISABLED}
    packet = client.context("ana", "Where does she live?", PROJECT, purpose="support")["packet"]
    assert (packet["facts"], packet["episodes"]) == ([], [])


def test_deleting_leaves_no_words(connect, place) -> None:
    client = connect(Delegation.FORGET)
    remember(client, "I live in Lyon.")
    receipt = client.forget(project_id=PROJECT, subject_id="ana", mode="delete")
    assert (receipt["mode"], receipt["facts_deleted"], receipt["events_deleted"]) == ("delete", 1, 1)
    assert place.facts() == {"": Status.DELETED}


def test_forgetting_that_does_not_go_says_why(connect) -> None:
    client = connect(Delegation.FORGET)
    remember(client, "I live in Lyon.")
    assert error_of(lambda: client.forget(project_id=PROJECT)) == (422, "invalid_forget_scope", "fact_id")
    assert error_of(lambda: connect().forget(project_id=PROJECT, subject_id="ana")) == (403, "human_required", None)


def test_feedback_about_a_trace_and_about_a_fact(connect) -> None:
    client = connect()
    remember(client, "I live in Lyon.")
    answer = client.context("ana", "Where does she live?", PROJECT, purpose="support")
    useful = client.feedback(project_id=PROJECT, rating="useful", trace_id=answer["trace_id"], comment="Right.")
    assert (useful["status"], useful["fact_status"]) == ("recorded", None)
    (fact,) = answer["packet"]["facts"]
    wrong = client.feedback(project_id=PROJECT, rating="incorrect", fact_id=fact["id"])
    assert (wrong["status"], wrong["fact_status"]) == ("recorded", "disputed")
    both = error_of(lambda: client.feedback(project_id=PROJECT, rating="useful"))
    assert both == (422, "invalid_payload", "trace_id")


def contradiction(place: Place) -> tuple[str, str]:
    """Let Ana live in two cities at once; return the conflict set and the fact about the second one."""
    with account_transaction(place.account.id):
        ana = SubjectFactory(account=place.account, key="ana")
        scope = ScopeFactory(account=place.account, path=f"/{PROJECT}")
        for city in ("Lyon", "Porto"):
            submit(ana, {"city": city}, event_fields={"scope": scope})
        porto = Fact.objects.get(value={"city": "Porto"})
        return str(ConflictSet.objects.get().pk), str(porto.pk)


def test_a_conflict_is_resolved_in_the_name_of_a_person(connect, place) -> None:
    conflict, porto = contradiction(place)
    client = connect(Delegation.RESOLVE)
    packet = client.context("ana", "Where does she live?", PROJECT, purpose="support")["packet"]
    assert "! open_conflict" in runtime.build_prompt_context(packet)
    denied = error_of(lambda: connect().resolve_conflict(conflict, project_id=PROJECT, keep_fact_id=porto))
    assert denied == (403, "human_required", None)
    client.resolve_conflict(conflict, project_id=PROJECT, keep_fact_id=porto)
    (served,) = client.context("ana", "Where does she live?", PROJECT, purpose="support")["packet"]["facts"]
    assert served["id"] == porto
    again = error_of(lambda: client.resolve_conflict(conflict, project_id=PROJECT, keep_fact_id=porto))
    assert again == (409, "conflict_already_resolved", None)


def test_keys_are_made_listed_and_revoked_in_the_name_of_a_person(connect) -> None:
    client = connect(Delegation.KEYS)
    made = client.create_key(project_id=PROJECT, org_id="whatever", label="till")
    assert (made["project_id"], made["org_id"], made["label"]) == (PROJECT, "acme", "till")
    second = connect(key=made["key"])
    assert second.timeline("ana", PROJECT)["events"] == []
    assert error_of(lambda: second.timeline("ana", "elsewhere")) == (403, "forbidden_scope", "scope")
    assert error_of(second.list_keys) == (403, "human_required", None)
    assert client.revoke_key(made["id"]) == {"id": made["id"], "status": "revoked"}
    assert error_of(lambda: second.timeline("ana", PROJECT)) == (401, "unauthorized", None)
    listed = {key["label"]: key for key in client.list_keys()["keys"]}
    assert listed["till"]["revoked_at"] is not None
    assert "key" not in listed["till"]


def browser_of(membership: Membership) -> Client:
    """Return a browser in which this administrator is signed in."""
    membership.user.is_staff = True
    membership.user.save(update_fields=["is_staff"])
    browser = Client()
    browser.force_login(membership.user)
    return browser


def decide(place: Place, user_code: str, **answers: Any) -> None:
    """Open the page with the code and answer it."""
    browser = browser_of(place.administrator)
    page = browser.get("/device/", {"user_code": user_code}, follow=True)
    assert user_code.encode() in page.content
    answer = browser.post(page.request["PATH_INFO"], {"user_code": user_code, **answers}, follow=True)
    assert [message.level_tag for message in answer.context["messages"]] == ["success"]


LET_IN = {
    "decision": "approve",
    "label": "laptop",
    "project": PROJECT,
    "rights": ["capture", "read", "read_as_subject"],
}


def test_a_terminal_is_let_in_once(connect, place) -> None:
    client = connect(key=None)
    start = client.cli_device_start()
    assert (start["expires_in"], start["interval"]) == (600, 3)
    assert start["verification_uri"] == f"{place.address}/device/"
    assert client.cli_device_poll(start["device_code"]) == {"status": "pending"}
    decide(place, start["user_code"], **LET_IN)
    approved = client.cli_device_poll(start["device_code"])
    assert (approved["status"], approved["org_id"], approved["project_id"]) == ("approved", "acme", PROJECT)
    assert connect(key=approved["api_key"]).timeline("ana", PROJECT)["events"] == []
    again = error_of(lambda: client.cli_device_poll(start["device_code"]))
    assert again == (404, "device_code_not_found", "device_code")


def test_a_terminal_is_turned_away_or_late(connect, place) -> None:
    client = connect(key=None)
    start = client.cli_device_start()
    decide(place, start["user_code"], decision="refuse")
    assert error_of(lambda: client.cli_device_poll(start["device_code"])) == (403, "device_refused", None)
    late = client.cli_device_start()
    decide(place, late["user_code"], **LET_IN)
    with account_transaction(place.account.id):
        DeviceLogin.objects.filter(status="approved").update(expires_at=now() - timedelta(seconds=1))
    assert client.cli_device_poll(late["device_code"]) == {"status": "expired"}


def test_a_turn_is_captured_and_only_the_person_is_believed(place) -> None:
    with place.client() as client:
        runtime.capture_turn(client, "ana", PROJECT, "I live in Lyon.", "You live in Berlin.", thread_id="t-1")
        client.consolidate_subject(project_id=PROJECT, subject_id="ana")
        (event,) = client.timeline("ana", PROJECT)["events"]
    assert (event["kind"], event["thread_id"]) == ("conversation.turn", "t-1")
    assert place.facts() == {"Ana lives in Lyon.": Status.ACTIVE}


@dataclass(frozen=True)
class Terminal:
    """A shell of somebody who has the command line installed, with a home directory of their own."""

    home: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command with these arguments."""
        environment = {"HOME": str(self.home), "PYTHONPATH": str(INSTALLED), "BROWSER": "true", "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "haki.cli", *arguments],
            env={**os.environ, **environment},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run the command to its end; return its exit code and what it printed."""
        process = self.start(*arguments)
        printed, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, printed

    def config(self) -> dict[str, str]:
        """Return what the command keeps."""
        return json.loads((self.home / ".haki" / "config.json").read_text())


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    if not INSTALLED.is_dir():
        pytest.skip(f"the client is not installed in {INSTALLED}")
    return Terminal(tmp_path)


def test_login_then_the_clients_own_check(place, terminal) -> None:
    login = terminal.start("login", "--api-url", place.address)
    code = re.fullmatch(r"Code : ([A-Z]{4}-[A-Z]{4})\n", login.stdout.readline())[1]
    decide(place, code, **LET_IN, delegated=[Delegation.KEYS])
    printed, _ = login.communicate(timeout=PATIENCE)
    assert login.returncode == 0, printed
    config = terminal.config()
    assert (config["api_url"], config["org_id"], config["project_id"]) == (place.address, "acme", PROJECT)

    returncode, printed = terminal.run("verify")
    assert returncode == 0, printed
    assert "consolidate 1 supersession" in printed
    assert 'recalled  preferred_language = {"value": "en"}' in printed
    assert 'hidden    preferred_language = {"value": "fr"}   superseded' in printed

    assert terminal.run("status")[0] == 0
    returncode, printed = terminal.run("keys", "create", "--project-id", PROJECT, "--label", "till")
    assert returncode == 0, printed
    with account_transaction(place.account.id):
        made = ApiKey.objects.get(label="till")
    assert f"{made.id}  {made.prefix}…  {PROJECT}  active  till" in terminal.run("keys", "list")[1]
    assert terminal.run("keys", "revoke", str(made.id)) == (0, f"key {made.id} revoked\n")


def test_connect_then_the_clients_own_check(place, terminal) -> None:
    returncode, printed = terminal.run("connect", "--api-url", place.address, "--api-key", place.key())
    assert returncode == 0, printed
    returncode, printed = terminal.run("verify")
    assert returncode == 0, printed
    assert "it can prove it" in printed


def test_the_check_without_a_key_fails_and_says_why(place, terminal) -> None:
    assert terminal.run("connect", "--api-url", place.address)[0] == 0
    returncode, printed = terminal.run("verify")
    assert returncode == 1
    assert "A valid key or session is needed." in printed
