"""Actions and moods over HTTP."""

from __future__ import annotations

import pytest

from facts.models import Account, Subject
from governance.models import Role
from ingest.models import Action
from tests.api import caller_with_key, problem, signed_in
from tests.factories import FactFactory, MembershipFactory, SubjectFactory, maker_of, person_in


@pytest.fixture
def ana(account: Account) -> Subject:
    return SubjectFactory(account=account, key="ana", name="Ana")


@pytest.fixture
def action(ana: Subject) -> Action:
    fact = FactFactory(subject=ana, category="commitment", statement="Ana sends the report.")
    return Action.objects.create(
        account=ana.account,
        fact=fact,
        rule_key="commitment-task",
        rule_version=0,
        kind="task",
        scope=fact.scope,
        subject=ana,
        assignee=ana,
    )


def test_a_person_lists_their_actions_and_says_that_one_is_done(ana: Subject, action: Action) -> None:
    caller = signed_in(MembershipFactory(account=ana.account, subject=ana))
    (shown,) = caller.get("/v1/actions").json()["actions"]
    assert (shown["id"], shown["kind"], shown["statement"], shown["assignee"], shown["version"]) == (
        str(action.id),
        "task",
        "Ana sends the report.",
        "ana",
        1,
    )
    answer = caller.post(f"/v1/actions/{action.id}/done", {"version": 1})
    assert (answer.status_code, answer.json()["state"]) == (200, "done")
    assert caller.get("/v1/actions").json()["actions"] == []
    assert len(caller.get("/v1/actions", state="done", kind="task", mine="true").json()["actions"]) == 1
    assert problem(caller.post(f"/v1/actions/{action.id}/dismiss", {}))[:2] == (409, "action_not_open")
    assert caller.post(f"/v1/actions/{action.id}/reopen", {}).json()["state"] == "open"
    assert problem(caller.post(f"/v1/actions/{action.id}/assign", {"person": ""}))[:2] == (403, "forbidden")


def test_words_are_for_whoever_may_read_them(account: Account, action: Action) -> None:
    bob = MembershipFactory(account=account)
    Action.objects.update(assignee=bob.subject)
    (shown,) = signed_in(bob).get("/v1/actions").json()["actions"]
    assert (shown["id"], shown["statement"]) == (str(action.id), None)
    # Nor whom it is about, where that was said, and what it was about.
    assert [shown[name] for name in ("subject_id", "scope", "project_id", "category", "rule")] == [""] * 5
    assert shown["fact_id"] is None
    (shown,) = signed_in(maker_of(person_in(account))).get("/v1/actions").json()["actions"]
    assert shown["statement"] == "Ana sends the report."


def test_a_curator_gives_an_action_to_somebody(account: Account, action: Action) -> None:
    caller = signed_in(maker_of(person_in(account, role=Role.CURATOR)))
    SubjectFactory(account=account, key="bob")
    assert caller.post(f"/v1/actions/{action.id}/assign", {"person": "bob"}).json()["assignee"] == "bob"


def test_machines_have_no_actions_and_no_moods(account: Account) -> None:
    caller = caller_with_key(account)
    for address in ("/v1/actions", "/v1/moods"):
        assert problem(caller.get(address))[:2] == (403, "human_required")


def test_a_person_enters_and_reads_their_mood(ana: Subject) -> None:
    caller = signed_in(MembershipFactory(account=ana.account, subject=ana))
    entered = caller.post("/v1/moods", {"score": 4, "note": "Fine."}).json()
    assert (entered["person"], entered["score"], entered["source"], entered["note"]) == ("ana", 4, "manual", "Fine.")
    assert [mood["score"] for mood in caller.get("/v1/moods").json()["moods"]] == [4]
    other = signed_in(MembershipFactory(account=ana.account))
    assert other.get("/v1/moods", person="ana").json()["moods"] == []
    removed = caller.post("/v1/moods/remove", {"day": entered["day"]}).json()
    assert removed == {"day": entered["day"], "removed": True}
    assert caller.get("/v1/moods").json()["moods"] == []
