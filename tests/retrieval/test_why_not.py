from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from facts import embedding, lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import NotFound
from facts.models import Account, Fact, Subject
from facts.vocabulary import Level, Sensitivity, Status, Volatility
from governance import forgetting
from governance.access import Principal
from governance.models import Role
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.models import Trace
from retrieval.profiles import profile_versions
from retrieval.search.answer import SearchAnswer
from retrieval.traces import reasons, why_not
from tests.factories import (
    JANUARY,
    MARCH,
    AccountFactory,
    FactFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    key_principal,
    person_in,
    submit,
    unknown_id,
)

Ask = Callable[..., ContextAnswer]


def _tea(ana: Subject, **fields: object) -> Fact:
    return FactFactory(subject=ana, **{"statement": "Ana likes tea.", **fields})


def _codes(principal: Principal, answer: ContextAnswer | SearchAnswer, fact: Fact) -> list[str]:
    return [one.code for one in why_not.why(principal, answer.trace_id, fact.pk).obstacles]


def _first(principal: Principal, answer: ContextAnswer, fact: Fact) -> tuple[str, dict[str, object]]:
    found = why_not.why(principal, answer.trace_id, fact.pk).obstacles[0]
    return found.code, dict(found.detail)


def test_what_was_served_has_no_obstacle(ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana)
    found = why_not.why(app, ask("tea").trace_id, fact.pk)
    assert (found.served, found.obstacles, found.decision["reason"]) == (True, [], "top_score")


def test_a_fact_of_another_scope(account: Account, ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana, scope=ScopeFactory(account=account, path="/sales"))
    assert _first(app, ask("tea"), fact) == ("other_scope", {"scope": "/sales", "read": ["/support"]})
    assert _first(app, ask("tea", exact=False), fact) == ("other_scope", {"scope": "/sales", "read": ["/support", "/"]})


def test_a_fact_about_somebody_else(account: Account, ana: Subject, ask: Ask) -> None:
    ben = SubjectFactory(account=account, key="ben")
    fact = _tea(ben, sensitivity=Sensitivity.INTERNAL)
    curator = person_in(account)
    assert _first(curator, ask("tea"), fact) == ("other_subject", {"subject": "ben", "asked": "ana"})
    assert _first(curator, ask("tea", subject_key="nobody"), fact) == ("subject_unknown", {"subject": "nobody"})


def test_a_fact_that_is_not_for_the_reader(account: Account, ana: Subject, ask: Ask) -> None:
    ben = SubjectFactory(account=account, key="ben")
    app = key_principal(account, label="ben's", peer=ben, rights=["read"])
    fact = _tea(ana)
    answer = ask("tea", principal=app)
    own = person_in(account)
    lifecycle.amend(
        fact.pk,
        account_id=account.id,
        changes={"sensitivity": Sensitivity.INTERNAL},
        actor=pipeline(),
        action="fact.lowered",
    )
    assert _codes(own, answer, fact) == ["not_for_reader"]
    assert _first(own, answer, fact)[1] == {"level": "peer", "sensitivity": "personal"}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"status": Status.CANDIDATE}, "not_current"),
        ({"status": Status.REJECTED}, "not_current"),
        ({"valid_from": now() + timedelta(days=30)}, "not_begun"),
        ({"valid_from": JANUARY, "valid_to": MARCH}, "ended"),
        ({"expires_at": MARCH}, "expired"),
    ],
)
def test_a_fact_that_did_not_hold(ana: Subject, ask: Ask, app: Principal, fields: dict[str, object], code: str) -> None:
    fact = _tea(ana, **fields)
    assert _first(app, ask("tea"), fact)[0] == code


def test_a_fact_that_had_expired_by_the_time_that_is_asked_about(ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana, valid_from=JANUARY, expires_at=MARCH)
    assert _codes(app, ask("tea", as_of=JANUARY), fact) == []
    assert _codes(app, ask("tea", as_of=MARCH), fact) == ["expired"]


def test_it_is_the_fact_of_then_that_is_looked_at(ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana, status=Status.CANDIDATE)
    before = ask("tea")
    lifecycle.transition(fact.pk, account_id=fact.account_id, to=Status.ACTIVE, actor=pipeline(), action="fact.placed")
    assert _first(app, before, fact) == ("not_current", {"status": "candidate"})
    assert _codes(app, ask("tea"), fact) == []


def test_a_fact_that_came_later(ana: Subject, ask: Ask, app: Principal) -> None:
    answer = ask("tea")
    fact = _tea(ana)
    code, detail = _first(app, answer, fact)
    assert (code, detail) == ("not_recorded_yet", {"recorded_from": fact.revisions.get().recorded_from})


def test_a_side_of_an_open_conflict(ana: Subject, ask: Ask, app: Principal) -> None:
    submit(ana, {"city": "Lisbon"}, at=JANUARY, statement="Ana lives in Lisbon.")
    submit(ana, {"city": "Porto"}, at=MARCH, statement="Ana lives in Porto.")
    answer = ask("Where does Ana live?")
    fact = Fact.objects.get(statement="Ana lives in Lisbon.")
    assert _codes(app, answer, fact) == ["conflict_open"]
    blank = ask("", budget=1)
    assert "conflict_open" in _codes(app, blank, fact)


