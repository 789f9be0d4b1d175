"""Credentials in text. They are recognised to be refused, never to be kept."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:live[-_]|test[-_]|ant[-_]|proj[-_])?[A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{12,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bxox[abposr]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{20,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY|\bglpat-[A-Za-z0-9_-]{10,}|\bhk_[0-9a-f]{16,}"
)
_STATED = re.compile(
    r"\b(?:pass(?:word|code|phrase)|pwd|pin(?: code)?|mot de passe|mdp|code secret|secret key"
    r"|clé secrète|api[ _-]?key|clé (?:d')?api"
    r"|(?:access|auth|bearer|api) token|jeton(?: d'accès)?|client secret|cvv|cvc)\b"
    r"(?: (?:for|to|of|on|pour|du|de|sur) [\w .'-]{1,40}?)?\s*(?:is now|is|est maintenant|est|=|:)\s*"
    r"(?!(?:not|pas|a|an|the|un|une|le|la|stored|in|kept|expired|wrong|required|missing|broken|too|very"
    r"|dans|expiré|now|being|rotated|still)\b)\S{3,}",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_SOCIAL = re.compile(r"\b\d{3}-\d{2}-\d{4}\b")


def holds_secret(text: str) -> bool:
    """Whether the text holds a credential, a payment card or an account number."""
    if _TOKEN.search(text) or _STATED.search(text) or _SOCIAL.search(text) or _IBAN.search(text):
        return True
    return any(_passes_luhn(match.group()) for match in _CARD.finditer(text))


def _passes_luhn(number: str) -> bool:
    """The check digit rule of payment cards (ISO/IEC 7812-1)."""
    digits = [int(character) for character in number if character.isdigit()]
    doubled = [digit if place % 2 == 0 else sum(divmod(digit * 2, 10)) for place, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
