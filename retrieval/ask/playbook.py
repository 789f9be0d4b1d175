"""What kind of question is asked, and with which words it is asked again: ordered patterns, the first that fits.

English and French. A kind only adds words to later searches; it decides nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words of a question that are looked for exactly.
MAX_TERMS = 8

_WORD = re.compile(r"[^\W_][\w'’.+#@-]*", re.UNICODE)
_STOP_WORDS = """
    a about after all also am an and any anything are as at be been before being but by can could did do does for from
    get had has have he her hers him his how i if in into is it its just list me mine more most my no not now of off on
    only or other our out over please she should show so some still tell than that the their them then there these they
    this those to told too up us very was we were what when where which while who whom whose why will with would you
    your
    alors au aucun aussi autre avec avoir car ce cela ces cette comme comment d'une dans de des donc dont du elle elles
    en encore est et eux faire fait il ils j'ai je l'on la le les leur lui ma mais me mes moi mon même ne nos notre nous
    on ou où par pas peu plus pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur
    ta tes toi ton tous tout très tu un une vos votre vous y à été être
"""
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Playbook:
    """A kind of question: what it is recognised by (``None``: everything), and the words that a refined search puts
    before it."""

    name: str
    cue: re.Pattern[str] | None
    words: str


def _playbook(name: str, cue: str, words: str) -> Playbook:
    return Playbook(name, re.compile(rf"\b(?:{cue})\b", re.IGNORECASE), words)


#: In the order in which they are tried; the last one fits everything.
PLAYBOOKS = (
    _playbook(
        "updates",
        r"still|latest|newest|currently|right now|these days|no longer|anymore|any more|chang(?:e|ed|es|ing)|updat\w+"
        r"|switch(?:ed)?|moved|encore|toujours|désormais|actuellement|dernière?s?|changé\w*|a changé|récemment",
        "now changed instead",
    ),
    _playbook(
        "preferences",
        r"prefer\w*|favou?rite|lik(?:e|es|ed)|dislikes?|enjoys?|loves?|hates?|avoids?|tastes?|rather"
        r"|préf[èé]r\w*|aim(?:e|es|ent|ait)|déteste\w*|goûts?|favorie?s?",
        "prefers likes favourite",
    ),
    _playbook(
        "enumeration",
        r"list|which ones|how many|all (?:the|of)|every|each|names? of|what are"
        r"|combien|lesquel(?:le)?s|liste\w*|tous les|toutes les|chaque|quels sont|quelles sont",
        "every also another",
    ),
    _playbook(
        "summary",
        r"summar\w+|overview|recap|in short|tell me about|what do (?:we|you) know|profile|background"
        r"|résum\w+|en bref|parle[- ]moi de|que sait-on|aperçu|bilan",
        "role work plans",
    ),
    _playbook(
        "contradictions",
        r"contradict\w*|conflict\w*|disagree\w*|inconsisten\w*|versus|or is it|which is (?:right|true|correct)"
        r"|contredi\w*|contradict\w*|désaccord|incohéren\w*|lequel est vrai",
        "however contrary different",
    ),
    _playbook(
        "temporal",
        r"when|what (?:day|date|time|month|year)|how long|since|until|before|after|during|ago|last|next|yesterday"
        r"|today|tomorrow|deadline|due|\d{4}|january|february|march|april|june|july|august|september|october|november"
        r"|december|quand|depuis|jusqu\w*|avant|après|pendant|hier|aujourd\w*|demain|échéance|date",
        "date day since",
    ),
    Playbook("direct", None, "said about"),
)


def playbook_of(question: str) -> Playbook:
    """Return the kind of question."""
    return next(kind for kind in PLAYBOOKS if kind.cue is None or kind.cue.search(question))


def terms(question: str) -> list[str]:
    """Return at most eight words of the question that say something by themselves, each once, in their order."""
    found: dict[str, str] = {}
    for word in _WORD.findall(question):
        bare = word.strip("'’.-")
        folded = bare.casefold()
        if folded and folded not in _STOP:
            found.setdefault(folded, bare)
    return list(found.values())[:MAX_TERMS]


def exact(words: list[str]) -> str:
    """Return the query that finds any of the words."""
    return " or ".join(words)


def refined(kind: Playbook, words: list[str]) -> str:
    """Return the question in other words: those of its kind, then its own."""
    return " ".join([*kind.words.split(), *words])
