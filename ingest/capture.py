"""Taking in what was said: events, their queue entries and the audit record, in one transaction. Calls no model.

A sender may repeat itself: an event is recognised by its own key, else by the key of its batch and its content, else
by its content, subject and time. The same key with other content is refused, and then nothing of the request is kept.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from facts import audit, erased_keys
from facts.clock import now
from facts.errors import Conflicting, DomainError, Refused
from facts.ids import new_id
from facts.locks import hold_subjects
from facts.models import Account, Event, Job, Scope, Subject
from facts.tenancy import account_transaction, ensure_scope, ensure_subject, ensure_subjects
from facts.vocabulary import SENSITIVITY_RANK, OriginTrust, Sensitivity, SourceType, SubjectKind
from governance.access import PEER_KINDS, Principal, Right, Role, check_limit, has_role, require_right
from ingest import batches, line, normalise, opting_out
from ingest.normalise import Turn
from ingest.observations import Observation, fault_in
from ingest.subjects_of import speaker_of_turn, subject_by_alias
from ingest.web import queue

#: Characters that are said in one event, all turns together.
MAX_TEXT = 100_000
#: Turns of one event. A longer conversation is sent in several.
MAX_TURNS = 200
#: The same key and content with another time: the event that was kept first stays as it is.
OTHER_TIME = "known_with_other_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The answer for one event: the id under which it is kept, and whether it was there already."""

    event_id: uuid.UUID
    deduplicated: bool
    revision: int
    notes: tuple[str, ...] = ()
    job_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer for a batch. ``job_id``: the job of its latest event; ``None`` when all were there already."""

    events: tuple[Captured, ...]
    job_id: uuid.UUID | None
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cast:
    """Where something was said, whom it is about, and who said it."""

    scope: Scope
    subject: Subject
    speaker: Subject | None
    turns: tuple[Turn, ...]


def capture(principal: Principal, observations: Sequence[Observation], *, batch_key: str = "") -> Receipt:
    """Keep the observations and queue them for extraction; returns one answer per observation, in order.

    Raises ``Refused`` (``missing_right``, ``forbidden_scope``, ``peer_not_allowed``), ``Conflicting``
    (``idempotency_mismatch``, ``alias_conflict``, ``try_again`` when a subject was erased meanwhile) and
    ``DomainError`` (``missing_scope``, ``empty_text``, ``event_too_large``, ``alias_self_registration_too_long``); the
    field names the event (``events.3.scope``).
    """
    require_right(principal, Right.CAPTURE)
    with account_transaction(principal.account_id):
        casts = _casts(principal, observations)
        people = [one for cast in casts for one in (cast.subject, cast.speaker) if one is not None]
        hold_subjects(principal.account_id, {one.id: one.key for one in people})
        _respect_opt_outs(principal.account_id, observations, casts)
        events = [
            _event(principal.account_id, item, cast, batch_key=batch_key)
            for item, cast in zip(observations, casts, strict=True)
        ]
        answers = _write(principal.account_id, events, observations)
        fresh_ids = {answer.event_id for answer in answers if not answer.deduplicated}
        fresh = [event for event in events if event.id in fresh_ids]
        queued = line.join(principal.account_id, fresh, batches=batches.assign(principal.account_id, fresh))
        queue.queue_pages(principal.account_id, fresh)
        audit.record(
            principal.account_id,
            action="events.captured",
            object_type="capture",
            object_id=new_id(),
            actor=principal.actor,
            group=new_id(),
            metadata={"events": len(answers), "new": len(fresh)},
        )
        return _receipt(principal.account_id, answers, fresh, queued)


def record_revision(principal: Principal, observation: Observation, *, edits: Event) -> Captured:
    """Keep an edit of a known event as its next revision, with the same source key, scope and subject.

    An edit that changes nothing is answered with the revision that says so already. Runs in the caller's account
    transaction, which serialises edits of one event by its lock.
    """
    revisions = Event.objects.select_for_update().filter(account_id=edits.account_id, source_key=edits.source_key)
    latest = max(revisions, key=lambda event: event.revision)
    cast = _Cast(
        scope=latest.scope,
        subject=latest.subject,
        speaker=latest.speaker,
        turns=_turns(observation),
    )
    event = _event(principal.account_id, observation, cast, batch_key="")
    if event.content_hash == latest.content_hash:
        return Captured(event_id=latest.id, deduplicated=True, revision=latest.revision)
    event.source_key, event.revision = latest.source_key, latest.revision + 1
    event.save(force_insert=True)
    queued = line.join(principal.account_id, [event], batches=batches.assign(principal.account_id, [event]))
    queue.queue_pages(principal.account_id, [event])
    audit.record(
        principal.account_id,
        action="event.revised",
        object_type="event",
        object_id=event.id,
        actor=principal.actor,
        group=new_id(),
        metadata={"revision": event.revision, "previous": str(latest.id)},
    )
    return Captured(
        event_id=event.id,
        deduplicated=False,
        revision=event.revision,
        notes=tuple(sorted(observation.notes)),
        job_id=queued[event.id].id,
    )


def _receipt(
    account_id: uuid.UUID, answers: Sequence[Captured], fresh: Sequence[Event], queued: dict[uuid.UUID, Job]
) -> Receipt:
    latest = max(fresh, key=lambda event: (event.occurred_at, event.id), default=None)
    return Receipt(
        events=tuple(
            answer if answer.deduplicated else replace(answer, job_id=queued[answer.event_id].id) for answer in answers
        ),
        job_id=queued[latest.id].id if latest else None,
        policy=Account.objects.values_list("gate_preset", flat=True).get(pk=account_id),
    )


def _casts(principal: Principal, observations: Sequence[Observation]) -> list[_Cast]:
    """Find or create the scopes and subjects of a batch.

    Rows are created in one order whatever the order of the batch, so that two captures never wait for each other.
    """
    turns, paths = [], []
    for position, item in enumerate(observations):
        with fault_in(position):
            turns.append(_turns(item))
            paths.append(_path(principal, item))
    scopes = {path: ensure_scope(principal.account_id, path) for path in sorted(set(paths))}
    own = Subject.objects.get(account_id=principal.account_id, pk=principal.subject_id) if _is_peer(principal) else None
    people = _named_subjects(principal.account_id, observations)
    casts = []
    for position, item in enumerate(observations):
        with fault_in(position):
            subject, speaker = _who(principal, item, turns[position], own=own, people=people)
        casts.append(_Cast(scope=scopes[paths[position]], subject=subject, speaker=speaker, turns=turns[position]))
    _meet_turn_speakers(principal.account_id, casts)
    return casts


def _respect_opt_outs(account_id: uuid.UUID, observations: Sequence[Observation], casts: Sequence[_Cast]) -> None:
    """Refuse what people who opted out say in channels, whatever way it comes."""
    speakers = {
        position: cast.speaker.id
        for position, (item, cast) in enumerate(zip(observations, casts, strict=True))
        if item.channel_id and cast.speaker is not None
    }
    silent = opting_out.opted_out(account_id, set(speakers.values())) if speakers else frozenset()
    for position, speaker_id in speakers.items():
        if speaker_id in silent:
            with fault_in(position):
                raise Refused("The speaker does not want to be remembered.", code="opted_out", field="speaker")


def _turns(item: Observation) -> tuple[Turn, ...]:
    turns = normalise.read_turns(item.payload, kind=item.kind, role=item.actor)
    if not turns:
        raise DomainError("There is nothing said in this event.", code="empty_text", field="payload")
    if len(turns) > MAX_TURNS or sum(len(turn.text) for turn in turns) > MAX_TEXT:
        raise DomainError(
            f"An event has at most {MAX_TURNS} turns and {MAX_TEXT} characters.",
            code="event_too_large",
            field="payload",
        )
    return turns


def _path(principal: Principal, item: Observation) -> str:
    """Return the path an event goes to: the named one, else the one the key is confined to."""
    path = item.scope or principal.scope_limit
    if not path:
        raise DomainError("Name a scope (or a project_id).", code="missing_scope", field="scope")
    check_limit(principal, path)
    if principal.is_person and not has_role(principal, path, Role.MEMBER):
        raise Refused("You may not write here.", code="forbidden_scope", field="scope")
    return path


def _is_peer(principal: Principal) -> bool:
    return principal.is_person and principal.subject_id is not None


def _named_subjects(account_id: uuid.UUID, observations: Iterable[Observation]) -> dict[tuple[str, str], Subject]:
    """Find or create the subjects and speakers that are named by key, by (kind, key), all at once."""
    observations = list(observations)
    speakers = {item.speaker for item in observations if item.speaker}
    # A key that only an agent has names that agent; one that a person has too, the person.
    known = Subject.objects.filter(account_id=account_id, key__in=speakers, kind__in=PEER_KINDS) if speakers else []
    kinds = {row.key: row.kind for row in sorted(known, key=lambda row: row.kind == SubjectKind.PERSON)}
    wanted: dict[tuple[str, str], str] = {}
    for item in observations:
        if item.subject and item.alias is None:
            key = (item.subject_kind, item.subject)
            wanted[key] = wanted.get(key) or item.subject_name
        if item.speaker:
            kind = SubjectKind.AGENT if item.actor == "agent" else SubjectKind.PERSON
            key = (kinds.get(item.speaker, kind), item.speaker)
            wanted[key] = wanted.get(key) or item.speaker_name
    return ensure_subjects(account_id, wanted) if wanted else {}


def _who(
    principal: Principal,
    item: Observation,
    turns: Sequence[Turn],
    *,
    own: Subject | None,
    people: dict[tuple[str, str], Subject],
) -> tuple[Subject, Subject | None]:
    """Return the subject of an event and its speaker (``None``: unknown, or no human spoke).

    Signed-in people speak as themselves. A subject that is a peer speaks for itself unless somebody else is named.
    """
    speaker = next((people[kind, item.speaker] for kind in PEER_KINDS if (kind, item.speaker) in people), None)
    if own is not None:
        if speaker is not None and speaker.id != own.id:
            raise Refused("You speak as yourself.", code="peer_not_allowed", field="speaker")
        speaker = own
    subject = people.get((item.subject_kind, item.subject))
    if item.alias is not None:
        subject = subject_by_alias(
            principal.account_id, item.alias, key=item.subject, kind=item.subject_kind, name=item.subject_name
        )
    subject = subject or speaker
    if subject is None:
        raise DomainError("Name the subject that this is about.", code="missing_scope", field="subject_id")
    speaks_itself = not item.actor_id or item.actor_id == subject.key
    if speaker is None and speaks_itself and subject.kind in PEER_KINDS and any(turn.human for turn in turns):
        speaker = subject
    return subject, speaker


def _meet_turn_speakers(account_id: uuid.UUID, casts: Iterable[_Cast]) -> None:
    """Make persons of the human speakers that turns name and nobody knows yet: they take part in the conversation."""
    strangers = set()
    for cast in casts:
        others = [cast.subject, *([cast.speaker] if cast.speaker else [])]
        named = {turn.speaker: turn for turn in cast.turns if turn.human and turn.speaker}
        for speaker, turn in named.items():
            if speaker_of_turn(account_id, turn, others=others) is None:
                strangers.add(speaker[:200])
    for speaker in sorted(strangers):
        ensure_subject(account_id, key=speaker, name=speaker)


def _event(account_id: uuid.UUID, item: Observation, cast: _Cast, *, batch_key: str) -> Event:
    """Return the unsaved event of an observation."""
    human = [turn for turn in cast.turns if turn.human]
    default = Sensitivity.INTERNAL if item.channel_id else Sensitivity.PERSONAL
    trust = OriginTrust.TRUSTED if human and not item.actor else OriginTrust.SEMI_TRUSTED
    occurred_at = item.occurred_at or now()
    content_hash = _content_hash(item, cast)
    return Event(
        id=new_id(),
        account_id=account_id,
        scope=cast.scope,
        subject=cast.subject,
        speaker=cast.speaker,
        source_key=_source_key(item, cast, batch_key=batch_key, content_hash=content_hash, occurred_at=occurred_at),
        kind=item.kind,
        source_type=item.source_type or (SourceType.CHANNEL_MESSAGE if item.channel_id else SourceType.CONVERSATION),
        payload=dict(item.payload),
        text="\n\n".join(turn.text for turn in human or cast.turns),
        human=bool(human),
        occurred_at=occurred_at,
        content_hash=content_hash,
        origin_trust=item.origin_trust or trust,
        sensitivity=max([default, item.sensitivity or default], key=SENSITIVITY_RANK.__getitem__),
        channel_id=item.channel_id,
        channel_name=item.channel_name,
        platform_user_id=item.platform_user_id,
        ts=item.ts,
        thread=item.thread,
        agent_id=item.agent_id,
        run_id=item.run_id,
        urls=list(item.urls),
        recorded_claims=dict(item.recorded_claims),
    )


def _content_hash(item: Observation, cast: _Cast) -> str:
    """Return the digest of what was said by whom about whom. Without its time: a repeat may be stamped anew."""
    content = [
        item.kind,
        cast.subject.kind,
        cast.subject.key,
        cast.speaker.key if cast.speaker else "",
        item.actor,
        item.thread,
        item.channel_id,
        item.payload,
    ]
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _source_key(item: Observation, cast: _Cast, *, batch_key: str, content_hash: str, occurred_at: datetime) -> str:
    """Return the key by which a repeat is recognised, in at most 400 characters.

    Keys of two scopes never meet, but for those that a platform gives its messages.
    """
    if item.source_key:
        return item.source_key
    digest = content_hash.removeprefix("sha256:")
    if item.idempotency_key:
        return f"key:{cast.scope.id}:{item.idempotency_key}"
    if batch_key:
        return f"batch:{cast.scope.id}:{batch_key}:{digest}"
    return f"content:{cast.scope.id}:{cast.subject.id}:{digest}:{occurred_at.isoformat()}"


def _write(account_id: uuid.UUID, events: Sequence[Event], observations: Sequence[Observation]) -> list[Captured]:
    """Insert what is new and answer for every event, in order.

    Inserted in the order of their keys, so that concurrent deliveries of the same messages wait for each other in
    turn; whoever comes second finds the first one's row.
    """
    by_key: dict[str, Event] = {}
    for event in events:
        by_key.setdefault(event.source_key, event)
    erased = _erased(account_id, by_key)
    Event.objects.bulk_create([by_key[key] for key in sorted(by_key) if key not in erased], ignore_conflicts=True)
    kept: dict[str, list[Event]] = {}
    for row in Event.objects.filter(account_id=account_id, source_key__in=list(by_key)).only(
        "id", "source_key", "revision", "content_hash", "occurred_at"
    ):
        kept.setdefault(row.source_key, []).append(row)
    answers = []
    for position, (event, item) in enumerate(zip(events, observations, strict=True)):
        with fault_in(position):
            tombstone = erased.get(event.source_key)
            answers.append(
                _answer(event, kept[event.source_key], item)
                if tombstone is None
                else Captured(event_id=tombstone.id, deduplicated=True, revision=tombstone.revision)
            )
    return answers


def _erased(account_id: uuid.UUID, keys: Iterable[str]) -> dict[str, Event]:
    """Return the tombstones of events that were erased, by the keys under which they come again."""
    known_as = erased_keys.source_keys(account_id, keys)
    rows = Event.objects.filter(account_id=account_id, source_key__in=list(known_as.values())).order_by("revision")
    tombstones = {row.source_key: row for row in rows}
    return {key: tombstones[erased] for key, erased in known_as.items() if erased in tombstones}


def _answer(event: Event, revisions: Sequence[Event], item: Observation) -> Captured:
    same = [row for row in revisions if row.content_hash == event.content_hash]
    if not same:
        raise Conflicting(
            "This key came with other content before.", code="idempotency_mismatch", field="idempotency_key"
        )
    row = max(same, key=lambda known: known.revision)
    is_new = row.id == event.id
    notes = set(item.notes)
    if not is_new and item.occurred_at is not None and item.occurred_at != row.occurred_at:
        notes.add(OTHER_TIME)
    return Captured(event_id=row.id, deduplicated=not is_new, revision=row.revision, notes=tuple(sorted(notes)))
