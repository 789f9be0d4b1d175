"""Setting up where deliveries go, by account administrators: every change is audited, and says which one it knows."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from facts import audit
from facts.canonical import has_control_characters
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Scope, Subject
from facts.public_addresses import AddressRefused, check_url
from governance.access import Principal, has_role
from governance.models import Role
from ingest.deliveries import signing
from ingest.models import Delivery, DeliveryKind, DeliveryState, DeliveryTarget, TargetAudience, TargetRecipient

#: The target that built-in rules send to.
OPS = "ops"
#: How long a webhook signs with its former secret as well.
OVERLAP = timedelta(days=1)

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SLACK = re.compile(r"[A-Z0-9]{2,32}/[CGDUW][A-Z0-9]{1,31}")


def require_administrator(principal: Principal) -> None:
    """Raise ``Refused`` (``human_required``, ``forbidden``) unless a person administers the account."""
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    if not has_role(principal, "/", Role.ACCOUNT_ADMIN):
        raise Refused("Only account administrators change this.", code="forbidden")


def create_target(
    principal: Principal,
    *,
    name: str,
    kind: str,
    address: str,
    audience: str,
    scope: Scope | None = None,
    recipients: Sequence[Subject] = (),
) -> DeliveryTarget:
    """Make a target; a webhook gets a secret, which ``secret`` holds. Runs inside the account.

    ``recipients`` are who reads what arrives there: the administrator answers for that. Raises ``DomainError``
    (``invalid_target`` with the field), ``Conflicting`` (``target_exists``) and what
    :func:`require_administrator` raises.
    """
    require_administrator(principal)
    if not _NAME.fullmatch(name):
        raise _invalid("name", "A name has small letters, digits and hyphens.")
    _check(kind=kind, address=address, audience=audience, scope=scope, recipients=recipients)
    if DeliveryTarget.objects.filter(account_id=principal.account_id, name=name).exists():
        raise Conflicting("There is a target of that name.", code="target_exists", field="name")
    target = DeliveryTarget.objects.create(
        account_id=principal.account_id,
        name=name,
        kind=kind,
        address=address,
        audience=audience,
        scope=scope,
        secret=signing.new_secret() if kind == DeliveryKind.WEBHOOK else "",
    )
    _set_recipients(target, recipients)
    _record(principal, target, "delivery_target.created")
    return target


def change_target(
    principal: Principal,
    target_id: uuid.UUID,
    *,
    address: str,
    audience: str,
    enabled: bool,
    scope: Scope | None = None,
    recipients: Sequence[Subject] = (),
    expected_version: int,
) -> DeliveryTarget:
    """Say anew where a target is, who reads it and whether it is used. Raises as :func:`create_target`, and
    ``NotFound`` (``target_not_found``) and ``Conflicting`` (``stale_version``)."""
    require_administrator(principal)
    target = _locked(principal, target_id, expected_version)
    _check(kind=target.kind, address=address, audience=audience, scope=scope, recipients=recipients)
    target.address, target.audience, target.scope, target.enabled = address, audience, scope, enabled
    target.version += 1
    target.save()
    _set_recipients(target, recipients)
    _record(principal, target, "delivery_target.changed")
    return target


def rotate_secret(principal: Principal, target_id: uuid.UUID, *, expected_version: int) -> DeliveryTarget:
    """Give a webhook a new secret; for :data:`OVERLAP` both sign. Raises as :func:`change_target`."""
    require_administrator(principal)
    target = _locked(principal, target_id, expected_version)
    if target.kind != DeliveryKind.WEBHOOK:
        raise _invalid("kind", "Only webhooks have a secret.")
    target.previous_secret, target.previous_secret_until = target.secret, now() + OVERLAP
    target.secret = signing.new_secret()
    target.version += 1
    target.save()
    _record(principal, target, "delivery_target.secret_rotated")
    return target


def secrets_of(target: DeliveryTarget) -> list[str]:
    """Return the secrets that sign now, the newest first."""
    until = target.previous_secret_until
    former = [target.previous_secret] if target.previous_secret and until is not None and until > now() else []
    return [target.secret, *former]


def named(account_id: uuid.UUID, name: str) -> DeliveryTarget | None:
    """Return the target of that name, if there is one."""
    return DeliveryTarget.objects.filter(account_id=account_id, name=name).first()


def dead_letters(account_id: uuid.UUID) -> int:
    """Return how many deliveries of the account were given up and wait for a person."""
    return Delivery.objects.filter(account_id=account_id, state=DeliveryState.DEAD).count()


def _check(*, kind: str, address: str, audience: str, scope: Scope | None, recipients: Sequence[Subject]) -> None:
    if kind not in DeliveryKind.values:
        raise _invalid("kind", "Choose one of these.")
    if audience not in TargetAudience.values:
        raise _invalid("audience", "Choose one of these.")
    if (audience == TargetAudience.SCOPE) != (scope is not None):
        raise _invalid("scope", "A scope goes with the audience 'scope', and only with that.")
    if (audience == TargetAudience.SCOPE) == bool(recipients):
        raise _invalid("recipients", "Name who reads it, unless that is everybody of a scope.")
    if audience == TargetAudience.PERSON and len(recipients) != 1:
        raise _invalid("recipients", "Name one person.")
    if len(address) > 500 or has_control_characters(address) or not _fits(kind, address):
        raise _invalid("address", _ADDRESSES[kind])


_ADDRESSES = {
    DeliveryKind.SLACK: "The workspace and the channel or user, such as T0123/C0456.",
    DeliveryKind.WEBHOOK: "A public address that begins with https:// or http:// and names no user.",
    DeliveryKind.EMAIL: "One mail address.",
}


def _fits(kind: str, address: str) -> bool:
    match kind:
        case DeliveryKind.SLACK:
            return _SLACK.fullmatch(address) is not None
        case DeliveryKind.WEBHOOK:
            return _is_web_address(address)
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True


def _is_web_address(address: str) -> bool:
    try:
        check_url(address)
    except AddressRefused:
        return False
    return True


def _locked(principal: Principal, target_id: uuid.UUID, expected_version: int) -> DeliveryTarget:
    target = DeliveryTarget.objects.select_for_update().filter(account_id=principal.account_id, pk=target_id).first()
    if target is None:
        raise NotFound("There is no such target.", code="target_not_found")
    if target.version != expected_version:
        raise Conflicting("Somebody else has changed it meanwhile.", code="stale_version", field="version")
    return target


def _set_recipients(target: DeliveryTarget, recipients: Sequence[Subject]) -> None:
    TargetRecipient.objects.filter(account_id=target.account_id, target=target).delete()
    TargetRecipient.objects.bulk_create(
        TargetRecipient(account_id=target.account_id, target=target, subject=subject) for subject in recipients
    )


def _invalid(field: str, message: str) -> DomainError:
    return DomainError(message, code="invalid_target", field=field)


def _record(principal: Principal, target: DeliveryTarget, action: str) -> None:
    """Addresses are not in the audit: they may be a person's own."""
    audit.record(
        principal.account_id,
        action=action,
        object_type="delivery_target",
        object_id=target.id,
        actor=principal.actor,
        group=new_id(),
        metadata={
            "kind": target.kind,
            "audience": target.audience,
            "scope": str(target.scope_id) if target.scope_id else None,
            "recipients": [str(pk) for pk in target.recipients.order_by("pk").values_list("pk", flat=True)],
            "enabled": target.enabled,
            "version": target.version,
        },
    )
