"""The endpoint that answers questions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.models import IndexedUnit
from governance.fields import InstantField, ReaderFields, ScopeFields, optional_text
from governance.http import body_of, principal_of
from retrieval.api.search_shapes import SearchShape
from retrieval.api.search_views import search_body
from retrieval.api.shapes import QueryField, SubjectAlias
from retrieval.ask.asking import AskAnswer, ask
from retrieval.ask.effort import EFFORTS
from retrieval.ask.evidence import CITED_AS, Evidence
from retrieval.ask.planner import BOUNDS
from retrieval.ask.request import DEFAULT_LIMIT, DEFAULT_PROFILE, MAX_LIMIT, AskRequest
from retrieval.ask.tools import Tool
from retrieval.search.request import SearchRequest

_CITED = list(CITED_AS.values())


class YesField(serializers.BooleanField):
    """True or false, and nothing that only reads like it: a yes that opens something is given on purpose."""

    def to_internal_value(self, data: Any) -> bool:
        """Return JSON's own true or false."""
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class AskCall(ScopeFields, ReaderFields):
    """A question."""

    subject_alias = SubjectAlias(required=False, help_text="Instead of `subject_id`.")
    query = QueryField(help_text="The question.")
    purpose = optional_text(128, "What the answer is for.")
    profile = optional_text(32, f"Name of a retrieval profile; `{DEFAULT_PROFILE}` unless stated.")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="Most that is evidence."
    )
    effort = serializers.ChoiceField(
        choices=list(EFFORTS),
        required=False,
        allow_null=True,
        help_text="Lets a bounded, read-only planner look for more; unless stated, the search is all there is.",
    )
    include_source_recall = YesField(
        required=False,
        default=False,
        help_text="True: what was said may be evidence too, not only facts. Needs an `effort`.",
    )
    include_cross_links = serializers.BooleanField(required=False, default=False)
    as_of = InstantField(required=False, allow_null=True, help_text="What was true then.")
    known_at = InstantField(required=False, allow_null=True, help_text="What was believed then.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one name of the subject."""
        attrs = super().validate(attrs)
        if attrs.get("subject_alias") and attrs["subject_key"]:
            raise serializers.ValidationError({"subject_alias": "State the subject or an alias of it, not both."})
        return attrs


class CitationShape(serializers.Serializer):
    """What the answer rests on."""

    type = serializers.ChoiceField(choices=_CITED)
    id = serializers.UUIDField(help_text="Of the fact, or of the passage.")
    event_id = serializers.UUIDField(allow_null=True, help_text="Of a source message.")


class EvidenceShape(CitationShape):
    """One piece of evidence, under the number by which whoever words the answer knows it."""

    number = serializers.IntegerField()
    origin = serializers.ChoiceField(choices=["base", *(tool.value for tool in Tool)])
    text = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    said_at = serializers.DateTimeField(allow_null=True)
    speaker = serializers.CharField(allow_null=True)


class ToolCallShape(serializers.Serializer):
    """One step of the planner."""

    iteration = serializers.IntegerField()
    tool = serializers.ChoiceField(choices=[tool.value for tool in Tool])
    query_digest = serializers.CharField(help_text="12 hexadecimal digits.")
    outcome = serializers.ChoiceField(choices=["completed", "empty", "repeated", "not_started", "timeout", "failed"])
    found = serializers.IntegerField()
    new = serializers.IntegerField(help_text="Not found by anything before.")


class RecallShape(serializers.Serializer):
    """What the planner did, in counts, digests and names."""

    effort = serializers.ChoiceField(choices=list(EFFORTS))
    playbook = serializers.CharField()
    profile_version = serializers.CharField()
    iterations = serializers.IntegerField()
    tool_calls = serializers.IntegerField(help_text="The question's own search included.")
    provider_calls = serializers.IntegerField(help_text="Those that embed a query.")
    query_tokens = serializers.IntegerField()
    evidence_tokens = serializers.IntegerField()
    base_count = serializers.IntegerField()
    new_count = serializers.IntegerField()
    admitted_count = serializers.IntegerField()
    admitted_new_count = serializers.IntegerField()
    exhausted_bounds = serializers.ListField(child=serializers.ChoiceField(choices=list(BOUNDS)))
    elapsed_ms = serializers.IntegerField()
    calls = ToolCallShape(many=True)


class AskShape(SearchShape):
    """The answer, what it rests on, and the question's own search."""

    answer = serializers.CharField()
    citations = CitationShape(many=True)
    abstained = serializers.BooleanField(help_text="True: a lead to check, or no answer at all.")
    answer_confidence = serializers.IntegerField(help_text="0 to 100; 40 without a model.")
    answer_degraded = serializers.CharField(allow_null=True, help_text="What kept a model's answer from coming.")
    answer_context_count = serializers.IntegerField(help_text="Pieces of evidence that were offered.")
    answerer_prompt_tokens = serializers.IntegerField(allow_null=True, help_text="0 without a model.")
    supporting_statements = serializers.ListField(
        child=serializers.CharField(), help_text="The words of what is cited."
    )
    reference_time = serializers.DateTimeField(help_text="The instant as of which is answered.")
    effort = serializers.CharField(allow_null=True)
    recall = RecallShape(allow_null=True)
    recall_evidence = EvidenceShape(many=True, help_text="What was offered, in its exact order.")


class AskView(APIView):
    """An answer with citations."""

    @extend_schema(
        operation_id="ask_create",
        summary="Answer a question",
        description="Searches what the reader may see and has an answer worded from it, by the model that is "
        "configured (`ANSWER_PROVIDER`) or, without one, by putting the first statements together. Only what was "
        "offered can be cited; without a citation there is no answer, and below a confidence of 50 it is only a lead. "
        "A model call that fails is reported in `answer_degraded`, with what was found.",
        tags=["context"],
        request=AskCall,
        responses=AskShape,
    )
    def post(self, request: Request) -> Response:
        """Answer."""
        principal = principal_of(request)
        asked = _request(body_of(request, AskCall))
        return Response(_body(ask(principal=principal, request=asked), effort=asked.effort))


def _request(values: dict[str, Any]) -> AskRequest:
    alias = values.get("subject_alias")
    search = SearchRequest(
        scope_path=values["call_scope"].path,
        exact=values["call_scope"].exact,
        subject_key=values["subject_key"] or "",
        subject_alias=(alias["kind"], alias["value"]) if alias else None,
        peer_key=values["reader_key"] or "",
        query=values["query"],
        purpose=values.get("purpose") or "",
        profile=values.get("profile") or DEFAULT_PROFILE,
        limit=values["limit"],
        units=(IndexedUnit.FACT,),
        include_cross_links=values["include_cross_links"],
        as_of=values.get("as_of"),
        known_at=values.get("known_at"),
    )
    return AskRequest(
        search=search,
        effort=values.get("effort") or "",
        include_source_recall=values["include_source_recall"],
    )


def _body(answer: AskAnswer, *, effort: str) -> dict[str, Any]:
    verdict = answer.verdict
    return {
        **search_body(answer.base),
        "trace_id": answer.trace_id,
        "answer": verdict.answer,
        "citations": [_citation(item) for item in verdict.cited],
        "abstained": verdict.abstained,
        "answer_confidence": verdict.confidence,
        "answer_degraded": verdict.degraded,
        "answer_context_count": len(answer.offered),
        "answerer_prompt_tokens": verdict.prompt_tokens,
        "supporting_statements": verdict.statements,
        "reference_time": answer.reference_time,
        "effort": effort or None,
        "recall": answer.recall,
        "recall_evidence": [_evidence(item, number) for number, item in enumerate(answer.offered, start=1)],
    }


def _citation(item: Evidence) -> dict[str, Any]:
    return {"type": CITED_AS[item.key.unit], "id": item.key.id, "event_id": item.event_id}


def _evidence(item: Evidence, number: int) -> dict[str, Any]:
    return {
        **_citation(item),
        "number": number,
        "origin": item.origin,
        "text": item.text,
        "valid_from": item.valid_from,
        "valid_to": item.valid_to,
        "said_at": item.said_at,
        "speaker": item.speaker if item.key.unit is IndexedUnit.PASSAGE else None,
    }
