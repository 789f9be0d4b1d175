"""What the pages call what the gates do: the same words in the matrix, in its form, and beside each decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from facts.vocabulary import EvidenceLevel
from governance.models import GateAMode, GateBMode
from memory_site.admin_pages.fact_display import words

GATE_A = {
    GateAMode.AUTO_KEEP: "keep",
    GateAMode.AUTO_REJECT: "reject",
    GateAMode.HUMAN: "ask a person",
}
GATE_B = {GateBMode.AUTO_PLACE: "place", GateBMode.HUMAN: "ask a person"}
EVIDENCE = {EvidenceLevel.DIRECT: "said by the subject itself", EvidenceLevel.INDIRECT: "said by anybody"}
#: What a mode means that nobody knows any more.
NOT_KNOWN = "not understood: ask a person"


def needs(evidence_level: str | None, sources: int) -> str:
    """Return what a cell wants of a fact before anything is kept or placed without a person."""
    said = EVIDENCE.get(evidence_level, "not understood")
    return f"{said}, {sources} human source{'' if sources == 1 else 's'}" if sources else said


def origin(cell_origin: str) -> str:
    """Return where a cell comes from; of the rule of a scope all but its path."""
    if cell_origin.startswith("/"):
        return "rule of"
    if cell_origin == "account":
        return "account-wide rule"
    return f"built in: {words(cell_origin.removeprefix('preset:'))}"


def followed(cell: Mapping[str, Any], gate: str) -> str:
    """Return the cell that gate ``A`` or ``B`` went by, as a decision keeps it."""
    if "review" in cell:
        return "a person's review"
    if "origin" not in cell:
        return "not recorded"
    said = str(cell["origin"])
    where = f"{origin(said)} {said}" if said.startswith("/") else origin(said)
    modes = GATE_A if gate == "A" else GATE_B
    mode = modes.get(cell.get(f"gate_{gate.lower()}"), NOT_KNOWN)
    if mode == "keep":
        return f"{where}; keep what was {EVIDENCE.get(cell.get('minimum_evidence_level'), 'not understood')}"
    sources = cell.get("minimum_corroboration") or 0
    if mode == "place" and sources:
        return f"{where}; place what {sources} human source{' says' if sources == 1 else 's say'}"
    return f"{where}; {mode}"
