"""French: what a person knows, and how they want to be answered."""

from __future__ import annotations

import re

from facts.vocabulary import Kind, Volatility
from ingest.extraction.languages import FRENCH
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, NP, Draft, Rule, rule, value

_ADV = (
    r"(?:(?:actuellement|maintenant|toujours|désormais|aussi|déjà|encore|surtout|vraiment|beaucoup|bien"
    r"|plutôt|énormément|particulièrement|dorénavant|finalement|franchement|principalement|tellement"
    r"|trop) )*"
)
_PLUS = r"(?P<plus> plus| pas| jamais)?"
_STYLES = {
    "court": "short",
    "courte": "short",
    "brèves": "short",
    "courtes": "short",
    "concis": "short",
    "concise": "short",
    "concises": "short",
    "bref": "short",
    "détaillées": "detailed",
    "détaillé": "detailed",
    "simples": "simple",
    "simple": "simple",
}


def _style(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(
        says=f"souhaite des réponses {match['style'].lower()}",
        predicate="answer_style",
        value=value(_STYLES[match["style"].lower()]),
        kind=Kind.INSTRUCTION,
        volatility=Volatility.SLOW,
    )


def _address_form(match: re.Match[str], clause: Clause) -> Draft | None:
    form = "tu" if "tuto" in match.group().lower() else "vous"
    if re.search(r"\bne |pas ", match.group()):
        form = "vous" if form == "tu" else "tu"
    return Draft(
        says=f"souhaite qu'on lui dise {form}",
        predicate="address_form",
        value=value(form),
        kind=Kind.INSTRUCTION,
        volatility=Volatility.SLOW,
    )


def _speaks(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    shown = claims.language_name(code, FRENCH, match["lang"])
    return Draft(
        says=f"parle {shown}",
        negated=f"ne parle pas {shown}",
        predicate="speaks",
        value=value(True),
        qualifiers={"language": code},
        kind=Kind.SKILL,
        denies=bool(match.groupdict().get("plus")),
    )


def _native(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    return Draft(
        says=f"a pour langue maternelle : {claims.language_name(code, FRENCH, match['lang'])}",
        predicate="native_language",
        value=value(code),
    )


def _learning(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing):
        return None
    return Draft(
        says=f"apprend {match['thing'].strip()}",
        predicate="learning",
        value=value(True),
        qualifiers={"object": values.language(thing) or thing.casefold()},
        kind=Kind.SKILL,
        confidence=CLEAR,
        volatility=Volatility.VOLATILE,
    )


_POLITE = (
    r"(?:(?:merci de|merci d'|de |d'|s'il te plaît|s'il vous plaît|stp|svp|peux-tu|pouvez-vous"
    r"|pourrais-tu|pourriez-vous|tu peux|vous pouvez|désormais|dorénavant|à partir de maintenant"
    r"|toujours|veuillez)(?:,)? ?)*"
)

RULES: tuple[Rule, ...] = (
    rule(
        rf"{_POLITE}(?:fais|faites|donne-moi|donnez-moi|garde|gardez|je (?:veux|préfère|souhaite)) (?:des"
        r"|tes|vos|les) (?:réponses|messages|explications) (?:plus |plutôt |très )?(?P<style>courtes?"
        r"|brèves|concises|détaillées|simples)\b",
        _style,
    ),
    rule(rf"{_POLITE}(?:sois|soyez|reste|restez) (?P<style>bref|concise?|court)\b", _style),
    rule(
        r"(?:tu peux me tutoyer|vous pouvez me tutoyer|tutoie-moi|tutoyez-moi|on se tutoie|vouvoie-moi"
        r"|vouvoyez-moi|je préfère (?:le tutoiement|le vouvoiement|qu'on se tutoie|qu'on se vouvoie"
        r"|qu'on me (?:tuto|vouvo)ie)|(?:merci de )?(?:ne )?(?:pas )?me (?:tuto|vouvo)yer)",
        _address_form,
    ),
    rule(
        rf"je (?:ne )?parle{_PLUS} {_ADV}(?:couramment |un peu |bien )?(?:le "
        rf"|l')?(?P<lang>{values.LANGUAGE})\b",
        _speaks,
    ),
    rule(rf"je (?:suis bilingue|maîtrise) (?:en |le |l')?(?P<lang>{values.LANGUAGE})\b", _speaks),
    rule(rf"ma langue maternelle,? (?:est|c'est) (?:le |l')?(?P<lang>{values.LANGUAGE})\b", _native),
    rule(rf"j'apprends {_ADV}(?P<thing>(?!à\b|que\b|beaucoup){NP}){END}", _learning),
)
