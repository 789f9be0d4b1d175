"""Who scores a day: the model that the settings name, or the words themselves, also when the model fails."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.conf import settings

from ingest import asking
from ingest.extraction.providers import configured
from ingest.extraction.providers.calls import Ask
from ingest.models import ModelRole
from ingest.moods import prompt, words


def score(account_id: uuid.UUID, statements: Sequence[str]) -> tuple[int, str]:
    """Return 1 to 5 and who says so. Outside of a transaction: a model may be asked."""
    if settings.MOOD_PROVIDER == "none":
        return words.score(statements), words.SCORER
    client = configured.client(settings.MOOD_PROVIDER)
    try:
        found, _ = asking.send(
            client,
            Ask(prompt.SYSTEM, (("user", prompt.render(statements)),), prompt.SHAPE),
            account_id=account_id,
            role=ModelRole.MOOD,
            prompt_version=prompt.VERSION,
            read=prompt.read,
            seconds=settings.MODEL_CALL_TIMEOUT,
        )
    except asking.NoAnswer:
        return words.score(statements), words.SCORER
    return found, f"{client.provider}:{client.model}"[:64]
