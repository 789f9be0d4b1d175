"""Reading an event: loading what it takes to understand it, and the model's part. Writes nothing.

:func:`load` runs in an account transaction, :func:`read` outside of any.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.db.models import Q

from facts import embedding, textindex
from facts.candidates import Candidate
from facts.embedding import Embedded
from facts.models import Event, Subject
from ingest import passages
from ingest.extraction import (
    ExtractionFailed,
    ExtractionInput,
    ExtractionResult,
    Extractor,
    Rejection,
    get_extractor,
)
from ingest.normalise import Turn, read_turns
from ingest.passages import Slice
from ingest.subjects_of import Conversation, fold, mentioned, speaker_of_turn, spoken_name

#: Earlier messages that are shown to the extractor as context.
WINDOW = 5
#: Messages of a thread whose speakers count as taking part.
THREAD_MEMORY = 50
#: Time for all model calls of one event: a little more than an extractor gives itself for one message, so that it can
#: say what went wrong, and within a task's 120 seconds.
EXTRACTION_SECONDS = 80.0
#: Extractors that call nobody: they need no care for connections held meanwhile.
_LOCAL = frozenset({"rules"})
#: Characters of the name that a passage keeps of its speaker.
SPEAKER_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTurn:
    """A turn with its passages and, when it is evidence, what the extractor gets to see."""

    turn: Turn
    slices: tuple[Slice, ...]
    speaker: Subject | None
    item: ExtractionInput | None
    conversation: Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An event and its turns, in order."""

    event: Event
    turns: tuple[LoadedTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A candidate with the position of the turn it was read from, and its statement's vector."""

    turn: int
    candidate: Candidate
    vector: Embedded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read out of an event. ``vectors``: one per non-blank slice, in order; ``None`` without embedder."""

    proposed: tuple[Proposed, ...]
    rejections: tuple[Rejection, ...]
    vectors: tuple[Embedded, ...] | None


def configured_extractor() -> Extractor:
    """Return the extractor of this deployment: the local rules, which need no key, unless it was told otherwise."""
    return get_extractor(settings.EXTRACTION_PROVIDER)


def turns_of(event: Event) -> tuple[Turn, ...]:
    """Return what was said in a stored event; of one whose payload is gone, its text."""
    role = str(event.recorded_claims.get("actor_type", ""))
    turns = read_turns(event.payload, kind=event.kind, role=role)
    if turns or not event.text.strip():
        return turns
    return (Turn(text=event.text, role=role, human=event.human),)


def load(account_id: uuid.UUID, event_id: uuid.UUID) -> Loaded:
    """Load an event with its window and the people in its conversation. Raises ``Event.DoesNotExist``."""
    event = Event.objects.select_related("account", "scope", "subject", "speaker").get(
        account_id=account_id, pk=event_id
    )
    earlier = _earlier(event)
    window = [(spoken_name(before.speaker) or turn.role, turn.text) for before in earlier for turn in turns_of(before)]
    turns = turns_of(event)
    present = _participants(event)
    speakers = {
        turn.speaker: speaker_of_turn(account_id, turn, others=present) for turn in turns if turn.human and turn.speaker
    }
    people = [
        *present,
        *(speaker for speaker in speakers.values() if speaker is not None),
        *mentioned(account_id, "\n".join(turn.text for turn in turns if turn.human)),
    ]
    loaded: list[LoadedTurn] = []
    for turn in turns:
        speaker = (speakers.get(turn.speaker) or event.speaker) if turn.human else None
        loaded.append(_load_turn(event, turn, speaker=speaker, window=window[-WINDOW:], people=people))
        window.append((spoken_name(speaker) or turn.role, turn.text))
    return Loaded(event=event, turns=tuple(loaded))


def _load_turn(
    event: Event, turn: Turn, *, speaker: Subject | None, window: Sequence[tuple[str, str]], people: Sequence[Subject]
) -> LoadedTurn:
    slices = tuple(passages.cut(turn.text))
    names = {fold(name): subject for subject in people for name in (subject.key, subject.name) if name}
    conversation = Conversation(speaker=speaker, by_name=names)
    item = ExtractionInput(
        text=turn.text,
        occurred_at=event.occurred_at,
        speaker_name=spoken_name(speaker),
        timezone=event.account.timezone,
        window=tuple(window),
        participants=tuple(dict.fromkeys(name for person in people if (name := spoken_name(person)))),
    )
    return LoadedTurn(
        turn=turn, slices=slices, speaker=speaker, item=item if turn.human else None, conversation=conversation
    )


def _thread_of(event: Event) -> Q | None:
    """Return the condition for messages of the same thread, or of the same channel outside any thread.

    In a channel a thread is named after the message that began it, which itself stands outside.
    """
    where = Q(account_id=event.account_id, scope_id=event.scope_id)
    if event.channel_id:
        where &= Q(channel_id=event.channel_id)
        return where & (Q(thread=event.thread) | Q(ts=event.thread) if event.thread else Q(thread=""))
    return where & Q(thread=event.thread) if event.thread else None


def _earlier(event: Event) -> list[Event]:
    """Return up to :data:`WINDOW` messages before the event, oldest first."""
    where = _thread_of(event)
    if where is None:
        return []
    standing = Event.objects.filter(where, withdrawn_at__isnull=True, forgotten_at__isnull=True)
    before = standing.filter(occurred_at__lt=event.occurred_at)
    return list(before.select_related("speaker").order_by("-occurred_at", "-id")[:WINDOW])[::-1]


def _participants(event: Event) -> list[Subject]:
    """Return who takes part: the event's speaker and subject, and who spoke in the thread before."""
    present = {subject.id: subject for subject in (event.speaker, event.subject) if subject is not None}
    where = _thread_of(event)
    if where is not None:
        lately = Event.objects.filter(where, occurred_at__lte=event.occurred_at, speaker__isnull=False)
        speakers = lately.order_by("-occurred_at").values("speaker_id")[:THREAD_MEMORY]
        for subject in Subject.objects.filter(account_id=event.account_id, id__in=speakers).order_by("key"):
            present.setdefault(subject.id, subject)
    return list(present.values())


def read(loaded: Loaded, extractor: Extractor) -> Reading:
    """Extract and embed. Holds no transaction, and no connection while a remote model works.

    Raises :class:`ExtractionFailed`.
    """
    if extractor.identity.provider not in _LOCAL and not connection.in_atomic_block:
        connection.close()
    # What was withdrawn meanwhile is nobody's to read any more, least of all a remote model's.
    turns = () if loaded.event.withdrawn_at is not None else loaded.turns
    items = [(number, turn.item) for number, turn in enumerate(turns) if turn.item is not None]
    results = _in_time(extractor, [item for _, item in items], seconds=EXTRACTION_SECONDS)
    proposed = [
        Proposed(turn=number, candidate=candidate)
        for (number, _), result in zip(items, results, strict=True)
        for candidate in result.candidates
    ]
    slices = [
        textindex.passage_text(spoken_by(turn), piece.text)
        for turn in loaded.turns
        for piece in turn.slices
        if piece.text.strip()
    ]
    texts = [*slices, *(item.candidate.statement for item in proposed)]
    vectors = embedding.try_embed(texts, account_id=loaded.event.account_id)
    if vectors is not None:
        statements = vectors[len(slices) :]
        proposed = [
            Proposed(turn=item.turn, candidate=item.candidate, vector=vector)
            for item, vector in zip(proposed, statements, strict=True)
        ]
    return Reading(
        proposed=tuple(proposed),
        rejections=tuple(rejection for result in results for rejection in result.rejections),
        vectors=None if vectors is None else tuple(vectors[: len(slices)]),
    )


def spoken_by(turn: LoadedTurn) -> str:
    """Return the name to show at a passage: the speaker's, else what the turn itself says of its speaker."""
    name = turn.speaker.display_name if turn.speaker is not None else turn.turn.speaker or turn.turn.role
    return name[:SPEAKER_NAME_LENGTH]


def _in_time(extractor: Extractor, items: Sequence[ExtractionInput], *, seconds: float) -> list[ExtractionResult]:
    """Run the extractor on a thread of its own and give up on it after ``seconds``; what it yields later is lost.

    Raises :class:`ExtractionFailed`, with the class of whatever else it raised.
    """
    results: list[ExtractionResult] = []
    failures: list[Exception] = []

    def work() -> None:
        try:
            results.extend([extractor.extract(item) for item in items])
        except Exception as error:  # an extractor may fail in any way; its event is tried again
            failures.append(error)

    thread = threading.Thread(target=work, name="extraction", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise ExtractionFailed(retryable=True, error_class="timeout")
    if failures:
        failure = failures[0]
        if isinstance(failure, ExtractionFailed):
            raise failure
        raise ExtractionFailed(retryable=True, error_class=type(failure).__name__) from failure
    return results
