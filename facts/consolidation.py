"""Planning what a candidate means for what is already believed. Pure: no database, no clock, no side effect.

The planner looks at one subject's facts, its open conflict sets and what is suppressed, and says what should happen.
The gates decide whether it may, and ``governance.placement`` carries it out. The rules are tried in the order in which
they stand in :func:`plan`; the first that applies wins.

Words used here: two claims are *about the same thing* when predicate and qualifiers are equal (their identity key).
They *oppose* each other when they cannot both hold: two different values, or a value and its denial. A denial of one
value says nothing against another value. A candidate is *over* when it states its own end and that has come.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from facts.canonical import canonical
from facts.vocabulary import TRUST_RANK, ConflictKind, EvidenceLevel, Form, Status

#: Statuses of a fact that is believed now. The others of a subject's live facts are waiting for a decision.
_CURRENT = frozenset({Status.ACTIVE})
_WAITING = frozenset({Status.CANDIDATE, Status.PROVISIONAL, Status.HELD, Status.NEEDS_REVALIDATION, Status.DISPUTED})
_HISTORY = frozenset({Status.SUPERSEDED, Status.EXPIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The comparable part of a statement. ``predicate == ""``: no claim, compare by ``statement_hash`` alone.

    ``identity_key`` is the digest of predicate and qualifiers, ``value_key`` of the affirmed or denied value.
    """

    statement_hash: str
    predicate: str = ""
    identity_key: str = ""
    value_key: str = ""
    value: Mapping[str, Any] | None = None
    qualified: bool = False
    denies: bool = False
    form: str = Form.STATE

    @property
    def is_state(self) -> bool:
        """Whether the claim has one current value."""
        return bool(self.predicate) and self.form == Form.STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fact of the subject as the planner sees it.

    ``since``, ``said_at``: the times of the oldest and the newest event that state it. ``stated_identity``: its
    identity key as the source stated it, where a person's dismissal has set it apart since.
    """

    id: uuid.UUID
    status: str
    claim: Claim
    since: datetime
    said_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None = None
    start_assumed: bool = True
    came_by_marker: bool = False
    origin_trust: str
    evidence_level: str = EvidenceLevel.DIRECT
    event_ids: frozenset[uuid.UUID] = frozenset()
    stated_identity: str = ""

    @property
    def took_effect(self) -> datetime:
        """When it became true as far as was said: when it was first stated, or from a later stated start on."""
        if self.start_assumed or self.valid_from is None:
            return self.since
        return max(self.since, self.valid_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSet:
    """An open conflict set: the facts that are still its members, and which of them it withholds."""

    id: uuid.UUID
    kind: str
    member_ids: frozenset[uuid.UUID]
    withheld_ids: frozenset[uuid.UUID] = frozenset()
    identity_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionRule:
    """What must not come back, and the fact that it came from, if that is known.

    ``evidence_until`` set: only for evidence dated up to then.
    """

    id: uuid.UUID
    cause: str
    fact_id: uuid.UUID | None = None
    identity_key: str = ""
    value_key: str = ""
    statement_hash: str = ""
    evidence_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A candidate ready to be compared: its claim, its times and how far its source is to be believed.

    ``marker``: its own words announce a change. ``starts_at``: the stated start, else the event's time; ``None`` for
    what was over when it was said and nobody said since when. ``fact_id`` is set when an already written fact is
    planned again (at approval, or when its conflict dissolved).
    """

    claim: Claim
    event_id: uuid.UUID
    said_at: datetime
    starts_at: datetime | None
    start_stated: bool = False
    ends_at: datetime | None = None
    end_stated: bool = False
    marker: bool = False
    origin_trust: str
    evidence_level: str = EvidenceLevel.DIRECT
    human: bool = True
    fact_id: uuid.UUID | None = None

    @property
    def takes_effect(self) -> datetime:
        """From when it speaks: an announced later start counts, a backdated one does not make it older."""
        return self.said_at if self.starts_at is None else max(self.said_at, self.starts_at)


