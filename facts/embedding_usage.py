"""The port through which the calls of remote embedders reach whoever keeps the books of an account.

Embedders do not know for whom they work; whoever asks one says so (:func:`on_account`).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One call, whatever became of it: figures and codes, no content.

    ``list_prices``: the vendor itself was asked, whose list tells the price. ``tokens`` as the provider counted them,
    ``None`` where it did not say. ``error_class`` is empty for an answer that could be used.
    """

    provider: str
    model: str
    list_prices: bool
    tokens: int | None
    latency_ms: int
    error_class: str = ""


Book = Callable[[uuid.UUID, Usage], None]

_book: Book | None = None
_account: ContextVar[uuid.UUID | None] = ContextVar("embedding_account", default=None)


def register(book: Book | None) -> None:
    """Make ``book`` the one that is told of each call; ``None``: nobody is."""
    global _book
    _book = book


@contextmanager
def on_account(account_id: uuid.UUID | None) -> Iterator[None]:
    """Book the calls of the block on this account; on nobody's where it is ``None``."""
    token = _account.set(account_id)
    try:
        yield
    finally:
        _account.reset(token)


def note(usage: Usage) -> None:
    """Book a call on the account it is made for. A book that fails loses a line, never the vectors."""
    account_id = _account.get()
    if _book is None or account_id is None:
        return
    try:
        _book(account_id, usage)
    except Exception as error:  # whatever is wrong with the books, the work goes on
        logger.warning("embedding_not_booked", extra={"error_class": type(error).__name__})
