from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection

from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import Account, Subject
from retrieval.cards import serving
from retrieval.models import Card, CardKind
from retrieval.visibility import Visibility
from tests.factories import ScopeFactory


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def test_cards_are_found_by_their_whole_key_also_among_many_sessions(account: Account, ana: Subject) -> None:
    scope = ScopeFactory(account=account)
    Card.objects.bulk_create(
        Card(
            account=account,
            scope=scope,
            subject=subject,
            kind=CardKind.SESSION_SUMMARY,
            key=f"s-{number}",
            sensitivity="internal",
            builder="extractive-2",
        )
        for number in range(200)
        for subject in (ana, None)
    )
    reader = Reader(posture=Posture.PEER, subject_id=ana.id)
    visible = Visibility(
        account_id=account.id, scope_ids=(scope.id,), subject_id=None, reader=reader, at=now(), now=now()
    )
    sent: list[tuple[str, Any]] = []

    def noted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(noted):
        found = serving._stored(visible, "s-7", serving.ORDER)
    assert [(card.key, card.subject_id) for card in found] == [("s-7", ana.id), ("s-7", None)]
    [(sql, params)] = sent
    with connection.cursor() as cursor:
        # A small table is read as a whole whatever indexes there are; what is asked is how the index can be used.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
    scans = [
        node
        for node in _nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
        if "Scan" in node["Node Type"]
    ]
    assert {node["Index Name"] for node in scans} == {"card_once"}
    assert len(scans) == 5
    for column in ("account_id", "scope_id", "subject_id", "kind"):
        assert all(column in node["Index Cond"] for node in scans)
    assert ["s-7" in node["Index Cond"] for node in scans] == [True, True, False, False, False]
