"""The sections about work: conflicts, reviews, what reading messages came to, and what models cost."""

from __future__ import annotations

from collections.abc import Mapping

from django.urls import reverse

from facts.clock import now
from facts.day_figures import Sums
from facts.figure_names import COST_UNIT, FigureName
from facts.spread import quantile
from governance.models import ReviewKind
from ingest import reasons
from ingest.models import OutcomeResult
from memory_site.admin_pages.fact_display import words
from memory_site.figures import charts
from memory_site.figures.asked import Found, Waiting
from memory_site.figures.charts import Series
from memory_site.figures.read_sections import EXACTNESS
from memory_site.figures.tables import Row, Section, day, dollars, duration, milliseconds, number, percent, share


def sections(found: Found) -> list[Section]:
    """Return the sections in the order in which the page shows them; costs only to whoever may see them."""
    shown = [_conflicts(found), _conflict_days(found), _reviews(found), _review_days(found), _messages(found)]
    shown += [_candidates(found), _rejections(found)]
    if found.now.costs is not None:
        shown += [_costs(found.now.costs), _cost_days(found, found.now.costs)]
    return shown


def _conflicts(found: Found) -> Section:
    sums = found.now.sums
    opened, closed = sums.keys_of(FigureName.CONFLICTS_OPENED), sums.keys_of(FigureName.CONFLICTS_CLOSED)
    took = sums.spread_of(FigureName.CONFLICTS_CLOSED)
    return Section(
        key="conflicts",
        title="Conflicts",
        definition=f"Sets that were opened and closed in these days; those closed had been open for "
        f"{duration(quantile(took, 0.5))} (half of them) and {duration(quantile(took, 0.95))} (95 of 100). {EXACTNESS}",
        columns=("What", "Sets", "Oldest", "Overdue"),
        rows=[
            *(Row((f"opened: {words(kind)}", number(times), "", "")) for kind, times in opened.items()),
            *(Row((f"closed: {words(status)}", number(times), "", "")) for status, times in closed.items()),
            *_waiting(found.conflicts, "open now", reverse("admin:facts_conflictset_changelist")),
        ],
    )


def _reviews(found: Found) -> Section:
    sums = found.now.sums
    opened, decided = sums.keys_of(FigureName.REVIEWS_OPENED), sums.keys_of(FigureName.REVIEWS_DECIDED)
    rows = []
    for kind in ReviewKind:
        waiting = found.reviews.get(kind.value)
        if not (waiting or opened.get(kind.value) or decided.get(kind.value)):
            continue
        took = sums.spread_of(FigureName.REVIEWS_DECIDED, kind.value)
        rows.append(
            Row(
                (
                    words(kind),
                    number(opened.get(kind.value, 0)),
                    number(decided.get(kind.value, 0)),
                    duration(quantile(took, 0.5)),
                    duration(quantile(took, 0.95)),
                    number(waiting.number if waiting else 0),
                    _age(waiting) if waiting else "",
                    number(waiting.overdue if waiting else 0),
                ),
                reverse("admin:governance_review_changelist") + f"?kind={kind.value}",
            )
        )
    outcomes = sums.keys_of(FigureName.REVIEW_OUTCOMES)
    told = ", ".join(f"{number(times)} {words(status)}" for status, times in outcomes.items())
    return Section(
        key="reviews",
        title="Reviews",
        definition=f"What was asked of people and decided in these days{f' ({told})' if told else ''}, how long it "
        f"waited, and what waits now. {EXACTNESS} A decision that is taken back later stays counted on its day.",
        columns=("Kind", "Asked", "Decided", "Half within", "95 of 100 within", "Waiting now", "Oldest", "Overdue"),
        rows=rows,
        empty="Nothing was asked of people in these days, and nothing waits.",
    )


def _conflict_days(found: Found) -> Section:
    return _in_and_out(
        found,
        key="conflict-days",
        title="Conflicts by day",
        came=("Opened", FigureName.CONFLICTS_OPENED),
        went=("Closed", FigureName.CONFLICTS_CLOSED),
    )


def _review_days(found: Found) -> Section:
    return _in_and_out(
        found,
        key="review-days",
        title="Reviews by day",
        came=("Asked", FigureName.REVIEWS_OPENED),
        went=("Decided", FigureName.REVIEWS_DECIDED),
    )


def _in_and_out(
    found: Found, *, key: str, title: str, came: tuple[str, FigureName], went: tuple[str, FigureName]
) -> Section:
    days = [each for each in found.now.period.days if each >= found.began]
    series = [
        Series(label, [found.now.sums.by_day.get((name.value, each), 0) for each in days])
        for label, name in (came, went)
    ]
    any_there = any(value for each in series for value in each.values)
    return Section(
        key=key,
        title=title,
        definition="Where more comes than goes for long, what waits grows.",
        chart=charts.lines(key, title=title, labels=[day(each) for each in days], series=series, shown=number)
        if any_there
        else "",
        columns=("Day", came[0], went[0]),
        rows=[
            Row((day(each), number(series[0].values[place]), number(series[1].values[place])))
            for place, each in enumerate(days)
        ]
        if any_there
        else [],
    )


