"""Whether a proposed operation may be carried out: it cites what was offered, says something new, and orders nobody.

Each refusal has a stable code, and is counted. Pure.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from facts.canonical import normalise_text
from facts.claims import claim_of
from facts.consolidation import Claim
from facts.models import Fact
from facts.unseen import UNSEEN
from ingest.extraction import checks, secrets
from ingest.reasoning.offered import Offer
from ingest.reasoning.prompt import Operation, Verb

NOT_OFFERED = "cites_what_was_not_offered"
TOO_FEW = "rests_on_too_little"
LOOP = "follows_from_itself"
RESTATES = "restates_a_fact"
ORDERS = "gives_orders"
UNFIT = "unfit_statement"
LOW_CONFIDENCE = "low_confidence"
DIFFERENT = "says_different_things"
NAMES_UNKNOWN = "names_not_in_the_facts"
NO_RELATION = "no_such_relation"

_NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*")
#: Words by which two sentences that are alike say the opposite, in the languages that are read.
_TURNS = re.compile(
    r"\b(?:not|no|never|without|none|nobody|nothing|cannot|former|formerly|anymore|until|planned|plans|pas|jamais|sans|aucun|plus|ne)\b"
    r"|n't\b|\bn'",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"(?<!^)(?<![.!?] )\b[^\W\d_a-zà-ÿ][\w'’-]*")


def refusal(operation: Operation, offer: Offer, *, roots: Mapping[uuid.UUID, frozenset[uuid.UUID]]) -> str:
    """Return why an operation is refused, or "". ``roots``: what each derived fact rests on in the end."""
    if any(not 1 <= number <= len(offer.facts) for number in operation.numbers):
        return NOT_OFFERED
    cited = [offer.facts[number - 1] for number in operation.numbers]
    match operation.verb:
        case Verb.DEDUCE:
            return _deduction(operation, cited, roots)
        case Verb.RELATE:
            if operation.relation not in {"supports", "contradicts"}:
                return NO_RELATION
            return "" if len(cited) == 2 else TOO_FEW
        case Verb.MERGE_DUPLICATES:
            return (
                TOO_FEW if len(cited) < 2 else "" if all(_same(cited[0], other) for other in cited[1:]) else DIFFERENT
            )
        case Verb.PROPOSE_SAME_ENTITY:
            return _names(operation, cited)


def cites(operation: Operation, offer: Offer) -> list[Fact]:
    """Return the facts that an operation cites, in its order."""
    return [offer.facts[number - 1] for number in operation.numbers]


def _deduction(operation: Operation, cited: list[Fact], roots: Mapping[uuid.UUID, frozenset[uuid.UUID]]) -> str:
    if len(cited) < 2:
        return TOO_FEW
    text = operation.statement
    if checks.is_directive(text):
        return ORDERS
    if not checks.is_readable(text) or "?" in text or UNSEEN.search(text) or secrets.holds_secret(text):
        return UNFIT
    if checks.is_first_person(text) or checks.speaks_of_machines(text):
        return UNFIT
    if min(operation.confidence, *(fact.confidence for fact in cited)) < checks.MINIMUM_CONFIDENCE:
        return LOW_CONFIDENCE
    if any(_alike(text) == _alike(fact.statement) for fact in cited):
        return RESTATES
    rest = {fact.id: roots.get(fact.id, frozenset({fact.id})) for fact in cited}
    if len(frozenset().union(*rest.values())) < 2:
        return TOO_FEW
    # A deduction with what it was deduced from says nothing that it did not say.
    for fact in cited:
        others = frozenset().union(*(rest[other.id] for other in cited if other.id != fact.id))
        if fact.id in roots and others <= rest[fact.id]:
            return LOOP
    return ""


def _same(first: Fact, second: Fact) -> bool:
    """Tell whether nothing that can be compared sets two facts apart."""
    audience = (first.level, first.sensitivity) == (second.level, second.sensitivity)
    claims: tuple[Claim, Claim] = claim_of(first), claim_of(second)
    kind = (first.form, first.denies, first.category) == (second.form, second.denies, second.category)
    if claims[0].predicate or claims[1].predicate:
        compared = (claims[0].identity_key, claims[0].value_key) == (claims[1].identity_key, claims[1].value_key)
    else:
        compared = True
    return audience and kind and compared and _marks(first.statement) == _marks(second.statement)


def _marks(text: str) -> tuple[list[str], list[str], set[str]]:
    """Return what tells sentences apart that read alike: their numbers, their turns, and the names in them."""
    turns = sorted(word.casefold() for word in _TURNS.findall(text))
    return sorted(_NUMBERS.findall(text)), turns, {word.casefold() for word in _CAPITALISED.findall(text)}


def _names(operation: Operation, cited: list[Fact]) -> str:
    said = "\n".join(_alike(fact.statement) for fact in cited)
    names = [_alike(name) for name in operation.names]
    if len(names) != 2 or names[0] == names[1] or not all(name and name in said for name in names):
        return NAMES_UNKNOWN
    return ""


def _alike(text: str) -> str:
    return normalise_text(text).casefold().rstrip(".! ")
