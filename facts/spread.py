"""How long things took, as counts in buckets that can be added up.

Percentiles of a month are no average of the percentiles of its days. Counts in fixed buckets add up exactly; what is
read out of them is as exact as a bucket is narrow: each is 9 % wider than the one before, and a percentile is off by
at most :data:`ERROR` (the geometric middle of a bucket against its ends).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

#: Buckets to a doubling.
STEPS = 8
#: Anything shorter counts as this long.
SHORTEST = 0.001
#: By which part a percentile may be wrong, either way: .044.
ERROR = 2 ** (1 / (2 * STEPS)) - 1

Spread = dict[int, int]


def bucket(value: float) -> int:
    """Return the bucket of a duration, in whatever unit."""
    return math.floor(math.log2(max(value, SHORTEST)) * STEPS)


def bucket_sql(value: str) -> str:
    """Return the SQL expression for :func:`bucket` of an expression of type float."""
    return f"floor(ln(greatest(({value})::float8, {SHORTEST})) / ln(2::float8) * {STEPS})::int"


def added(spreads: Iterable[Mapping[int | str, int]]) -> Spread:
    """Return all counts added up; keys may be written as JSON does."""
    total: Spread = {}
    for spread in spreads:
        for key, number in spread.items():
            total[int(key)] = total.get(int(key), 0) + number
    return total


def quantile(spread: Mapping[int, int], share: float) -> float | None:
    """Return what ``share`` of the durations do not exceed (nearest rank); ``None`` when there are none."""
    wanted = max(1, math.ceil(share * sum(spread.values())))
    passed = 0
    for key in sorted(spread):
        passed += spread[key]
        if passed >= wanted:
            return 2 ** ((key + 0.5) / STEPS)
    return None
