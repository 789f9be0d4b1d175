"""French: what things are, use and depend on, and when they are due."""

from __future__ import annotations

import re
from datetime import timedelta

from facts.vocabulary import Category, Kind, Volatility
from ingest.extraction import dates
from ingest.extraction.base import GROUP
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, END_FOR, NAME, NP, STATED, Builder, Draft, Rule, rule, value
from ingest.extraction.rules.topics import handed_over, topic_of

TOPIC = (
    r"(?:le projet |l'application |le service |l'appli |notre |nos |le |la |les "
    r"|l')?(?P<topic>[\w.#+-]{2,30}(?: [\w.#+'-]{1,20}){0,3}?)"
)


def _property(predicate: str, verb: str, negated: str) -> Builder:
    def build(match: re.Match[str], clause: Clause) -> Draft | None:
        topic, thing = topic_of(match["topic"]), values.bare(match["thing"])
        if (
            not topic
            or _is_person(topic)
            or claims.is_vague(thing)
            or not (values.domain(thing) or re.match(r"[A-ZÉ0-9]", thing))
        ):
            return None
        return Draft(
            says=f"{verb} {thing}",
            negated=f"{negated} {thing}",
            predicate=predicate,
            value=value(values.common(thing)),
            about=topic,
            denies=bool(match.groupdict().get("plus")),
            confidence=CLEAR,
            volatility=Volatility.SLOW,
        )

    return build


def _is_person(topic: str) -> bool:
    return topic.casefold() in {
        "je",
        "on",
        "nous",
        "il",
        "elle",
        "ils",
        "elles",
        "tu",
        "vous",
        "qui",
        "ça",
        "ce",
        "cela",
        "c'est",
        "tout le monde",
        "personne",
    } or topic.casefold().startswith(("je ", "on ", "nous ", "il ", "elle ", "tu ", "vous ", "qui ", "ça "))


def _uses(match: re.Match[str], clause: Clause) -> Draft | None:
    topic, thing, use = topic_of(match["topic"]), match["thing"], match.groupdict().get("use") or ""
    if not topic or _is_person(topic) or not (values.domain(thing) or re.match(r"[A-ZÉ0-9]", values.bare(thing))):
        return None
    shown = f"{values.bare(thing)}{f' pour {use.strip()}' if use else ''}"
    return claims.uses(
        thing,
        use=use,
        says=f"utilise {shown}",
        negated=f"n'utilise plus {shown}",
        denies=bool(match.groupdict().get("plus")),
        about=topic,
        switched=bool(re.search(r"pass|migr|bascul", match.group())),
    )


def _person(match: re.Match[str], clause: Clause) -> Draft | None:
    topic, person = topic_of(match["topic"]), values.name(match["person"])
    if (
        not topic
        or _is_person(topic)
        or not re.fullmatch(NAME, person)
        or person.split()[0] in {"Le", "La", "Les", "Je", "On", "Il", "Elle", "Nous"}
    ):
        return None
    return Draft(
        says=f"a pour responsable {person}",
        predicate="owner",
        value=value(person),
        about=topic,
        category=Category.HANDOFF if clause.marker or handed_over(clause.lead) else Category.GENERAL,
        kind=Kind.RELATION,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
    )


def _deadline(match: re.Match[str], clause: Clause) -> Draft | None:
    topic = topic_of(match["topic"])
    found = dates.find(match["when"], occurred_at=clause.item.occurred_at, timezone=clause.item.timezone)
    if not topic or _is_person(topic) or not found:
        return None
    day = (found[-1].after - timedelta(days=1)).isoformat()
    return Draft(
        says=f"a pour échéance le {day}",
        predicate="deadline",
        value=value(day),
        about=topic,
        category=Category.DEADLINE_MENTION,
        kind=Kind.EVENT,
        confidence=STATED,
        volatility=Volatility.VOLATILE,
    )


_GROUP_PREDICATES = {
    "base de données": "database",
    "hébergeur": "cloud_provider",
    "framework": "framework",
    "stack": "stack",
    "outil de suivi": "issue_tracker",
}


def _group_property(match: re.Match[str], clause: Clause) -> Draft | None:
    thing, what = values.bare(match["thing"]), match["what"].lower()
    if claims.is_vague(thing) or len(thing.split()) > 4:
        return None
    return Draft(
        says=f"utilise {thing} comme {what}",
        predicate=_GROUP_PREDICATES[what],
        value=value(values.common(thing)),
        about=GROUP,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
    )


def _location(match: re.Match[str], clause: Clause) -> Draft | None:
    topic, thing = topic_of(match["topic"]), " ".join(match["thing"].split())
    if not topic or claims.is_vague(values.bare(thing)):
        return None
    return Draft(
        says=f"se trouve {match['where'].lower()} {thing}",
        predicate="located_at",
        value=value(values.bare(thing).casefold()),
        about=topic,
        category=Category.REFERENCE,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
    )


