"""Operators in a question: ``"exact phrase"``, ``-term`` and ``or``, and when they are meant as such.

With any of them every bare term must be there, as in PostgreSQL's websearch syntax. ``or`` stands between terms only in
a list of key words: "tea or coffee" asks for either, "does she prefer tea or coffee?" is a question. So it is with a
minus before a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db import connection

from facts import textindex
from facts.words import words
from retrieval.text.lexical import BOILERPLATE

_CURLY = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"'})
#: A quotation mark opens before a word and closes behind one: no inches, no Hebrew abbreviation.
_PIECE = re.compile(r'(?P<minus>(?<!\S)-(?=["\w]))?(?:(?<!\w)"(?P<phrase>[^"]+)"(?!\w)|(?P<term>[^\s"]+|"))')
_OR = "or"
#: What makes a sentence of a list of key words.
_FUNCTION_WORDS = (textindex.STOP_WORDS | BOILERPLATE) - textindex.NEGATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Words that stand side by side in what is looked for or, ``negated``, in what is not wanted."""

    text: str
    quoted: bool = False
    negated: bool = False


def parse(query: str) -> list[list[Term]] | None:
    """Return the alternatives of a question with operators, each a list of terms that all hold; ``None`` without any.

    Words of asking among the bare terms are no terms.
    """
    pieces = [piece for match in _PIECE.finditer(query.translate(_CURLY)) if words((piece := _term(match)).text)]
    named = textindex.named(words(query))
    is_sentence = "?" in query or any(_function_word(piece, named) for piece in pieces if not piece.quoted)
    if is_sentence:
        pieces = [_unless_a_number(piece) for piece in pieces]
    explicit = any(piece.quoted or piece.negated for piece in pieces)
    split = not is_sentence and any(_is_or(piece) for piece in pieces[1:-1])
    if not explicit and not split:
        return None
    alternatives: list[list[Term]] = [[]]
    for piece in pieces:
        if _is_or(piece):
            alternatives += [[]] if split else []
        elif piece.quoted or piece.negated or not _function_word(piece, named):
            alternatives[-1].append(piece)
    return [terms for terms in alternatives if terms]


def _term(match: re.Match[str]) -> Term:
    negated = match["minus"] is not None
    if match["phrase"] is not None:
        return Term(text=match["phrase"], quoted=True, negated=negated)
    return Term(text=match["term"], negated=negated)


def _unless_a_number(piece: Term) -> Term:
    """Return a piece whose minus may be a sign without its negation."""
    if piece.negated and not piece.quoted and piece.text[0].isdigit():
        return Term(text=piece.text)
    return piece


def _is_or(piece: Term) -> bool:
    return not piece.quoted and not piece.negated and piece.text.casefold() == _OR


def _function_word(piece: Term, named: set[str]) -> bool:
    """Tell whether a bare piece belongs to a sentence and not to a list of key words."""
    if piece.negated or _is_or(piece):
        return False
    parts = [word.folded for word in words(piece.text)]
    return bool(parts) and all(part in _FUNCTION_WORDS and part not in named for part in parts)


def wanted(alternatives: list[list[Term]]) -> str:
    """Return the words that are looked for, without those that are not wanted."""
    return " ".join(term.text for terms in alternatives for term in terms if not term.negated)


def tsquery(alternatives: list[list[Term]], query: str) -> str:
    """Return what a row has to match, as the text of a ``tsquery``; empty when nothing is asked for.

    An alternative that only excludes asks for nothing: it would find everything else. ``query`` is the whole question,
    whose capitals tell names from stop words.
    """
    named = textindex.named(words(query))
    values: dict[str, str] = {}
    columns = []
    for terms in alternatives:
        held = [_expression(term, named, values) for term in terms if not term.negated]
        excluded = [f"!!({_expression(term, named, values)})" for term in terms if term.negated]
        if held:
            columns.append(
                f"CASE WHEN numnode({' && '.join(held)}) > 0 THEN ({' && '.join([*held, *excluded])})::text END"
            )
    if not columns:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)}", values)
        return " | ".join(f"({found})" for found in cursor.fetchone() if found)


def _expression(term: Term, named: set[str], values: dict[str, str]) -> str:
    """Return the SQL expression of a term's ``tsquery``: its words side by side, or another form of them.

    What the English dictionary would drop is looked for as written, where the index kept it.
    """
    found = words(term.text)
    kept = textindex.STOP_WORDS & (textindex.NEGATIONS | named)
    if found and all(word.folded in kept for word in found):
        return f"phraseto_tsquery('simple', {_value(values, ' '.join(word.folded for word in found))})"
    forms = [" ".join(word.folded for word in found)]
    if not term.quoted:
        forms += [form for word in found for form in word.also]
    return "(" + " || ".join(f"phraseto_tsquery('english', {_value(values, form)})" for form in forms) + ")"


def _value(values: dict[str, str], text: str) -> str:
    name = f"term{len(values)}"
    values[name] = text
    return f"%({name})s"
