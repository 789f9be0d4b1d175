"""Which names are taken for one: how often that is right, and how many of those that are one are found.

    python -m benchmarks.merging [--json OUT]

Each row of ``data/merging_pairs.jsonl`` holds two names, whether they mean the same, and the subjects that go by them,
if any. *Merged*: the rules of the index of names take them for one without asking. *Proposed*: people are asked,
because the vectors of the names are near; in a store only the nearest other name of each is proposed, so what is
counted here is what the limit lets through. Subjects are merged by people alone: by themselves, never. Prints one JSON
object with precision and recall of both, by kind of pair.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "merging_pairs.jsonl"


def load(path: Path = DATA) -> list[dict[str, Any]]:
    """Return the labelled pairs."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def is_merged(row: Mapping[str, Any]) -> bool:
    """Tell whether the rules take the two names of a pair for one, given who goes by them."""
    from retrieval.entities import resolving
    from retrieval.entities.known import KnownNames
    from retrieval.entities.names import fold

    known = KnownNames()
    for names in row.get("subjects", ()):
        subject_id = uuid.uuid4()
        for name in names:
            known.add(subject_id, name)
    first, second = fold(row["first"]), fold(row["second"])
    if not first or not second:
        return False
    if first == second:
        # The name of two subjects is an entry of its own and stands for neither.
        return len(known.subjects_by_name.get(first, ())) < 2
    return second in resolving.groups([first], known=known, same={})[0]


def similarities(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the cosine similarity of the folded names of each pair, by the embedder that the settings name."""
    from retrieval.embedders import making
    from retrieval.entities.names import fold

    embedder = making.asked_for()
    names = sorted({fold(row[side]) for row in rows for side in ("first", "second")} - {""})
    vectors = dict(zip(names, embedder.embed_documents(names), strict=True))
    return [
        float(vectors[fold(row["first"])] @ vectors[fold(row["second"])])
        if fold(row["first"]) and fold(row["second"])
        else 0.0
        for row in rows
    ]


def score(rows: Sequence[Mapping[str, Any]], near: Sequence[float], *, least: float) -> dict[str, Any]:
    """Return the figures: pairs merged and proposed, right and wrong ones, in all and by kind."""
    from retrieval.entities.names import fold

    merged = [is_merged(row) for row in rows]
    # A name is never proposed to be itself.
    proposed = [
        not done and similarity >= least and fold(row["first"]) != fold(row["second"])
        for row, done, similarity in zip(rows, merged, near, strict=True)
    ]
    kinds: dict[str, dict[str, int]] = {}
    for row, done, asked in zip(rows, merged, proposed, strict=True):
        counts = kinds.setdefault(row["kind"], {"pairs": 0, "same": 0, "merged": 0, "proposed": 0})
        counts["pairs"] += 1
        counts["same"] += row["same"]
        counts["merged"] += done
        counts["proposed"] += asked
    left = [(row["same"], asked) for row, done, asked in zip(rows, merged, proposed, strict=True) if not done]
    return {
        "pairs": len(rows),
        "merged": _figures([(row["same"], done) for row, done in zip(rows, merged, strict=True)]),
        "proposed": _figures(left),
        "by_kind": kinds,
        "wrongly_merged": [row["id"] for row, done in zip(rows, merged, strict=True) if done and not row["same"]],
    }


def _figures(judged: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    said = [same for same, yes in judged if yes]
    right, wanted = sum(said), sum(same for same, _ in judged)
    return {
        "said": len(said),
        "right": right,
        "precision": round(right / len(said), 3) if said else None,
        "recall": round(right / wanted, 3) if wanted else None,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the pairs, print; return the exit status: 1 when anything was merged wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_site.settings")
    import django

    django.setup()
    from retrieval.entities.proposing import LEAST_SIMILARITY

    rows = load()
    result = score(rows, similarities(rows), least=LEAST_SIMILARITY)
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    return 1 if result["wrongly_merged"] else 0


if __name__ == "__main__":
    sys.exit(main())
