"""How ingestion wipes its own tables. Registered when Django starts."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from facts.clock import now
from facts.erasure import Erasing, Store, holds_no_content, register
from facts.erasure_search import keys_saying
from ingest import reasons
from ingest.models import CandidateOutcome, EventOutcome, OutcomeResult


def register_stores() -> None:
    """Register every table of this app."""
    for store in (
        Store(name="candidates", tables=("ingest.CandidateOutcome",), find=_candidates, wipe=_wipe_candidates),
        Store(name="waiting_events", tables=("ingest.EventOutcome",), find=_waiting, wipe=_close),
    ):
        register(store)
    for table, because in {
        "ingest.ModelCall": "figures, codes and a keyed digest",
        "ingest.ChannelBinding": "the name of a channel, which people set up",
        "ingest.ImportRun": "where an import read from, its options and counts",
        "ingest.ImportedFile": "the name of a file and how far it was read",
    }.items():
        holds_no_content(table, because)


def _candidates(erasing: Erasing) -> QuerySet:
    """What was read out of the events and became no fact, and what says the same elsewhere."""
    found = CandidateOutcome.objects.filter(account_id=erasing.account_id).exclude(statement="", quote="")
    return found.filter(
        Q(outcome__event__in=erasing.touched_events)
        | Q(fact__in=erasing.facts)
        | Q(pk__in=keys_saying(erasing, CandidateOutcome, "statement", "quote"))
    )


def _wipe_candidates(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(statement="", quote="")


def _waiting(erasing: Erasing) -> QuerySet:
    return EventOutcome.objects.filter(
        account_id=erasing.account_id, event__in=erasing.events, result=OutcomeResult.PENDING
    )


def _close(erasing: Erasing, rows: QuerySet) -> None:
    """Nothing is left to be read in them; a worker that reads one now finds its claim gone."""
    rows.update(result=OutcomeResult.NOTHING, reason=reasons.ERASED, error_class="", finished_at=now())
