"""The model extractors of this deployment, made from its settings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from django.conf import settings

from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import circuit_key
from ingest.extraction.providers.extractor import ModelExtractor
from ingest.extraction.providers.openai_client import OpenAIClient

#: Clients by process and settings: connections are reused, and never across a fork.
_clients: dict[tuple[object, ...], AnthropicClient | OpenAIClient] = {}
_lock = threading.Lock()


def anthropic() -> ModelExtractor:
    """Return the extractor that asks Claude."""
    return _extractor(
        AnthropicClient, settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_MODEL, settings.ANTHROPIC_BASE_URL
    )


def openai() -> ModelExtractor:
    """Return the extractor that asks OpenAI, or a server that speaks its protocol."""
    return _extractor(OpenAIClient, settings.OPENAI_API_KEY, settings.OPENAI_MODEL, settings.OPENAI_BASE_URL)


def _extractor(
    make: Callable[..., AnthropicClient | OpenAIClient], api_key: str, model: str, address: str
) -> ModelExtractor:
    key = (os.getpid(), make, api_key, model, address)
    with _lock:
        if key not in _clients:
            _clients[key] = make(api_key=api_key, model=model, address=address)
        client = _clients[key]
    return ModelExtractor(
        client,
        circuit_name=circuit_key(client, address=client.address),
        timeout=settings.MODEL_CALL_TIMEOUT,
    )
