from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts.audience import Posture, Reader
from facts.clock import now
from facts.errors import NotFound
from facts.models import Account, Event, Fact, Passage, Relation, Subject
from facts.models.evidence import Withheld
from facts.tenancy import ensure_scope
from facts.vocabulary import RelationKind, Sensitivity, SourceType, Status, Volatility
from governance.access import Right
from retrieval.lineage import Bounds, Lineage, Node, facts_of, lineage
from retrieval.lineage_queries import NodeKey, NodeType, Reference, ReferenceStatus, Sight
from retrieval.visibility import Visibility
from tests.api import Caller, caller_with_key, problem
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    entered,
    say,
    submit,
    unknown_id,
)

Row = Fact | Event | Passage


@pytest.fixture
def caller(account: Account) -> Caller:
    return caller_with_key(account)


@pytest.fixture
def walk(account: Account, ana: Subject) -> Callable[..., Lineage]:
    """Walk from a row as Ana, in ``/support`` and above; what differs can be given."""

    def made(
        target: Row,
        *,
        reader: Reader | None = None,
        paths: tuple[str, ...] = ("/support", "/"),
        as_of: Any = None,
        known_at: Any = None,
        **bounds: int,
    ) -> Lineage:
        moment = now()
        visible = Visibility(
            account_id=account.id,
            scope_ids=tuple(ensure_scope(account.id, path).id for path in paths),
            subject_id=None,
            reader=reader or Reader(posture=Posture.PEER, subject_id=ana.id),
            at=as_of or known_at or moment,
            now=moment,
        )
        sight = Sight(visible=visible, past=bool(as_of or known_at), known_at=known_at)
        return lineage(target=key(target), sight=sight, bounds=Bounds(**bounds))

    return made


def key(row: Row) -> NodeKey:
    return NodeKey(NodeType(type(row).__name__.lower()), row.id)


def relate(source: Fact, kind: str, target: Fact) -> None:
    Relation.objects.create(account=source.account, source=source, target=target, kind=kind)


def quoted(fact: Fact) -> tuple[Passage, Event]:
    evidence = fact.evidence.get()
    return evidence.passage, evidence.event


def seen(relation: str, row: Row) -> Reference:
    return Reference(status=ReferenceStatus.VISIBLE, relation=relation, key=key(row))


def ends(found: Lineage) -> dict[str, int]:
    return {cause: number for cause, number in found.terminations.items() if number}


def test_a_deduction_goes_back_to_what_was_said(ana: Subject, walk: Callable[..., Lineage]) -> None:
    premise = FactFactory(subject=ana, statement="Ana lives in Lyon.")
    deduced = FactFactory(subject=ana, statement="Ana lives in France.")
    relate(deduced, RelationKind.DERIVED_FROM, premise)
    passage, event = quoted(premise)
    own_passage, own_event = quoted(deduced)
    found = walk(deduced)
    assert list(found.nodes) == [
        Node(
            key=key(deduced),
            traversal_depth=0,
            operation="derived",
            derivation_level=2,
            source_references=(seen("derived_from", premise), seen("evidence", own_passage)),
        ),
        Node(
            key=key(premise),
            traversal_depth=1,
            operation="extracted",
            derivation_level=1,
            source_references=(seen("evidence", passage),),
        ),
        Node(
            key=key(own_passage),
            traversal_depth=1,
            operation="excerpted",
            source_references=(seen("slice_of", own_event),),
        ),
        Node(key=key(passage), traversal_depth=2, operation="excerpted", source_references=(seen("slice_of", event),)),
        Node(key=key(own_event), traversal_depth=2, operation="observed"),
        Node(key=key(event), traversal_depth=3, operation="observed"),
    ]
    assert (ends(found), found.truncated) == ({}, False)
    assert facts_of(found) == [deduced.id, premise.id]


