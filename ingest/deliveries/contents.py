"""What a delivery says: put together when it is sent, from what may be told then.

Who asks for deliveries registers, under a name, how they are worded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.deliveries.places import Place
from ingest.models import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One message: ``title`` is one line, ``text`` plain text, ``fields`` what a webhook gets as JSON.

    ``type`` names what a webhook hears of, such as ``action.opened``.
    """

    type: str
    title: str
    text: str
    fields: Mapping[str, Any]


class NotToBeTold(Exception):
    """The message is not to be sent. ``reason`` is a code; ``over``: what it is about has ended or changed.

    Without ``over`` it may not be told at that place.
    """

    def __init__(self, reason: str, *, over: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.over = over


#: Words a delivery for its place, inside the account. Raises :class:`NotToBeTold`.
Wording = Callable[[Delivery, Place], Content]

#: Is told what became of a delivery, inside the account, in the transaction that notes it: whether it arrived, or will
#: not be tried again by itself. Nothing is told of one that is over because what it was about has ended.
Ending = Callable[[Delivery, bool], None]

_wordings: dict[str, Wording] = {}
_endings: dict[str, Ending] = {}


def register(about: str, wording: Wording, *, ending: Ending | None = None) -> None:
    """Have deliveries that are about this worded by ``wording``, and ``ending`` told; a name registers once."""
    _wordings[about] = wording
    if ending is not None:
        _endings[about] = ending


def ended(delivery: Delivery, *, arrived: bool) -> None:
    """Tell whoever asked for the delivery what became of it."""
    if delivery.about in _endings:
        _endings[delivery.about](delivery, arrived)


def word(delivery: Delivery, place: Place) -> Content:
    """Return what the delivery says now. Raises :class:`NotToBeTold`."""
    if delivery.about not in _wordings:
        raise NotToBeTold("nobody_words_it")
    return _wordings[delivery.about](delivery, place)
