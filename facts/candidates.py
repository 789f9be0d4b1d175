"""What an extractor proposes: the one shape in which a possible fact travels to the gates.

An extractor reads text and yields :class:`Candidate` objects. It decides neither scope, nor subject id,
nor trust, nor status: those come from the event and from the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from facts.vocabulary import Category, Form, Kind, Sensitivity, Volatility


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One possible fact.

    ``statement``   one readable sentence in the third person.
    ``quote``       the words of the cited message that carry it, verbatim.
    ``confidence``  0 to 1 as the extractor gave it; below 0.5 the candidate is refused.
    ``predicate``, ``value``, ``qualifiers``  the structured claim, all three together or none
                    (``predicate == ""`` means: no claim). ``value`` is an object; a key whose value is
                    ``None`` asks for the removal of that key on an update.
    ``update_marker``  the words of the quote that announce a change ("now", "plutôt"); "" when there are none.
    ``denies``      the statement says that the claimed value does not (or no longer) hold.
    ``about``       the name of another person or thing the statement is about; "" means the speaker.
    ``valid_from``, ``valid_to``  half-open interval, aware UTC; ``start_stated``/``end_stated`` tell whether
                    the text itself gave them (an unstated start takes the event's time later).
    ``sensitivity`` ``None`` leaves the default; a value may only raise it.
    """

    statement: str
    quote: str
    confidence: float
    category: str = Category.GENERAL
    kind: str = Kind.ATTRIBUTE
    form: str = Form.STATE
    predicate: str = ""
    value: Mapping[str, Any] | None = None
    qualifiers: Mapping[str, Any] = field(default_factory=dict)
    update_marker: str = ""
    denies: bool = False
    about: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    start_stated: bool = False
    end_stated: bool = False
    volatility: str = Volatility.STABLE
    sensitivity: str | None = None

    @property
    def has_claim(self) -> bool:
        """Whether the candidate carries a structured claim that can be compared."""
        return bool(self.predicate) and self.value is not None


__all__ = ["Candidate", "Category", "Form", "Kind", "Sensitivity", "Volatility"]
