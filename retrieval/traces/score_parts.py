"""What a fused score is made of: the shares of meaning, text and recency, and what came or went afterwards.

A trace keeps the scores of each strategy and the fused one, not the shares. They follow from the weights of the profile
and from all rows that were scored together (``retrieval.fusion.combine``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrieval.fusion import Weights, min_max

#: Scores are stored to four digits: a smaller difference is none. Where everything is old, all recencies are stored
#: as next to nothing, and the share of each is what the other two leave.
_ROUNDED = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Shares of one fused score, which they add up to; each 0 or more.

    ``around`` is what a passage owes to what was said around it. ``lowered`` is the factor by which the three shares
    were lowered afterwards, 1 for not at all: facts that somebody else said count less, and passages are brought back
    to 0..1 when others were lifted.
    """

    meaning: float
    text: float
    recency: float
    around: float = 0.0
    lowered: float = 1.0


def of_rows(rows: Sequence[Mapping[str, Any]], weights: Weights) -> list[Parts | None]:
    """Return the parts of each row's score; ``None`` for a row that was not scored.

    ``rows``: unpacked decisions of one unit of one context read, all of them.
    """
    scored = [row for row in rows if row["fusion_score"] is not None and row["recency"] is not None]
    known = [row["similarity"] for row in scored if row["similarity"] is not None]
    near = min_max([min(known) if row["similarity"] is None else row["similarity"] for row in scored]) if known else []
    matched = min_max([row["text_score"] or 0.0 for row in scored])
    recent = min_max([row["recency"] for row in scored])
    vector = weights.vector if known else 0.0
    total = (vector + weights.text + weights.recency) or 1.0
    faded = len(scored) > 1 and all(row["recency"] < _ROUNDED for row in scored)
    parts: dict[str, Parts] = {}
    for place, row in enumerate(scored):
        meaning = vector * near[place] / total if known else 0.0
        text = weights.text * matched[place] / total
        recency = weights.recency * recent[place] / total
        if faded:
            recency = min(max(row["fusion_score"] - meaning - text, 0.0), recency)
        parts[row["id"]] = _parts(row["fusion_score"], meaning=meaning, text=text, recency=recency)
    return [parts.get(row["id"]) for row in rows]


def _parts(fused: float, *, meaning: float, text: float, recency: float) -> Parts:
    alone = meaning + text + recency
    if fused >= alone - _ROUNDED:
        around = fused - alone if fused - alone > _ROUNDED else 0.0
        return Parts(meaning=meaning, text=text, recency=recency, around=around)
    lowered = fused / alone
    return Parts(meaning=meaning * lowered, text=text * lowered, recency=recency * lowered, lowered=lowered)
