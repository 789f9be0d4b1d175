"""The bounded planner: a fixed schedule of read-only tools, each call reserved against every bound before it runs.

Nothing a text says decides what is done next. What is reported about it is counts, digests and names of bounds.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from facts.errors import DomainError
from retrieval.ask import playbook
from retrieval.ask.effort import Effort
from retrieval.ask.evidence import BASE, Evidence, EvidenceKey, tokens_of
from retrieval.ask.tools import PROVIDER_TOOLS, SOURCE_TOOLS, Tool, Toolbox

log = logging.getLogger(__name__)

#: Seconds without which a tool is not worth starting.
SHORTEST_CALL = 0.02

#: The bounds, in the order in which they are checked.
BOUNDS = (
    "iterations",
    "tool_calls",
    "items",
    "elapsed",
    "query_tokens",
    "evidence_tokens",
    "provider_calls",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One step of a plan and what became of it.

    ``digest`` is of the query, 12 hexadecimal digits. ``outcome``: ``completed``, ``empty``, ``repeated`` (the same
    was done before), ``not_started`` (a bound was reached), ``timeout`` or ``failed``. ``found`` counts results,
    ``new`` those that nothing had found before.
    """

    iteration: int
    tool: Tool
    digest: str
    outcome: str
    found: int = 0
    new: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the planner did, without a word of what was asked or found.

    ``tool_calls`` and ``provider_calls`` include the question's own search.
    """

    playbook: str
    calls: tuple[ToolCall, ...]
    iterations: int
    tool_calls: int
    provider_calls: int
    query_tokens: int
    exhausted: tuple[str, ...]
    elapsed_ms: int


@dataclass(slots=True)
class _Ledger:
    """What is used up of the bounds; the question's own search is booked from the start."""

    effort: Effort
    question: str
    started: float = field(default_factory=time.monotonic)
    evidence_tokens: int = 0
    tool_calls: int = 1
    provider_calls: int = 1
    items: int = 0
    query_tokens: int = 0
    exhausted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.query_tokens = tokens_of(_bytes(self.question))

    @property
    def seconds_left(self) -> float:
        return self.started + self.effort.seconds - time.monotonic()

    def obstacle(self, tool: Tool, query: str) -> str | None:
        """Return the first bound that stands against a call."""
        effort = self.effort
        checks = (
            ("tool_calls", self.tool_calls >= effort.tool_calls),
            ("items", self.items >= effort.items),
            ("elapsed", self.seconds_left < SHORTEST_CALL),
            ("query_tokens", self.query_tokens + tokens_of(_bytes(query)) > effort.query_tokens),
            ("evidence_tokens", self.evidence_tokens >= effort.evidence_tokens),
            ("provider_calls", tool in PROVIDER_TOOLS and self.provider_calls >= effort.provider_calls),
        )
        return next((bound for bound, reached in checks if reached), None)

    def reserve(self, tool: Tool, query: str) -> None:
        """Book a call before it runs, whatever will become of it."""
        self.tool_calls += 1
        self.provider_calls += tool in PROVIDER_TOOLS
        self.query_tokens += tokens_of(_bytes(query))


def gather(
    base: Sequence[Evidence], *, question: str, head: int, effort: Effort, toolbox: Toolbox, with_sources: bool
) -> tuple[list[Evidence], Plan]:
    """Return what the tools find beyond ``base``, in the order in which they find it, and what was done.

    All of ``base`` counts as found already, so that a search in other words makes no discovery of it. ``head`` is how
    many of it will be offered in any case.
    """
    kind = playbook.playbook_of(question)
    ledger = _Ledger(effort, question, evidence_tokens=sum(item.tokens for item in base[:head]))
    pursuit = _Pursuit(base=base, ledger=ledger, toolbox=toolbox)
    pursuit.done.add((Tool.KNOWLEDGE, _normal(question)))
    toolbox.offered = pursuit.evidence
    iterations = 0
    for number, steps in enumerate(_schedule(question, kind, playbook.terms(question)), start=1):
        if number > effort.iterations:
            ledger.exhausted.add("iterations")
            break
        iterations = number
        for tool, query in steps:
            if with_sources or tool not in SOURCE_TOOLS:
                pursuit.step(number, tool, query)
    plan = Plan(
        playbook=kind.name,
        calls=tuple(pursuit.calls),
        iterations=iterations,
        tool_calls=ledger.tool_calls,
        provider_calls=ledger.provider_calls,
        query_tokens=ledger.query_tokens,
        exhausted=tuple(bound for bound in BOUNDS if bound in ledger.exhausted),
        elapsed_ms=round((time.monotonic() - ledger.started) * 1000),
    )
    return pursuit.new, plan


def _schedule(question: str, kind: playbook.Playbook, words: list[str]) -> list[list[tuple[Tool, str]]]:
    """Return the calls of each iteration; a query without words is none."""
    terms, refined = playbook.exact(words), playbook.refined(kind, words)
    iterations = [
        [(Tool.PROFILE, question), (Tool.SOURCE_EXACT, terms), (Tool.SOURCE_SEMANTIC, question)],
        [(Tool.KNOWLEDGE, refined), (Tool.LINEAGE, question), (Tool.SOURCE_EXACT, refined)],
        [(Tool.KNOWLEDGE, terms), (Tool.SOURCE_SEMANTIC, refined), (Tool.LINEAGE, refined)],
    ]
    return [[(tool, query) for tool, query in steps if query.strip()] for steps in iterations]


