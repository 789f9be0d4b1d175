"""To whom something was handed over: only where that is exactly one person, for a message to the wrong one tells."""

from __future__ import annotations

import re
from collections.abc import Iterable

from facts.models import Evidence, Fact, Identity, Subject
from facts.vocabulary import SubjectKind

#: Where extractors put the receiver.
KEYS = ("to", "receiver", "recipient", "handed_to", "assignee", "owner")
#: Words of a quote that may be a name: one to three in a row, an @ in front or capitals.
_NAME = re.compile(r"@?[^\W\d_][\w.'’-]*(?:\s+[^\W\d_a-zß-öø-ÿ][\w.'’-]*){0,2}")
#: A quote has at most so many possible names that are looked up.
_MOST_NAMES = 60


def receiver_of(fact: Fact) -> Subject | None:
    """Return the one person to whom a fact hands something over, ``None`` where that is nobody, or not clear.

    What the fact states comes first; else the names in what was said, the speaker's own left out.
    """
    value = fact.value if isinstance(fact.value, dict) else {}
    stated = [value[key] for key in KEYS if isinstance(value.get(key), str)]
    if stated:
        return _only(fact, stated)
    quotes = Evidence.objects.filter(account_id=fact.account_id, fact=fact).values_list("quote", flat=True)
    return _only(fact, names_in(" . ".join([fact.statement, *quotes[:5]])))


def names_in(text: str) -> list[str]:
    """Return what may be names in a text: every run of one to three words that could be one, without an @."""
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        words = match.group().lstrip("@").split()
        for first in range(len(words)):
            for last in range(first + 1, len(words) + 1):
                found[" ".join(words[first:last]).rstrip(".'’-")] = None
    return [name for name in found if len(name) > 1][:_MOST_NAMES]


def _only(fact: Fact, names: Iterable[str]) -> Subject | None:
    """Return the only other person who goes by one of these names."""
    wanted = [name.strip().lstrip("@") for name in names]
    people = Subject.objects.filter(account_id=fact.account_id, kind=SubjectKind.PERSON)
    known = Identity.objects.filter(account_id=fact.account_id, value__in=wanted)
    ids = {*people.filter(key__in=wanted).values_list("pk", flat=True)}
    ids |= {*people.filter(name__in=wanted).values_list("pk", flat=True)}
    ids |= {*people.filter(pk__in=known.values("subject_id")).values_list("pk", flat=True)}
    ids.discard(fact.subject_id)
    return people.get(pk=next(iter(ids))) if len(ids) == 1 else None
