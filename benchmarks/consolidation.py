"""What consolidation makes of labelled pairs: false merges, false conflicts, missed conflicts.

    python -m benchmarks.consolidation [--data pairs|messages] [--provider rules] [--show]

Every pair gets an account of its own in a throw-away database and goes through the real planning and gates; nothing is
kept. ``pairs`` are candidates as an extractor gives them; ``messages`` go through the extractor first.
``benchmarks/data/README.md`` says how they were labelled. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from facts.candidates import Candidate
    from facts.models import Account
    from governance.placement import Placement
    from ingest.extraction import Extractor

DATA = Path(__file__).parent / "data"
#: Targets that the project set itself for these pairs.
TARGETS = {"false_merges": 0.0, "false_conflicts": 0.05, "missed_conflicts": 0.10}


class Outcome(StrEnum):
    """What became of the second of a pair. The first eight are what a label may ask for or accept."""

    MERGE = "merge"
    SUPERSEDE = "supersede"
    CONFLICT = "conflict"
    QUARANTINE = "quarantine"
    HISTORY = "history"
    COEXIST = "coexist"
    POSSIBLE = "possible"
    WAITS = "waits"
    REJECTED = "rejected"
    NOT_EXTRACTED = "not_extracted"


#: Outcomes that keep a fact from readers.
WITHHOLDING = frozenset({Outcome.CONFLICT, Outcome.QUARANTINE})
#: When the candidates of one message fare differently, the message fared as the first of these that occurs.
PRECEDENCE = (
    Outcome.CONFLICT,
    Outcome.QUARANTINE,
    Outcome.SUPERSEDE,
    Outcome.HISTORY,
    Outcome.MERGE,
    Outcome.POSSIBLE,
    Outcome.COEXIST,
    Outcome.WAITS,
    Outcome.REJECTED,
)


def read_pairs(path: Path) -> list[dict[str, Any]]:
    """Read a file of labelled pairs, one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def candidate_of(side: Mapping[str, Any]) -> Candidate:
    """Return the candidate that one side of a pair describes."""
    from facts.candidates import Candidate

    times = {key: datetime.fromisoformat(side[key]) for key in ("valid_from", "valid_to") if side.get(key)}
    plain = ("statement", "quote", "confidence", "category", "kind", "form", "predicate", "value", "qualifiers")
    flags = ("update_marker", "denies", "start_stated", "end_stated", "volatility")
    return Candidate(**{key: side[key] for key in (*plain, *flags) if key in side}, **times)


@contextmanager
def throw_away_account() -> Iterator[Account]:
    """Be in a fresh account for a while; all that was written is rolled back."""
    from django.db import transaction

    from tests.factories import AccountFactory, entered

    with transaction.atomic():
        account = AccountFactory()
        with entered(account):
            yield account
        transaction.set_rollback(True)


def submit_candidate(account: Account, side: Mapping[str, Any], candidate: Candidate, *, subject_key: str) -> Placement:
    """Send one candidate through planning and gates, about ``subject_key``, as the speaker of ``side`` said it."""
    from facts import embedding
    from facts.actors import pipeline
    from facts.models import Passage
    from facts.tenancy import ensure_subject
    from facts.vocabulary import EvidenceLevel, SubjectKind
    from governance import placement
    from ingest.extraction import GROUP
    from tests.factories import say

    kind = SubjectKind.SCOPE if subject_key == GROUP else SubjectKind.PERSON
    subject = ensure_subject(account.id, key=subject_key, kind=kind)
    speaker = ensure_subject(account.id, key=side["speaker"])
    event = say(
        subject,
        side.get("text") or candidate.quote,
        speaker=speaker,
        occurred_at=datetime.fromisoformat(side["occurred_at"]),
        origin_trust=side["trust"],
    )
    vectors = embedding.try_embed([candidate.statement])
    submission = placement.Submission(
        event=event,
        passage=Passage.objects.get(account_id=account.id, event=event),
        subject=subject,
        candidate=candidate,
        evidence_level=EvidenceLevel.DIRECT if subject == speaker else EvidenceLevel.INDIRECT,
        provider="benchmark",
        model="none",
        prompt_version="1",
        vector=vectors[0] if vectors else None,
    )
    return placement.submit(submission, actor=pipeline("benchmark"))


def observe(account: Account, placed: Placement, *, before: Sequence[Placement]) -> Outcome:
    """Tell what became of ``placed``, given what was placed ``before``."""
    from facts.models import ConflictMember, Fact, Relation
    from facts.vocabulary import ConflictKind, ConflictStatus, RelationKind, Status
    from governance.placement import Result

    if placed.result is Result.REJECTED:
        return Outcome.REJECTED
    earlier = {one.fact_id for one in before}
    if placed.result is Result.DUPLICATE:
        return Outcome.MERGE if placed.fact_id in earlier else Outcome.COEXIST
    fact = Fact.objects.get(account_id=account.id, pk=placed.fact_id)
    kinds = set(
        ConflictMember.objects.filter(
            account_id=account.id, fact=fact, left_at__isnull=True, conflict_set__status=ConflictStatus.OPEN
        ).values_list("conflict_set__kind", flat=True)
    )
    replaced = Relation.objects.filter(
        account_id=account.id, source=fact, target_id__in=earlier, kind=RelationKind.SUPERSEDES
    )
    if ConflictKind.CONTRADICTION in kinds:
        return Outcome.CONFLICT
    if ConflictKind.QUARANTINE in kinds:
        return Outcome.QUARANTINE
    if fact.status == Status.SUPERSEDED:
        return Outcome.HISTORY
    if fact.status != Status.ACTIVE:
        return Outcome.WAITS
    if replaced.exists():
        return Outcome.SUPERSEDE
    return Outcome.POSSIBLE if ConflictKind.POSSIBLE in kinds else Outcome.COEXIST


