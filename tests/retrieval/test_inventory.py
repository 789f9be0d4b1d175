"""Projects and the graph of facts: what the reader may see, and nothing else."""

from __future__ import annotations

from facts.ids import new_id
from facts.models import Account, Relation
from facts.vocabulary import Level, RelationKind, Sensitivity, Status, SubjectKind
from governance.access import Right
from tests.api import caller_with_key, problem
from tests.factories import FactFactory, ScopeFactory, SubjectFactory

RIGHTS = [Right.READ, Right.READ_FOR_OTHERS]


def test_projects_count_what_the_reader_may_see(account: Account) -> None:
    client = SubjectFactory(account=account, key="acme", kind=SubjectKind.CLIENT)
    ana = SubjectFactory(account=account, key="ana")
    empty = ScopeFactory(account=account, path="/empty")
    FactFactory(subject=client, level=Level.SCOPE, sensitivity=Sensitivity.PUBLIC, statement="Acme is a company.")
    FactFactory(subject=ana, statement="Ana likes tea.")
    FactFactory(subject=ana, statement="Ana liked milk.", status=Status.SUPERSEDED)
    caller = caller_with_key(account, rights=RIGHTS)

    def figures(**reader: str) -> dict[str, tuple[int, int]]:
        listed = caller.get("/v1/projects", **reader).json()["projects"]
        return {row["project_id"]: (row["active_facts"], row["subjects"]) for row in listed}

    assert figures() == {"/": (0, 0), "empty": (0, 0), "support": (1, 1)}
    assert figures(peer_key="ana") == {"/": (0, 0), "empty": (0, 0), "support": (2, 2)}
    confined = caller_with_key(account, rights=RIGHTS, scope_limit=empty)
    assert [row["project_id"] for row in confined.get("/v1/projects").json()["projects"]] == ["empty"]


def test_the_graph_shows_facts_with_what_they_are_about_and_rest_on(account: Account) -> None:
    ana, ben = (SubjectFactory(account=account, key=key) for key in ("ana", "ben"))
    old = FactFactory(subject=ana, statement="Ana liked milk.", status=Status.SUPERSEDED)
    new = FactFactory(subject=ana, statement="Ana likes tea.")
    hidden = FactFactory(subject=ben, statement="Ben is ill.")
    for target in (old, hidden):
        Relation.objects.create(id=new_id(), account=account, source=new, target=target, kind=RelationKind.SUPERSEDES)
    caller = caller_with_key(account, rights=RIGHTS)
    body = caller.get("/v1/graph", peer_key="ana").json()
    kinds = {(node["kind"], node["label"]) for node in body["nodes"] if node["kind"] != "event"}
    assert kinds == {("subject", "ana"), ("fact", "Ana liked milk."), ("fact", "Ana likes tea.")}
    edges = {(edge["kind"], edge["source"], edge["target"]) for edge in body["edges"]}
    assert ("supersedes", str(new.pk), str(old.pk)) in edges
    assert ("has_fact", str(ana.pk), str(new.pk)) in edges
    assert str(hidden.pk) not in str(body)
    assert len([edge for edge in body["edges"] if edge["kind"] == "derived_from"]) == 2
    assert not body["truncated"]
    cut = caller.get("/v1/graph", peer_key="ana", limit=1).json()
    assert cut["truncated"]
    assert [node["label"] for node in cut["nodes"] if node["kind"] == "fact"] == ["Ana likes tea."]
    assert caller.get("/v1/graph").json() == {"nodes": [], "edges": [], "truncated": False}
    assert caller.get("/v1/graph", subject_id="nobody", peer_key="ana").json()["nodes"] == []
    assert problem(caller.get("/v1/graph", limit=501))[:2] == (422, "invalid_payload")
