import uuid
from datetime import timedelta

import pytest
from rest_framework.serializers import ValidationError

from facts import conflict_sets
from facts.actors import pipeline
from facts.clock import now
from facts.models import ConflictDecision, ConflictSet, Fact
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from governance.access import APP_RIGHTS, Delegation, Right
from governance.api.conflict_shapes import IntervalsField, QualifiersField
from governance.models import Role
from tests.api import caller_with_key, problem, signed_in
from tests.factories import (
    JANUARY,
    MARCH,
    AccountFactory,
    FactFactory,
    GrantFactory,
    MembershipFactory,
    ScopeFactory,
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
def sides(ada):
    """Two contradicting facts about Ada at /support; the set is theirs."""
    return submitted_fact(ada, {"city": "Lyon"}, at=JANUARY), submitted_fact(ada, {"city": "Paris"}, at=MARCH)


@pytest.fixture
def conflict(sides):
    return ConflictSet.objects.get()


@pytest.fixture
def curator(account):
    return signed_in(maker_of(person_in(account)))


@pytest.fixture
def app(account):
    """An app's key: reads as the subject of its calls, decides nothing."""
    return caller_with_key(account)


def deciding_key(account, **key):
    maker = maker_of(person_in(account))
    return caller_with_key(account, maker=maker, delegated=[Delegation.RESOLVE], **key)


def open_set(account, subject, *facts):
    return conflict_sets.open_set(
        account_id=account.id,
        scope_id=facts[0].scope_id,
        subject_id=subject.id,
        kind="contradiction",
        members=[(fact.id, True) for fact in facts],
        reason="different_value",
        actor=pipeline(),
        identity_key=facts[0].identity_key,
    )


def ids(response):
    assert response.status_code == 200, response.content
    return [each["id"] for each in response.json()["conflicts"]]


def test_a_set_is_listed_to_its_subject(app, conflict, sides):
    body = app.get("/v1/conflicts", project_id="support", subject_id="ada").json()
    first, second = sides
    assert body["open_count"] == 1
    assert 0 <= body["oldest_open_seconds"] < 60
    assert body["next_cursor"] is None
    (shown,) = body["conflicts"]
    members = shown.pop("members")
    assert shown == {
        "id": str(conflict.id),
        "project_id": "support",
        "scope": "/support",
        "subject_id": "ada",
        "fact_ids": [str(first.id), str(second.id)],
        "kind": "contradiction",
        "status": "open",
        "reason": "different_value",
        "created_at": conflict.opened_at.isoformat(),
        "resolved_at": None,
        "due_at": conflict.due_at.isoformat(),
        "deferred_until": None,
        "resolution": None,
        "version": 1,
        "hidden_members": 0,
    }
    assert members == [
        {
            "fact_id": str(fact.id),
            "status": status,
            "statement": fact.statement,
            "predicate": "lives_in",
            "value": fact.value,
            "qualifiers": {},
            "confidence": 0.9,
            "origin_trust": "trusted",
            "valid_from": moment.isoformat(),
            "valid_to": None,
            "withheld": True,
        }
        for fact, status, moment in ((first, "active", JANUARY), (second, "candidate", MARCH))
    ]


def test_the_audience_rule_hides_a_set_and_its_count(app, account, conflict):
    SubjectFactory(account=account, key="bob")
    for parameters in ({}, {"subject_id": "bob"}, {"subject_id": "nobody"}, {"project_id": "support"}):
        body = app.get("/v1/conflicts", **parameters).json()
        assert (body["conflicts"], body["open_count"], body["oldest_open_seconds"]) == ([], 0, None)


def test_one_hidden_side_hides_the_set(account, ada):
    """A reader who may see one side only would learn from the set that there is another one."""
    reader = caller_with_key(account, peer=SubjectFactory(account=account, key="bob"))
    public = {"sensitivity": Sensitivity.PUBLIC}
    claims = {"predicate": "lives_in", "scope": ScopeFactory(account=account)}
    first = FactFactory(subject=ada, value={"city": "Lyon"}, **claims, **public)
    second = FactFactory(subject=ada, value={"city": "Paris"}, status=Status.CANDIDATE, **claims, **public)
    opened = open_set(account, ada, first, second)
    assert ids(reader.get("/v1/conflicts")) == [str(opened.id)]
    Fact.objects.filter(pk=second.pk).update(sensitivity=Sensitivity.PERSONAL)
    assert ids(reader.get("/v1/conflicts")) == []


def test_a_waiting_side_shows_no_words_to_other_readers(account, ada):
    reader = caller_with_key(account, peer=SubjectFactory(account=account, key="bob"))
    claims = {"predicate": "lives_in", "scope": ScopeFactory(account=account), "sensitivity": Sensitivity.PUBLIC}
    first = FactFactory(subject=ada, value={"city": "Lyon"}, **claims)
    second = FactFactory(subject=ada, value={"city": "Paris"}, status=Status.CANDIDATE, **claims)
    open_set(account, ada, first, second)
    (shown,) = reader.get("/v1/conflicts").json()["conflicts"]
    assert [(each["statement"], each["value"]) for each in shown["members"]] == [
        (first.statement, {"city": "Lyon"}),
        (None, None),
    ]


def test_a_curator_is_shown_every_side(curator, conflict, sides):
    (shown,) = curator.get("/v1/conflicts").json()["conflicts"]
    assert [each["statement"] for each in shown["members"]] == [fact.statement for fact in sides]


def test_a_curator_of_another_scope_is_shown_nothing(account, conflict):
    elsewhere = signed_in(maker_of(person_in(account, path="/sales")))
    assert ids(elsewhere.get("/v1/conflicts")) == []


def test_a_member_without_authority_is_shown_nothing_about_others(account, conflict):
    member = signed_in(maker_of(person_in(account, role=Role.MEMBER)))
    assert ids(member.get("/v1/conflicts")) == []
    assert problem(member.get(f"/v1/conflicts/{conflict.id}")) == (404, "conflict_not_found", None)


@pytest.mark.parametrize(
    ("by_key", "is_open", "shown", "hidden"), [(False, True, 2, 0), (False, False, 1, 1), (True, True, 1, 1)]
)
def test_restricted_sides_are_for_a_person_who_decides_now(account, sides, conflict, by_key, is_open, shown, hidden):
    Fact.objects.filter(pk=sides[1].pk).update(sensitivity=Sensitivity.RESTRICTED)
    caller = deciding_key(account) if by_key else signed_in(maker_of(person_in(account)))
    if not is_open:
        ConflictSet.objects.update(status="dissolved", closed_at=now())
    body = caller.get(f"/v1/conflicts/{conflict.id}").json()
    assert (len(body["members"]), len(body["fact_ids"]), body["hidden_members"]) == (shown, shown, hidden)


def test_delegation_alone_shows_what_its_maker_curates(account, conflict):
    assert ids(deciding_key(account).get("/v1/conflicts")) == [str(conflict.id)]
    powerless = maker_of(person_in(account, role=Role.MEMBER))
    by_member = caller_with_key(account, maker=powerless, delegated=[Delegation.RESOLVE])
    assert ids(by_member.get("/v1/conflicts")) == []


def test_the_key_of_a_curator_borrows_no_sight(account, conflict):
    caller = caller_with_key(account, maker=maker_of(person_in(account)))
    assert ids(caller.get("/v1/conflicts")) == []


def test_what_was_forgotten_is_not_repeated(curator, account, conflict, sides):
    ConflictSet.objects.update(status="dissolved", closed_at=now())
    Fact.objects.filter(pk=sides[0].pk).update(status=Status.DISABLED)
    members = curator.get(f"/v1/conflicts/{conflict.id}").json()["members"]
    assert [each["statement"] for each in members] == [None, sides[1].statement]


def test_a_project_is_exactly_its_scope(curator, conflict, account):
    ScopeFactory(account=account, path="/support/emea")
    assert ids(curator.get("/v1/conflicts", project_id="support")) == [str(conflict.id)]
    assert ids(curator.get("/v1/conflicts", project_id="support/emea")) == []
    assert ids(curator.get("/v1/conflicts", scope="/support/emea")) == [str(conflict.id)]
    assert ids(curator.get("/v1/conflicts", scope="/nowhere")) == []


def test_a_key_stays_below_its_scope(account, ada, conflict):
    caller = caller_with_key(account, scope_limit=ScopeFactory(account=account, path="/sales"))
    assert ids(caller.get("/v1/conflicts", subject_id="ada")) == []
    refused = caller.get("/v1/conflicts", subject_id="ada", project_id="support")
    assert problem(refused) == (403, "forbidden_scope", "scope")


def test_another_account_sees_nothing(account, conflict):
    other = AccountFactory(key="other")
    with entered(other):
        caller = signed_in(maker_of(person_in(other)))
    assert ids(caller.get("/v1/conflicts")) == []
    assert problem(caller.get(f"/v1/conflicts/{conflict.id}")) == (404, "conflict_not_found", None)
    body = {"keep_fact_id": str(unknown_id())}
    assert problem(caller.post(f"/v1/conflicts/{conflict.id}/resolve", body)) == (404, "conflict_not_found", None)


def test_pages_are_oldest_first(curator, account):
    made = []
    for key in ("a", "b", "c"):
        subject = SubjectFactory(account=account, key=key)
        submitted_fact(subject, {"city": "Lyon"}, at=JANUARY)
        submitted_fact(subject, {"city": "Paris"}, at=MARCH)
        made.append(str(ConflictSet.objects.get(subject=subject).id))
    first = curator.get("/v1/conflicts", limit=2)
    assert ids(first) == made[:2]
    assert first.json()["open_count"] == 3
    second = curator.get("/v1/conflicts", limit=2, cursor=first.json()["next_cursor"])
    assert ids(second) == made[2:]
    assert second.json()["next_cursor"] is None


def test_closed_sets_are_listed_by_status(curator, conflict, sides):
    curator.post(f"/v1/conflicts/{conflict.id}/resolve", {"keep_fact_id": str(sides[1].id)})
    assert ids(curator.get("/v1/conflicts")) == []
    body = curator.get("/v1/conflicts", status="resolved").json()
    assert [(each["status"], each["resolution"]) for each in body["conflicts"]] == [("resolved", "keep_one")]
    assert body["open_count"] == 0


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"status": "closed"}, (422, "invalid_payload", "status")),
        ({"limit": 0}, (422, "invalid_payload", "limit")),
        ({"limit": 201}, (422, "invalid_payload", "limit")),
        ({"cursor": "x"}, (422, "invalid_cursor", "cursor")),
        ({"scope": "a/../b"}, (422, "invalid_scope", "scope")),
        ({"scope": "/a", "project_id": "b"}, (422, "ambiguous_field", "scope")),
        ({"peer_key": "bob"}, (403, "peer_not_allowed", "peer_key")),
    ],
)
def test_malformed_listings(app, parameters, expected):
    assert problem(app.get("/v1/conflicts", **parameters)) == expected


