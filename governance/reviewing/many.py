"""Doing the same to many things that wait: what would become of each, and each in its own transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from facts.errors import DomainError
from facts.tenancy import account_transaction
from governance.access import Principal

#: Things in one go.
MAX_ITEMS = 500


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was chosen, and the version that the person saw (``None``: none was seen)."""

    id: uuid.UUID
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one item: its status now, or the code and message of why nothing was done."""

    id: uuid.UUID
    status: str = ""
    code: str = ""
    message: str = ""

    @property
    def done(self) -> bool:
        """Whether the verb was carried out."""
        return not self.code


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would become of one row: an ``effect`` in words, or the ``code`` of why nothing would, as a sentence."""

    row: Any
    effect: str = ""
    code: str = ""
    why_not: str = ""


def each(principal: Principal, items: Sequence[Item], decide: Callable[[Item], str]) -> list[Result]:
    """Do ``decide``, which returns the status afterwards, to each item; what fails leaves the others as they are.

    Called outside of any transaction: each item commits by itself. Raises ``DomainError`` (``batch_too_large``) before
    anything is done.
    """
    if len(items) > MAX_ITEMS:
        raise DomainError(f"At most {MAX_ITEMS} at once.", code="batch_too_large", field="items")
    return [_one(principal, item, decide) for item in dict.fromkeys(items)]


def _one(principal: Principal, item: Item, decide: Callable[[Item], str]) -> Result:
    try:
        with account_transaction(principal.account_id, durable=True):
            return Result(item.id, status=decide(item))
    except DomainError as error:
        return Result(item.id, code=error.code, message=error.message)
