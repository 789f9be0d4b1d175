"""The pages of actions, their rules, deliveries and targets, and moods."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Account, Subject
from governance.access import Principal
from governance.models import Role
from ingest.models import Action, ActionRule, Delivery, DeliveryTarget, MoodEntry
from memory_site import health, scheduled_runs
from memory_site.schedules import COUNTS_DEAD_LETTERS
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import MARCH, FactFactory, SubjectFactory, maker_of, person_in

ACTIONS = reverse("admin:ingest_action_changelist")
RULES = reverse("admin:ingest_actionrule_changelist")
TARGETS = reverse("admin:ingest_deliverytarget_changelist")
DELIVERIES = reverse("admin:ingest_delivery_changelist")


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def browser(administrator: Principal) -> Client:
    return sign_in(Client(), administrator)


@pytest.fixture
def ana(account: Account) -> Subject:
    return SubjectFactory(account=account, key="ana", name="Ana")


@pytest.fixture
def action(ana: Subject) -> Action:
    fact = FactFactory(subject=ana, category="commitment", statement=f"Ana sends it. {HOSTILE}")
    return Action.objects.create(
        account=ana.account,
        fact=fact,
        rule_key="commitment-task",
        rule_version=0,
        kind="task",
        scope=fact.scope,
        subject=ana,
    )


def test_an_action_is_shown_with_what_was_said_and_closed_by_its_button(browser: Client, action: Action) -> None:
    listed = browser.get(ACTIONS)
    assert [row.pk for row in listed.context["cl"].result_list] == [action.pk]
    address = reverse("admin:ingest_action_change", args=[action.pk])
    page = browser.get(address)
    assert page.context["excerpts"]
    for shown in (listed, page):
        assert b"<script>document" not in shown.content
        assert b"Ana sends it." in shown.content
    decide = reverse("admin:action_decide", args=[action.pk])
    assert browser.post(decide, {"verb": "assign", "person": "ana", "version": "1"}).status_code == 302
    stale = browser.post(decide, {"verb": "done", "version": "1"})
    assert (stale.status_code, "meanwhile" in stale.content.decode()) == (409, True)
    assert browser.post(decide, {"verb": "done", "version": "2"}).status_code == 302
    action.refresh_from_db()
    assert (action.state, action.assignee.key) == ("done", "ana")
    assert list(browser.get(ACTIONS).context["cl"].result_list) == []
    assert len(browser.get(f"{ACTIONS}?state=done&given=nobody").context["cl"].result_list) == 0
    assert len(browser.get(f"{ACTIONS}?state=all").context["cl"].result_list) == 1
    assert browser.post(decide, {"verb": "reopen"}).status_code == 302
    assert browser.post(decide, {"verb": "sing"}).status_code == 422


def test_somebody_to_whom_it_was_given_sees_it_without_the_words_that_are_not_theirs(
    account: Account, action: Action
) -> None:
    bob = person_in(account, role=None)
    Action.objects.update(assignee=bob.subject_id)
    page = sign_in(Client(), bob).get(reverse("admin:ingest_action_change", args=[action.pk]))
    assert (page.status_code, b"Ana sends it" in page.content) == (200, False)
    assert b"not for you to read" in page.content
    assert b'value="done"' in page.content
    assert b'value="assign"' not in page.content


def test_a_list_costs_the_same_for_many_actions(browser: Client, action: Action, django_assert_max_num_queries) -> None:
    for number in range(5):
        fact = FactFactory(subject=action.subject, category="blocker")
        Action.objects.create(
            account=action.account,
            fact=fact,
            rule_key=f"own-{number}",
            rule_version=1,
            kind="blocker",
            scope=fact.scope,
            subject=fact.subject,
        )
    with django_assert_max_num_queries(40):
        assert len(browser.get(ACTIONS).context["cl"].result_list) == 6


def test_a_rule_is_looked_at_and_set(browser: Client, action: Action) -> None:
    assert b"built-in" in browser.get(RULES).content
    address = reverse("admin:action_rule_edit", args=["commitment-task"])
    typed = {"expected": "0", "category": "commitment", "threshold": "0.95", "kind": "task", "notice_to": "nobody"}
    typed["note"] = "Fewer tasks."
    looked = browser.post(address, {**typed, "enabled": "on", "decision": "look"})
    assert looked.context["looks"] is not None
    assert not ActionRule.objects.exists()
    wrong = browser.post(address, {**typed, "notice_to": "target", "target": "nowhere", "decision": "save"})
    assert wrong.context["form"].errors["target"]
    assert browser.post(address, {**typed, "enabled": "on", "decision": "save"}).status_code == 302
    assert ActionRule.objects.get(key="commitment-task").threshold == 0.95
    assert browser.get(RULES).context["built_in"] is False
    row = ActionRule.objects.get(key="commitment-task")
    assert browser.get(reverse("admin:ingest_actionrule_change", args=[row.pk])).url == address
    (entry,) = browser.get(address).context["history"]
    assert (entry.verb, entry.change.note) == ("changed", "Fewer tasks.")
    assert [(line.label, line.before, line.after) for line in entry.lines] == [("Threshold", "0.85", "0.95")]
    assert browser.get(f"{address}?from={entry.change.pk}").context["form"]["threshold"].value() == 0.95
    silent = browser.post(address, {**typed, "expected": "2", "note": "", "enabled": "on", "decision": "save"})
    assert silent.context["form"].errors["note"]
    stale = browser.post(address, {**typed, "enabled": "on", "decision": "save"})
    assert "meanwhile" in stale.content.decode()
    assert browser.post(reverse("admin:action_rule_new"), {**typed, "decision": "save"}).status_code == 302
    assert browser.get(reverse("admin:action_rule_edit", args=["no-such"])).status_code == 404


def test_a_webhook_shows_its_secret_once(browser: Client, ana: Subject) -> None:
    typed = {"name": "ops", "kind": "webhook", "address": "https://hooks.example/x", "audience": "named"}
    made = browser.post(reverse("admin:target_create"), {**typed, "recipients": "ana\n", "enabled": "on"})
    target = DeliveryTarget.objects.get()
    assert target.secret in made.content.decode()
    assert "no-store" in made.headers["Cache-Control"]
    address = reverse("admin:ingest_deliverytarget_change", args=[target.pk])
    for page in (browser.get(TARGETS), browser.get(address)):
        assert target.secret not in page.content.decode()
    rotated = browser.post(reverse("admin:target_rotate", args=[target.pk]))
    target.refresh_from_db()
    assert target.secret in rotated.content.decode()
    changed = {"expected_version": "2", "address": "https://hooks.example/y", "audience": "named", "recipients": "ana"}
    assert browser.post(address, changed).status_code == 302
    target.refresh_from_db()
    assert (target.address, target.enabled) == ("https://hooks.example/y", False)
    for wrong, field in (
        ({"recipients": "nobody"}, "recipients"),
        ({"address": "http://10.0.0.1/"}, "address"),
        ({"audience": "scope", "scope": "/nowhere", "recipients": ""}, "scope"),
    ):
        page = browser.post(address, {**changed, "expected_version": "3", **wrong})
        assert list(page.context["form"].errors) == [field]


def test_a_dead_letter_is_sent_again_by_its_button(browser: Client, ana: Subject, action: Action) -> None:
    delivery = Delivery.objects.create(
        account=ana.account, recipient=ana, about="action", object_id=action.pk, key="k", state="dead", uncertain=True
    )
    assert len(browser.get(DELIVERIES).context["cl"].result_list) == 1
    page = browser.get(reverse("admin:ingest_delivery_change", args=[delivery.pk]))
    assert "it may arrive twice" in page.content.decode()
    assert browser.post(reverse("admin:delivery_again", args=[delivery.pk])).status_code == 302
    delivery.refresh_from_db()
    assert delivery.state == "pending"


@pytest.mark.parametrize("address", [RULES, TARGETS, DELIVERIES, reverse("admin:target_create")])
def test_only_administrators_see_what_is_sent_and_by_which_rule(account: Account, address: str) -> None:
    assert sign_in(Client(), person_in(account)).get(address).status_code == 403


def test_moods_are_shown_to_their_person_and_to_those_granted(account: Account) -> None:
    ana = person_in(account, role=None)
    subject = maker_of(ana).subject
    MoodEntry.objects.create(account=account, subject=subject, day=MARCH, score=1, source="manual", note="Tired.")
    address = reverse("admin:ingest_moodentry_changelist")
    seen = [len(sign_in(Client(), who).get(address).context["cl"].result_list) for who in (ana, person_in(account))]
    assert seen == [1, 1]
    other = sign_in(Client(), person_in(account, role=Role.MEMBER)).get(address)
    assert len(other.context["cl"].result_list) == 0


def test_readiness_tells_how_many_deliveries_were_given_up(db: None) -> None:
    assert health._deliveries() == {"status": "ok", "dead": None, "counted_at": None}
    scheduled_runs.completed(COUNTS_DEAD_LETTERS, settled=3)
    found = health._deliveries()
    assert (found["status"], found["dead"]) == ("ok", 3)
