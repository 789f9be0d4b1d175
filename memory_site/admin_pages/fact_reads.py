"""The reads that considered a fact: the newest ones, with what became of it in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from facts.models import Fact, IndexedUnit
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.sight import Sight
from retrieval.models import Trace
from retrieval.traces import finding
from retrieval.traces.finding import Wanted
from retrieval.traces.writing import unpack

#: Reads that the page of a fact looks into, and shows.
LOOKED_INTO, SHOWN = 300, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read, and what became of the fact in it."""

    trace: Trace
    action: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The newest reads among those that were looked into, which go back to ``since``."""

    reads: Sequence[Read]
    since: datetime


def considering(eyes: Sight, fact: Fact) -> Reads:
    """Return the newest reads of the last days that considered a fact, as far as the person may inspect them.

    Two queries; the second unpacks the decisions of at most :data:`LOOKED_INTO` reads.
    """
    wanted = Wanted(fact_id=fact.pk)
    stretched = finding.stretch(fact.account_id, wanted, most=LOOKED_INTO)
    found = finding.among(eyes.traces().defer(None), stretched, wanted).order_by("-pk")
    return Reads(reads=[_read(trace, fact) for trace in found[:SHOWN]], since=stretched.since)


def _read(trace: Trace, fact: Fact) -> Read:
    decision = next(
        row for row in unpack(trace.decisions) if row["unit"] == IndexedUnit.FACT and row["id"] == str(fact.pk)
    )
    return Read(trace=trace, action=decision["action"], reason=words(decision["reason"]))
