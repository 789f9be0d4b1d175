"""English: who a person is and where they live."""

from __future__ import annotations

import re

from facts.vocabulary import Kind, Sensitivity, Volatility
from ingest.extraction import dates
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import END, END_FOR, NAME, NP, Draft, Rule, rule, value

_ADV = (
    r"(?:(?:actually|currently|now|still|just|recently|finally|already|also|always|usually|mostly"
    r"|really|both|typically|permanently|temporarily|officially|happily) )*"
)
_BE = rf"(?:i am|i'm|im|i was|i've been) {_ADV}"
_NOT = r"(?P<not>don't |do not |no longer |am not |'m not |not |never )?"


def _ended(match: re.Match[str]) -> bool:
    return bool(match.groupdict().get("not"))


def _home(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    if not place or re.match(r"(?:the )?(?:Friday|Monday|Slack|Jira|Python|Q\d)", match["place"]):
        return None
    moved = "mov" in match.group() or "relocat" in match.group()
    over = _ended(match) or "used to" in match.group().lower()
    return Draft(
        says=f"lives in {place}",
        negated=f"{'no longer lives' if clause.marker else 'does not live'} in {place}",
        predicate="home_country" if values.is_country(place) else "home_city",
        value=value(place),
        denies=over,
        volatility=Volatility.SLOW,
        starts=moved,
    )


def _origin(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    return Draft(says=f"is originally from {place}", predicate="hometown", value=value(place)) if place else None


def _born(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    return Draft(says=f"was born in {place}", predicate="birthplace", value=value(place)) if place else None


def _birthday(match: re.Match[str], clause: Clause) -> Draft | None:
    found = dates.find(match["when"], occurred_at=clause.item.occurred_at, timezone=clause.item.timezone)
    if not found or not found[0].fine or found[0].relative:
        return None
    born = re.search(r"\b(?:19|20)\d\d\b", match["when"])
    day = found[0].first
    if born:
        return Draft(says=f"was born on {day.isoformat()}", predicate="birth_date", value=value(day.isoformat()))
    return Draft(
        says=f"has their birthday on {match['when'].strip()}", predicate="birthday", value=value(day.strftime("%m-%d"))
    )


def _age(match: re.Match[str], clause: Clause) -> Draft | None:
    age = int(match["age"])
    return (
        Draft(says=f"is {age} years old", predicate="age", value=value(age), volatility=Volatility.SLOW)
        if 3 < age < 120
        else None
    )


def _name(match: re.Match[str], clause: Clause) -> Draft | None:
    name = values.name(match["name"])
    called = not match.group().lower().startswith(("my name", "my full"))
    if not re.fullmatch(NAME, name) or name in {"When", "If", "Back", "Later", "Tomorrow", "Monday", "Friday", "Me"}:
        return None
    return Draft(
        says=f"{'goes by' if called else 'is named'} {name}",
        predicate="preferred_name" if called else "name",
        value=value(name),
        kind=Kind.PREFERENCE if called else Kind.ATTRIBUTE,
    )


def _pronouns(match: re.Match[str], clause: Clause) -> Draft | None:
    pronouns = match["pronouns"].lower().replace(" ", "")
    return Draft(says=f"uses the pronouns {pronouns}", predicate="pronouns", value=value(pronouns))


def _condition(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing):
        return None
    return Draft(
        says=f"was diagnosed with {thing}",
        predicate="medical_condition",
        value=value(True),
        qualifiers={"object": thing.casefold()},
        sensitivity=Sensitivity.RESTRICTED,
    )


def _salary(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(
        says=f"has a salary of {match['amount'].strip()}",
        predicate="salary",
        value=value(match["amount"].strip().casefold()),
        sensitivity=Sensitivity.RESTRICTED,
        volatility=Volatility.SLOW,
    )


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:i|we) {_ADV}{_NOT}{_ADV}(?:used to )?(?:live|reside"
        rf"|stay permanently) (?:in|near|just outside|outside) (?P<place>{NP}){END_FOR}",
        _home,
    ),
    rule(
        rf"(?:i am|i'm|im|i've been|i have been) {_ADV}{_NOT}{_ADV}(?:living|based|located|residing) (?:in"
        rf"|out of) (?P<place>{NP}){END_FOR}",
        _home,
    ),
    rule(rf"i(?:'ve| have)? {_ADV}(?:moved|relocated) (?:back )?(?:from {NP} )?to (?P<place>{NP}){END_FOR}", _home),
    rule(rf"{_BE}(?:moving|relocating) (?:back )?(?:from {NP} )?to (?P<place>{NP}){END_FOR}", _home),
    rule(rf"my (?:home|home city|hometown now|place) is in (?P<place>{NP}){END_FOR}", _home),
    rule(rf"my home ?city is (?:now )?(?P<place>{NP}){END_FOR}", _home),
    rule(rf"(?:i am|i'm|im|i come) (?:originally )?from (?P<place>{NP}){END_FOR}", _origin),
    rule(rf"my hometown is (?P<place>{NP}){END_FOR}", _origin),
    rule(rf"i was born (?:and raised )?in (?P<place>(?!\d){NP}){END_FOR}", _born),
    rule(r"my birthday is (?:on )?(?P<when>[\w ,]{3,30}?)(?=\s*$|[.;!]| and| so| but)", _birthday),
    rule(r"i was born on (?:the )?(?P<when>[\w ,-]{5,30}?)(?=\s*$|[.;!]| in [A-Z]| and| so| but)", _birthday),
    rule(rf"(?:i am|i'm|im) {_ADV}(?P<age>\d{{1,3}})(?: years? old| yo\b|(?=\s*$))", _age),
    rule(r"i (?:just )?turned (?P<age>\d{1,3})\b", _age),
    rule(rf"my (?:full |first )?name is (?P<name>(?-i:{NAME})){END}", _name),
    rule(
        r"(?:please |you can |just |everyone )*(?:call me|calls me|i go by|i prefer to be called"
        rf"|i'd rather be called|address me as) (?P<name>(?-i:{NAME})){END}",
        _name,
    ),
    rule(
        r"(?:my pronouns are|i use|i go by|pronouns:?) (?P<pronouns>(?:she|he|they|xe|ze|it) ?/ ?(?:her|him"
        r"|them|xem|hir|they|she|he|its)(?: ?/ ?\w+)?)(?: pronouns)?",
        _pronouns,
    ),
    rule(rf"(?:i was|i've been|i have been|i got) {_ADV}diagnosed with (?P<thing>{NP}){END}", _condition),
    rule(
        r"my (?:new |current )?salary is (?:now )?(?P<amount>[$€£]?\d[\d.,]{0,12} ?(?:k|euros?|dollars?"
        r"|[$€£])?)",
        _salary,
    ),
)
