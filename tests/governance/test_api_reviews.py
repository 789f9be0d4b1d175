import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.models import Fact
from facts.vocabulary import Sensitivity
from governance.access import Delegation
from governance.models import Review, Role
from tests.api import caller_with_key, problem, signed_in
from tests.factories import (
    AccountFactory,
    GateRuleFactory,
    SubjectFactory,
    entered,
    maker_of,
    person_in,
    submitted_fact,
    unknown_id,
)


@pytest.fixture
def ada(account):
    return SubjectFactory(account=account, key="ada")


@pytest.fixture
def waiting(account, ada):
    """A fact about Ada that waits for a person, and so a review."""
    GateRuleFactory(account=account, gate_b="human")
    return submitted_fact(ada, {"city": "Lyon"})


@pytest.fixture
def review(waiting):
    return Review.objects.get()


@pytest.fixture
def curator(account):
    return signed_in(maker_of(person_in(account)))


def ids(response):
    assert response.status_code == 200, response.content
    return [each["id"] for each in response.json()["reviews"]]


def test_a_curator_sees_what_waits(curator, waiting, review):
    (shown,) = curator.get("/v1/reviews").json()["reviews"]
    assert 0 <= shown.pop("age_seconds") < 60
    assert shown == {
        "id": str(review.id),
        "kind": "new_fact",
        "status": "pending",
        "scope": "/support",
        "project_id": "support",
        "subject_id": "ada",
        "fact_id": str(waiting.id),
        "fact_version": waiting.version,
        "event_id": None,
        "conflict_id": None,
        "statement": waiting.statement,
        "level": "peer",
        "sensitivity": "personal",
        "reasons": review.reasons,
        "created_at": review.created_at.isoformat(),
        "due_at": review.due_at.isoformat(),
        "decided_at": None,
    }


def test_those_who_decide_nothing_see_nothing(account, review):
    member = signed_in(maker_of(person_in(account, role=Role.MEMBER)))
    elsewhere = signed_in(maker_of(person_in(account, path="/sales")))
    assert (ids(member.get("/v1/reviews")), ids(elsewhere.get("/v1/reviews"))) == ([], [])
    for caller in (member, elsewhere):
        refused = caller.post(f"/v1/reviews/{review.id}/approve")
        assert problem(refused) == (404, "review_not_found", None)


def test_machines_need_the_delegation(account, review):
    app = caller_with_key(account)
    assert problem(app.get("/v1/reviews")) == (403, "human_required", None)
    for verb in ("approve", "reject"):
        assert problem(app.post(f"/v1/reviews/{review.id}/{verb}")) == (403, "human_required", None)
    delegate = caller_with_key(account, maker=maker_of(person_in(account)), delegated=[Delegation.RESOLVE])
    assert ids(delegate.get("/v1/reviews")) == [str(review.id)]


def test_restricted_words_are_for_the_person_who_is_asked(account, curator, waiting, review):
    Fact.objects.filter(pk=waiting.pk).update(sensitivity=Sensitivity.RESTRICTED)
    delegate = caller_with_key(account, maker=maker_of(person_in(account)), delegated=[Delegation.RESOLVE])
    assert curator.get("/v1/reviews").json()["reviews"][0]["statement"] == waiting.statement
    assert delegate.get("/v1/reviews").json()["reviews"][0]["statement"] is None


def test_approving(curator, waiting, review):
    answer = curator.post(f"/v1/reviews/{review.id}/approve", {"rationale": "Checked."}).json()
    review.refresh_from_db()
    assert answer == {
        "review_id": str(review.id),
        "status": "approved",
        "fact_id": str(waiting.id),
        "fact_status": "active",
        "decided_at": review.decided_at.isoformat(),
    }
    assert review.rationale == "Checked."
    assert ids(curator.get("/v1/reviews")) == []
    assert ids(curator.get("/v1/reviews", status="approved")) == [str(review.id)]


def test_rejecting(curator, review):
    answer = curator.post(f"/v1/reviews/{review.id}/reject").json()
    assert (answer["status"], answer["fact_status"]) == ("rejected", "rejected")


def test_deciding_twice(curator, review):
    assert curator.post(f"/v1/reviews/{review.id}/reject").status_code == 200
    assert problem(curator.post(f"/v1/reviews/{review.id}/approve")) == (409, "review_decided", None)


def test_what_has_changed_is_looked_at_again(curator, waiting, review):
    Fact.objects.filter(pk=waiting.pk).update(version=waiting.version + 1, confidence=0.6)
    assert problem(curator.post(f"/v1/reviews/{review.id}/approve")) == (409, "stale_version", "version")


def test_a_decision_may_name_the_version_that_was_looked_at(curator, waiting, review):
    changed = lifecycle.amend(
        waiting.id, account_id=waiting.account_id, actor=pipeline(), action="x", changes={"sensitivity": "internal"}
    )
    address = f"/v1/reviews/{review.id}/approve"
    for version in (waiting.version, changed.version + 1):
        assert problem(curator.post(address, {"version": version})) == (409, "stale_version", "version")
    assert problem(curator.post(address, {"version": 0})) == (422, "invalid_payload", "version")
    assert curator.post(address, {"version": changed.version}).json()["fact_status"] == "active"


def test_nobody_approves_their_own_request(account, review):
    curator = person_in(account)
    Review.objects.update(requested_by=curator.actor.as_json())
    refused = signed_in(maker_of(curator)).post(f"/v1/reviews/{review.id}/approve")
    assert problem(refused) == (403, "own_request", None)


def test_unknown_reviews(account, curator, review):
    assert problem(curator.post(f"/v1/reviews/{unknown_id()}/approve")) == (404, "review_not_found", None)
    other = AccountFactory(key="other")
    with entered(other):
        foreign = signed_in(maker_of(person_in(other)))
    assert problem(foreign.post(f"/v1/reviews/{review.id}/approve")) == (404, "review_not_found", None)


def test_kinds(curator, review):
    assert ids(curator.get("/v1/reviews", kind="new_fact")) == [str(review.id)]
    assert ids(curator.get("/v1/reviews", kind="contest")) == []
    assert problem(curator.get("/v1/reviews", kind="other")) == (422, "invalid_payload", "kind")