class Verb(StrEnum):
    """What should happen to a candidate."""

    DROP = "drop"
    NOTHING = "nothing"
    REINFORCE = "reinforce"
    LINK = "link"
    JOIN_CONFLICT = "join_conflict"
    PLACE_IN_HISTORY = "place_in_history"
    SUPERSEDE = "supersede"
    SCHEDULE = "schedule"
    OPEN_CONFLICT = "open_conflict"
    CREATE = "create"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The planner's answer.

    ``targets``   the facts concerned: the one repeated, those superseded, the other sides of the conflict, or those
                  whose suppression drops the candidate.
    ``set_id``    the open set to join.
    ``kind``      the kind of conflict to open, or what the joined one becomes; ``withheld`` the facts it hides (the
                  candidate: ``hides_candidate``).
    ``value``     the value to store after carrying over what an update left unsaid.
    ``clears_start``  superseded facts whose assumed start would come after their end, so that it becomes unknown.
    ``ends_at``   for history: when the placed fact stopped being true; ``truncates`` earlier facts that end where it
                  begins.
    ``ended``     facts about the same thing whose own stated end has passed; they expire when the candidate is placed.
    ``possible``  near matches that may contradict; opening that set hides nothing.
    ``reason``    a stable word that says which rule applied.
    """

    verb: Verb
    reason: str
    targets: tuple[uuid.UUID, ...] = ()
    set_id: uuid.UUID | None = None
    kind: str = ""
    withheld: tuple[uuid.UUID, ...] = ()
    hides_candidate: bool = True
    value: Mapping[str, Any] | None = None
    clears_start: tuple[uuid.UUID, ...] = ()
    ends_at: datetime | None = None
    truncates: tuple[uuid.UUID, ...] = ()
    ended: tuple[uuid.UUID, ...] = ()
    possible: tuple[uuid.UUID, ...] = ()


def opposes(one: Claim, other: Claim) -> bool:
    """Tell whether two claims cannot both hold at one time.

    Different qualifiers never collide, except that an unqualified claim is about every condition.
    """
    if not (one.is_state and other.is_state) or one.predicate != other.predicate:
        return False
    if one.identity_key != other.identity_key and one.qualified == other.qualified:
        return False
    if one.denies and other.denies:
        return False
    same_value = _bare_value(one) == _bare_value(other)
    return same_value if one.denies or other.denies else not same_value


def _bare_value(claim: Claim) -> Any:
    return canonical(claim.value) if claim.value is not None else None


def _says_the_same(proposal: Claim, known: Known) -> bool:
    if not (proposal.predicate and known.claim.predicate):
        return proposal.statement_hash == known.claim.statement_hash
    if proposal.identity_key not in {known.claim.identity_key, known.stated_identity}:
        return False
    return proposal.value_key == known.claim.value_key or _restates_part(proposal, known.claim)


def _restates_part(claim: Claim, known: Claim) -> bool:
    """Whether a state leaves unsaid some of what is known and agrees in the rest, as after an update it will."""
    if claim.denies or known.denies or not (claim.is_state and known.is_state):
        return False
    stated, whole = _bare_value(claim), _bare_value(known)
    return bool(stated) and stated.items() <= whole.items()


def _repeats(proposal: Proposal, known: Known) -> bool:
    """Whether the candidate says again what ``known`` says; occurrences must also be of the same time."""
    if not _says_the_same(proposal.claim, known):
        return False
    if proposal.claim.form == Form.EVENT and proposal.claim.predicate and known.valid_from != proposal.starts_at:
        other_time = proposal.start_stated and not known.start_assumed
        return not other_time and proposal.claim.statement_hash == known.claim.statement_hash
    return True


def plan(
    proposal: Proposal,
    *,
    facts: Sequence[Known],
    open_sets: Sequence[OpenSet] = (),
    suppressions: Sequence[SuppressionRule] = (),
    near: Sequence[uuid.UUID] = (),
    separated_from: frozenset[uuid.UUID] = frozenset(),
    now: datetime,
) -> Plan:
    """Return what the candidate means for what is believed.

    ``near`` are facts within the embedder's distance, nearest first; ``separated_from`` those that a person said do not
    contradict the fact being planned again. Times are aware. The order of ``facts`` and ``open_sets`` does not matter.
    """
    suppressing = _suppressing(proposal, suppressions)
    if suppressing:
        cause = suppressing[0].cause
        origins = {rule.fact_id for rule in suppressing if rule.cause == cause and rule.fact_id is not None}
        return Plan(verb=Verb.DROP, reason=f"suppressed_{cause}", targets=tuple(sorted(origins)))

    others = sorted(
        (known for known in facts if known.id != proposal.fact_id and known.id not in separated_from),
        key=lambda known: known.id,
    )
    ended = tuple(known.id for known in others if _has_ended(known, proposal, now))
    others = [replace(known, status=Status.EXPIRED) if known.id in ended else known for known in others]
    return replace(_plan(proposal, others, open_sets, near, now), ended=ended)


def _plan(
    proposal: Proposal, others: Sequence[Known], open_sets: Sequence[OpenSet], near: Sequence[uuid.UUID], now: datetime
) -> Plan:
    over = proposal.end_stated and proposal.ends_at is not None and proposal.ends_at <= now
    same = [known for known in others if _repeats(proposal, known)]

    again = _already_evidence(proposal, same, others)
    if again is not None:
        return again

    repeated = _repetition(proposal, [known for known in same if not (over and _goes_on_after(known, proposal))])
    if repeated is not None:
        return repeated

    if proposal.claim.form == Form.EVENT or not (proposal.claim.is_state or over):
        return Plan(verb=Verb.CREATE, reason="new")

    current = [known for known in others if Status(known.status) in _CURRENT and known.claim.is_state]
    opposed = [known for known in current if opposes(proposal.claim, known.claim)]
    # What says that it is over speaks against whoever says that it goes on.
    if over:
        opposed += [known for known in current if known in same and _outlasts(known, proposal)]

    joined = _open_conflict(proposal, others, open_sets)
    if joined is not None:
        return joined

    placed = _history(proposal, others, same, opposed, over=over)
    if placed is not None:
        return placed

    update = None if over else _update(proposal, opposed, now)
    if update is not None:
        return update

    if opposed:
        return _contradiction(proposal, opposed)

    return Plan(verb=Verb.CREATE, reason="new", possible=_possible(proposal, current, near))


def _has_ended(known: Known, proposal: Proposal, now: datetime) -> bool:
    """Whether a current fact about the same thing ended by its own words, before the candidate begins."""
    return (
        Status(known.status) in _CURRENT
        and known.claim.is_state
        and known.claim.identity_key == proposal.claim.identity_key
        and known.valid_to is not None
        and known.valid_to <= now
        and proposal.starts_at is not None
        and known.valid_to <= proposal.starts_at
    )


def _goes_on_after(known: Known, proposal: Proposal) -> bool:
    """Whether ``known`` is believed to hold after the candidate's end."""
    return known.valid_to is None or (proposal.ends_at is not None and known.valid_to > proposal.ends_at)