_NOW = r"(?:maintenant |désormais |toujours |actuellement |encore |aussi |déjà |enfin )*"
_WHEN = r"(?P<when>[^;!?()]{2,40}?)(?=\s*$|[.;!]|,)"
_OF = r"(?:du projet |de l'application |du service |du |de la |de l'|des |de |d')"

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:la date limite|l'échéance|la deadline|la date de (?:livraison|rendu)|la livraison"
        rf"|le rendu) (?:pour (?:le |la |les |l')?|{_OF})(?P<topic>[\wéèêàç.#+'-]{{2,30}}(?: "
        rf"[\wéèêàç.#+'-]{{1,20}}){{0,3}}?) (?:est|a été|sera|passe|tombe) {_NOW}(?:fixée? |reportée? "
        r"|repoussée? |décalée? |avancée? |prévue? )*(?P<when>(?:au |à |le |pour "
        r"|en )?[^;!?()]{2,40}?)(?=\s*$|[.;!]|,)",
        _deadline,
    ),
    rule(rf"{TOPIC} (?:est|sont) {_NOW}(?:à rendre|à livrer|attendue?s?|due?s?) {_WHEN}", _deadline),
    rule(
        rf"{TOPIC} (?:n')?utilise(?:nt)?(?P<plus> plus| pas)? {_NOW}(?P<thing>{NP})(?: (?:pour"
        rf"|comme) (?P<use>{NP}))?{END}",
        _uses,
    ),
    rule(
        rf"{TOPIC} (?:est|a|ont|sont) {_NOW}(?:passée?s?|migrée?s?|basculée?s?|été migrée?s?"
        rf"|été déplacée?s?) (?:de {NP} )?(?:à|sur|vers) (?P<thing>{NP})(?: pour (?P<use>{NP}))?{END}",
        _uses,
    ),
    rule(
        rf"{TOPIC} (?:est|sont|n'est|n'est) (?P<plus>plus |pas )?{_NOW}(?:hébergée?s?|déployée?s?) (?:chez"
        rf"|sur|dans) (?P<thing>{NP}){END_FOR}",
        _property("hosted_on", "est hébergé sur", "n'est plus hébergé sur"),
    ),
    rule(
        rf"{TOPIC} (?:ne )?(?:tourne|tournent|fonctionne)(?P<plus> plus)? {_NOW}(?:sur|avec"
        rf"|sous) (?P<thing>{NP}){END_FOR}",
        _property("hosted_on", "tourne sur", "ne tourne plus sur"),
    ),
    rule(
        rf"{TOPIC} (?:est|sont) {_NOW}(?:écrite?s?|codée?s?|développée?s?"
        rf"|implémentée?s?) en (?P<thing>{NP}){END_FOR}",
        _property("written_in", "est écrit en", "n'est plus écrit en"),
    ),
    rule(
        r"(?:notre|nos) (?P<what>base de données|hébergeur|framework|stack|outil de suivi) (?:est"
        rf"|c'est) {_NOW}(?P<thing>{NP}){END}",
        _group_property,
    ),
    rule(
        rf"{TOPIC} dépend(?:ent)? {_NOW}(?:de |d'|du )(?P<thing>{NP}){END_FOR}",
        _property("depends_on", "dépend de", "ne dépend plus de"),
    ),
    rule(
        r"(?:le |la )?(?:responsable|référente?|chef|cheffe|lead|contact|pilote"
        rf"|propriétaire) {_OF}(?P<topic>[\wéèêàç.#+'-]{{2,30}}(?: [\wéèêàç.#+'-]{{1,20}}){{0,2}}?) (?:est"
        rf"|c'est) {_NOW}(?P<person>(?-i:{NAME})){END}",
        _person,
    ),
    rule(
        rf"{TOPIC} (?:est|sont) {_NOW}(?:gérée?s?|pilotée?s?|maintenue?s?|suivie?s?"
        rf"|dirigée?s?) par (?P<person>(?-i:{NAME})){END_FOR}",
        _person,
    ),
    rule(
        rf"(?P<person>(?-i:{NAME})) (?:est {_NOW}(?:le |la )?(?:nouveau |nouvelle )?(?:responsable"
        rf"|référente?|chef|cheffe|lead|pilote)|{_NOW}(?:pilote|dirige|maintient)) (?:{_OF}|le |la |l'"
        rf"|les )(?P<topic>(?!équipe\b)[\wéèêàç.#+'-]{{2,30}}(?: [\wéèêàç.#+'-]{{1,20}}){{0,2}}?){END}",
        _person,
    ),
    rule(
        r"(?:le |la |les |l'|notre |nos )(?P<topic>(?:documentation|charte|doc|docs|guide|wiki|runbook"
        r"|cahier des charges|compte[- ]rendu|spec|specs|spécification|spécifications|procédure|modèle"
        r"|maquettes?|planning|feuille de route|support|présentation|rapport|tableau de bord|dépôt"
        r"|dossier partagé|checklist)(?: [\wéèêàç'-]{1,20}){0,4}?) (?:est|sont|se trouve|se trouvent"
        r"|est disponible|sont disponibles|est rangée?) (?P<where>dans|sur|sous"
        r"|ici) ?(?P<thing>[^.;!?\n]{2,60}?)(?=\s*$|[.;!])",
        _location,
    ),
)