def run_pair(pair: Mapping[str, Any]) -> Outcome:
    """Submit both candidates of a pair and return what became of the second."""
    with throw_away_account() as account:
        first, second = (
            submit_candidate(account, pair[side], candidate_of(pair[side]), subject_key=pair[side]["subject"])
            for side in ("first", "second")
        )
        return observe(account, second, before=[first])


def run_messages(pair: Mapping[str, Any], extractor: Extractor) -> Outcome:
    """Extract from both messages of a pair, submit what came out, and return what became of the second message."""
    with throw_away_account() as account:
        first = _submit_message(account, pair["first"], extractor)
        second = _submit_message(account, pair["second"], extractor)
        if not first or not second:
            return Outcome.NOT_EXTRACTED
        outcomes = {observe(account, placed, before=first) for placed in second}
        return next(outcome for outcome in PRECEDENCE if outcome in outcomes)


def _submit_message(account: Account, side: Mapping[str, Any], extractor: Extractor) -> list[Placement]:
    from ingest.extraction import ExtractionInput

    item = ExtractionInput(
        text=side["text"],
        occurred_at=datetime.fromisoformat(side["occurred_at"]),
        speaker_name=side["speaker"],
        timezone=side["timezone"],
        participants=tuple(side["participants"]),
    )
    return [
        submit_candidate(account, side, candidate, subject_key=candidate.about or side["speaker"])
        for candidate in extractor.extract(item).candidates
    ]


def report(pairs: Sequence[Mapping[str, Any]], run: Callable[[Mapping[str, Any]], Outcome]) -> dict[str, Any]:
    """Run every pair and return the rates, the outcomes by relation, and the pairs that went wrong."""
    results = [(pair, run(pair)) for pair in pairs]
    by_relation: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair, outcome in results:
        by_relation[pair["relation"]][outcome] += 1
        by_relation[pair["relation"]]["right"] += outcome in accepted(pair)
    extracted = [(pair, outcome) for pair, outcome in results if outcome is not Outcome.NOT_EXTRACTED]
    return {
        "pairs": len(results),
        "not_extracted": len(results) - len(extracted),
        "right": sum(outcome in accepted(pair) for pair, outcome in extracted),
        **rates(extracted),
        "targets": TARGETS,
        "by_relation": {
            relation: {"pairs": counts.total() - counts["right"], **{key: counts[key] for key in sorted(counts)}}
            for relation, counts in sorted(by_relation.items())
        },
        "wrong": [
            {
                "id": pair["id"],
                "variation": pair.get("variation", ""),
                "expected": pair["expect"],
                "observed": outcome,
            }
            for pair, outcome in results
            if outcome not in accepted(pair)
        ],
    }


def accepted(pair: Mapping[str, Any]) -> frozenset[Outcome]:
    """Return every outcome that is right for a pair."""
    return frozenset(Outcome(name) for name in (pair["expect"], *pair.get("accept", ())))


def rates(results: Sequence[tuple[Mapping[str, Any], Outcome]]) -> dict[str, Any]:
    """Return the three rates, each with its count and over how many pairs it could have happened.

    A merge is false when something else should have become of the second, also when an update was ended into the
    first without leave; a conflict is false when nothing contradicts; it is missed when nothing is withheld.
    """
    must_not_merge = [row for row in results if Outcome.MERGE not in accepted(row[0])]
    must_not_withhold = [row for row in results if not accepted(row[0]) & WITHHOLDING]
    must_withhold = [row for row in results if accepted(row[0]) & WITHHOLDING]
    swallowing = {Outcome.MERGE, Outcome.SUPERSEDE}
    return {
        "false_merges": _rate(must_not_merge, lambda pair, seen: seen in swallowing - accepted(pair)),
        "false_conflicts": _rate(must_not_withhold, lambda _, seen: seen in WITHHOLDING),
        "missed_conflicts": _rate(must_withhold, lambda pair, seen: seen not in WITHHOLDING | accepted(pair)),
    }


def _rate(
    rows: Sequence[tuple[Mapping[str, Any], Outcome]], happened: Callable[[Mapping[str, Any], Outcome], bool]
) -> dict[str, float | int | None]:
    count = sum(happened(pair, seen) for pair, seen in rows)
    return {"count": count, "of": len(rows), "rate": round(count / len(rows), 4) if rows else None}


@contextmanager
def throw_away_database() -> Iterator[None]:
    """Create and migrate a test database, and drop it afterwards."""
    from django.db import connections
    from django.test.utils import setup_databases, teardown_databases

    created = setup_databases(verbosity=0, interactive=False, aliases={"default", "owner"}, serialized_aliases=set())
    try:
        yield
    finally:
        connections.close_all()
        teardown_databases(created, verbosity=0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one file of pairs and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("pairs", "messages"), default="pairs")
    parser.add_argument("--provider", default="rules", help="extractor for messages (default: rules)")
    parser.add_argument("--show", action="store_true", help="also list the pairs that went wrong")
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_site.settings")
    os.environ.setdefault("MEMORY_TEST_DATABASE", "test_consolidation_benchmark")
    django.setup()
    from ingest.extraction import get_extractor

    run = run_pair
    if options.data == "messages":
        extractor = get_extractor(options.provider)
        run = lambda pair: run_messages(pair, extractor)  # noqa: E731
    with throw_away_database():
        figures = report(read_pairs(DATA / f"consolidation_{options.data}.jsonl"), run)
    if not options.show:
        del figures["wrong"]
    print(json.dumps(figures, ensure_ascii=False, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