def test_a_fact_that_was_not_confirmed_for_too_long(ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana, volatility=Volatility.EPHEMERAL)
    assert _codes(app, ask("tea"), fact) == ["volatility_expired"]


def test_a_fact_that_has_nothing_to_do_with_the_question(ana: Subject, app: Principal) -> None:
    embedding.register(None)
    fact = _tea(ana, statement="Ana plays chess.")
    request = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query="tea")
    assert _codes(app, assemble(principal=app, request=request), fact) == ["no_shared_words", "beyond_candidate_limit"]


def test_a_fact_beyond_the_candidates_says_its_rank(account: Account, ana: Subject, ask: Ask, app: Principal) -> None:
    far = _tea(ana, statement="Ana likes tea and cake and bread and jam.")
    for number in range(3):
        _tea(ana, statement=f"Green tea, {number}.")
    admin = person_in(account, role=Role.ACCOUNT_ADMIN)
    few = {"top": 2, "near_misses": 0}
    profile_versions.save(admin, name="context", scope=None, settings=few, note="x", expected=None)
    code, detail = _first(app, ask("green tea"), far)
    assert code == "beyond_candidate_limit"
    assert (detail["by_meaning"], detail["by_words"], detail["limit"]) == (4, 4, 2)


def test_a_fact_over_the_budget_says_what_it_costs(ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana)
    code, detail = _first(app, ask("tea", budget=1), fact)
    assert code == "over_budget"
    assert detail["tokens"] == 7
    assert detail["rank"] == 1


def test_a_fact_below_the_gate_says_its_distance(ana: Subject, ask: Ask, app: Principal, settings) -> None:
    settings.HAKI_RECALL_MAX_DISTANCE = 0.1
    fact = _tea(ana, statement="Ana plays chess and likes tea.")
    code, detail = _first(app, ask("tea"), fact)
    assert code == "below_relevance_floor"
    assert 0.1 < detail["distance"] <= 1


def test_a_fact_whose_vector_is_not_written_yet(ana: Subject, ask: Ask, app: Principal) -> None:
    answer = ask("green tea")
    fact = _tea(ana, statement="Ana plays chess.")
    Trace.objects.filter(pk=answer.trace_id).update(created_at=now(), question_time=now())
    assert _codes(app, answer, fact) == ["no_vector", "no_shared_words", "beyond_candidate_limit"]


def test_without_a_question_salience_decides(ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana)
    answer = ask("")
    assert _codes(app, answer, fact) == []
    Trace.objects.filter(pk=answer.trace_id).update(decisions=[])
    assert _codes(app, answer, fact) == ["not_considered"]


def test_a_search_can_be_asked_as_well(ana: Subject, find: Callable[..., SearchAnswer], app: Principal) -> None:
    fact = _tea(ana)
    ended = _tea(ana, statement="Ana liked tea with milk.", valid_from=JANUARY, valid_to=MARCH)
    answer = find("tea")
    assert why_not.why(app, answer.trace_id, fact.pk).served
    assert _codes(app, answer, ended) == ["ended"]


def test_a_fact_that_the_asker_may_not_see_does_not_exist(account: Account, ana: Subject, ask: Ask) -> None:
    hidden = _tea(ana)
    shared = _tea(ana, statement="Ana shares tea.", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    answer = ask("tea")
    curator = person_in(account)
    assert why_not.why(curator, answer.trace_id, shared.pk).served
    other = AccountFactory()
    with entered(other):
        foreign = FactFactory(subject=SubjectFactory(account=other))
    for unseen in (hidden.pk, foreign.pk, unknown_id()):
        with pytest.raises(NotFound) as refused:
            why_not.why(curator, answer.trace_id, unseen)
        assert (refused.value.code, refused.value.message) == ("fact_not_found", "There is no such fact.")


def test_what_was_forgotten_does_not_exist(account: Account, ana: Subject, ask: Ask, app: Principal) -> None:
    fact = _tea(ana)
    answer = ask("tea")
    forgetting.disable(person_in(account), fact_id=fact.pk, reason="asked")
    with pytest.raises(NotFound):
        why_not.why(app, answer.trace_id, fact.pk)


def test_only_who_may_inspect_a_trace_may_ask(account: Account, ana: Subject, ask: Ask) -> None:
    fact = _tea(ana, sensitivity=Sensitivity.PUBLIC)
    answer = ask("tea")
    for who in (
        key_principal(account, label="another"),
        person_in(account, role=Role.READER),
        person_in(account, path="/sales"),
    ):
        with pytest.raises(NotFound) as refused:
            why_not.why(who, answer.trace_id, fact.pk)
        assert refused.value.code == "trace_not_found"


def test_every_code_has_its_sentence() -> None:
    assert {*why_not.Obstacle, *reasons.Reason} <= set(why_not.MEANING)
    assert all(sentence.endswith(".") for sentence in why_not.MEANING.values())
