"""The local extractor: deterministic rules for English and French, no key, no network, no model.

Precision comes first: a clause that is a question, a condition, a joke, somebody else's words or only
a possibility yields nothing (risks excepted, which are possibilities). What it cannot read it leaves.
"""

from __future__ import annotations

from dataclasses import replace

from facts.candidates import Candidate
from facts.vocabulary import Category, Kind
from ingest.extraction import checks, markers, segments
from ingest.extraction.base import (
    MAX_CANDIDATES,
    ExtractionInput,
    ExtractionResult,
    ExtractorIdentity,
    Rejection,
)
from ingest.extraction.rules import (
    english_flow,
    english_life,
    english_outlook,
    english_practice,
    english_promises,
    english_skills,
    english_status,
    english_tastes,
    english_ties,
    english_topics,
    french_flow,
    french_life,
    french_outlook,
    french_practice,
    french_promises,
    french_skills,
    french_status,
    french_tastes,
    french_ties,
    french_topics,
)
from ingest.extraction.rules.assemble import assemble
from ingest.extraction.rules.clauses import Clause, clauses, is_joke
from ingest.extraction.rules.drafts import Draft, Rule
from ingest.extraction.rules.others import as_speaker
from ingest.extraction.rules.references import reference
from ingest.extraction.rules.signals import Signal
from ingest.extraction.secrets import holds_secret

#: Raised whenever a rule changes what comes out; kept on every fact.
RULES_VERSION = "1"

#: Categories of which a sentence gives at most one: its clauses describe the same thing.
_ONCE = frozenset(Category.values) - {Category.COMMITMENT, Category.GENERAL, Category.STATUS_UPDATE}

_PERSON_RULES: dict[str, tuple[Rule, ...]] = {
    language: tuple(rule for module in modules for rule in module.RULES)
    for language, modules in (
        ("en", (english_tastes, english_skills, english_practice, english_life, english_ties)),
        ("fr", (french_tastes, french_skills, french_practice, french_life, french_ties)),
    )
}
_TOPIC_RULES: dict[str, tuple[Rule, ...]] = {"en": english_topics.RULES, "fr": french_topics.RULES}
#: In the order of precedence: a clause gives at most one.
_SIGNALS: dict[str, tuple[Signal, ...]] = {
    language: flow.HANDOFFS
    + flow.BLOCKERS
    + outlook.MOODS
    + outlook.RISKS
    + promises.COMMITMENTS
    + promises.DEADLINES
    + status.STATUSES
    for language, flow, outlook, promises, status in (
        ("en", english_flow, english_outlook, english_promises, english_status),
        ("fr", french_flow, french_outlook, french_promises, french_status),
    )
}


class RulesExtractor:
    """Extracts by rules. Never raises; the same input always gives the same result."""

    identity = ExtractorIdentity(provider="rules", model="rules-en-fr", prompt_version=RULES_VERSION)

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        """Return what the message states, and what of it was refused."""
        read = segments.split(item.text)
        candidates: list[Candidate] = []
        rejections: list[Rejection] = []
        announced: segments.Sentence | None = None
        for sentence in read.sentences:
            refusal = _refusal(sentence)
            if refusal is not None:
                rejections.append(refusal)
            elif markers.announces(sentence.plain):
                announced = sentence
                continue
            elif not is_joke(sentence.plain):
                for candidate in _read_sentence(sentence, item=item, announced=announced):
                    reason = checks.validate(candidate, item)
                    if reason is None or reason in checks.DEFERRED:
                        candidates.append(candidate)
                    else:
                        rejections.append(Rejection(code=reason, statement=candidate.statement, quote=candidate.quote))
            announced = None
        if read.beyond_limit:
            rejections.append(Rejection(code=checks.BEYOND_LIMIT))
        return ExtractionResult(candidates=_distinct(candidates)[:MAX_CANDIDATES], rejections=tuple(rejections))


def _refusal(sentence: segments.Sentence) -> Rejection | None:
    """Secrets and orders to the agent are named, so that one can see why nothing was kept."""
    if holds_secret(sentence.quote):
        return Rejection(code=checks.SECRET)
    if checks.is_directive(sentence.plain):
        return Rejection(code=checks.IMPERATIVE_DIRECTIVE, quote=sentence.quote)
    return None


def _read_sentence(
    sentence: segments.Sentence, *, item: ExtractionInput, announced: segments.Sentence | None
) -> list[Candidate]:
    found: list[Candidate] = []
    for clause in clauses(sentence, item=item, announced=announced):
        for draft, about in _read_clause(clause):
            told = {candidate.category for candidate in found} & _ONCE
            if draft.category not in told:
                found.append(assemble(draft, clause, about=about))
    if sentence.link and not found:
        pointed = reference(sentence, item=item)
        if pointed is not None:
            found.append(pointed)
    return found


def _read_clause(clause: Clause) -> list[tuple[Draft, str]]:
    """The drafts of a clause: what is said of the speaker, else of a named person or thing, else one work signal."""
    if clause.asserts or (clause.asks and not clause.reported):
        own = _match(_PERSON_RULES[clause.language], clause, clause.text)
        own = [draft for draft in own if clause.asserts or draft.kind == Kind.INSTRUCTION]
        if "`" in clause.quote:
            own = [draft for draft in own if draft.predicate not in {"likes", "prefers", "uses"}]
        if own:
            return [(draft, draft.about) for draft in own]
    if clause.asserts:
        things = _match(_TOPIC_RULES[clause.language], clause, clause.text)
        if things:
            return [(draft, draft.about) for draft in things[:1]]
        other = as_speaker(clause)
        if other is not None:
            name, text = other
            drafts = _match(_PERSON_RULES[clause.language], replace(clause, text=text), text)
            if drafts:
                return [(replace(draft, confidence=round(draft.confidence * 0.8, 2)), name) for draft in drafts]
    for signal in _SIGNALS[clause.language]:
        draft = signal.draft(clause)
        if draft is not None:
            return [(draft, draft.about)]
    return []


def _match(rules: tuple[Rule, ...], clause: Clause, text: str) -> list[Draft]:
    """What the rules make of the text, the first rule of each predicate only."""
    drafts: dict[str, Draft] = {}
    for rule in rules:
        match = rule.pattern.match(text)
        draft = rule.build(match, clause) if match else None
        if draft is not None:
            drafts.setdefault(draft.predicate, draft)
    if "prefers" in drafts and any(key.startswith(("preferred_", "answer_")) for key in drafts):
        del drafts["prefers"]
    return list(drafts.values())


def _distinct(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """Each claim once: a message that says the same thing twice says it once."""
    kept: dict[object, Candidate] = {}
    for candidate in candidates:
        claim = (
            candidate.about,
            candidate.predicate,
            repr(candidate.value),
            repr(candidate.qualifiers),
            candidate.denies,
        )
        key: object = claim if candidate.has_claim else candidate.statement
        kept.setdefault(key, candidate)
    return tuple(kept.values())


__all__ = ["MAX_CANDIDATES", "RULES_VERSION", "RulesExtractor"]
