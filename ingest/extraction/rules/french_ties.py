"""French: whom a person belongs to, works for and learns from."""

from __future__ import annotations

import re

from facts.vocabulary import Kind, Volatility
from ingest.extraction.rules import values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import END, END_FOR, NAME, NP, Draft, Rule, rule, value
from ingest.extraction.rules.occupations import canonical, is_occupation

_ADV = (
    r"(?:(?:actuellement|maintenant|toujours|désormais|aussi|déjà|encore|récemment|enfin|plutôt"
    r"|vraiment|juste|principalement|officiellement) )*"
)
_SUIS = rf"je (?P<ne>ne )?suis (?P<plus>plus |pas )?{_ADV}"


def _over(match: re.Match[str]) -> bool:
    groups = match.groupdict()
    return bool(groups.get("plus"))


def _no_more(match: re.Match[str]) -> str:
    return "plus" if (match.groupdict().get("plus") or "").strip() == "plus" else "pas"


def _company(text: str) -> str:
    name = values.name(re.sub(r" (?:maintenant|désormais|actuellement)$", "", text.strip()))
    return name if re.match(r"(?:la |le |l')?[A-ZÉÈ0-9]", name) else ""


def _employer(match: re.Match[str], clause: Clause) -> Draft | None:
    company = _company(match["company"])
    if not company:
        return None
    left = bool(re.search(r"quitté|quitte", match.group()))
    return Draft(
        says=f"travaille chez {company}",
        negated=f"ne travaille {'plus' if left else _no_more(match)} chez {company}",
        predicate="employer",
        value=value(company),
        denies=left or _over(match),
        volatility=Volatility.SLOW,
        starts=bool(re.search(r"rejoin|quitt|commenc", match.group())),
    )


def _occupation(match: re.Match[str], clause: Clause) -> Draft | None:
    role = " ".join(match["role"].split()).lower()
    if not is_occupation(role):
        return None
    return Draft(
        says=f"est {role}",
        negated=f"n'est {_no_more(match)} {role}",
        predicate="occupation",
        value=value(canonical(role)),
        denies=_over(match),
        volatility=Volatility.SLOW,
    )


def _team(match: re.Match[str], clause: Clause) -> Draft | None:
    team = values.bare(match["team"])
    if not team or team.lower() in {"même", "bonne", "nouvelle"}:
        return None
    return Draft(
        says=f"fait partie de l'équipe {team}",
        negated=f"ne fait {_no_more(match)} partie de l'équipe {team}",
        predicate="team",
        value=value(team.casefold()),
        denies=_over(match),
        volatility=Volatility.SLOW,
        starts="rejoin" in match.group(),
    )


_RELATIONS = {
    "femme": "wife", "épouse": "wife", "mari": "husband", "époux": "husband", "compagne": "partner",
    "compagnon": "partner", "conjoint": "partner", "conjointe": "partner", "copine": "partner",
    "copain": "partner", "fiancée": "partner", "fiancé": "partner", "mère": "mother", "maman": "mother",
    "père": "father", "papa": "father", "frère": "brother", "sœur": "sister", "soeur": "sister", "fils": "son",
    "fille": "daughter", "chien": "dog", "chienne": "dog", "chat": "cat", "chatte": "cat", "manager": "manager",
    "chef": "manager", "cheffe": "manager", "patron": "manager", "patronne": "manager", "responsable": "manager",
}  # fmt: skip
_RELATION = "(?P<relation>" + "|".join(_RELATIONS) + ")"


def _relative(match: re.Match[str], clause: Clause) -> Draft | None:
    relation, name = _RELATIONS[match["relation"].lower()], values.name(match["name"])
    if not re.fullmatch(NAME, name):
        return None
    single = relation in {"wife", "husband", "partner", "mother", "father", "manager"}
    predicate = "spouse" if relation in {"wife", "husband"} else relation if single else f"has_{relation}"
    feminine = relation in {"wife", "mother", "sister", "daughter"} or match["relation"].lower() in {
        "compagne",
        "conjointe",
        "copine",
        "fiancée",
        "chienne",
        "chatte",
        "cheffe",
        "patronne",
    }
    return Draft(
        says=f"a {'une' if feminine else 'un'} {match['relation'].lower()} qui s'appelle {name}",
        predicate=predicate,
        value=value(name, relation=relation if predicate == "spouse" else ""),
        qualifiers={} if single else {"name": name.casefold()},
        kind=Kind.RELATION,
    )


_COUNTED = {
    "enfant": "children", "enfants": "children", "fils": "sons", "fille": "daughters", "filles": "daughters",
    "frère": "brothers", "frères": "brothers", "sœur": "sisters", "sœurs": "sisters", "soeurs": "sisters",
    "soeur": "sisters", "chien": "dogs", "chiens": "dogs", "chat": "cats", "chats": "cats",
}  # fmt: skip


