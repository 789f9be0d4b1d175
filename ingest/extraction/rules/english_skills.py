"""English: what a person knows, and how they want to be answered."""

from __future__ import annotations

import re

from facts.vocabulary import Kind, Volatility
from ingest.extraction.languages import ENGLISH
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, NP, Draft, Rule, rule, value

_ADV = (
    r"(?:(?:actually|currently|now|still|just|recently|also|always|usually|mostly|really|generally"
    r"|absolutely|typically|personally|kinda|definitely|much|strongly|finally|simply|mainly|already"
    r"|mostly|never) )*"
)
_STYLES = {
    "short": "short", "brief": "short", "concise": "short", "to the point": "short", "detailed": "detailed",
    "long": "detailed", "thorough": "detailed", "simple": "simple", "in bullet points": "bullet points",
    "as bullet points": "bullet points", "with bullet points": "bullet points", "formal": "formal",
    "informal": "informal", "casual": "informal",
}  # fmt: skip


def _style(match: re.Match[str], clause: Clause) -> Draft | None:
    style = _STYLES[match["style"].lower()]
    return Draft(
        says=f"wants answers kept {style}" if style != "bullet points" else "wants answers in bullet points",
        predicate="answer_style",
        value=value(style),
        kind=Kind.INSTRUCTION,
        volatility=Volatility.SLOW,
    )


def _units(match: re.Match[str], clause: Clause) -> Draft | None:
    units = match["units"].lower()
    units = {"celsius": "metric", "fahrenheit": "imperial"}.get(units, units)
    return Draft(says=f"wants {units} units", predicate="preferred_units", value=value(units), kind=Kind.INSTRUCTION)


def _speaks(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    level = (match.groupdict().get("level") or "").strip().lower()
    shown = claims.language_name(code, ENGLISH, match["lang"])
    return Draft(
        says=f"speaks {shown}",
        negated=f"does not speak {shown}",
        predicate="speaks",
        value=value(True, level=level),
        qualifiers={"language": code},
        kind=Kind.SKILL,
        denies=bool(match.groupdict().get("not")),
    )


def _native(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    return Draft(
        says=f"has {claims.language_name(code, ENGLISH, match['lang'])} as native language",
        predicate="native_language",
        value=value(code),
    )


def _learning(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing) or thing.lower().startswith(("that ", "about", "more", "from")):
        return None
    return Draft(
        says=f"is learning {thing}",
        predicate="learning",
        value=value(True),
        qualifiers={"object": values.language(thing) or thing.casefold()},
        kind=Kind.SKILL,
        volatility=Volatility.VOLATILE,
        confidence=CLEAR,
    )


def _skill(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing) or thing.lower().startswith(("with ", "this", "that", "hearing")):
        return None
    return Draft(
        says=f"has experience with {thing}",
        predicate="skilled_in",
        value=value(True),
        qualifiers={"object": values.common(thing)},
        kind=Kind.SKILL,
        confidence=CLEAR,
    )


_POLITE = (
    r"(?:(?:please|kindly|from now on|always|just|could you|can you|would you|can we|i want you to"
    r"|i need you to|i'd like you to|you should|you can)(?:,)? )*"
)

RULES: tuple[Rule, ...] = (
    rule(
        rf"{_POLITE}(?:keep|make) (?:your |the |all )?(?:answers|replies|responses|messages|explanations"
        r"|it) (?P<style>short|brief|concise|to the point|detailed|thorough|simple|formal|informal"
        r"|casual)\b",
        _style,
    ),
    rule(
        rf"{_POLITE}(?:give me|i want|i like|i prefer) (?:your )?(?P<style>short|brief|concise|detailed"
        r"|long|thorough|simple|formal) (?:answers|replies|responses|explanations)\b",
        _style,
    ),
    rule(
        rf"{_POLITE}(?:answer|reply|respond|write)(?: to me)? (?P<style>in bullet points|with bullet points"
        r"|as bullet points)\b",
        _style,
    ),
    rule(rf"{_POLITE}use (?P<units>metric|imperial|celsius|fahrenheit)\b", _units),
    rule(
        rf"i {_ADV}(?P<not>don't |do not |can't )?(?:{_ADV})(?:speak|can speak|know) (?P<level>fluent "
        rf"|some |a little |basic |native )?(?P<lang>{values.LANGUAGE})\b",
        _speaks,
    ),
    rule(rf"i(?:'m| am) (?P<level>fluent|native|bilingual|conversational) in (?P<lang>{values.LANGUAGE})\b", _speaks),
    rule(rf"my (?:native|first|mother) (?:language|tongue) is (?P<lang>{values.LANGUAGE})\b", _native),
    rule(
        rf"i(?:'m| am| have been|'ve been) {_ADV}(?:learning|taking lessons in) (?P<thing>(?!how\b|to\b"
        rf"|a lot){NP}){END}",
        _learning,
    ),
    rule(
        r"i(?:'m| am) (?:experienced|proficient|skilled|an expert|certified|well versed) (?:with"
        rf"|in) (?P<thing>{NP}){END}",
        _skill,
    ),
    rule(rf"i(?:'ve| have) (?:\w+|\d+\+?) years (?:of )?experience (?:with|in|as) (?P<thing>{NP}){END}", _skill),
)
