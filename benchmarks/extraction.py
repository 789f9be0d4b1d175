"""Precision and recall of an extractor on labelled messages.

    python -m benchmarks.extraction --provider rules --file unseen [--show]

``--file`` is ``unseen`` or a path. ``benchmarks/data/README.md`` says how the messages were labelled; what
counts as found is :func:`matches`. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import django

from facts.candidates import Candidate
from ingest.extraction import ExtractionFailed, ExtractionInput, Extractor, get_extractor

DATA = Path(__file__).parent / "data"
#: Share of the labelled words that a candidate's quote must hold to be about the same thing: extractors cut their
#: quotes differently, and half of a short label ("do not drink coffee") is more than a chance meeting.
SAME_WORDS = 0.5
_WORD = re.compile(r"[\w@]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One thing that a message holds, as labelled.

    ``categories`` and ``about`` hold every acceptable answer, the preferred first; ``""`` in ``about`` is the speaker.
    ``quotes`` hold alternative wordings of which one must be in the quote.
    """

    categories: tuple[str, ...]
    kinds: tuple[str, ...]
    about: tuple[str, ...]
    quotes: tuple[str, ...]
    value: str
    marker: bool
    denies: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A labelled message; ``expected`` is empty where nothing should be remembered."""

    id: str
    language: str
    item: ExtractionInput
    expected: tuple[Expected, ...]


@dataclass(slots=True)
class Score:
    """Counts of one message or of many. ``repeats``: candidates over something that was found already."""

    found: int = 0
    missed: int = 0
    wrong: int = 0
    repeats: int = 0

    def add(self, other: Score) -> None:
        """Add the counts of ``other``."""
        self.found += other.found
        self.missed += other.missed
        self.wrong += other.wrong
        self.repeats += other.repeats

    def as_json(self) -> dict[str, float | int | None]:
        """Return counts and ratios (three decimals; ``None`` where there is nothing to divide by)."""
        precision = _ratio(self.found, self.found + self.wrong)
        recall = _ratio(self.found, self.found + self.missed)
        f1 = _ratio(2 * self.found, 2 * self.found + self.wrong + self.missed)
        return {
            "expected": self.found + self.missed,
            "found": self.found,
            "missed": self.missed,
            "wrong": self.wrong,
            "repeats": self.repeats,
            "precision": precision,
            "precision_with_repeats_wrong": _ratio(self.found, self.found + self.wrong + self.repeats),
            "recall": recall,
            "f1": f1,
        }


@dataclass(slots=True)
class Outcome:
    """What one message gave: pairs of label and candidate, labels without, candidates without."""

    pairs: list[tuple[Expected, Candidate]] = field(default_factory=list)
    missed: list[Expected] = field(default_factory=list)
    wrong: list[Candidate] = field(default_factory=list)
    repeats: list[Candidate] = field(default_factory=list)


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def read_messages(path: Path) -> list[Message]:
    """Read a file of labelled messages, one JSON object a line. Raises ``KeyError`` where a field is missing."""
    return [_message(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _message(row: Mapping[str, Any]) -> Message:
    return Message(
        id=row["id"],
        language=row["lang"],
        item=ExtractionInput(
            text=row["text"],
            occurred_at=datetime.fromisoformat(row["occurred_at"]),
            speaker_name=row["speaker"],
            timezone=row["timezone"],
            window=tuple((speaker, text) for speaker, text in row["window"]),
            participants=tuple(row["participants"]),
        ),
        expected=tuple(_expected(label) for label in row["expected"]),
    )


def _expected(label: Mapping[str, Any]) -> Expected:
    return Expected(
        categories=(label["category"], *label.get("also", ())),
        kinds=(label["kind"], *label.get("kind_also", ())),
        about=(label.get("about", ""), *label.get("about_also", ())),
        quotes=(label["quote_contains"], *label.get("quote_also", ())),
        value=label.get("value_contains", ""),
        marker=label.get("marker", False),
        denies=label.get("denies", False),
    )


def matches(expected: Expected, candidate: Candidate, *, speaker: str) -> bool:
    """Tell whether a candidate is what the label asks for: category, whom it is about, and words in common."""
    about = "" if candidate.about.casefold() == speaker.casefold() else candidate.about.casefold()
    return (
        candidate.category in expected.categories
        and about in {name.casefold() for name in expected.about}
        and any(_shares_words(quote, candidate.quote) for quote in expected.quotes)
    )


def _shares_words(label: str, quote: str) -> bool:
    wanted = set(_WORD.findall(label.casefold()))
    return len(wanted & set(_WORD.findall(quote.casefold()))) >= SAME_WORDS * len(wanted)


def compare(message: Message, candidates: Sequence[Candidate]) -> Outcome:
    """Pair labels with candidates, each label once, preferred categories first."""
    outcome = Outcome()
    left = list(message.expected)
    speaker = message.item.speaker_name
    for candidate in sorted(candidates, key=lambda one: -_best_place(message.expected, one)):
        fitting = [label for label in left if matches(label, candidate, speaker=speaker)]
        if fitting:
            label = min(fitting, key=lambda one: one.categories.index(candidate.category))
            left.remove(label)
            outcome.pairs.append((label, candidate))
        elif any(matches(label, candidate, speaker=speaker) for label in message.expected):
            outcome.repeats.append(candidate)
        else:
            outcome.wrong.append(candidate)
    outcome.missed = left
    return outcome


def _best_place(labels: Iterable[Expected], candidate: Candidate) -> int:
    return int(any(label.categories[0] == candidate.category for label in labels))


def evaluate(extractor: Extractor, messages: Sequence[Message], *, show: bool = False) -> dict[str, Any]:
    """Run an extractor over labelled messages and return the figures, with every error when ``show`` is set."""
    total, by_category, by_language = Score(), defaultdict(Score), defaultdict(Score)
    by_both: defaultdict[str, Score] = defaultdict(Score)
    agreement: Counter[str] = Counter()
    rejections: Counter[str] = Counter()
    silent = {"messages": 0, "with_candidates": 0}
    failed: Counter[str] = Counter()
    errors: dict[str, list[dict[str, str]]] = {"false_positives": [], "false_negatives": []}
    for message in messages:
        try:
            result = extractor.extract(message.item)
        except ExtractionFailed as failure:
            failed[failure.error_class] += 1
            candidates: tuple[Candidate, ...] = ()
        else:
            candidates = result.candidates
            rejections.update(rejection.code for rejection in result.rejections)
        outcome = compare(message, candidates)
        if not message.expected:
            silent["messages"] += 1
            silent["with_candidates"] += bool(candidates)
        for category, score in _scores(outcome):
            for place in (
                total,
                by_category[category],
                by_language[message.language],
                by_both[f"{message.language}/{category}"],
            ):
                place.add(score)
        agreement.update(_agreement(outcome))
        errors["false_positives"] += [_shown(message, one.category, one.quote) for one in outcome.wrong]
        errors["false_negatives"] += [_shown(message, one.categories[0], one.quotes[0]) for one in outcome.missed]
    identity = extractor.identity
    report: dict[str, Any] = {
        "extractor": {"provider": identity.provider, "model": identity.model, "version": identity.prompt_version},
        "messages": len(messages),
        "overall": total.as_json(),
        "by_category": {name: by_category[name].as_json() for name in sorted(by_category)},
        "by_language": {name: by_language[name].as_json() for name in sorted(by_language)},
        "by_language_and_category": {name: by_both[name].as_json() for name in sorted(by_both)},
        "nothing_to_remember": silent,
        "agreement_on_found": {
            name: _ratio(agreement[name], total.found) for name in ("kind", "value", "marker", "denies")
        },
        "rejections": dict(sorted(rejections.items())),
        "failed_calls": dict(sorted(failed.items())),
    }
    return {**report, **errors} if show else report


def _scores(outcome: Outcome) -> Iterable[tuple[str, Score]]:
    """Yield counts by category: labels count under their preferred one, candidates under their own."""
    yield from ((label.categories[0], Score(found=1)) for label, _ in outcome.pairs)
    yield from ((label.categories[0], Score(missed=1)) for label in outcome.missed)
    yield from ((candidate.category, Score(wrong=1)) for candidate in outcome.wrong)
    yield from ((candidate.category, Score(repeats=1)) for candidate in outcome.repeats)


def _agreement(outcome: Outcome) -> Counter[str]:
    """Count in how many pairs the candidate's other fields are those of the label."""
    counts: Counter[str] = Counter()
    for label, candidate in outcome.pairs:
        said = f"{candidate.statement} {json.dumps(candidate.value, ensure_ascii=False)}".casefold()
        counts["kind"] += candidate.kind in label.kinds
        counts["value"] += label.value.casefold() in said
        counts["marker"] += bool(candidate.update_marker) == label.marker
        counts["denies"] += candidate.denies == label.denies
    return counts


def _shown(message: Message, category: str, quote: str) -> dict[str, str]:
    return {"id": message.id, "category": category, "quote": quote, "text": message.item.text}


def main(arguments: Sequence[str] | None = None) -> int:
    """Score one provider on one file and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", default="rules", help="name of an extractor (default: rules)")
    parser.add_argument("--file", default="unseen", help="unseen, or a path (default: unseen)")
    parser.add_argument("--show", action="store_true", help="also list what was missed and what was wrong")
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_site.settings")
    django.setup()
    path = DATA / "extraction_unseen.jsonl" if options.file == "unseen" else Path(options.file)
    if not path.exists():
        print(f"There is no file {path}.", file=sys.stderr)
        return 1
    report = evaluate(get_extractor(options.provider), read_messages(path), show=options.show)
    print(json.dumps(report, ensure_ascii=False, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
