"""Which profile a call gets: the nearest override upwards from its scope, then the account's, then what is built in.

The active overrides of an account are read by one query and remembered for five seconds, the time for which places are
remembered as well, so that a busy account's calls read none.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from functools import partial

from django.conf import settings as deployment
from django.db import transaction

from facts.errors import DomainError
from facts.tenancy import account_transaction, ancestor_paths, normalise_path
from retrieval.models import ProfileName, RetrievalProfile
from retrieval.profiles import profile_settings
from retrieval.profiles.shipped import CONTEXT, SEARCH, ContextProfile, SearchProfile

SECONDS = 5.0
CAPACITY = 4_096

log = logging.getLogger(__name__)


#: Overridden profiles by name and scope path; the path is ``None`` for the whole account.
Overrides = Mapping[tuple[str, str | None], ContextProfile | SearchProfile]

_remembered: dict[uuid.UUID, tuple[float, Overrides]] = {}


def resolve_context(*, account_id: uuid.UUID, path: str | None) -> ContextProfile:
    """Return the ``context`` profile of a call at the scope ``path``, which need not exist; ``None``: at no scope.

    May be called inside and outside of the account's transaction; reads nothing while the account is remembered.
    """
    return _nearest(account_id, path, ProfileName.CONTEXT) or CONTEXT


def resolve_search(*, account_id: uuid.UUID, path: str | None, name: str) -> SearchProfile:
    """Return the search profile ``name`` of a call at the scope ``path``; as :func:`resolve_context`.

    Raises ``DomainError`` (``unknown_profile``); ``minimal`` is known only where the operator switched it on.
    """
    if name not in SEARCH or (name == ProfileName.MINIMAL and not deployment.MEMHOUSE_EXPERIMENTAL_MINIMAL_RECALL):
        raise profile_settings.unknown_profile()
    return _nearest(account_id, path, name) or SEARCH[name]


def resolve_as_if(
    *, account_id: uuid.UUID, path: str, name: str, place: str | None, proposed: ContextProfile | SearchProfile | None
) -> ContextProfile | SearchProfile:
    """Return the profile of a call at ``path`` if ``proposed`` were the override at ``place``; ``None``: no override.

    ``place`` is a scope's path, ``None`` for the whole account.
    """
    others = {where: profile for where, profile in _of_account(account_id).items() if where != (name, place)}
    chosen = _choose(others if proposed is None else {**others, (name, place): proposed}, path, name)
    return chosen or (CONTEXT if name == ProfileName.CONTEXT else SEARCH[name])


def forget(account_id: uuid.UUID | None = None) -> None:
    """Drop what this process remembers of the account, or of all."""
    if account_id is None:
        _remembered.clear()
    else:
        _remembered.pop(account_id, None)


def forget_after_commit(account_id: uuid.UUID) -> None:
    """Drop what this process remembers now, for the rest of the transaction, and again once it is committed.

    Other processes notice within :data:`SECONDS`.
    """
    forget(account_id)
    transaction.on_commit(partial(forget, account_id))


def _nearest(account_id: uuid.UUID, path: str | None, name: str) -> ContextProfile | SearchProfile | None:
    return _choose(_of_account(account_id), path, name)


def _choose(overrides: Overrides, path: str | None, name: str) -> ContextProfile | SearchProfile | None:
    if not overrides:
        return None
    here = None if path is None else normalise_path(path)
    chain = (None,) if here is None else (here, *ancestor_paths(here), None)
    return next((overrides[name, place] for place in chain if (name, place) in overrides), None)


def _of_account(account_id: uuid.UUID) -> Overrides:
    known = _remembered.get(account_id)
    if known is not None and known[0] > time.monotonic():
        return known[1]
    overrides = _read(account_id)
    if len(_remembered) >= CAPACITY:
        _remembered.clear()
    _remembered[account_id] = (time.monotonic() + SECONDS, overrides)
    return overrides


def _read(account_id: uuid.UUID) -> Overrides:
    """Return the active overrides. One that breaks the bounds of this version of the program is left out and logged."""
    with account_transaction(account_id):
        rows = list(
            RetrievalProfile.objects.filter(account_id=account_id, active=True).values_list(
                "name", "scope__path", "version", "settings"
            )
        )
    overrides = {}
    for name, path, version, settings in rows:
        try:
            overrides[name, path] = profile_settings.applied(name, settings, version=version)
        except DomainError as error:
            log.warning("override %s of profile %s at %s is not applied: %s", version, name, path, error.message)
    return overrides
