"""What full text search sees of a text.

One ``tsvector`` holds two forms of a text. *Stemmed*: its words (``facts.words``) under the English dictionary, so
that "moved" finds "moving"; words of other languages pass through it unharmed, because questions go the same way.
Other forms of a word ("wellbeing" for "well-being") follow behind all words, so that words which follow one another
in the text do so here. *Plain*: words as written that the dictionary drops although they carry meaning: negations,
and names that look like stop words ("IT", "Will"). A plain copy of every word was measured too (LoCoMo, 760
questions, recall@10 of the context ranking .664 against .679 without): rows twice as large and no better.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from facts.words import Word, words

#: A change in what is indexed is a change of this number: rows of another version are indexed again.
ANALYZER_VERSION = "2"

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
#: As questions write them, whatever the locale.
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
#: Stop words that turn a statement around.
NEGATIONS = frozenset({"no", "nor", "not"})


@dataclass(frozen=True, slots=True)
class IndexText:
    """The two inputs of :func:`tsvector_sql`: words separated by single spaces, either possibly empty."""

    stem: str
    plain: str


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
    return index_text(words(text, stored=True))


def prepare_passage(speaker: str, text: str, said_at: datetime) -> IndexText:
    """Return what a passage is indexed under: its words, and the date (UTC) as an English question writes it.

    With the date, recall@10 on LoCoMo goes from .720 to .746 (conversations it was not chosen on): every eighth
    question there names a day or a month, which hardly any answer does.
    """
    prepared = prepare(passage_text(speaker, text))
    date = said_at.astimezone(UTC)
    return IndexText(stem=f"{prepared.stem} {date.day} {MONTHS[date.month - 1]} {date.year}", plain=prepared.plain)


def phrase(text: str) -> str:
    """Return the words of ``text`` alone, separated by spaces: what stands side by side in a text that holds it."""
    return " ".join(word.folded for word in words(text))


def passage_text(speaker: str, text: str) -> str:
    """Return what a passage is found by: who said it, and what.

    Questions name people; without the speaker's name recall@8 on LoCoMo falls from .665 to .523.
    """
    return f"{speaker}: {text}" if speaker else text


def index_text(found: list[Word]) -> IndexText:
    """Return the two forms of a list of words."""
    kept = STOP_WORDS & (named(found) | NEGATIONS)
    return IndexText(
        stem=" ".join([word.folded for word in found] + [form for word in found for form in word.also]),
        plain=" ".join(word.folded for word in found if word.folded in kept),
    )


def tsvector_sql(stem: str = "%(stem)s", plain: str = "%(plain)s") -> str:
    """Return the SQL expression of the ``tsvector`` of two text expressions (named parameters by default)."""
    return f"(to_tsvector('english', {stem}) || to_tsvector('simple', {plain}))"
