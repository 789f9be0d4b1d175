"""Who words answers in this deployment: the models that `ingest` can reach, behind the port of `retrieval.ask`.

Only composition lives here: what is asked and how it is read is `retrieval.ask.prompt`'s, how a model is called and
what it costs `ingest`'s.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings

from ingest import asking
from ingest.extraction.providers import configured
from ingest.extraction.providers.anthropic_client import AnthropicClient
from ingest.extraction.providers.calls import Ask
from ingest.extraction.providers.openai_client import OpenAIClient
from ingest.extraction.providers.schema import Shape
from ingest.models import ModelRole
from retrieval.ask import prompt
from retrieval.ask.answering import AnswerFailed, Worded
from retrieval.ask.evidence import Evidence

_SHAPE = Shape(prompt.SHAPE_NAME, prompt.SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswerer:
    """Has a model word answers. `seconds` bounds all tries of one question together."""

    client: AnthropicClient | OpenAIClient
    seconds: float

    def answer(
        self, *, account_id: uuid.UUID, question: str, evidence: Sequence[Evidence], reference_time: datetime
    ) -> Worded:
        """Return the model's answer. Raises `AnswerFailed`."""
        rendered = prompt.render(question=question, evidence=evidence, reference_time=reference_time)
        try:
            worded, answer = asking.send(
                self.client,
                Ask(prompt.SYSTEM, (("user", rendered),), _SHAPE),
                account_id=account_id,
                role=ModelRole.ANSWERER,
                prompt_version=prompt.VERSION,
                read=_read,
                seconds=self.seconds,
            )
        except asking.NoAnswer as failure:
            raise AnswerFailed(failure.error_class) from None
        return replace(worded, input_tokens=answer.input_tokens)


def find() -> ModelAnswerer | None:
    """Return the answerer that the settings name, or `None`."""
    if settings.ANSWER_PROVIDER == "none":
        return None
    client = configured.client(settings.ANSWER_PROVIDER, model=settings.ANSWER_MODEL)
    return ModelAnswerer(client=client, seconds=settings.ANSWER_SECONDS)


def _read(text: str) -> Worded:
    try:
        return prompt.read(text)
    except prompt.Unreadable as error:
        raise asking.Unusable(error.error_class) from None
