import pytest

from facts.models import Fact
from facts.vocabulary import Sensitivity, Status
from governance import trace_access
from governance.access import Right
from governance.models import Feedback, Review
from tests.api import caller_with_key, problem
from tests.factories import AccountFactory, FactFactory, ScopeFactory, SubjectFactory, entered, unknown_id


@pytest.fixture
def ada(account):
    return SubjectFactory(account=account, key="ada")


@pytest.fixture
def fact(ada):
    return FactFactory(subject=ada)


@pytest.fixture
def app(account):
    return caller_with_key(account)


@pytest.fixture
def known_traces(monkeypatch):
    """The traces that the caller may inspect, in place of the app that keeps them."""
    known = set()
    monkeypatch.setattr(trace_access, "_checks", [lambda principal, trace_id: trace_id in known])
    return known


def test_incorrect_contests_a_current_fact(app, fact):
    response = app.post("/v1/feedback", {"project_id": "support", "fact_id": str(fact.id), "rating": "incorrect"})
    recorded = Feedback.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "status": "recorded",
        "feedback_id": str(recorded.id),
        "fact_status": "disputed",
        "effect": "disputed",
    }
    assert Review.objects.get().kind == "contest"


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.REJECTED, Status.DISPUTED])
def test_incorrect_changes_no_other_fact(app, ada, status):
    fact = FactFactory(subject=ada, status=status)
    body = app.post("/v1/feedback", {"fact_id": str(fact.id), "rating": "incorrect"}).json()
    assert (body["fact_status"], body["effect"]) == (status, "none")
    assert Fact.objects.get().status == status


def test_what_was_forgotten_is_not_there(app, ada):
    fact = FactFactory(subject=ada, status=Status.DISABLED)
    answer = app.post("/v1/feedback", {"fact_id": str(fact.id), "rating": "incorrect"})
    assert problem(answer) == (404, "fact_not_found", "fact_id")


@pytest.mark.parametrize("status", [Status.CANDIDATE, Status.HELD, Status.DISABLED, Status.REDACTED])
def test_what_nobody_is_served_is_unknown(app, ada, status):
    fact = FactFactory(subject=ada, status=status)
    response = app.post("/v1/feedback", {"fact_id": str(fact.id), "rating": "incorrect"})
    assert problem(response) == (404, "fact_not_found", "fact_id")


@pytest.mark.parametrize("rating", ["useful", "irrelevant"])
def test_other_ratings_change_nothing(app, fact, rating):
    body = app.post("/v1/feedback", {"fact_id": str(fact.id), "rating": rating, "comment": "So so."}).json()
    assert (body["fact_status"], body["effect"]) == ("active", "none")
    assert Feedback.objects.get().comment == "So so."


def test_a_trace(app, known_traces):
    trace_id = unknown_id()
    known_traces.add(trace_id)
    body = app.post("/v1/feedback", {"trace_id": str(trace_id), "fact_id": None, "rating": "useful"}).json()
    assert (body["fact_status"], body["effect"]) == (None, "none")
    assert Feedback.objects.get().trace_id == trace_id


def test_an_unknown_trace(app, known_traces):
    response = app.post("/v1/feedback", {"trace_id": str(unknown_id()), "rating": "useful"})
    assert problem(response) == (404, "trace_not_found", "trace_id")
    assert not Feedback.objects.exists()


def test_facts_out_of_sight_are_unknown(account, app, ada, fact):
    other = AccountFactory(key="other")
    with entered(other):
        foreign = FactFactory(subject=SubjectFactory(account=other))
    reader = caller_with_key(account, rights=[Right.READ], peer=SubjectFactory(account=account, key="bob"))
    confined = caller_with_key(account, scope_limit=ScopeFactory(account=account, path="/sales"))
    attempts = [
        (app, {"fact_id": str(unknown_id())}, (404, "fact_not_found", "fact_id")),
        (app, {"fact_id": str(foreign.id)}, (404, "fact_not_found", "fact_id")),
        (app, {"fact_id": str(fact.id), "project_id": "sales"}, (404, "fact_not_found", "fact_id")),
        (reader, {"fact_id": str(fact.id)}, (404, "fact_not_found", "fact_id")),
        (confined, {"fact_id": str(fact.id)}, (404, "fact_not_found", "fact_id")),
        (confined, {"fact_id": str(fact.id), "project_id": "support"}, (403, "forbidden_scope", "scope")),
    ]
    for caller, target, expected in attempts:
        assert problem(caller.post("/v1/feedback", {**target, "rating": "incorrect"})) == expected
    assert Fact.objects.get().status == "active"


def test_a_key_speaks_as_the_subject_that_it_names(account, app, ada, fact):
    SubjectFactory(account=account, key="bob")
    as_bob = app.post("/v1/feedback", {"fact_id": str(fact.id), "subject_id": "bob", "rating": "incorrect"})
    assert problem(as_bob) == (404, "fact_not_found", "fact_id")
    as_ada = app.post("/v1/feedback", {"fact_id": str(fact.id), "subject_id": "ada", "rating": "incorrect"})
    assert as_ada.status_code == 201


def test_readers_rate_what_they_may_see(account, ada):
    fact = FactFactory(subject=ada, sensitivity=Sensitivity.INTERNAL)
    reader = caller_with_key(account, rights=[Right.READ], peer=SubjectFactory(account=account, key="bob"))
    assert reader.post("/v1/feedback", {"fact_id": str(fact.id), "rating": "useful"}).status_code == 201


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"rating": "useful"}, (422, "invalid_payload", "trace_id")),
        (
            {"rating": "useful", "fact_id": str(unknown_id()), "trace_id": str(unknown_id())},
            (422, "invalid_payload", "trace_id"),
        ),
        ({"fact_id": str(unknown_id())}, (422, "invalid_payload", "rating")),
        ({"fact_id": str(unknown_id()), "rating": "bad"}, (422, "invalid_payload", "rating")),
        ({"fact_id": "x", "rating": "useful"}, (422, "invalid_payload", "fact_id")),
        (
            {"fact_id": str(unknown_id()), "rating": "useful", "comment": "x" * 2001},
            (422, "invalid_payload", "comment"),
        ),
        ({"fact_id": str(unknown_id()), "rating": "useful", "comment": "a\x00b"}, (422, "invalid_payload", "comment")),
    ],
)
def test_malformed_feedback(app, body, expected):
    assert problem(app.post("/v1/feedback", body)) == expected


def test_rating_needs_the_right_to_read(account, fact):
    caller = caller_with_key(account, rights=[Right.CAPTURE])
    body = {"fact_id": str(fact.id), "rating": "useful"}
    assert problem(caller.post("/v1/feedback", body)) == (403, "missing_right", None)


def test_a_repeat_is_recorded_once(app, fact):
    body = {"fact_id": str(fact.id), "rating": "incorrect"}
    first, second = (app.post("/v1/feedback", body, headers={"Idempotency-Key": "f"}).json() for _ in range(2))
    assert first == second
    assert Feedback.objects.count() == 1
