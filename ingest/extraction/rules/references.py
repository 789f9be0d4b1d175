"""Addresses people share: a link with a few words about what stands behind it."""

from __future__ import annotations

import re

from facts.candidates import Candidate
from facts.vocabulary import Category, Form, Kind, Volatility
from ingest.extraction import languages
from ingest.extraction.base import ExtractionInput
from ingest.extraction.rules.drafts import STRONG, value
from ingest.extraction.rules.voice import subject
from ingest.extraction.segments import Sentence

_FILLER = re.compile(
    r"\b(?:here(?:'s| is| are)?|hi|hey|all|fyi|see|check(?: out)?|look at|this|the|a|an|link|url|to|for"
    r"|is|are|at|it|out|please|lol|wow|nice|cool|also|and|or|you|can|find|in|on|of"
    r"|voici|le|la|les|lien|un|une|regarde[zr]?|voir|ici|est|sur|pour|de|du|des|d'|l'|et|c'est|ça|cf"
    r"|merci|via)\b|[\W_]+",
    re.IGNORECASE,
)
#: Words that name what stands behind an address.
_POINTS = re.compile(
    r"\b(?:docs?|documentation|spec|guide|article|post|paper|ticket|issue|pr|pull request|repo"
    r"|repository|design|wiki|runbook|dashboard|slides?|deck|recording|notes|report|page|link|manual"
    r"|tutorial|video|file|folder|sheet"
    r"|spreadsheet|form|policy|announcement|changelog|log|release|blog|book|example|lien|guide|rapport"
    r"|dossier|compte[- ]rendu|présentation|maquettes?|tableau|procédure|fichier|vidéo|formulaire|aide"
    r"|expliqué)\b",
    re.IGNORECASE,
)
_NOT_TELLING = re.compile(
    r"(?:regarding|seems|though|but|so|if|when|why|how|what|do|does|is|are|it|this|that|there|which"
    r"|because|unless|maybe|or|si|quand|pourquoi|est-ce|yes|no|another)\b(?! (?:link|doc|is the"
    r"|are the))",
    re.IGNORECASE,
)
_MENTION = re.compile(r"@[\w.-]{1,40}")


def reference(sentence: Sentence, *, item: ExtractionInput) -> Candidate | None:
    """Return the reference a sentence with a link makes, or ``None`` when it says nothing about it."""
    words = " ".join(_MENTION.sub(" ", sentence.plain).split()).strip(" .,;:!?()<>-–—\"'")
    telling = _FILLER.sub(" ", words).split()
    pointed = bool(_POINTS.search(words))
    if (
        sentence.asks
        or _NOT_TELLING.match(words)
        or len(telling) < (1 if pointed else 2)
        or len(words) > (200 if pointed else 100)
    ):
        return None
    language = languages.detect(words) or languages.ENGLISH
    who = subject(item.speaker_name, "", language)
    described = words[:1].lower() + words[1:] if not re.match(r"[A-Z]{2}|[A-Z]\w*[A-Z]", words) else words
    described = re.sub(
        r"^(?:here's|here is|here are|see|check out|fyi|voici|voir|cf)\b:?\s*(?:the link to "
        r"|le lien vers )?",
        "",
        described,
        flags=re.IGNORECASE,
    )
    described = re.sub(r"^(?:our|my|notre|nos|mon|ma|mes) ", "", described, flags=re.IGNORECASE)
    if re.search(
        r"\b(?:i|my|me|we|our|us|je|j'|mon|ma|mes|nous|notre|nos|you|your|tu|vous)\b", described, re.IGNORECASE
    ):
        named = _POINTS.search(described)
        if not named:
            return None
        described = named.group()
    shown = f" ({described.strip(' :,')})" if described.strip(" :,") else ""
    says = "shared a link" if language == languages.ENGLISH else "a partagé un lien"
    return Candidate(
        statement=f"{who} {says}{shown}: {sentence.link}",
        quote=sentence.quote,
        confidence=STRONG,
        category=Category.REFERENCE,
        kind=Kind.EVENT,
        form=Form.EVENT,
        predicate="reference",
        value=value(sentence.link, about=described.strip(" :,").casefold()),
        volatility=Volatility.SLOW,
    )
