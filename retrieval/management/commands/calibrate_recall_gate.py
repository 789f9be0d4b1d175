"""`calibrate_recall_gate`: measure on an account's own store where the recall gate belongs for its embedder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts import long_jobs
from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.progress_teller import Teller
from facts.tenancy import normalise_path
from retrieval.calibration import measuring, questions
from retrieval.calibration.report import report
from retrieval.embedders import registry
from retrieval.embedders.base import EmbeddingUnavailable, identity_key

#: Kind of long work (``facts.long_jobs``).
CALIBRATE = "calibrate_recall_gate"


class Command(BaseCommand):
    """Prints distributions, rates for each limit and a recommendation; prints nothing of what is stored."""

    help = (
        "Recommend HAKI_RECALL_MAX_DISTANCE and MEMORY_RECALL_SCORE_SHARE for the embedder in use. Without "
        "--questions, stored facts and passages are turned into something like questions by leaving out what a "
        "question would ask for; measured are the distance of the right answer, of the nearest other thing once "
        "everything that could answer is left out, and of the nearest thing to questions about nothing in any store. "
        "Made questions flatter: the limit recommended by them is the loosest that keeps out 95 % of the questions "
        "about nothing. With real questions in a file it is the tightest that refuses at most --max-refusals of the "
        "right answers. 0 (off) is recommended where no limit tells them apart. See docs/recall-gate.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what is measured, and how."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--scope", default="", help="Only what is stored in this scope. Default: all of them.")
        parser.add_argument(
            "--questions",
            type=Path,
            metavar="FILE",
            help='Questions, one JSON object a line: {"question": "…", "answer": "a piece of the right answer, or null '
            'when the store knows nothing", "subject_id": "…", "scope": "…"}; the last two are optional.',
        )
        parser.add_argument("--sample", type=int, default=200, help="Stored things made into questions. Default: 200.")
        parser.add_argument(
            "--max-refusals",
            type=float,
            default=0.05,
            metavar="SHARE",
            help="Part of the right answers that may be refused. Default: 0.05.",
        )
        parser.add_argument("--json", type=Path, metavar="OUT", help="Also write everything into this file.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, print, write."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        embedder = registry.configured()
        if embedder is None:
            raise CommandError("There is no embedder whose vectors reads use, so no distances to measure.")
        if not 0 <= options["max_refusals"] < 1 or options["sample"] < 1:
            raise CommandError("--max-refusals is a share from 0 to 1, --sample at least 1.")
        try:
            scope = normalise_path(options["scope"]) if options["scope"] else ""
            found = {
                "account": account.key,
                "scope": scope,
                "embedder": identity_key(embedder.identity),
                "questions": str(options["questions"] or "made of the store"),
                "max_refusals": options["max_refusals"],
                **self._measure(account, scope, options),
            }
        except DomainError as error:
            raise CommandError(error.message) from error
        except EmbeddingUnavailable as error:
            raise CommandError(f"The embedder failed: {error}") from error
        except long_jobs.CancelAsked:
            raise CommandError("Cancelled; nothing was recommended.") from None
        self._print(found)
        if options["json"]:
            options["json"].write_text(json.dumps(found, indent=2) + "\n")

    def _measure(self, account: Account, scope: str, options: dict[str, Any]) -> dict[str, Any]:
        labelled = None if options["questions"] is None else _read(options["questions"])
        teller = Teller(self.stdout)
        with long_jobs.working(account.id, kind=CALIBRATE, title=scope, actor=system(CALIBRATE)) as run:

            def note(done: int, total: int) -> None:
                run.advance(done, total=total)
                teller.tell(run.job)

            if labelled is None:
                measured = measuring.measure_store(account.id, scope_path=scope, limit=options["sample"], note=note)
            else:
                measured = measuring.measure_labelled(account.id, labelled, scope_path=scope, note=note)
        teller.end()
        return report(measured, max_refusals=options["max_refusals"], made=options["questions"] is None)

    def _print(self, found: dict[str, Any]) -> None:
        self.stdout.write(f"Embedder: {found['embedder']}")
        for name in ("right_answer", "nearest_stranger", "off_topic"):
            described = " ".join(f"{key} {value}" for key, value in found[name].items())
            self.stdout.write(f"{name}: {described}")
        self.stdout.write(f"right answers that were no candidates: {found['not_found']}")
        self.stdout.write("limit  refused  strangers served  off-topic served")
        for row in found["limits"]:
            cells = [_percent(row[name]) for name in ("false_refusals", "served_strangers", "served_off_topic")]
            self.stdout.write(f"{row['max_distance']:5.2f}  {cells[0]:>7}  {cells[1]:>16}  {cells[2]:>16}")
        advice = found["recommendation"]
        self.stdout.write(advice["why"])
        self.stdout.write(f"HAKI_RECALL_MAX_DISTANCE={advice['HAKI_RECALL_MAX_DISTANCE']}")
        if advice["MEMORY_RECALL_SCORE_SHARE"] is not None:
            self.stdout.write(f"MEMORY_RECALL_SCORE_SHARE={advice['MEMORY_RECALL_SCORE_SHARE']}")


def _read(path: Path) -> list[questions.Labelled]:
    try:
        with path.open(encoding="utf-8") as lines:
            return questions.read(lines)
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from error


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
