"""Which status may follow which: the one executable definition, from which the documentation table is made."""

from __future__ import annotations

from facts.vocabulary import Status

_S = Status

#: What each status may become by an ordinary transition.
ARROWS: dict[Status, frozenset[Status]] = {
    _S.CANDIDATE: frozenset({_S.ACTIVE, _S.PROVISIONAL, _S.HELD, _S.REJECTED, _S.SUPERSEDED, _S.DISPUTED}),
    _S.PROVISIONAL: frozenset({_S.ACTIVE, _S.HELD, _S.REJECTED, _S.DISPUTED, _S.SUPERSEDED, _S.EXPIRED}),
    _S.HELD: frozenset({_S.ACTIVE, _S.PROVISIONAL, _S.REJECTED, _S.DISPUTED, _S.SUPERSEDED, _S.EXPIRED}),
    _S.ACTIVE: frozenset({_S.NEEDS_REVALIDATION, _S.DISPUTED, _S.SUPERSEDED, _S.EXPIRED, _S.REJECTED}),
    _S.NEEDS_REVALIDATION: frozenset({_S.ACTIVE, _S.REJECTED, _S.DISPUTED, _S.SUPERSEDED, _S.EXPIRED}),
    _S.DISPUTED: frozenset({_S.ACTIVE, _S.REJECTED, _S.SUPERSEDED, _S.EXPIRED}),
    _S.SUPERSEDED: frozenset({_S.DISPUTED}),
    _S.EXPIRED: frozenset({_S.DISPUTED}),
    _S.REJECTED: frozenset({_S.DISPUTED}),
    _S.DISABLED: frozenset(),
    _S.REDACTED: frozenset({_S.DELETED}),
    _S.RETRACTED: frozenset({_S.DELETED}),
    _S.DELETED: frozenset(),
}

#: Statuses from which nothing comes back, not even by undo.
FINAL: frozenset[Status] = frozenset({_S.REDACTED, _S.RETRACTED, _S.DELETED})

#: What any status outside :data:`FINAL` may also become: forgetting and withdrawing work from everywhere.
FROM_ANYWHERE: frozenset[Status] = frozenset({_S.DISABLED, _S.REDACTED, _S.RETRACTED, _S.DELETED})

#: What readers may be served, subject to the audience rule.
SERVED_TO: dict[Status, str] = {
    _S.CANDIDATE: "nobody",
    _S.PROVISIONAL: "its own subject only",
    _S.HELD: "nobody",
    _S.ACTIVE: "readers the audience rule allows",
    _S.NEEDS_REVALIDATION: "nobody as current; listed as a gap",
    _S.DISPUTED: "nobody",
    _S.SUPERSEDED: "history reads",
    _S.EXPIRED: "history reads",
    _S.REJECTED: "history reads of the subject and curators",
    _S.DISABLED: "nobody: forgotten, reversible",
    _S.REDACTED: "nobody",
    _S.RETRACTED: "nobody",
    _S.DELETED: "nobody: content wiped, tombstone kept",
}

#: Statuses of a fact that still takes part in consolidation as a current or waiting belief.
LIVE: frozenset[Status] = frozenset(
    {_S.CANDIDATE, _S.PROVISIONAL, _S.HELD, _S.ACTIVE, _S.NEEDS_REVALIDATION, _S.DISPUTED}
)

#: Statuses that say "was true" or "was decided", shown in history.
ENDED: frozenset[Status] = frozenset({_S.SUPERSEDED, _S.EXPIRED, _S.REJECTED})


def may_follow(source: str, target: str) -> bool:
    """Tell whether an ordinary transition from ``source`` to ``target`` is allowed."""
    before, after = Status(source), Status(target)
    if after in ARROWS[before]:
        return True
    return before not in FINAL and after in FROM_ANYWHERE and before != after


def may_be_restored(source: str, target: str) -> bool:
    """Tell whether undo (or ``enable``) may bring a fact from ``source`` back to an earlier ``target``.

    Restoring follows the recorded history and not the arrows; only what left for good never comes back.
    """
    return Status(source) not in FINAL and Status(target) not in FINAL


def markdown_table() -> str:
    """Return the graph as a Markdown table for the documentation."""
    lines = ["| Status | Served to | May go to |", "|---|---|---|"]
    for status in Status:
        targets = [other.value for other in Status if may_follow(status, other)]
        lines.append(f"| `{status.value}` | {SERVED_TO[status]} | {', '.join(targets) or '–'} |")
    return "\n".join(lines) + "\n"
