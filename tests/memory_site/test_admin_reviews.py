"""The queue of reviews: its order and filters, each decision on the page, its undo, and deciding many at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, Evidence, Fact
from facts.vocabulary import Sensitivity, Status
from governance import placement
from governance.access import Principal
from governance.models import Review, ReviewDecision, Role
from governance.reviewing import reviews
from memory_site.admin_pages import threads
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import (
    JANUARY,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submitted_fact,
)

LIST = reverse("admin:governance_review_changelist")


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


def _listed(client: Client, query: str = "state=pending") -> list[object]:
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
    Review.objects.filter(pk=grave.pk).update(escalated_at=JANUARY)
    assert [_listed(client, f"risk={risk}") for risk in ("high", "medium", "low")] == [[grave.pk], [waiting.pk], []]
    assert set(_listed(client, "subject=ada&state=all")) == {grave.pk, waiting.pk, later.pk}
    assert _listed(client, "subject=nobody&state=all") == []


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
    assert undone["Location"] == f"{_page(waiting)}?undone={decision.pk}"
    page = client.get(undone["Location"])
    assert (page.context["undone"], page.context["undone_text"]) == (decision, "Approved.")
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


def test_a_refusal_needs_a_reason(client: Client, waiting: Review) -> None:
    page = _decide(client, waiting, "reject")
    assert (page.status_code, _state(waiting)) == (422, ("pending", Status.PROVISIONAL))
    assert b"what takes something away needs a reason" in page.content
    assert _decide(client, waiting, "reject", reason="Not hers.").status_code == 302
    assert _state(waiting) == ("rejected", Status.REJECTED)


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
    assert [one.key for one in page.context["called"]] == ["bob"]
    assert b"/merge/" not in page.content
    rob = SubjectFactory(account=account, key="rob", name="Bob R.")
    page = client.get(_page(review))
    assert [one.key for one in page.context["called"]] == ["bob", "rob"]
    assert reverse("admin:subject_merge", args=[rob.pk]).encode() in page.content
    _decide(client, review, "name_subject:rob")
    assert Fact.objects.get().subject.key == "rob"


def test_what_changed_meanwhile_is_shown_three_ways_and_not_decided(client: Client, waiting: Review) -> None:
    fact = waiting.fact
    lifecycle.amend(
        fact.id, account_id=fact.account_id, actor=pipeline(), action="x", changes={"sensitivity": "internal"}
    )
    later = {"reason": "Known.", "until": "2099-01-01", "statement": "Ada lives in Nice.", "value:city": "Nice"}
    page = _decide(client, waiting, "approve", **later)
    assert page.status_code == 409
    (moved,) = page.context["moved"]
    assert [(change.label, change.before, change.after) for change in moved.changes] == [
        ("sensitivity", "personal", "internal")
    ]
    text = page.content.decode()
    assert "You were about to decide: <b>Approve</b>, because:" in text
    assert ">Known.</textarea>" in text
    assert 'name="until" value="2099-01-01"' in text
    assert ">Ada lives in Nice.</textarea>" in text
    assert page.context["parts"] == [("city", "Nice")]
    waiting.fact.refresh_from_db()
    assert [moved.fact for moved in client.get(_page(waiting)).context["changed"]] == [waiting.fact]
    _decide(client, waiting, "approve")
    assert _state(waiting) == ("approved", Status.ACTIVE)


def test_what_somebody_decided_meanwhile_is_said(account: Account, client: Client, waiting: Review) -> None:
    other = person_in(account)
    reviews.approve(other, waiting.pk, rationale="Heard it myself.")
    page = _decide(client, waiting, "reject", reason="No.")
    assert page.status_code == 409
    assert f"{other.name} decided it".encode() in page.content
    assert b"Heard it myself." in page.content
    assert b"You were about to decide: <b>Reject</b>" in page.content


def test_who_else_looks_is_told_and_kept_from_nothing(
    account: Account, client: Client, curator: Principal, waiting: Review
) -> None:
    client.get(_page(waiting))
    other = person_in(account)
    elsewhere = sign_in(Client(), other)
    page = elsewhere.get(_page(waiting))
    assert [name for name, _ in page.context["others_here"]] == [curator.name]
    assert b"is reviewing this" in page.content
    assert _decide(elsewhere, waiting, "approve").status_code == 302
    assert client.get(_page(waiting)).context["others_here"] == []


def test_remarks_stand_with_the_review_and_lose_nothing_else(client: Client, waiting: Review) -> None:
    assert _decide(client, waiting, "remark", remark=f"Ask her. {HOSTILE}").status_code == 302
    page = client.get(_page(waiting))
    assert [remark.text for remark in page.context["remarks"]] == [f"Ask her. {HOSTILE}"]
    assert HOSTILE.encode() not in page.content
    assert [one.what for one in page.context["history"]] == ["a remark was written"]
    empty = _decide(client, waiting, "remark", remark=" ", reason="Kept")
    assert empty.status_code == 422
    assert b">Kept</textarea>" in empty.content


def test_the_page_says_what_is_asked_who_would_read_it_and_what_is_nearly_the_same(
    account: Account, client: Client, waiting: Review
) -> None:
    alike = FactFactory(subject=waiting.fact.subject, scope=waiting.fact.scope, statement="The speaker has Lyon.")
    FactFactory(subject=waiting.fact.subject, scope=waiting.fact.scope, statement="Something else altogether here.")
    page = client.get(_page(waiting))
    assert page.context["question"] == "Should this be remembered, and be seen by those whom it says?"
    assert [(one.label, one.nobody, one.subject_only) for one in page.context["choices"]] == [
        ("Now", False, True),
        ("Approved", False, True),
        ("Rejected", True, False),
    ]
    assert [near.fact for near in page.context["near"]] == [alike]


def test_a_page_with_much_evidence_costs_what_one_with_little_does(
    account: Account, client: Client, waiting: Review
) -> None:
    _cite_more(waiting, 2)
    with CaptureQueriesContext(connection) as few:
        client.get(_page(waiting))
    _cite_more(waiting, 20)
    with CaptureQueriesContext(connection) as many:
        page = client.get(_page(waiting))
    assert len(page.context["excerpts"]) == threads.SHOWN_EVIDENCE
    assert len(many) == len(few)
    assert len(few) <= 55


def _cite_more(waiting: Review, pieces: int) -> None:
    """Cite more messages for a fact, each with a fact and a person more in the account."""
    for number in range(pieces):
        event = say(waiting.fact.subject, f"I live in Lyon, number {number}.", thread="t", occurred_at=JANUARY)
        Evidence.objects.create(
            account=waiting.account, fact=waiting.fact, event=event, passage=event.passages.get(), quote=event.text
        )
        FactFactory(subject=waiting.fact.subject, scope=waiting.fact.scope)
        person_in(waiting.account)


def test_who_decides_nowhere_sees_nothing(account: Account, waiting: Review) -> None:
    stranger = sign_in(Client(), person_in(account, role=Role.MEMBER))
    assert stranger.get(_page(waiting)).status_code == 404
    assert _decide(stranger, waiting, "approve").status_code == 404
    assert stranger.get(LIST).status_code == 403
    elsewhere = sign_in(Client(), person_in(account, path="/sales"))
    assert _listed(elsewhere) == []
    assert _decide(elsewhere, waiting, "approve").status_code == 404
    assert _state(waiting) == ("pending", Status.PROVISIONAL)
