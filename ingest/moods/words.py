"""Scoring a mood by its words, English and French, without a model.

It counts words on both sides and does no more: irony, mixed feelings and what is not in these lists are not understood,
and then the score stays in the middle. The words are those by which the local extractor finds moods.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Who scored, in an entry.
SCORER = "words-1"

_BAD = re.compile(
    r"\b(?:frustrat\w*|annoy\w*|irritat\w*|discourag\w*|tired|upset|disappoint\w*|worn out|struggling|sad|nervous|bored"
    r"|unhappy|stress\w*|anxious|worried|swamped|fed up|down|lonely|unmotivated|demotivat\w*"
    r"|frustrée?s?|agacée?s?|fatiguée?s?|déçue?s?|inqui[eè]te?s?|stressée?s?|tristes?|tendue?s?|débordée?s?"
    r"|démotivée?s?|angoissée?s?|anxieu(?:x|se))\b",
    re.IGNORECASE,
)
_VERY_BAD = re.compile(
    r"\b(?:exhaust\w*|burn(?:ed|t|ing)?[- ]?out|overwhelm\w*|depress\w*|miserable|furious|hopeless|desperate"
    r"|can't (?:take|cope|stand)|giving up|breaking point|drained|hate my job|soul[- ]crushing"
    r"|épuisée?s?|à bout|au bout du rouleau|déprimée?s?|furieu(?:x|se)|désespérée?s?|burn-?out)\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:happy|glad|proud|motivated|relieved|optimistic|grateful|inspired|pumped|excited|energi[sz]ed|enjoy\w*"
    r"|contente?s?|heureu(?:x|se)s?|fi[eè]re?s?|motivée?s?|soulagée?s?|optimistes?|ravie?s?)\b",
    re.IGNORECASE,
)
_VERY_GOOD = re.compile(
    r"\b(?:thrilled|ecstatic|delighted|overjoyed|over the moon|elated|stoked|love my job|couldn't be happier"
    r"|aux anges|comblée?s?|enchantée?s?|euphorique)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?:\b(?:not|never|no longer|pas|plus|jamais)|n['’]t)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)


def score(statements: Sequence[str]) -> int:
    """Return 1 to 5 for what was said on one day: the mean of what each statement says by itself, 3 for nothing."""
    points = [_points(statement) for statement in statements]
    # Halves count towards the middle, where less is claimed.
    mean = sum(points) / len(points) if points else 0.0
    nearest = int(abs(mean) + 0.5 - 1e-9)
    return 3 + (nearest if mean > 0 else -nearest)


def _points(statement: str) -> int:
    """Return −2 to 2; a word that is denied counts on the other side, and by one only."""
    total = 0
    taken: set[int] = set()
    for pattern, points in ((_VERY_BAD, -2), (_VERY_GOOD, 2), (_BAD, -1), (_GOOD, 1)):
        for match in pattern.finditer(statement):
            if taken & set(range(*match.span())):
                continue
            taken.update(range(*match.span()))
            denied = _NOT.search(statement[max(match.start() - 40, 0) : match.start()])
            total += (-1 if points > 0 else 1) if denied else points
    return max(-2, min(2, total))
