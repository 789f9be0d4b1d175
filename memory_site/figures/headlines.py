"""The figures at the top of the page, each beside what it was in the period before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from facts.figure_names import COST_UNIT, FigureName
from facts.spread import added, quantile
from governance.models import Rating
from ingest.models import OutcomeResult
from memory_site.figures.asked import Counted, Found
from memory_site.figures.tables import dollars, milliseconds, number, percent, share

#: Ratings that say that something was served in vain.
WASTED = (Rating.IRRELEVANT, Rating.INCORRECT)


@dataclass(frozen=True, slots=True)
class Headline:
    """One figure. ``difference`` is empty where nothing was measured in either period."""

    label: str
    value: str
    before: str
    difference: str


def headlines(found: Found) -> list[Headline]:
    """Return the figures, with the difference from the period before, as far as there was one."""
    wanted: list[tuple[str, Callable[[Counted], float | None], Callable[[float | None], str], bool]] = [
        ("Injection rate", lambda counted: counted.reads.total.injection_rate, percent, True),
        ("Context calls", lambda counted: counted.reads.total.calls, number, False),
        ("Served", lambda counted: counted.reads.total.served, number, False),
        ("Withheld", lambda counted: counted.reads.total.withheld, number, False),
        ("Rated useless or wrong", wasted_share, percent, True),
        ("95 of 100 calls within", slow, milliseconds, False),
        ("Conflicts opened", lambda counted: counted.sums.total(FigureName.CONFLICTS_OPENED), number, False),
        ("Reviews decided", lambda counted: counted.sums.total(FigureName.REVIEWS_DECIDED), number, False),
        ("Messages with facts", yielded, percent, True),
    ]
    if found.now.costs is not None:
        wanted.append(("Cost of models", cost, dollars, False))
    return [_headline(found, *each) for each in wanted]


def wasted_share(counted: Counted) -> float | None:
    """Return the share of ratings that say that what was served was irrelevant or incorrect."""
    ratings = counted.sums.keys_of(FigureName.RATINGS)
    return share(sum(ratings.get(rating.value, 0) for rating in WASTED), sum(ratings.values()))


def slow(counted: Counted) -> float | None:
    """Return the milliseconds within which 95 of 100 context calls were answered."""
    return quantile(added(counted.reads.totals.values()), 0.95)


def yielded(counted: Counted) -> float | None:
    """Return the share of messages read of which at least one fact came."""
    results = counted.sums.keys_of(FigureName.EVENTS_READ)
    return share(results.get(OutcomeResult.FACTS.value, 0), sum(results.values()))


def cost(counted: Counted) -> float | None:
    """Return what models cost in dollars; ``None`` when no call had a price, or nobody called."""
    if counted.costs is None:
        return None
    calls = counted.costs.total(FigureName.MODEL_CALLS)
    failed_or_unpriced = counted.costs.total(FigureName.MODEL_UNPRICED)
    total = counted.costs.total(FigureName.MODEL_COST)
    return total * COST_UNIT if total or calls > failed_or_unpriced else None


def _headline(
    found: Found,
    label: str,
    of: Callable[[Counted], float | None],
    written: Callable[[float | None], str],
    in_points: bool,
) -> Headline:
    value = of(found.now) if found.was_there else None
    before = of(found.before) if found.before is not None else None
    return Headline(
        label, written(value), written(before), difference(value, before, written=written, in_points=in_points)
    )


def difference(
    value: float | None, before: float | None, *, written: Callable[[float | None], str], in_points: bool
) -> str:
    """Say how far a figure moved: shares in percentage points, others also in per cent of what was before."""
    if value is None or before is None:
        return ""
    moved = f"{100 * abs(value - before):.1f}" if in_points else written(abs(value - before))
    nothing = "0.0" if in_points else written(0)
    sign = "±" if moved == nothing else "+" if value > before else "−"
    if in_points:
        return f"{sign}{moved} points"
    if not before or moved == nothing:
        return f"{sign}{moved}"
    part = f"{100 * abs(value - before) / before:.0f}"
    return f"{sign}{moved} ({'under 1' if part == '0' else sign + part} %)"
