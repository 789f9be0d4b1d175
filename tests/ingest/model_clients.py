"""The real adapters, pointed at the local server: one for each wire format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.openai_client import CHAT_SCHEMA, RESPONSES, OpenAIClient
from tests.stubs.model_server import ModelServer

#: What must never be seen in an error, a log line or a table.
KEY = "sk-not-to-be-told"

CLIENTS: dict[str, Callable[[str], Any]] = {
    "messages": lambda address: AnthropicClient(api_key=KEY, model="claude-haiku-4-5", address=address),
    "responses": lambda address: OpenAIClient(
        api_key=KEY, model="gpt-5.4-mini", address=f"{address}/v1", ways=(RESPONSES,)
    ),
    "chat": lambda address: OpenAIClient(
        api_key=KEY, model="gpt-5.4-mini", address=f"{address}/v1", ways=(CHAT_SCHEMA,)
    ),
}


def client_for(wire: str, server: ModelServer) -> Any:
    """Return the adapter that speaks this wire format."""
    return CLIENTS[wire](server.address)
