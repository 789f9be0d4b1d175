"""What goes out, and what can go wrong, the same for every way."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from ingest.deliveries.contents import Content
from ingest.deliveries.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One try of a delivery. ``uncertain``: an earlier try may have arrived."""

    delivery_id: uuid.UUID
    place: Place
    content: Content
    created_at: datetime
    uncertain: bool


class NotSent(Exception):
    """It was not sent, as far as can be known. ``error_class`` is a word for why, without content.

    ``permanent``: trying again does not help. ``uncertain``: it may have arrived all the same. ``rest``: seconds for
    which the receiver wants to be left alone; then the try counts for nothing.
    """

    def __init__(
        self, error_class: str, *, permanent: bool = False, uncertain: bool = False, rest: float | None = None
    ) -> None:
        super().__init__(error_class)
        self.error_class = error_class
        self.permanent = permanent
        self.uncertain = uncertain
        self.rest = rest


#: The error of a delivery that is not tried again, because nobody can tell whether it arrived.
OUTCOME_UNKNOWN = "outcome_unknown"
