from __future__ import annotations

import pytest
from django.db import connection

from facts.audience import Posture, Reader
from facts.errors import DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, Scope, Subject
from governance.access import Principal
from governance.models import Role
from retrieval import statistics
from retrieval.models import RetrievalProfile, StoredQuery, Trace
from retrieval.profiles import profile_preview, profile_versions, stored_queries
from retrieval.profiles.shipped import CONTEXT, SEARCH
from retrieval.traces.comparing import Change
from tests.factories import AccountFactory, FactFactory, ScopeFactory, entered, key_principal, person_in, say
from tests.retrieval.conftest import index_vectors

NOBODY = Reader(posture=Posture.PUBLIC_ONLY)


@pytest.fixture
def admin(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def support(account: Account) -> Scope:
    return ScopeFactory(account=account, path="/support")


def _keep(admin: Principal, query: str = "tea", *, path: str = "/support", subject: str = "") -> StoredQuery:
    return stored_queries.add(admin, scope_path=path, subject_key=subject, query=query)


def test_both_answers_side_by_side(account: Account, admin: Principal, ana: Subject, support: Scope) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.", sensitivity="internal")
    say(ana, "We had tea at noon.", sensitivity="internal")
    index_vectors(account)
    _keep(admin)
    (found,) = profile_preview.preview(admin, name="context", scope=support, settings={"passages": 0})
    assert [(row.item.unit, text, row.change) for row, text in found.rows] == [
        ("fact", "Ana likes green tea.", Change.SAME),
        ("passage", "We had tea at noon.", Change.MISSING),
    ]
    assert found.present.profile == CONTEXT.label
    assert found.proposed.profile.startswith(f"{CONTEXT.label}-0-")
    assert not RetrievalProfile.objects.exists()


def test_the_administrator_reads_as_themselves(
    account: Account, admin: Principal, ana: Subject, support: Scope
) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.")
    index_vectors(account)
    _keep(admin, subject="ana")
    (found,) = profile_preview.preview(admin, name="context", scope=support, settings={"top": 5})
    assert (found.rows, found.present.empty_reason) == ([], "no_memory")


def test_a_nearer_override_keeps_its_place(account: Account, admin: Principal, support: Scope) -> None:
    profile_versions.save(admin, name="context", scope=support, settings={"top": 9}, note="x", expected=None)
    _keep(admin)
    (found,) = profile_preview.preview(admin, name="context", scope=None, settings={"top": 5})
    assert found.present.profile == found.proposed.profile
    (found,) = profile_preview.preview(admin, name="context", scope=support, settings=None)
    assert found.present.profile.startswith(f"{CONTEXT.label}-1-")
    assert found.proposed.profile == CONTEXT.label


def test_only_queries_at_and_below_the_scope_are_asked(account: Account, admin: Principal, support: Scope) -> None:
    ScopeFactory(account=account, path="/support/emea")
    ScopeFactory(account=account, path="/supporters")
    for path in ("/", "/support", "/support/emea", "/supporters"):
        _keep(admin, path, path=path)
    asked = profile_preview.preview(admin, name="context", scope=support, settings={"top": 5})
    assert [row.query.query for row in asked] == ["/support/emea", "/support"]
    assert len(profile_preview.preview(admin, name="context", scope=None, settings={"top": 5})) == 4


def test_a_preview_enters_no_figures_and_leaves_the_transaction_its_time(
    account: Account, admin: Principal, support: Scope
) -> None:
    _keep(admin)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '7s'")
    (found,) = profile_preview.preview(admin, name="context", scope=support, settings={"top": 5})
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("7s",)
    assert set(Trace.objects.values_list("id", "kind")) == {
        (found.present.trace_id, "preview"),
        (found.proposed.trace_id, "preview"),
    }
    total = statistics.overview(account_id=account.id, scopes=[support], reader=NOBODY).total
    assert (total.calls, total.injection_rate) == (0, None)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"scope_path": "/nowhere"}, "unknown_scope"),
        ({"query": " \x00 "}, "empty_query"),
        ({"query": "x" * 8_001}, "query_too_long"),
        ({"subject_key": "x" * 201}, "invalid_subject"),
        ({"subject_key": "a\x00b"}, "invalid_subject"),
    ],
)
def test_what_is_no_stored_query(admin: Principal, support: Scope, changes: dict[str, str], code: str) -> None:
    with pytest.raises(DomainError) as refused:
        stored_queries.add(admin, **{"scope_path": "/support", "subject_key": "", "query": "tea", **changes})
    assert refused.value.code == code
    assert not StoredQuery.objects.exists()


def test_an_account_keeps_a_bounded_number(admin: Principal, support: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_queries, "MOST_QUERIES", 1)
    _keep(admin)
    with pytest.raises(DomainError) as refused:
        _keep(admin, "coffee")
    assert (refused.value.code, refused.value.status) == ("too_many_queries", 409)


def test_queries_come_and_go_in_the_audit_chain(account: Account, admin: Principal, support: Scope) -> None:
    kept = _keep(admin, "Where does Ana live?")
    other = AccountFactory()
    with entered(other):
        stranger = person_in(other, role=Role.ACCOUNT_ADMIN)
        with pytest.raises(NotFound):
            stored_queries.remove(stranger, kept.pk)
    stored_queries.remove(admin, kept.pk)
    entries = list(AuditEntry.objects.filter(object_type="stored_query").order_by("seq"))
    assert [entry.action for entry in entries] == ["stored_query.added", "stored_query.removed"]
    assert "Ana" not in str([entry.metadata for entry in entries])
    with pytest.raises(NotFound) as refused:
        stored_queries.remove(admin, kept.pk)
    assert refused.value.code == "stored_query_not_found"


def test_only_an_administrator_keeps_queries_and_looks(account: Account, admin: Principal, support: Scope) -> None:
    kept = _keep(admin)
    for who in (person_in(account, role=Role.CURATOR), key_principal(account)):
        with pytest.raises(Refused):
            _keep(who)
        with pytest.raises(Refused):
            stored_queries.remove(who, kept.pk)
        with pytest.raises(Refused):
            profile_preview.preview(who, name="context", scope=None, settings={})


def test_a_search_profile_is_looked_at_as_well(
    account: Account, admin: Principal, ana: Subject, support: Scope
) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.", sensitivity="internal")
    index_vectors(account)
    _keep(admin, "green tea")
    settings = {"weights.lexical": 0, "weights.semantic": 1}
    (found,) = profile_preview.preview(admin, name="balanced", scope=support, settings=settings)
    assert found.present.profile == SEARCH["balanced"].label
    assert found.proposed.profile.startswith(f"{SEARCH['balanced'].label}-0-")
    assert [(text, row.change) for row, text in found.rows if row.item.unit == "fact"] == [
        ("Ana likes green tea.", Change.SAME)
    ]
    proposed = Trace.objects.get(pk=found.proposed.trace_id)
    assert proposed.kind == "preview"
    assert "lexical" not in proposed.strategies
