"""The adapter to Anthropic's Messages API, through the official library."""

from __future__ import annotations

import threading
from typing import Any

from ingest.extraction.providers.calls import (
    MAX_OUTPUT_TOKENS,
    REJECTED,
    TIMEOUT,
    TOO_LARGE,
    UNREACHABLE,
    UNREADABLE,
    Answer,
    Ask,
    CallFailed,
    failure_of_status,
)

ADDRESS = "https://api.anthropic.com"


class AnthropicClient:
    """Asks Claude for an answer in the schema; servers that do not know schemas are asked in words alone."""

    provider = "anthropic"

    def __init__(self, *, api_key: str, model: str, address: str = "") -> None:
        self.model = model
        self.address = address or ADDRESS
        self.list_prices = not address
        self._api_key = api_key
        self._library: Any = None
        self._lock = threading.Lock()
        #: Whether the server takes a schema; ``None`` until it was seen.
        self._takes_schema: bool | None = None

    def send(self, ask: Ask, *, timeout: float) -> Answer:
        """Return the answer. Raises :class:`CallFailed`."""
        if self._takes_schema is not None:
            return self._send(ask, timeout=timeout, with_schema=self._takes_schema)
        try:
            answer = self._send(ask, timeout=timeout, with_schema=True)
        except CallFailed as failure:
            if failure.error_class != REJECTED:
                raise
        else:
            self._takes_schema = True
            return answer
        answer = self._send(ask, timeout=timeout, with_schema=False)
        self._takes_schema = False
        return answer

    def _send(self, ask: Ask, *, timeout: float, with_schema: bool) -> Answer:
        import anthropic

        from facts import outgoing

        shape: dict[str, Any] = {"system": f"{ask.system}\n{ask.shape.in_words}"}
        if with_schema:
            output_format = {"type": "json_schema", "schema": ask.shape.schema}
            shape = {"system": ask.system, "output_config": {"format": output_format}}
        try:
            message = self._client().messages.create(
                model=self.model,
                max_tokens=MAX_OUTPUT_TOKENS,
                messages=[{"role": role, "content": text} for role, text in ask.turns],
                timeout=outgoing.timeout(timeout),
                **shape,
            )
            return _answer(message)
        except anthropic.APIStatusError as error:
            raise failure_of_status(error.status_code, error.response.headers) from None
        except anthropic.APITimeoutError:
            raise CallFailed(TIMEOUT) from None
        except anthropic.APIConnectionError as error:
            raise CallFailed(TOO_LARGE if outgoing.is_too_large(error) else UNREACHABLE) from None
        except (anthropic.AnthropicError, ValueError, AttributeError, TypeError):
            # A reply that is no message: what the library makes of it differs.
            raise CallFailed(UNREADABLE) from None

    def _client(self) -> Any:
        """Return the library's client, made at the first call: after any fork, and only where it is used."""
        import anthropic

        from facts import outgoing

        with self._lock:
            if self._library is None:
                self._library = anthropic.Anthropic(
                    api_key=self._api_key or "none",
                    base_url=self.address,
                    max_retries=0,
                    http_client=outgoing.client(),
                    open_telemetry=False,
                )
            return self._library


def _answer(message: Any) -> Answer:
    """Return what the program needs of a message."""
    usage = message.usage
    counted = [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens]
    return Answer(
        text="".join(block.text for block in message.content if block.type == "text"),
        input_tokens=sum(tokens or 0 for tokens in counted),
        output_tokens=usage.output_tokens,
        refused=message.stop_reason == "refusal",
        truncated=message.stop_reason == "max_tokens",
    )
