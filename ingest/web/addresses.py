"""Addresses of pages: finding them in a message, telling whether two are the same page, and which stay closed. Pure."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from facts.public_addresses import MAX_URL, check_url
from ingest.extraction.secrets import holds_secret

#: Characters of a subject's key; a longer address is cut and told apart by its digest.
MAX_KEY = 200
_DIGEST = 32
#: Addresses of one message that are opened.
MAX_IN_MESSAGE = 10

#: One more than an address may have, so that a longer one is told from it.
_IN_TEXT = re.compile(rf"https?://[^\s<>\"'`|\\^{{}}\[\]]{{1,{MAX_URL}}}", re.IGNORECASE)
#: Says where a reader came from, and nothing of the page.
_TRACKING = frozenset(
    {"fbclid", "gclid", "gclsrc", "dclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid", "twclid", "ttclid"}
    | {"_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id", "ref_src", "ref_url", "spm", "s_cid"}
)
#: Opening such a link does something, or shows what only its receiver may see.
_CLOSED = re.compile(
    r"(?:^|[_.-])(?:token|secret|sig|signature|password|passwd|pwd|auth|key|apikey|code|otp|session|sid|jwt|invite"
    r"|credential|hash)(?:$|[_.-])|^x-amz-|^x-goog-|unsubscribe",
    re.IGNORECASE,
)
_DOES_SOMETHING = re.compile(
    r"(?:^|[/_.-])(?:unsubscribe|optout|opt-out|logout|signout|sign-out|confirm|verify|activate|reset|magic-?link"
    r"|invite|invitation|accept|delete|approve|oauth2?|callback)(?:$|[/_.-])",
    re.IGNORECASE,
)
_SECRET_PART = re.compile(r"^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{40,}$")


def normalise(url: str) -> str:
    """Return an address in the one spelling in which pages are told apart: without fragment and tracking.

    Raises ``AddressRefused`` for what is never asked.
    """
    parts = urlsplit(check_url(url.strip()).url)
    query = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in _TRACKING and not name.lower().startswith("utm_")
    ]
    return parts._replace(query=urlencode(query), fragment="").geturl()


def in_text(text: str) -> tuple[str, ...]:
    """Return the addresses that a text names, each once, in order; closing marks behind them left out.

    In a time that grows with the text alone, whatever it is: captures wait for it. Of longer addresses than are asked
    nothing is returned.
    """
    found = []
    for match in _IN_TEXT.finditer(text):
        url = match.group().rstrip(".,;:!?…*_~")
        unopened = url.count(")") - url.count("(")
        while url.endswith(")") and unopened > 0:
            url, unopened = url[:-1].rstrip(".,;:!?"), unopened - 1
        if len(url) <= MAX_URL:
            found.append(url)
    return tuple(dict.fromkeys(found))


def is_for_its_receiver(url: str) -> bool:
    """Tell whether a link carries a secret or does something when it is opened: such a link is left alone."""
    parts = urlsplit(url)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    pieces = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    return (
        any(_CLOSED.search(name) for name in names)
        or _DOES_SOMETHING.search(parts.path) is not None
        or any(_SECRET_PART.match(piece) for piece in pieces)
        or holds_secret(url)
    )


def subject_key(text: str) -> str:
    """Return the key of the subject that stands for an address or a search."""
    if len(text) <= MAX_KEY:
        return text
    return f"{text[: MAX_KEY - _DIGEST - 1]}#{digest(text)[:_DIGEST]}"


def digest(text: str) -> str:
    """Return what tells addresses apart where they are too long to."""
    return hashlib.sha256(text.encode()).hexdigest()