def test_an_unknown_peer_is_an_error(account):
    caller = caller_with_key(account, rights=[Right.READ, Right.READ_FOR_OTHERS])
    assert problem(caller.get("/v1/conflicts", reader="nobody")) == (404, "peer_not_found", "peer_key")


def test_reading_needs_the_right(account):
    caller = caller_with_key(account, rights=[Right.CAPTURE])
    assert problem(caller.get("/v1/conflicts")) == (403, "missing_right", None)


def test_keeping_one_answers_what_became_of_each(account, conflict, sides):
    first, second = sides
    caller = deciding_key(account)
    response = caller.post(
        f"/v1/conflicts/{conflict.id}/resolve", {"project_id": "support", "keep_fact_id": str(second.id)}
    )
    decided = ConflictDecision.objects.get()
    closed = ConflictSet.objects.get()
    assert response.status_code == 200
    assert response.json() == {
        "conflict_id": str(conflict.id),
        "status": "resolved",
        "verb": "keep_one",
        "decision_id": str(decided.id),
        "version": closed.version,
        "kept_fact_id": str(second.id),
        "superseded_fact_ids": [str(first.id)],
        "facts": [
            {"fact_id": str(first.id), "status": "superseded"},
            {"fact_id": str(second.id), "status": "active"},
        ],
        "resolved_at": closed.closed_at.isoformat(),
        "deferred_until": None,
    }
    assert decided.actor["kind"] == "person"
    assert set(decided.actor) >= {"membership_id", "key_id"}


