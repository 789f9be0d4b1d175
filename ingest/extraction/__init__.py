"""Extraction: from the text of one message to candidates for facts.

Providers are looked up by name; each is imported only when asked for, so that a provider's
client library costs nothing where it is not used.
"""

from __future__ import annotations

from collections.abc import Callable

from ingest.extraction.base import (
    GROUP,
    ExtractionFailed,
    ExtractionInput,
    ExtractionResult,
    Extractor,
    ExtractorIdentity,
    Rejection,
    Usage,
)


def _rules() -> Extractor:
    from ingest.extraction.rules import RulesExtractor

    return RulesExtractor()


def _anthropic() -> Extractor:
    from ingest.extraction.providers import configured

    return configured.anthropic()


def _openai() -> Extractor:
    from ingest.extraction.providers import configured

    return configured.openai()


_FACTORIES: dict[str, Callable[[], Extractor]] = {"rules": _rules, "anthropic": _anthropic, "openai": _openai}


def get_extractor(name: str) -> Extractor:
    """Return the extractor of that name. Raises ``LookupError`` naming the known ones."""
    try:
        factory = _FACTORIES[name]
    except KeyError:
        raise LookupError(f"unknown extractor {name!r}; known: {', '.join(sorted(_FACTORIES))}") from None
    return factory()


__all__ = [
    "GROUP",
    "ExtractionFailed",
    "ExtractionInput",
    "ExtractionResult",
    "Extractor",
    "ExtractorIdentity",
    "Rejection",
    "Usage",
    "get_extractor",
]