def test_the_endpoint_answers_in_the_contract(ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, statement="Ana lives in Lyon.")
    passage, event = quoted(fact)
    body = caller.post("/v1/lineage", {"target_id": fact.id, "subject_id": "ana", "scope": "/support"}).json()
    assert body == {
        "contract": "evidence-lineage-v1",
        "target_id": str(fact.id),
        "target_type": "fact",
        "nodes": [
            {
                "id": str(fact.id),
                "type": "fact",
                "derivation_level": 1,
                "operation": "extracted",
                "traversal_depth": 0,
                "source_references": [
                    {"status": "visible", "relation": "evidence", "type": "passage", "id": str(passage.id)}
                ],
                "derived_references": [],
            },
            {
                "id": str(passage.id),
                "type": "passage",
                "derivation_level": 0,
                "operation": "excerpted",
                "traversal_depth": 1,
                "source_references": [
                    {"status": "visible", "relation": "slice_of", "type": "event", "id": str(event.id)}
                ],
                "derived_references": [],
            },
            {
                "id": str(event.id),
                "type": "event",
                "derivation_level": 0,
                "operation": "observed",
                "traversal_depth": 2,
                "source_references": [],
                "derived_references": [],
            },
        ],
        "terminations": {
            "depth": 0, "fan_out": 0, "nodes": 0, "cycle": 0,
            "missing": 0, "lifecycle_hidden": 0, "authorization_hidden": 0,
        },
        "truncated": False,
        "bounds": {"max_depth": 3, "max_fan_out": 8, "max_nodes": 40},
        "reader_posture": "peer",
    }  # fmt: skip
    assert caller.post("/v1/lineage", {"target_id": fact.id, "subject_id": "ana"}).json() == body


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        (RelationKind.PROMOTED_FROM, "promoted"),
        (RelationKind.SUPERSEDES, "superseding"),
        (RelationKind.CONTRADICTS, "extracted"),
    ],
)
def test_typed_relations_are_followed(ana: Subject, walk: Callable[..., Lineage], kind: str, operation: str) -> None:
    fact, other = FactFactory(subject=ana), FactFactory(subject=ana)
    relate(fact, kind, other)
    found = walk(fact)
    assert seen(kind, other) in found.nodes[0].source_references
    assert (found.nodes[0].operation, found.nodes[0].derivation_level) == (operation, 1)
    assert facts_of(found) == [fact.id, other.id]


def test_support_and_contradiction_are_read_from_their_other_end(ana: Subject, walk: Callable[..., Lineage]) -> None:
    fact, support, opposed, later = (FactFactory(subject=ana) for _ in range(4))
    relate(support, RelationKind.SUPPORTS, fact)
    relate(opposed, RelationKind.CONTRADICTS, fact)
    relate(later, RelationKind.DERIVED_FROM, fact)
    assert facts_of(walk(fact, max_depth=1)) == [fact.id, opposed.id, support.id]
    assert facts_of(walk(support)) == [support.id]


def test_what_was_entered_by_hand_says_so(ana: Subject, walk: Callable[..., Lineage]) -> None:
    fact = FactFactory(subject=ana)
    Event.objects.filter(evidence__fact=fact).update(source_type=SourceType.ADMIN_INPUT)
    assert walk(fact).nodes[0].operation == "entered"


def test_an_event_leads_to_the_facts_that_cite_it(ana: Subject, walk: Callable[..., Lineage]) -> None:
    event = say(ana, "I live in Lyon and like tea.")
    home = FactFactory(subject=ana, event=event)
    tea = FactFactory(subject=ana, event=event)
    found = walk(event)
    assert found.nodes[0].derived_references == (seen("cited_by", home), seen("cited_by", tea))
    assert [node.key for node in found.nodes] == [key(row) for row in (event, home, tea, event.passages.get())]
    assert ends(found) == {}
    passage = walk(event.passages.get())
    assert [node.key for node in passage.nodes] == [key(row) for row in (event.passages.get(), event, home, tea)]
    assert ends(passage) == {}


def test_a_circle_ends_where_it_began(ana: Subject, walk: Callable[..., Lineage]) -> None:
    first, second, third = (FactFactory(subject=ana) for _ in range(3))
    for source, target in ((first, second), (second, third), (third, first)):
        relate(source, RelationKind.DERIVED_FROM, target)
    found = walk(first, max_depth=8)
    assert facts_of(found) == [first.id, second.id, third.id]
    assert (ends(found), found.truncated) == ({"cycle": 1}, False)
    assert [node.derivation_level for node in found.nodes if node.key.type is NodeType.FACT] == [4, 3, 2]


