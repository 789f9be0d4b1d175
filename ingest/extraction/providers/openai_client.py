"""The adapter to OpenAI and to whatever server speaks its protocol, through the official library.

OpenAI itself is asked through the Responses API. Other servers mostly know chat completions only, and not all of them
schemas: ways of asking are tried from the strictest down, and the first that is accepted is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ingest.extraction.providers.calls import (
    MAX_OUTPUT_TOKENS,
    NOT_FOUND,
    REJECTED,
    TIMEOUT,
    TOO_LARGE,
    UNPAID,
    UNREACHABLE,
    UNREADABLE,
    Answer,
    Ask,
    CallFailed,
    failure_of_status,
)

ADDRESS = "https://api.openai.com/v1"

RESPONSES = "responses"
CHAT_SCHEMA = "chat_schema"
CHAT_JSON = "chat_json"
CHAT_PLAIN = "chat_plain"
#: Ways of asking, strictest first: of OpenAI, and of anybody else.
OPENAI_WAYS = (RESPONSES, CHAT_SCHEMA)
COMPATIBLE_WAYS = (CHAT_SCHEMA, CHAT_JSON, CHAT_PLAIN)

#: What a server answers to a way of asking that it does not know.
_UNKNOWN_WAY = frozenset({REJECTED, NOT_FOUND})


class OpenAIClient:
    """Asks an OpenAI-compatible server."""

    provider = "openai"

    def __init__(self, *, api_key: str, model: str, address: str = "", ways: Sequence[str] = ()) -> None:
        self.model = model
        self.address = address or ADDRESS
        self.list_prices = not address
        self._api_key = api_key
        self._library: Any = None
        self._lock = threading.Lock()
        self._ways = tuple(ways) or (COMPATIBLE_WAYS if address else OPENAI_WAYS)
        self._known_way = ""

    def send(self, ask: Ask, *, timeout: float) -> Answer:
        """Return the answer. Raises :class:`CallFailed`."""
        if self._known_way:
            return self._send(ask, timeout=timeout, way=self._known_way)
        for way in self._ways:
            try:
                answer = self._send(ask, timeout=timeout, way=way)
            except CallFailed as failure:
                if failure.error_class not in _UNKNOWN_WAY or way == self._ways[-1]:
                    raise
            else:
                self._known_way = way
                return answer
        raise AssertionError("the last way either returns or raises")

    def _send(self, ask: Ask, *, timeout: float, way: str) -> Answer:
        import openai

        from facts import outgoing

        try:
            return _WAYS[way](self._client(), self.model, ask, outgoing.timeout(timeout))
        except openai.APIStatusError as error:
            if error.code == "insufficient_quota":
                raise CallFailed(UNPAID) from None
            raise failure_of_status(error.status_code, error.response.headers) from None
        except openai.APITimeoutError:
            raise CallFailed(TIMEOUT) from None
        except openai.APIConnectionError as error:
            raise CallFailed(TOO_LARGE if outgoing.is_too_large(error) else UNREACHABLE) from None
        except (openai.OpenAIError, ValueError, AttributeError, TypeError, IndexError):
            # A reply that is no answer: what the library makes of it differs.
            raise CallFailed(UNREADABLE) from None

    def _client(self) -> Any:
        """Return the library's client, made at the first call: after any fork, and only where it is used."""
        import openai

        from facts import outgoing

        with self._lock:
            if self._library is None:
                self._library = openai.OpenAI(
                    api_key=self._api_key or "none",
                    base_url=self.address,
                    max_retries=0,
                    http_client=outgoing.client(),
                )
            return self._library


def _ask_responses(library: Any, model: str, ask: Ask, timeout: Any) -> Answer:
    response = library.responses.create(
        model=model,
        instructions=ask.system,
        input=[{"role": role, "content": text} for role, text in ask.turns],
        max_output_tokens=MAX_OUTPUT_TOKENS,
        store=False,
        text={"format": {"type": "json_schema", **_strict(ask)}},
        timeout=timeout,
    )
    reason = response.incomplete_details.reason if response.incomplete_details else ""
    parts = [part for output in response.output if output.type == "message" for part in output.content]
    usage = response.usage
    return Answer(
        text="".join(part.text for part in parts if part.type == "output_text"),
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        refused=reason == "content_filter" or any(part.type == "refusal" for part in parts),
        truncated=reason == "max_output_tokens",
    )


def _ask_chat(
    response_format: Callable[[Ask], dict[str, Any]] | None, *, in_words: bool = True
) -> Callable[[Any, str, Ask, Any], Answer]:
    """Return the way of asking by chat completions with that format; ``in_words``: the schema is told as text."""

    def send(library: Any, model: str, ask: Ask, timeout: Any) -> Answer:
        system = f"{ask.system}\n{ask.shape.in_words}" if in_words else ask.system
        turns = [{"role": "system", "content": system}]
        turns += [{"role": role, "content": text} for role, text in ask.turns]
        shape = {"response_format": response_format(ask)} if response_format else {}
        completion = library.chat.completions.create(
            model=model, messages=turns, timeout=timeout, **_output_limit(library), **shape
        )
        choice = completion.choices[0]
        usage = completion.usage
        return Answer(
            text=choice.message.content or "",
            input_tokens=usage.prompt_tokens if usage else None,
            output_tokens=usage.completion_tokens if usage else None,
            refused=choice.finish_reason == "content_filter" or bool(choice.message.refusal),
            truncated=choice.finish_reason == "length",
        )

    return send


def _strict(ask: Ask) -> dict[str, Any]:
    """Return the shape as a schema that has to be kept to."""
    return {"name": ask.shape.name, "schema": ask.shape.schema, "strict": True}


def _output_limit(library: Any) -> dict[str, int]:
    """Return the output limit under the name that the server knows: OpenAI's reasoning models refuse the old one."""
    name = "max_completion_tokens" if str(library.base_url).startswith(ADDRESS) else "max_tokens"
    return {name: MAX_OUTPUT_TOKENS}


_WAYS: dict[str, Callable[[Any, str, Ask, Any], Answer]] = {
    RESPONSES: _ask_responses,
    CHAT_SCHEMA: _ask_chat(lambda ask: {"type": "json_schema", "json_schema": _strict(ask)}, in_words=False),
    CHAT_JSON: _ask_chat(lambda ask: {"type": "json_object"}),
    CHAT_PLAIN: _ask_chat(None),
}
