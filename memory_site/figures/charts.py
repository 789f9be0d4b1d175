"""Charts as SVG, drawn on the server: no script, colours by classes, a title and a description for those who listen.

The drawing stretches to the width there is, and lines keep their strength; all text stands beside it as ordinary
text. Whatever a chart shows, a table beneath it says in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

#: The drawing's own units.
WIDTH, HEIGHT = 720, 180
#: Free space above the highest point.
_HEADROOM = 8
#: Share of its place that a column fills.
_FILLED = 0.8


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one layer of columns. ``None``: not measured, which leaves a gap."""

    label: str
    values: Sequence[float | None]


def lines(
    key: str,
    *,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    shown: Callable[[float], str],
    top: float | None = None,
) -> SafeString:
    """Return a chart of values over days; ``top`` is the highest value there can be, by default the highest there is.

    ``key`` is unique on the page, ``labels`` name the days, ``shown`` writes a value.
    """
    highest = top or max((value for each in series for value in each.values if value is not None), default=0.0)
    drawn = format_html_join(
        "",
        '<path class="series-{}" d="{}"/>',
        ((number, _path(each.values, highest)) for number, each in enumerate(series)),
    )
    return _framed(key, title=title, labels=labels, series=series, shown=shown, highest=highest, drawn=drawn)


def columns(
    key: str,
    *,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    shown: Callable[[float], str],
) -> SafeString:
    """Return a chart of columns, the series on top of each other."""
    values = [each.values for each in series]
    highest = max((sum(value or 0 for value in stack) for stack in zip(*values, strict=True)), default=0.0)
    step = WIDTH / max(1, len(labels))
    rectangles: list[tuple[int, str, str, str, str]] = []
    for place in range(len(labels)):
        foot = 0.0
        for number, each in enumerate(series):
            value = each.values[place]
            if value:
                height = _height(value, highest)
                left = step * (place + (1 - _FILLED) / 2)
                rectangles.append((number, _n(left), _n(HEIGHT - foot - height), _n(step * _FILLED), _n(height)))
                foot += height
    drawn = format_html_join("", '<rect class="series-{}" x="{}" y="{}" width="{}" height="{}"/>', rectangles)
    return _framed(key, title=title, labels=labels, series=series, shown=shown, highest=highest, drawn=drawn)


def bars(rows: Sequence[tuple[str, float, str]]) -> SafeString:
    """Return a list of bars, each of (name, value, value as it is shown); the text says all that the bars do."""
    highest = max((value for _, value, _ in rows), default=0.0)
    return format_html(
        '<ul class="bars">{}</ul>',
        format_html_join(
            "",
            '<li><span class="name">{}</span> <b>{}</b><svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none"'
            ' aria-hidden="true" focusable="false"><rect class="track" width="100" height="4"/>'
            '<rect width="{}" height="4"/></svg></li>',
            ((name, text, _n(100 * value / highest if highest else 0)) for name, value, text in rows),
        ),
    )


def sparkline(values: Sequence[float | None], *, description: str, top: float | None = None) -> SafeString:
    """Return a small line without axes; nothing when nothing was measured."""
    measured = [value for value in values if value is not None]
    if not measured:
        return SafeString("")
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="series-0" d="{}"/></svg>',
        WIDTH,
        HEIGHT,
        description,
        _path(values, top or max(measured)),
    )


def _framed(
    key: str,
    *,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    shown: Callable[[float], str],
    highest: float,
    drawn: SafeString,
) -> SafeString:
    legend = (
        format_html(
            '<ul class="legend">{}</ul>',
            format_html_join(
                "", '<li><span class="swatch series-{}"></span>{}</li>', zip(count(), (each.label for each in series))
            ),
        )
        if len(series) > 1
        else ""
    )
    return format_html(
        '<figure class="chart">{}<p class="top">{}</p>'
        '<svg viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-labelledby="{key}-title {key}-desc">'
        '<title id="{key}-title">{}</title><desc id="{key}-desc">{}</desc>'
        '<path class="grid" d="M0 {mid}H{width}M0 {floor}H{width}"/>{}</svg>'
        '<p class="ends"><span>{}</span><span>{}</span></p></figure>',
        legend,
        shown(highest),
        WIDTH,
        HEIGHT,
        title,
        _described(labels, series, shown),
        drawn,
        labels[0] if labels else "",
        labels[-1] if len(labels) > 1 else "",
        key=key,
        mid=_n(HEIGHT - _height(highest / 2, highest)),
        floor=HEIGHT,
        width=WIDTH,
    )


def _described(labels: Sequence[str], series: Sequence[Series], shown: Callable[[float], str]) -> str:
    """Say in a sentence for each series where it stands, how high and how low it goes."""
    told = []
    for each in series:
        measured = [(value, label) for value, label in zip(each.values, labels, strict=True) if value is not None]
        if not measured:
            told.append(f"{each.label}: not measured.")
            continue
        (low, low_at), (high, high_at), (last, last_at) = min(measured), max(measured), measured[-1]
        told.append(
            f"{each.label}: lowest {shown(low)} ({low_at}), highest {shown(high)} ({high_at}),"
            f" last {shown(last)} ({last_at})."
        )
    return " ".join(told)


def _path(values: Sequence[float | None], highest: float) -> str:
    """Return the path through the values, broken where one is missing; a lone value is a dot."""
    parts: list[str] = []
    pen = "M"
    for place, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        across = WIDTH / 2 if len(values) == 1 else WIDTH * place / (len(values) - 1)
        point = f"{_n(across)} {_n(HEIGHT - _height(value, highest))}"
        alone = pen == "M" and (place + 1 == len(values) or values[place + 1] is None)
        parts.append(f"{pen}{point}" + (f"L{point}" if alone else ""))
        pen = "L"
    return "".join(parts)


def _height(value: float, highest: float) -> float:
    return (HEIGHT - _HEADROOM) * value / highest if highest else 0.0


def _n(value: float) -> str:
    """Write a coordinate: two digits are finer than any screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
