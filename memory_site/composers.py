"""Who words cards in this deployment: the models that `ingest` can reach, behind the port of `retrieval.cards`.

Only composition lives here: what is asked and how it is read is `retrieval.cards.prompt`'s, how a model is called and
what it costs `ingest`'s.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from facts.unseen import for_model
from ingest import asking, budget
from ingest.extraction import secrets
from ingest.extraction.providers import configured
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import REFUSED, REJECTED, TOO_LARGE, UNREADABLE, Ask
from ingest.extraction.providers.openai_client import OpenAIClient
from ingest.extraction.providers.schema import Shape
from ingest.models import ModelRole
from ingest.usage import briefly
from retrieval.ask.prompt import MALFORMED, MISSING, Unreadable
from retrieval.cards import prompt
from retrieval.cards.composing import ComposeFailed, Proposed, Task

#: Too little of the day's budget is left for what can wait.
TIGHT = "budget_tight"
_SHAPE = Shape(prompt.SHAPE_NAME, prompt.SCHEMA)
#: What may be the fault of this card's words: another card may fare better.
_OF_THE_CARD = frozenset({MISSING, MALFORMED, REFUSED, REJECTED, TOO_LARGE, UNREADABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComposer:
    """Has a model word cards. `seconds` bounds all tries of one card together."""

    client: AnthropicClient | OpenAIClient
    seconds: float

    @property
    def identity(self) -> str:
        """The provider, its model and the prompt."""
        return f"{self.client.provider}:{self.client.model[:60]}:{prompt.VERSION}"

    def compose(self, *, account_id: uuid.UUID, task: Task) -> Sequence[Proposed]:
        """Return the model's lines. Raises `ComposeFailed`, before any call where the budget gets tight."""
        safe = without_secrets(task)
        if not safe.facts:
            return []
        with briefly(account_id):
            if budget.today(account_id).is_tight:
                raise ComposeFailed(TIGHT, everywhere=True)
        try:
            lines, _ = asking.send(
                self.client,
                Ask(prompt.SYSTEM, (("user", for_model(prompt.render(safe))),), _SHAPE),
                account_id=account_id,
                role=ModelRole.SUMMARY,
                prompt_version=prompt.VERSION,
                read=_read,
                seconds=self.seconds,
            )
        except asking.NoAnswer as failure:
            everywhere = failure.error_class not in _OF_THE_CARD
            raise ComposeFailed(failure.error_class, everywhere=everywhere) from None
        told = {fact.number for fact in safe.facts} | {number for line in safe.previous for number in line.numbers}
        return [line for line in lines if told.issuperset(line.numbers) and not secrets.holds_secret(line.text)]


def find() -> ModelComposer | None:
    """Return the composer that the settings name, or `None`."""
    if settings.SUMMARY_PROVIDER == "none":
        return None
    client = configured.client(settings.SUMMARY_PROVIDER, model=settings.SUMMARY_MODEL)
    return ModelComposer(client=client, seconds=settings.SUMMARY_SECONDS)


def without_secrets(task: Task) -> Task:
    """Return the task without the facts and lines that hold a credential: those are told to no provider."""
    title = "" if secrets.holds_secret(task.title) else task.title
    facts = tuple(fact for fact in task.facts if not secrets.holds_secret(fact.text))
    previous = tuple(line for line in task.previous if not secrets.holds_secret(line.text))
    return replace(task, title=title, facts=facts, previous=previous)


def _read(text: str) -> list[Proposed]:
    try:
        return prompt.read(text)
    except Unreadable as error:
        raise asking.Unusable(error.error_class) from None
