"""What the work signals of both languages are made of, and how one becomes a draft."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from facts.vocabulary import Category, Form, Kind, Volatility
from ingest.extraction import dates
from ingest.extraction.base import GROUP
from ingest.extraction.languages import ENGLISH, FRENCH
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, NAME, Draft
from ingest.extraction.rules.voice import third_person
from ingest.extraction.subjects import resolve

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
    r"(?:where|which|who|whose|instead of|as soon as|although|though|when|whenever|since|because|after|before|once"
    r"|than|so that|the moment|whatever|whoever"
    r"|où|lorsque|quand|dès que|une fois|parce que|puisque|bien que|quoique|dont|that (?:is|are|was|i"
    r"|we|you|has|have)\b(?! (?:so|really|very)))\b",
    re.IGNORECASE,
)


_FIRST = re.compile(r"\b(?:i|i'm|i've|i'll|im|my|me|myself|je|mon|ma|mes|moi)\b|\b[jm]'(?=\w)", re.IGNORECASE)
_PLURAL = {
    ENGLISH: re.compile(r"\b(?:we|we're|we've|we'll|our|us)\b", re.IGNORECASE),
    FRENCH: re.compile(r"\b(?:nous|notre|nos|on)\b", re.IGNORECASE),
}
_NAMED = re.compile(
    rf"(?P<name>@?{NAME}) (?:will|is|has|seems?|looks?|sounds?|promised|committed|agreed|va|a|est"
    r"|semble|s'|\w+ra\b)"
)
_LEAD = r"(?P<adverb>(?:just|still|finally|also|currently|now|all|both|already|enfin|bien|toujours|juste) )*"
#: Beginnings that leave out "I", and the words that put it back.
_LEFT_OUT: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            rf"{_LEAD}(?:(?!(?:everything|nothing|something|anything|being)\b)[a-z]{{3,}}ing (?:on|the|an?|my"
            r"|our|for|to|up|out|over|with|completely|really|this|that|it)\b"
            r"|stuck\b|blocked\b|unblocked\b|unable\b|no longer\b|waiting\b|(?:so|super|really|very|completely"
            r"|totally|extremely) (?:proud|happy|excited|frustrated|stoked|tired|stressed|disappointed|pumped))",
            re.IGNORECASE,
        ),
        "I'm ",
    ),
    (
        re.compile(
            rf"{_LEAD}(?:(?!\w*eed\b)[a-z]{{3,}}ed\b|sent|built|written|cut|shipped|made|can't|cannot|will"
            r"|done with)\b",
            re.IGNORECASE,
        ),
        "I ",
    ),
    (
        re.compile(
            r"(?:toujours |encore )?(?:bloquée?|coincée?|en attente)\b|(?:très|si|trop|super|vraiment"
            r"|tellement) (?:heureu|content|fi[eè]r|ravi|déçu|frustr|fatigu|stress|motiv)",
            re.IGNORECASE,
        ),
        "je suis ",
    ),
    (
        re.compile(
            r"(?:enfin |bien |juste )?(?:fini|terminé|livré|déployé|corrigé|envoyé|mergé|publié|résolu"
            r"|bouclé)\b",
            re.IGNORECASE,
        ),
        "j'ai ",
    ),
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
    left_out = _left_out(clause)
    if left_out:
        text = f"{left_out}{text[:1].lower()}{text[1:]}"
    content: dict[str, object] = {"value": (match.groupdict().get("what") or clause.text).strip(" .,;:!").casefold()}
    due = [
        mention
        for mention in found
        if mention.role in {"by", "at", "until"} and mention.first >= clause.item.occurred_at.date()
    ]
    if due and sign.category in {Category.COMMITMENT, Category.DEADLINE_MENTION, Category.RISK_SIGNAL}:
        content["due"] = (due[0].after - timedelta(days=1)).isoformat()
    return Draft(
        about=_about(sign, clause),
        statement=third_person(text, name=clause.item.speaker_name, language=clause.language) + ".",
        predicate=_PREDICATES.get(sign.category, ""),
        value=content,
        kind=Kind.EVENT,
        form=Form.EVENT,
        category=sign.category,
        confidence=sign.confidence,
        volatility=_VOLATILITY.get(sign.category, Volatility.VOLATILE),
    )


def _about(sign: Signal, clause: Clause) -> str:
    """Whom a signal is about: the speaker, a named person, or the group whose work it is."""
    text = clause.text
    if _FIRST.search(text):
        return ""
    if sign.category in {Category.MOOD_SIGNAL, Category.COMMITMENT} and (named := _NAMED.match(text)):
        return resolve(named["name"].lstrip("@"), clause.item) or named["name"].lstrip("@")
    if _PLURAL[clause.language].search(text):
        return GROUP
    if sign.category in {Category.MOOD_SIGNAL, Category.COMMITMENT, Category.HANDOFF} or _left_out(clause):
        return ""
    return GROUP


def _left_out(clause: Clause) -> str:
    """The subject and verb that a clause like "Finished the newsletter" leaves out, or ""."""
    for pattern, words in _LEFT_OUT:
        if pattern.match(clause.text) and (words[0] == "I") == (clause.language == ENGLISH):
            return words
    return ""


def with_dates(text: str, found: list[dates.DateMention]) -> str:
    """The text with the day behind each relative phrase: "by Friday (2026-03-27)"."""
    for mention in sorted(found, key=lambda one: one.start, reverse=True):
        if mention.relative and mention.fine:
            text = f"{text[: mention.end]} ({mention.first.isoformat()}){text[mention.end :]}"
    return text
