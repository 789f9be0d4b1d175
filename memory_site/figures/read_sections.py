"""The sections about reading: what was served, what was not and why, how fast, and how the recall gate stands."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from urllib.parse import urlencode

from django.urls import reverse

from facts.figure_names import FigureName
from facts.spread import ERROR, quantile
from memory_site.admin_pages.fact_display import words
from memory_site.figures import charts
from memory_site.figures.asked import Found
from memory_site.figures.charts import Series
from memory_site.figures.headlines import WASTED
from memory_site.figures.tables import NOT_MEASURED, Row, Section, day, milliseconds, number, percent, share
from retrieval.context import gate
from retrieval.context.packet import EmptyReason
from retrieval.models import TraceKind
from retrieval.profiles.overrides import resolve_context
from retrieval.read_stats import DISTANCE_STEP, DISTANCES_OF, GATED, OTHERWISE, SERVED, TOTAL
from retrieval.statistics import Figures
from retrieval.traces.reasons import MEANING, Reason

INJECTION_RATE = "The share of context calls that served at least one fact. A day without calls has none."
NO_CALLS = "No context call in these days. Applications make them with POST /v1/context; the playground shows one."
#: Groups that a table lists; the others are told together.
MOST_ROWS = 20
#: How exact percentiles are that are read out of counts by bucket.
EXACTNESS = f"Read out of counts by bucket, exact to {100 * ERROR:.0f} %."
_GROUP_COLUMNS = ("Calls", "With facts", "Injection rate", "Served", "Withheld", "Tokens")
_KINDS = {
    TraceKind.CONTEXT: "Context",
    TraceKind.SEARCH: "Search",
    TraceKind.ASK: "Ask",
    TraceKind.PROFILE: "Stable profile",
}
_GATE_COLUMNS = ((SERVED, "Served"), (GATED, "Kept out by the gate"), (OTHERWISE, "Left out otherwise"))


def sections(found: Found) -> list[Section]:
    """Return the sections in the order in which the page shows them."""
    reads = found.now.reads
    return [
        _by_day(found),
        _groups("scope", "by scope", "Scope", reads.by_scope.items()),
        _groups("purpose", "by purpose", "Purpose", reads.by_purpose.items(), nameless="(no purpose given)"),
        _kinds(found),
        _empty(found),
        _decisions(found),
        _ratings(found),
        _latency(found),
        _latency_days(found),
        _gate(found),
    ]


def _by_day(found: Found) -> Section:
    days = found.now.period.days
    by_day = [_of_day(found, each) for each in days]
    slow = [quantile(found.now.reads.totals.get(each, {}), 0.95) for each in days]
    return Section(
        key="days",
        title="Injection rate by day",
        definition=f"{INJECTION_RATE} Days are UTC; today is counted until now."
        + ("" if found.now.reads.total.calls else f" {NO_CALLS}"),
        chart=charts.lines(
            "days",
            title="Injection rate by day",
            labels=[day(each) for each in days],
            series=[Series("Injection rate", [figures and figures.injection_rate for figures in by_day])],
            shown=percent,
            top=1.0,
        ),
        columns=("Day", *_GROUP_COLUMNS, "p95"),
        rows=[
            Row((day(each), *_cells(figures), milliseconds(ms)))
            for each, figures, ms in zip(days, by_day, slow, strict=True)
        ],
    )


def _groups(key: str, title: str, column: str, groups: Iterable[tuple[str, Figures]], *, nameless: str = "") -> Section:
    """Return the section of groups with the most calls, and the rest in one row."""
    ordered = sorted(groups, key=lambda group: (-group[1].calls, group[0]))
    shown, rest = ordered[:MOST_ROWS], ordered[MOST_ROWS:]
    rows = [Row((name or nameless, *_cells(figures))) for name, figures in shown]
    if rest:
        together = Figures()
        for _, figures in rest:
            together.calls += figures.calls
            together.calls_with_facts += figures.calls_with_facts
            together.served += figures.served
            together.withheld += figures.withheld
            together.tokens += figures.tokens
        rows.append(Row((f"({len(rest)} more)", *_cells(together))))
    return Section(
        key=key,
        title=f"Injection rate {title}",
        definition=f"{INJECTION_RATE} At most {MOST_ROWS} are listed, those with the most calls.",
        chart=charts.bars(
            [
                (row.cells[0], figures.calls, f"{row.cells[3]} of {row.cells[1]}")
                for row, (_, figures) in zip(rows, shown, strict=False)
            ]
        ),
        columns=(column, *_GROUP_COLUMNS),
        rows=rows,
        empty=NO_CALLS,
    )


def _of_day(found: Found, each: date) -> Figures | None:
    """Return the reads of a day; ``None`` of one on which there was no account yet, so that nobody could read."""
    there = Figures() if each >= found.began else None
    return found.now.reads.by_day.get(each, there)


def _cells(figures: Figures | None) -> tuple[str, ...]:
    if figures is None:
        return (NOT_MEASURED,) * len(_GROUP_COLUMNS)
    return (
        number(figures.calls),
        number(figures.calls_with_facts),
        percent(figures.injection_rate),
        number(figures.served),
        number(figures.withheld),
        number(figures.tokens),
    )


def _kinds(found: Found) -> Section:
    rows: list[Row] = []
    for kind, name in _KINDS.items() if found.was_there else ():
        figures = found.now.reads.by_kind.get(kind.value, Figures())
        rows.append(
            Row((name, number(figures.calls), number(figures.served), number(figures.degraded), number(figures.failed)))
        )
    return Section(
        key="kinds",
        title="Kinds of reads",
        definition="Context calls beside searches and questions answered in words, which have no injection rate.",
        columns=("Read", "Calls", "Served", "Degraded", "Failed"),
        rows=rows,
        empty="The account was not there yet.",
    )


def _empty(found: Found) -> Section:
    total = found.now.reads.total
    reasons = [reason for reason in EmptyReason if total.empty[reason.value]]
    reasons.sort(key=lambda reason: -total.empty[reason.value])
    return Section(
        key="empty",
        title="Empty answers by reason",
        definition="Context calls that served nothing at all, neither a fact nor a passage, and why.",
        chart=charts.bars(
            [(words(reason), total.empty[reason.value], number(total.empty[reason.value])) for reason in reasons]
        ),
        columns=("Reason", "Calls", "Share of calls"),
        rows=[
            Row(
                (
                    words(reason),
                    number(total.empty[reason.value]),
                    percent(share(total.empty[reason.value], total.calls)),
                ),
                _traces(found, empty=reason.value),
            )
            for reason in reasons
        ],
        empty="No context call of these days was empty." if total.calls else NO_CALLS,
    )


def _decisions(found: Found) -> Section:
    total = found.now.reads.total
    decided = sum(total.reasons.values())
    reasons = sorted(
        (reason for reason in Reason if total.reasons[reason.value]), key=lambda each: -total.reasons[each.value]
    )
    return Section(
        key="decisions",
        title="Considered, served and withheld by reason",
        definition="Every fact and passage that a context call considered, by what happened to it. Blocked is what "
        "would have been served otherwise.",
        chart=charts.bars(
            [(words(reason), total.reasons[reason.value], number(total.reasons[reason.value])) for reason in reasons]
        ),
        columns=("Reason", "What happened", "Meaning", "Number", "Share"),
        rows=[
            Row(
                (
                    words(reason),
                    MEANING[reason][0].value,
                    MEANING[reason][1],
                    number(total.reasons[reason.value]),
                    percent(share(total.reasons[reason.value], decided)),
                ),
                _traces(found, reason=reason.value),
            )
            for reason in reasons
        ],
        texts=3,
        empty="No context call of these days considered anything." if total.calls else NO_CALLS,
    )


def _ratings(found: Found) -> Section:
    ratings = found.now.sums.keys_of(FigureName.RATINGS)
    told = sum(ratings.values())
    wasted = sum(ratings.get(rating.value, 0) for rating in WASTED)
    served = found.now.reads.total.served
    return Section(
        key="ratings",
        title="Served in vain",
        definition="What readers said of reads and facts that they were served. Irrelevant and incorrect count as "
        f"served in vain: {percent(share(wasted, told))} of {told} ratings. {number(served)} facts and passages were "
        "served, and nobody has to rate anything.",
        chart=charts.bars([(words(rating), times, number(times)) for rating, times in ratings.items()]),
        columns=("Rating", "Times", "Share of ratings"),
        rows=[Row((words(rating), number(times), percent(share(times, told)))) for rating, times in ratings.items()],
        empty="Nobody rated anything in these days. Ratings come from POST /v1/feedback.",
    )


def _latency(found: Found) -> Section:
    timings = found.now.reads.timings
    kinds = list(_KINDS)
    ordered = sorted(timings, key=lambda key: (kinds.index(TraceKind(key[0])), key[1], key[2] != TOTAL, key[2]))
    return Section(
        key="latency",
        title="How long reads take, by profile and stage",
        definition=f"p50: half of the calls took no longer; p95: 95 of 100. {EXACTNESS}",
        columns=("Read", "Profile", "Stage", "Calls", "p50", "p95"),
        rows=[
            Row(
                (
                    _KINDS[TraceKind(kind)],
                    profile,
                    "the whole call" if stage == TOTAL else words(stage),
                    number(sum(timings[kind, profile, stage].values())),
                    milliseconds(quantile(timings[kind, profile, stage], 0.5)),
                    milliseconds(quantile(timings[kind, profile, stage], 0.95)),
                )
            )
            for kind, profile, stage in ordered
        ],
        texts=3,
        empty="No read of these days was measured.",
    )


def _latency_days(found: Found) -> Section:
    days = found.now.period.days
    totals = [found.now.reads.totals.get(each, {}) for each in days]
    slow, half = ([quantile(spread, share) for spread in totals] for share in (0.95, 0.5))
    return Section(
        key="latency-days",
        title="How long context calls take, by day",
        definition=f"p50: half of the calls of a day took no longer; p95: 95 of 100. {EXACTNESS}",
        chart=charts.lines(
            "latency-days",
            title="Duration of context calls by day",
            labels=[day(each) for each in days],
            series=[Series("p95", slow), Series("p50", half)],
            shown=milliseconds,
        ),
        columns=("Day", "Calls", "p50", "p95"),
        rows=[
            Row((day(each), _cells(_of_day(found, each))[0], milliseconds(p50), milliseconds(p95)))
            for each, p50, p95 in zip(days, half, slow, strict=True)
        ]
        if any(totals)
        else [],
        empty="No context call of these days was measured.",
    )


def _gate(found: Found) -> Section:
    distances = found.now.reads.distances
    total = found.now.reads.total
    floored = share(total.reasons[Reason.BELOW_RELEVANCE_FLOOR.value], sum(total.reasons.values()))
    buckets = sorted({bucket for spread in distances.values() for bucket in spread})
    steps = list(range(min(buckets), max(buckets) + 1)) if buckets else []
    labels = [f"{step * DISTANCE_STEP:.2f}–{(step + 1) * DISTANCE_STEP:.2f}" for step in steps]
    counts = {outcome: [distances.get(outcome, {}).get(step, 0) for step in steps] for outcome, _ in _GATE_COLUMNS}
    return Section(
        key="gate",
        title="How the recall gate stands",
        definition=f"{_limit(found)} Cosine distances of what was considered from the question, by what became of it: "
        f"a gate stands well where few served rows lie near its limit. {percent(floored)} of all that was considered "
        f"was below the relevance floor. Distances are those of the latest {DISTANCES_OF} context calls of each day "
        "that had a vector.",
        chart=charts.columns(
            "gate",
            title="Distances of what was considered",
            labels=labels,
            series=[Series(name, counts[outcome]) for outcome, name in _GATE_COLUMNS],
            shown=number,
        )
        if steps
        else "",
        columns=("Distance", *(name for _, name in _GATE_COLUMNS)),
        rows=[
            Row((label, *(number(counts[outcome][place]) for outcome, _ in _GATE_COLUMNS)))
            for place, label in enumerate(labels)
        ],
        empty=f"Distances: {NOT_MEASURED}. They are there once context calls search by vectors.",
    )


def _limit(found: Found) -> str:
    """Return where the gate stands today for calls in the scope that was chosen, or in the widest there is."""
    if not found.asked.scopes:
        return ""
    path = found.asked.path or min((scope.path for scope in found.asked.scopes), key=len)
    limits = gate.of_profile(resolve_context(account_id=found.asked.account_id, path=path), has_vector=True)
    if not limits.is_on:
        return f"The gate of {path} is off today: nothing is kept out for its distance."
    return f"The gate of {path} lets in distances up to {limits.max_distance:.2f} today."


def _traces(found: Found, **more: str) -> str:
    """Return the address of the list of the reads behind a figure."""
    window = {"kind": "context", "from": day(found.now.period.first), "to": day(found.now.period.last)}
    return f"{reverse('admin:retrieval_trace_changelist')}?{urlencode({**window, **more})}"
