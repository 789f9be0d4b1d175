"""What hangs on a subject besides facts, so that merging two subjects reaches all of it.

Every app says of each of its columns that name a subject whether its rows follow a merged subject to the one that it is
now, or stay, with the reason. A test fails for a column that is in neither list.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from django.apps import apps
from django.db.models import Exists, OuterRef, Q, QuerySet

#: ``after(account_id, ids)``: what else has to be brought in line once rows were moved.
After = Callable[[uuid.UUID, Sequence[uuid.UUID]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A column whose rows follow.

    ``once``: with these other columns a subject has one row at most, and a row stays where the target has its own.
    ``only``: which rows follow, all by default.
    """

    table: str
    column: str
    once: tuple[str, ...] | None = None
    only: Q = field(default_factory=Q)
    after: After | None = None

    @property
    def name(self) -> str:
        """By which a merge keeps the ids of its rows."""
        return f"{self.table}.{self.column}"


#: ``forbid(account_id, source, target)``: why two subjects cannot be one, in a sentence; "" where they can.
Forbid = Callable[[uuid.UUID, uuid.UUID, uuid.UUID], str]

_forbids: dict[str, Forbid] = {}
_following: dict[str, Following] = {}
_staying: dict[str, str] = {}


def follows(following: Following) -> None:
    """Have the rows of a column follow a merged subject; a column registers once."""
    _following[following.name] = following


def stays(name: str, because: str) -> None:
    """Say of a column (``app.Model.column``) why its rows stay with a merged subject."""
    _staying[name] = because


def forbids(name: str, forbid: Forbid) -> None:
    """Have ``forbid`` asked before a merge; a name registers once."""
    _forbids[name] = forbid


def why_not(account_id: uuid.UUID, *, source: uuid.UUID, target: uuid.UUID) -> str:
    """Return why these two cannot be merged as far as the apps above know, in a sentence, or ""."""
    reasons = (forbid(account_id, source, target) for forbid in _forbids.values())
    return next((reason for reason in reasons if reason), "")


def registered() -> dict[str, str]:
    """Return what happens to each column: ``follows``, or why it stays."""
    return dict.fromkeys(_following, "follows") | _staying


def move(account_id: uuid.UUID, *, source: uuid.UUID, target: uuid.UUID) -> dict[str, list[str]]:
    """Give the target what is the source's; return the ids of the moved rows, by column."""
    moved: dict[str, list[str]] = {}
    for name, following in _following.items():
        rows = _rows(following, account_id, source).filter(following.only)
        if following.once is not None:
            same = {"account_id": account_id, following.column: target}
            twin = _model(following).objects.filter(**same, **{other: OuterRef(other) for other in following.once})
            rows = rows.exclude(Exists(twin))
        ids = list(rows.order_by("pk").values_list("pk", flat=True))
        _assign(following, account_id, ids, to=target)
        if ids:
            moved[name] = [str(row_id) for row_id in ids]
    return moved


def move_back(
    account_id: uuid.UUID, moved: Mapping[str, Sequence[str]], *, source: uuid.UUID, target: uuid.UUID
) -> None:
    """Give the source again what :func:`move` took and what is still the target's."""
    for name, ids in moved.items():
        following = _following[name]
        rows = _rows(following, account_id, target).filter(pk__in=ids)
        _assign(following, account_id, list(rows.values_list("pk", flat=True)), to=source)


def _rows(following: Following, account_id: uuid.UUID, subject_id: uuid.UUID) -> QuerySet:
    return _model(following).objects.filter(account_id=account_id, **{following.column: subject_id})


def _assign(following: Following, account_id: uuid.UUID, ids: Sequence[uuid.UUID], *, to: uuid.UUID) -> None:
    if not ids:
        return
    rows = _model(following).objects.filter(account_id=account_id, pk__in=ids)
    rows.update(**{following.column: to})
    if following.after is not None:
        following.after(account_id, ids)


def _model(following: Following) -> type:
    return apps.get_model(following.table)
