"""Messages of channels over HTTP: Slack's own requests, and those of a bot's adapter."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.errors import DomainError
from governance.http import body_of, principal_of
from governance.idempotency import Answer, answer_once
from ingest.slack import client, receiving, signing
from ingest.slack.plain import ingest

TAG = "channels"
MAX_NAME = 200


class ChannelMessage(serializers.Serializer):
    """One message of a channel, under the names that a bot's adapter uses."""

    organizationId = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_NAME, help_text="Recorded; never tenancy."
    )
    channelId = serializers.CharField(max_length=64)
    channelName = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=MAX_NAME)
    platformUserId = serializers.CharField(max_length=64)
    messageTs = serializers.CharField(max_length=32, help_text="Slack's time stamp, `1736499600.000100`.")
    threadTs = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=32)
    text = serializers.CharField(allow_blank=True, trim_whitespace=False, help_text="As Slack escapes it.")


class MessageTaken(serializers.Serializer):
    """What became of it."""

    status = serializers.ChoiceField(choices=["accepted", "ignored"])
    event_id = serializers.UUIDField(allow_null=True)
    deduplicated = serializers.BooleanField()
    reason = serializers.CharField(help_text="Why it is ignored: `opted_out`, `channel_opted_out`, `direct_message`.")


class SlackEvent(serializers.Serializer):
    """The envelope of a request of Slack's."""

    type = serializers.CharField()
    challenge = serializers.CharField(required=False)
    team_id = serializers.CharField(required=False)
    api_app_id = serializers.CharField(required=False)
    event_id = serializers.CharField(required=False)
    event = serializers.DictField(required=False)


class SlackEventsView(APIView):
    """Slack's Events API: signed by Slack, for whichever account the workspace is connected to."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="slack_events",
        summary="Requests of Slack's Events API",
        description="For Slack alone: every request is signed (`X-Slack-Signature`, version `v0`) with the app's "
        "signing secret, over its raw body and a time at most five minutes ago. Everything that is signed is answered "
        "200, also what is not kept, so that Slack does not send it again.",
        tags=[TAG],
        auth=[],
        request=SlackEvent,
        responses={200: OpenApiTypes.OBJECT},
    )
    def post(self, request: Request) -> Response:
        """Check the signature, take the request in, and answer at once."""
        body: dict[str, Any] = request.data
        kind = body.get("type")
        # What the body says of its workspace chooses the secret; only that secret makes it true.
        about_no_workspace = kind == "url_verification"
        secrets = client.signing_secrets() if about_no_workspace else [client.signing_secret_of(_team(body))]
        if not signing.is_signed(
            request.body,
            timestamp=request.headers.get(signing.TIMESTAMP_HEADER),
            signature=request.headers.get(signing.SIGNATURE_HEADER),
            secrets=secrets,
        ):
            raise DomainError("This request is not signed by Slack.", code="wrong_signature", status=401)
        if about_no_workspace:
            return Response({"challenge": str(body.get("challenge", ""))[:1_000]})
        if kind == "event_callback":
            receiving.receive(body)
        return Response({"ok": True})


class ContextIngestView(APIView):
    """Messages that a bot's adapter saw."""

    @extend_schema(
        operation_id="context_ingest",
        summary="Ingest a channel message",
        description="Keeps one message of a Slack channel and queues it for extraction. It is the same message as over "
        "Slack's events or an export: workspace, channel and time stamp tell. People and channels that opted out are "
        "ignored, and so are direct messages.",
        tags=[TAG],
        request=ChannelMessage,
        responses={202: MessageTaken},
    )
    def post(self, request: Request) -> Response:
        """Take it in."""
        principal = principal_of(request)
        body = body_of(request, ChannelMessage)

        def work() -> Answer:
            taken = ingest(principal, body)
            return 202, {
                "status": "ignored" if taken.reason else "accepted",
                "event_id": taken.event_id,
                "deduplicated": taken.deduplicated,
                "reason": taken.reason,
            }

        return answer_once(request, work)


def _team(body: dict[str, Any]) -> str:
    team = body.get("team_id")
    return team if isinstance(team, str) else ""
