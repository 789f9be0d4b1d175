"""Letting a terminal in, over HTTP. Open to anybody: a terminal has no key yet.

The decision is made by a signed-in person on a page and nowhere else.
"""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from governance import device_login
from governance.device_login import PickedUp
from governance.http import body_of
from governance.models import DeviceLoginStatus

TAG = "keys"
#: Name of the page on which a person types the code.
APPROVAL_PAGE = "device"


class DeviceStarted(serializers.Serializer):
    """The codes of a login, and where a person approves it."""

    device_code = serializers.CharField(help_text="Keep it; it gets the key.")
    user_code = serializers.CharField(help_text="Show it.")
    verification_uri = serializers.URLField()
    verification_uri_complete = serializers.URLField()
    expires_in = serializers.IntegerField(help_text="Seconds.")
    interval = serializers.IntegerField(help_text="Seconds between two questions.")


class DevicePoll(serializers.Serializer):
    """Which login."""

    device_code = serializers.CharField(max_length=128)


class DeviceState(serializers.Serializer):
    """How a login stands; with `approved`, and only once, the key."""

    status = serializers.ChoiceField(choices=["pending", "approved", "expired"])
    api_key = serializers.CharField(required=False)
    org_id = serializers.CharField(required=False)
    project_id = serializers.CharField(required=False)


class OpenToTerminals(APIView):
    """What the two endpoints have in common: no credential, and a limit per address."""

    authentication_classes = ()
    permission_classes = ()


class StartView(OpenToTerminals):
    """The beginning of a login."""

    calls_per_address = 20

    @extend_schema(
        operation_id="cli_device_start",
        summary="Ask to be let in",
        description="Show the user code, open the address, and ask `/v1/cli/device/poll` every `interval` seconds.",
        tags=[TAG],
        request=None,
        responses=DeviceStarted,
    )
    def post(self, request: Request) -> Response:
        """Begin a login."""
        started = device_login.start()
        page = request.build_absolute_uri(reverse(APPROVAL_PAGE))
        return Response(
            {
                "device_code": started.device_code,
                "user_code": started.user_code,
                "verification_uri": page,
                "verification_uri_complete": f"{page}?user_code={started.user_code}",
                "expires_in": int(device_login.LIFETIME.total_seconds()),
                "interval": device_login.INTERVAL,
            }
        )


class PollView(OpenToTerminals):
    """The wait of a terminal."""

    #: Three terminals behind one address may wait at once.
    calls_per_address = 60

    @extend_schema(
        operation_id="cli_device_poll",
        summary="Ask whether one is let in",
        description="Answers with the key once. A refusal by a person is the error `device_refused`.",
        tags=[TAG],
        request=DevicePoll,
        responses=DeviceState,
    )
    def post(self, request: Request) -> Response:
        """Answer how the login stands."""
        return Response(_stands(device_login.pick_up(body_of(request, DevicePoll)["device_code"])))


def _stands(found: PickedUp | DeviceLoginStatus | None) -> dict[str, Any]:
    match found:
        case PickedUp():
            return {
                "status": "approved",
                "api_key": found.raw_key,
                "org_id": found.org_id,
                "project_id": found.project_id,
            }
        case None:
            return {"status": "expired"}
        case _:
            return {"status": "pending"}