def _outlasts(known: Known, proposal: Proposal) -> bool:
    """Whether a current fact held before the candidate's stated end and is believed to go on after it."""
    began = known.valid_from is None or (proposal.ends_at is not None and known.valid_from < proposal.ends_at)
    return Status(known.status) in _CURRENT and began and _goes_on_after(known, proposal)


def _already_evidence(proposal: Proposal, same: Sequence[Known], others: Sequence[Known]) -> Plan | None:
    """Rule 1: the same event never counts twice, whatever condition a person has put to its fact meanwhile.

    What was withdrawn blocks nothing: the event may say it again.
    """
    for known in others:
        if Status(known.status) is Status.RETRACTED:
            continue
        same_words = known.claim.statement_hash == proposal.claim.statement_hash
        if proposal.event_id in known.event_ids and (same_words or known in same):
            return Plan(verb=Verb.NOTHING, reason="already_evidence", targets=(known.id,))
    return None


def _suppressing(proposal: Proposal, rules: Sequence[SuppressionRule]) -> list[SuppressionRule]:
    """Return the rules that keep the candidate out, those that block for good first."""
    met = []
    for rule in sorted(rules, key=lambda rule: (rule.evidence_until is not None, rule.id)):
        if rule.evidence_until is not None and proposal.said_at > rule.evidence_until:
            continue
        by_claim = bool(rule.identity_key) and (
            (rule.identity_key, rule.value_key) == (proposal.claim.identity_key, proposal.claim.value_key)
        )
        by_text = bool(rule.statement_hash) and rule.statement_hash == proposal.claim.statement_hash
        if by_claim or by_text:
            met.append(rule)
    return met


