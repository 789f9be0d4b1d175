"""Changing how an account reads: new versions of overrides, switching one off, going back, and their history.

Only account administrators do, each change with its reason. Two of them at once do not overwrite each other: a change
names the version that it was made from.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from facts import audit
from facts.canonical import has_control_characters
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Scope
from governance.access import Principal, has_role
from governance.models import Role
from retrieval.models import ProfileAction, ProfileName, RetrievalProfile
from retrieval.profiles import overrides, profile_settings

NOTE_LENGTH = 500


def require_administrator(principal: Principal) -> None:
    """Raise ``Refused`` unless the caller is a person who administers the account.

    A key decides nothing here (``human_required``), another person neither (``forbidden``).
    """
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    if not has_role(principal, "/", Role.ACCOUNT_ADMIN):
        raise Refused("Only account administrators change how the account reads.", code="forbidden")


def save(
    principal: Principal,
    *,
    name: str,
    scope: Scope | None,
    settings: Mapping[str, Any],
    note: str,
    expected: int | None,
) -> RetrievalProfile:
    """Make ``settings`` the override of the profile ``name`` for ``scope``, ``None`` for the whole account.

    ``expected`` is the active version that the change was made from, ``None`` when there was none.
    Raises ``DomainError`` (``invalid_profile``, ``unknown_profile``, ``note_missing``), ``Conflicting``
    (``stale_version``) and what :func:`require_administrator` raises.
    """
    require_administrator(principal)
    checked = profile_settings.check(_changeable(name), settings)
    return _write(principal, name, scope, checked, ProfileAction.SAVED, note, expected)


def switch_off(
    principal: Principal, *, name: str, scope: Scope | None, note: str, expected: int | None
) -> RetrievalProfile:
    """End the override of ``name`` for ``scope``: what is next upwards holds there again. Raises as :func:`save`."""
    require_administrator(principal)
    if expected is None:
        raise NotFound("There is no such override.", code="profile_version_not_found", field="version")
    return _write(principal, _changeable(name), scope, {}, ProfileAction.SWITCHED_OFF, note, expected)


def go_back(
    principal: Principal, *, name: str, scope: Scope | None, version: int, note: str, expected: int | None
) -> RetrievalProfile:
    """Make the settings of an earlier ``version`` hold again, as a new version.

    Raises as :func:`save`, and ``NotFound`` (``profile_version_not_found``).
    """
    require_administrator(principal)
    earlier = history(principal.account_id, name=name, scope=scope).filter(version=version).first()
    if earlier is None or earlier.action == ProfileAction.SWITCHED_OFF:
        raise NotFound("There is no such version.", code="profile_version_not_found", field="version")
    checked = profile_settings.check(_changeable(name), earlier.settings)
    return _write(principal, name, scope, checked, ProfileAction.REVERTED, note, expected)


def history(account_id: uuid.UUID, *, name: str, scope: Scope | None) -> QuerySet[RetrievalProfile]:
    """Return all versions of an override, newest first."""
    return RetrievalProfile.objects.filter(account_id=account_id, name=name, scope=scope).order_by("-version")


def active(account_id: uuid.UUID, *, name: str, scope: Scope | None) -> RetrievalProfile | None:
    """Return the version that holds now, ``None`` when nothing is overridden there."""
    return history(account_id, name=name, scope=scope).filter(active=True).first()


def labelled(account_id: uuid.UUID, name: str, override: str) -> RetrievalProfile | None:
    """Return a version whose settings go by the label ``override`` (``profile_settings.label``)."""
    number, _, _ = override.partition("-")
    if not (number.isascii() and number.isdigit()) or len(number) > 9:
        return None
    rows = RetrievalProfile.objects.filter(account_id=account_id, name=name, version=int(number)).order_by("id")
    return next((row for row in rows if profile_settings.label(row.settings, row.version) == override), None)


def _changeable(name: str) -> str:
    if name in ProfileName.values and not profile_settings.settings_of(name):
        raise DomainError(f"Nothing of the profile {name} can be changed.", code="invalid_profile", field="profile")
    return name


def _write(
    principal: Principal,
    name: str,
    scope: Scope | None,
    settings: Mapping[str, float | int],
    action: ProfileAction,
    note: str,
    expected: int | None,
) -> RetrievalProfile:
    note = _reason(note)
    account_id = principal.account_id
    versions = history(account_id, name=name, scope=scope)
    holding = versions.filter(active=True).select_for_update().first()
    if (holding.version if holding else None) != expected:
        raise _changed()
    row = RetrievalProfile(
        account_id=account_id,
        scope=scope,
        name=name,
        version=(versions.aggregate(newest=Max("version"))["newest"] or 0) + 1,
        action=action,
        settings=settings,
        active=action != ProfileAction.SWITCHED_OFF,
        note=note,
        created_by=principal.name[:200],
    )
    if holding is not None:
        RetrievalProfile.objects.filter(account_id=account_id, pk=holding.pk).update(active=False)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise _changed() from None
    audit.record(
        account_id,
        action=f"profile.{action}",
        object_type="retrieval_profile",
        object_id=row.pk,
        actor=principal.actor,
        group=new_id(),
        metadata={
            "name": name,
            "scope_id": str(scope.pk) if scope else None,
            "version": row.version,
            "replaces": expected,
            "settings": profile_settings.label(settings, row.version),
        },
    )
    overrides.forget_after_commit(account_id)
    return row


def _reason(note: str) -> str:
    note = note.strip()
    if not note:
        raise DomainError("Say why it is changed.", code="note_missing", field="note")
    if len(note) > NOTE_LENGTH or has_control_characters(note):
        raise DomainError(
            f"A reason is plain text of at most {NOTE_LENGTH} characters.", code="invalid_profile", field="note"
        )
    return note


def _changed() -> Conflicting:
    return Conflicting("Somebody else changed it meanwhile.", code="stale_version", field="expected")