def test_the_others_were_never_true(curator, conflict, sides):
    body = {"verb": "never_true", "keep_fact_id": str(sides[0].id), "rationale": "A joke."}
    answer = curator.post(f"/v1/conflicts/{conflict.id}/resolve", body).json()
    assert {"fact_id": str(sides[1].id), "status": "rejected"} in answer["facts"]
    assert (answer["kept_fact_id"], answer["superseded_fact_ids"]) == (str(sides[0].id), [])
    assert ConflictDecision.objects.get().rationale == "A joke."


def test_none_was_ever_true(curator, conflict, sides):
    answer = curator.post(f"/v1/conflicts/{conflict.id}/resolve", {"verb": "reject_all"}).json()
    assert [each["status"] for each in answer["facts"]] == ["rejected", "rejected"]
    assert answer["kept_fact_id"] is None


def test_both_under_their_conditions(curator, conflict, sides):
    first, second = sides
    body = {
        "verb": "keep_by_qualifier",
        "qualifiers": {str(first.id): {"season": "summer"}, str(second.id): {"season": "winter"}},
    }
    answer = curator.post(f"/v1/conflicts/{conflict.id}/resolve", body).json()
    assert [each["status"] for each in answer["facts"]] == ["active", "active"]
    assert Fact.objects.get(pk=second.pk).qualifiers == {"season": "winter"}


