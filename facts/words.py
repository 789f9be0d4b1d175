"""Words of a text in any script, in the one form under which they are stored, asked for and compared.

Splitting is done here and not by the server's parser, whose idea of a letter depends on how the database was
created. Accents, points and other marks do not count, nor does the way a letter is drawn (full width, final or
isolated forms, tatweel); ``C++``, ``C#`` and ``.NET`` are words. Text of scripts that put no spaces between words
becomes overlapping pairs of characters.

What is written together with a hyphen, an apostrophe, a dot, an underscore or ``@`` is its parts, and besides them
one word without the sign, so that "well-being" is found as "wellbeing" and as "well being", and an address as a
whole and by its parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

#: Bound on what is looked at of one text; passages have about 1,000 characters.
MAX_CHARACTERS = 20_000
#: A longer word is a key or an encoding, not a word.
MAX_WORD = 64
#: A longer chain of words with signs between them is not written as one word by anybody.
MAX_PARTS = 8

#: Scripts without spaces between words, and Hangul, whose particles stick to the word before.
UNSEGMENTED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\uac00-\ud7af"  # Hangul, kana
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
#: Letters and vowel signs of Indic scripts; the signs are no letters by themselves.
_INDIC = "\u0900-\u0963\u0966-\u0dff"
#: Both kinds of character apart, and nothing given back: what is no word after all is left at once.
_WORD = rf"(?:[^\W_{UNSEGMENTED}{_INDIC}]|[{_INDIC}])++"
_NUMBER = r"(?:(?<![^\W_])[vV])?\d+(?:[.,]\d+)+"
_PART = rf"(?:\d+(?:\.\d+)+(?![^\W_])|{_WORD})"
_SIGN = "[-_.@'&\u2010]"
_PIECE = re.compile(
    rf"(?P<unsegmented>[{UNSEGMENTED}]+)|(?P<number>{_NUMBER})"
    rf"|(?P<chain>{_PART}(?:{_SIGN}{_PART})+)|(?P<word>{_WORD})"
)
_PARTS = re.compile(_PART)

#: Vowels and voicing that Unicode lists as marks above or below, and without which a word is another word.
_KEPT_MARKS = frozenset("\u0e38\u0e39\u0eb8\u0eb9\u3099\u309a")
_ALIKE = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE",
     "ı": "i", "ß": "ss", "ẞ": "SS", "’": "'", "ʼ": "'", "‘": "'", "׳": "'", "״": "'",
     # Arabic: no tatweel; forms of alef, yeh, teh marbuta and kaf that are written for one another.
     "\u0640": None, "\u0671": "\u0627", "\u0649": "\u064a", "\u06cc": "\u064a", "\u0629": "\u0647",
     "\u06a9": "\u0643",
     # Thai signs that say how a letter sounds.
     "\u0e47": None, "\u0e4c": None, "\u0e4e": None,
     "\u200b": " "}
)  # fmt: skip
_TRADE_MARKS = str.maketrans({"™": " ", "℠": " "})
#: How German and the Nordic languages write a letter where it cannot be had.
_SPELT_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "Ä": "ae", "Ö": "oe", "Ü": "ue", "Å": "aa", "Ø": "oe"}
)
_UMLAUT = re.compile("[äöüåøÄÖÜÅØ]")
_RUN = re.compile(r"[^\W_]+")

_CONTRACTED = re.compile(r"(?<=\w)'(?:s|m|re|ve|ll|d)\b", re.IGNORECASE)
_NOT_CONTRACTED = re.compile(r"(?<=\w)n't\b", re.IGNORECASE)
_ELISION = re.compile(r"\b(?:[CDJLMNSTcdjlmnst]|[Qq]u)'(?=[a-zà-ÿ])|\b[Qq]u'(?=\w)")
_ACRONYM_QUOTE = re.compile('(?<=[\u05d0-\u05ea])"(?=[\u05d0-\u05ea]\\b)')
_SCHEME = re.compile(r"\b(?:https?|ftp)://(?:www\.)?", re.IGNORECASE)
_PLUS_PLUS = re.compile(r"(?<![^\W_])([A-Za-z]\w{0,15})\+\+(?!\+)")
_SHARP = re.compile(r"(?<![^\W_])([A-Za-z])#(?!\w)")
_DOT_NET = re.compile(r"(?<![\w.])\.net\b", re.IGNORECASE)
_AMPERSAND = re.compile(r"(?<![\w&])(?:([^\W_]{1,3})&([^\W_]{1,3})|([^\W\d_]) & ([^\W\d_]))(?![\w&])")
_HASHTAG = re.compile(r"(?<!\w)#(\w+)")
_IDENTIFIER = re.compile(r"(?<!\w)[a-z]{2,}\d*(?:[A-Z][a-z0-9]+)+(?!\w)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GLUED_NUMBER = re.compile(r"(?<=[^\W\d_]{2})(?=\d+(?:\.\d+)+)")
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")

_ARABIC_ARTICLE = re.compile("(?:[\u0648\u0628\u0641\u0643]?\u0627\u0644|\u0644\u0644)(?=[\u0621-\u064a]{3})")
_HEBREW_PREFIX = re.compile("[\u05d5\u05d4\u05d1\u05db\u05dc\u05de\u05e9](?=[\u05d0-\u05ea]{3})")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: ``folded`` as it is indexed, ``shown`` as it was written.

    ``also`` are other forms under which it is found; those of a chain stand at its first part.
    """

    folded: str
    shown: str
    opens_sentence: bool
    also: tuple[str, ...] = ()