def _repetition(proposal: Proposal, same: Sequence[Known]) -> Plan | None:
    """Rule 2: the same again strengthens what is believed, or what waits; a new human source counts, others do not."""
    for statuses in (_CURRENT, _WAITING):
        for known in same:
            if Status(known.status) in statuses:
                verb = Verb.REINFORCE if proposal.human else Verb.LINK
                return Plan(verb=verb, reason="repeated", targets=(known.id,))
    return None


def _open_conflict(proposal: Proposal, others: Sequence[Known], open_sets: Sequence[OpenSet]) -> Plan | None:
    """Rule 3: whoever speaks about what is already disputed joins the dispute, marker or not.

    A contradiction hides all its members. In a quarantine the newcomer is measured against those that are still served.
    """
    by_id = {known.id: known for known in others}
    contradictions_first = sorted(open_sets, key=lambda one: (one.kind != ConflictKind.CONTRADICTION, one.id))
    for open_set in contradictions_first:
        members = [by_id[member] for member in sorted(open_set.member_ids) if member in by_id]
        if open_set.kind == ConflictKind.POSSIBLE or not any(
            opposes(proposal.claim, member.claim)
            and proposal.claim.identity_key in {member.claim.identity_key, open_set.identity_key}
            for member in members
        ):
            continue
        joined = Plan(
            verb=Verb.JOIN_CONFLICT,
            reason="conflict_open",
            set_id=open_set.id,
            kind=open_set.kind,
            targets=tuple(member.id for member in members),
        )
        served = [
            member
            for member in members
            if member.id not in open_set.withheld_ids
            and Status(member.status) in _CURRENT
            and opposes(proposal.claim, member.claim)
        ]
        if open_set.kind == ConflictKind.CONTRADICTION or not served:
            return joined
        against = _contradiction(proposal, served)
        return replace(joined, kind=against.kind, withheld=against.withheld, hides_candidate=against.hides_candidate)
    return None


def _history(
    proposal: Proposal, others: Sequence[Known], same: Sequence[Known], opposed: Sequence[Known], *, over: bool
) -> Plan | None:
    """Rule 4: what is over already, or was overtaken by a stated change, goes into history and never wins."""
    if over and any(known in same for known in opposed):
        return None
    overtaken = any(_overtook(known, proposal) for known in opposed)
    if not (over or overtaken):
        return None
    start = proposal.starts_at
    for known in same:
        if Status(known.status) in _CURRENT | _HISTORY and _covers(known, proposal):
            return Plan(verb=Verb.LINK, reason="already_history", targets=(known.id,))
    timeline = [
        known
        for known in others
        if Status(known.status) in _CURRENT | _HISTORY
        and known.claim.is_state
        and known.claim.identity_key == proposal.claim.identity_key
        and not known.claim.denies
    ]
    followers = timeline + [known for known in opposed if _overtook(known, proposal)]
    later_starts = [
        known.valid_from for known in followers if start and known.valid_from is not None and known.valid_from > start
    ]
    ends = [moment for moment in (proposal.ends_at, min(later_starts, default=None)) if moment is not None]
    return Plan(
        verb=Verb.PLACE_IN_HISTORY,
        reason="stated_end" if over else "arrived_late",
        targets=tuple(known.id for known in opposed if known.came_by_marker),
        ends_at=min(ends) if ends else start,
        truncates=tuple(
            known.id
            for known in timeline
            if Status(known.status) in _HISTORY
            and known.claim.value_key != proposal.claim.value_key
            and start is not None
            and known.valid_from is not None
            and known.valid_from < start
            and (known.valid_to is None or known.valid_to > start)
        ),
    )


def _overtook(known: Known, proposal: Proposal) -> bool:
    """Whether ``known`` announced a change that took effect after the time the candidate speaks of."""
    return known.came_by_marker and proposal.takes_effect < known.took_effect


def _covers(known: Known, proposal: Proposal) -> bool:
    """Whether ``known`` holds at the candidate's start, or just before its end where the start is unknown."""
    moment = proposal.starts_at
    if moment is None:
        moment = (proposal.ends_at or proposal.said_at) - datetime.resolution
    started = known.valid_from is None or known.valid_from <= moment
    return started and (known.valid_to is None or moment < known.valid_to)


