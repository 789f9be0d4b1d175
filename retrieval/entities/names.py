"""The names in a text, and the form under which names are compared. Pure.

A name is a run of up to four capitalised words ("Ana Silva", "Bank of America"), an e-mail address, a handle, or a
word with signs or humps in it (``C++``, ``R&D``, ``GitHub``). Days, months, time zones, closed-class words and nouns
such as "project" are none and end a run. Scripts without capitals show fewer names: Japanese ones in katakana,
Japanese, Korean and Chinese ones before a form of address, and titles in their quotation marks. Whatever else is a name
there, and in Arabic or Hebrew, is found by :func:`known_in` only, when a subject of the account goes by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from facts import textindex
from facts.words import MAX_CHARACTERS, MAX_WORD, UNSEGMENTED, Word, words
from retrieval.entities.closed_words import (
    BEFORE_A_DATE,
    GENERIC,
    GIVEN_NAMES_TOO,
    NOISE,
    SOMETIMES_NAMES,
    TITLES,
)

#: A change in what is found is a change of this: facts read by other rules are read again.
RECIPE = f"1/{textindex.ANALYZER_VERSION}"
MAX_TOKENS = 4
#: A name of more words (or pairs of characters) is a sentence.
MAX_WORDS = 8
MAX_LENGTH = 200
#: Bounds on what is looked at of a question and of a fact when known names are looked for.
QUESTION_WORDS = 64
TEXT_WORDS = 1_000

#: A capital may be there only because a sentence begins.
AT_START = 0.7
#: Quotation marks surround titles, and sometimes just speech.
QUOTED = 0.8
CERTAIN = 1.0

_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff"
_KATAKANA = "\u30a1-\u30fa\u30fc"
_HANGUL = "\uac00-\ud7af"
_LETTER = r"[^\W\d_]"
_TOKEN = re.compile(
    r"(?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})"
    r"|(?P<handle>(?<![\w@.])@\w[\w.-]{0,62}\w)"
    rf"|(?P<signed>(?<!\w)(?:{_LETTER}\w{{0,15}}\+\+(?![+\w])|[A-Za-z]#(?!\w)|{_LETTER}{{1,4}}&{_LETTER}{{1,4}}(?!\w))"
    r"|(?<![\w.])\.[A-Z][A-Za-z]{1,15}(?!\w))"
    rf"|(?P<address>(?:(?<![{_HAN}])[{_HAN}]{{1,4}}|[{_KATAKANA}]{{2,20}})(?=さん|様|氏|くん|君|ちゃん|先生|部長|課長|社長)"
    rf"|(?<![{_HAN}])[{_HAN}]{{1,4}}?(?=先生|女士|小姐|老师|老師|经理|經理)|(?<![{_HANGUL}])[{_HANGUL}]{{2,4}}?(?=씨|님))"
    rf"|(?P<katakana>[{_KATAKANA}]{{2,20}}(?:・[{_KATAKANA}]{{1,20}}){{0,3}})"
    r"|(?P<quoted>(?<=[「『《])[^「」『』《》\n]{2,20}(?=[」』》]))"
    r"|(?P<word>[^\W_]+(?:['’.-][^\W_]+)*)"
)
_WHOLE = {
    "email": CERTAIN,
    "handle": CERTAIN,
    "signed": CERTAIN,
    "address": CERTAIN,
    "katakana": AT_START,
    "quoted": QUOTED,
}
_ELISION = re.compile(r"(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’][sS]?$")
_STARTS_WITH_NUMBER = re.compile(r"\W{0,2}\d")
#: Stand in lower case between the words of one name.
_CONNECTORS = frozenset("van von der den ter bin ibn al del della di da dos do of".split())  # noqa: SIM905
#: People who are addressed without being named.
_NOBODY = frozenset({"선생", "고객", "손", "선생님", "皆", "お客", "客", "神", "奥", "父", "母", "お母", "お父"})
_SENTENCE_ENDS = frozenset(".!?:\n。！？")


class Name(NamedTuple):
    """A name in a text: ``folded`` to compare it, ``shown`` as written, ``confidence`` 0..1 that it is one."""

    folded: str
    shown: str
    confidence: float


class Gram(NamedTuple):
    """Words ``start`` up to ``end`` of a text, folded like a name."""

    folded: str
    start: int
    end: int


@dataclass(slots=True)
class _Token:
    """One word or whole name of a text, with what stands before it; ``owns``: it has a possessive."""

    kind: str
    shown: str
    gap: str
    opens: bool
    folded: str
    owns: bool = False


def fold(name: str) -> str:
    """Return the form under which a name is stored and compared: its words as they are indexed, with spaces.

    Empty for what has no words, more than :data:`MAX_WORDS` of them, or only digits, and for what is too long.
    """
    if _is_plain(name):
        return name.lower()
    if len(name) > MAX_LENGTH:
        return ""
    found = [word.folded for word in words(name)]
    folded = " ".join(found)
    if not 0 < len(found) <= MAX_WORDS or len(folded) > MAX_LENGTH or folded.replace(" ", "").isdecimal():
        return ""
    return folded


def _is_plain(name: str) -> bool:
    """Tell of most words, at little cost, that folding them is putting them in lower case."""
    return name.isascii() and name.isalpha() and len(name) <= MAX_WORD and (name[1:].islower() or name.isupper())


def names_in(text: str) -> list[Name]:
    """Return the names that ``text`` shows by how it is written, each once, in their order. Any string is accepted."""
    text = unicodedata.normalize("NFC", text[:MAX_CHARACTERS])
    says_by_capitals = any(character.islower() for character in text)
    in_lower_case = {word.folded for word in words(text) if word.shown.islower()}
    found: dict[str, Name] = {}
    for name in _all_names(text, says_by_capitals):
        known = found.get(name.folded)
        if name.folded in in_lower_case and name.confidence == AT_START:
            continue
        if known is None or known.confidence < name.confidence:
            found[name.folded] = Name(name.folded, known.shown if known else name.shown, name.confidence)
    return list(found.values())


def grams(text: str, *, limit: int) -> list[Gram]:
    """Return every run of up to :data:`MAX_WORDS` words among the first ``limit`` words of ``text``, folded."""
    looked_at = words(text)[:limit]
    found = []
    for start, word in enumerate(looked_at):
        found.extend(Gram(form, start, start + 1) for form in word.also)
        for end in range(start + 1, min(start + MAX_WORDS, len(looked_at)) + 1):
            found.append(Gram(" ".join(part.folded for part in looked_at[start:end]), start, end))
    return found


def longest(found: list[Gram]) -> list[Gram]:
    """Return those of ``found`` that do not overlap, the longer first, and of equally long ones the earlier."""
    taken: set[int] = set()
    kept = []
    for gram in sorted(found, key=lambda gram: (gram.start - gram.end, gram.start, gram.folded)):
        if taken.isdisjoint(range(gram.start, gram.end)):
            taken.update(range(gram.start, gram.end))
            kept.append(gram)
    return sorted(kept, key=lambda gram: gram.start)


def known_in(text: str, is_known: Callable[[str], bool]) -> list[Name]:
    """Return the names in ``text`` that ``is_known`` knows in folded form, however they are written."""
    shown = words(text)[:TEXT_WORDS]
    found = [gram for gram in grams(text, limit=TEXT_WORDS) if is_known(gram.folded) and not is_noise(gram.folded)]
    return [Name(gram.folded, _surface(shown, gram), CERTAIN) for gram in longest(found)]


def asked_in(question: str) -> list[Gram]:
    """Return what a question may name: its grams without words that name nothing unless written like a name."""
    written_like_names = textindex.named(words(question))
    return [
        gram
        for gram in grams(question, limit=QUESTION_WORDS)
        if not is_noise(gram.folded) or gram.folded in written_like_names
    ]


def is_noise(folded: str) -> bool:
    """Tell whether a folded name is a word, or two, that name nothing, or a single sign or number."""
    return len(folded) < 2 or folded.replace(" ", "").isdecimal() or all(word in NOISE for word in folded.split(" "))


def _surface(written: list[Word], gram: Gram) -> str:
    """Return the words of a gram as they are written; overlapping pairs of characters are put together again."""
    parts = written[gram.start : gram.end]
    text = parts[0].shown
    for before, part in pairwise(parts):
        pair = len(before.shown) == len(part.shown) == 2 and before.shown[1] == part.shown[0] and _unspaced(part.shown)
        text += part.shown[1:] if pair else f" {part.shown}"
    return text[:MAX_LENGTH]


def _unspaced(text: str) -> bool:
    return re.match(f"[{UNSEGMENTED}]", text) is not None


def _all_names(text: str, says_by_capitals: bool) -> Iterator[Name]:
    run: list[_Token] = []
    for token in _tokens(text):
        if token.kind != "word":
            yield from _name_of(run)
            run = []
            folded = fold(token.shown)
            if folded and token.shown not in _NOBODY:
                yield Name(folded, token.shown, _WHOLE[token.kind])
            continue
        if run and not (token.gap == " " and not run[-1].owns and _goes_on(run, token)):
            yield from _name_of(run)
            run = []
        if (run and token.shown in _CONNECTORS) or (says_by_capitals and _may_be_named(token)):
            run.append(token)
    yield from _name_of(run)


def _tokens(text: str) -> Iterator[_Token]:
    """Return the tokens of a text. A month of a date is put in lower case, since then it is no given name."""
    position = 0
    opens = True
    before = ""
    for match in _TOKEN.finditer(text):
        gap = text[position : match.start()]
        position = match.end()
        kind, shown = match.lastgroup or "word", match.group()
        if before not in TITLES:
            opens = opens or not _SENTENCE_ENDS.isdisjoint(gap)
        owns = kind == "word" and _POSSESSIVE.search(shown) is not None
        if kind == "word":
            shown = _bare(shown, opens)
        token = _Token(kind=kind, shown=shown, gap=gap, opens=opens, folded=fold(shown), owns=owns)
        if token.folded in GIVEN_NAMES_TOO and (before in BEFORE_A_DATE or _STARTS_WITH_NUMBER.match(text, position)):
            token.shown = shown.lower()
        yield token
        before = token.folded
        opens = False


def _bare(word: str, opens: bool) -> str:
    """Return a word without a possessive, and without a French article that leans on it."""
    word = _POSSESSIVE.sub("", word)
    elided = _ELISION.match(word)
    return word[elided.end() :] if elided and (opens or word[0].islower()) else word


def _goes_on(run: list[_Token], token: _Token) -> bool:
    capitals = sum(part.shown not in _CONNECTORS for part in run)
    if token.shown in _CONNECTORS:
        return capitals < MAX_TOKENS and any(part.shown not in _CONNECTORS for part in run[-2:])
    return capitals < MAX_TOKENS and _may_be_named(token)


def _may_be_named(token: _Token) -> bool:
    """Tell whether a word is written like part of a name and is not one of those that name nothing."""
    shown, folded = token.shown, token.folded
    if not folded or not any(character.isupper() for character in shown):
        return False
    if folded in SOMETIMES_NAMES:
        return not token.opens and (shown.isupper() or folded in {"will", "don", "art"})
    if folded in NOISE and folded not in GENERIC and folded not in GIVEN_NAMES_TOO:
        return False
    # "iPhone" and "eBay" are names; "moved" is none, and a lower-case word with a capital end is a misprint.
    return shown[0].isupper() or any(character.isupper() for character in shown[1:-1])


def _name_of(run: list[_Token]) -> Iterator[Name]:
    """Return the name that a run of words makes, if any: no connectors or nouns such as "project" at its ends."""
    while run and (run[0].folded in GENERIC or run[0].shown in _CONNECTORS):
        run = run[1:]
    while run and (run[-1].folded in GENERIC or run[-1].shown in _CONNECTORS):
        run = run[:-1]
    if not run or (len(run) == 1 and (len(run[0].shown) < 2 or run[0].folded in GIVEN_NAMES_TOO)):
        return
    shown = " ".join(token.shown for token in run)
    folded = fold(shown)
    if folded and len(shown) <= MAX_LENGTH:
        by_its_start_only = not any(character.isupper() for character in shown[1:])
        alone_at_start = len(run) == 1 and run[0].opens and by_its_start_only
        yield Name(folded, shown, AT_START if alone_at_start else CERTAIN)
