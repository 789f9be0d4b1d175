"""What is counted by day: the one list of names, for those who count and for those who show."""

from __future__ import annotations

from enum import StrEnum


class FigureName(StrEnum):
    """A figure, with what its key says. Names are stored: never renamed, never reused."""

    #: key: the kind of the set.
    CONFLICTS_OPENED = "conflicts_opened"
    #: key: the status it was closed with; spread: seconds that it was open.
    CONFLICTS_CLOSED = "conflicts_closed"
    #: key: the kind of the review.
    REVIEWS_OPENED = "reviews_opened"
    #: key: the kind of the review; spread: seconds that it waited.
    REVIEWS_DECIDED = "reviews_decided"
    #: key: the status it was decided with.
    REVIEW_OUTCOMES = "review_outcomes"
    #: key: the rating, of a fact or of a whole read.
    RATINGS = "ratings"
    #: key: what became of the event.
    EVENTS_READ = "events_read"
    #: key: what became of the possible fact.
    CANDIDATES = "candidates"
    #: key: the code of the reason.
    REJECTIONS = "rejections"
    #: key of this and all below: role, provider and model, with ``|`` between; spread: milliseconds of a call.
    MODEL_CALLS = "model_calls"
    MODEL_FAILED = "model_failed"
    MODEL_UNPRICED = "model_unpriced"
    MODEL_INPUT_TOKENS = "model_input_tokens"
    MODEL_OUTPUT_TOKENS = "model_output_tokens"
    #: In units of :data:`COST_UNIT` dollars, only of calls whose price is known.
    MODEL_COST = "model_cost"
    #: Of all scopes and purposes together; key: kind of read, profile and stage, ``|`` between; spread: milliseconds.
    READ_TIMINGS = "read_timings"
    #: As before; key: what became of the row; spread: steps of cosine distance (``retrieval.read_stats``).
    READ_DISTANCES = "read_distances"


#: Dollars in one unit of a stored cost: as fine as the ledger of calls keeps it.
COST_UNIT = 1e-8
