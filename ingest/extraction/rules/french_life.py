"""French: who a person is and where they live."""

from __future__ import annotations

import re

from facts.vocabulary import Kind, Sensitivity, Volatility
from ingest.extraction import dates
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import END, END_FOR, NAME, NP, Draft, Rule, rule, value

_ADV = (
    r"(?:(?:actuellement|maintenant|toujours|désormais|aussi|déjà|encore|récemment|enfin|plutôt"
    r"|vraiment|juste|principalement|officiellement) )*"
)
_J = r"(?:je |j')"
_SUIS = rf"je (?P<ne>ne )?suis (?P<plus>plus |pas )?{_ADV}"


def _over(match: re.Match[str]) -> bool:
    groups = match.groupdict()
    return bool(groups.get("plus"))


def _no_more(match: re.Match[str]) -> str:
    return "plus" if (match.groupdict().get("plus") or "").strip() == "plus" else "pas"


def _home(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    if not place:
        return None
    return Draft(
        says=f"habite à {match['place'].strip()}",
        negated=f"n'habite {_no_more(match)} à {match['place'].strip()}",
        predicate="home_country" if values.is_country(place) else "home_city",
        value=value(place),
        denies=_over(match),
        volatility=Volatility.SLOW,
        starts=bool(re.search("ménag|install", match.group())),
    )


def _country(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    if not place:
        return None
    return Draft(
        says=f"habite en {match['place'].strip()}",
        negated=f"n'habite {_no_more(match)} en {match['place'].strip()}",
        predicate="home_country" if values.is_country(place) else "home_city",
        value=value(place),
        denies=_over(match),
        volatility=Volatility.SLOW,
    )


def _origin(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    return Draft(says=f"vient de {match['place'].strip()}", predicate="hometown", value=value(place)) if place else None


def _born(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    return (
        Draft(says=f"est né(e) à {match['place'].strip()}", predicate="birthplace", value=value(place))
        if place
        else None
    )


def _birthday(match: re.Match[str], clause: Clause) -> Draft | None:
    found = dates.find(match["when"], occurred_at=clause.item.occurred_at, timezone=clause.item.timezone)
    if not found or not found[0].fine or found[0].relative:
        return None
    day = found[0].first
    if re.search(r"\b(?:19|20)\d\d\b", match["when"]):
        return Draft(says=f"est né(e) le {day.isoformat()}", predicate="birth_date", value=value(day.isoformat()))
    return Draft(
        says=f"fête son anniversaire {match['when'].strip()}", predicate="birthday", value=value(day.strftime("%m-%d"))
    )


def _age(match: re.Match[str], clause: Clause) -> Draft | None:
    age = int(match["age"])
    return (
        Draft(says=f"a {age} ans", predicate="age", value=value(age), volatility=Volatility.SLOW)
        if 3 < age < 120
        else None
    )


def _name(match: re.Match[str], clause: Clause) -> Draft | None:
    name = values.name(match["name"])
    if not re.fullmatch(NAME, name):
        return None
    called = (
        "appelle-moi" in match.group().lower()
        or "appelez-moi" in match.group().lower()
        or "qu'on" in match.group().lower()
    )
    return Draft(
        says=f"souhaite qu'on l'appelle {name}" if called else f"s'appelle {name}",
        predicate="preferred_name" if called else "name",
        value=value(name),
        kind=Kind.PREFERENCE if called else Kind.ATTRIBUTE,
    )


def _condition(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing):
        return None
    return Draft(
        says=f"a reçu un diagnostic : {thing}",
        predicate="medical_condition",
        value=value(True),
        qualifiers={"object": thing.casefold()},
        sensitivity=Sensitivity.RESTRICTED,
    )


def _salary(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(
        says=f"a un salaire de {match['amount'].strip()}",
        predicate="salary",
        value=value(match["amount"].strip().casefold()),
        sensitivity=Sensitivity.RESTRICTED,
        volatility=Volatility.SLOW,
    )


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:je (?P<ne>n')|{_J}|on |nous )(?:habite|vis|vit|réside|habitons|vivons)(?P<plus> plus"
        rf"| pas)? {_ADV}(?:à|au|aux) (?P<place>{NP}){END_FOR}",
        _home,
    ),
    rule(
        rf"(?:je (?P<ne>n')|{_J})?(?:habite|vis|réside)(?P<plus> plus"
        rf"| pas)? {_ADV}en (?P<place>(?-i:[A-ZÉ]){NP}){END_FOR}",
        _country,
    ),
    rule(rf"je (?P<ne>ne )?vis (?P<plus>plus |pas )?{_ADV}à (?P<place>{NP}){END_FOR}", _home),
    rule(rf"{_SUIS}basée? à (?P<place>{NP}){END_FOR}", _home),
    rule(
        rf"(?:j'ai {_ADV}(?:déménagé|emménagé)|je viens (?:tout juste )?(?:de déménager|d'emménager"
        r"|de m'installer)|je déménage|j'emménage|je me suis installée?|je m'installe|je vais (?:déménager"
        rf"|emménager|m'installer)) {_ADV}(?:de {NP} )?(?:à|au) (?P<place>{NP}){END_FOR}",
        _home,
    ),
    rule(rf"(?:je viens|je suis originaire) (?:de |d')(?P<place>(?-i:[A-ZÉ]){NP}){END_FOR}", _origin),
    rule(rf"je suis née? à (?P<place>{NP}){END_FOR}", _born),
    rule(
        r"mon anniversaire,? (?:est|c'est|tombe) (?P<when>le [\wéû ]{3,30}?)(?=\s*$|[.;!,]| et| donc| mais)", _birthday
    ),
    rule(r"je suis née? (?P<when>le [\wéû ]{3,30}?)(?=\s*$|[.;!,]| à | et)", _birthday),
    rule(r"j'ai (?P<age>\d{1,3}) ans(?! d')", _age),
    rule(r"je viens d'avoir (?P<age>\d{1,3}) ans", _age),
    rule(
        r"(?:je m'appelle|mon (?:nom|prénom) est|mon (?:nom|prénom),? c'est|appelle-moi|appelez-moi"
        r"|(?:je préfère|j'aime mieux) qu'on m'appelle|tu peux m'appeler"
        rf"|vous pouvez m'appeler) (?P<name>(?-i:{NAME})){END}",
        _name,
    ),
    rule(rf"on m'a diagnostiqué (?:un |une |du |de la |le |la )?(?P<thing>{NP}){END}", _condition),
    rule(r"mon salaire est (?:maintenant )?de (?P<amount>\d[\d.,  ]{0,12} ?(?:k€?|euros?|€)?)", _salary),
)
