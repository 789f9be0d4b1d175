"""What becomes of this app's columns that name a subject, when the subject is merged. Registered when Django starts."""

from __future__ import annotations

from facts.subject_rows import stays


def register() -> None:
    """Register every column."""
    for name, because in {
        "retrieval.Card.subject": "cards are built anew; what people wrote on one waits there for an undo",
        "retrieval.Trace.subject": "a read is told as it was",
        "retrieval.Trace.reader": "a read is told as it was",
    }.items():
        stays(name, because)