def _messages(found: Found) -> Section:
    results = found.now.sums.keys_of(FigureName.EVENTS_READ)
    read = sum(results.values())
    labels = dict(OutcomeResult.choices)
    return Section(
        key="messages",
        title="What messages came to",
        definition="Messages and other events whose reading ended in these days. The yield is the share of which at "
        f"least one fact came: {percent(share(results.get(OutcomeResult.FACTS.value, 0), read))}.",
        chart=charts.bars([(labels[result], times, number(times)) for result, times in results.items()]),
        columns=("Result", "Messages", "Share"),
        rows=[Row((labels[result], number(times), percent(share(times, read)))) for result, times in results.items()],
        empty="No message was read in these days. Applications send them to POST /v1/capture.",
    )


def _candidates(found: Found) -> Section:
    results = found.now.sums.keys_of(FigureName.CANDIDATES)
    made = sum(results.values())
    return Section(
        key="candidates",
        title="What possible facts came to",
        definition="Every statement that was read out of a message, by what became of it.",
        columns=("Result", "Possible facts", "Share"),
        rows=[Row((words(result), number(times), percent(share(times, made)))) for result, times in results.items()],
        empty="No statement was read out of a message in these days.",
    )


def _rejections(found: Found) -> Section:
    codes = found.now.sums.keys_of(FigureName.REJECTIONS)
    refused = sum(codes.values())
    return Section(
        key="rejections",
        title="Rejections by reason",
        definition="Why statements, and messages as a whole, were refused.",
        chart=charts.bars([(words(code), times, number(times)) for code, times in codes.items()]),
        columns=("Reason", "Meaning", "Times", "Share"),
        rows=[
            Row((words(code), reasons.explain(code), number(times), percent(share(times, refused))))
            for code, times in codes.items()
        ],
        texts=2,
        empty="Nothing was refused in these days.",
    )


def _costs(costs: Sums) -> Section:
    rows = []
    for key, times in costs.keys_of(FigureName.MODEL_CALLS).items():
        role, provider, model = key.split("|", 2)
        unpriced = costs.by_key[FigureName.MODEL_UNPRICED.value, key]
        spent = costs.by_key[FigureName.MODEL_COST.value, key] * COST_UNIT
        took = costs.spread_of(FigureName.MODEL_CALLS, key)
        rows.append(
            Row(
                (
                    words(role),
                    f"{provider} {model}".strip(),
                    number(times),
                    number(costs.by_key[FigureName.MODEL_FAILED.value, key]),
                    number(costs.by_key[FigureName.MODEL_INPUT_TOKENS.value, key]),
                    number(costs.by_key[FigureName.MODEL_OUTPUT_TOKENS.value, key]),
                    dollars(spent if spent or unpriced < times else None),
                    number(unpriced),
                    milliseconds(quantile(took, 0.5)),
                    milliseconds(quantile(took, 0.95)),
                )
            )
        )
    return Section(
        key="costs",
        title="Cost of models by role",
        definition="Calls to models of the whole account, whatever scope is chosen. What has no known price is "
        f"counted and adds nothing to the cost. {EXACTNESS}",
        columns=("Role", "Model", "Calls", "Failed", "Tokens in", "Tokens out", "Cost", "Without price", "p50", "p95"),
        rows=rows,
        texts=2,
        empty="No model was called in these days.",
    )


def _cost_days(found: Found, costs: Sums) -> Section:
    """Return the section of costs by day; a day without a call that has a price has no cost, and leaves a gap."""
    days = [each for each in found.now.period.days if each >= found.began]
    calls, unpriced, spent = (
        [costs.by_day.get((name.value, each), 0) for each in days]
        for name in (FigureName.MODEL_CALLS, FigureName.MODEL_UNPRICED, FigureName.MODEL_COST)
    )
    cost = [
        units * COST_UNIT if units or priceless < times else None
        for units, priceless, times in zip(spent, unpriced, calls, strict=True)
    ]
    return Section(
        key="cost-days",
        title="Cost of models by day",
        definition="All roles together. A day on which no model with a known price was called has no cost.",
        chart=charts.columns(
            "cost-days",
            title="Cost of models by day",
            labels=[day(each) for each in days],
            series=[Series("Cost", cost)],
            shown=dollars,
        )
        if any(spent)
        else "",
        columns=("Day", "Calls", "Cost"),
        rows=[Row((day(each), number(times), dollars(one))) for each, times, one in zip(days, calls, cost, strict=True)]
        if any(calls)
        else [],
        empty="No model was called in these days.",
    )


def _waiting(waiting: Mapping[str, Waiting], what: str, href: str) -> list[Row]:
    return [
        Row((f"{what}: {words(kind)}", number(each.number), _age(each), number(each.overdue)), href)
        for kind, each in waiting.items()
    ]


def _age(waiting: Waiting) -> str:
    return duration((now() - waiting.oldest).total_seconds())
