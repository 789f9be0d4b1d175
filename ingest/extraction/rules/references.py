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
    r"\b(?:here(?:'s| is| are)?|hi|hey|all|fyi|see|check(?: out)?|look at|this|the|a|an|link|url|to|for|is|are|at|it|out|please|lol|wow|nice|cool|also|and|or|you|can|find|in|on|of"
    r"|voici|le|la|les|lien|un|une|regarde[zr]?|voir|ici|est|sur|pour|de|du|des|d'|l'|et|c'est|ça|cf|merci|via)\b|[\W_]+",
    re.IGNORECASE,
)


def reference(sentence: Sentence, *, item: ExtractionInput) -> Candidate | None:
    """Return the reference a sentence with a link makes, or ``None`` when it says nothing about it."""
    words = " ".join(sentence.plain.split()).strip(" .,;:!?()<>-–—\"'")
    telling = _FILLER.sub(" ", words).split()
    if sentence.asks or not telling or len(words) > 200:
        return None
    language = languages.detect(words) or languages.ENGLISH
    who = subject(item.speaker_name, "", language)
    described = words[:1].lower() + words[1:] if not re.match(r"[A-Z]{2}|[A-Z]\w*[A-Z]", words) else words
    described = re.sub(r"^(?:here's|here is|here are|see|check out|fyi|voici|voir|cf)\b:?\s*(?:the link to |le lien vers )?", "", described, flags=re.IGNORECASE)
    if re.search(r"\b(?:i|my|me|we|our|us|je|j'|mon|ma|mes|nous|notre|nos|you|your|tu|vous)\b", described, re.IGNORECASE):
        described = " ".join(telling[:8])
    says = "shared a link" if language == languages.ENGLISH else "a partagé un lien"
    return Candidate(
        statement=f"{who} {says} ({described.strip(' :,')}): {sentence.link}",
        quote=sentence.quote,
        confidence=STRONG,
        category=Category.REFERENCE,
        kind=Kind.EVENT,
        form=Form.EVENT,
        predicate="reference",
        value=value(sentence.link, about=described.strip(" :,").casefold()),
        volatility=Volatility.SLOW,
    )
