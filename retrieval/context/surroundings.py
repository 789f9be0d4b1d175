"""What a passage owes to what was said around it.

A turn that answers or goes on often shares no word with what is asked later; the turns beside it do. So the best
passages lift the turn after them and the turn before, and a sitting of which several turns are about the question lifts
all of them. Nothing of it is stored: what is forgotten, or not for this reader, lifts nobody.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta

from retrieval.candidates import PassageRow
from retrieval.profiles.shipped import Surroundings

#: A longer silence ends a sitting, and what was said behind it follows nothing.
SILENCE = timedelta(hours=1)
#: So many of the best passages of a sitting say how much it is about the question.
SITTING_HEAD = 3


def seeds(rows: Sequence[PassageRow], scores: Sequence[float], *, count: int) -> list[uuid.UUID]:
    """Return the ids of the ``count`` best rows, best first; equal scores by text."""
    order = sorted(range(len(rows)), key=lambda row: (-scores[row], rows[row].text))
    return [rows[row].id for row in order[:count]]


def lifted(
    rows: Sequence[PassageRow],
    scores: Sequence[float],
    *,
    pairs: Iterable[tuple[uuid.UUID, uuid.UUID]],
    surroundings: Surroundings,
) -> list[float]:
    """Return the scores with the shares that come from the surroundings, no more than 1 again.

    ``pairs`` are ids of passages that were said one right after the other; those of two threads, or with a passage
    that is not among ``rows``, lift nobody.
    """
    place = {row.id: number for number, row in enumerate(rows)}
    raised = list(scores)
    for before, after in pairs:
        first, second = place.get(before), place.get(after)
        if first is None or second is None or rows[first].thread != rows[second].thread:
            continue
        raised[second] += surroundings.before * scores[first]
        raised[first] += surroundings.after * scores[second]
    for sitting in _sittings(rows):
        head = sorted((scores[row] for row in sitting), reverse=True)[:SITTING_HEAD]
        share = surroundings.sitting * sum(head) / SITTING_HEAD
        for row in sitting:
            raised[row] += share
    most = max([1.0, *raised])
    return [score / most for score in raised]


def _sittings(rows: Sequence[PassageRow]) -> list[list[int]]:
    """Return the numbers of the rows that belong together: one conversation without a long silence."""
    conversations: dict[tuple[uuid.UUID, uuid.UUID | str, str], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        # In a channel each message is about its author; what is said there is one conversation all the same.
        conversations[row.scope_id, row.channel_id or row.subject_id, row.thread].append(number)
    sittings: list[list[int]] = []
    for members in conversations.values():
        members.sort(key=lambda number: rows[number].occurred_at)
        last = None
        for number in members:
            if last is None or rows[number].occurred_at - last > SILENCE:
                sittings.append([])
            sittings[-1].append(number)
            last = rows[number].occurred_at
    return sittings