def test_two_ways_to_one_source_are_no_circle(ana: Subject, walk: Callable[..., Lineage]) -> None:
    top, left, right, base = (FactFactory(subject=ana) for _ in range(4))
    for source, target in ((top, left), (top, right), (left, base), (right, base)):
        relate(source, RelationKind.DERIVED_FROM, target)
    found = walk(top, max_depth=8)
    assert facts_of(found) == [top.id, left.id, right.id, base.id]
    assert ends(found) == {}


def test_each_budget_binds_and_is_reported(ana: Subject, walk: Callable[..., Lineage]) -> None:
    top = FactFactory(subject=ana)
    for _ in range(4):
        relate(top, RelationKind.DERIVED_FROM, FactFactory(subject=ana))
    nothing = walk(top, max_depth=0)
    assert (len(nothing.nodes), ends(nothing), nothing.truncated) == (1, {"depth": 5}, True)
    assert len(nothing.nodes[0].source_references) == 5
    narrow = walk(top, max_depth=1, max_fan_out=3)
    assert (facts_of(narrow)[1:], ends(narrow)) == (
        [reference.key.id for reference in narrow.nodes[0].source_references],
        {"fan_out": 2, "depth": 3},
    )
    few = walk(top, max_nodes=3)
    assert (len(few.nodes), ends(few), few.truncated) == (3, {"nodes": 5}, True)
    whole = walk(top, max_depth=8, max_nodes=16)
    assert (len(whole.nodes), ends(whole), whole.truncated) == (15, {}, False)


def _elsewhere(source: Fact) -> dict[str, Any]:
    return {"scope": ensure_scope(source.account_id, "/sales")}


def _of_bob(source: Fact) -> dict[str, Any]:
    return {"subject": SubjectFactory(account=source.account)}


def _proposed_of_bob(source: Fact) -> dict[str, Any]:
    return {**_of_bob(source), "status": Status.PROVISIONAL, "sensitivity": Sensitivity.PUBLIC}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        (_elsewhere, "authorization_hidden"),
        (_of_bob, "authorization_hidden"),
        (lambda source: {**_of_bob(source), "status": Status.DELETED}, "authorization_hidden"),
        (
            lambda source: {**_of_bob(source), "status": Status.PROVISIONAL, "sensitivity": "public"},
            "authorization_hidden",
        ),
        (lambda source: {"status": Status.SUPERSEDED}, "lifecycle_hidden"),
        (lambda source: {"status": Status.DISABLED}, "lifecycle_hidden"),
        (lambda source: {"status": Status.CANDIDATE}, "lifecycle_hidden"),
        (lambda source: {"expires_at": now() - timedelta(seconds=1)}, "lifecycle_hidden"),
        (lambda source: {"valid_to": now() - timedelta(seconds=1)}, "lifecycle_hidden"),
        (lambda source: {"volatility": Volatility.VOLATILE}, "lifecycle_hidden"),
        (lambda source: {"volatility": Volatility.EPHEMERAL}, "lifecycle_hidden"),
        (lambda source: {"status": Status.DELETED}, "missing"),
    ],
)
def test_hidden_sources_are_opaque(
    ana: Subject, walk: Callable[..., Lineage], changes: Callable[[Fact], dict[str, Any]], status: str
) -> None:
    deduced = FactFactory(subject=ana)
    premise = FactFactory(**{"subject": ana, **changes(deduced)})
    relate(deduced, RelationKind.DERIVED_FROM, premise)
    found = walk(deduced)
    passage, event = quoted(deduced)
    assert found.nodes[0].source_references == (
        seen("evidence", passage),
        Reference(status=ReferenceStatus(status)),
    )
    assert (ends(found), found.truncated) == ({status: 1}, False)
    assert [node.key for node in found.nodes] == [key(row) for row in (deduced, passage, event)]
    with pytest.raises(NotFound) as hidden:
        walk(premise)
    with pytest.raises(NotFound) as absent:
        walk(Fact(id=unknown_id()))
    assert (hidden.value.code, hidden.value.message) == (absent.value.code, absent.value.message)


@pytest.mark.parametrize("volatility", [Volatility.SLOW, Volatility.STABLE])
def test_what_only_ages_slowly_is_shown(ana: Subject, walk: Callable[..., Lineage], volatility: str) -> None:
    old = FactFactory(subject=ana, volatility=volatility, valid_from=JANUARY - timedelta(days=2_000))
    assert walk(old).nodes[0].key == key(old)


