"""What full text search sees of a text.

One ``tsvector`` holds two forms of a text. *Stemmed*: its words under the English dictionary, so that
"moved" finds "moving"; words of other languages pass through it unharmed, because questions go the same
way. *Plain*: words as written that the dictionary drops although they carry meaning: negations, and names
that look like stop words ("IT", "Will"). A plain copy of every word was measured too (LoCoMo, 760
questions, recall@10 of the context ranking .664 against .679 without): rows twice as large and no better.

Text of scripts that put no spaces between words is indexed by overlapping pairs of characters. Splitting is
done here and not by the server's parser, whose idea of a letter depends on how the database was created.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Bound on what is looked at of one text; passages have about 1,000 characters.
MAX_CHARACTERS = 20_000
#: A longer word is a key or an encoding, not a word.
MAX_WORD = 64
#: A change in what is indexed is a change of this number: rows of another version are indexed again.
ANALYZER_VERSION = "1"

#: Scripts without spaces between words, and Hangul, whose particles stick to the word before.
UNSEGMENTED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\uac00-\ud7af"  # Hangul, kana
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
_PIECE = re.compile(rf"[{UNSEGMENTED}]+|\d+(?:[.,]\d+)*|[^\W_{UNSEGMENTED}]+")
_COMBINING = re.compile("[\u0300-\u036f]")
_WITHOUT_DECOMPOSITION = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "AE", "œ": "oe",
     "Œ": "OE", "ı": "i", "’": "'", "ʼ": "'"}
)  # fmt: skip
_POSSESSIVE = re.compile(r"(?<=\w)'s\b", re.IGNORECASE)
_NOT_CONTRACTED = re.compile(r"(?<=\w)n't\b", re.IGNORECASE)
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)'(?=\w)", re.IGNORECASE)

#: The stop words of PostgreSQL's English dictionary.
STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves what which who whom this that these
    those am is are was were be been being have has had having do does did doing a an the and but if or
    because as until while of at by for with about against between into through during before after
    above below to from up down in out on off over under again further then once here there when where
    why how all any both each few more most other some such no nor not only own same so than too very s
    t can will just don should now
    """.split()  # noqa: SIM905
)
#: Stop words that turn a statement around.
NEGATIONS = frozenset({"no", "nor", "not"})


@dataclass(frozen=True, slots=True)
class IndexText:
    """The two inputs of :func:`tsvector_sql`: words separated by single spaces, either possibly empty."""

    stem: str
    plain: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: ``folded`` as it is indexed, ``shown`` as it was written."""

    folded: str
    shown: str
    opens_sentence: bool


def words(text: str) -> list[Word]:
    """Return the words of ``text``, without accents and possessives; pairs for unsegmented scripts."""
    text = unicodedata.normalize("NFKD", text[:MAX_CHARACTERS]).translate(_WITHOUT_DECOMPOSITION)
    text = unicodedata.normalize("NFC", _COMBINING.sub("", text))
    text = _ELISION.sub("", _NOT_CONTRACTED.sub(" not", _POSSESSIVE.sub("", text)))
    found: list[Word] = []
    opens_sentence = True
    position = 0
    for match in _PIECE.finditer(text):
        opens_sentence = opens_sentence or any(mark in ".!?:\n" for mark in text[position : match.start()])
        found.extend(
            Word(folded=folded, shown=piece, opens_sentence=opens_sentence) for folded, piece in _forms(match.group())
        )
        opens_sentence = False
        position = match.end()
    return found


def _forms(piece: str) -> list[tuple[str, str]]:
    """Return (folded, shown) for each index word of one run of letters or digits."""
    if piece[0].isdigit() and piece[-1].isdigit():
        # 1,000 and 1000 are one number; 12,5 and 12.5 as well.
        number = re.sub(r",(?=\d{3}(?:\D|$))", "", piece).replace(",", ".")
        return [(number[:MAX_WORD], piece)]
    if re.match(f"[{UNSEGMENTED}]", piece):
        pairs = [piece[index : index + 2] for index in range(len(piece) - 1)] or [piece]
        return [(pair, pair) for pair in pairs]
    return [(piece.lower()[:MAX_WORD], piece)]


def named(found: list[Word]) -> set[str]:
    """Return the words that are written like names: capitalised inside a sentence, or acronyms.

    A text without lower case says nothing by its capitals.
    """
    if not any(word.shown.islower() for word in found):
        return set()
    return {
        word.folded
        for word in found
        if len(word.shown) > 1 and word.shown[0].isupper() and (word.shown.isupper() or not word.opens_sentence)
    }


def prepare(text: str) -> IndexText:
    """Return what :func:`tsvector_sql` needs to index ``text``. Any string is accepted, also one with NUL."""
    return index_text(words(text))


def passage_text(speaker: str, text: str) -> str:
    """Return what a passage is found by: who said it, and what.

    Questions name people; without the speaker's name recall@8 on LoCoMo falls from .665 to .523.
    """
    return f"{speaker}: {text}" if speaker else text


def index_text(found: list[Word]) -> IndexText:
    """Return the two forms of a list of words."""
    kept = STOP_WORDS & (named(found) | NEGATIONS)
    return IndexText(
        stem=" ".join(word.folded for word in found),
        plain=" ".join(word.folded for word in found if word.folded in kept),
    )


def tsvector_sql(stem: str = "%(stem)s", plain: str = "%(plain)s") -> str:
    """Return the SQL expression of the ``tsvector`` of two text expressions (named parameters by default)."""
    return f"(to_tsvector('english', {stem}) || to_tsvector('simple', {plain}))"
