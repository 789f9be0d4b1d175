"""The endpoint of lineage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.audience import Reader
from facts.clock import now
from facts.models import Scope
from facts.tenancy import account_transaction
from governance.access import Principal, Right, all_readable_scopes, require_right, resolve_reader
from governance.fields import InstantField, ReaderFields, ScopeFields
from governance.http import body_of, principal_of, subject_named
from retrieval import places
from retrieval.lineage import CAUSES, CONTRACT, Bounds, Lineage, Node, lineage
from retrieval.lineage_queries import NodeKey, NodeType, Reference, ReferenceStatus, Sight
from retrieval.places import Asked
from retrieval.visibility import Visibility

_TYPES = [kind.value for kind in NodeType]


class LineageCall(ScopeFields, ReaderFields):
    """A target and how far to go from it."""

    scope_required = False

    target_id = serializers.UUIDField()
    target_type = serializers.ChoiceField(choices=_TYPES, default=NodeType.FACT.value)
    max_depth = serializers.IntegerField(required=False, min_value=0, max_value=8, default=3)
    max_fan_out = serializers.IntegerField(required=False, min_value=1, max_value=24, default=8)
    max_nodes = serializers.IntegerField(required=False, min_value=1, max_value=100, default=40)
    as_of = InstantField(required=False, allow_null=True, help_text="What was true then.")
    known_at = InstantField(required=False, allow_null=True, help_text="What was believed then.")


class ReferenceShape(serializers.Serializer):
    """What a node refers to. What is not visible has neither id nor type nor relation."""

    status = serializers.ChoiceField(choices=[status.value for status in ReferenceStatus])
    relation = serializers.CharField(required=False)
    type = serializers.ChoiceField(choices=_TYPES, required=False)
    id = serializers.UUIDField(required=False)


class NodeShape(serializers.Serializer):
    """One thing of the lineage."""

    id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=_TYPES)
    derivation_level = serializers.IntegerField(help_text="0: observed; 1: read out of it; more: deduced.")
    operation = serializers.ChoiceField(
        choices=["observed", "excerpted", "extracted", "entered", "derived", "promoted", "superseding"]
    )
    traversal_depth = serializers.IntegerField()
    source_references = ReferenceShape(many=True)
    derived_references = ReferenceShape(many=True, help_text="Facts that cite the target, when it is a source.")


class BoundsShape(serializers.Serializer):
    """How far the walk went."""

    max_depth = serializers.IntegerField()
    max_fan_out = serializers.IntegerField()
    max_nodes = serializers.IntegerField()


class TerminationsShape(serializers.Serializer):
    """How often the walk ended for each cause."""

    locals().update({cause: serializers.IntegerField() for cause in CAUSES})


class LineageShape(serializers.Serializer):
    """A bounded graph; nodes in the order in which they were reached."""

    contract = serializers.CharField()
    target_id = serializers.UUIDField()
    target_type = serializers.ChoiceField(choices=_TYPES)
    nodes = NodeShape(many=True)
    terminations = TerminationsShape()
    truncated = serializers.BooleanField(help_text="A bound cut something off.")
    bounds = BoundsShape()
    reader_posture = serializers.ChoiceField(choices=["peer", "public_only"])


class LineageView(APIView):
    """What rests on what."""

    @extend_schema(
        operation_id="lineage_create",
        summary="Get the lineage of a fact, event or passage",
        description="Walks evidence and typed relations from the target, within bounds and always in the same order. "
        "What the caller may not see is an opaque reference. A hidden, ended or missing target is one and the same "
        "404. Without a scope, all that the caller may read are covered.",
        tags=["facts"],
        request=LineageCall,
        responses=LineageShape,
    )
    def post(self, request: Request) -> Response:
        """Walk the lineage."""
        principal = principal_of(request)
        values = body_of(request, LineageCall)
        target = NodeKey(NodeType(values["target_type"]), values["target_id"])
        bounds = Bounds(max_depth=values["max_depth"], max_fan_out=values["max_fan_out"], max_nodes=values["max_nodes"])
        with account_transaction(principal.account_id):
            scopes, reader = _place(principal, values)
            moment = now()
            as_of, known_at = values.get("as_of"), values.get("known_at")
            visible = Visibility(
                account_id=principal.account_id,
                scope_ids=tuple(scope.id for scope in scopes),
                subject_id=None,
                reader=reader,
                at=as_of or known_at or moment,
                now=moment,
            )
            sight = Sight(visible=visible, past=bool(as_of or known_at), known_at=known_at)
            found = lineage(target=target, sight=sight, bounds=bounds)
        return Response(_body(found, target=target, bounds=bounds, reader=reader))


def _place(principal: Principal, values: dict[str, Any]) -> tuple[Sequence[Scope], Reader]:
    """Return the scopes that the walk may touch, and as whom it is made."""
    named = values["call_scope"]
    if named is not None:
        asked = Asked(
            scope_path=named.path,
            exact=named.exact,
            subject_key=values["subject_key"] or "",
            peer_key=values["reader_key"] or "",
        )
        place = places.resolve(principal, asked)
        return place.scopes, place.reader
    require_right(principal, Right.READ)
    subject = subject_named(principal, values["subject_key"])
    reader = resolve_reader(principal, peer_key=values["reader_key"] or "", subject=subject)
    return all_readable_scopes(principal), reader


def _body(found: Lineage, *, target: NodeKey, bounds: Bounds, reader: Reader) -> dict[str, Any]:
    return {
        "contract": CONTRACT,
        "target_id": target.id,
        "target_type": target.type,
        "nodes": [_node(node) for node in found.nodes],
        "terminations": found.terminations,
        "truncated": found.truncated,
        "bounds": {
            "max_depth": bounds.max_depth,
            "max_fan_out": bounds.max_fan_out,
            "max_nodes": bounds.max_nodes,
        },
        "reader_posture": reader.posture,
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.key.id,
        "type": node.key.type,
        "derivation_level": node.derivation_level,
        "operation": node.operation,
        "traversal_depth": node.traversal_depth,
        "source_references": [_reference(reference) for reference in node.source_references],
        "derived_references": [_reference(reference) for reference in node.derived_references],
    }


def _reference(reference: Reference) -> dict[str, Any]:
    if reference.key is None:
        return {"status": reference.status}
    return {
        "status": reference.status,
        "relation": reference.relation,
        "type": reference.key.type,
        "id": reference.key.id,
    }
