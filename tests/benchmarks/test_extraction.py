"""The scoring of extractors: what counts as found, and that the labelled files can be read."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from benchmarks import extraction
from benchmarks.extraction import Expected, Message
from facts.candidates import Candidate
from facts.vocabulary import Category, Kind
from ingest.extraction import ExtractionFailed, ExtractionInput, ExtractionResult, ExtractorIdentity, Rejection


def _label(**fields) -> Expected:
    given = {
        "categories": ("commitment",),
        "kinds": ("event",),
        "about": ("",),
        "quotes": ("send the deck tomorrow",),
        "value": "deck",
        "marker": False,
        "denies": False,
    }
    return Expected(**{**given, **fields})


def _message(*labels: Expected, text: str = "I'll send the deck tomorrow.", language: str = "en") -> Message:
    item = ExtractionInput(text=text, occurred_at=datetime(2026, 1, 5, tzinfo=UTC), speaker_name="Ada")
    return Message(id="m", language=language, item=item, expected=labels)


def _candidate(category: str = "commitment", quote: str = "I'll send the deck", **fields) -> Candidate:
    return Candidate(statement="Ada will send the deck.", quote=quote, confidence=0.9, category=category, **fields)


class _Fixed:
    identity = ExtractorIdentity(provider="fixed", model="none", prompt_version="1")

    def __init__(self, *answers: ExtractionResult | ExtractionFailed) -> None:
        self.answers = list(answers)

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        answer = self.answers.pop(0)
        if isinstance(answer, ExtractionFailed):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("label", "candidate", "expected"),
    [
        (_label(), _candidate(), True),
        (_label(), _candidate("blocker"), False),
        (_label(categories=("handoff", "commitment")), _candidate(), True),
        (_label(), _candidate(about="ADA"), True),
        (_label(), _candidate(about="Ben"), False),
        (_label(about=("", "Ben")), _candidate(about="ben"), True),
        (_label(), _candidate(quote="see you tomorrow"), False),
        (_label(quotes=("nothing of it", "the deck")), _candidate(), True),
    ],
)
def test_a_candidate_matches_by_category_person_and_words(label, candidate, expected):
    assert extraction.matches(label, candidate, speaker="Ada") is expected


def test_each_label_is_found_once_and_what_is_over_is_a_repeat_or_wrong():
    label = _label(categories=("commitment", "deadline_mention"))
    outcome = extraction.compare(
        _message(label), [_candidate("deadline_mention"), _candidate(), _candidate("mood_signal")]
    )
    assert [(pair[1].category) for pair in outcome.pairs] == ["commitment"]
    assert [one.category for one in outcome.repeats] == ["deadline_mention"]
    assert [one.category for one in outcome.wrong] == ["mood_signal"]
    assert outcome.missed == []


def test_the_report_counts_by_category_language_and_agreement():
    extractor = _Fixed(
        ExtractionResult(candidates=(_candidate(kind=Kind.EVENT, update_marker="now"),)),
        ExtractionResult(candidates=(_candidate("blocker"),), rejections=(Rejection(code="question"),)),
        ExtractionFailed(retryable=False, error_class="timeout"),
    )
    messages = [_message(_label()), _message(language="fr"), _message(_label(categories=("handoff",)))]
    report = extraction.evaluate(extractor, messages, show=True)
    overall = report["overall"]
    assert (overall["found"], overall["missed"], overall["wrong"]) == (1, 1, 1)
    assert (overall["precision"], overall["recall"], overall["f1"]) == (0.5, 0.5, 0.5)
    assert report["by_category"]["handoff"]["recall"] == 0
    assert report["by_category"]["blocker"]["precision"] == 0
    assert report["by_language"]["fr"]["wrong"] == 1
    assert report["nothing_to_remember"] == {"messages": 1, "with_candidates": 1}
    assert report["agreement_on_found"] == {"kind": 1.0, "value": 1.0, "marker": 0.0, "denies": 1.0}
    assert report["rejections"] == {"question": 1}
    assert report["failed_calls"] == {"timeout": 1}
    assert [one["category"] for one in report["false_positives"]] == ["blocker"]
    assert [one["category"] for one in report["false_negatives"]] == ["handoff"]


def test_the_unseen_half_is_what_its_description_promises():
    messages = extraction.read_messages(extraction.DATA / "extraction_unseen.jsonl")
    assert len({message.id for message in messages}) == len(messages) >= 180
    assert len({message.item.text for message in messages}) == len(messages)
    assert sum(not message.expected for message in messages) >= 0.35 * len(messages)
    positives = Counter((message.language, label.categories[0]) for message in messages for label in message.expected)
    assert {pair for pair, count in positives.items() if count >= 8} == {
        (language, category) for language in ("en", "fr") for category in Category.values
    }
    labels = [(message, label) for message in messages for label in message.expected]
    assert all(set(label.categories) <= set(Category.values) for _, label in labels)
    assert all(set(label.kinds) <= set(Kind.values) for _, label in labels)
    assert [
        (message.id, quote)
        for message, label in labels
        for quote in label.quotes
        if quote.casefold() not in message.item.text.casefold()
    ] == []


def test_an_unknown_file_is_an_error(tmp_path, capsys):
    assert extraction.main(["--file", str(tmp_path / "nothing.jsonl")]) == 1
    assert "nothing.jsonl" in capsys.readouterr().err
