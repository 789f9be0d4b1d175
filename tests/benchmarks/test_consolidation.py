"""The consolidation benchmark: its rates, its files, and that it sees what really became of a pair."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from benchmarks import consolidation
from benchmarks.consolidation import DATA, Outcome
from facts.candidates import Candidate
from facts.models import Account
from facts.vocabulary import EvidenceLevel, Form, Kind, OriginTrust
from ingest.extraction import ExtractionResult

RELATIONS = {
    "same",
    "rephrased",
    "updated_marker",
    "updated_no_marker",
    "contradicting",
    "other_subject",
    "other_qualifier",
    "coexisting",
    "late_arrival",
    "retold",
    "denied",
    "denied_with_marker",
    "event_again",
}
PAIRS = consolidation.read_pairs(DATA / "consolidation_pairs.jsonl")
MESSAGES = consolidation.read_pairs(DATA / "consolidation_messages.jsonl")


def _pair(expect: str, *accept: str) -> dict[str, object]:
    return {"id": "x", "relation": "same", "expect": expect, "accept": list(accept)}


def test_rates_count_what_could_have_happened():
    results = [
        (_pair("merge"), Outcome.CONFLICT),
        (_pair("merge"), Outcome.SUPERSEDE),
        (_pair("supersede"), Outcome.MERGE),
        (_pair("conflict"), Outcome.SUPERSEDE),
        (_pair("conflict"), Outcome.QUARANTINE),
        (_pair("coexist", "possible"), Outcome.POSSIBLE),
        (_pair("possible", "conflict"), Outcome.COEXIST),
    ]
    assert consolidation.rates(results) == {
        "false_merges": {"count": 2, "of": 5, "rate": 0.4},
        "false_conflicts": {"count": 1, "of": 4, "rate": 0.25},
        "missed_conflicts": {"count": 2, "of": 3, "rate": 0.6667},
    }


def test_messages_that_yield_nothing_are_in_no_rate():
    pairs = [_pair("conflict"), _pair("conflict")]
    outcomes = iter([Outcome.NOT_EXTRACTED, Outcome.CONFLICT])
    figures = consolidation.report(pairs, lambda _: next(outcomes))
    assert (figures["pairs"], figures["not_extracted"], figures["right"]) == (2, 1, 1)
    assert figures["missed_conflicts"] == {"count": 0, "of": 1, "rate": 0.0}
    assert figures["by_relation"]["same"] == {"pairs": 2, "conflict": 1, "not_extracted": 1, "right": 1}
    assert [wrong["observed"] for wrong in figures["wrong"]] == ["not_extracted"]


def test_the_pairs_are_what_their_description_promises():
    assert len(PAIRS) >= 220
    assert len({pair["id"] for pair in PAIRS}) == len(PAIRS)
    assert {relation for relation, count in Counter(pair["relation"] for pair in PAIRS).items() if count >= 15} == (
        RELATIONS
    )
    sides = [pair[side] for pair in PAIRS for side in ("first", "second")]
    assert {side["evidence_level"] for side in sides} == set(EvidenceLevel.values)
    assert {side["trust"] for side in sides} <= set(OriginTrust.values)
    assert all((side["evidence_level"] == "direct") == (side["speaker"] == side["subject"]) for side in sides)
    assert {side["kind"] for side in sides} <= set(Kind.values)
    assert {side.get("form", "state") for side in sides} == set(Form.values)


def test_the_message_pairs_are_what_their_description_promises():
    assert len(MESSAGES) >= 80
    assert len({pair["id"] for pair in MESSAGES}) == len(MESSAGES)
    assert {pair["relation"] for pair in MESSAGES} <= RELATIONS
    assert {pair["lang"] for pair in MESSAGES} == {"en", "fr"}
    assert {outcome for pair in [*PAIRS, *MESSAGES] for outcome in consolidation.accepted(pair)} <= (
        set(Outcome) - {Outcome.WAITS, Outcome.REJECTED, Outcome.NOT_EXTRACTED}
    )


def test_a_side_becomes_a_candidate_with_times_and_claim():
    late = next(pair for pair in PAIRS if pair.get("variation") == "states its own end")
    made = consolidation.candidate_of(late["second"])
    assert (made.valid_from, made.valid_to) == (datetime(2015, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
    assert (made.start_stated, made.end_stated, made.update_marker) == (True, True, "")
    assert (made.predicate, dict(made.value)) == (late["second"]["predicate"], late["second"]["value"])


@pytest.mark.django_db
@pytest.mark.parametrize("outcome", ["merge", "supersede", "conflict", "quarantine", "history", "coexist"])
def test_a_pair_is_seen_as_what_became_of_it(outcome):
    pair = next(pair for pair in PAIRS if pair["expect"] == outcome)
    assert consolidation.run_pair(pair) == outcome
    assert not Account.objects.exists()


class _Scripted:
    """Says of each text what a table says."""

    def __init__(self, candidates: dict[str, tuple[Candidate, ...]]) -> None:
        self.candidates = candidates

    def extract(self, item):
        return ExtractionResult(candidates=self.candidates[item.text])


def _lives(city: str) -> Candidate:
    return Candidate(
        statement=f"Ada lives in {city}.",
        quote=f"I live in {city}",
        confidence=0.9,
        predicate="lives_in",
        value={"city": city},
    )


def _remark(text: str) -> Candidate:
    return Candidate(statement=text, quote=text, confidence=0.9)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ((_remark("A remark."), _lives("Oslo")), Outcome.CONFLICT),
        ((_lives("Bergen"),), Outcome.MERGE),
        ((_remark("A remark."),), Outcome.COEXIST),
        ((), Outcome.NOT_EXTRACTED),
    ],
)
def test_a_message_fares_as_its_most_telling_candidate(second, expected):
    side = {"speaker": "Ada", "timezone": "UTC", "trust": "trusted", "participants": ["Ada"]}
    pair = {
        "first": {**side, "text": "one", "occurred_at": "2025-02-03T09:00:00+00:00"},
        "second": {**side, "text": "two", "occurred_at": "2025-02-04T09:00:00+00:00"},
    }
    extractor = _Scripted({"one": (_lives("Bergen"),), "two": second})
    assert consolidation.run_messages(pair, extractor) == expected
