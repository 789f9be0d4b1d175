"""Slack's message text made readable: mentions, links, special mentions and entities decoded. Pure.

Slack escapes ``&``, ``<`` and ``>`` and writes everything else that is not plain text between angle brackets:
``<@U1>``, ``<#C1|name>``, ``<!here>``, ``<https://x|label>``. Emoji codes and emphasis stay as they were typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.observations import MAX_URLS
from ingest.slack.names import Names

#: Longer addresses are tracking or data; they stay in the text and are not listed.
MAX_URL = 2_000

_REFERENCE = re.compile(r"<([^<>]*)>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_PLAIN = {"amp": "&", "lt": "<", "gt": ">"}
#: Mentions of everybody in a channel, in the workspace or online.
_BROADCASTS = {"channel", "here", "everyone", "group"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Readable text, the web addresses in it and the identifiers of the people it mentions, each once, in order."""

    text: str
    urls: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


def decode(raw: str, names: Names) -> Decoded:
    """Return the readable form of a message's text."""
    parts, urls, mentions = [], [], []
    position = 0
    for found in _REFERENCE.finditer(raw):
        parts.append(unescape(raw[position : found.start()]))
        position = found.end()
        inside, _, label = found.group(1).partition("|")
        match inside[:1]:
            case "@":
                mentions.append(inside[1:])
                parts.append("@" + names.person(inside[1:], unescape(label)))
            case "#":
                parts.append("#" + names.channel(inside[1:], unescape(label)))
            case "!":
                parts.append(_special(inside[1:], unescape(label)))
            case _:
                address = unescape(inside).strip()
                if address.startswith(("http://", "https://")) and len(address) <= MAX_URL:
                    urls.append(address)
                parts.append(_link(address, unescape(label)))
    parts.append(unescape(raw[position:]))
    return Decoded(
        text="".join(parts),
        urls=tuple(dict.fromkeys(urls))[:MAX_URLS],
        mentions=tuple(dict.fromkeys(mentions)),
    )


def unescape(text: str) -> str:
    """Return text with Slack's three entities decoded once: ``&amp;lt;`` is a typed ``&lt;``."""
    return _ENTITY.sub(lambda found: _PLAIN[found.group(1)], text)


def escape(text: str) -> str:
    """Return plain text as Slack would write it in a message."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _special(command: str, label: str) -> str:
    """Return ``!here``, a user group, or a date (its fallback) as somebody reads it."""
    name, *_ = command.split("^")
    if name in _BROADCASTS:
        return "@" + name
    if name == "subteam":
        return label if label.startswith("@") else "@" + (label or command.rpartition("^")[2])
    return label or name


def _link(address: str, label: str) -> str:
    """Return a label followed by its address; addresses that only repeat the label are left out."""
    bare = address.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in (address, bare):
        return bare
    if address.partition("://")[2] in (label, label + "/"):
        return address
    return f"{label} ({bare})"
