"""Where a call reads, about whom, and as whom: resolved by the rules of access, and remembered for a moment.

An app asks about the same few subjects again and again. What was found is used again for five seconds, the
time for which a key is remembered as well; what was not found is looked up every time.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from facts.audience import Reader
from facts.models import Scope, Subject
from facts.tenancy import account_transaction, get_subject, normalise_path, resolve_identity
from governance import access
from governance.access import Principal
from retrieval.visibility import Visibility

SECONDS = 5.0
CAPACITY = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a call names its place. ``exact``: only the scope itself, without its ancestors."""

    scope_path: str
    exact: bool
    subject_key: str = ""
    subject_alias: tuple[str, str] | None = None
    peer_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The scopes a call may read, nearest first and possibly none, the subject it names, and its reader."""

    path: str
    scopes: Sequence[Scope]
    subject: Subject | None
    reader: Reader

    @property
    def scope(self) -> Scope | None:
        """The scope that the call named, where it exists and may be read."""
        return next((scope for scope in self.scopes if scope.path == self.path), None)

    @property
    def profile_path(self) -> str | None:
        """The path whose profiles the call goes by: of the nearest scope that may be read, or the account's (``None``).

        A scope that may not be read looks as if it were not there, in what its profile is called too.
        """
        return self.scopes[0].path if self.scopes else None


_places: dict[tuple[Principal, Asked], tuple[float, Place]] = {}


def resolve(principal: Principal, asked: Asked) -> Place:
    """Return the place of a call, inside its account; raises ``DomainError`` for what the caller may not ask."""
    return _remembered(principal, asked) or _looked_up(principal, asked)


def resolve_alone(principal: Principal, asked: Asked) -> Place:
    """Return the place of a call as :func:`resolve`, outside of any transaction; none is opened for what is known."""
    known = _remembered(principal, asked)
    if known is not None:
        return known
    with account_transaction(principal.account_id):
        return _looked_up(principal, asked)


def _remembered(principal: Principal, asked: Asked) -> Place | None:
    until, place = _places.get((principal, asked), (0.0, None))
    return place if until > time.monotonic() else None


def _looked_up(principal: Principal, asked: Asked) -> Place:
    """Return the place, and remember it unless something that was named is not there."""
    place = _look_up(principal, asked)
    names_subject = bool(asked.subject_key or asked.subject_alias)
    if place.scope is not None and (place.subject is not None or not names_subject):
        if len(_places) >= CAPACITY:
            _places.clear()
        _places[principal, asked] = (time.monotonic() + SECONDS, place)
    return place


def visibility(place: Place, asked: Asked, *, account_id: uuid.UUID, at: datetime, now: datetime) -> Visibility:
    """Return what a read at ``place`` may see: with an exact scope only the subject's own, nothing of an unknown one.

    ``at`` is the question's time, ``now`` the present.
    """
    named_but_unknown = asked.exact and asked.subject_key != "" and place.subject is None
    return Visibility(
        account_id=account_id,
        scope_ids=() if named_but_unknown else tuple(scope.id for scope in place.scopes),
        subject_id=place.subject.id if asked.exact and place.subject else None,
        reader=place.reader,
        at=at,
        now=now,
    )


def forget() -> None:
    """Drop what this process remembers."""
    _places.clear()


def _look_up(principal: Principal, asked: Asked) -> Place:
    access.require_right(principal, access.Right.READ)
    scopes = access.readable_scopes(principal, asked.scope_path, exact=asked.exact)
    if asked.subject_alias:
        platform, value = asked.subject_alias
        subject = resolve_identity(principal.account_id, platform=platform, value=value)
    else:
        subject = get_subject(principal.account_id, key=asked.subject_key) if asked.subject_key else None
    return Place(
        path=normalise_path(asked.scope_path),
        scopes=scopes,
        subject=subject,
        reader=access.resolve_reader(principal, peer_key=asked.peer_key, subject=subject),
    )
