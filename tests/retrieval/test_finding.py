"""Finding reads: every part of what is asked holds, the time is bounded, and so is what is looked through."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection

from facts.clock import now
from facts.ids import lower_bound
from facts.models import Account
from retrieval.models import Trace
from retrieval.traces import finding
from retrieval.traces.finding import Wanted

FACT = uuid.UUID(int=7)


def left(account: Account, *, days: float = 0, **fields) -> Trace:
    """Write a trace as a read of so many days ago leaves it."""
    at = now() - timedelta(days=days)
    made_of = {
        "kind": "context", "scope_path": "/support", "reader_posture": "peer", "credential_id": uuid.uuid4(),
        "credential_name": "app", "query": "tea?", "purpose": "support", "budget": 900, "budget_unit": "tokens",
        "question_time": at, "profile": "context-1", "ranker": "1", "decisions": [], "reasons": {}, "considered": 0,
        "facts_served": 0, "passages_served": 0, "withheld": 0, "tokens": 0, "status": "ok", "duration_ms": 1.0,
    }  # fmt: skip
    made = uuid.UUID(int=lower_bound(at).int + uuid.uuid4().int % 2**70)
    return Trace.objects.create(id=made, account=account, created_at=at, **{**made_of, **fields})


def found(account: Account, **wanted) -> list[Trace]:
    asked = Wanted(**wanted)
    reads = Trace.objects.filter(account_id=account.id)
    return list(finding.among(reads, finding.stretch(account.id, asked), asked).order_by("-pk"))


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({"kind": "search"}, {"kind": "search"}),
        ({"scope": "/sales"}, {"scope_path": "/sales"}),
        ({"scope": "/sales"}, {"scope_path": "/sales/emea"}),
        ({"purpose": "BOARD"}, {"purpose": "for the board"}),
        ({"by": "night"}, {"credential_name": "Night shift"}),
        ({"status": "degraded"}, {"status": "degraded"}),
        ({"served": "facts"}, {"facts_served": 1}),
        ({"served": "withheld"}, {"withheld": 2}),
        ({"empty_reason": "over_budget"}, {"empty_reason": "over_budget"}),
        ({"reason": "conflict_open"}, {"reasons": {"conflict_open": 1}}),
        ({"fact_id": FACT}, {"decisions": [["fact", str(FACT), "over_budget", 1, 3, None, None, 0.5, 0.1, 9]]}),
    ],
)
def test_each_part_of_what_is_wanted_holds(account, wanted, fields):
    other = {"facts_served": 0} if wanted.get("served") != "nothing" else {"facts_served": 1}
    left(account, scope_path="/salesmen", decisions=[["passage", str(FACT), "top_score", None]], **other)
    meant = left(account, **fields)
    assert found(account, **wanted) == [meant]


def test_parts_hold_together(account):
    left(account, purpose="a", status="degraded")
    left(account, purpose="b")
    both = left(account, purpose="b", status="degraded")
    assert found(account, purpose="b", status="degraded") == [both]


def test_a_week_is_looked_at_unless_something_else_is_asked(account):
    old, young = left(account, days=8), left(account, days=6)
    assert found(account) == [young]
    assert found(account, since=now() - timedelta(days=9)) == [young, old]
    assert found(account, until=now() - timedelta(days=7)) == [old]


def test_what_is_cut_off_is_found_further_back(account, monkeypatch):
    monkeypatch.setattr(finding, "LOOKED_THROUGH", 3)
    reads = [left(account, days=number / 10) for number in range(8)]
    seen, before = [], None
    for _ in range(8):
        wanted = Wanted(before=before)
        stretched = finding.stretch(account.id, wanted)
        seen += finding.among(Trace.objects.all(), stretched, wanted).order_by("-pk")
        before = stretched.floor
        if not stretched.is_cut:
            break
    assert seen == reads


def test_a_fact_is_looked_for_in_fewer_reads(account, monkeypatch):
    monkeypatch.setattr(finding, "LOOKED_INTO", 2)
    for number in range(3):
        left(account, days=number)
    assert finding.stretch(account.id, Wanted(fact_id=FACT)).is_cut
    assert not finding.stretch(account.id, Wanted()).is_cut


def test_the_times_of_a_stretch_are_those_of_its_ids(account):
    since = now().replace(microsecond=0) - timedelta(days=3)
    stretched = finding.stretch(account.id, Wanted(since=since, until=since + timedelta(days=1)))
    assert (stretched.since, stretched.until) == (since, since + timedelta(days=1))


def test_both_queries_go_down_an_index_of_the_partitions_of_that_time(account):
    wanted = Wanted(purpose="support", fact_id=FACT)
    stretched = finding.stretch(account.id, wanted)
    reads = Trace.objects.filter(account_id=account.id)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    listed = finding.among(reads, stretched, wanted).order_by("-pk")[:50].explain()
    ids = reads.filter(pk__gte=stretched.floor, pk__lt=stretched.ceiling).order_by("-pk").values("pk")[2000:2001]
    for plan in (listed, ids.explain()):
        assert "Seq Scan" not in plan, plan
        assert "Index Cond: ((account_id = " in plan, plan
        months = {line.split(" on ")[1].split()[0] for line in plan.splitlines() if " on retrieval_trace_" in line}
        present = {f"retrieval_trace_{at:%Y_%m}" for at in (now(), now() - timedelta(days=finding.DAYS))}
        assert months - {"retrieval_trace_default"} <= present, plan
