"""The clients and model extractors of this deployment, made from its settings."""

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
    return _extractor(client("anthropic"))


def openai() -> ModelExtractor:
    """Return the extractor that asks OpenAI, or a server that speaks its protocol."""
    return _extractor(client("openai"))


def client(provider: str, *, model: str = "") -> AnthropicClient | OpenAIClient:
    """Return the client of a provider; ``model`` replaces the one that is set for it. Raises ``LookupError``."""
    make: Callable[..., AnthropicClient | OpenAIClient]
    if provider == "anthropic":
        make, api_key, address = AnthropicClient, settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL
        model = model or settings.ANTHROPIC_MODEL
    elif provider == "openai":
        make, api_key, address = OpenAIClient, settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL
        model = model or settings.OPENAI_MODEL
    else:
        raise LookupError(f"unknown provider {provider!r}; known: anthropic, openai")
    key = (os.getpid(), make, api_key, model, address)
    with _lock:
        if key not in _clients:
            _clients[key] = make(api_key=api_key, model=model, address=address)
        return _clients[key]


def _extractor(asked: AnthropicClient | OpenAIClient) -> ModelExtractor:
    return ModelExtractor(
        asked,
        circuit_name=circuit_key(asked, address=asked.address),
        timeout=settings.MODEL_CALL_TIMEOUT,
    )
