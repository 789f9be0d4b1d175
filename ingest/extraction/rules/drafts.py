"""The parts a rule is made of, and the step from what it matched to a candidate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from facts.vocabulary import Category, Form, Kind, Volatility
from ingest.extraction.rules.clauses import Clause

#: Something a person says explicitly of themselves.
STATED = 0.95
#: Said plainly, with a little room for another reading.
CLEAR = 0.9
#: A strong inference.
STRONG = 0.8
#: A weak inference, from tone.
WEAK = 0.6

#: A noun phrase up to punctuation; always lazy and bounded, cut by END.
NP = r"[^,.;:!?()\n]{1,60}?"
#: One person's name.
NAME = r"[A-ZÉÈÀÂÎÔÇ][\w'’-]{1,20}(?: [A-ZÉÈÀÂÎÔÇ][\w'’-]{1,20}){0,2}"
_STOPS = (
    r"(?:\d+|an?|one|two|three|four|five|six|several|a few|a couple of) (?:day|week|month|year)s?"
    r"|il y a|earlier|recently|récemment"
    r"|cette (?:semaine|année)|ce mois|ago|back in|"
    r"and|but|because|just|as an?|as the|comme|since|so|with|when|while|instead|now|any ?more"
    r"|these days|nowadays|until|till|as of|from|at the moment|starting|though|too|as well|right now"
    r"|currently|again|please|who|which|that|where|after|before|today|tomorrow|yesterday|next|last|this"
    r"|by|in (?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|\d)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|if|than"
    r"|et|mais|parce|car|depuis|avec|quand|maintenant|désormais|plutôt|aussi|jusqu\w*|à partir"
    r"|actuellement|en ce moment|finalement|dorénavant|qui|que|où|dès|demain"
    r"|hier|le \d|en (?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre"
    r"|décembre|\d)|prochaine?ment|la semaine|le mois|lundi|mardi|mercredi|jeudi|vendredi"
)
#: What ends a noun phrase.
END = rf"(?=\s*$|\s*[,.;:!?()]|\s+(?:{_STOPS})\b)"
#: The same, but "for"/"pour" ends it too.
END_FOR = rf"(?=\s*$|\s*[,.;:!?()]|\s+(?:{_STOPS}|for|pour|to|over|à|au|en)\b)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a rule makes of a clause.

    ``says`` is the verb phrase of the statement ("lives in Lisbon"); ``negated`` the one used when the
    claim is denied; ``statement`` replaces both where the sentence is built otherwise.
    ``starts`` tells that a plain date in the clause is the start of the state (or the day of the event).
    """

    says: str = ""
    negated: str = ""
    statement: str = ""
    predicate: str = ""
    value: Mapping[str, Any] | None = None
    qualifiers: Mapping[str, Any] = field(default_factory=dict)
    kind: str = Kind.ATTRIBUTE
    form: str = Form.STATE
    category: str = Category.GENERAL
    confidence: float = STATED
    denies: bool = False
    about: str = ""
    volatility: str = Volatility.STABLE
    sensitivity: str | None = None
    marker: str = ""
    starts: bool = False


Builder = Callable[[re.Match[str], Clause], Draft | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern matched at the start of a clause, and what to make of a match."""

    pattern: re.Pattern[str]
    build: Builder


def rule(pattern: str, build: Builder) -> Rule:
    """Compile a rule. Case is ignored except inside ``(?-i:...)``."""
    return Rule(re.compile(pattern, re.IGNORECASE), build)


def value(content: Any, **more: Any) -> dict[str, Any]:
    """The value object of a claim."""
    return {"value": content, **{key: item for key, item in more.items() if item}}
