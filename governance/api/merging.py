"""Saying over HTTP that one subject is another one, and taking it back. For people, and keys to which one delegated."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import NotFound
from facts.models import Subject, SubjectMerge
from facts.tenancy import account_transaction, get_subject
from governance.access import Principal
from governance.fields import IDENTIFIER_LENGTH, optional_text
from governance.http import body_of, principal_of
from governance.idempotency import Answer, answer_once
from governance.merging import merging, rules, unmerging

TAG = "subjects"
_WHY = "Kept with the decision."


class MergeInto(serializers.Serializer):
    """Which one it is."""

    into = serializers.UUIDField(help_text="Id of the subject that it is.")
    rationale = optional_text(2000, _WHY)


class MergeByKey(serializers.Serializer):
    """Two subjects by their keys; `project_id` is accepted and means nothing here."""

    source_subject_id = serializers.CharField(max_length=IDENTIFIER_LENGTH, help_text="Key of the one that is another.")
    target_subject_id = serializers.CharField(max_length=IDENTIFIER_LENGTH, help_text="Key of that one.")
    rationale = optional_text(2000, _WHY)


class Unmerge(serializers.Serializer):
    """Why."""

    rationale = optional_text(2000, _WHY)


class MergeShown(serializers.Serializer):
    """A merge, and what it moved."""

    status = serializers.ChoiceField(choices=["merged", "undone"])
    merge_id = serializers.UUIDField()
    source_subject_id = serializers.CharField(help_text="Key.")
    target_subject_id = serializers.CharField(help_text="Key.")
    facts_moved = serializers.IntegerField()
    events_moved = serializers.IntegerField()
    conflict_sets_moved = serializers.IntegerField()
    traces_moved = serializers.IntegerField(help_text="Always 0: a read is told as it was.")
    aliases_repointed = serializers.IntegerField()
    conflicts_opened = serializers.ListField(child=serializers.UUIDField())
    kept = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="After an undo: facts that could not be divided and stay with the target.",
    )


class MergePreviewShown(serializers.Serializer):
    """What a merge would do."""

    facts = serializers.IntegerField(help_text="Facts that would be about the other one.")
    events = serializers.IntegerField()
    names = serializers.IntegerField(help_text="Names on platforms.")
    repeated = serializers.IntegerField(help_text="Facts of which the other one knows the same.")
    superseded = serializers.IntegerField(help_text="Facts that a newer one of the other would end.")
    narrowed = serializers.IntegerField(help_text="Facts that would be for the subject alone until it consents again.")
    conflicts = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    conflicts_hidden = serializers.IntegerField(help_text="Conflicts with a side that you may not read, or too many.")


class MergeView(APIView):
    """Merging by id."""

    @extend_schema(
        operation_id="subjects_merge_into",
        summary="Merge a subject into another one",
        description="For curators of the whole account. Facts, messages and names follow; facts that contradict each "
        "other become open conflicts; a key without `resolve` is answered `human_required`.",
        tags=[TAG],
        request=MergeInto,
        responses=MergeShown,
    )
    def post(self, request: Request, subject_id: uuid.UUID) -> Response:
        """Merge."""
        principal = principal_of(request)
        asked = body_of(request, MergeInto)

        def work() -> Answer:
            made = merging.merge(
                principal, source_id=subject_id, target_id=asked["into"], rationale=asked.get("rationale") or ""
            )
            return 200, _shown(made)

        return answer_once(request, work)


class MergePreviewView(APIView):
    """What a merge would do."""

    @extend_schema(
        operation_id="subjects_merge_preview",
        summary="Preview a merge",
        description="Changes nothing.",
        tags=[TAG],
        request=MergeInto,
        responses=MergePreviewShown,
    )
    def post(self, request: Request, subject_id: uuid.UUID) -> Response:
        """Tell."""
        principal = principal_of(request)
        asked = body_of(request, MergeInto)
        seen = merging.preview(principal, source_id=subject_id, target_id=asked["into"])
        names = MergePreviewShown().fields
        return Response({name: getattr(seen, name) for name in names})


class MergeByKeyView(APIView):
    """Merging by key."""

    @extend_schema(
        operation_id="subjects_merge",
        summary="Merge two subjects by their keys",
        description="As merging by id.",
        tags=[TAG],
        request=MergeByKey,
        responses=MergeShown,
    )
    def post(self, request: Request) -> Response:
        """Merge."""
        principal = principal_of(request)
        asked = body_of(request, MergeByKey)

        def work() -> Answer:
            with account_transaction(principal.account_id):
                rules.deciding_actor(principal)
                source = _named(principal, asked["source_subject_id"], field="source_subject_id")
                target = _named(principal, asked["target_subject_id"], field="target_subject_id")
                made = merging.merge(
                    principal, source_id=source.id, target_id=target.id, rationale=asked.get("rationale") or ""
                )
                return 200, _shown(made)

        return answer_once(request, work)


class UnmergeView(APIView):
    """Taking a merge back."""

    @extend_schema(
        operation_id="subjects_unmerge",
        summary="Take a merge back",
        description="While nothing has built on it. What was recorded after the merge stays with the other one and is "
        "listed as `kept`.",
        tags=[TAG],
        request=Unmerge,
        responses=MergeShown,
    )
    def post(self, request: Request, subject_id: uuid.UUID) -> Response:
        """Take it back."""
        principal = principal_of(request)
        asked = body_of(request, Unmerge)

        def work() -> Answer:
            made = unmerging.unmerge(principal, subject_id=subject_id, rationale=asked.get("rationale") or "")
            return 200, _shown(made)

        return answer_once(request, work)


def _named(principal: Principal, key: str, *, field: str) -> Subject:
    subject = get_subject(principal.account_id, key=key, itself=True)
    if subject is None:
        raise NotFound("There is no such subject.", code="subject_not_found", field=field)
    return subject


def _shown(made: SubjectMerge) -> dict[str, Any]:
    return {
        "status": "merged" if made.undone_at is None else "undone",
        "merge_id": made.id,
        "source_subject_id": made.source.key,
        "target_subject_id": made.target.key,
        "facts_moved": sum(change["moved"] for change in made.facts),
        "events_moved": len(made.rows.get("facts.Event.subject", ())),
        "conflict_sets_moved": len(made.rows.get("facts.ConflictSet.subject", ())),
        "traces_moved": 0,
        "aliases_repointed": len(made.rows.get("facts.Identity.subject", ())),
        "conflicts_opened": list(made.detail["conflicts_opened"]),
        "kept": made.detail.get("kept", []),
    }
