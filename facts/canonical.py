"""One spelling for claims, and the digests by which equality is decided.

Equality of claims is exact equality of canonical values, never a vector distance: rephrasings and true updates
overlap in distance.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from facts.unseen import UNSEEN

#: Qualifier keys that say who told it and are no condition of the claim.
NOT_IDENTITY = frozenset({"attributed_to"})
#: The qualifier under which a dismissal keeps what sets a fact apart from another one of the same claim.
DISTINCTION = "distinction"
_SPACE = re.compile(r"\s+")
#: "e-mail", "email" and "e mail" are one word spelt three ways. Between digits a hyphen says something.
_WITHIN_WORDS = re.compile(r"(?<=[^\W\d_])[-\u2010-\u2013\s]+(?=[^\W\d_])")
#: A number written out. A leading zero marks a code or a phone number, a closing one after the point a version ("3.10"
#: is not "3.1"): both stay text.
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d*[1-9])?")


def normalise_text(text: str) -> str:
    """Return ``text`` in NFC with invisible characters removed and white space collapsed."""
    return _SPACE.sub(" ", UNSEEN.sub("", unicodedata.normalize("NFC", text))).strip()


def has_control_characters(text: str) -> bool:
    """Tell whether ``text`` holds control characters or lone surrogates, which no name may."""
    return any(unicodedata.category(character) in {"Cc", "Cs"} for character in text)


def normalise_predicate(predicate: str) -> str:
    """Return a predicate as snake_case of at most 128 characters; "" stays ""."""
    return re.sub(r"[^\w]+", "_", normalise_text(predicate).casefold()).strip("_")[:128]


def canonical(value: Any) -> Any:
    """Return ``value`` in the form in which it is compared, never shown.

    Texts are folded and trimmed and lose hyphens and spaces inside words, numbers are unified also where they are
    written as text, keys are sorted, and keys without a value dropped.
    """
    match value:
        case str():
            folded = normalise_text(unicodedata.normalize("NFKC", value)).casefold().rstrip(".! ")
            return canonical(float(folded)) if _NUMBER.fullmatch(folded) else _WITHIN_WORDS.sub("", folded)
        case bool() | int() | None:
            return value
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {
                normalise_predicate(str(key)): canonical(item)
                for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))
                if item is not None
            }
        case list() | tuple():
            return [canonical(item) for item in value]
        case _:
            return canonical(str(value))


def _digest(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def qualifiers_of_identity(qualifiers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the qualifiers that are conditions of the claim, canonical."""
    return canonical({key: value for key, value in qualifiers.items() if key not in NOT_IDENTITY})


def identity_key(predicate: str, qualifiers: Mapping[str, Any]) -> str:
    """Return the digest of (predicate, qualifiers): what "the same claim" means. "" for no claim."""
    predicate = normalise_predicate(predicate)
    return _digest([predicate, qualifiers_of_identity(qualifiers)]) if predicate else ""


def stated_identity_key(predicate: str, qualifiers: Mapping[str, Any]) -> str:
    """Return the identity as the source stated it: without what a person's dismissal added to set the fact apart."""
    return identity_key(predicate, {key: value for key, value in qualifiers.items() if key != DISTINCTION})


def value_key(value: Mapping[str, Any] | None, *, denies: bool = False) -> str:
    """Return the digest of a canonical value; a denial of a value differs from the value. "" for no claim."""
    return "" if value is None else _digest([bool(denies), canonical(value)])


def statement_hash(secret: bytes, statement: str) -> str:
    """Return the HMAC-SHA-256 of the folded statement under the account's secret."""
    folded = normalise_text(statement).casefold().encode("utf-8", "surrogatepass")
    return hmac.new(secret, folded, hashlib.sha256).hexdigest()
