"""What the worker does for reading, each safe to run twice or late."""

from __future__ import annotations

from retrieval import common_lexemes, partitions, statistics, vectors


def keep_indexes() -> None:
    """Write vectors that are missing, and count the words of corpora that have changed."""
    vectors.fill_missing_everywhere()
    common_lexemes.refresh_all()


def keep_statistics() -> None:
    """Write the figures of the last finished days, and make the coming months' trace partitions."""
    statistics.roll_up_recent()
    partitions.ensure_trace_partitions()