def words(text: str, *, stored: bool = False) -> list[Word]:
    """Return the words of ``text`` in their order. Any string is accepted, also one with NUL.

    Of a ``stored`` text the last character of each unsegmented run is one more form: every character then begins
    some form, and a question of a single character is answered by what begins with it.
    """
    text = text[:MAX_CHARACTERS]
    spelt_out: dict[str, str] = {}
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_TRADE_MARKS))
        spelt_out = {
            _without_marks(word).casefold(): _without_marks(word.translate(_SPELT_OUT)).casefold()
            for word in _RUN.findall(text)
            if _UMLAUT.search(word)
        }
        text = _without_marks(text)
    text = _with_signs_spelt(text)
    found: list[Word] = []
    position = 0
    opens_sentence = True
    for match in _PIECE.finditer(text):
        opens_sentence = opens_sentence or any(mark in ".!?:\n" for mark in text[position : match.start()])
        for folded, shown, also in _FORMS[match.lastgroup](match.group()):
            other = (spelt_out[folded],) if folded in spelt_out else ()
            found.append(
                Word(
                    folded=folded[:MAX_WORD],
                    shown=shown,
                    opens_sentence=opens_sentence,
                    also=tuple(form[:MAX_WORD] for form in (*also, *other)),
                )
            )
            opens_sentence = False
        if stored and match.lastgroup == "unsegmented" and len(match.group()) > 1:
            found[-1] = replace(found[-1], also=(match.group()[-1],))
        position = match.end()
    return found


def _without_marks(text: str) -> str:
    """Return ``text`` without accents, points and invisible characters, and with one letter where two are alike."""
    text = unicodedata.normalize("NFKD", text).translate(_ALIKE)
    kept = [
        character
        for character in text
        if character in _KEPT_MARKS or not (unicodedata.combining(character) or unicodedata.category(character) == "Cf")
    ]
    return unicodedata.normalize("NFC", "".join(kept))


def _with_signs_spelt(text: str) -> str:
    """Return ``text`` with contractions taken apart and with signs that belong to a word as letters."""
    if "'" in text or '"' in text:
        text = _NOT_CONTRACTED.sub(" not", _CONTRACTED.sub("", _ACRONYM_QUOTE.sub("'", text)))
        text = _ELISION.sub("", text)
    if "#" in text:
        text = _SHARP.sub(r"\1sharp ", text)
        text = _HASHTAG.sub(lambda match: _HUMP.sub("_", match[1]), text)
    if "++" in text:
        text = _PLUS_PLUS.sub(r"\1plusplus ", text)
    if "&" in text:
        text = _AMPERSAND.sub(lambda match: f"{match[1] or match[3]}and{match[2] or match[4]}", text)
    text = _DOT_NET.sub("dotnet", _SCHEME.sub(" ", text))
    text = _IDENTIFIER.sub(lambda match: _HUMP.sub("_", match.group()), text)
    return _GLUED_NUMBER.sub(" ", text)


#: What a piece of text becomes: (folded, shown, also) for each of its words.
_Forms = list[tuple[str, str, tuple[str, ...]]]


def _word(piece: str) -> _Forms:
    folded = piece.casefold()
    if not piece.isascii():
        folded = _ARABIC_ARTICLE.sub("", folded, count=1) if _ARABIC_ARTICLE.match(folded) else folded
        prefix = _HEBREW_PREFIX.match(folded)
        if prefix:
            return [(folded, piece, (folded[prefix.end() :],))]
        folded = _digits(folded)
    return [(folded, piece, ())]


def _number(piece: str) -> _Forms:
    """1,000 and 1000 are one number; 12,5 and 12.5 as well; v1.2 is version 1.2."""
    number = _THOUSANDS.sub("", piece.lstrip("vV")).replace(",", ".")
    return [(_digits(number), piece, ())]


def _pairs(piece: str) -> _Forms:
    pairs = [piece[index : index + 2] for index in range(len(piece) - 1)] or [piece]
    return [(pair, pair, ()) for pair in pairs]


def _chain(piece: str) -> _Forms:
    """The parts of a chain, with the whole of it (and what stands on either side of an ``@``) as further forms."""
    parts = _PARTS.findall(piece)
    joined = _joined(piece)
    if joined and all(len(part) == 1 for part in parts):
        return [(joined, piece, ())]
    sides = [_joined(side) for side in piece.split("@")] if "@" in piece else []
    # "O'Brien", "l'Italie", "rock'n'roll": a letter that only leans on its neighbour is nothing by itself.
    kept = ([part for part in parts if len(part) > 1] if "'" in piece else parts) or parts
    forms = [form for part in kept for form in (_number if "." in part else _word)(part)]
    first, shown, also = forms[0]
    others = dict.fromkeys(form for form in (*sides, joined) if form)
    return [(first, shown, (*also, *others)), *forms[1:]]


def _joined(chain: str) -> str:
    """Return a chain as one word; empty for what nobody writes as one, and for what is no chain."""
    parts = _PARTS.findall(chain)
    return "".join(parts).replace(".", "").casefold() if 1 < len(parts) <= MAX_PARTS else ""


def _digits(text: str) -> str:
    """Return ``text`` with the digits of every script as ours."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(character, character)) for character in text)


_FORMS: dict[str, Callable[[str], _Forms]] = {
    "unsegmented": _pairs,
    "number": _number,
    "chain": _chain,
    "word": _word,
}
