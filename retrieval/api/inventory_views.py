"""What there is, over HTTP: projects, and the graph of facts."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.audience import Reader
from facts.models import Subject
from facts.tenancy import account_transaction
from governance.access import (
    Principal,
    Right,
    all_readable_scopes,
    readable_scopes,
    require_right,
    resolve_reader,
)
from governance.fields import ReaderFields, ScopeFields, project_id_of
from governance.http import principal_of, query_of, subject_named
from retrieval import inventory
from retrieval.inventory import GRAPH_FACTS, MAX_GRAPH_FACTS, Graph


class ProjectsQuery(ReaderFields):
    """As whom to look."""


class GraphQuery(ScopeFields, ReaderFields):
    """Whose graph: of the named scope, else of all that may be read; of the named subject, else of all."""

    scope_required = False

    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_GRAPH_FACTS, default=GRAPH_FACTS)


class ProjectShape(serializers.Serializer):
    """A scope, and what of it you may see."""

    project_id = serializers.CharField()
    scope = serializers.CharField()
    active_facts = serializers.IntegerField()
    subjects = serializers.IntegerField(help_text="Whom those facts are about.")


class ProjectShapes(serializers.Serializer):
    """The scopes that the caller reads."""

    projects = ProjectShape(many=True)


class GraphNode(serializers.Serializer):
    """A subject, a fact or an event."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=["subject", "fact", "event"])
    label = serializers.CharField(help_text="Empty for an event.")
    status = serializers.CharField(allow_null=True, help_text="Of a fact.")


class GraphEdge(serializers.Serializer):
    """An edge from one node to another."""

    source = serializers.CharField()
    target = serializers.CharField()
    kind = serializers.CharField(help_text="`has_fact`, `derived_from` an event, or the relation between two facts.")


class GraphShape(serializers.Serializer):
    """A graph of facts that you may see."""

    nodes = GraphNode(many=True)
    edges = GraphEdge(many=True)
    truncated = serializers.BooleanField(help_text="There are more facts than `limit`.")


class ProjectsView(APIView):
    """The scopes of an account."""

    @extend_schema(
        operation_id="projects_list",
        summary="List projects",
        description="The scopes that the caller may read, with the facts that hold there and that it may see.",
        tags=["statistics"],
        parameters=[ProjectsQuery],
        responses=ProjectShapes,
    )
    def get(self, request: Request) -> Response:
        """List them."""
        principal = principal_of(request)
        values = query_of(request, ProjectsQuery)
        with account_transaction(principal.account_id):
            _, reader = _reader(principal, values)
            found = inventory.projects(principal, reader, all_readable_scopes(principal))
        return Response(
            {
                "projects": [
                    {
                        "project_id": project_id_of(project.path),
                        "scope": project.path,
                        "active_facts": project.active_facts,
                        "subjects": project.subjects,
                    }
                    for project in found
                ]
            }
        )


class GraphView(APIView):
    """Facts with what they are about and what they rest on."""

    @extend_schema(
        operation_id="graph_retrieve",
        summary="Get the graph of facts",
        description=f"The newest facts that hold or were superseded, at most {MAX_GRAPH_FACTS}, with their subjects, "
        "the events behind them and the relations among them, as far as the reader may see each.",
        tags=["statistics"],
        parameters=[GraphQuery],
        responses=GraphShape,
    )
    def get(self, request: Request) -> Response:
        """Show it."""
        principal = principal_of(request)
        values = query_of(request, GraphQuery)
        with account_transaction(principal.account_id):
            named = values["call_scope"]
            scopes = (
                readable_scopes(principal, named.path, exact=named.exact) if named else all_readable_scopes(principal)
            )
            subject, reader = _reader(principal, values)
            if values["subject_key"] and subject is None:
                scopes = []
            found = inventory.graph(
                principal, reader, scopes, subject_id=subject.pk if subject else None, limit=values["limit"]
            )
            return Response(_shown(found))


def _reader(principal: Principal, values: dict[str, Any]) -> tuple[Subject | None, Reader]:
    require_right(principal, Right.READ)
    subject = subject_named(principal, values["subject_key"])
    return subject, resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)


def _shown(found: Graph) -> dict[str, Any]:
    subjects = {fact.subject_id: fact.subject for fact in found.facts}
    events = dict.fromkeys(event_id for listed in found.events.values() for event_id in listed)
    nodes = [
        *({"id": key, "kind": "subject", "label": subject.key, "status": None} for key, subject in subjects.items()),
        *({"id": fact.pk, "kind": "fact", "label": fact.statement, "status": fact.status} for fact in found.facts),
        *({"id": event_id, "kind": "event", "label": "", "status": None} for event_id in events),
    ]
    edges = [
        *({"source": fact.subject_id, "target": fact.pk, "kind": "has_fact"} for fact in found.facts),
        *(
            {"source": fact_id, "target": event_id, "kind": "derived_from"}
            for fact_id, listed in found.events.items()
            for event_id in listed
        ),
        *({"source": row.source_id, "target": row.target_id, "kind": row.kind} for row in found.relations),
    ]
    return {"nodes": nodes, "edges": edges, "truncated": found.truncated}
