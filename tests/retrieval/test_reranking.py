from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from facts.models import IndexedUnit, Subject
from retrieval.outcomes import Deadline, OutcomeStatus, ReasonClass
from retrieval.profiles.shipped import SEARCH
from retrieval.rerankers import registry
from retrieval.rerankers.base import Ranking, RerankerFailed, RerankerUnavailable
from retrieval.search import reranking
from retrieval.search.answer import SearchAnswer
from retrieval.search.reranking import Reranked
from retrieval.strategies.base import Hit, Item
from tests.factories import FactFactory, say

THOROUGH = SEARCH["thorough"]


@dataclass
class Scripted:
    """A reranker that does what a test says."""

    does: Callable[[Sequence[str]], Ranking]
    label: str = "test:scripted@1"
    asked: list[tuple[str, tuple[str, ...], float]] = field(default_factory=list)

    def rerank(self, question: str, texts: Sequence[str], *, seconds: float) -> Ranking:
        self.asked.append((question, tuple(texts), seconds))
        return self.does(texts)


@pytest.fixture(autouse=True)
def without_reranker() -> Iterator[None]:
    registry.use(None)
    yield
    registry.use(None)


def order(*positions: int) -> Callable[[Sequence[str]], Ranking]:
    return lambda texts: Ranking(order=positions, scores=(0.5,) * len(positions), partial=len(positions) < len(texts))


def reranked(
    does: Callable[[Sequence[str]], Ranking] | None, *words: str, head: int = 20, left: float = 100, withheld: str = ""
) -> tuple[str, Reranked]:
    """Return the words in their new order as one string, and what was answered."""
    if does is not None:
        registry.use(Scripted(does))
    items = [Item(IndexedUnit.FACT, uuid.uuid5(uuid.NAMESPACE_OID, word)) for word in words]
    hits = {
        item: Hit(item=item, score=1.0, text=word, withheld=word == withheld)
        for item, word in zip(items, words, strict=True)
    }
    answer = reranking.rerank(
        "question", items, hits, profile=replace(THOROUGH, rerank_head=head), deadline=Deadline(milliseconds=left)
    )
    return "".join(hits[item].text for item in answer.items), answer


def test_the_head_comes_in_the_order_of_the_reranker() -> None:
    words, answer = reranked(order(2, 0, 1), "a", "b", "c", "d", head=3)
    assert words == "cabd"
    assert (answer.outcome.status, answer.outcome.reason_class, answer.missed) == (OutcomeStatus.COMPLETED, None, False)
    assert (answer.outcome.component, answer.outcome.version) == ("reranker", "test:scripted@1")
    (question, texts, seconds) = registry.configured().asked[0]
    assert (question, texts) == ("question", ("a", "b", "c"))
    assert 0 < seconds <= 0.1


def test_of_a_partial_ranking_the_ranked_lead_and_the_others_keep_their_order() -> None:
    words, answer = reranked(order(3, 1), "a", "b", "c", "d", "e", head=4)
    assert words == "dbace"
    assert (answer.outcome.status, answer.outcome.reason_class) == (
        OutcomeStatus.COMPLETED,
        ReasonClass.PARTIAL_RANKINGS,
    )
    assert answer.missed


@pytest.mark.parametrize("positions", [(0, 0, 1), (0, 1, 3), (-1, 0, 1)])
def test_positions_that_cannot_be_leave_the_order_as_it_was(positions: tuple[int, ...]) -> None:
    words, answer = reranked(order(*positions), "a", "b", "c")
    assert (words, answer.outcome.reason_class) == ("abc", ReasonClass.INVALID_RESULT)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RerankerUnavailable("no model"), ReasonClass.DEPENDENCY_UNAVAILABLE),
        (RerankerFailed("timeout", "late"), ReasonClass.TIMEOUT),
        (RerankerFailed("provider_error", "500"), ReasonClass.PROVIDER_ERROR),
        (RerankerFailed("invalid_result", "odd"), ReasonClass.INVALID_RESULT),
        (ValueError("whatever"), ReasonClass.PROVIDER_ERROR),
    ],
)
def test_a_reranker_that_fails_leaves_the_order_as_it_was(error: Exception, reason: ReasonClass) -> None:
    def fail(texts: Sequence[str]) -> Ranking:
        raise error

    words, answer = reranked(fail, "a", "b")
    assert words == "ab"
    assert (answer.outcome.status, answer.outcome.reason_class, answer.missed) == (OutcomeStatus.DROPPED, reason, True)


def test_after_the_deadline_nobody_is_asked() -> None:
    words, answer = reranked(order(1, 0), "a", "b", left=0)
    assert (words, answer.outcome.reason_class) == ("ab", ReasonClass.DEADLINE_EXHAUSTED)
    assert registry.configured().asked == []


def test_to_have_none_is_reported_and_no_fault() -> None:
    words, answer = reranked(None, "a", "b")
    assert (words, answer.missed) == ("ab", False)
    assert (answer.outcome.status, answer.outcome.reason_class) == (
        OutcomeStatus.DROPPED,
        ReasonClass.DEPENDENCY_UNAVAILABLE,
    )


@pytest.mark.parametrize(("words", "head"), [((), 20), (("a", "b"), 0)])
def test_where_there_is_nothing_to_rerank_nothing_is_said(words: tuple[str, ...], head: int) -> None:
    _, answer = reranked(order(0, 1), *words, head=head)
    assert answer.outcome is None
    assert registry.configured().asked == []


def test_what_is_withheld_is_shown_to_no_model() -> None:
    words, _ = reranked(order(1, 0), "a", "b", "c", withheld="b")
    assert registry.configured().asked[0][1] == ("a", "c")
    assert words == "cab"


@pytest.mark.parametrize(
    ("head", "deadline", "expected"), [(20, 1_500, 120), (20, 200, 100), (20, 51, 25), (0, 1_500, 0)]
)
def test_time_is_kept_back_for_it(head: int, deadline: int, expected: int) -> None:
    profile = replace(THOROUGH, rerank_head=head, deadline_ms=deadline)
    assert reranking.reserved_ms(profile) == 0, "nobody would use it"
    registry.use(Scripted(order()))
    assert reranking.reserved_ms(profile) == expected


def test_a_search_is_reranked(ana: Subject, find: Callable[..., SearchAnswer]) -> None:
    said = say(ana, "Nothing.")
    for statement in ("Green tea.", "Tea.", "A lot of tea."):
        FactFactory(subject=ana, statement=statement, event=said)
    registry.use(Scripted(order(2, 0, 1)))
    answer = find("green tea", profile="thorough", units=(IndexedUnit.FACT,))
    assert [found.text for found in answer.results] == ["A lot of tea.", "Green tea.", "Tea."]
    assert (answer.reserved_rerank_ms, answer.degraded) == (120, False)
    assert 120 <= answer.pre_rerank_remaining_ms <= 1_500
    assert answer.outcomes[-1].word == "completed"
    assert answer.results[0].fusion_score < answer.results[1].fusion_score


def test_a_reranker_that_fails_degrades_the_search(ana: Subject, find: Callable[..., SearchAnswer]) -> None:
    FactFactory(subject=ana, statement="Green tea.", event=say(ana, "Nothing."))

    def late(texts: Sequence[str]) -> Ranking:
        raise RerankerFailed("timeout", "late")

    registry.use(Scripted(late))
    answer = find("green tea", profile="thorough")
    assert (answer.degraded, answer.degraded_components) == (True, ["reranker"])
    assert answer.warnings == ["degraded_retrieval: without reranker"]
