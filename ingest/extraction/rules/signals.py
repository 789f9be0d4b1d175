"""What the work signals of both languages are made of, and how one becomes a draft."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from facts.vocabulary import Category, Form, Kind, Volatility
from ingest.extraction import dates
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, Draft
from ingest.extraction.rules.voice import third_person

_VOLATILITY = {
    Category.MOOD_SIGNAL: Volatility.EPHEMERAL,
    Category.REFERENCE: Volatility.SLOW,
    Category.HANDOFF: Volatility.SLOW,
}
_PREDICATES = {
    Category.COMMITMENT: "commitment",
    Category.BLOCKER: "blocker",
    Category.HANDOFF: "handoff",
    Category.RISK_SIGNAL: "risk",
    Category.MOOD_SIGNAL: "mood",
    Category.DEADLINE_MENTION: "deadline",
    Category.STATUS_UPDATE: "status",
}


#: A clause that only hangs on another one states nothing by itself.
_SUBORDINATE = re.compile(
    r"(?:where|which|who|whose|as soon as|although|though|when|whenever|since|because|after|before|once"
    r"|than|so that|the moment|whatever|whoever"
    r"|où|lorsque|quand|dès que|une fois|parce que|puisque|bien que|quoique|dont|that (?:is|are|was|i"
    r"|we|you|has|have)\b(?! (?:so|really|very)))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Signal:
    """A sign of one category anywhere in a clause.

    ``unless`` takes it back; ``modal`` accepts a clause that is only possible ("we might miss Friday");
    ``dated`` wants a date in the clause; ``plain`` refuses a negated or hypothetical clause.
    """

    category: str
    pattern: re.Pattern[str]
    confidence: float = CLEAR
    unless: re.Pattern[str] | None = None
    modal: bool = False
    dated: bool = False

    def draft(self, clause: Clause) -> Draft | None:
        """Return the draft of this signal in the clause, or ``None``."""
        if clause.asks or (clause.reported and not self.modal) or (clause.conditional and not self.modal):
            return None
        if (
            clause.hypothetical
            and not self.modal
            and self.category in {Category.COMMITMENT, Category.HANDOFF, Category.STATUS_UPDATE, Category.MOOD_SIGNAL}
        ):
            return None
        if _SUBORDINATE.match(clause.text):
            return None
        match = self.pattern.search(clause.text)
        if not match or (self.unless and self.unless.search(clause.text)):
            return None
        found = dates.find(clause.text, occurred_at=clause.item.occurred_at, timezone=clause.item.timezone)
        if self.dated and not found:
            return None
        if len(clause.text.split()) < (3 if self.category == Category.STATUS_UPDATE and clause.language == "en" else 2):
            return None
        return _draft(self, match, clause, found)


def signal(
    category: str,
    pattern: str,
    *,
    confidence: float = CLEAR,
    unless: str = "",
    modal: bool = False,
    dated: bool = False,
) -> Signal:
    """Compile a signal."""
    return Signal(
        category,
        re.compile(pattern, re.IGNORECASE),
        confidence,
        re.compile(unless, re.IGNORECASE) if unless else None,
        modal,
        dated,
    )


def _draft(sign: Signal, match: re.Match[str], clause: Clause, found: list[dates.DateMention]) -> Draft:
    text = with_dates(clause.text, found)
    content: dict[str, object] = {"value": (match.groupdict().get("what") or clause.text).strip(" .,;:!").casefold()}
    due = [
        mention for mention in found if mention.role in {"by", "at"} and mention.first >= clause.item.occurred_at.date()
    ]
    if due and sign.category in {Category.COMMITMENT, Category.DEADLINE_MENTION, Category.RISK_SIGNAL}:
        content["due"] = (due[0].after - timedelta(days=1)).isoformat()
    return Draft(
        statement=third_person(text, name=clause.item.speaker_name, language=clause.language) + ".",
        predicate=_PREDICATES.get(sign.category, ""),
        value=content,
        kind=Kind.EVENT,
        form=Form.EVENT,
        category=sign.category,
        confidence=sign.confidence,
        volatility=_VOLATILITY.get(sign.category, Volatility.VOLATILE),
    )


def with_dates(text: str, found: list[dates.DateMention]) -> str:
    """The text with the day behind each relative phrase: "by Friday (2026-03-27)"."""
    for mention in sorted(found, key=lambda one: one.start, reverse=True):
        if mention.relative and mention.fine:
            text = f"{text[: mention.end]} ({mention.first.isoformat()}){text[mention.end :]}"
    return text
