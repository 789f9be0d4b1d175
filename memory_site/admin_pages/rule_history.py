"""The history of a rule in words: who changed what from what to what, when and why, and the way back to it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from governance import rule_changes
from governance.models import RuleChange, RuleSort

#: Changes of one rule that its page shows, the newest.
SHOWN = 20
#: The parameter that fills a form with what an earlier change made of the rule.
FROM = "from"

#: Writes the value of a field as people read it.
Show = Callable[[str, Any], str]


@dataclass(frozen=True, slots=True)
class Line:
    """One field that a change is about; ``before`` is empty where there was no rule."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. ``verb`` says what was done; ``may_return``: whether a form can be filled with what it made."""

    change: RuleChange
    verb: str
    lines: list[Line]

    @property
    def may_return(self) -> bool:
        """Whether there is anything to go back to."""
        return self.change.after is not None


def entries(changes: Iterable[RuleChange], *, labels: Mapping[str, str], show: Show) -> list[Entry]:
    """Return changes in words. ``labels`` names the fields that are told, in their order."""
    return [_entry(change, labels, show) for change in changes]


def chosen(request: HttpRequest, *, sort: RuleSort, key: str) -> dict[str, Any]:
    """Return what the change that the address names made of the rule, nothing for an address that names none."""
    try:
        pk = uuid.UUID(request.GET.get(FROM, ""))
    except ValueError:
        return {}
    change = rule_changes.history(request.principal.account_id, sort=sort, key=key).filter(pk=pk).first()
    return dict(change.after or {}) if change else {}


def _entry(change: RuleChange, labels: Mapping[str, str], show: Show) -> Entry:
    before, after = change.before or {}, change.after or {}
    verb = "set" if change.before is None else "removed" if change.after is None else "changed"
    differ = [name for name in labels if before.get(name, ...) != after.get(name, ...)]
    lines = [
        Line(labels[name], *(show(name, of[name]) if name in of else "" for of in (before, after))) for name in differ
    ]
    return Entry(change, verb, lines)
