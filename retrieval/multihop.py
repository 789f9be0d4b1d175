"""The names in what was served, to be asked about once more with the budget that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from facts import textindex

MAX_ENTITIES = 2
MIN_LETTERS = 3
#: Capitalised at the head of a sentence or list item without naming anything, English and French.
SENTENCE_STARTERS = frozenset(
    """
    also although another because before but each every everyone finally first from here however last later
    maybe meanwhile most next now often one only please recently she since some someone sometimes soon still
    that the their then there these they this those today tomorrow usually when while who with yesterday you
    apres aussi avant avec cela ces cet cette chaque comme dans demain depuis des donc elle elles ensuite hier
    ils les leur leurs lors mais mon notre nous par parce parfois pendant pour pourquoi puis quand que quel
    quelle ses son souvent sur tous tout toute toutes une vos votre vous
    """.split()  # noqa: SIM905
)


def entities(texts: Iterable[str], *, query: str) -> list[str]:
    """Return at most two names from ``texts`` that ``query`` does not contain, most frequent first.

    A name is a capitalised word of three letters or more that is not just the usual word at the start of a
    sentence. It counts once for each text. Ties go by the alphabet; the spelling returned is the smallest one
    written.
    """
    asked = {word.folded for word in textindex.words(query)}
    seen: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for text in texts:
        names = {
            word.folded: word.shown
            for word in textindex.words(text)
            if word.shown[0].isupper() and len(word.shown) >= MIN_LETTERS and word.shown.isalpha()
        }
        for folded, shown in names.items():
            if folded in asked or folded in SENTENCE_STARTERS or folded in textindex.STOP_WORDS:
                continue
            seen[folded] += 1
            spelling[folded] = min(shown, spelling.get(folded, shown))
    ranked = sorted(seen, key=lambda folded: (-seen[folded], folded))
    return [spelling[folded] for folded in ranked[:MAX_ENTITIES]]
