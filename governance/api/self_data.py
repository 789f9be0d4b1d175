"""What is held about the signed-in person, and what they may do about it. For people only; keys get 403."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.erasure import ErasureMode
from facts.models import Event, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import Category
from governance import subject_data, subject_rights
from governance.access import Principal
from governance.api.forget import ErasurePreview, Forgotten, receipt_shown
from governance.fields import project_id_of
from governance.http import body_of, principal_of, query_of
from governance.idempotency import Answer, answer_once
from governance.pagination import PageFields, page, paging
from governance.sharing.consents import require_person
from governance.subject_data import FactDossier, HeldFact, ReadBy, Source, Standing
from governance.subject_rights import REASON_LENGTH

TAG = "self"

_MODE = {
    "choices": [mode.value for mode in ErasureMode],
    "required": False,
    "default": ErasureMode.PROPORTIONATE.value,
    "help_text": "Whether facts about others that nobody else told are withdrawn, or erased as well.",
}


class HeldQuery(PageFields):
    """Which facts are listed: all about the caller unless narrowed."""

    standing = serializers.ChoiceField(choices=[one.value for one in Standing], required=False)
    category = serializers.ChoiceField(choices=Category.choices, required=False)


class SourceShape(serializers.Serializer):
    """One source. Of what the caller may not read, only that it is there."""

    event_id = serializers.UUIDField(allow_null=True)
    quote = serializers.CharField(allow_null=True)
    speaker = serializers.CharField(help_text="Who said it; empty when unknown or not for the caller.")
    is_own = serializers.BooleanField(help_text="Whether the caller said it.")
    occurred_at = serializers.DateTimeField(allow_null=True)
    channel = serializers.CharField()
    source_type = serializers.CharField()
    link = serializers.CharField(help_text="The page that it was read from, if any.")
    human = serializers.BooleanField()
    withdrawn = serializers.BooleanField()


class HeldFactShape(serializers.Serializer):
    """A fact about the caller."""

    id = serializers.UUIDField()
    statement = serializers.CharField(allow_null=True, help_text="`null` for what was forgotten or withdrawn.")
    status = serializers.CharField()
    withheld = serializers.CharField(help_text="Why it is kept from readers although it is current; else empty.")
    category = serializers.CharField()
    kind = serializers.CharField()
    predicate = serializers.CharField()
    value = serializers.DictField(allow_null=True)
    qualifiers = serializers.DictField()
    scope = serializers.CharField()
    project_id = serializers.CharField()
    level = serializers.CharField()
    sensitivity = serializers.CharField()
    confidence = serializers.FloatField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    recorded_from = serializers.DateTimeField()
    read_by = serializers.ChoiceField(
        choices=[one.value for one in ReadBy],
        help_text="Who is told it now: nobody, the caller alone, everybody who reads the scope, or those to whom "
        "restricted facts were granted. Curators of the scope see what is not restricted, to decide about it.",
    )
    sources = SourceShape(many=True)


class HeldFacts(serializers.Serializer):
    """One page of the facts about the caller."""

    facts = HeldFactShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class GateShape(serializers.Serializer):
    """What one gate said, by which rule or which person."""

    gate = serializers.CharField()
    outcome = serializers.CharField()
    rule = serializers.DictField()
    reasons = serializers.ListField(child=serializers.CharField())
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField()


class ChangeShape(serializers.Serializer):
    """One revision: what the fact was from then on, who made it that, and why."""

    version = serializers.IntegerField()
    status = serializers.CharField()
    scope = serializers.CharField()
    action = serializers.CharField()
    reason = serializers.CharField()
    changed_by = serializers.CharField()
    recorded_from = serializers.DateTimeField()


class AskedShape(serializers.Serializer):
    """What people were asked to decide about it."""

    kind = serializers.CharField()
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)


class DossierShape(serializers.Serializer):
    """Everything about one fact on the caller."""

    fact = HeldFactShape()
    people = serializers.ListField(child=serializers.CharField(), help_text="Who reads in its scope.")
    curators = serializers.ListField(child=serializers.CharField(), help_text="Those of them who decide there.")
    applications = serializers.IntegerField(help_text="Keys that may read in its scope.")
    gates = GateShape(many=True)
    history = ChangeShape(many=True)
    reviews = AskedShape(many=True)


class MessageShape(serializers.Serializer):
    """Something the caller said, or that was said in a conversation of theirs."""

    id = serializers.UUIDField()
    text = serializers.CharField(allow_null=True, help_text="`null` for what was forgotten.")
    speaker = serializers.CharField()
    is_own = serializers.BooleanField()
    kind = serializers.CharField()
    source_type = serializers.CharField()
    channel = serializers.CharField()
    thread = serializers.CharField()
    scope = serializers.CharField()
    project_id = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    text_removed_at = serializers.DateTimeField(allow_null=True, help_text="When retention removed the words.")


class Messages(serializers.Serializer):
    """One page of the caller's messages."""

    events = MessageShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ContestAsked(serializers.Serializer):
    """What is wrong with it."""

    reason = serializers.CharField(max_length=REASON_LENGTH)


