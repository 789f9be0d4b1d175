"""Tables of figures: what stands in a cell on the page stands in the same cell of the CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

NOT_MEASURED = "not measured"
#: What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Row:
    """The cells as they are shown, and where the first one leads, if anywhere."""

    cells: tuple[str, ...]
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One question that the page answers: with a definition, a chart, and a table of which CSV is to be had.

    ``texts`` is the number of columns in front that hold text; the others hold figures.
    """

    key: str
    title: str
    definition: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    chart: str = ""
    empty: str = "Nothing of this in these days."
    texts: int = 1

    def as_csv(self) -> str:
        """Return the table as CSV. A text that a spreadsheet would run as a formula has an apostrophe in front."""
        written = io.StringIO()
        out = csv.writer(written)
        out.writerow(self.columns)
        for row in self.rows:
            texts = [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row.cells[: self.texts]]
            out.writerow([*texts, *row.cells[self.texts :]])
        return written.getvalue()


def number(value: float | None) -> str:
    """Write a count."""
    return NOT_MEASURED if value is None else str(round(value))


def percent(value: float | None) -> str:
    """Write a share from 0 to 1."""
    return NOT_MEASURED if value is None else f"{100 * value:.1f} %"


def milliseconds(value: float | None) -> str:
    """Write a duration in milliseconds, with two digits that count."""
    if value is None:
        return NOT_MEASURED
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms"


def dollars(value: float | None) -> str:
    """Write what something cost."""
    return NOT_MEASURED if value is None else f"${value:.4f}"


def duration(seconds: float | None) -> str:
    """Write a long duration in the greatest unit that fits."""
    if seconds is None:
        return NOT_MEASURED
    for size, unit in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def day(value: date) -> str:
    """Write a day."""
    return value.isoformat()


def share(part: float, whole: float) -> float | None:
    """Return a share; ``None`` of nothing."""
    return part / whole if whole else None
