"""The text side of a question: which of its words are searched, and how they become a ``tsquery``.

Any of the words may match; rows are ranked by all of them. In a large corpus only the rarer words are
matched, because a row that shares just "friend" with the question is noise
(``facts.models.CommonLexemes``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from facts import textindex
from facts.words import UNSEGMENTED
from retrieval.text import question_dates

#: Words of asking that the English dictionary keeps. A question's other function words are stop words anyway.
BOILERPLATE = frozenset(
    """
    tell know please show give find list explain describe summarise summarize remember recall remind anything
    something everything whatever does did would could shall may might much many
    """.split()  # noqa: SIM905
)
#: Bound on the work a long question can cause.
MAX_LEXEMES = 32
#: A lexeme in more than this share of a corpus is common. Chosen on LoCoMo (5 % better than 3, 10, 20, 100
#: %).
COMMON_SHARE = 0.05
#: Share of the rows that a lexeme of unknown, small frequency is taken to occur in.
RARE_SHARE = 0.01
WEIGHT_UNIT = 1_000

_ONE_CHARACTER = re.compile(f"[{UNSEGMENTED}]")


def searchable(query: str, *, at: datetime | None = None) -> textindex.IndexText:
    """Return the words of ``query`` worth searching, in the form :func:`facts.textindex.tsvector_sql` takes.

    Words of asking go, unless they are written like a name ("May") or nothing else would be left. Of a question asked
    ``at`` an instant, the dates that it means by "yesterday" or "last month" are searched for as well.
    """
    found = textindex.words(query)
    boilerplate = BOILERPLATE - textindex.named(found)
    kept = [word for word in found if word.folded not in boilerplate]
    if all(word.folded in textindex.STOP_WORDS for word in kept):
        kept = found
    prepared = textindex.index_text(kept)
    dates = question_dates.spelt_out(query, at=at) if at else ""
    return replace(prepared, stem=f"{prepared.stem} {dates}") if dates else prepared


def rarer(lexemes: Iterable[str], *, counts: Mapping[str, int], rows: int) -> list[str]:
    """Return the lexemes that are not common in a corpus of ``rows`` rows; all of them when all are common.

    ``counts`` holds the rows of each frequent lexeme; one that is missing there is rare.
    """
    everything = list(lexemes)
    limit = COMMON_SHARE * rows
    return [lexeme for lexeme in everything if counts.get(lexeme, 0) <= limit] or everything


def weights(lexemes: Iterable[str], *, counts: Mapping[str, int], rows: int) -> dict[str, int]:
    """Return what each lexeme counts in a row's score: the rarer in a corpus of ``rows`` rows, the more.

    Whole numbers, so that the database adds them fast. How rare a rare lexeme is was not counted: all of
    them pass for one in a hundred rows. In an uncounted corpus (``rows`` is 0) all lexemes weigh the same.
    """
    if rows == 0:
        return dict.fromkeys(lexemes, WEIGHT_UNIT)
    rare = RARE_SHARE * rows
    return {
        lexeme: max(1, round(WEIGHT_UNIT * math.log(1 + rows / (1 + counts.get(lexeme, rare))))) for lexeme in lexemes
    }


def any_of(lexemes: Iterable[str]) -> str:
    """Return the text of a ``tsquery`` that matches any of ``lexemes``; empty for none."""
    return " | ".join(term(lexeme) for lexeme in lexemes)


def term(lexeme: str) -> str:
    """Return one lexeme as a ``tsquery`` holds it.

    Text of scripts without spaces is indexed by pairs of characters: a single one matches what begins with it.
    """
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}':*" if is_beginning(lexeme) else f"'{escaped}'"


def is_beginning(lexeme: str) -> bool:
    """Tell whether a lexeme stands for all that begin with it."""
    return _ONE_CHARACTER.fullmatch(lexeme) is not None
