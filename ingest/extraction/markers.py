"""Words that announce a change: the difference between an update and a contradiction.

A marker counts only inside the clause of the claim (or as a clause of its own right before it),
and is always given back verbatim.
"""

from __future__ import annotations

import re

_ENGLISH = re.compile(
    r"\b(?:no longer|not [\w' ]{1,40}? any ?more|any ?more\b|from now on|as of (?=now|today|tomorrow"
    r"|next|this|last|\w+day|\d|jan"
    r"|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|changed my mind|switched (?:over )?(?:to|from)"
    r"|switching (?:over )?to"
    r"|moved (?:back )?(?:to|from|in with)|moving (?:back )?to|relocated to|relocating to"
    r"|changed (?:it |that )?(?:to|from)|migrated (?:\w+ )?(?:to|from)"
    r"|renamed to|replaced|rescheduled (?:to|for)|postponed (?:to|until|till)|pushed (?:back )?to"
    r"|pushed back|moved up to|brought forward to"
    r"|used to|just (?:joined|started|left|quit)|recently (?:joined|started|left|moved)|these days"
    r"|going forward|effective"
    r"|is now|are now|i'm now|i am now|now(?! that\b)(?<!right now)(?<!for now)(?<!until now)(?<!just now)(?<!by now)"
    r"|instead(?! of\b)|starting (?=\w+day|next|today|tomorrow|in \w+|\d|jan|feb|mar|apr|may|jun|jul"
    r"|aug|sep|oct|nov|dec)"
    r"|gave up|given up|stopped|quit|scratch that|correction)\b",
    re.IGNORECASE,
)
_FRENCH = re.compile(
    r"(?:\b(?:changé d'avis|désormais|dorénavant|maintenant(?! que\b| qu')|à partir d[eu']"
    r"|à compter d[eu']|finalement"
    r"|plutôt(?! que\b| qu'| bien\b| mal\b| pas\b| content| d'accord)|suis passée? à|sommes passés à"
    r"|est passé à|passée? (?:de \w+ )?à|ai déménagé"
    r"|viens de déménager|déménage(?:r|ons)? à|emménagé|reportée? (?:à|au)|repoussée? (?:à|au)"
    r"|décalée? (?:à|au)|avancée? (?:à|au)"
    r"|remplacée? par|ai arrêté|ai quitté|ai rejoint|viens de rejoindre|à présent|rectification"
    r"|correction|à la place(?! d)|dès)\b"
    r"|\b(?:ne |n')[\w'éèêàç ]{1,40}? plus\b)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"(?:actually|in fact|en fait|en réalité)(?=[, ])", re.IGNORECASE)
_ANNOUNCEMENT = re.compile(
    r"(?:so |ok |sorry |well |actually |en fait |alors |bon )?,?\s*"
    r"(?:i(?:'ve| have)? changed my mind|change of plans?|scratch that|correction|(?:small |quick )?update"
    r"|j'ai changé d'avis|changement de programme|rectification|(?:petite )?correction|mise à jour)\s*[:,.!]*\s*",
    re.IGNORECASE,
)


def find(clause: str, *, leading: str = "") -> str:
    """Return the update marker of the clause, as it stands there, or "".

    ``leading`` is what was taken off the front of the sentence ("Actually, ").
    """
    for pattern in (_ENGLISH, _FRENCH):
        match = pattern.search(clause) or pattern.search(leading)
        if match:
            return match.group().strip()
    match = _LEADING.match(leading)
    return match.group() if match else ""


def announces(clause: str) -> bool:
    """Whether the clause says nothing but that a change follows ("I changed my mind")."""
    return bool(_ANNOUNCEMENT.fullmatch(clause.strip()))
