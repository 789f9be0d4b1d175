"""French: what a person likes, eats, speaks, uses and wants."""

from __future__ import annotations

import re

from facts.vocabulary import Form, Kind, Volatility
from ingest.extraction.base import GROUP
from ingest.extraction.languages import FRENCH
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, END_FOR, NP, STATED, Draft, Rule, rule, value

_ADV = r"(?:(?:actuellement|maintenant|toujours|désormais|aussi|déjà|encore|surtout|vraiment|beaucoup|bien|plutôt|énormément|particulièrement|dorénavant|finalement|franchement|principalement|tellement|trop) )*"
_J = r"(?:je |j')"
_POUR = rf"(?: pour (?P<use>{NP}))?"
_PLUS = r"(?P<plus> plus| pas| jamais)?"


def _stopped(match: re.Match[str]) -> bool:
    return (match.groupdict().get("plus") or "").strip() == "plus"


def _likes(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = match["thing"]
    if re.match(r"(?:bien )?(?:ton|ta|tes|votre|vos|cette?|ce|ces|que|quand|comment|l'idée|le nouveau|la nouvelle|te|vous|voir|savoir|mieux|moins)\b", thing, re.IGNORECASE):
        return None
    verb = match["verb"].lower()
    dislikes = verb.startswith(("détest", "hai", "horreur"))
    negative = bool(match.groupdict().get("plus"))
    if dislikes and negative:
        return None
    thing = re.sub(r"^(?:pas |plus |bien |beaucoup |vraiment |trop )+", "", thing)
    return claims.likes(thing, positive=not (dislikes or negative), language=FRENCH, marker=clause.marker, ended=_stopped(match))


def _prefers(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = re.sub(r"^(?:utiliser |boire |prendre |travailler avec |travailler en |recevoir |être contactée? par |être jointe? par |qu'on me contacte par |communiquer par |échanger par |passer par |par )", "", match["thing"], flags=re.IGNORECASE)
    if re.match(r"(?:que|qu'|ne |pas |ça|attendre|éviter|être|voir|faire)", thing, re.IGNORECASE):
        return None
    return claims.prefers(thing, over=match.groupdict().get("over") or "", use=match.groupdict().get("use") or "", language=FRENCH)


def _in_language(match: re.Match[str], clause: Clause) -> Draft | None:
    instruction = not re.match(r"je (?:préfère|veux|souhaite)|j'", match.group(), re.IGNORECASE)
    return claims.preferred_language(match["lang"], use=match.groupdict().get("use") or "", language=FRENCH, instruction=instruction)


def _pronoun_in_language(match: re.Match[str], clause: Clause) -> Draft | None:
    """ "envoie-les-moi en anglais": what "les" stands for is looked up in what was said before."""
    use = earlier_topic(clause.item.window)
    if not use:
        return None
    return claims.preferred_language(match["lang"], use=use, language=FRENCH, instruction=True)


def earlier_topic(window: tuple[tuple[str, str], ...]) -> str:
    """The thing last asked for in some language, in the earlier messages."""
    for _, text in reversed(window):
        found = re.findall(rf"\b(?:mes|les|nos|my|the|our|all) ([\w-]{{3,30}}) (?:\w+ )?(?:en|in) {values.LANGUAGE}\b", text[-2000:].replace("’", "'"), re.IGNORECASE)
        if found:
            return str(found[-1])
    return ""


_STYLES = {"court": "short", "courte": "short", "brèves": "short", "courtes": "short", "concis": "short", "concise": "short", "concises": "short", "bref": "short", "détaillées": "detailed", "détaillé": "detailed", "simples": "simple", "simple": "simple"}


def _style(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(says=f"souhaite des réponses {match['style'].lower()}", predicate="answer_style", value=value(_STYLES[match["style"].lower()]), kind=Kind.INSTRUCTION, volatility=Volatility.SLOW)


def _address_form(match: re.Match[str], clause: Clause) -> Draft | None:
    form = "tu" if "tuto" in match.group().lower() else "vous"
    if re.search(r"\bne |pas ", match.group()):
        form = "vous" if form == "tu" else "tu"
    return Draft(says=f"souhaite qu'on lui dise {form}", predicate="address_form", value=value(form), kind=Kind.INSTRUCTION, volatility=Volatility.SLOW)


def _favourite(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.favourite(match["measure"], match["thing"], language=FRENCH)


def _diet(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.diet(match["diet"], denies=bool(match["plus"]), language=FRENCH, marker="plus" if _stopped(match) else "")


def _allergy(match: re.Match[str], clause: Clause) -> Draft | None:
    how = "intolérant(e)" if "intolér" in match.group() else "allergique"
    says = f"est {how} {match['link']}{match['thing'].strip()}"
    return claims.allergy(match["thing"], says=says, denies=bool(match["plus"]), negated=says.replace("est ", "n'est plus ", 1))


def _avoids(match: re.Match[str], clause: Clause) -> Draft | None:
    verb = "mange" if "mang" in match.group() else "boit"
    return claims.avoids(match["thing"], says=f"ne {verb} pas de {values.bare(match['thing'])}")


def _speaks(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    shown = claims.language_name(code, FRENCH, match["lang"])
    return Draft(says=f"parle {shown}", negated=f"ne parle pas {shown}", predicate="speaks", value=value(True), qualifiers={"language": code}, kind=Kind.SKILL, denies=bool(match.groupdict().get("plus")))


def _native(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    return Draft(says=f"a pour langue maternelle : {claims.language_name(code, FRENCH, match['lang'])}", predicate="native_language", value=value(code))


def _learning(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing):
        return None
    return Draft(says=f"apprend {match['thing'].strip()}", predicate="learning", value=value(True), qualifiers={"object": values.language(thing) or thing.casefold()}, kind=Kind.SKILL, confidence=CLEAR, volatility=Volatility.VOLATILE)


def _uses(match: re.Match[str], clause: Clause) -> Draft | None:
    thing, use = match["thing"], match.groupdict().get("use") or ""
    if not (values.domain(thing) or re.match(r"[A-Z0-9]", values.bare(thing)) or use):
        return None
    group = bool(re.match(r"(?:on|nous)\b", match.group(), re.IGNORECASE))
    tail = f" pour {' '.join(use.split())}" if use else ""
    shown = values.bare(thing)
    return claims.uses(thing, use=use, says=f"utilise {shown}{tail}", negated=f"n'utilise {'plus' if _stopped(match) else 'pas'} {shown}{tail}", denies=bool(match.groupdict().get("plus")), about=GROUP if group else "", switched=bool(re.search(r"pass|migr|bascul", match.group())))


def _channel(match: re.Match[str], clause: Clause) -> Draft | None:
    channel = values.common(match["channel"])
    if values.domain(match["channel"]) != "contact_channel":
        return None
    return Draft(says=f"préfère être joint par {values.bare(match['channel'])}", predicate="preferred_contact_channel", value=value(channel), kind=Kind.PREFERENCE, volatility=Volatility.SLOW)


def _email(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(says=f"a pour adresse e-mail {match['email']}", predicate="email", value=value(match["email"].lower()))


def _phone(match: re.Match[str], clause: Clause) -> Draft | None:
    digits = re.sub(r"[^\d+]", "", match["phone"])
    return Draft(says=f"a pour numéro de téléphone {match['phone'].strip()}", predicate="phone_number", value=value(digits)) if 8 <= len(digits) <= 16 else None


def _timezone(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(says=f"est dans le fuseau horaire {match['zone']}", predicate="timezone", value=value(match["zone"].strip()), volatility=Volatility.SLOW)


_DAY = r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?"
_ENGLISH_DAY = {"lundi": "monday", "mardi": "tuesday", "mercredi": "wednesday", "jeudi": "thursday", "vendredi": "friday", "samedi": "saturday", "dimanche": "sunday"}


def _days(match: re.Match[str], clause: Clause) -> Draft | None:
    days = " ".join(match["days"].split())
    english = re.sub(_DAY, lambda day: _ENGLISH_DAY[day.group().rstrip("s").lower()], days.lower(), flags=re.IGNORECASE)
    if match.groupdict().get("plus"):
        return Draft(says=f"ne travaille pas le {days}", predicate="day_off", value=value(True), qualifiers={"day": english}, volatility=Volatility.SLOW)
    return Draft(says=f"travaille du {days}", predicate="working_days", value=value(english.replace(" au ", " to ")), volatility=Volatility.SLOW)


def _away(match: re.Match[str], clause: Clause) -> Draft | None:
    how = match["how"].lower()
    return Draft(says=f"est {how}", predicate="absence", value=value(how), kind=Kind.EVENT, form=Form.EVENT, volatility=Volatility.EPHEMERAL, confidence=STATED, starts=True)


def _trip(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(match["place"])
    if not place:
        return None
    return Draft(says=f"part {match['link']} {match['place'].strip()}", predicate="travels_to", value=value(place), kind=Kind.EVENT, form=Form.EVENT, confidence=CLEAR, volatility=Volatility.VOLATILE, starts=True)


def _responsible(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(re.sub(r"^(?:du |des |de la |de l'|de )", "", match["thing"]))
    if claims.is_vague(thing) or len(thing.split()) > 6:
        return None
    return Draft(says=f"est responsable de : {thing}", negated=f"n'est plus responsable de : {thing}", predicate="responsible_for", value=value(True), qualifiers={"object": thing.casefold()}, kind=Kind.RELATION, denies=bool(match.groupdict().get("plus")), volatility=Volatility.SLOW)


_TOPIC = rf"(?:mes|les|nos|mon|ma|le|la|toutes mes|tous mes|toutes les|tous les) (?P<use>{NP})"
_WRITE = r"(?:réponds|répondez|répondre|répond|écris|écrivez|écrire|parle|parlez|parler|adresse-toi|communique|communiquez)"
_SEND = r"(?:envoie|envoyez|envoyer|rédige|rédigez|écris|écrivez|fais|faites|transmets|transmettez|donne|donnez|prépare|préparez)"
_POLITE = r"(?:(?:merci de|merci d'|de |d'|s'il te plaît|s'il vous plaît|stp|svp|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|tu peux|vous pouvez|désormais|dorénavant|à partir de maintenant|toujours|veuillez)(?:,)? ?)*"
_ME = r"(?:-moi|-nous| moi| nous| me| à moi)?"

RULES: tuple[Rule, ...] = (
    rule(rf"{_POLITE}{_SEND}-(?:les|le|la)(?:[- ]moi|[- ]nous)? (?:plutôt |désormais |maintenant |toujours )?en (?P<lang>{values.LANGUAGE})\b", _pronoun_in_language),
    rule(rf"(?:je les (?:préfère|veux|voudrais|souhaite)|plutôt) (?:plutôt |maintenant |désormais )?en (?P<lang>{values.LANGUAGE})\b", _pronoun_in_language),
    rule(rf"{_POLITE}(?:me |nous )?{_WRITE}{_ME} (?:plutôt |toujours |désormais |uniquement |seulement |maintenant )?en (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"{_POLITE}(?:me |m'|nous )?{_SEND}{_ME} {_TOPIC} (?:plutôt |toujours |désormais |maintenant )?en (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"{_J}(?:préfère|veux|souhaite|voudrais|aimerais)(?: {_ADV}(?:recevoir|avoir|lire|obtenir))? {_TOPIC} (?:plutôt |désormais |maintenant )?en (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"je (?:préfère|veux|souhaite) {_ADV}(?:qu'on me (?:réponde|parle|écrive)|que (?:tu|vous) me (?:répondes|répondiez|parles|parliez|écrives|écriviez)|parler|échanger|communiquer|discuter|des réponses|les réponses) en (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"{_POLITE}(?:fais|faites|donne-moi|donnez-moi|garde|gardez|je (?:veux|préfère|souhaite)) (?:des|tes|vos|les) (?:réponses|messages|explications) (?:plus |plutôt |très )?(?P<style>courtes?|brèves|concises|détaillées|simples)\b", _style),
    rule(rf"{_POLITE}(?:sois|soyez|reste|restez) (?P<style>bref|concise?|court)\b", _style),
    rule(r"(?:tu peux me tutoyer|vous pouvez me tutoyer|tutoie-moi|tutoyez-moi|on se tutoie|vouvoie-moi|vouvoyez-moi|je préfère (?:le tutoiement|le vouvoiement|qu'on se tutoie|qu'on se vouvoie|qu'on me (?:tuto|vouvo)ie)|(?:merci de )?(?:ne )?(?:pas )?me (?:tuto|vouvo)yer)", _address_form),
    rule(rf"(?:mon|ma|mes) (?P<measure>[\wéèêàâîôç' ]{{2,30}}?) (?:préférée?s?|favorite?s?)(?:,)? (?:est|sont|c'est|reste) (?:maintenant |désormais |toujours )?(?P<thing>{NP}){END}", _favourite),
    rule(rf"{_J}(?:préfère|aime mieux) {_ADV}(?P<thing>{NP}) (?:à|au|aux|plutôt que|plutôt qu'|que) ?(?P<over>(?:la |le |les |l')?{NP}){_POUR}{END_FOR}", _prefers),
    rule(rf"{_J}(?:préfère|aime mieux) {_ADV}(?P<thing>{NP}){_POUR}{END}", _prefers),
    rule(rf"je (?:n'|ne )?suis(?P<plus> plus| pas)? {_ADV}(?:devenue? )?(?P<diet>v[ée]ganes?|végan|végétalienn?e?|végétarienn?e?|végé|pescétarienn?e?|flexitarienn?e?)\b", _diet),
    rule(rf"je (?:n'|ne )?suis(?P<plus> plus| pas)? {_ADV}(?:allergique|intolérante?) (?P<link>au |aux |à la |à l'|à )(?P<thing>{NP}){END}", _allergy),
    rule(rf"(?:je ne |j'ai )(?:mange|bois|arrêté de manger|arrêté de boire|arrêté)(?: plus| pas| jamais)? (?:de |d'|du )(?P<thing>(?:viande|porc|poisson|alcool|gluten|café|lait|sucre|fromage|bœuf|thé|vin)(?: \w{{3,10}})?){END}", _avoids),
    rule(rf"(?:je n'|je ne |{_J})(?P<verb>aime|adore|déteste|hais|kiffe|apprécie|supporte){_PLUS} {_ADV}(?P<thing>(?!pas\b|plus\b|mieux\b){NP}){END}", _likes),
    rule(rf"j'ai (?P<verb>horreur) (?:de la |de l'|du |des |de |d')(?P<thing>{NP}){END}", _likes),
    rule(rf"je (?:ne )?parle{_PLUS} {_ADV}(?:couramment |un peu |bien )?(?:le |l')?(?P<lang>{values.LANGUAGE})\b", _speaks),
    rule(rf"je (?:suis bilingue|maîtrise) (?:en |le |l')?(?P<lang>{values.LANGUAGE})\b", _speaks),
    rule(rf"ma langue maternelle,? (?:est|c'est) (?:le |l')?(?P<lang>{values.LANGUAGE})\b", _native),
    rule(rf"j'apprends {_ADV}(?P<thing>(?!à\b|que\b|beaucoup){NP}){END}", _learning),
    rule(rf"(?:je suis|on est|nous sommes|je viens de|j'ai|on a|on vient de) (?:passée?s?|passer|basculée?|migrée?s?) (?:de {NP} )?(?:à|sur|vers) (?P<thing>{NP}){_POUR}{END}", _uses),
    rule(rf"(?:je n'|on n'|nous n'|j'|on |nous )utilis(?:e|ons){_PLUS} {_ADV}(?P<thing>{NP})(?: au lieu (?:de |d'|du ){NP})?{_POUR}{END}", _uses),
    rule(rf"(?:le mieux|le meilleur moyen|la meilleure façon)(?: est de| c'est de| pour| de) me (?:joindre|contacter)(?: est|, c'est| c'est)? (?:par |sur |via |le |l')?(?P<channel>{NP}){END}", _channel),
    rule(rf"{_POLITE}(?:contacte|contactez|joins|joignez|écris|écrivez|contacter|joindre)(?:-moi)? (?:plutôt |de préférence )?(?:par|sur|via) (?P<channel>{NP}){END}", _channel),
    rule(rf"je préfère (?:être contactée? |être jointe? |qu'on me contacte |qu'on me joigne |échanger )?(?:plutôt )?(?:par|via) (?P<channel>{NP}){END}", _channel),
    rule(r"mon (?:nouvelle |nouvel |nouveau )?(?:adresse e-?mail|adresse mail|adresse|e-?mail|mail|courriel)(?: pro| perso)? ?(?:est|c'est) (?:maintenant |désormais )?(?P<email>[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4})", _email),
    rule(r"mon (?:nouveau )?(?:numéro|téléphone|portable|numéro de téléphone)(?: de portable)? (?:est|c'est) (?:maintenant |désormais )?(?:le )?(?P<phone>\+?\d[\d .-]{6,20}\d)", _phone),
    rule(r"(?:mon fuseau horaire est|je suis (?:dans le fuseau|sur le fuseau|en)) (?P<zone>(?:UTC|GMT)(?: ?[+-] ?\d{1,2})?|CES?T|[A-Z][a-z]+/[A-Z]\w+)\b", _timezone),
    rule(rf"je ne travaille (?P<plus>pas|plus|jamais) (?:le )?(?P<days>{_DAY}(?: (?:et|ni) (?:le )?{_DAY})?)", _days),
    rule(rf"je travaille (?:uniquement )?(?:du )(?P<days>{_DAY} au {_DAY})", _days),
    rule(r"(?:je suis|je serai|je vais être) (?P<how>en (?:congés?|vacances|arrêt maladie|arrêt|déplacement|télétravail|congé (?:maternité|paternité|parental)|rtt)|absente?|indisponible|hors ligne)\b", _away),
    rule(rf"(?:je (?:pars|vais|voyage|m'envole)|on (?:part|va)|je serai) (?:en vacances )?(?P<link>à|au|en|aux|pour) (?P<place>(?-i:[A-ZÉ][\wéèàç-]+)){END_FOR}", _trip),
    rule(rf"je (?:ne )?(?P<plus>plus )?(?:suis {_ADV}(?:le |la )?(?:responsable|en charge)|m'occupe {_ADV}au quotidien) (?P<thing>(?:de la |de l'|du |des |d'|de ){NP}){END}", _responsible),
    rule(rf"je (?:dirige|gère|pilote|supervise|encadre|maintiens) (?P<thing>(?:l'|le |la |les ){NP}){END}", _responsible),
)
