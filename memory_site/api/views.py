"""What answers where no endpoint is."""

from __future__ import annotations

from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView


@extend_schema(exclude=True)
class UnknownAddress(APIView):
    """Answers every address below the API's prefix that leads nowhere, whoever asks."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse before anything else is looked at: there is no method that would go."""
        raise NotFound
