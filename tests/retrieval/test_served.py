"""Who was told about somebody: found from traces, bounded, with nothing of what was asked."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection

from facts import embedding
from facts.ids import new_id
from facts.models import Account, Fact
from facts.vocabulary import Sensitivity
from governance.access import Principal
from governance.models import Role
from retrieval import served
from retrieval.context.assembly import ContextRequest, assemble
from retrieval.models import Trace
from tests.api import signed_in
from tests.factories import FactFactory, SubjectFactory, maker_of, person_in


@pytest.fixture(autouse=True)
def _without_vectors(settings) -> None:
    settings.SEARCH_THREADS = 0
    embedding.register(None)


@pytest.fixture
def ada(account: Account) -> Principal:
    """A person who reads in ``/support``."""
    return person_in(account, role=Role.READER, path="/support")


def shared_fact(ada: Principal, statement: str = "Ada leads the tea circle.", **fields) -> Fact:
    return FactFactory(subject=maker_of(ada).subject, statement=statement, sensitivity=Sensitivity.INTERNAL, **fields)


def read(principal: Principal, query: str, *, about: str, purpose: str = "test") -> uuid.UUID:
    asked = ContextRequest(scope_path="/support", exact=True, subject_key=about, query=query, purpose=purpose)
    return assemble(principal=principal, request=asked).trace_id


def trace_of(account: Account, *facts: Fact, subject=None, reason: str = "top_score", passages=()) -> Trace:
    """Write a trace as reading leaves it."""
    decisions = [["fact", str(fact.pk), reason, 1] for fact in facts]
    decisions += [["passage", str(pk), reason, None] for pk in passages]
    return Trace.objects.create(
        id=new_id(), account=account, scope_path="/support", subject=subject, reader_posture="peer",
        credential_id=uuid.uuid4(), credential_name="app", query="quagmirezeta?", purpose="", budget=900,
        budget_unit="tokens", question_time="2025-03-10T00:00Z", profile="context", ranker="1", decisions=decisions,
        considered=len(decisions), facts_served=len(facts), passages_served=len(passages), withheld=0, tokens=1,
        status="ok", duration_ms=1.0,
    )  # fmt: skip


def test_a_read_tells_who_asked_for_whom_and_what_was_told(account, ada):
    fact = shared_fact(ada)
    bob = person_in(account, role=Role.READER)
    trace_id = read(bob, "Who leads the tea circle?", about=maker_of(ada).subject.key, purpose="onboarding")
    page = served.reads_of(ada)
    (found,) = page.reads
    assert (found.trace_id, found.by, found.purpose, found.scope) == (trace_id, bob.name, "onboarding", "/support")
    assert (found.reader, found.is_reader) == (maker_of(bob).subject.display_name, False)
    assert found.facts == (fact.pk,)
    assert page.before is None


def test_reads_about_nobody_or_others_count_when_they_told_something(account, ada):
    fact, other = shared_fact(ada), FactFactory(subject=SubjectFactory(account=account))
    told = trace_of(account, fact, other)
    about_other = trace_of(account, other, fact, subject=other.subject)
    trace_of(account, other)
    trace_of(account, fact, reason="over_budget")
    passage = fact.evidence.get().passage_id
    heard = trace_of(account, passages=[passage])
    found = served.reads_of(ada).reads
    assert [one.trace_id for one in found] == [heard.pk, about_other.pk, told.pk]
    assert [one.facts for one in found] == [(), (fact.pk,), (fact.pk,)]
    assert found[0].passages == (passage,)


def test_one_fact_is_asked_about_alone(account, ada):
    first, second = shared_fact(ada), shared_fact(ada, "Ada sings.")
    trace_of(account, second)
    both = trace_of(account, first, second)
    assert [one.trace_id for one in served.reads_of(ada, fact_id=first.pk).reads] == [both.pk]
    theirs = FactFactory(subject=SubjectFactory(account=account))
    trace_of(account, theirs)
    assert served.reads_of(ada, fact_id=theirs.pk).reads == ()


def test_pages_are_bounded_and_together_complete(account, ada, monkeypatch):
    monkeypatch.setattr(served, "PAGE", 3)
    monkeypatch.setattr(served, "OTHERS_LOOKED_THROUGH", 4)
    fact, other = shared_fact(ada), FactFactory(subject=SubjectFactory(account=account))
    told = []
    for number in range(20):
        about = maker_of(ada).subject if number % 3 == 0 else None
        one = trace_of(account, fact if number % 2 == 0 else other, subject=about)
        told += [one.pk] if number % 2 == 0 else []
    found, before = [], None
    for _ in range(20):
        page = served.reads_of(ada, before=before)
        assert len(page.reads) <= 4
        found += [one.trace_id for one in page.reads]
        before = page.before
        if before is None:
            break
    assert found == told[::-1]


def test_where_one_may_not_read_is_not_told(account, ada):
    fact = shared_fact(ada)
    trace = trace_of(account, fact)
    Trace.objects.filter(pk=trace.pk).update(scope_path="/board/secret")
    assert [one.scope for one in served.reads_of(ada).reads] == [""]


def test_the_walk_goes_down_indexes(account, ada):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    values = {
        "account": account.id, "subject": ada.subject_id, "before": uuid.UUID(int=2**128 - 1), "page": served.PAGE,
        "others": served.OTHERS_LOOKED_THROUGH, "fact": "fact", "passage": "passage", "served": ["top_score"],
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (COSTS OFF) " + served._READS, values)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Seq Scan on retrieval_trace" not in plan, plan
    assert plan.count("Limit") >= 2, plan


def test_the_api_tells_people_and_never_what_was_asked(account, ada):
    fact = shared_fact(ada)
    trace_of(account, fact)
    caller = signed_in(maker_of(ada))
    answer = caller.get("/v1/self/served")
    assert [one["fact_ids"] for one in answer.json()["reads"]] == [[str(fact.pk)]]
    assert "quagmirezeta" not in answer.content.decode()
    assert caller.get("/v1/self/served", cursor="nonsense").status_code == 422
