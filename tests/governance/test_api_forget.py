import pytest

from facts.models import Fact
from governance.access import Delegation
from governance.models import ForgetReceipt, Role
from tests.api import caller_with_key, problem, signed_in
from tests.factories import (
    AccountFactory,
    FactFactory,
    GrantFactory,
    MembershipFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    maker_of,
    person_in,
    unknown_id,
)


@pytest.fixture
def ada(account):
    return SubjectFactory(account=account, key="ada")


@pytest.fixture
def fact(ada):
    return FactFactory(subject=ada, predicate="lives_in", value={"city": "Lyon"})


@pytest.fixture
def curator(account):
    return signed_in(maker_of(person_in(account)))


def delegate(account, **key):
    return caller_with_key(account, maker=maker_of(person_in(account)), delegated=[Delegation.FORGET], **key)


def status_of(fact):
    return Fact.objects.values_list("status", flat=True).get(pk=fact.pk)


def test_a_fact(account, fact):
    response = delegate(account).post("/v1/forget", {"project_id": "support", "fact_id": str(fact.id)})
    receipt = ForgetReceipt.objects.get()
    assert response.status_code == 200
    assert response.json() == {
        "status": "forgotten",
        "mode": "disable",
        "scope": "fact",
        "forget_id": str(receipt.id),
        "facts_disabled": 1,
        "reviews_withdrawn": 0,
        "facts_deleted": 0,
        "conflict_sets_deleted": 0,
        "events_deleted": 0,
        "traces_deleted": 0,
        "erased": None,
    }
    assert status_of(fact) == "disabled"
    assert receipt.actor["kind"] == "person"


def test_a_subject_within_the_scope_that_is_named(account, ada, curator):
    support = FactFactory(subject=ada)
    sales = FactFactory(subject=ada, scope=ScopeFactory(account=account, path="/sales"))
    body = {"project_id": "support", "subject_id": "ada", "fact_id": None, "mode": "disable"}
    answer = curator.post("/v1/forget", body).json()
    assert (answer["scope"], answer["facts_disabled"]) == ("subject", 1)
    assert (status_of(support), status_of(sales)) == ("disabled", "active")


def test_a_subject_everywhere(account, ada, curator):
    facts = [FactFactory(subject=ada), FactFactory(subject=ada, scope=ScopeFactory(account=account, path="/sales"))]
    bystander = FactFactory(subject=SubjectFactory(account=account))
    assert curator.post("/v1/forget", {"subject_id": "ada"}).json()["facts_disabled"] == 2
    assert [status_of(each) for each in (*facts, bystander)] == ["disabled", "disabled", "active"]


def test_subjects_forget_what_is_about_them(account, ada, fact):
    caller = signed_in(MembershipFactory(account=account, subject=ada))
    assert caller.post("/v1/forget", {"subject_id": "ada"}).json()["facts_disabled"] == 1


def test_subjects_forget_nothing_about_others(account, ada, fact):
    bob = SubjectFactory(account=account, key="bob")
    GrantFactory(subject=bob, role=Role.MEMBER)
    caller = signed_in(MembershipFactory(account=account, subject=bob))
    for named, field in (("ada", "subject_id"), ("nobody", "subject_id")):
        assert problem(caller.post("/v1/forget", {"subject_id": named})) == (404, "subject_not_found", field)
    for pk in (fact.id, unknown_id()):
        assert problem(caller.post("/v1/forget", {"fact_id": str(pk)})) == (404, "fact_not_found", "fact_id")
    assert status_of(fact) == "active"


def test_a_plain_key_forgets_nothing_and_learns_nothing(account, fact):
    app = caller_with_key(account)
    for target in ({"fact_id": str(fact.id)}, {"fact_id": str(unknown_id())}, {"subject_id": "nobody"}):
        assert problem(app.post("/v1/forget", target)) == (403, "human_required", None)
    assert problem(app.post(f"/v1/forget/{unknown_id()}/lift")) == (403, "human_required", None)


def test_a_confined_delegate_forgets_below_its_scope(account, ada, fact):
    confined = delegate(account, scope_limit=ScopeFactory(account=account, path="/sales"))
    assert problem(confined.post("/v1/forget", {"fact_id": str(fact.id)})) == (404, "fact_not_found", "fact_id")
    assert confined.post("/v1/forget", {"subject_id": "ada", "scope": "/sales"}).json()["facts_disabled"] == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (422, "invalid_forget_scope", "fact_id")),
        ({"fact_id": str(unknown_id()), "subject_id": "ada"}, (422, "invalid_forget_scope", "fact_id")),
        ({"fact_id": "x"}, (422, "invalid_payload", "fact_id")),
        ({"fact_id": str(unknown_id()), "mode": "shred"}, (422, "invalid_payload", "mode")),
        ({"fact_id": str(unknown_id()), "mode": "delete"}, (404, "fact_not_found", "fact_id")),
        ({"subject_id": "nobody", "mode": "delete"}, (404, "subject_not_found", "subject_id")),
        ({"subject_id": "nobody", "mode": "shred"}, (422, "invalid_payload", "mode")),
        ({"subject_id": "nobody", "mode": "delete", "erasure": "half"}, (422, "invalid_payload", "erasure")),
        ({"fact_id": str(unknown_id())}, (404, "fact_not_found", "fact_id")),
        ({"subject_id": "nobody"}, (404, "subject_not_found", "subject_id")),
    ],
)
def test_malformed_requests(curator, body, expected):
    assert problem(curator.post("/v1/forget", body)) == expected
    assert not ForgetReceipt.objects.exists()


