"""What the home page says to each role."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from facts.clock import now
from facts.models import Account, ConflictSet, Job, LongJob
from facts.models.records import JobStatus
from facts.tenancy import ensure_scope
from governance.models import Review, Role
from memory_site.admin_pages.home import Figures
from tests.admin_scene import build, sign_in
from tests.factories import SubjectFactory, person_in, say
from tests.retrieval.test_statistics import _noon, _trace

HOME = reverse("admin:index")


def _figures(client: Client) -> Figures:
    return client.get(HOME).context["figures"]


def test_a_reviewer_sees_what_waits_how_old_and_how_risky_it_is(account: Account, client: Client) -> None:
    scene = build(account)
    Review.objects.update(due_at=now() - timedelta(days=1), escalated_at=now())
    sign_in(client, person_in(account))
    page = client.get(HOME)
    figures = page.context["figures"]
    review = Review.objects.get()
    assert (figures.reviews.count, figures.reviews.oldest) == (1, review.created_at)
    assert (figures.reviews.overdue, figures.reviews.risky) == (1, 1)
    assert [shown.pk for shown in figures.next_reviews] == [review.pk]
    assert [conflict.pk for conflict, _ in figures.next_conflicts] == [conflict.pk for conflict in scene.conflicts]
    assert "<b>high risk</b>" in page.text
    assert figures.operations is None


def test_what_was_given_to_somebody_is_shown_to_them_first(account: Account, client: Client) -> None:
    scene = build(account)
    mine = person_in(account)
    Review.objects.update(assignee_id=mine.membership_id)
    ConflictSet.objects.filter(pk=scene.conflicts[1].pk).update(assignee_id=mine.membership_id)
    sign_in(client, mine)
    given = _figures(client).given
    assert [review.pk for review in given.reviews] == [Review.objects.get().pk]
    assert [conflict.pk for conflict, _ in given.conflicts] == [scene.conflicts[1].pk]
    sign_in(client, person_in(account))
    given = _figures(client).given
    assert (given.reviews, given.conflicts, given.actions) == ([], [], 0)


def test_the_rate_is_compared_with_the_days_before(account: Account, client: Client) -> None:
    ensure_scope(account.id, "/support")
    say(SubjectFactory(account=account))
    for days_ago, facts in ((0, 1), (1, 0), (8, 1)):
        _trace(account, _noon(days_ago) if days_ago else now(), facts_served=facts)
    sign_in(client, person_in(account))
    page = client.get(HOME)
    rate = page.context["figures"].injection
    assert (rate.value, rate.before, rate.calls, rate.withheld) == (0.5, None, 2, 2)
    assert 'class="spark"' in page.text
    assert "0.0 %, 100.0 %" in rate.line


def test_an_administrator_sees_whether_the_machinery_runs(account: Account, client: Client) -> None:
    say(SubjectFactory(account=account))
    Job.objects.create(account=account, kind="process", input_key="1", status=JobStatus.DEAD)
    LongJob.objects.create(account=account, kind="backfill_slack", title="History", unit="days", state="running")
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    page = client.get(HOME)
    assert page.context["figures"].operations.dead_jobs == 1
    assert "it never ran; start it with <code>make run</code>" in page.text
    assert "1 given up" in page.text
    assert ">running</span>" in page.text


def test_a_member_who_decides_nothing_is_led_to_their_own_pages(account: Account, client: Client) -> None:
    build(account)
    sign_in(client, person_in(account, role=Role.READER))
    page = client.get(HOME)
    figures = page.context["figures"]
    assert (figures.is_curator, figures.questions, figures.next_reviews) == (False, 0, [])
    assert "You decide about nothing here." in page.text
    assert reverse("admin:facts_conflictset_changelist") not in page.text


@pytest.mark.parametrize(("role", "key"), [(Role.ACCOUNT_ADMIN, "Make a key"), (Role.CURATOR, "Get a key from an")])
def test_an_empty_account_says_how_to_begin(account: Account, client: Client, role: str, key: str) -> None:
    sign_in(client, person_in(account, role=role))
    page = client.get(HOME)
    assert key in page.text
    for address in ("http://testserver/v1/capture", "http://testserver/v1/context"):
        assert f"curl -X POST {address}" in page.text
