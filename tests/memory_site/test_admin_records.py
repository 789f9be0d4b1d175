"""The pages of facts, reviews, traces, evidence and records: what they show, and what their buttons do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts import jobs, raw_text
from facts.clock import now
from facts.models import Account, AuditEntry, Event, Fact, Identity, Job, Membership
from facts.models.records import JobStatus
from facts.vocabulary import Sensitivity, Status
from governance import keys
from governance.models import ApiKey, ForgetReceipt, Review, ReviewStatus, Role
from memory_site import admin as registered
from memory_site import schedules
from memory_site.models import ScheduledRun
from tests.admin_scene import build, sign_in
from tests.factories import (
    JANUARY,
    MARCH,
    FactFactory,
    GrantFactory,
    IdentityFactory,
    SubjectFactory,
    api_key,
    person_in,
    say,
    submit,
)


@pytest.fixture
def administrator(account: Account, client: Client):
    """The administrator of the account, signed in."""
    principal = person_in(account, role=Role.ACCOUNT_ADMIN)
    sign_in(client, principal)
    return principal


def _said(answer: HttpResponse) -> list[str]:
    """Return the messages that an answer leaves for the next page."""
    return [str(message) for message in get_messages(answer.wsgi_request)]


def _restricted(account: Account) -> Fact:
    ana = SubjectFactory(account=account)
    claim = {"predicate": "has_condition", "statement": "Ana has asthma."}
    placed = submit(ana, {"condition": "asthma"}, sensitivity=Sensitivity.RESTRICTED, **claim)
    return Fact.objects.get(pk=placed.fact_id)


def test_facts_are_found_by_all_of_their_words_and_by_id(account: Account, client: Client, administrator) -> None:
    ana = SubjectFactory(account=account)
    moved = FactFactory(subject=ana, statement="Ana moved to Lisbon.")
    FactFactory(subject=ana, statement="Ana likes tea.")
    listed = reverse("admin:facts_fact_changelist")
    for query in ("moving lisbon", str(moved.pk)):
        assert list(client.get(listed, {"q": query}).context["cl"].result_list) == [moved]
    assert list(client.get(listed, {"q": "lisbon tea"}).context["cl"].result_list) == []


def test_facts_are_filtered_by_subject(account: Account, client: Client, administrator) -> None:
    facts = [FactFactory(subject=SubjectFactory(account=account, key=key, name=name)) for key, name in (
        ("ana", "Ana Lima"), ("anatole", "Anatole France"), ("ben", "Ben"),
    )]  # fmt: skip
    listed = reverse("admin:facts_fact_changelist")

    def found(typed: str) -> list[Fact]:
        return list(client.get(listed, {"subject": typed}).context["cl"].result_list)

    assert found("ana") == [facts[0]]
    assert found("ANA") == [facts[1], facts[0]]
    assert found("nobody") == []


def test_a_fact_shows_how_it_came_to_be_what_it_is(account: Account, client: Client, administrator) -> None:
    placed = submit(SubjectFactory(account=account), {"city": "Lisbon"})
    page = client.get(reverse("admin:facts_fact_change", args=[placed.fact_id]))
    shown = [
        (revision.status, [(change.label, change.before, change.after) for change in changed])
        for revision, changed in page.context["revisions"]
    ]
    assert shown == [(Status.ACTIVE, [("status", "candidate", "active")]), (Status.CANDIDATE, [])]
    assert [decision.gate for decision in page.context["gate_decisions"]] == ["A", "B"]


def test_a_fact_is_forgotten_and_brought_back(account: Account, client: Client, administrator) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), statement="Ana likes tea.")
    page = reverse("admin:facts_fact_change", args=[fact.pk])
    client.post(reverse("admin:fact_forget", args=[fact.pk]), {"reason": "Asked for."})
    fact.refresh_from_db()
    assert (fact.status, ForgetReceipt.objects.get().reason) == (Status.DISABLED, "Asked for.")
    assert b"Ana likes tea." not in client.get(page).content
    event = Event.objects.get(evidence__fact=fact)
    assert client.get(reverse("admin:facts_event_change", args=[event.pk])).status_code == 404
    client.post(reverse("admin:fact_enable", args=[fact.pk]))
    fact.refresh_from_db()
    assert fact.status == Status.ACTIVE
    assert b"Ana likes tea." in client.get(page).content


def test_somebody_who_may_only_read_forgets_nothing(account: Account, client: Client) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account), sensitivity=Sensitivity.PUBLIC)
    sign_in(client, person_in(account, role=Role.READER))
    assert not client.get(reverse("admin:facts_fact_change", args=[fact.pk])).context["may_forget"]
    assert client.post(reverse("admin:fact_forget", args=[fact.pk])).status_code == 403
    fact.refresh_from_db()
    assert fact.status == Status.ACTIVE


def test_records_take_no_edits(account: Account, client: Client, administrator) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account))
    for name in ("add", "delete"):
        arguments = [fact.pk] if name == "delete" else []
        assert client.get(reverse(f"admin:facts_fact_{name}", args=arguments)).status_code == 403
    page = reverse("admin:facts_membership_change", args=[administrator.membership_id])
    assert client.post(page, {"subject": str(fact.subject_id)}).status_code == 403
    assert Membership.objects.get().subject_id == administrator.subject_id


def test_a_name_is_confirmed_on_its_page_and_taken_back(account: Account, client: Client, administrator) -> None:
    identity = IdentityFactory(subject=SubjectFactory(account=account, name="<b>Ana</b>"))
    page = reverse("admin:facts_identity_change", args=[identity.pk])
    said = {"subject": str(identity.subject_id), "value": "changed"}
    steps = [("confirm", {}, True), ("", {}, True), ("take_back", {}, False), ("confirm", {"subject": "x"}, False)]
    for decision, typed, confirmed in steps:
        assert client.post(page, {**said, **typed, "decision": decision}).status_code == 302
        value, *now_confirmed = Identity.objects.values_list("value", "confirmed").get()
        assert (value, now_confirmed) == (identity.value, [confirmed])
    shown = client.get(page).content
    assert b"It is theirs" in shown
    assert b"<b>Ana</b>" not in shown


def test_the_account_goes_by_utc_and_says_so_until_a_time_zone_is_chosen(account, client, administrator) -> None:
    Account.objects.update(timezone="Mars/Olympus")
    page = reverse("admin:facts_account_change", args=[account.pk])
    assert b"no time zone that this machine knows" in client.get(page).content
    typed = {"expected": "Mars/Olympus", "timezone": "Europe/Lutetia"}
    assert "There is no time zone" in client.post(page, typed).context["form"].errors["timezone"][0]
    assert client.post(page, {**typed, "timezone": "Europe/Paris"}).status_code == 302
    assert "meanwhile" in client.post(page, typed | {"timezone": "UTC"}).context["form"].errors["timezone"][0]
    shown = client.get(page)
    assert shown.context["clock"].tzinfo.key == "Europe/Paris"
    assert b"no time zone that this machine knows" not in shown.content


@pytest.mark.parametrize(
    ("verb", "review_status", "fact_status"),
    [("approve", ReviewStatus.APPROVED, Status.ACTIVE), ("reject", ReviewStatus.REJECTED, Status.REJECTED)],
)
def test_a_review_is_decided(
    account: Account, client: Client, administrator, verb: str, review_status: str, fact_status: str
) -> None:
    fact = _restricted(account)
    review = Review.objects.get()
    assert b"Ana has asthma." in client.get(reverse("admin:governance_review_change", args=[review.pk])).content
    client.post(reverse("admin:review_decide", args=[review.pk]), {"verb": verb, "reason": "Looked at it."})
    review.refresh_from_db()
    fact.refresh_from_db()
    assert (review.status, review.rationale, fact.status) == (review_status, "Looked at it.", fact_status)
    page = client.get(reverse("admin:governance_review_change", args=[review.pk]))
    assert b"Ana has asthma." not in page.content


def test_a_review_is_not_decided_twice(account: Account, client: Client, administrator) -> None:
    _restricted(account)
    address = reverse("admin:review_decide", args=[Review.objects.get().pk])
    client.post(address, {"verb": "approve"})
    page = client.post(address, {"verb": "reject", "reason": "No."})
    assert page.status_code == 409
    assert Review.objects.get().status == ReviewStatus.APPROVED


def test_a_trace_shows_what_happened_to_everything_considered(account: Account, client: Client) -> None:
    scene = build(account)
    sign_in(client, scene.curator)
    page = client.get(reverse("admin:retrieval_trace_change", args=[scene.trace.pk]))
    rows = [row for _, rows in page.context["groups"] for row in rows]
    assert len(rows) == scene.trace.considered
    blocked = {row["fact"].statement for row in rows if row["fact"] and row["action"] == "blocked"}
    assert blocked == {"Ana Lima lives in Lisbon, close to the river.", "Ana Lima lives in Porto, close to the river."}


def test_a_trace_is_for_its_maker_and_curators(account: Account, client: Client) -> None:
    scene = build(account)
    sign_in(client, person_in(account, role=Role.READER))
    assert client.get(reverse("admin:retrieval_trace_change", args=[scene.trace.pk])).status_code == 404


def test_a_dead_job_is_tried_again(account: Account, client: Client, administrator, monkeypatch) -> None:
    queued: list[str] = []
    monkeypatch.setattr("facts.jobs._dispatcher", lambda function, calls: queued.extend(job for job, _ in calls))
    monkeypatch.setitem(jobs._runners, "test.kind", "tests.nowhere")
    job = Job.objects.create(
        account=account, kind="test.kind", input_key="x", status=JobStatus.DEAD, attempts=5, finished_at=JANUARY
    )
    answer = client.post(reverse("admin:job_retry", args=[job.pk]))
    job.refresh_from_db()
    assert (job.status, job.attempts, queued) == (JobStatus.QUEUED, 0, [str(job.pk)])
    assert _said(answer) == ["Queued again."]
    assert _said(client.post(reverse("admin:job_retry", args=[job.pk])))[-1].startswith("Only a job that was given up")


def test_a_new_key_is_shown_once_and_works_until_it_is_revoked(account: Account, client: Client, administrator) -> None:
    page = client.post(reverse("admin:key_create"), {"label": "shop", "rights": ["read"], "days": "30"})
    raw = page.context["raw"]
    key = ApiKey.objects.get()
    assert raw in page.content.decode()
    assert (key.label, key.rights, key.maker_id) == ("shop", ["read"], administrator.membership_id)
    assert "no-store" in page["Cache-Control"]
    assert keys.authenticate(raw).key_id == key.pk
    for address in (
        reverse("admin:governance_apikey_changelist"),
        reverse("admin:governance_apikey_change", args=[key.pk]),
    ):
        assert raw not in client.get(address).content.decode()
    client.post(reverse("admin:key_revoke", args=[key.pk]))
    assert keys.authenticate(raw) is None


def test_a_key_for_an_unknown_scope_is_not_made(account: Account, client: Client, administrator) -> None:
    page = client.post(reverse("admin:key_create"), {"label": "shop", "rights": ["read"], "scope": "/nowhere"})
    assert page.context["form"].errors == {"scope": ["There is no such scope."]}
    assert ApiKey.objects.count() == 0


def test_a_curator_makes_no_keys(account: Account, client: Client) -> None:
    sign_in(client, person_in(account))
    assert client.post(reverse("admin:key_create"), {"label": "shop", "rights": ["read"]}).status_code == 403


def test_the_audit_chain_is_verified_by_a_button(account: Account, client: Client, administrator) -> None:
    FactFactory(subject=SubjectFactory(account=account))
    answer = client.post(reverse("admin:audit_verify"))
    count = AuditEntry.objects.count()
    assert _said(answer) == [f"The chain is sound: {count} entries, each pointing to the one before it."]


def test_an_event_says_what_became_of_it(account: Account, client: Client, administrator) -> None:
    ana = SubjectFactory(account=account)
    event = say(ana, "I live in Lisbon.")
    submit(ana, {"city": "Lisbon"}, event=event, statement="Ana lives in Lisbon.")
    page = client.get(reverse("admin:facts_event_change", args=[event.pk]))
    assert [(quote, fact.statement) for quote, fact in page.context["cited"]] == [("Lisbon", "Ana lives in Lisbon.")]


def _fill(account: Account, *, rows: int) -> None:
    """Add one of nearly everything, ``rows`` times."""
    for number in range(rows):
        subject = SubjectFactory(account=account)
        IdentityFactory(subject=subject)
        GrantFactory(subject=subject, role=Role.READER)
        submit(subject, {"city": "Lisbon"})
        submit(subject, {"city": "Porto"})
        _restricted(account)
        api_key(account, label=f"key {number}")


def test_lists_cost_the_same_for_any_number_of_rows(account: Account, client: Client, administrator) -> None:
    def costs() -> dict[str, int]:
        found = {}
        for model in registered.PAGES:
            if model._meta.model_name == "user":
                continue
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            with CaptureQueriesContext(connection) as queries:
                assert client.get(address).status_code == 200
            found[address] = len(queries)
        return found

    _fill(account, rows=1)
    costs()
    few = costs()
    _fill(account, rows=4)
    assert costs() == few
    assert max(few.values()) <= 24, few


def test_the_home_page_costs_the_same_for_any_number_of_rows(account: Account, client: Client, administrator) -> None:
    _fill(account, rows=1)
    client.get(reverse("admin:index"))
    with CaptureQueriesContext(connection) as few:
        client.get(reverse("admin:index"))
    _fill(account, rows=4)
    with CaptureQueriesContext(connection) as many:
        client.get(reverse("admin:index"))
    assert len(many) == len(few)


def test_the_home_page_tells_administrators_when_the_clock_ran_last(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    schedules.sync()
    ScheduledRun.objects.filter(name="expire facts").update(completed_at=now() - timedelta(hours=5), settled=12)
    page = client.get(reverse("admin:index"))
    shown = {run.name: (run.settled, run.is_late) for run in page.context["figures"].operations.schedules}
    assert list(shown) == [entry.name for entry in schedules.TABLE]
    assert (shown["expire facts"], shown["age reviews"]) == ((12, True), (None, False))
    assert page.content.count(b'<span class="chip warn">late</span>') == 1
    sign_in(client, person_in(account, role=Role.CURATOR))
    assert client.get(reverse("admin:index")).context["figures"].operations is None


def test_an_event_whose_words_are_kept_no_longer_says_so(account: Account, client: Client, administrator) -> None:
    ana = SubjectFactory(account=account)
    event = say(ana, "I live in Lisbon, near Zanzibar Street.")
    placed = submit(ana, {"city": "Lisbon"}, event=event, statement="Ana lives in Lisbon.", quote="I live in Lisbon")
    raw_text.remove(account.id, [event.id], at=MARCH)
    page = client.get(reverse("admin:facts_event_change", args=[event.pk])).content.decode()
    assert "What was said is kept no longer" in page
    assert "I live in Lisbon" in page
    assert "Zanzibar" not in page
    assert "(kept no longer)" in client.get(reverse("admin:facts_event_changelist")).content.decode()
    fact = client.get(reverse("admin:facts_fact_change", args=[placed.fact_id]))
    (excerpt,) = fact.context["excerpts"]
    assert [(part.text, part.marked) for part in excerpt.messages[0].parts] == [("I live in Lisbon", True)]
