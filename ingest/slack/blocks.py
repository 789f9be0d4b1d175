"""Block Kit written back as message text: some messages carry their words in blocks alone. Pure.

The result is in Slack's own escaped form, so that :func:`ingest.slack.mrkdwn.decode` reads both alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ingest.slack.mrkdwn import escape

#: Nesting beyond this is no message; Slack's own editor stops at lists within lists.
MAX_DEPTH = 12


def text_of_blocks(blocks: Any) -> str:
    """Return the text of a message's blocks; blocks without words (images, buttons) give nothing."""
    return "\n".join(text for block in _mappings(blocks) if (text := _block(block)))


def _block(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "rich_text":
            return "\n".join(text for part in _mappings(block.get("elements")) if (text := _rich(part, 0)))
        case "section":
            fields = [block.get("text"), *_mappings(block.get("fields"))]
            return "\n".join(text for field in fields if (text := _text_object(field)))
        case "header":
            return _text_object(block.get("text"))
        case "context":
            return " ".join(text for part in _mappings(block.get("elements")) if (text := _text_object(part)))
        case _:
            return ""


def _text_object(value: Any) -> str:
    """Return the text of a ``mrkdwn`` or ``plain_text`` object, escaped."""
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
        return ""
    return value["text"] if value.get("type") == "mrkdwn" else escape(value["text"])


def _rich(part: Mapping[str, Any], depth: int) -> str:
    """Return one element of rich text: a section, a quote, code, or a list."""
    if depth > MAX_DEPTH:
        return ""
    elements = _mappings(part.get("elements"))
    match part.get("type"):
        case "rich_text_list":
            return "\n".join("• " + text for item in elements if (text := _rich(item, depth + 1)))
        case "rich_text_quote":
            return "\n".join("&gt; " + line for line in _inline(elements).splitlines())
        case "rich_text_preformatted":
            return f"```\n{_inline(elements)}\n```"
        case _:
            return _inline(elements)


def _inline(elements: Iterable[Mapping[str, Any]]) -> str:
    return "".join(_element(element) for element in elements)


def _element(element: Mapping[str, Any]) -> str:
    value = {name: said for name, said in element.items() if isinstance(said, str)}
    match value.get("type"):
        case "text":
            style = element.get("style")
            is_code = isinstance(style, Mapping) and style.get("code")
            text = escape(value.get("text", ""))
            return f"`{text}`" if is_code and text else text
        case "link":
            label = value.get("text", "")
            return f"<{escape(value.get('url', ''))}{'|' + escape(label) if label else ''}>"
        case "user":
            return f"<@{value.get('user_id', '')}>"
        case "channel":
            return f"<#{value.get('channel_id', '')}>"
        case "usergroup":
            return f"<!subteam^{value.get('usergroup_id', '')}>"
        case "broadcast":
            return f"<!{value.get('range', '')}>"
        case "emoji":
            return f":{value.get('name', '')}:"
        case "date":
            return escape(value.get("fallback", ""))
        case _:
            return ""


def _mappings(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list) else []
