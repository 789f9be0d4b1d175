"""Asking a model once, outside of extraction: within a time, behind the provider's circuit, on the account's books."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings

from ingest.extraction import ExtractionFailed
from ingest.extraction.providers import circuit, retrying
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import REFUSED, Answer, Ask, Call, circuit_key
from ingest.extraction.providers.extractor import CUT_SHORT
from ingest.extraction.providers.openai_client import OpenAIClient
from ingest.models import ModelRole
from ingest.usage import OpenBooks

Read = TypeVar("Read")


class Unusable(ValueError):
    """An answer that came and cannot be used: why, in a word."""

    def __init__(self, error_class: str) -> None:
        super().__init__(error_class)
        self.error_class = error_class


class NoAnswer(Exception):
    """There is no answer that could be used: why, in a word of the usage ledger."""

    def __init__(self, error_class: str) -> None:
        super().__init__(error_class)
        self.error_class = error_class


def send(
    client: AnthropicClient | OpenAIClient,
    ask: Ask,
    *,
    account_id: uuid.UUID,
    role: ModelRole,
    prompt_version: str,
    read: Callable[[str], Read],
    seconds: float,
) -> tuple[Read, Answer]:
    """Return what ``read`` makes of the model's text, and the answer; every try is booked.

    ``read`` raises :class:`Unusable`. ``seconds`` bounds all tries together. Raises :class:`NoAnswer`. Outside of a
    transaction, no connection is held while the model thinks.
    """
    books = OpenBooks(account_id=account_id, client=client, role=role, prompt_version=prompt_version)
    try:
        books.before(ask)
        answer, latency_ms = retrying.send(
            client,
            ask,
            books=books,
            circuit=circuit.of(circuit_key(client, address=client.address)),
            timeout=settings.MODEL_CALL_TIMEOUT,
            deadline=time.monotonic() + seconds,
        )
    except ExtractionFailed as failure:
        raise NoAnswer(failure.error_class) from None
    value, error_class = None, REFUSED if answer.refused else ""
    if not error_class:
        try:
            value = read(answer.text)
        except Unusable as unusable:
            error_class = unusable.error_class
    notes = (CUT_SHORT,) if answer.truncated else ()
    books.book(Call(ask=ask, latency_ms=latency_ms, answer=answer, error_class=error_class, notes=notes))
    if error_class or value is None:
        raise NoAnswer(error_class)
    return value, answer
