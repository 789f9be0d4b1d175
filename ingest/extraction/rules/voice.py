"""Putting the speaker's words into the third person, in the language they were said in."""

from __future__ import annotations

import re

from ingest.extraction import languages
from ingest.extraction.base import GROUP
from ingest.extraction.words import words

_UNKNOWN = {languages.ENGLISH: "The user", languages.FRENCH: "L'utilisateur"}
_GROUP = {languages.ENGLISH: "The team", languages.FRENCH: "L'équipe"}
_PAST = words(
    """
    was were had did went got made took sent wrote found felt left gave put set ran came said told knew thought
    brought built bought caught chose cut drew fell fought forgot held hit kept led lost met paid read shut
    spoke spent stood began broke wrapped let hurt quit
    """
)
_AUXILIARY = words(
    """
    will would can can't cannot could couldn't may might must shall should shouldn't won't wouldn't didn't
    wasn't haven't hadn't ought
    """
)
_ADVERBS = words(
    """
    just still really finally already also currently always never usually only now often actually recently
    almost fully totally completely so both then simply officially successfully personally definitely
    """
)
_IRREGULAR = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
    "haven't": "hasn't",
    "are": "is",
    "aren't": "isn't",
    "were": "was",
}
_I = re.compile(
    r"\b(I'm|I am|I've|I'll|I'd|I)(?![\w'])((?: (?:just|still|really|finally|already|also|currently"
    r"|always|never|usually|only|now|often|actually|recently|almost|fully|definitely))*)( [\w']+)?"
)
_WE = re.compile(
    r"\b([Ww]e're|[Ww]e've|[Ww]e'll|[Ww]e'd|[Ww]e)(?![\w'])((?: (?:just|still|really|finally|already"
    r"|also|currently|always|never|usually|only|now|often|actually|recently|almost|fully"
    r"|definitely))*)( [\w']+)?"
)
_GIVES = re.compile(
    r"\b(send|sent|give|gave|show|get|bring|tell|share with|keep|ping|email|call|forward"
    r"|let) you\b(?: (?:all|guys|both))?",
    re.IGNORECASE,
)


def subject(name: str, about: str, language: str) -> str:
    """The grammatical subject of a statement: the thing or person it is about, else the speaker."""
    if about == GROUP:
        return _GROUP[language]
    return about or name.strip() or _UNKNOWN[language]


def elide(word: str, name: str) -> str:
    """French "de" or "que" before a name: "d'Ana", "de Marc"."""
    return f"{word[:-1]}'{name}" if re.match(r"[aeiouyhàâéèêîôû]", name, re.IGNORECASE) else f"{word} {name}"


def third_person(text: str, *, name: str, language: str) -> str:
    """Return the clause as one sentence about the speaker, without a full stop."""
    who = subject(name, "", language)
    text = " ".join(text.split()).strip(" ,;:-.!")
    told = _french(text, who) if language == languages.FRENCH else _english(text, who)
    return told[:1].upper() + told[1:]


def _verb(word: str) -> str:
    """The third person singular of an English verb in the present; past forms and auxiliaries as they are."""
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low in _AUXILIARY or low in _PAST or (low.endswith("ed") and not low.endswith("eed")) or low in _ADVERBS:
        return word
    if re.search(r"(?:s|x|z|ch|sh|o)$", low):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", low) else f"{word}s"


def _conjugate(match: re.Match[str], who: str) -> str:
    pronoun, adverbs, verb = match.group(1), match.group(2) or "", match.group(3) or ""
    contracted = {"'m": " is", " am": " is", "'re": " is", "'ve": " has", "'ll": " will", "'d": " would"}
    for ending, auxiliary in contracted.items():
        if pronoun.endswith(ending):
            return f"{who}{auxiliary}{adverbs}{verb}"
    return f"{who}{adverbs} {_verb(verb.strip())}" if verb else f"{who}{adverbs}"


