"""What the worker does for reading, each safe to run twice or late; a step that fails stops no other one."""

from __future__ import annotations

import uuid
from functools import partial

from facts import isolation, outbox, reindexing
from retrieval import read_stats, vectors
from retrieval.cards import marking, nightly, rebuilding
from retrieval.entities import proposing
from retrieval.entities import rebuilding as entity_rebuilding
from retrieval.text import common_lexemes

#: Text rows of an account that one round brings into a new form; the next round goes on.
REINDEXED_AT_ONCE = 5_000


def keep_indexes() -> None:
    """Bring text into its present form, write missing vectors, count the words of corpora that have changed."""
    isolation.steps(
        partial(reindexing.reindex_pending, most=REINDEXED_AT_ONCE),
        vectors.fill_missing_everywhere,
        common_lexemes.refresh_all,
    )


def keep_names() -> None:
    """Read the names in new facts, and propose which of the names may stand for one thing."""
    isolation.steps(
        partial(entity_rebuilding.keep_all, changed=marking.mark_scopes),
        proposing.propose_all,
    )


def keep_cards() -> None:
    """Hear of what has changed, and build the cards that it concerns and those whose time has come."""
    isolation.steps(outbox.deliver_everywhere, rebuilding.rebuild_everywhere)


def begin_nights() -> None:
    """Begin the nights of accounts that are there, and sum up the sessions that have gone quiet."""
    isolation.steps(nightly.begin_nights, nightly.submit_quiet_sessions)


def begin_night(job_id: str, account_id: str) -> None:
    """Begin one account's night."""
    nightly.begin_night(uuid.UUID(account_id), uuid.UUID(job_id))


def compact_card(job_id: str, account_id: str) -> None:
    """Compact one card."""
    nightly.run_one(uuid.UUID(account_id), uuid.UUID(job_id))


def keep_statistics() -> None:
    """Bring the figures of every day up to date."""
    read_stats.roll_up_everywhere()
