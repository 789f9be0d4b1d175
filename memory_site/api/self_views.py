"""The copy of everything held about the signed-in person, over the API. For people only; keys get 403."""

from __future__ import annotations

from tempfile import TemporaryFile

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from governance.http import principal_of, query_of
from governance.sharing.consents import require_person
from memory_site.portal import export


class ExportQuery(serializers.Serializer):
    """In which form."""

    format = serializers.ChoiceField(
        choices=["json", "html"],
        required=False,
        default="json",
        help_text="`html` is one page that needs nothing else.",
    )


class SelfExportView(APIView):
    """Everything held about the caller in one file."""

    @extend_schema(
        operation_id="self_export",
        summary="Export everything held about me",
        description="Facts with their sources and history, messages and passages, consents, promotions, contests, "
        "the reads that told something of the caller, summaries, moods, actions, receipts. Keys get 403 "
        "`human_required`.",
        tags=["self"],
        parameters=[ExportQuery],
        responses={200: OpenApiResponse(OpenApiTypes.OBJECT, description="The file, as an attachment.")},
    )
    def get(self, request: Request) -> FileResponse:
        """Send the file."""
        principal = principal_of(request)
        require_person(principal)
        is_page = query_of(request, ExportQuery)["format"] == "html"
        file = TemporaryFile()  # noqa: SIM115 closed by the response
        (export.write_html if is_page else export.write_json)(principal, file)
        file.seek(0)
        return FileResponse(
            file,
            as_attachment=True,
            filename="about-me.html" if is_page else "about-me.json",
            content_type="text/html; charset=utf-8" if is_page else "application/json",
        )
