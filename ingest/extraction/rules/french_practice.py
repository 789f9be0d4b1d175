"""French: what a person works with, when, where to and for what, and how to reach them."""

from __future__ import annotations

import re

from facts.vocabulary import Form, Kind, Volatility
from ingest.extraction.base import GROUP
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, END_FOR, NP, STATED, Draft, Rule, rule, value

_ADV = (
    r"(?:(?:actuellement|maintenant|toujours|désormais|aussi|déjà|encore|surtout|vraiment|beaucoup|bien"
    r"|plutôt|énormément|particulièrement|dorénavant|finalement|franchement|principalement|tellement"
    r"|trop) )*"
)
_POUR = rf"(?: pour (?P<use>{NP}))?"
_PLUS = r"(?P<plus> plus| pas| jamais)?"


def _stopped(match: re.Match[str]) -> bool:
    return (match.groupdict().get("plus") or "").strip() == "plus"


def _uses(match: re.Match[str], clause: Clause) -> Draft | None:
    thing, use = match["thing"], match.groupdict().get("use") or ""
    if not (values.domain(thing) or re.match(r"[A-Z0-9]", values.bare(thing)) or use):
        return None
    group = bool(re.match(r"(?:on|nous)\b", match.group(), re.IGNORECASE))
    tail = f" pour {' '.join(use.split())}" if use else ""
    shown = values.bare(thing)
    return claims.uses(
        thing,
        use=use,
        says=f"utilise {shown}{tail}",
        negated=f"n'utilise {'plus' if _stopped(match) else 'pas'} {shown}{tail}",
        denies=bool(match.groupdict().get("plus")),
        about=GROUP if group else "",
        switched=bool(re.search(r"pass|migr|bascul", match.group())),
    )


def _channel(match: re.Match[str], clause: Clause) -> Draft | None:
    channel = values.common(match["channel"])
    if values.domain(match["channel"]) != "contact_channel":
        return None
    return Draft(
        says=f"préfère être joint par {values.bare(match['channel'])}",
        predicate="preferred_contact_channel",
        value=value(channel),
        kind=Kind.PREFERENCE,
        volatility=Volatility.SLOW,
    )


