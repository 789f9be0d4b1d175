"""Reading a stable profile on behalf of a caller, with the trace that says what was told of whom to whom."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from facts.clock import now
from facts.ids import new_id
from facts.models import Subject
from facts.tenancy import account_transaction
from governance.access import Principal
from retrieval import places
from retrieval.context.packet import EmptyReason, PacketStatus
from retrieval.models import Trace, TraceKind
from retrieval.places import Asked, Place
from retrieval.stable_profile import CONTRACT, MAX_CHARACTERS, StableProfile, stable_profile, unavailable
from retrieval.text import tokens
from retrieval.traces import writing
from retrieval.traces.reasons import MEANING, Action
from retrieval.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """Whose profile is asked for: the reader's, in the place that ``asked`` names. Instants as everywhere."""

    asked: Asked
    purpose: str = ""
    as_of: datetime | None = None
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileAnswer:
    """The profile, the key of the subject that it describes (``None`` for nobody), and its trace."""

    profile: StableProfile
    subject_key: str | None
    reader_posture: str
    trace_id: uuid.UUID


def read_profile(*, principal: Principal, request: ProfileRequest) -> ProfileAnswer:
    """Return the stable profile of the call's reader.

    A call that names a subject which is not its reader gets none, whether or not there is such a subject. Raises
    ``DomainError`` for what the caller may not ask.
    """
    started, moment = perf_counter(), now()
    with account_transaction(principal.account_id, local={"synchronous_commit": "off"}):
        place = places.resolve(principal, request.asked)
        at = request.as_of or request.known_at or moment
        named = request.asked.subject_key or request.asked.subject_alias
        if named and (place.subject is None or place.subject.id != place.reader.subject_id):
            profile = unavailable()
        else:
            visible = Visibility(
                account_id=principal.account_id,
                scope_ids=tuple(scope.id for scope in place.scopes),
                subject_id=place.reader.subject_id,
                reader=place.reader,
                at=at,
                now=moment,
            )
            profile = stable_profile(visible, past=request.as_of is not None, known_at=request.known_at)
        trace = _trace(principal, request, place, profile, at, moment, started)
        writing.write(trace)
        return ProfileAnswer(
            profile=profile,
            subject_key=subject_key_of(profile),
            reader_posture=place.reader.posture.value,
            trace_id=trace.id,
        )


def subject_key_of(profile: StableProfile) -> str | None:
    """Return the key of the subject of a profile, inside its account."""
    if profile.subject_id is None:
        return None
    return Subject.objects.values_list("key", flat=True).get(pk=profile.subject_id)


def _trace(
    principal: Principal,
    request: ProfileRequest,
    place: Place,
    profile: StableProfile,
    at: datetime,
    moment: datetime,
    started: float,
) -> Trace:
    """Return the unsaved trace of the call."""
    decisions = profile.decisions
    withheld = sum(MEANING[decision.reason][0] is Action.BLOCKED for decision in decisions)
    empty = EmptyReason.WITHHELD if withheld else EmptyReason.NO_RELEVANT_MEMORY
    return Trace(
        id=new_id(),
        **writing.asked_by(principal, place, subject_key=request.asked.subject_key),
        kind=TraceKind.PROFILE,
        purpose=request.purpose,
        budget=MAX_CHARACTERS,
        budget_unit="chars",
        request={"exact": request.asked.exact},
        question_time=at,
        as_of=request.as_of,
        known_at=request.known_at,
        profile=CONTRACT,
        ranker=CONTRACT,
        **writing.decided(decisions),
        facts_served=len(profile.items),
        passages_served=0,
        tokens=sum(tokens.estimate(item.statement) for item in profile.items),
        status=PacketStatus.OK.value,
        empty_reason="" if profile.items else empty.value,
        duration_ms=round((perf_counter() - started) * 1000, 2),
        created_at=moment,
    )
