"""Keys over HTTP: make, list, revoke. A key's text is answered once and never again."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from facts.clock import now
from facts.errors import DomainError, NotFound
from facts.models import Account, Membership
from facts.tenancy import ROOT, account_transaction, ensure_scope, get_subject
from governance import keys
from governance.access import (
    APP_RIGHTS,
    PEER_KINDS,
    Delegation,
    Principal,
    Right,
    require_authority,
)
from governance.fields import IDENTIFIER_LENGTH, InstantField, ScopeFields, optional_text, project_id_of
from governance.http import body_of, principal_of, query_of
from governance.idempotency import Answer, answer_once
from governance.models import ApiKey, Role
from governance.pagination import PageFields, page, paging

TAG = "keys"
#: What a key is called whose maker gave it no label.
UNNAMED = "unnamed key"


class KeyAsked(ScopeFields):
    """What a new key may do. The scope, if one is named, confines it to that subtree."""

    scope_required = False

    label = optional_text(128, "What the key is for.")
    rights = serializers.ListField(
        child=serializers.CharField(max_length=32),
        required=False,
        allow_null=True,
        max_length=len(Right),
        help_text=f"Any of {', '.join(f'`{right}`' for right in Right)}; "
        f"unless given: {', '.join(f'`{right}`' for right in APP_RIGHTS)}.",
    )
    delegated = serializers.ListField(
        child=serializers.CharField(max_length=32),
        required=False,
        allow_null=True,
        max_length=len(Delegation),
        help_text=f"What the key may do in its maker's name: any of {', '.join(f'`{each}`' for each in Delegation)}.",
    )
    peer_key = optional_text(IDENTIFIER_LENGTH, "Key of the peer as whom the key reads by itself.")
    expires_at = InstantField(required=False, allow_null=True)
    requests_per_minute = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1_000_000)
    org_id = optional_text(IDENTIFIER_LENGTH, "Ignored: a key belongs to the account of its maker.")


class RotationAsked(serializers.Serializer):
    """How long the old secret goes on working beside the new one."""

    overlap_seconds = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=int(keys.LONGEST_OVERLAP.total_seconds()),
        help_text=f"Unless given: {int(keys.OVERLAP.total_seconds())}.",
    )


class KeyShown(serializers.Serializer):
    """A key, recognisable by its first characters."""

    id = serializers.UUIDField()
    prefix = serializers.CharField()
    label = serializers.CharField()
    org_id = serializers.CharField()
    project_id = serializers.CharField(allow_null=True)
    scope = serializers.CharField(allow_null=True)
    rights = serializers.ListField(child=serializers.CharField())
    delegated = serializers.ListField(child=serializers.CharField())
    peer_key = serializers.CharField(allow_null=True)
    requests_per_minute = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class KeyMade(KeyShown):
    """A new key with its text, which is shown this once; ``null`` in the replay of an idempotent request."""

    key = serializers.CharField(allow_null=True)


class Keys(serializers.Serializer):
    """One page of keys, newest first."""

    keys = KeyShown(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class KeyRevoked(serializers.Serializer):
    """A key that is good no more."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["revoked"])


class KeysView(APIView):
    """The account's keys. For account administrators, and for keys with the delegation ``keys``."""

    @extend_schema(
        operation_id="keys_list",
        summary="List keys",
        tags=[TAG],
        parameters=[PageFields],
        responses=Keys,
    )
    def get(self, request: Request) -> Response:
        """Return one page of keys, without anything that would let one be used."""
        principal = principal_of(request)
        query = query_of(request, PageFields)
        with account_transaction(principal.account_id):
            _require_authority(principal, principal.scope_limit or ROOT)
            found, next_cursor = page(keys.keys_within(principal), listing="keys", **paging(query))
            org = _org(principal)
            body = {"keys": [_shown(key, org) for key in found], "next_cursor": next_cursor}
        return Response(body)

    @extend_schema(
        operation_id="keys_create",
        summary="Make a key",
        description="The answer holds the key's text; it cannot be had again. A key made by a key has no more "
        "than that: no other rights, no other peer unless it may read for others, no later end and no higher rate.",
        tags=[TAG],
        request=KeyAsked,
        responses={201: KeyMade},
    )
    def post(self, request: Request) -> Response:
        """Make a key."""
        principal = principal_of(request)
        values = body_of(request, KeyAsked)
        return answer_once(request, lambda: _make(principal, values), hide=("key",))


