"""Reading again as somebody read before: where, as whom and by which profile, under the permissions of today.

A trace names the credential and the reader. Neither may see more now than today's rules give them, and nothing is left
to a credential that is gone.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from facts.audience import Posture, Reader
from facts.errors import DomainError, Refused
from facts.models import Membership, Scope, Subject
from facts.tenancy import ancestor_paths
from governance import access
from governance.access import Principal, Right
from governance.models import ApiKey
from retrieval.models import ProfileName, Trace
from retrieval.places import Place
from retrieval.profiles import profile_settings, profile_versions
from retrieval.profiles.shipped import CONTEXT, SEARCH, ContextProfile, SearchProfile


def place_of(trace: Trace) -> Place:
    """Return where and as whom the trace's read would happen today."""
    credential = _credential(trace.account_id, trace.credential_id)
    return Place(
        path=trace.scope_path,
        scopes=_scopes(credential, trace),
        subject=Subject.objects.filter(account_id=trace.account_id, pk=trace.subject_id).first(),
        reader=_reader(credential, trace),
    )


def is_exact(trace: Trace) -> bool:
    """Tell whether the read covered its scope only, and there its subject's facts only.

    Traces that were written before this was recorded count as exact: never wider than they were.
    """
    return bool(trace.request.get("exact", True))


def paths_read(trace: Trace) -> tuple[str, ...]:
    """Return the paths that the read covered, nearest first, whether or not all of them could be read."""
    return (trace.scope_path,) if is_exact(trace) else (trace.scope_path, *ancestor_paths(trace.scope_path))


def known_then(trace: Trace) -> datetime:
    """Return the instant of which the read had the knowledge."""
    return trace.known_at or trace.created_at


def may_read_as(credential: Principal, trace: Trace) -> bool:
    """Tell whether a credential may still read as the reader of a trace that it left."""
    if credential.subject_id == trace.reader_id or Right.READ_FOR_OTHERS in credential.rights:
        return True
    return Right.READ_AS_SUBJECT in credential.rights and trace.subject_id == trace.reader_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileThen:
    """The profile of a trace as far as it can still be had; ``note`` says what is not the same any more."""

    profile: ContextProfile | SearchProfile
    note: str = ""


def profile_of(trace: Trace) -> ProfileThen | None:
    """Return the profile that the trace was read by; ``None`` for one that this version of the program has not."""
    name, _, rest = trace.profile.partition("-")
    version, _, override = rest.partition("-")
    built_in = CONTEXT if name == ProfileName.CONTEXT else SEARCH.get(name)
    if built_in is None:
        return None
    note = ""
    if version != str(built_in.version):
        note = f"Profile {name} has been built anew since: version {version} was read by, {built_in.version} is there."
    if not override:
        return ProfileThen(profile=built_in, note=note)
    row = profile_versions.labelled(trace.account_id, name, override)
    try:
        if row is not None:
            profile = profile_settings.applied(name, row.settings, version=row.version)
            return ProfileThen(profile=profile, note=note)
    except DomainError:
        pass
    return ProfileThen(profile=built_in, note=f"The override {override} of profile {name} is not known any more.")


def _credential(account_id: uuid.UUID, credential_id: uuid.UUID) -> Principal | None:
    """Return the credential as far as it says where may be read; a revoked key still does, for whoever asks again."""
    membership = Membership.objects.filter(account_id=account_id, pk=credential_id).select_related("user").first()
    if membership is not None:
        return access.person(membership) if membership.user.is_active else None
    key = ApiKey.objects.filter(account_id=account_id, pk=credential_id).select_related("scope_limit").first()
    if key is None:
        return None
    return Principal(
        account_id=account_id,
        name=key.label,
        is_person=False,
        key_id=key.pk,
        subject_id=key.peer_id,
        rights=frozenset(key.rights),
        scope_limit=key.scope_limit.path if key.scope_limit else None,
    )


def _scopes(credential: Principal | None, trace: Trace) -> list[Scope]:
    if credential is None:
        return []
    try:
        return access.readable_scopes(credential, trace.scope_path, exact=is_exact(trace))
    except Refused:
        return []


def _reader(credential: Principal | None, trace: Trace) -> Reader:
    """Return the reader; nobody in particular where the credential may not read as them any more.

    Restricted facts only as far as they are granted today, to the person who read.
    """
    if trace.reader_id is None or credential is None or not may_read_as(credential, trace):
        return Reader(posture=Posture.PUBLIC_ONLY)
    own = credential.is_person and credential.subject_id == trace.reader_id
    restricted = own and access.resolve_reader(credential).restricted
    return Reader(posture=Posture.PEER, subject_id=trace.reader_id, restricted=restricted)
