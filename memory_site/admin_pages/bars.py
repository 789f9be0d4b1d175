"""Bars that are drawn on the server: stretches of a line, side by side, each with the part that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a bar, in hundredths of the whole bar. ``part`` is its class in the style sheet."""

    part: str
    label: str
    value: float
    start: float
    width: float


def side_by_side(values: Iterable[tuple[str, str, float]], *, whole: float) -> list[Segment]:
    """Return one segment for each (part, label, value) above 0, in order; what passes ``whole`` is cut off."""
    segments: list[Segment] = []
    at = 0.0
    for part, label, value in values:
        if value <= 0 or whole <= 0:
            continue
        width = min(100 * value / whole, 100 - at)
        segments.append(Segment(part, label, value, round(at, 2), round(width, 2)))
        at += width
    return segments
