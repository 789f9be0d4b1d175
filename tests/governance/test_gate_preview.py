"""A look at a change of a gate rule: what each of the last facts would have met, and that nothing is written."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts.errors import DomainError, Refused
from governance.gating import gate_preview
from governance.models import GateRule, Role
from tests.factories import (
    GateRuleFactory,
    ScopeFactory,
    SubjectFactory,
    person_in,
    submit,
    submitted_fact,
)

VALUES = {
    "gate_a": "auto_keep",
    "gate_b": "auto_place",
    "minimum_evidence_level": "indirect",
    "minimum_corroboration": 0,
    "revalidate_after_days": None,
    "review_due_days": 7,
}
PERSONAL = {"level": "peer", "sensitivity": "personal"}


@pytest.fixture
def administrator(account):
    """A person who administers the account."""
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account, key="ada")


def look(administrator, values, *, scope=None, **fields):
    """Look at what a cell would do."""
    return gate_preview.preview(administrator, scope=scope, values=values, **{**PERSONAL, **fields})


@pytest.mark.parametrize(
    ("change", "after", "reasons"),
    [
        ({}, "active", ()),
        ({"gate_a": "human"}, "provisional", ("rule_wants_a_person",)),
        ({"gate_b": "human"}, "provisional", ("rule_wants_a_person",)),
        ({"gate_a": "auto_reject"}, "rejected", ("rule_rejects",)),
        ({"minimum_corroboration": 2}, "provisional", ("corroboration_too_low",)),
        ({"minimum_evidence_level": "direct"}, "active", ()),
    ],
)
def test_what_would_have_become_of_a_fact(administrator, ada, change, after, reasons):
    fact = submitted_fact(ada, {"city": "Lyon"})
    (outcome,) = look(administrator, {**VALUES, **change}).outcomes
    assert (outcome.fact, outcome.before, outcome.after, outcome.reasons_after) == (fact, "active", after, reasons)


def test_facts_are_asked_about_as_they_were_proposed(administrator, ada):
    submit(ada, {"city": "Lyon"})
    submit(ada, {"city": "Lyon"})
    assert look(administrator, {**VALUES, "minimum_corroboration": 2}).counts == {("active", "provisional"): 1}


def test_the_newest_come_first_and_only_so_many(administrator, ada):
    facts = [submitted_fact(ada, {"song": str(number)}, predicate="likes", form="event") for number in range(3)]
    found = look(administrator, {**VALUES, "gate_a": "human"}, limit=2)
    assert [outcome.fact for outcome in found.outcomes] == [facts[2], facts[1]]
    assert len(found.changed) == 2


def test_only_facts_of_the_cell_and_of_its_scope(account, administrator, ada):
    support, team = (ScopeFactory(account=account, path=path) for path in ("/support", "/support/emea"))
    ScopeFactory(account=account, path="/supporters")
    for path in ("/support", "/support/emea", "/supporters"):
        submit(ada, {"city": path}, event_fields={"scope": ScopeFactory(account=account, path=path)})
    submit(SubjectFactory(account=account, kind="topic"), {"city": "Lyon"})

    def paths(scope) -> set[str]:
        return {one.fact.scope.path for one in look(administrator, VALUES, scope=scope).outcomes}

    assert paths(support) == {"/support", "/support/emea"}
    assert paths(team) == {"/support/emea"}
    assert paths(None) == {"/support", "/support/emea", "/supporters"}


def test_a_nearer_rule_still_decides(account, administrator, ada):
    GateRuleFactory(account=account, scope=ScopeFactory(account=account, path="/support"), gate_a="human")
    submit(ada, {"city": "Lyon"})
    assert look(administrator, {**VALUES, "gate_a": "auto_reject"}).counts == {("provisional", "provisional"): 1}


def test_a_rule_taken_away(account, administrator, ada):
    GateRuleFactory(account=account, gate_a="auto_reject")
    submit(ada, {"city": "Lyon"})
    (outcome,) = look(administrator, None).changed
    assert (outcome.before, outcome.after) == ("rejected", "active")


def test_a_look_writes_nothing(administrator, ada):
    submit(ada, {"city": "Lyon"})
    with CaptureQueriesContext(connection) as queries:
        look(administrator, {**VALUES, "gate_a": "human"})
    written = [query["sql"] for query in queries if not query["sql"].startswith(("SELECT", "SAVEPOINT", "RELEASE"))]
    assert written == []
    assert not GateRule.objects.exists()


def test_only_administrators_and_only_what_could_be_set(account, administrator):
    with pytest.raises(Refused):
        look(person_in(account), VALUES)
    with pytest.raises(DomainError):
        look(administrator, {**VALUES, "gate_a": "never"})