@dataclass(slots=True, kw_only=True)
class _Pursuit:
    """The calls of one ask: what was done, what is known, and what was found first."""

    base: Sequence[Evidence]
    ledger: _Ledger
    toolbox: Toolbox
    new: list[Evidence] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    done: set[tuple[Tool, str]] = field(default_factory=set)
    known: set[EvidenceKey | str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for item in self.base:
            self.known |= {item.key, item.same_text}

    def evidence(self) -> list[Evidence]:
        """Return all that there is so far."""
        return [*self.base, *self.new]

    def step(self, iteration: int, tool: Tool, query: str) -> None:
        """Make one call if nothing stands against it, and note what became of it."""
        outcome, found, discovered = "repeated", 0, 0
        if (tool, _normal(query)) not in self.done:
            outcome, found, discovered = self._attempt(tool, query)
        digest = hashlib.sha256(_bytes(query)).hexdigest()[:12]
        self.calls.append(
            ToolCall(iteration=iteration, tool=tool, digest=digest, outcome=outcome, found=found, new=discovered)
        )

    def _attempt(self, tool: Tool, query: str) -> tuple[str, int, int]:
        """Return the outcome of a call, its results and how many of them are new."""
        bound = self.ledger.obstacle(tool, query)
        if bound is not None:
            self.ledger.exhausted.add(bound)
            return "not_started", 0, 0
        self.done.add((tool, _normal(query)))
        self.ledger.reserve(tool, query)
        found, failure = self._run(tool, query)
        return failure or ("completed" if found else "empty"), len(found), self._take(found)

    def _run(self, tool: Tool, query: str) -> tuple[list[Evidence], str]:
        """Return what a tool finds, or the word for its failure: a tool that fails takes nothing else with it."""
        try:
            return self.toolbox.run(tool, query, seconds=self.ledger.seconds_left), ""
        except OperationalError as error:
            if isinstance(error.__cause__, QueryCanceled):
                return [], "timeout"
            raise
        except DomainError as error:
            log.warning("ask_tool_failed", extra={"tool": tool, "error_class": error.code})
            return [], "failed"

    def _take(self, found: Sequence[Evidence]) -> int:
        """Keep what nothing had found before, as far as the bound on items allows; return how much that is."""
        before = len(self.new)
        for item in found:
            if item.key in self.known or item.same_text in self.known:
                continue
            if self.ledger.items >= self.ledger.effort.items:
                self.ledger.exhausted.add("items")
                break
            self.known |= {item.key, item.same_text}
            self.new.append(item)
            self.ledger.items += 1
            self.ledger.evidence_tokens += item.tokens
        return len(self.new) - before


def _normal(query: str) -> str:
    return " ".join(query.casefold().split())


def _bytes(query: str) -> bytes:
    return query.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What is offered, best first, what there was no room for, and the bound that decided it, if one did."""

    offered: tuple[Evidence, ...]
    left_out: tuple[Evidence, ...]
    tokens: int
    over_tokens: bool


def admit(base: Sequence[Evidence], new: Sequence[Evidence], *, limit: int, head: int, tokens: int) -> Admission:
    """Return at most ``limit`` pieces of evidence of at most ``tokens``: the head, what is new, then the rest of base.

    A piece that would cross the ceiling is left out, and shorter ones may follow.
    """
    order = [*base[:head], *new, *base[head:]]
    offered: list[Evidence] = []
    left_out: list[Evidence] = []
    used, over = 0, False
    for item in order:
        if len(offered) == limit:
            left_out.append(item)
        elif used + item.tokens > tokens:
            over = True
            left_out.append(item)
        else:
            offered.append(item)
            used += item.tokens
    return Admission(offered=tuple(offered), left_out=tuple(left_out), tokens=used, over_tokens=over)


def report(plan: Plan, admission: Admission, *, effort: Effort, profile: str, base: int) -> dict[str, Any]:
    """Return the diagnostics of a planned ask: counts, digests, outcomes and names, never a word of content."""
    exhausted = {*plan.exhausted, *({"evidence_tokens"} if admission.over_tokens else ())}
    return {
        "effort": effort.name,
        "playbook": plan.playbook,
        "profile_version": profile,
        "iterations": plan.iterations,
        "tool_calls": plan.tool_calls,
        "provider_calls": plan.provider_calls,
        "query_tokens": plan.query_tokens,
        "evidence_tokens": admission.tokens,
        "base_count": base,
        "new_count": sum(call.new for call in plan.calls),
        "admitted_count": len(admission.offered),
        "admitted_new_count": sum(item.origin != BASE for item in admission.offered),
        "exhausted_bounds": [bound for bound in BOUNDS if bound in exhausted],
        "elapsed_ms": plan.elapsed_ms,
        "calls": [
            {
                "iteration": call.iteration,
                "tool": call.tool,
                "query_digest": call.digest,
                "outcome": call.outcome,
                "found": call.found,
                "new": call.new,
            }
            for call in plan.calls
        ],
    }