def _counted(match: re.Match[str], clause: Clause) -> Draft | None:
    numbers = {"un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5}
    word = match["count"].lower()
    count = int(word) if word.isdigit() else numbers[word]
    what = match["what"].lower()
    return Draft(says=f"a {word} {what}", predicate=f"{_COUNTED[what]}_count", value=value(count), kind=Kind.RELATION)


def _married(match: re.Match[str], clause: Clause) -> Draft | None:
    word = match["status"].lower()
    status = (
        "married"
        if word.startswith("mari")
        else "divorced"
        if word.startswith("divorc")
        else "engaged"
        if word.startswith("fianc")
        else "single"
        if word.startswith("célib")
        else "widowed"
    )
    return Draft(says=f"est {word}", predicate="marital_status", value=value(status), volatility=Volatility.SLOW)


def _studies(match: re.Match[str], clause: Clause) -> Draft | None:
    what = values.bare(match["what"]).lower()
    if not what or what.startswith(("ça", "cela", "la question", "le dossier", "votre", "ta ", "les options")):
        return None
    return Draft(
        says=f"étudie {match['what'].strip()}",
        negated=f"n'étudie plus {match['what'].strip()}",
        predicate="studies",
        value=value(what, school=_company(match["school"] or "")),
        denies=_over(match),
        volatility=Volatility.SLOW,
    )


RULES: tuple[Rule, ...] = (
    rule(
        rf"je (?P<ne>ne )?(?:travaille|bosse) (?P<plus>plus |pas )?{_ADV}(?:chez"
        rf"|pour) (?P<company>{NP}){END_FOR}",
        _employer,
    ),
    rule(rf"{_SUIS}(?:employée?|embauchée?) (?:chez|par) (?P<company>{NP}){END_FOR}", _employer),
    rule(
        rf"(?:j'ai {_ADV}(?:rejoint|quitté|commencé chez|été embauchée? (?:chez|par))"
        r"|je viens de (?:rejoindre|quitter)|je rejoins|je quitte"
        rf"|je commence chez) (?P<company>(?!l'équipe|la réunion){NP}){END_FOR}",
        _employer,
    ),
    rule(rf"{_SUIS}(?:un |une )?[\wéèêàç' -]{{3,40}}? chez (?P<company>{NP}){END_FOR}", _employer),
    rule(
        rf"{_SUIS}(?:un |une |le |la )?(?P<role>[\wéèêàç' /-]{{3,40}}?)(?: de métier"
        rf"| de formation)?(?: (?:chez|à|au|dans|pour) .*)?{END}",
        _occupation,
    ),
    rule(
        rf"je (?P<ne>ne )?travaille (?P<plus>plus |pas )?{_ADV}comme (?P<role>[\wéèêàç' /-]{{3,40}}?)(?: "
        rf"(?:chez|à|au|dans|pour) .*)?{END}",
        _occupation,
    ),
    rule(
        r"(?:mon (?:métier|poste|travail|rôle)|ma profession)(?:,)? (?:est"
        rf"|c'est) (?P<role>[\wéèêàç' /-]{{3,40}}?)(?: (?:chez|à|au|dans|pour) .*)?{END}",
        _occupation,
    ),
    rule(
        rf"(?:{_SUIS}(?:dans|de|membre de)|je (?:ne )?fais {_ADV}partie de|j'ai {_ADV}rejoint"
        r"|je viens de rejoindre|je rejoins|je travaille dans) l'équipe (?P<team>[\wéèà&-]{2,30}(?: "
        r"(?-i:[A-Z])\w{1,20})?)\b",
        _team,
    ),
    rule(
        rf"(?:mon|ma) (?:nouveau |nouvelle |petit |petite |grand |grande )?{_RELATION} (?:s'appelle"
        rf"|se nomme|, c'est|est) (?P<name>(?-i:{NAME})){END}",
        _relative,
    ),
    rule(
        rf"(?:mon|ma) (?:petit |petite |grand |grande )?{_RELATION},? (?P<name>(?-i:{NAME}))(?:,| est\b"
        r"| a\b| habite\b| vit\b| travaille\b| et moi\b| fête\b)",
        _relative,
    ),
    rule(
        rf"j'ai (?:un|une) (?:petit |petite |grand |grande )?{_RELATION} (?:qui s'appelle|nommée?"
        rf"|prénommée?|appelée?) (?P<name>(?-i:{NAME})){END}",
        _relative,
    ),
    rule(
        r"(?:j'ai|on a|nous avons) (?P<count>une?|deux|trois|quatre|cinq|\d) (?:petits? |petites? "
        rf"|grands? |grandes? )?(?P<what>{'|'.join(sorted(_COUNTED, key=len, reverse=True))})(?=\s*$|[,.;!]"
        r"| et| qui(?! s'appel)| mais)",
        _counted,
    ),
    rule(
        rf"je suis {_ADV}(?P<status>mariée?|divorcée?|fiancée?|célibataire|veuve?)\b(?! avec (?:l'|le"
        r"|la) (?:idée|équipe))",
        _married,
    ),
    rule(
        r"(?:j'étudie|je fais (?:une (?:licence|thèse|formation)|un (?:master|doctorat|bts)) (?:de|en|d'"
        rf"|sur)|je suis étudiante? en|je (?:n')étudie(?P<plus> plus)) ?(?P<what>{NP})(?: à "
        rf"(?P<school>{NP}))?{END}",
        _studies,
    ),
)