@pytest.mark.parametrize("text", ["\x00", "a\x07b", "a\nb", "\x7f", "\ud800"])
@pytest.mark.parametrize("place", [lambda t: {"season": t}, lambda t: {t: 1}, lambda t: {"a": [{"b": t}]}])
def test_conditions_are_printable(text, place):
    with pytest.raises(ValidationError):
        QualifiersField().run_validation({str(unknown_id()): place(text)})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", [lambda n: {"share": n}, lambda n: {"a": [{"b": n}]}])
def test_conditions_are_finite(number, place):
    with pytest.raises(ValidationError):
        QualifiersField().run_validation({str(unknown_id()): place(number)})


def test_other_conditions_are_kept_as_they_are():
    fact_id, conditions = unknown_id(), {"season": "été \u200d 夏", "n": [1, 0.5, True, None], "x": {"y": ""}}
    assert QualifiersField().run_validation({str(fact_id): conditions}) == {fact_id: conditions}


def test_a_condition_that_cannot_be_stored_is_refused(curator, conflict, sides):
    first, second = sides
    body = {"verb": "keep_by_qualifier", "qualifiers": {str(first.id): {"a": "\x00"}, str(second.id): {"a": "b"}}}
    response = curator.post(f"/v1/conflicts/{conflict.id}/resolve", body)
    assert problem(response) == (422, "invalid_payload", "qualifiers")
    assert ConflictSet.objects.get().status == "open"


@pytest.mark.parametrize("end", [None, "9999-12-31", "9999-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00"])
def test_an_end_in_the_last_year_is_open(end):
    fact_id = unknown_id()
    value = {str(fact_id): {"valid_from": "2025-01-10T09:00:00Z", "valid_to": end}}
    assert IntervalsField().run_validation(value) == {fact_id: (JANUARY, None)}
    value[str(fact_id)]["valid_to"] = "9998-12-31T23:59:59Z"
    assert IntervalsField().run_validation(value)[fact_id][1].year == 9998


def test_both_as_occurrences(curator, conflict, sides):
    curator.post(f"/v1/conflicts/{conflict.id}/resolve", {"verb": "keep_as_events"})
    assert set(Fact.objects.values_list("status", "form")) == {("active", "event")}