def test_stale_facts_are_shown_where_they_are_served(ana: Subject, walk: Callable[..., Lineage], settings: Any) -> None:
    settings.SERVE_STALE_FACTS = True
    old = FactFactory(subject=ana, volatility=Volatility.EPHEMERAL)
    assert walk(old).nodes[0].key == key(old)


def test_a_conflict_withholds_its_members_and_what_was_said(ana: Subject, walk: Callable[..., Lineage]) -> None:
    lyon = submit(ana, {"value": "Lyon"}, predicate="home_city").fact_id
    event = Fact.objects.get(pk=lyon).evidence.get().event
    assert facts_of(walk(Fact(id=lyon))) == [lyon]
    submit(ana, {"value": "Nice"}, predicate="home_city", at=MAY)
    for row in (Fact(id=lyon), event, event.passages.get()):
        with pytest.raises(NotFound):
            walk(row)


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda event: Event.objects.filter(pk=event.pk).update(withdrawn_at=now()), "lifecycle_hidden"),
        (lambda event: event.passages.update(withheld=Withheld.FORGOTTEN), "lifecycle_hidden"),
    ],
)
def test_withdrawn_and_forgotten_words_are_opaque(
    ana: Subject, walk: Callable[..., Lineage], spoil: Callable[[Event], Any], status: str
) -> None:
    fact = FactFactory(subject=ana)
    _, event = quoted(fact)
    spoil(event)
    assert walk(fact).nodes[0].source_references == (Reference(status=ReferenceStatus(status)),)
    with pytest.raises(NotFound):
        walk(event)


def test_an_event_is_cited_where_its_passages_are_gone(ana: Subject, walk: Callable[..., Lineage]) -> None:
    fact = FactFactory(subject=ana)
    _, event = quoted(fact)
    event.passages.all().delete()
    assert walk(fact).nodes[0].source_references == (seen("evidence", event),)


def test_an_event_with_a_stricter_passage_is_hidden_as_a_whole(ana: Subject, walk: Callable[..., Lineage]) -> None:
    event = say(ana, "I live in Lyon. I have asthma.", sensitivity=Sensitivity.PUBLIC)
    fact = FactFactory(subject=ana, event=event, sensitivity=Sensitivity.PUBLIC)
    bob = Reader(posture=Posture.PEER, subject_id=SubjectFactory(account=ana.account).id)
    nobody = Reader(posture=Posture.PUBLIC_ONLY)
    for reader in (bob, nobody):
        assert [node.key.type for node in walk(fact, reader=reader).nodes] == ["fact", "passage", "event"]
    FactFactory(subject=ana, event=event, sensitivity=Sensitivity.RESTRICTED)
    for reader in (bob, nobody):
        found = walk(fact, reader=reader)
        assert found.nodes[0].source_references == (Reference(status=ReferenceStatus.AUTHORIZATION_HIDDEN),)
        for row in (event, event.passages.get()):
            with pytest.raises(NotFound):
                walk(row, reader=reader)
    cited = walk(event)
    assert len(cited.nodes[0].derived_references) == 2


def test_an_event_leads_nobody_to_facts_that_are_not_theirs(ana: Subject, walk: Callable[..., Lineage]) -> None:
    event = say(ana, "Bob lives in Lyon.", sensitivity=Sensitivity.PUBLIC)
    bob = SubjectFactory(account=ana.account)
    FactFactory(subject=bob, event=event, scope=ensure_scope(ana.account_id, "/sales"), sensitivity="public")
    found = walk(event)
    assert found.nodes[0].derived_references == (Reference(status=ReferenceStatus.AUTHORIZATION_HIDDEN),)
    assert ends(found) == {"authorization_hidden": 1}


def test_own_provisional_facts_are_for_their_subject(ana: Subject, walk: Callable[..., Lineage]) -> None:
    fact = FactFactory(subject=ana, status=Status.PROVISIONAL, sensitivity=Sensitivity.PUBLIC)
    assert facts_of(walk(fact)) == [fact.id]
    with pytest.raises(NotFound):
        walk(fact, reader=Reader(posture=Posture.PEER, subject_id=SubjectFactory(account=ana.account).id))


