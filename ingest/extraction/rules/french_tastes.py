"""French: what a person likes, eats and prefers, and the language they want."""

from __future__ import annotations

import re

from ingest.extraction.languages import FRENCH
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import END, END_FOR, NP, Draft, Rule, rule

_ADV = (
    r"(?:(?:actuellement|maintenant|toujours|désormais|aussi|déjà|encore|surtout|vraiment|beaucoup|bien"
    r"|plutôt|énormément|particulièrement|dorénavant|finalement|franchement|principalement|tellement"
    r"|trop) )*"
)
_J = r"(?:je |j')"
_POUR = rf"(?: pour (?P<use>{NP}))?"
_PLUS = r"(?P<plus> plus| pas| jamais)?"


def _stopped(match: re.Match[str]) -> bool:
    return (match.groupdict().get("plus") or "").strip() == "plus"


def _likes(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = match["thing"]
    if re.match(
        r"(?:bien )?(?:ton|ta|tes|votre|vos|cette?|ce|ces|que|quand|comment|l'idée|le nouveau|la nouvelle"
        r"|te|vous|voir|savoir|mieux|moins)\b",
        thing,
        re.IGNORECASE,
    ):
        return None
    verb = match["verb"].lower()
    dislikes = verb.startswith(("détest", "hai", "horreur"))
    negative = bool(match.groupdict().get("plus"))
    if dislikes and negative:
        return None
    thing = re.sub(r"^(?:pas |plus |bien |beaucoup |vraiment |trop )+", "", thing)
    return claims.likes(
        thing, positive=not (dislikes or negative), language=FRENCH, marker=clause.marker, ended=_stopped(match)
    )


def _prefers(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = re.sub(
        r"^(?:utiliser |boire |prendre |travailler avec |travailler en |recevoir |être contactée? par "
        r"|être jointe? par |qu'on me contacte par |communiquer par |échanger par |passer par |par )",
        "",
        match["thing"],
        flags=re.IGNORECASE,
    )
    if re.match(r"(?:que|qu'|ne |pas |ça|attendre|éviter|être|voir|faire)", thing, re.IGNORECASE):
        return None
    return claims.prefers(
        thing, over=match.groupdict().get("over") or "", use=match.groupdict().get("use") or "", language=FRENCH
    )


def _in_language(match: re.Match[str], clause: Clause) -> Draft | None:
    instruction = not re.match(r"je (?:préfère|veux|souhaite)|j'", match.group(), re.IGNORECASE)
    return claims.preferred_language(
        match["lang"], use=match.groupdict().get("use") or "", language=FRENCH, instruction=instruction
    )


def _pronoun_in_language(match: re.Match[str], clause: Clause) -> Draft | None:
    """ "envoie-les-moi en anglais": what "les" stands for is looked up in what was said before."""
    use = earlier_topic(clause.item.window)
    if not use:
        return None
    return claims.preferred_language(match["lang"], use=use, language=FRENCH, instruction=True)


def earlier_topic(window: tuple[tuple[str, str], ...]) -> str:
    """The thing last asked for in some language, in the earlier messages."""
    for _, text in reversed(window):
        found = re.findall(
            rf"\b(?:mes|les|nos|my|the|our|all) ([\w-]{{3,30}}) (?:\w+ )?(?:en|in) {values.LANGUAGE}\b",
            text[-2000:].replace("’", "'"),
            re.IGNORECASE,
        )
        if found:
            return str(found[-1])
    return ""


def _favourite(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.favourite(match["measure"], match["thing"], language=FRENCH)


def _diet(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.diet(
        match["diet"], denies=bool(match["plus"]), language=FRENCH, marker="plus" if _stopped(match) else ""
    )


def _allergy(match: re.Match[str], clause: Clause) -> Draft | None:
    how = "intolérant(e)" if "intolér" in match.group() else "allergique"
    says = f"est {how} {match['link']}{match['thing'].strip()}"
    return claims.allergy(
        match["thing"], says=says, denies=bool(match["plus"]), negated=says.replace("est ", "n'est plus ", 1)
    )


def _avoids(match: re.Match[str], clause: Clause) -> Draft | None:
    verb = "mange" if "mang" in match.group() else "boit"
    return claims.avoids(match["thing"], says=f"ne {verb} pas de {values.bare(match['thing'])}")


_TOPIC = rf"(?:mes|les|nos|mon|ma|le|la|toutes mes|tous mes|toutes les|tous les) (?P<use>{NP})"
_WRITE = (
    r"(?:réponds|répondez|répondre|répond|écris|écrivez|écrire|parle|parlez|parler|adresse-toi"
    r"|communique|communiquez)"
)
_SEND = (
    r"(?:envoie|envoyez|envoyer|rédige|rédigez|écris|écrivez|fais|faites|transmets|transmettez|donne"
    r"|donnez|prépare|préparez)"
)
_POLITE = (
    r"(?:(?:merci de|merci d'|de |d'|s'il te plaît|s'il vous plaît|stp|svp|peux-tu|pouvez-vous"
    r"|pourrais-tu|pourriez-vous|tu peux|vous pouvez|désormais|dorénavant|à partir de maintenant"
    r"|toujours|veuillez)(?:,)? ?)*"
)
_ME = r"(?:-moi|-nous| moi| nous| me| à moi)?"

RULES: tuple[Rule, ...] = (
    rule(
        rf"{_POLITE}{_SEND}-(?:les|le|la)(?:[- ]moi|[- ]nous)? (?:plutôt |désormais |maintenant "
        rf"|toujours )?en (?P<lang>{values.LANGUAGE})\b",
        _pronoun_in_language,
    ),
    rule(
        r"(?:je les (?:préfère|veux|voudrais|souhaite)|plutôt) (?:plutôt |maintenant "
        rf"|désormais )?en (?P<lang>{values.LANGUAGE})\b",
        _pronoun_in_language,
    ),
    rule(
        rf"{_POLITE}(?:me |nous )?{_WRITE}{_ME} (?:plutôt |toujours |désormais |uniquement |seulement "
        rf"|maintenant )?en (?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        rf"{_POLITE}(?:me |m'|nous )?{_SEND}{_ME} {_TOPIC} (?:plutôt |toujours |désormais "
        rf"|maintenant )?en (?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        rf"{_J}(?:préfère|veux|souhaite|voudrais|aimerais)(?: {_ADV}(?:recevoir|avoir|lire"
        rf"|obtenir))? {_TOPIC} (?:plutôt |désormais |maintenant )?en (?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        rf"je (?:préfère|veux|souhaite) {_ADV}(?:qu'on me (?:réponde|parle|écrive)|que (?:tu"
        r"|vous) me (?:répondes|répondiez|parles|parliez|écrives|écriviez)|parler|échanger|communiquer"
        rf"|discuter|des réponses|les réponses) en (?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        r"(?:mon|ma|mes) (?P<measure>[\wéèêàâîôç' ]{2,30}?) (?:préférée?s?|favorite?s?)(?:,)? (?:est"
        rf"|sont|c'est|reste) (?:maintenant |désormais |toujours )?(?P<thing>{NP}){END}",
        _favourite,
    ),
    rule(
        rf"{_J}(?:préfère|aime mieux) {_ADV}(?P<thing>{NP}) (?:à(?! ?\d)|au|aux|plutôt que|plutôt qu'"
        rf"|que) ?(?P<over>(?:la |le |les |l')?{NP}){_POUR}{END_FOR}",
        _prefers,
    ),
    rule(rf"{_J}(?:préfère|aime mieux) {_ADV}(?P<thing>{NP}){_POUR}{END}", _prefers),
    rule(
        rf"je (?:n'|ne )?suis(?P<plus> plus| pas)? {_ADV}(?:devenue? )?(?P<diet>v[ée]ganes?|végan"
        r"|végétalienn?e?|végétarienn?e?|végé|pescétarienn?e?|flexitarienn?e?)\b",
        _diet,
    ),
    rule(
        rf"je (?:n'|ne )?suis(?P<plus> plus| pas)? {_ADV}(?:allergique|intolérante?) (?P<link>au |aux "
        rf"|à la |à l'|à )(?P<thing>{NP}){END}",
        _allergy,
    ),
    rule(
        r"(?:je ne |j'ai )(?:mange|bois|arrêté de manger|arrêté de boire|arrêté)(?: plus| pas"
        r"| jamais)? (?:de |d'|du )(?P<thing>(?:viande|porc|poisson|alcool|gluten|café|lait|sucre|fromage"
        rf"|bœuf|thé|vin)(?: \w{{3,10}})?){END}",
        _avoids,
    ),
    rule(
        rf"(?:je n'|je ne |{_J})(?P<verb>aime|adore|déteste|hais|kiffe|apprécie"
        rf"|supporte){_PLUS} {_ADV}(?P<thing>(?!pas\b|plus\b|mieux\b){NP}){END}",
        _likes,
    ),
    rule(rf"j'ai (?P<verb>horreur) (?:de la |de l'|du |des |de |d')(?P<thing>{NP}){END}", _likes),
)
