"""Deciding many reviews alike: choosing across pages, what is said before, what is done, and taking it back."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts import lifecycle
from facts.actors import pipeline
from facts.models import Account, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from governance import placement
from governance.access import Principal
from governance.models import Review, Role, Selection
from governance.reviewing import review_claims, selections
from tests.admin_scene import sign_in
from tests.factories import (
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submitted_fact,
)
from tests.governance.sharing_scene import scene_in

REVIEWS = reverse("admin:governance_review_changelist")
LIST = "reviews"
CHOOSE = reverse("admin:review_choose")
CONFIRM = reverse("admin:review_bulk")
DECIDE = reverse("admin:review_decide_many")
DONE = reverse("admin:review_bulk_done")
UNDO = reverse("admin:review_undo_many")


def _waiting(account: Account, count: int) -> list[Review]:
    GateRuleFactory(account=account, gate_a="human")
    ada = SubjectFactory(account=account, key="ada")
    songs = [submitted_fact(ada, {"song": f"s{n}"}, predicate="likes", form="event") for n in range(count)]
    return [Review.objects.select_related("fact").get(fact=fact) for fact in songs]


def _value(review: Review) -> str:
    return f"{review.pk}:{review.fact.version}" if review.fact else str(review.pk)


def _choose(client: Client, reviews: list[Review], **more: object) -> object:
    form = {"shown": [str(review.pk) for review in reviews], "chosen": [_value(review) for review in reviews], **more}
    return client.post(CHOOSE, form)


def _states(reviews: list[Review]) -> list[str]:
    return [Review.objects.get(pk=review.pk).status for review in reviews]


@pytest.fixture
def curator(account: Account, client: Client) -> Principal:
    """A curator of the whole account, signed in."""
    principal = person_in(account)
    sign_in(client, principal)
    return principal


def test_what_is_chosen_holds_across_pages_and_filters(account: Account, client: Client, curator: Principal) -> None:
    first, second, third = _waiting(account, 3)
    answer = client.post(
        CHOOSE,
        {"shown": [str(first.pk), str(second.pk)], "chosen": [_value(first)]},
        headers={"accept": "application/json"},
    )
    assert answer.json() == {"count": 1, "message": ""}
    answer = _choose(client, [third], _changelist_filters="state=all")
    assert answer["Location"] == f"{REVIEWS}?state=all"
    page = client.get(REVIEWS, {"state": "all"})
    assert page.context["chosen_count"] == 2
    assert {row.pk for row in page.context["cl"].result_list if row.is_chosen} == {first.pk, third.pk}
    client.post(CHOOSE, {"verb": "clear"})
    assert client.get(REVIEWS, {"state": "all"}).context["chosen_count"] == 0


def test_only_what_one_may_decide_can_be_chosen(account: Account, client: Client, curator: Principal) -> None:
    (review,) = _waiting(account, 1)
    elsewhere = sign_in(Client(), person_in(account, path="/sales"))
    _choose(elsewhere, [review])
    assert [one.items for one in Selection.objects.all()] == [{}]
    member = sign_in(Client(), person_in(account, role=Role.MEMBER))
    assert _choose(member, [review]).status_code == 403
    assert member.get(CONFIRM, {"verb": "approve"}).status_code == 403
    assert member.get(DONE).status_code == 403


def test_what_would_change_and_what_not_is_said_before(account: Account, client: Client, curator: Principal) -> None:
    fine, stale, taken, decided = _waiting(account, 4)
    ada = fine.fact.subject
    own = FactFactory(subject=ada, status=Status.PROVISIONAL, actor=curator.actor, statement="My own.")
    mine = Review.objects.create(account=account, kind="new_fact", fact=own, fact_version=1)
    unnamed = placement.report_unresolved(say(ada), candidate({"city": "Lyon"}, about="Bob"), actor=pipeline())
    scene = scene_in(account)
    promotion = scene.request(scene.fact()).review
    chosen = [fine, stale, taken, decided, mine, unnamed, promotion]
    answer = _choose(client, chosen, verb="approve", _changelist_filters="state=all")
    assert answer["Location"] == f"{CONFIRM}?verb=approve&_changelist_filters=state%3Dall"
    lifecycle.amend(
        stale.fact_id, account_id=account.id, actor=pipeline(), action="x", changes={"sensitivity": "internal"}
    )
    review_claims.claim(person_in(account), taken.pk)
    Review.objects.filter(pk=decided.pk).update(status="withdrawn")
    page = client.get(answer["Location"])
    assert [(one["row"].pk, one["effect"]) for one in page.context["changing"]] == [
        (fine.pk, "both gates pass, and it is placed")
    ]
    assert {one["row"].pk: one["code"] for one in page.context["staying"]} == {
        stale.pk: "stale_version",
        taken.pk: "review_claimed",
        decided.pk: "review_decided",
        mine.pk: "own_request",
        unnamed.pk: "subject_missing",
        promotion.pk: "consent_missing",
    }
    assert all(one["why_not"] for one in page.context["staying"])
    assert _states([fine]) == ["pending"]


def test_saying_it_costs_the_same_for_any_number(account: Account, client: Client, curator: Principal) -> None:
    reviews = _waiting(account, 12)
    _choose(client, reviews[:2])
    with CaptureQueriesContext(connection) as few:
        client.get(CONFIRM, {"verb": "approve"})
    _choose(client, reviews)
    with CaptureQueriesContext(connection) as many:
        assert len(client.get(CONFIRM, {"verb": "approve"}).context["changing"]) == 12
    assert len(many) == len(few)
    assert len(few) <= 25


def test_without_a_choice_or_a_verb_one_is_sent_back(client: Client, curator: Principal, account: Account) -> None:
    assert client.get(CONFIRM, {"verb": "approve"})["Location"] == REVIEWS
    _choose(client, _waiting(account, 1))
    assert client.get(CONFIRM, {"verb": "nonsense"})["Location"] == REVIEWS


@pytest.mark.django_db(transaction=True)
def test_each_is_decided_by_itself_nothing_else_is_touched_and_all_can_be_taken_back(client: Client) -> None:
    account, other = AccountFactory(), AccountFactory()
    with account_transaction(account.id):
        curator = person_in(account)
        sign_in(client, curator)
        reviews = _waiting(account, 4)
        values = [_value(review) for review in reviews]
    with account_transaction(other.id):
        foreign = FactFactory(subject=SubjectFactory(account=other))
        theirs = Review.objects.create(account=other, kind="new_fact", fact=foreign, fact_version=1)
    client.post(CHOOSE, {"shown": [], "chosen": values[:3]})
    with account_transaction(account.id):
        lifecycle.amend(
            reviews[1].fact_id, account_id=account.id, actor=pipeline(), action="x", changes={"sensitivity": "internal"}
        )
    # The last was not chosen, and the other account's never can be.
    form = {"verb": "reject", "item": [*values, str(theirs.pk), "nonsense"], "_changelist_filters": "state=all"}
    unsaid = client.post(DECIDE, form)
    assert unsaid.status_code == 422
    assert b"needs a reason. Nothing was decided." in unsaid.content
    answer = client.post(DECIDE, {**form, "reason": "Noise."})
    assert answer["Location"] == f"{DONE}?_changelist_filters=state%3Dall"
    with account_transaction(account.id):
        assert _states(reviews) == ["rejected", "pending", "rejected", "pending"]
        assert set(selections.of(curator, LIST).items) == {str(reviews[1].pk)}
    page = client.get(answer["Location"])
    assert [item["id"] for item in page.context["changed"]] == [str(reviews[0].pk), str(reviews[2].pk)]
    assert [(item["id"], item["message"]) for item in page.context["left"]] == [
        (str(reviews[1].pk), "What you reviewed has changed.")
    ]
    decisions = [item["decision"] for item in page.context["undoable"]]
    assert len(decisions) == 2
    again = client.post(UNDO, {"decision": [decisions[0], str(theirs.pk)]})
    assert [item["undo"] for item in client.get(again["Location"]).context["changed"] if "undo" in item] == ["undone"]
    with account_transaction(account.id):
        assert _states(reviews) == ["pending", "pending", "rejected", "pending"]
        assert Fact.objects.get(pk=reviews[0].fact_id).status == Status.PROVISIONAL
    with account_transaction(other.id):
        assert _states([theirs]) == ["pending"]
    assert Client().post(DECIDE, form).status_code == 302