def _equally_direct_and_trusted(proposal: Proposal, known: Known) -> bool:
    direct = proposal.evidence_level == EvidenceLevel.DIRECT or known.evidence_level != EvidenceLevel.DIRECT
    return direct and TRUST_RANK[proposal.origin_trust] >= TRUST_RANK[known.origin_trust]


def _update(proposal: Proposal, opposed: Sequence[Known], now: datetime) -> Plan | None:
    """Rule 5: a change that the source itself announces ends the old value where the new one starts.

    What it ends may be the old value and an earlier denial of the new one. Anything that does not fit in time, trust or
    condition leaves the decision to people.
    """
    start = proposal.starts_at
    if not (proposal.marker and opposed and start) or not all(_gives_way(old, proposal) for old in opposed):
        return None
    value = proposal.claim.value
    affirmed = [old for old in opposed if not old.claim.denies]
    if affirmed and not proposal.claim.denies:
        value = _carried_over(affirmed[0].claim.value or {}, value or {})
        if canonical(value) == canonical(affirmed[0].claim.value):
            return Plan(
                verb=Verb.REINFORCE if proposal.human else Verb.LINK, reason="repeated", targets=(affirmed[0].id,)
            )
    return Plan(
        verb=Verb.SCHEDULE if start > now else Verb.SUPERSEDE,
        reason="starts_later" if start > now else "update_marker",
        targets=tuple(old.id for old in opposed),
        value=value,
        clears_start=tuple(old.id for old in opposed if _inverts(proposal, old)),
    )


def _gives_way(old: Known, proposal: Proposal) -> bool:
    """Whether an announced change may end ``old``: the same thing, not newer, not better supported, in a right order.

    A change that was announced before ``old`` was itself announced as one does not say which of the two holds.
    """
    return (
        old.claim.identity_key == proposal.claim.identity_key
        and proposal.takes_effect >= old.said_at
        and not (old.came_by_marker and proposal.said_at < old.since)
        and _equally_direct_and_trusted(proposal, old)
        and (old.start_assumed or not _inverts(proposal, old))
    )


def _inverts(proposal: Proposal, old: Known) -> bool:
    return old.valid_from is not None and proposal.starts_at is not None and proposal.starts_at < old.valid_from


def _carried_over(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Overlay the new keys on the old value; a key given as ``None`` is removed."""
    merged = {**old, **new}
    return {key: item for key, item in merged.items() if item is not None}


def _contradiction(proposal: Proposal, opposed: Sequence[Known]) -> Plan:
    """Rule 6: never guess. Between unequal sources only the less trusted side is hidden, else all of them."""
    mine = TRUST_RANK[proposal.origin_trust]
    theirs = [TRUST_RANK[known.origin_trust] for known in opposed]
    ids = tuple(known.id for known in opposed)
    if all(mine < rank for rank in theirs):
        return Plan(verb=Verb.OPEN_CONFLICT, reason="less_trusted", targets=ids, kind=ConflictKind.QUARANTINE)
    if all(mine > rank for rank in theirs):
        return Plan(
            verb=Verb.OPEN_CONFLICT,
            reason="more_trusted",
            targets=ids,
            kind=ConflictKind.QUARANTINE,
            withheld=ids,
            hides_candidate=False,
        )
    unqualified = any(known.claim.identity_key != proposal.claim.identity_key for known in opposed)
    return Plan(
        verb=Verb.OPEN_CONFLICT,
        reason="one_side_unqualified" if unqualified else "different_value",
        targets=ids,
        kind=ConflictKind.CONTRADICTION,
        withheld=ids,
    )


def _possible(proposal: Proposal, current: Sequence[Known], near: Sequence[uuid.UUID]) -> tuple[uuid.UUID, ...]:
    """Near claims under another predicate: perhaps the same thing by another name. Marked, never hidden."""
    by_id = {known.id: known for known in current}
    return tuple(
        fact_id for fact_id in near if fact_id in by_id and by_id[fact_id].claim.predicate != proposal.claim.predicate
    )
