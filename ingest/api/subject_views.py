"""Which subject an alias means, over HTTP."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.models import Identity
from facts.vocabulary import SubjectKind
from governance.access import Right, require_right
from governance.fields import IDENTIFIER_LENGTH, SCOPE_LENGTH, optional_text
from governance.http import body_of, principal_of
from governance.idempotency import Answer, answer_once
from ingest.subjects_of import subject_by_alias


class ResolveRequest(serializers.Serializer):
    """An alias, and whose it is if it is not known yet."""

    project_id = optional_text(SCOPE_LENGTH, "Accepted, and means nothing here: names hold in the whole account.")
    alias_kind = serializers.CharField(max_length=64, help_text="The platform, such as `slack` or `email`.")
    alias_value = serializers.CharField(max_length=256)
    canonical_subject_id = optional_text(IDENTIFIER_LENGTH, "Key of the subject that it is another name of.")


class AliasResolved(serializers.Serializer):
    """Whom the alias means."""

    alias_kind = serializers.CharField()
    alias_value = serializers.CharField()
    canonical_subject_id = serializers.CharField(help_text="Key of the subject; of a merged one, of what it is now.")
    created = serializers.BooleanField(help_text="The alias was not known before.")
    self_registered = serializers.BooleanField(help_text="It was registered under a key made of itself.")


class ResolveView(APIView):
    """Looking an alias up, or registering it."""

    @extend_schema(
        operation_id="subjects_resolve",
        summary="Resolve an alias",
        description="Needs the right `capture`, because an unknown alias is registered: for `canonical_subject_id`, or "
        "without one as `kind:value`. An alias of somebody else is answered `alias_conflict`.",
        tags=["subjects"],
        request=ResolveRequest,
        responses=AliasResolved,
    )
    def post(self, request: Request) -> Response:
        """Resolve it."""
        principal = principal_of(request)
        require_right(principal, Right.CAPTURE)
        asked = body_of(request, ResolveRequest)
        platform, value = asked["alias_kind"].strip().lower(), asked["alias_value"].strip()
        key = (asked.get("canonical_subject_id") or "").strip()

        def work() -> Answer:
            known = Identity.objects.filter(account_id=principal.account_id, platform=platform, value=value).exists()
            subject = subject_by_alias(principal.account_id, (platform, value), key=key, kind=SubjectKind.PERSON)
            return 200, {
                "alias_kind": platform,
                "alias_value": value,
                "canonical_subject_id": subject.key,
                "created": not known,
                "self_registered": not known and not key,
            }

        return answer_once(request, work)