def _email(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(says=f"a pour adresse e-mail {match['email']}", predicate="email", value=value(match["email"].lower()))


def _phone(match: re.Match[str], clause: Clause) -> Draft | None:
    digits = re.sub(r"[^\d+]", "", match["phone"])
    return (
        Draft(
            says=f"a pour numéro de téléphone {match['phone'].strip()}", predicate="phone_number", value=value(digits)
        )
        if 8 <= len(digits) <= 16
        else None
    )


def _timezone(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(
        says=f"est dans le fuseau horaire {match['zone']}",
        predicate="timezone",
        value=value(match["zone"].strip()),
        volatility=Volatility.SLOW,
    )


_DAY = r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?"
_ENGLISH_DAY = {
    "lundi": "monday",
    "mardi": "tuesday",
    "mercredi": "wednesday",
    "jeudi": "thursday",
    "vendredi": "friday",
    "samedi": "saturday",
    "dimanche": "sunday",
}


def _days(match: re.Match[str], clause: Clause) -> Draft | None:
    days = " ".join(match["days"].split())
    english = re.sub(_DAY, lambda day: _ENGLISH_DAY[day.group().rstrip("s").lower()], days.lower(), flags=re.IGNORECASE)
    if match.groupdict().get("plus"):
        return Draft(
            says=f"ne travaille pas le {days}",
            predicate="day_off",
            value=value(True),
            qualifiers={"day": english},
            volatility=Volatility.SLOW,
        )
    return Draft(
        says=f"travaille du {days}",
        predicate="working_days",
        value=value(english.replace(" au ", " to ")),
        volatility=Volatility.SLOW,
    )


def _away(match: re.Match[str], clause: Clause) -> Draft | None:
    how = match["how"].lower()
    return Draft(
        says=f"est {how}",
        predicate="absence",
        value=value(how),
        kind=Kind.EVENT,
        form=Form.EVENT,
        volatility=Volatility.EPHEMERAL,
        confidence=STATED,
        starts=True,
    )


def _trip(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    if not place:
        return None
    return Draft(
        says=f"part {match['link']} {match['place'].strip()}",
        predicate="travels_to",
        value=value(place),
        kind=Kind.EVENT,
        form=Form.EVENT,
        confidence=CLEAR,
        volatility=Volatility.VOLATILE,
        starts=True,
    )


def _responsible(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(re.sub(r"^(?:du |des |de la |de l'|de )", "", match["thing"]))
    if claims.is_vague(thing) or len(thing.split()) > 6:
        return None
    return Draft(
        says=f"est responsable de : {thing}",
        negated=f"n'est plus responsable de : {thing}",
        predicate="responsible_for",
        value=value(True),
        qualifiers={"object": thing.casefold()},
        kind=Kind.RELATION,
        denies=bool(match.groupdict().get("plus")),
        volatility=Volatility.SLOW,
    )


_POLITE = (
    r"(?:(?:merci de|merci d'|de |d'|s'il te plaît|s'il vous plaît|stp|svp|peux-tu|pouvez-vous"
    r"|pourrais-tu|pourriez-vous|tu peux|vous pouvez|désormais|dorénavant|à partir de maintenant"
    r"|toujours|veuillez)(?:,)? ?)*"
)

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:je suis|on est|nous sommes|je viens de|j'ai|on a|on vient de) (?:passée?s?|passer|basculée?"
        rf"|migrée?s?) (?:de {NP} )?(?:à|sur|vers) (?P<thing>{NP}){_POUR}{END}",
        _uses,
    ),
    rule(
        r"(?:je n'|on n'|nous n'|j'|on |nous )utilis(?:e"
        rf"|ons){_PLUS} {_ADV}(?P<thing>{NP})(?: au lieu (?:de |d'|du ){NP})?{_POUR}{END}",
        _uses,
    ),
    rule(
        r"(?:le mieux|le meilleur moyen|la meilleure façon)(?: est de| c'est de| pour| de) me (?:joindre"
        rf"|contacter)(?: est|, c'est| c'est)? (?:par |sur |via |le |l')?(?P<channel>{NP}){END}",
        _channel,
    ),
    rule(
        rf"{_POLITE}(?:contacte|contactez|joins|joignez|écris|écrivez|contacter"
        rf"|joindre)(?:-moi)? (?:plutôt |de préférence )?(?:par|sur|via) (?P<channel>{NP}){END}",
        _channel,
    ),
    rule(
        r"je préfère (?:être contactée? |être jointe? |qu'on me contacte |qu'on me joigne "
        rf"|échanger )?(?:plutôt )?(?:par|via) (?P<channel>{NP}){END}",
        _channel,
    ),
    rule(
        r"mon (?:nouvelle |nouvel |nouveau )?(?:adresse e-?mail|adresse mail|adresse|e-?mail|mail"
        r"|courriel)(?: pro| perso)? ?(?:est|c'est) (?:maintenant "
        r"|désormais )?(?P<email>[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4})",
        _email,
    ),
    rule(
        r"mon (?:nouveau )?(?:numéro|téléphone|portable|numéro de téléphone)(?: de portable)? (?:est"
        r"|c'est) (?:maintenant |désormais )?(?:le )?(?P<phone>\+?\d[\d .-]{6,20}\d)",
        _phone,
    ),
    rule(
        r"(?:mon fuseau horaire est|je suis (?:dans le fuseau|sur le fuseau|en)) (?P<zone>(?:UTC"
        r"|GMT)(?: ?[+-] ?\d{1,2})?|CES?T|[A-Z][a-z]+/[A-Z]\w+)\b",
        _timezone,
    ),
    rule(rf"je ne travaille (?P<plus>pas|plus|jamais) (?:le )?(?P<days>{_DAY}(?: (?:et|ni) (?:le )?{_DAY})?)", _days),
    rule(rf"je travaille (?:uniquement )?(?:du )(?P<days>{_DAY} au {_DAY})", _days),
    rule(
        r"(?:je suis|je serai|je vais être) (?P<how>en (?:congés?|vacances|arrêt maladie|arrêt|déplacement"
        r"|télétravail|congé (?:maternité|paternité|parental)|rtt)|absente?|indisponible|hors ligne)\b",
        _away,
    ),
    rule(
        r"(?:je (?:pars|vais|voyage|m'envole)|on (?:part|va)|je serai) (?:en vacances )?(?P<link>à|au|en"
        rf"|aux|pour) (?P<place>(?-i:[A-ZÉ][\wéèàç-]+)){END_FOR}",
        _trip,
    ),
    rule(
        rf"je (?:ne )?(?P<plus>plus )?(?:suis {_ADV}(?:le |la )?(?:responsable|en charge)"
        rf"|m'occupe {_ADV}au quotidien) (?P<thing>(?:de la |de l'|du |des |d'|de ){NP}){END}",
        _responsible,
    ),
    rule(
        rf"je (?:dirige|gère|pilote|supervise|encadre|maintiens) (?P<thing>(?:l'|le |la |les ){NP}){END}", _responsible
    ),
)
