"""The queue of reviews: its order and filters, each decision on the page, its undo, and deciding many at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Sensitivity, Status
from governance import placement
from governance.access import Principal
from governance.models import Review, ReviewDecision, Role
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import (
    JANUARY,
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submitted_fact,
)

LIST = reverse("admin:governance_review_changelist")
MANY = reverse("admin:review_decide_many")


@pytest.fixture
def curator(account: Account, client: Client) -> Principal:
    """A curator of the whole account, signed in."""
    principal = person_in(account)
    sign_in(client, principal)
    return principal


@pytest.fixture
def waiting(account: Account, curator: Principal) -> Review:
    """The review of a fact that waits."""
    GateRuleFactory(account=account, gate_a="human")
    return Review.objects.get(fact=submitted_fact(SubjectFactory(account=account, key="ada"), {"city": "Lyon"}))


def _page(review: Review) -> str:
    return reverse("admin:governance_review_change", args=[review.pk])


def _decide(client: Client, review: Review, verb: str, **fields: str) -> HttpResponse:
    version = {"version": str(review.fact.version)} if review.fact else {}
    address = reverse("admin:review_decide", args=[review.pk])
    return client.post(address, {"verb": verb, **version, **fields})


def _listed(client: Client, query: str = "") -> list[object]:
    return [review.pk for review in client.get(f"{LIST}?{query}").context["cl"].result_list]


def _state(review: Review) -> tuple[str, str]:
    review = Review.objects.select_related("fact").get(pk=review.pk)
    return review.status, review.fact.status


def test_the_riskiest_come_first_and_what_is_put_off_is_elsewhere(
    account: Account, client: Client, waiting: Review
) -> None:
    grave = Review.objects.create(
        account=account, kind="contest", fact=FactFactory(subject=waiting.fact.subject), fact_version=1
    )
    later = Review.objects.create(
        account=account,
        kind="new_fact",
        fact=FactFactory(subject=waiting.fact.subject),
        fact_version=1,
        deferred_until=now() + timedelta(days=3),
    )
    assert _listed(client) == [grave.pk, waiting.pk]
    assert _listed(client, "state=deferred") == [later.pk]
    assert set(_listed(client, "state=all")) == {grave.pk, waiting.pk, later.pk}
    assert _listed(client, "state=overdue") == []
    Review.objects.filter(pk=waiting.pk).update(due_at=JANUARY)
    assert _listed(client, "state=overdue") == [waiting.pk]
    assert _listed(client)[0] == waiting.pk


def test_in_whose_hands(client: Client, curator: Principal, waiting: Review) -> None:
    assert _listed(client, "hands=mine") == []
    _decide(client, waiting, "claim")
    assert _listed(client, "hands=mine") == [waiting.pk]
    assert _listed(client, "hands=nobody") == []
    assert client.get(_page(waiting)).context["mine"]
    _decide(client, waiting, "release")
    assert _listed(client, "hands=nobody") == [waiting.pk]
    _decide(client, waiting, "assign", assignee=str(curator.membership_id))
    assert Review.objects.get(pk=waiting.pk).assignee_id == curator.membership_id


def test_a_decision_is_said_and_undone(client: Client, waiting: Review) -> None:
    answer = _decide(client, waiting, "approve", reason="Known.")
    decision = ReviewDecision.objects.get()
    assert answer["Location"] == f"{_page(waiting)}?decided={decision.pk}"
    assert _state(waiting) == ("approved", Status.ACTIVE)
    page = client.get(answer["Location"])
    assert page.context["done_undoable"]
    undone = client.post(reverse("admin:review_undo", args=[waiting.pk, decision.pk]))
    assert b"Undone: it waits again" in client.get(undone["Location"]).content
    assert _state(waiting) == ("pending", Status.PROVISIONAL)
    again = client.post(reverse("admin:review_undo", args=[waiting.pk, decision.pk]))
    assert again.status_code == 409
    assert b"The decision was undone already." in again.content


def test_other_words(client: Client, waiting: Review) -> None:
    fields = {"statement": "Ada lives in Paris.", "value:city": "Paris"}
    _decide(client, waiting, "edit", **fields)
    new = Fact.objects.exclude(pk=waiting.fact_id).get()
    assert (new.statement, new.value, _state(waiting)) == (
        "Ada lives in Paris.",
        {"city": "Paris"},
        ("approved", Status.SUPERSEDED),
    )


def test_what_cannot_be_done_is_said_and_what_was_typed_stays(client: Client, waiting: Review) -> None:
    page = _decide(client, waiting, "edit", statement=" ", reason="Because")
    assert page.status_code == 422
    assert b"A fact needs a statement." in page.content
    assert b">Because</textarea>" in page.content
    for verb, fields in (("merge", {"into": "x"}), ("defer", {"until": "soon"}), ("nonsense", {}), ("end", {})):
        assert _decide(client, waiting, verb, **fields).status_code == 422
    assert _state(waiting) == ("pending", Status.PROVISIONAL)


def test_the_same_fact_twice(account: Account, client: Client, waiting: Review) -> None:
    known = FactFactory(subject=waiting.fact.subject, scope=waiting.fact.scope, statement="Ada is in Lyon.")
    secret = {"sensitivity": Sensitivity.RESTRICTED, "statement": "A secret."}
    FactFactory(subject=waiting.fact.subject, scope=waiting.fact.scope, **secret)
    page = client.get(_page(waiting))
    assert page.context["targets"] == [known]
    assert b"A secret." not in page.content
    _decide(client, waiting, "merge", into=str(known.pk))
    assert (_state(waiting), known.evidence.count()) == (("approved", Status.SUPERSEDED), 2)


def test_later(client: Client, waiting: Review) -> None:
    _decide(client, waiting, "defer", until=f"{now() + timedelta(days=3):%Y-%m-%d}")
    assert _listed(client) == []


def test_somebody_whom_nobody_could_name(account: Account, client: Client, curator: Principal) -> None:
    SubjectFactory(account=account, key="bob")
    ada = SubjectFactory(account=account, key="ada")
    said = candidate({"city": "Lyon"}, about="Bob", statement=f"Bob {HOSTILE}")
    review = placement.report_unresolved(say(ada), said, actor=pipeline())
    page = client.get(_page(review))
    assert page.context["verbs"] == {"name_subject"}
    assert HOSTILE.encode() not in page.content
    _decide(client, review, "name_subject", subject="bob")
    assert Fact.objects.get().subject.key == "bob"


def test_what_changed_meanwhile_is_not_decided(client: Client, waiting: Review) -> None:
    fact = waiting.fact
    lifecycle.amend(
        fact.id, account_id=fact.account_id, actor=pipeline(), action="x", changes={"sensitivity": "internal"}
    )
    page = _decide(client, waiting, "approve", reason="Known.")
    assert page.status_code == 409
    assert b"What you reviewed has changed." in page.content
    waiting.fact.refresh_from_db()
    _decide(client, waiting, "approve")
    assert _state(waiting) == ("approved", Status.ACTIVE)


def test_who_decides_nowhere_sees_nothing(account: Account, waiting: Review) -> None:
    stranger = sign_in(Client(), person_in(account, role=Role.MEMBER))
    assert stranger.get(_page(waiting)).status_code == 404
    assert _decide(stranger, waiting, "approve").status_code == 404
    assert stranger.get(LIST).status_code == 403
    elsewhere = sign_in(Client(), person_in(account, path="/sales"))
    assert _listed(elsewhere) == []
    assert _decide(elsewhere, waiting, "approve").status_code == 404
    assert _state(waiting) == ("pending", Status.PROVISIONAL)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_each_by_itself(client: Client) -> None:
    account, other = AccountFactory(), AccountFactory()
    with account_transaction(account.id):
        curator = person_in(account)
        GateRuleFactory(account=account, gate_a="human")
        ada = SubjectFactory(account=account)
        facts = [submitted_fact(ada, {"song": song}, predicate="likes", form="event") for song in ("a", "b", "c")]
        own = FactFactory(subject=ada, status=Status.PROVISIONAL, actor=curator.actor, statement="My own.")
        mine = Review.objects.create(account=account, kind="new_fact", fact=own, fact_version=1)
        reviews = [Review.objects.get(fact=fact) for fact in facts]
    with account_transaction(other.id):
        theirs = Review.objects.create(
            account=other, kind="new_fact", fact=FactFactory(subject=SubjectFactory(account=other)), fact_version=1
        )
    with account_transaction(account.id):
        sign_in(client, curator)
    chosen = [
        f"{reviews[0].pk}:{facts[0].version}",
        f"{reviews[1].pk}:{facts[1].version + 1}",
        str(reviews[2].pk),
        f"{mine.pk}:1",
        str(theirs.pk),
        "nonsense",
    ]
    answer = client.post(MANY, {"verb": "approve", "review": chosen, "_changelist_filters": "state=all"})
    assert answer["Location"] == f"{LIST}?state=all"
    with account_transaction(account.id):
        states = [_state(review) for review in (*reviews, mine)]
    waits = ("pending", Status.PROVISIONAL)
    assert states == [("approved", Status.ACTIVE), waits, ("approved", Status.ACTIVE), waits]
    shown = [str(message) for message in client.get(answer["Location"]).context["messages"]]
    assert [message.rpartition(": ")[2] for message in shown] == [
        "approve.",
        "What you reviewed has changed.",
        "Nobody decides about what they put in themselves.",
        "There is no such review.",
    ]
    assert client.post(MANY, {"verb": "defer", "review": chosen, "until": "soon"}).status_code == 302
    stranger = Client()
    assert stranger.post(MANY, {"verb": "approve", "review": chosen}).status_code == 302
    with account_transaction(account.id):
        sign_in(stranger, person_in(account, role=Role.MEMBER))
    assert stranger.post(MANY, {"verb": "approve", "review": chosen}).status_code == 403
