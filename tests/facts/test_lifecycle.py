"""The lifecycle: only allowed arrows, a whole record of every change, and what is gone stays gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import audit, lifecycle
from facts.actors import pipeline
from facts.audience import audience_code
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.lifecycle import IdentityTaken, IllegalTransition
from facts.models import AuditEntry, Fact, FactRevision, FactText, OutboxEntry
from facts.status_graph import FINAL, LIVE, markdown_table, may_be_restored, may_follow
from facts.vocabulary import Sensitivity, Status
from tests.factories import JANUARY, MARCH, FactFactory, SubjectFactory, taken_back, unknown_id


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account)


def move(fact: Fact, to: str, **more) -> Fact:
    """Move a fact to another status."""
    return lifecycle.transition(
        fact.id, account_id=fact.account_id, to=to, actor=pipeline(), action="test.moved", **more
    )


def restore(fact: Fact, version: int) -> Fact:
    """Restore a fact to an earlier revision."""
    return lifecycle.restore(
        fact.id, account_id=fact.account_id, to_version=version, actor=pipeline(), action="test.restored"
    )


# The graph


def test_the_graph_is_that_of_the_design():
    ended = {Status.SUPERSEDED, Status.EXPIRED, Status.REJECTED}
    anywhere = {Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED}
    for source in ended:
        assert {to for to in Status if may_follow(source, to)} == {Status.DISPUTED} | anywhere
    assert {to for to in Status if may_follow(Status.DISABLED, to)} == anywhere - {Status.DISABLED}
    for source in (Status.REDACTED, Status.RETRACTED):
        assert {to for to in Status if may_follow(source, to)} == {Status.DELETED}
    assert not [to for to in Status if may_follow(Status.DELETED, to)]
    assert {source for source in LIVE if not may_follow(source, Status.SUPERSEDED)} == set()
    assert not any(may_follow(status, status) for status in Status)


def test_what_is_gone_never_comes_back():
    for status in Status:
        for final in FINAL:
            assert not may_be_restored(final, status)
            assert not may_be_restored(status, final)
    assert may_be_restored(Status.DISABLED, Status.ACTIVE)


def test_the_table_names_every_status():
    lines = markdown_table().splitlines()
    assert len(lines) == 2 + len(Status)
    assert lines[2] == (
        "| `candidate` | nobody | provisional, held, active, disputed, superseded, rejected, disabled, redacted,"
        " retracted, deleted |"
    )


# Random walks

STEP = st.tuples(st.sampled_from(["move", "amend", "restore"]), st.sampled_from(Status.values), st.integers(1, 6))


def _step(fact: Fact, kind: str, status: str, version: int) -> bool:
    """Try one step, checking that it is refused exactly where it must be; tell whether the fact has changed."""
    if kind == "move":
        allowed = may_follow(fact.status, status)
    elif kind == "amend":
        allowed = fact.status not in FINAL
    else:
        revision = FactRevision.objects.filter(fact=fact, version=version).first()
        allowed = revision is not None and may_be_restored(fact.status, revision.status)
    if not allowed:
        with pytest.raises((IllegalTransition, NotFound)), transaction.atomic():
            _do(fact, kind, status, version)
        return False
    _do(fact, kind, status, version)
    return True


def _do(fact: Fact, kind: str, status: str, version: int) -> None:
    if kind == "move":
        move(fact, status)
    elif kind == "amend":
        lifecycle.amend(
            fact.id,
            account_id=fact.account_id,
            actor=pipeline(),
            action="test.amended",
            changes={"sensitivity": Sensitivity.values[version % 4], "corroboration": version},
        )
    else:
        restore(fact, version)


def _check_records(fact: Fact) -> None:
    revisions = list(FactRevision.objects.filter(fact=fact).order_by("version"))
    assert [revision.version for revision in revisions] == list(range(1, fact.version + 1))
    assert revisions[0].recorded_from == fact.recorded_from
    assert [one.recorded_to for one in revisions[:-1]] == [one.recorded_from for one in revisions[1:]]
    assert revisions[-1].recorded_to is None
    newest = revisions[-1]
    assert newest.status == fact.status
    assert all(getattr(newest, name) == getattr(fact, name) for name in lifecycle.MUTABLE)
    assert AuditEntry.objects.filter(object_id=str(fact.id)).count() == fact.version
    assert OutboxEntry.objects.filter(object_id=fact.id).count() == fact.version
    row = FactText.objects.get(fact=fact)
    assert row.active == (fact.status in {Status.ACTIVE, Status.PROVISIONAL})
    assert row.audience == audience_code(
        level=fact.level, sensitivity=fact.sensitivity, subject_kind=fact.subject.kind, status=fact.status
    )
    assert (row.expires_at, row.valid_from, row.valid_to) == (fact.expires_at, fact.valid_from, fact.valid_to)
    assert (fact.recorded_to is not None) == (fact.status == Status.DELETED)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.sampled_from([Status.CANDIDATE, Status.ACTIVE]), steps=st.lists(STEP, max_size=10))
def test_a_walk_leaves_a_whole_record(ada, start, steps):
    with taken_back():
        fact = FactFactory(subject=ada, status=start)
        for step in steps:
            version = fact.version
            changed = _step(fact, *step)
            fact.refresh_from_db()
            assert fact.version == version + changed
            _check_records(fact)
        assert list(audit.verify(ada.account_id)) == []


# One by one


def test_a_decision_on_an_old_version_is_refused(ada):
    fact = FactFactory(subject=ada)
    move(fact, Status.DISPUTED, expected_version=1)
    with pytest.raises(Conflicting) as refused:
        move(fact, Status.ACTIVE, expected_version=1)
    assert refused.value.code == "stale_version"
    assert move(fact, Status.ACTIVE, expected_version=2).version == 3


def test_an_unknown_fact_and_an_unknown_revision(account, ada):
    with pytest.raises(NotFound) as refused:
        lifecycle.transition(unknown_id(), account_id=account.id, to="active", actor=pipeline(), action="x")
    assert refused.value.code == "fact_not_found"
    with pytest.raises(NotFound) as refused:
        restore(FactFactory(subject=ada), 2)
    assert refused.value.code == "revision_not_found"


def test_only_what_may_change_is_changed(ada):
    fact = FactFactory(subject=ada)
    with pytest.raises(ValueError, match="statement"):
        lifecycle.amend(
            fact.id, account_id=ada.account_id, actor=pipeline(), action="x", changes={"statement": "Else."}
        )


def test_one_current_fact_an_identity(ada):
    claim = {"subject": ada, "predicate": "lives_in", "value": {"city": "Lyon"}}
    first = FactFactory(**claim)
    with pytest.raises(IdentityTaken):
        FactFactory(**claim)
    second = FactFactory(**claim, status=Status.CANDIDATE)
    with pytest.raises(IdentityTaken):
        move(second, Status.ACTIVE)
    FactFactory(**claim, qualifiers={"when": "summer"})
    FactFactory(**claim, denies=True)
    FactFactory(**{**claim, "value": {"city": "Paris"}}, denies=True)
    move(first, Status.SUPERSEDED)
    assert move(second, Status.ACTIVE).status == "active"
    with pytest.raises(IdentityTaken):
        restore(first, 1)
    assert Fact.objects.get(pk=first.pk).status == "superseded"


def test_occurrences_share_an_identity(ada):
    claim = {"subject": ada, "predicate": "visited", "value": {"city": "Lyon"}, "form": "event"}
    assert FactFactory(**claim).identity_key == FactFactory(**claim).identity_key


def test_an_interval_does_not_end_before_it_starts(ada):
    fact = FactFactory(subject=ada, valid_from=MARCH)
    with pytest.raises(DomainError) as refused:
        move(fact, Status.SUPERSEDED, changes={"valid_to": JANUARY})
    assert refused.value.code == "invalid_interval"
    assert move(fact, Status.SUPERSEDED, changes={"valid_to": MARCH}).valid_to == MARCH


@pytest.mark.parametrize(
    ("status", "back"),
    [("active", "expired"), ("provisional", "expired"), ("disputed", "expired"), ("candidate", "candidate")],
)
def test_what_expired_meanwhile_comes_back_as_expired(ada, status, back):
    fact = FactFactory(subject=ada, status=status, expires_at=now() - timedelta(days=1))
    move(fact, Status.DISABLED)
    assert restore(fact, 1).status == back


def test_restoring_brings_back_everything_that_may_change(ada):
    fact = FactFactory(subject=ada, predicate="lives_in", value={"city": "Lyon"}, status=Status.CANDIDATE)
    before = {name: getattr(fact, name) for name in lifecycle.MUTABLE}
    move(
        fact,
        Status.ACTIVE,
        changes={
            "value": {"city": "Lyon", "country": "FR"},
            "value_key": "x" * 64,
            "sensitivity": "public",
            "level": "account",
            "valid_to": now(),
            "revalidate_after": now(),
            "volatility": "slow",
        },
    )
    assert {name: getattr(restore(fact, 1), name) for name in lifecycle.MUTABLE} == before