class TakingAsked(serializers.Serializer):
    """Why; nobody has to say."""

    reason = serializers.CharField(max_length=500, required=False, allow_blank=True, allow_null=True)


class ErasurePreviewAsked(serializers.Serializer):
    """How far the erasure would go."""

    erasure = serializers.ChoiceField(**_MODE)


class ErasureConfirmed(ErasurePreviewAsked):
    """How far the erasure goes, and the confirmation: the key of the caller's own subject."""

    confirm = serializers.CharField(max_length=200)


class SelfFactsView(APIView):
    """The facts about the caller."""

    @extend_schema(
        operation_id="self_facts_list",
        summary="List what is held about me",
        description="Facts about the signed-in person in every scope and status, newest first. Keys get 403 "
        "`human_required`.",
        tags=[TAG],
        parameters=[HeldQuery],
        responses=HeldFacts,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = person(request)
        query = query_of(request, HeldQuery)
        with account_transaction(principal.account_id):
            wanted = subject_data.facts(
                principal, standing=query.get("standing", ""), category=query.get("category", "")
            )
            found, next_cursor = page(wanted, listing="self.facts", **paging(query))
            shown = [fact_shown(held) for held in subject_data.told(principal, found)]
        return Response({"facts": shown, "next_cursor": next_cursor})


class SelfFactView(APIView):
    """One fact about the caller."""

    @extend_schema(
        operation_id="self_facts_retrieve",
        summary="Read a fact about me",
        description="With its sources, who may read it, why it is there, and how it came to be what it is.",
        tags=[TAG],
        responses=DossierShape,
    )
    def get(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Return everything about it."""
        principal = person(request)
        with account_transaction(principal.account_id):
            return Response(dossier_shown(subject_data.dossier(principal, fact_id)))


class ContestView(APIView):
    """Saying that a fact is wrong."""

    @extend_schema(
        operation_id="self_facts_contest",
        summary="Contest a fact about me",
        description="Nobody is served it until a curator has decided.",
        tags=[TAG],
        request=ContestAsked,
        responses=HeldFactShape,
    )
    def post(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Contest it."""
        return _done(request, fact_id, subject_rights.contest, ContestAsked)


class RedactView(APIView):
    """Blacking a fact out."""

    @extend_schema(
        operation_id="self_facts_redact",
        summary="Redact a fact about me",
        description="For good: shown to nobody, with the passages it rests on, and never learned again.",
        tags=[TAG],
        request=TakingAsked,
        responses=HeldFactShape,
    )
    def post(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Redact it."""
        return _done(request, fact_id, subject_rights.redact, TakingAsked)


class WithdrawFactView(APIView):
    """Taking a fact back."""

    @extend_schema(
        operation_id="self_facts_withdraw",
        summary="Withdraw a fact about me",
        description="No reader is told it again, also as history; said anew, it is learned anew. Consents are "
        "withdrawn at `POST /v1/consents/{consent_id}/withdraw`.",
        tags=[TAG],
        request=TakingAsked,
        responses=HeldFactShape,
    )
    def post(self, request: Request, fact_id: uuid.UUID) -> Response:
        """Withdraw it."""
        return _done(request, fact_id, subject_rights.withdraw, TakingAsked)


class SelfEventsView(APIView):
    """What the caller said."""

    @extend_schema(
        operation_id="self_events_list",
        summary="List what I said",
        description="Messages of the signed-in person and of their conversations, as they were captured, newest first.",
        tags=[TAG],
        parameters=[PageFields],
        responses=Messages,
    )
    def get(self, request: Request) -> Response:
        """Return one page."""
        principal = person(request)
        query = query_of(request, PageFields)
        with account_transaction(principal.account_id):
            found, next_cursor = page(subject_data.messages(principal), listing="self.events", **paging(query))
            shown = [message_shown(event, principal) for event in found]
        return Response({"events": shown, "next_cursor": next_cursor})


class SelfErasePreviewView(APIView):
    """What an erasure of the caller would take."""

    @extend_schema(
        operation_id="self_erase_preview",
        summary="Preview an erasure of everything about me",
        description="Changes nothing.",
        tags=[TAG],
        request=ErasurePreviewAsked,
        responses=ErasurePreview,
    )
    def post(self, request: Request) -> Response:
        """Return the counts."""
        principal = person(request)
        mode = ErasureMode(body_of(request, ErasurePreviewAsked)["erasure"])
        return Response(asdict(subject_rights.preview_erasure(principal, mode=mode)))


class SelfEraseView(APIView):
    """Erasing everything about the caller."""

    @extend_schema(
        operation_id="self_erase",
        summary="Erase everything about me",
        description="For good. `confirm` is the key of the caller's own subject; anything else is "
        "`confirmation_mismatch`.",
        tags=[TAG],
        request=ErasureConfirmed,
        responses=Forgotten,
    )
    def post(self, request: Request) -> Response:
        """Erase and return the receipt."""
        principal = person(request)
        values = body_of(request, ErasureConfirmed)

        def work() -> Answer:
            mode = ErasureMode(values["erasure"])
            return 200, receipt_shown(subject_rights.erase(principal, mode=mode, confirm=values["confirm"]))

        return answer_once(request, work)


def person(request: Request) -> Principal:
    """Return the signed-in person who asks; raises ``Refused`` (``human_required``) for a key."""
    principal = principal_of(request)
    require_person(principal)
    return principal


def fact_shown(held: HeldFact) -> dict[str, Any]:
    """Return a fact as the API tells it to whom it is about; without its claim where its words are shown to nobody."""
    fact, is_told = held.fact, held.statement is not None
    return {
        "id": fact.id,
        "statement": held.statement,
        "status": fact.status,
        "withheld": fact.withheld,
        "category": fact.category,
        "kind": fact.kind,
        "predicate": fact.predicate if is_told else "",
        "value": fact.value if is_told else None,
        "qualifiers": fact.qualifiers if is_told else {},
        "scope": fact.scope.path,
        "project_id": project_id_of(fact.scope.path),
        "level": fact.level,
        "sensitivity": fact.sensitivity,
        "confidence": fact.confidence,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "expires_at": fact.expires_at,
        "recorded_from": fact.recorded_from,
        "read_by": held.read_by.value,
        "sources": [source_shown(source) for source in held.sources],
    }


def source_shown(source: Source) -> dict[str, Any]:
    """Return a source as the API tells it."""
    return asdict(source)


def dossier_shown(found: FactDossier) -> dict[str, Any]:
    """Return everything about one fact as the API tells it to whom it is about."""
    return {
        "fact": fact_shown(found.held),
        "people": list(found.readers.people),
        "curators": list(found.readers.curators),
        "applications": found.readers.keys,
        "gates": [
            {
                "gate": one.gate,
                "outcome": one.outcome,
                "rule": one.cell,
                "reasons": [str(reason) for reason in one.reasons],
                "decided_by": _name(one.actor),
                "decided_at": one.decided_at,
            }
            for one in found.decisions
        ],
        "history": [
            {
                "version": row.version,
                "status": row.status,
                "scope": row.scope.path,
                "action": row.action,
                "reason": row.reason,
                "changed_by": _name(row.actor),
                "recorded_from": row.recorded_from,
            }
            for row in found.history
        ],
        "reviews": [
            {"kind": row.kind, "status": row.status, "created_at": row.created_at, "decided_at": row.decided_at}
            for row in found.reviews
        ],
    }


def message_shown(event: Event, principal: Principal) -> dict[str, Any]:
    """Return a message as the API tells it to whom it is of."""
    return {
        "id": event.id,
        "text": None if event.is_hidden else event.text,
        "speaker": event.speaker.display_name if event.speaker else "",
        "is_own": event.speaker_id == principal.subject_id,
        "kind": event.kind,
        "source_type": event.source_type,
        "channel": event.channel_name or event.channel_id,
        "thread": event.thread,
        "scope": event.scope.path,
        "project_id": project_id_of(event.scope.path),
        "occurred_at": event.occurred_at,
        "recorded_at": event.recorded_at,
        "withdrawn_at": event.withdrawn_at,
        "text_removed_at": event.text_removed_at,
    }


def _name(actor: Mapping[str, Any] | None) -> str:
    return str((actor or {}).get("name", ""))


def _done(
    request: Request,
    fact_id: uuid.UUID,
    verb: Callable[..., Fact],
    asked: type[serializers.Serializer],
) -> Response:
    principal = person(request)
    reason = body_of(request, asked).get("reason") or ""

    def work() -> Answer:
        verb(principal, fact_id, reason=reason)
        return 200, fact_shown(subject_data.told(principal, [subject_data.get_fact(principal, fact_id)])[0])

    return answer_once(request, work)
