"""The words of a page: out of its bytes, without what surrounds them. Pure; bounded for whatever is sent."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Any

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5
from resiliparse.parse.html import HTMLTree, traverse_dom

from ingest.normalise import clean_text

#: Characters of a page that are kept: what is asked about it later is mostly at its beginning.
MAX_TEXT = 20_000
MAX_TITLE = 300
#: Elements inside each other: telling main text from the rest takes time with the square of it.
MAX_DEPTH = 500
MAX_ELEMENTS = 100_000
HTML = frozenset({"text/html", "application/xhtml+xml"})
PLAIN = frozenset({"text/plain", "text/markdown"})

_UTF_8_SIGNED = "utf-8-sig"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_SPACES = re.compile(r"[^\S\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """A page's title ("" when it has none) and words; ``cut``: there were more."""

    title: str
    text: str
    cut: bool


class TooMuch(ValueError):
    """The page is nested deeper, or has more elements, than pages have."""


def read(body: bytes, *, content_type: str) -> PageText:
    """Return the words of a page; ``content_type`` as its header says it. Raises :class:`TooMuch`."""
    text = decode(body, content_type)
    if content_type.partition(";")[0].strip().lower() in PLAIN:
        return of_text(text, title="")
    tree = HTMLTree.parse(text)
    _check_size(tree)
    main = extract_plain_text(tree, main_content=True, alt_texts=False, comments=False)
    if not main.strip():
        main = extract_plain_text(tree, alt_texts=False)
    return of_text(main, title=tree.title or "")


def of_text(text: str, *, title: str) -> PageText:
    """Return words that are without markup already."""
    cleaned = _SPACES.sub(" ", _BLANK_LINES.sub("\n\n", clean_text(text)[0])).strip()
    kept = cleaned[:MAX_TEXT]
    if len(kept) < len(cleaned):
        kept = kept.rpartition(" ")[0] or kept
    return PageText(title=" ".join(clean_text(title)[0].split())[:MAX_TITLE], text=kept, cut=len(kept) < len(cleaned))


def decode(body: bytes, content_type: str) -> str:
    """Return the bytes as text: as the header says, else as the page says, else as they look.

    What says one thing and is another is read as it looks; what fits nothing, with signs of replacement.
    """
    stated = _CHARSET.search(content_type)
    candidates = [stated.group(1)] if stated else []
    if body.startswith(b"\xef\xbb\xbf"):
        candidates.insert(0, _UTF_8_SIGNED)
    if head := _CHARSET.search(body[:1024].decode("latin-1")):
        candidates.append(head.group(1))
    candidates += ["utf-8", detect_encoding(body, from_html_meta=False)]
    for name in candidates:
        try:
            return body.decode(_codec(name))
        except (LookupError, UnicodeError):
            continue
    return body.decode("utf-8", errors="replace")


def _codec(name: str) -> str:
    """Return the codec of an encoding; raises ``LookupError`` for one that the web does not know.

    Of Python's codecs only those of the web are used: others take time with the square of what they decode.
    """
    of_the_web = name if name == _UTF_8_SIGNED else map_encoding_to_html5(name, fallback_utf8=False)
    if of_the_web is None:
        raise LookupError(name)
    try:
        return codecs.lookup(name).name
    except LookupError:
        return of_the_web


def _check_size(tree: HTMLTree) -> None:
    """Raise :class:`TooMuch` for a page whose elements are too many, or too deep inside each other."""
    elements = 0

    def look(context: Any) -> None:
        nonlocal elements
        elements += 1
        if context.depth > MAX_DEPTH or elements > MAX_ELEMENTS:
            raise TooMuch

    root = tree.document.query_selector("html")
    if root is not None:
        traverse_dom(root, look, elements_only=True)
