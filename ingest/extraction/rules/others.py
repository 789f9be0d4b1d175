"""Statements about another person, read with the rules for the first person.

"Ana lives in Lisbon" becomes "I live in Lisbon" about Ana. A name of the conversation is trusted with
any verb; any other capitalised word only with verbs that things do not take.
"""

from __future__ import annotations

import re

from ingest.extraction.languages import FRENCH
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import NAME
from ingest.extraction.subjects import resolve

_ENGLISH_VERBS = {
    "lives": "live", "works": "work", "prefers": "prefer", "likes": "like", "loves": "love", "hates": "hate",
    "enjoys": "enjoy", "speaks": "speak", "uses": "use", "is": "am", "has": "have", "moved": "moved",
    "relocated": "relocated", "joined": "joined", "left": "left", "leads": "lead", "manages": "manage",
    "owns": "own", "studies": "study", "doesn't": "don't", "dislikes": "dislike", "isn't": "am not",
    "used": "used", "just": "just", "recently": "recently", "no": "no", "switched": "switched",
    "graduated": "graduated", "turned": "turned", "drinks": "drink", "was": "was", "can't": "can't",
}  # fmt: skip
_ENGLISH = re.compile(rf"(?P<name>@?{NAME}) (?P<verb>{'|'.join(_ENGLISH_VERBS)})\b")
_SAFE_ENGLISH = re.compile(
    r"(?:lives in|works (?:at|for|as)|prefers|speaks|moved to [A-Z]|joined [A-Z]|is (?:vegan|vegetarian"
    r"|allergic|based in|married|pregnant|a \w+ (?:engineer|developer|designer))|loves|likes|hates)\b"
)
_FRENCH_VERBS = {
    "habite": "habite", "vit": "vis", "travaille": "travaille", "préfère": "préfère", "aime": "aime",
    "adore": "adore", "déteste": "déteste", "parle": "parle", "utilise": "utilise", "est": "suis", "a": "ai",
    "n'aime": "n'aime", "n'habite": "n'habite", "ne": "ne", "n'est": "ne suis", "vient": "viens",
    "étudie": "étudie", "dirige": "dirige", "gère": "gère", "pilote": "pilote",
}  # fmt: skip
_FRENCH = re.compile(rf"(?P<name>@?{NAME}) (?P<verb>{'|'.join(sorted(_FRENCH_VERBS, key=len, reverse=True))})(?= )")
_SAFE_FRENCH = re.compile(
    r"(?:habite (?:à|au|en)|travaille (?:chez|pour|comme)|préfère|parle|n'aime|aime|adore|déteste"
    r"|est (?:végétari|vegan|allergique|marié|basée?))"
)


def as_speaker(clause: Clause) -> tuple[str, str] | None:
    """Return the other person's name and the clause as if that person spoke, or ``None``."""
    french = clause.language == FRENCH
    match = (_FRENCH if french else _ENGLISH).match(clause.text)
    if not match:
        return None
    name = match["name"].lstrip("@")
    rest = clause.text[match.end("name") + 1 :]
    known = resolve(name, clause.item)
    if not known and not (_SAFE_FRENCH if french else _SAFE_ENGLISH).match(rest):
        return None
    after = clause.text[match.end() :]
    if not french:
        return known or name, f"I {_ENGLISH_VERBS[match['verb']]}{after}"
    verb = _FRENCH_VERBS[match["verb"]]
    elided = re.match(r"[aeéhiou]", verb) and not verb.startswith("h'")
    return known or name, f"{'j' + chr(39) if elided else 'je '}{verb}{after}"
