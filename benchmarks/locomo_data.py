"""The conversations, questions and observations of a LoCoMo file. The data (CC BY-NC 4.0) is not kept here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.corpora import Known, Said

#: Category numbers of the file. Category 5 has no answer in the conversation.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_TURN = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the category it is of, and the keys of the turns that answer it."""

    category: str
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Everything of one conversation: its turns in order, the observations made of them, the questions asked."""

    name: str
    turns: list[Said]
    observations: list[Known]
    questions: list[Question]


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a file, questions without an evidence turn that exists left out."""
    return [conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def conversation(sample: Mapping[str, Any]) -> Conversation:
    """Return one sample of a file. Turns of a session are a second apart, which keeps their order."""
    turns = list(_turns(sample["conversation"]))
    known = {turn.key for turn in turns}
    return Conversation(
        name=sample["sample_id"],
        turns=turns,
        observations=list(_observations(sample, known)),
        questions=[
            Question(category=CATEGORIES[item["category"]], text=str(item["question"]), evidence=evidence)
            for item in sample["qa"]
            if item.get("category") in CATEGORIES and (evidence := _keys(item.get("evidence") or [], known))
        ],
    )


def _turns(content: Mapping[str, Any]) -> Iterator[Said]:
    for number, start in _sessions(content):
        for second, turn in enumerate(content[f"session_{number}"]):
            session, position = map(int, _TURN.fullmatch(turn["dia_id"]).groups())
            yield Said(
                key=f"D{session}:{position}",
                speaker=turn["speaker"],
                # A turn that is only a picture still was somebody's.
                text=turn.get("text", "") or turn["speaker"],
                at=start + timedelta(seconds=second),
            )


def _observations(sample: Mapping[str, Any], known: set[str]) -> Iterator[Known]:
    """Yield what the file says was learnt in each session, with the turns that it names for it."""
    for number, start in _sessions(sample["conversation"]):
        for lines in sample.get("observation", {}).get(f"session_{number}_observation", {}).values():
            for statement, cited in lines:
                yield Known(statement=statement, at=start, sources=tuple(sorted(_keys([cited], known))))


def _sessions(content: Mapping[str, Any]) -> Iterator[tuple[int, datetime]]:
    number = 1
    while f"session_{number}" in content:
        written = content[f"session_{number}_date_time"].strip()
        yield number, datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        number += 1


def _keys(cited: Iterable[Any], known: set[str]) -> frozenset[str]:
    """Return the turns that are cited and exist; some strings hold several of them, some pad their numbers."""
    return known & frozenset(f"D{int(a)}:{int(b)}" for text in cited for a, b in _TURN.findall(str(text)))
