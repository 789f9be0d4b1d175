"""Whose a name on a platform is: a person says so where the platform did not, and takes it back.

Whatever was confirmed was said of one subject: it says nothing of the one that this is merged into. Messages to people
go to confirmed names alone (``facts.models.Identity``). Everything here runs in the caller's account transaction, and
the caller has checked who may decide.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection

from facts import audit
from facts.actors import Actor
from facts.errors import Conflicting, NotFound
from facts.ids import new_id
from facts.models import Identity


def confirm(account_id: uuid.UUID, identity_id: uuid.UUID, *, subject_id: uuid.UUID, actor: Actor) -> Identity:
    """Say that a name is its subject's. Of one that is confirmed already it says nothing anew.

    ``subject_id`` is whose it was when the person looked. Raises ``NotFound`` (``identity_not_found``) and
    ``Conflicting`` (``identity_moved``) where it is somebody else's by now.
    """
    identity = _locked(account_id, identity_id)
    if identity.subject_id != subject_id:
        raise Conflicting("This name is somebody else's by now.", code="identity_moved")
    if not identity.confirmed:
        _write(identity, confirmed=True, actor=actor, group=new_id())
    return identity


def take_back(account_id: uuid.UUID, identity_id: uuid.UUID, *, actor: Actor) -> Identity:
    """Say that it is not certain whose a name is, whoever confirmed it; a platform that is certain may say so again.

    Raises ``NotFound`` (``identity_not_found``).
    """
    identity = _locked(account_id, identity_id)
    if identity.confirmed:
        _write(identity, confirmed=False, actor=actor, group=new_id())
    return identity


def doubt_moved(account_id: uuid.UUID, identity_ids: Collection[str], *, actor: Actor, group: uuid.UUID) -> list[str]:
    """Confirm names no more that are another subject's by a merge; return those that their platform had confirmed.

    Who merges must not thereby decide where the questions and messages of the one that stays go.
    """
    moved = Identity.objects.select_for_update().filter(account_id=account_id, pk__in=identity_ids, confirmed=True)
    by_platform = []
    for identity in moved.order_by("id"):
        if identity.confirmed_by is None:
            by_platform.append(str(identity.id))
        _write(identity, confirmed=False, actor=actor, group=group)
    return by_platform


def confirm_returned(
    account_id: uuid.UUID, identity_ids: Collection[str], *, subject_id: uuid.UUID, by_platform: Collection[str]
) -> None:
    """Let names that are their subject's again be confirmed as their platform had; what was said meanwhile was said of
    another one."""
    returned = Identity.objects.filter(account_id=account_id, pk__in=identity_ids, subject_id=subject_id)
    returned.update(confirmed=False, confirmed_by=None)
    returned.filter(pk__in=by_platform).update(confirmed=True)


def _locked(account_id: uuid.UUID, identity_id: uuid.UUID) -> Identity:
    found = Identity.objects.select_for_update().filter(account_id=account_id, pk=identity_id).first()
    if found is None:
        raise NotFound("There is no such name.", code="identity_not_found")
    return found


def _write(identity: Identity, *, confirmed: bool, actor: Actor, group: uuid.UUID) -> None:
    by_platform = identity.confirmed and identity.confirmed_by is None
    identity.confirmed, identity.confirmed_by = confirmed, actor.as_json() if confirmed else None
    identity.save(update_fields=["confirmed", "confirmed_by"])
    audit.record(
        identity.account_id,
        action="identity.confirmed" if confirmed else "identity.doubted",
        object_type="subject",
        object_id=identity.subject_id,
        actor=actor,
        group=group,
        metadata={"identity": str(identity.id), "platform": identity.platform, "by_platform": by_platform},
    )
