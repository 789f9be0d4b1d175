"""What the page of a trace draws and says: scores in parts, the budget as it was filled, stages, what was blocked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts.models import IndexedUnit
from memory_site.admin_pages.bars import Segment, side_by_side
from memory_site.admin_pages.fact_display import words
from retrieval.context.packet import EmptyReason
from retrieval.models import Trace
from retrieval.profiles.shipped import ContextProfile
from retrieval.traces import rereading, score_parts
from retrieval.traces.reasons import Action, Reason
from retrieval.traces.score_parts import Parts

#: What a score is made of: class of the bar, field, and what it is called.
SCORE_PARTS = (
    ("p0", "meaning", "meaning"),
    ("p1", "text", "text"),
    ("p2", "recency", "recency"),
    ("p3", "around", "said around it"),
)
#: Classes of bars with as many parts as there are.
PARTS = 6
#: What to do about a read that served nothing, by the reason why.
NEXT = {
    EmptyReason.NO_MEMORY: "Nothing is stored there that this reader may see. Look at what is known at all, or try the "
    "question as somebody else.",
    EmptyReason.NO_RELEVANT_MEMORY: "What is stored is not about this question. Ask why a fact was not served: the "
    "recall gate of the profile may be too strict.",
    EmptyReason.WITHHELD: "All that fits is withheld: decide the conflicts that it is part of.",
    EmptyReason.OVER_BUDGET: "All that fits is longer than the budget of the call: give it more.",
    EmptyReason.RETRIEVAL_FAILED: "The store could not be read in time. The strategies say what was dropped and why; "
    "Home shows whether it goes on.",
}
#: What did not fit that is named; the others are counted.
SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetShown:
    """How a budget was filled. ``missed``: what did not fit, in its order; ``more_missed``: how many others."""

    used: int
    limit: int
    unit: str
    segments: Sequence[Segment]
    missed: Sequence[Mapping[str, Any]]
    more_missed: int

    @property
    def left(self) -> int:
        """What was not used."""
        return max(0, self.limit - self.used)


def with_bars(trace: Trace, decisions: Sequence[dict[str, Any]]) -> bool:
    """Give each decision its ``bar`` and what is said beside it; return whether bars are in parts.

    Scores are taken apart where the profile that they were made by is known: those of context reads.
    """
    then = rereading.profile_of(trace)
    profile = then.profile if then is not None else None
    in_parts = isinstance(profile, ContextProfile)
    for unit in IndexedUnit:
        rows = [row for row in decisions if row["unit"] == unit]
        parts = score_parts.of_rows(rows, profile.weights) if in_parts else [None] * len(rows)
        for row, made_of in zip(rows, parts, strict=True):
            row["bar"] = _bar(row["fusion_score"], made_of)
            row["lowered"] = made_of.lowered if made_of is not None and made_of.lowered < 1 else None
            row["by_strategy"] = sorted((row["scores"] or {}).items())
    return in_parts


def _bar(fused: float | None, parts: Parts | None) -> list[Segment]:
    if fused is None:
        return []
    if parts is None:
        return side_by_side([("p0", "score", fused)], whole=1)
    return side_by_side([(part, label, getattr(parts, name)) for part, name, label in SCORE_PARTS], whole=1)


def budget_of(trace: Trace, decisions: Sequence[dict[str, Any]]) -> BudgetShown:
    """Return how the budget was filled: one stretch for each thing served, cards together in front."""
    served = [row for row in decisions if row["action"] == Action.INCLUDED and row["tokens"]]
    missed = [row for row in decisions if row["reason"] in {Reason.OVER_BUDGET, Reason.OVER_PASSAGE_LIMIT}]
    values = [
        ("p1" if row["unit"] == IndexedUnit.PASSAGE else "p0", f"{row['unit']} {row['rank'] or ''}", row["tokens"])
        for row in served
    ]
    rest = trace.tokens - sum(row["tokens"] for row in served)
    drawn = [("p2", "cards and lists", rest), *values] if trace.budget_unit == "tokens" else []
    return BudgetShown(
        used=trace.tokens,
        limit=trace.budget,
        unit=trace.budget_unit,
        segments=side_by_side(drawn, whole=max(trace.budget, trace.tokens)),
        missed=missed[:SHOWN],
        more_missed=max(0, len(missed) - SHOWN),
    )


def next_step(trace: Trace) -> str:
    """Return what to do about a read that served nothing; nothing where it served something, or nobody can tell."""
    known = trace.empty_reason in set(EmptyReason)
    return NEXT[EmptyReason(trace.empty_reason)] if known else ""


def stages_of(trace: Trace) -> list[Segment]:
    """Return the time of each stage as a stretch of the whole call, the longest first: their order is not kept."""
    timings = trace.timings if isinstance(trace.timings, dict) else {}
    measured = ((name, value) for name, value in timings.items() if isinstance(value, int | float))
    spent = dict(sorted(measured, key=lambda stage: -stage[1]))
    stages = [(f"p{number % PARTS}", words(name), value) for number, (name, value) in enumerate(spent.items())]
    return side_by_side(stages, whole=max(trace.duration_ms, sum(spent.values())))


def blocked(decisions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was kept from the reader, by reason: the words for it, and what it was."""
    groups: dict[str, dict[str, Any]] = {}
    for row in decisions:
        if row["action"] == Action.BLOCKED:
            group = groups.setdefault(
                row["reason"], {"reason": row["reason_words"], "meaning": row["meaning"], "rows": []}
            )
            group["rows"].append(row)
    return [{**group, "more": len(group["rows"]) - SHOWN, "rows": group["rows"][:SHOWN]} for group in groups.values()]