def test_the_past_is_asked_by_as_of_and_known_at(ana: Subject, walk: Callable[..., Lineage]) -> None:
    old = FactFactory(subject=ana, valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    new = FactFactory(subject=ana, valid_from=MAY)
    relate(new, RelationKind.SUPERSEDES, old)
    assert facts_of(walk(old, as_of=MARCH)) == [old.id]
    assert ends(walk(new, as_of=JULY)) == {"lifecycle_hidden": 1}
    for row, as_of in ((new, MARCH), (old, JULY)):
        with pytest.raises(NotFound):
            walk(row, as_of=as_of)
    with pytest.raises(NotFound):
        walk(new, known_at=JULY)
    later = walk(new, as_of=JULY, known_at=now())
    assert facts_of(later) == [new.id]
    event = quoted(new)[1]
    with pytest.raises(NotFound):
        walk(event, as_of=MARCH)
    with pytest.raises(NotFound):
        walk(event, as_of=JULY, known_at=JULY)


def test_one_query_a_step_whatever_its_width(ana: Subject, walk: Callable[..., Lineage]) -> None:
    def queries(width: int) -> int:
        top = FactFactory(subject=ana)
        for _ in range(width):
            relate(top, RelationKind.DERIVED_FROM, FactFactory(subject=ana))
        with CaptureQueriesContext(connection) as seen_queries:
            found = walk(top, paths=("/support",), max_fan_out=24)
        assert len(found.nodes) == 3 + 3 * width
        return len(seen_queries)

    # The test's own look-up of the scope, the target, and the steps from fact to fact to passage to event.
    assert queries(1) == queries(8) == 1 + 1 + 4


def test_the_order_is_the_same_every_time(ana: Subject, walk: Callable[..., Lineage]) -> None:
    top = FactFactory(subject=ana)
    for day in (3, 1, 2):
        relate(top, RelationKind.DERIVED_FROM, FactFactory(subject=ana, recorded_from=MARCH + timedelta(days=day)))
    first, second = walk(top), walk(top)
    assert first == second
    recorded = [Fact.objects.get(pk=fact_id).recorded_from.day for fact_id in facts_of(first)[1:]]
    assert recorded == [11, 12, 13]


def test_other_scopes_and_accounts_answer_alike(account: Account, ana: Subject, caller: Caller) -> None:
    fact = FactFactory(subject=ana, sensitivity=Sensitivity.PUBLIC)
    other = AccountFactory()
    with entered(other):
        foreign = caller_with_key(other)
    sales = ensure_scope(account.id, "/sales")
    confined = caller_with_key(account, scope_limit=sales)
    asked = {"target_id": fact.id}
    absent = caller.post("/v1/lineage", {"target_id": unknown_id()})
    for answer in (
        absent,
        foreign.post("/v1/lineage", asked),
        confined.post("/v1/lineage", asked),
        caller.post("/v1/lineage", {**asked, "scope": "/sales"}),
        caller.post("/v1/lineage", {**asked, "scope": "/nowhere"}),
        caller.post("/v1/lineage", {**asked, "target_type": "event"}),
        caller.post("/v1/lineage", {**asked, "target_type": "passage"}),
    ):
        assert problem(answer) == (404, "not_found", "target_id")
        assert answer.json()["detail"] == absent.json()["detail"]
    assert problem(confined.post("/v1/lineage", {**asked, "scope": "/support"})) == (403, "forbidden_scope", "scope")


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"target_id": "no-uuid"}, "target_id"),
        ({"target_id": None}, "target_id"),
        ({"target_type": "knowledge"}, "target_type"),
        ({"max_depth": 9}, "max_depth"),
        ({"max_depth": -1}, "max_depth"),
        ({"max_fan_out": 0}, "max_fan_out"),
        ({"max_fan_out": 25}, "max_fan_out"),
        ({"max_nodes": 101}, "max_nodes"),
        ({"max_nodes": 0}, "max_nodes"),
        ({"as_of": "yesterday"}, "as_of"),
    ],
)
def test_malformed_calls_name_the_field(caller: Caller, bad: dict[str, Any], field: str) -> None:
    status, _, named = problem(caller.post("/v1/lineage", {"target_id": uuid.uuid4(), **bad}))
    assert (status, named) == (422, field)


def test_a_key_needs_to_read(account: Account) -> None:
    deaf = caller_with_key(account, rights=[Right.CAPTURE])
    assert problem(deaf.post("/v1/lineage", {"target_id": unknown_id()})) == (403, "missing_right", None)