class KeyView(APIView):
    """One key."""

    @extend_schema(
        operation_id="keys_revoke",
        summary="Revoke a key",
        description="For good, and within seconds everywhere.",
        tags=[TAG],
        responses={200: KeyRevoked},
    )
    def delete(self, request: Request, key_id: uuid.UUID) -> Response:
        """Revoke."""
        principal = principal_of(request)
        with account_transaction(principal.account_id):
            actor = _require_authority(principal, principal.scope_limit or ROOT)
            if not keys.keys_within(principal).filter(pk=key_id).exists():
                raise NotFound("There is no such key.", code="key_not_found")
            keys.revoke_key(principal.account_id, key_id, actor=actor)
        return Response({"id": key_id, "status": "revoked"})


class KeyRotateView(APIView):
    """A new secret for a key."""

    @extend_schema(
        operation_id="keys_rotate",
        summary="Give a key a new secret",
        description="Makes a successor that may do the same, and ends the old key after the overlap. The answer holds "
        "the successor's text; it cannot be had again. A key that decides in a person's name is renewed by that "
        "person.",
        tags=[TAG],
        request=RotationAsked,
        responses={201: KeyMade},
    )
    def post(self, request: Request, key_id: uuid.UUID) -> Response:
        """Rotate."""
        principal = principal_of(request)
        seconds = body_of(request, RotationAsked).get("overlap_seconds")
        overlap = keys.OVERLAP if seconds is None else timedelta(seconds=seconds)
        return answer_once(request, lambda: _rotate(principal, key_id, overlap), hide=("key",))


def _rotate(principal: Principal, key_id: uuid.UUID, overlap: timedelta) -> Answer:
    actor = _require_authority(principal, principal.scope_limit or ROOT)
    successor, raw = keys.rotate_key(principal, key_id, actor=actor, overlap=overlap)
    return 201, {**_shown(successor, _org(principal)), "key": raw}


def _require_authority(principal: Principal, path: str) -> Any:
    return require_authority(principal, Delegation.KEYS, path=path, at_least=Role.ACCOUNT_ADMIN)


def _make(principal: Principal, values: dict[str, Any]) -> Answer:
    named = values["call_scope"]
    path = named.path if named else principal.scope_limit or ROOT
    actor = _require_authority(principal, path)
    rights = values.get("rights") or [*APP_RIGHTS]
    delegated = values.get("delegated") or []
    peer = _peer(principal, values.get("peer_key"))
    keys.check_may_hand_out(principal, rights, delegated, peer=peer)
    if values.get("expires_at") and values["expires_at"] <= now():
        raise DomainError("A date in the future is needed.", code="invalid_date", field="expires_at")
    key, raw = keys.create_key(
        account_id=principal.account_id,
        label=values.get("label") or UNNAMED,
        rights=rights,
        delegated=delegated,
        actor=actor,
        maker=Membership.objects.get(account_id=principal.account_id, pk=principal.membership_id),
        peer=peer,
        scope_limit=None if path == ROOT else ensure_scope(principal.account_id, path),
        expires_at=keys.capped(values.get("expires_at"), principal.expires_at),
        requests_per_minute=keys.capped(values.get("requests_per_minute"), principal.requests_per_minute),
    )
    return 201, {**_shown(key, _org(principal)), "key": raw}


def _peer(principal: Principal, key: str | None) -> Any:
    if not key:
        return None
    peer = get_subject(principal.account_id, key=key)
    if peer is None or peer.kind not in PEER_KINDS:
        raise NotFound("No peer goes by that key.", code="peer_not_found", field="peer_key")
    return peer


def _org(principal: Principal) -> str:
    return Account.objects.values_list("key", flat=True).get(pk=principal.account_id)


def _shown(key: ApiKey, org: str) -> dict[str, Any]:
    path = key.scope_limit.path if key.scope_limit else None
    return {
        "id": key.id,
        "prefix": key.prefix,
        "label": key.label,
        "org_id": org,
        "project_id": project_id_of(path) if path else None,
        "scope": path,
        "rights": key.rights,
        "delegated": key.delegated,
        "peer_key": key.peer.key if key.peer else None,
        "requests_per_minute": key.requests_per_minute,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }
