"""What tests of asking stand on: an answerer whose words the test chooses, and a question asked as an app asks it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from facts.models import Account
from governance.access import Principal
from retrieval.ask import answering
from retrieval.ask.answering import AnswerFailed, Worded
from retrieval.ask.asking import AskAnswer, ask
from retrieval.ask.evidence import Evidence
from retrieval.ask.request import AskRequest
from retrieval.search.request import SearchRequest
from tests.retrieval.conftest import index_vectors


@dataclass
class Scripted:
    """Answers what the test says, and keeps what it was asked. Stands in for a model, which no test reaches."""

    says: Worded | AnswerFailed | Callable[[Sequence[Evidence]], Worded]
    asked: list[tuple[str, Sequence[Evidence], datetime]] = field(default_factory=list)

    def answer(
        self, *, account_id: uuid.UUID, question: str, evidence: Sequence[Evidence], reference_time: datetime
    ) -> Worded:
        self.asked.append((question, evidence, reference_time))
        if isinstance(self.says, AnswerFailed):
            raise self.says
        return self.says if isinstance(self.says, Worded) else self.says(evidence)


def worded(*citations: int, confidence: int = 90, text: str = "In Lyon.", tokens: int | None = 321) -> Worded:
    """Return what a model said."""
    return Worded(text=text, citations=citations, confidence=confidence, input_tokens=tokens)


@pytest.fixture
def model() -> Iterator[Callable[..., Scripted]]:
    """Let the test say what the model says; without a call of it there is no model."""
    before = answering._find

    def says(what: Worded | AnswerFailed | Callable[[Sequence[Evidence]], Worded]) -> Scripted:
        made = Scripted(what)
        answering.register(lambda: made)
        return made

    answering.register(None)
    yield says
    answering.register(before)


@pytest.fixture
def question(account: Account, app: Principal, model: Any) -> Callable[..., AskAnswer]:
    """Ask about Ana in the scope ``/support`` with vectors indexed; every part of the request can be changed."""

    def asked(
        query: str = "Where does Ana live?",
        *,
        principal: Principal | None = None,
        effort: str = "",
        include_source_recall: bool = False,
        **changes: Any,
    ) -> AskAnswer:
        index_vectors(account)
        given = {
            "scope_path": "/support",
            "exact": True,
            "subject_key": "ana",
            "profile": "thorough",
            "purpose": "test",
            "limit": 12,
        }
        request = SearchRequest(query=query, **{**given, **changes})
        asking = AskRequest(search=request, effort=effort, include_source_recall=include_source_recall)
        return ask(principal=principal or app, request=asking)

    return asked


def texts(evidence: Sequence[Evidence]) -> list[str]:
    """Return what the evidence says, in order."""
    return [item.text for item in evidence]
