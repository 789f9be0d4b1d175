"""Which reranker this deployment uses, as the setting ``RERANKER_PROVIDER`` says."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from retrieval.rerankers.base import Reranker, RerankerUnavailable
from retrieval.rerankers.local import LocalReranker
from retrieval.rerankers.provider import FORMATS, ProviderReranker

NONE, LOCAL = "none", "local"
CHOICES = (NONE, LOCAL, *FORMATS)

logger = logging.getLogger(__name__)
_reranker: Reranker | None = None


def register() -> None:
    """Make the configured reranker the one that searches use. Loads no model, asks nobody.

    Raises ``ImproperlyConfigured`` for settings under which it could not work.
    """
    try:
        use(_configured())
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error


def use(reranker: Reranker | None) -> None:
    """Make ``reranker`` the one that searches use; ``None``: they go without."""
    global _reranker
    _reranker = reranker


def configured() -> Reranker | None:
    """Return the reranker in use, or ``None`` when this deployment has none."""
    return _reranker


def warm() -> None:
    """Load a local model before the first search asks; failures are for that search to report."""
    if _reranker is not None:
        try:
            _reranker.load()
        except RerankerUnavailable:
            logger.warning("reranker_not_loaded", exc_info=True)


def _configured() -> Reranker | None:
    name = settings.RERANKER_PROVIDER or (LOCAL if settings.RERANKER_MODEL_DIR else NONE)
    if name not in CHOICES:
        raise ValueError(f"RERANKER_PROVIDER is one of {', '.join(CHOICES)}, not {name!r}")
    if name == NONE:
        return None
    if name == LOCAL:
        if not settings.RERANKER_MODEL_DIR:
            raise ValueError("RERANKER_PROVIDER=local needs RERANKER_MODEL_DIR")
        return LocalReranker(settings.RERANKER_MODEL_DIR)
    if not settings.RERANKER_URL:
        raise ValueError(f"RERANKER_PROVIDER={name} needs RERANKER_URL")
    return ProviderReranker(
        kind=name,
        url=settings.RERANKER_URL,
        model=settings.RERANKER_MODEL,
        api_key=settings.RERANKER_API_KEY,
    )
