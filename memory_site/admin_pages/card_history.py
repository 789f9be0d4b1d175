"""What people decided about a card, and what it said before, as its page shows them to one person."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from retrieval.cards import edits, versions
from retrieval.cards.building import Line
from retrieval.models import CardEdit, CardVersion, EditKind

#: Facts whose text the person may read, each with its version now.
Readable = Mapping[uuid.UUID, int]


def decisions(made: Sequence[CardEdit], stored: Sequence[Line], readable: Readable) -> list[dict[str, Any]]:
    """Return what stands of people's decisions; without words where the person may not read a fact they rest on.

    ``unsupported``: the line is not on the card, because a fact left. ``changed``: a fact has changed since.
    """
    on_card = {(line.text, line.facts) for line in stored if line.edited}
    return [
        {
            "edit": edit,
            "by": edit.made_by.user.get_full_name() or edit.made_by.user.get_username() if edit.made_by else "",
            "before": edit.original["text"] if _may_read(edits.facts_of(edit), readable) else None,
            "text": edit.text if _may_read(edits.facts_of(edit), readable) else None,
            "unsupported": edit.kind != EditKind.REMOVED and (edit.text, edits.facts_of(edit)) not in on_card,
            "changed": any(readable.get(one, seen) != seen for one, seen in edits.versions_seen(edit).items()),
        }
        for edit in made
    ]


def history(found: Sequence[CardVersion], readable: Readable, *, most: int) -> list[dict[str, Any]]:
    """Return the youngest versions, each with how it differs from the one before; ``found`` is the youngest first.

    A line that rests on what the person may not read stands there without its words.
    """
    shown = []
    for place, version in enumerate(found[:most]):
        older = found[place + 1].lines if place + 1 < len(found) else []
        difference = versions.difference(
            [Line.stored(line) for line in older], [Line.stored(line) for line in version.lines]
        )
        shown.append(
            {
                "version": version,
                "by": version.made_by.user.get_full_name() or version.made_by.user.get_username()
                if version.made_by
                else "",
                "lines": [
                    {"side": side.value, "text": line.text if _may_read(line.facts, readable) else None}
                    for side, line in difference
                ],
            }
        )
    return shown


def _may_read(facts: Sequence[uuid.UUID], readable: Readable) -> bool:
    return bool(facts) and all(one in readable for one in facts)