def test_both_in_their_time(curator, conflict, sides):
    first, second = sides
    body = {
        "verb": "keep_by_interval",
        "intervals": {
            str(first.id): {"valid_from": "2025-01-10T09:00:00Z", "valid_to": "2025-03-10T10:00:00+01:00"},
            str(second.id): {"valid_from": "2025-03-10T09:00:00Z"},
        },
    }
    answer = curator.post(f"/v1/conflicts/{conflict.id}/resolve", body).json()
    assert [each["status"] for each in answer["facts"]] == ["superseded", "active"]
    assert Fact.objects.get(pk=first.pk).valid_to == MARCH


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (422, "invalid_payload", "keep_fact_id")),
        ({"keep_fact_id": "x"}, (422, "invalid_payload", "keep_fact_id")),
        ({"keep_fact_id": str(uuid.UUID(int=1))}, (422, "fact_not_in_conflict", "keep_fact_id")),
        ({"verb": "merge"}, (422, "invalid_payload", "verb")),
        ({"verb": "keep_by_qualifier"}, (422, "invalid_payload", "qualifiers")),
        ({"verb": "keep_by_qualifier", "qualifiers": {}}, (422, "qualifier_missing", "qualifiers")),
        ({"verb": "keep_by_qualifier", "qualifiers": {"x": {}}}, (422, "invalid_payload", "qualifiers")),
        ({"verb": "keep_by_qualifier", "qualifiers": [1]}, (422, "invalid_payload", "qualifiers")),
        (
            {"verb": "keep_by_qualifier", "qualifiers": {str(uuid.UUID(int=1)): "x"}},
            (422, "invalid_payload", "qualifiers"),
        ),
        ({"verb": "keep_by_interval"}, (422, "invalid_payload", "intervals")),
        ({"verb": "keep_by_interval", "intervals": {}}, (422, "interval_missing", "intervals")),
        (
            {"verb": "keep_by_interval", "intervals": {str(uuid.UUID(int=1)): {"from": 1}}},
            (422, "invalid_payload", "intervals"),
        ),
        (
            {"verb": "keep_by_interval", "intervals": {str(uuid.UUID(int=1)): {"valid_from": "2025-01-01T00:00"}}},
            (422, "naive_datetime", "intervals"),
        ),
        ({"verb": "reject_all", "version": 0}, (422, "invalid_payload", "version")),
        ({"verb": "reject_all", "version": 7}, (409, "stale_version", "version")),
        ({"verb": "reject_all", "project_id": "sales"}, (404, "conflict_not_found", None)),
        ({"verb": "reject_all", "rationale": "x" * 2001}, (422, "invalid_payload", "rationale")),
    ],
)
def test_malformed_resolutions_change_nothing(curator, conflict, body, expected):
    assert problem(curator.post(f"/v1/conflicts/{conflict.id}/resolve", body)) == expected
    assert ConflictSet.objects.get().status == "open"
    assert not ConflictDecision.objects.exists()


def test_deciding_twice(curator, conflict, sides):
    body = {"keep_fact_id": str(sides[0].id)}
    assert curator.post(f"/v1/conflicts/{conflict.id}/resolve", body).status_code == 200
    again = curator.post(f"/v1/conflicts/{conflict.id}/resolve", body)
    assert problem(again) == (409, "conflict_already_resolved", None)