def test_a_fact_of_another_project(curator, fact):
    response = curator.post("/v1/forget", {"project_id": "sales", "fact_id": str(fact.id)})
    assert problem(response) == (404, "fact_not_found", "fact_id")


def test_another_accounts_fact(account, curator):
    other = AccountFactory(key="other")
    with entered(other):
        foreign = FactFactory(subject=SubjectFactory(account=other))
    assert problem(curator.post("/v1/forget", {"fact_id": str(foreign.id)})) == (404, "fact_not_found", "fact_id")


def test_lifting_brings_back_what_was(curator, fact):
    forgotten = curator.post("/v1/forget", {"fact_id": str(fact.id)}).json()
    answer = curator.post(f"/v1/forget/{forgotten['forget_id']}/lift", {"reason": "By mistake."}).json()
    receipt = ForgetReceipt.objects.get()
    assert answer == {
        "status": "lifted",
        "forget_id": str(receipt.id),
        "facts_enabled": 1,
        "in_conflict": [],
        "lifted_at": receipt.lifted_at.isoformat(),
    }
    assert status_of(fact) == "active"
    again = curator.post(f"/v1/forget/{receipt.id}/lift")
    assert problem(again) == (409, "forget_lifted", None)


def test_an_unknown_receipt(curator):
    assert problem(curator.post(f"/v1/forget/{unknown_id()}/lift")) == (404, "receipt_not_found", None)


def test_forgetting_once_however_often_it_is_sent(curator, fact):
    body = {"fact_id": str(fact.id)}
    first, second = (curator.post("/v1/forget", body, headers={"Idempotency-Key": "f"}).json() for _ in range(2))
    assert first == second
    assert ForgetReceipt.objects.count() == 1


def test_a_deletion_says_what_every_store_lost(account, ada, fact, curator):
    shown = curator.post("/v1/forget/preview", {"subject_id": "ada"})
    assert (shown.status_code, shown.json()["facts_deleted"], status_of(fact)) == (200, 1, "active")
    answer = curator.post("/v1/forget", {"subject_id": "ada", "mode": "delete", "reason": "Ada asked"}).json()
    assert (answer["status"], answer["mode"], answer["scope"]) == ("forgotten", "delete", "subject")
    assert (answer["facts_disabled"], answer["facts_deleted"], answer["events_deleted"]) == (0, 1, 1)
    erased = answer["erased"]
    assert (erased["erasure"], erased["stores"]["facts"], erased["search"]["left"]) == ("proportionate", 1, {})
    # The deletion itself is one more revision.
    assert erased["stores"] == {**shown.json()["stores"], "revisions": 2}
    assert ForgetReceipt.objects.get().reason == ""
    again = curator.post("/v1/forget", {"fact_id": str(fact.id), "mode": "delete"})
    assert problem(again) == (409, "erased_already", "fact_id")


def test_a_repeated_deletion_is_answered_with_the_first_receipt(account, fact, curator):
    body = {"fact_id": str(fact.id), "mode": "delete"}
    first, second = (curator.post("/v1/forget", body, headers={"Idempotency-Key": "once"}) for _ in range(2))
    assert (first.json(), second.headers["Idempotent-Replay"]) == (second.json(), "true")


def test_what_may_not_be_erased_may_not_be_previewed(account, ada, fact):
    bob = SubjectFactory(account=account, key="bob")
    GrantFactory(subject=bob, role=Role.MEMBER)
    caller = signed_in(MembershipFactory(account=account, subject=bob))
    for path, body in (("/v1/forget/preview", {}), ("/v1/forget", {"mode": "delete"})):
        for target in ({"subject_id": "ada"}, {"fact_id": str(fact.id)}):
            assert caller.post(path, {**target, **body}).status_code == 404
    own_key = caller_with_key(account, peer=ada)
    for path, body in (("/v1/forget/preview", {}), ("/v1/forget", {"mode": "delete"})):
        assert problem(own_key.post(path, {"subject_id": "ada", **body})) == (403, "human_required", None)