def _english(text: str, who: str) -> str:
    text = re.sub(r"^(?:(?i:i)'(?i:m|ve|ll|d)|i)(?=\b)", lambda match: "I" + match.group()[1:], text)
    text = re.sub(r"\bi(?='(?:m|ve|ll|d)\b| )", "I", text)
    text = _GIVES.sub(r"\1", text)
    text = _I.sub(lambda match: _conjugate(match, who), text)
    text = _WE.sub(lambda match: _conjugate(match, "the team"), text)
    for pattern, word in (
        (r"\b[Mm]yself\b", "themselves"),
        (r"\b[Mm]y\b", "their"),
        (r"\b[Mm]ine\b", "theirs"),
        (r"\b[Mm]e\b", "them"),
        (r"\b[Oo]urselves\b", "themselves"),
        (r"\b[Oo]urs?\b", "the team's"),
        (r"\bus\b", "the team"),
        (r"\b[Yy]ou(?= (?:can|will|are|have|need|want|could|should|might|may|know|get|see|do|did|had|all))", "they"),
        (r"\b[Yy]ou're\b", "they are"),
        (r"\b[Yy]our\b", "their"),
        (r"\b[Yy]ou\b", "them"),
    ):
        text = re.sub(pattern, word, text)
    return text


_FRENCH_VERBS = {
    "suis": "est", "ai": "a", "vais": "va", "fais": "fait", "dois": "doit", "peux": "peut", "veux": "veut",
    "mets": "met", "pars": "part", "sais": "sait", "viens": "vient", "prends": "prend", "reprends": "reprend",
    "attends": "attend", "transmets": "transmet", "crains": "craint", "finis": "finit", "sors": "sort",
    "reviens": "revient", "remets": "remet", "rends": "rend", "sens": "sent", "dis": "dit", "écris": "écrit",
    "bois": "boit", "vis": "vit", "lis": "lit", "promets": "promet", "livrerai": "livrera", "perds": "perd",
    "tiens": "tient", "connais": "connaît",
}  # fmt: skip
_NOUS_VERBS = {
    "sommes": "est",
    "avons": "a",
    "allons": "va",
    "faisons": "fait",
    "devons": "doit",
    "pouvons": "peut",
    "attendons": "attend",
    "prenons": "prend",
    "finissons": "finit",
}
_JE = re.compile(
    r"\b(?:je (ne |n')?|j')((?:m'|me |t'|te |vous |lui |leur |le |la |les |l'|y "
    r"|en )*)([\wàâéèêëîïôûùç]+)",
    re.IGNORECASE,
)
_NOUS = re.compile(r"\bnous (ne |n')?((?:vous |lui |leur |le |la |les |l'|nous )*)([\wàâéèêëîïôûùç]+)", re.IGNORECASE)
_ON = re.compile(r"(?:^|(?<=\s))on (?=[\wéèàn'])", re.IGNORECASE)


def _je(match: re.Match[str], who: str) -> str:
    negation, pronouns, verb = match.group(1) or "", match.group(2) or "", match.group(3)
    verb = _FRENCH_VERBS.get(verb.lower(), re.sub(r"rai$", "ra", verb))
    pronouns = re.sub(r"\bt'|\bte |\bvous ", "", re.sub(r"\bm'", "s'", re.sub(r"\bme ", "se ", pronouns)))
    if pronouns.endswith("s'") and not re.match(r"[aeéèêhiouy]", verb):
        pronouns = pronouns[:-2] + "se "
    return f"{who} {negation}{pronouns}{verb}"


def _nous(match: re.Match[str]) -> str:
    negation, pronouns, verb = match.group(1) or "", match.group(2) or "", match.group(3).lower()
    verb = _NOUS_VERBS.get(verb) or re.sub(r"rons$", "ra", re.sub(r"(?<!r)ons$", "e", verb))
    return f"l'équipe {negation}{re.sub(r'nous ', 'se ', pronouns)}{verb}"


def _french(text: str, who: str) -> str:
    text = _JE.sub(lambda match: _je(match, who), text)
    text = _NOUS.sub(_nous, text)
    text = _ON.sub("l'équipe ", text)
    text = re.sub(r"\b(va|vient|a|doit|peut) (?:t'|te |vous )", r"\1 ", text)
    text = re.sub(r"(l'équipe (?:est|sera|reste|était) (?:[\w']+ )?\w+é)(?:s|es|e)?\b", r"\1e", text)
    for pattern, word in (
        (r"\bmon\b", "son"),
        (r"\bma\b", "sa"),
        (r"\bmes\b", "ses"),
        (r"\bnotre\b", "son"),
        (r"\bnos\b", "ses"),
        (r"(?<=pour )moi\b|(?<=à )moi\b|(?<=chez )moi\b|(?<=avec )moi\b|(?<=sur )moi\b", who),
        (r"-?\bmoi\b", " lui"),
        (r"\bm'(?=\w)", "l'"),
        (r"\bme\b", "lui"),
        (r"\bnous\b", "l'équipe"),
    ):
        text = re.sub(pattern, word, text, flags=re.IGNORECASE)
    return text