def test_deciding_once_however_often_it_is_sent(curator, conflict, sides):
    body = {"keep_fact_id": str(sides[0].id)}
    answers = [
        curator.post(f"/v1/conflicts/{conflict.id}/resolve", body, headers={"Idempotency-Key": "r-1"}) for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert [answer.headers.get("Idempotent-Replay") for answer in answers] == [None, "true"]


@pytest.mark.parametrize("verb", ["resolve", "dismiss", "defer", "reopen"])
def test_a_key_without_the_delegation_is_told_to_ask_a_person(account, app, conflict, verb):
    body = {"keep_fact_id": str(unknown_id()), "until": (now() + timedelta(days=1)).isoformat()}
    for target in (conflict.id, unknown_id()):
        assert problem(app.post(f"/v1/conflicts/{target}/{verb}", body)) == (403, "human_required", None)


def test_a_key_does_not_decide_about_sides_that_it_is_not_shown(account, conflict, sides):
    Fact.objects.filter(pk=sides[1].pk).update(sensitivity=Sensitivity.RESTRICTED)
    refused = deciding_key(account).post(f"/v1/conflicts/{conflict.id}/resolve", {"keep_fact_id": str(sides[0].id)})
    assert problem(refused) == (403, "human_required", None)
    assert ConflictSet.objects.get().status == "open"


def test_a_person_who_sees_the_set_without_authority(account, ada):
    """Ada sees the set about herself; deciding it is not hers."""
    membership = MembershipFactory(account=account, subject=ada)
    GrantFactory(subject=ada, role=Role.MEMBER)
    submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    submitted_fact(ada, {"city": "Paris"}, at=MARCH)
    conflict = ConflictSet.objects.get()
    caller = signed_in(membership)
    assert ids(caller.get("/v1/conflicts")) == [str(conflict.id)]
    refused = caller.post(f"/v1/conflicts/{conflict.id}/resolve", {"verb": "reject_all"})
    assert problem(refused) == (403, "forbidden_scope", "scope")


def test_nobody_decides_about_what_they_put_in(account, ada):
    curator = person_in(account)
    claims = {"predicate": "lives_in", "scope": ScopeFactory(account=account)}
    first = FactFactory(subject=ada, value={"city": "Lyon"}, actor=curator.actor, **claims)
    second = FactFactory(subject=ada, value={"city": "Paris"}, status=Status.CANDIDATE, **claims)
    conflict = open_set(account, ada, first, second)
    caller = signed_in(maker_of(curator))
    refused = caller.post(f"/v1/conflicts/{conflict.id}/resolve", {"verb": "reject_all"})
    assert problem(refused) == (403, "own_request", None)


def test_dismissing_says_what_separates_them(curator, conflict, sides):
    missing = curator.post(f"/v1/conflicts/{conflict.id}/dismiss", {"distinction": " "})
    assert problem(missing) == (422, "distinction_missing", "distinction")
    answer = curator.post(f"/v1/conflicts/{conflict.id}/dismiss", {"distinction": "work and home"}).json()
    assert (answer["status"], answer["verb"], answer["kept_fact_id"]) == ("dismissed", "dismiss", None)


def test_deferring(curator, conflict):
    until = now() + timedelta(days=2)
    path = f"/v1/conflicts/{conflict.id}/defer"
    assert problem(curator.post(path, {})) == (422, "invalid_payload", "until")
    assert problem(curator.post(path, {"until": "2020-01-01"})) == (422, "invalid_date", "until")
    answer = curator.post(path, {"until": until.isoformat()}).json()
    assert (answer["status"], answer["deferred_until"], answer["resolved_at"]) == ("open", until.isoformat(), None)


def test_reopening_restores_what_was(curator, conflict, sides):
    path = f"/v1/conflicts/{conflict.id}"
    assert problem(curator.post(f"{path}/reopen")) == (409, "nothing_to_undo", None)
    curator.post(f"{path}/resolve", {"keep_fact_id": str(sides[1].id)})
    answer = curator.post(f"{path}/reopen", {"rationale": "Wrong one."}).json()
    assert (answer["status"], answer["kept_fact_id"], answer["resolved_at"]) == ("open", None, None)
    assert [Fact.objects.get(pk=fact.pk).status for fact in sides] == ["active", "candidate"]
    assert problem(curator.post(f"{path}/reopen")) == (409, "nothing_to_undo", None)


def test_level_above_peer_is_seen_by_members(account, ada):
    """Personal, but placed for the whole scope: the audience rule lets every known reader see it."""
    reader = caller_with_key(account, rights=APP_RIGHTS, peer=SubjectFactory(account=account, kind=SubjectKind.AGENT))
    claims = {"predicate": "lives_in", "scope": ScopeFactory(account=account), "level": Level.SCOPE}
    first = FactFactory(subject=ada, value={"city": "Lyon"}, **claims)
    second = FactFactory(subject=ada, value={"city": "Paris"}, status=Status.CANDIDATE, **claims)
    opened = open_set(account, ada, first, second)
    assert ids(reader.get("/v1/conflicts")) == [str(opened.id)]
