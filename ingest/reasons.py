"""Why something was, or was not, remembered: every code an outcome may carry, with the sentence that explains it.

A code is part of the API contract. The table in the documentation is generated from here.
"""

from __future__ import annotations

from ingest.extraction import checks

NOT_HUMAN_SPEECH = "not_human_speech"
KEPT_AS_REFERENCE = "kept_as_reference"
NOTHING_TO_REMEMBER = "nothing_to_remember"
SUBJECT_UNRESOLVED = "subject_unresolved"
SUBJECT_OPTED_OUT = "subject_opted_out"
WITHDRAWN = "event_withdrawn"
EXTRACTION_FAILED = "extraction_failed"
NOT_QUEUED = "not_queued"
ERASED = "event_erased"
PROVIDER_UNAVAILABLE = "provider_unavailable"
BUDGET_EXHAUSTED = "budget_exhausted"
WAITS_FOR_BATCH = "waits_for_batch"

#: What the event as a whole came to.
EVENT_REASONS: dict[str, str] = {
    NOT_HUMAN_SPEECH: "No human said it: assistant text, tool output and records are kept, never evidence.",
    KEPT_AS_REFERENCE: "It is a page or a search: what it says was kept as a reference when it was fetched.",
    NOTHING_TO_REMEMBER: "Nothing in it states a fact.",
    WITHDRAWN: "It was withdrawn before it was processed.",
    ERASED: "It was erased on request before it was processed.",
    NOT_QUEUED: "It was written by the system or a person and is not read for facts.",
    EXTRACTION_FAILED: "Reading it failed; it is kept and is, or can be, tried again.",
    PROVIDER_UNAVAILABLE: "The model provider cannot read it now; it waits, and is tried again by itself.",
    WAITS_FOR_BATCH: "A model reads it together with others: when enough wait, or nobody has said more for a while.",
    BUDGET_EXHAUSTED: "The account's budget for models is used up; it waits for the next day.",
}

#: What placement says of a candidate: ``facts.consolidation``, the gates and ``governance.placement``.
PLACEMENT_REASONS: dict[str, str] = {
    "new": "Nothing was known about this.",
    "update_marker": "It announces a change, and replaced what was believed before.",
    "starts_later": "It starts in the future; what holds now stays until then.",
    "conflict_open": "It is about something that is in an open conflict, and joined it.",
    "different_value": "It says something else than what is believed; a person has to decide.",
    "one_side_unqualified": "It holds under a condition, what is believed without one; a person has to decide.",
    "less_trusted": "It contradicts what a more trusted source said, and waits apart.",
    "more_trusted": "It contradicts what a less trusted source said; that one waits apart.",
    "arrived_late": "It is older than what is believed now, and was placed into history.",
    "stated_end": "It states its own end, and was placed into history.",
    "already_history": "It repeats what is history already.",
    "already_evidence": "This event supports the fact already.",
    "repeated": "It repeats what is believed already.",
    "directive_held": "It gives orders to whoever reads it; a person decides whether it may be quoted.",
    "waits_for_review": "A person has to look at it before it is used.",
    "suppressed_rejected": "A person rejected it, for evidence up to that decision.",
    "suppressed_forgotten": "It was forgotten on request.",
    "suppressed_erased": "It was erased on request.",
    "untrusted_instruction": "Instructions of untrusted sources are refused.",
    "rule_rejects": "A gate rule refuses facts of this level and sensitivity.",
    SUBJECT_OPTED_OUT: "The person it is about does not want to be remembered from channels.",
    SUBJECT_UNRESOLVED: "Nobody, or more than one, goes by the name it is about; a person is asked.",
}

REASONS: dict[str, str] = {**checks.REASONS, **EVENT_REASONS, **PLACEMENT_REASONS}


def explain(code: str) -> str:
    """Return the sentence of a code; "" for no code."""
    return REASONS.get(code, code)


def as_markdown() -> str:
    """Return the tables of all codes, for the documentation."""
    parts = []
    for title, codes in (
        ("What became of an event", EVENT_REASONS),
        ("What became of a possible fact", PLACEMENT_REASONS),
        ("Why a possible fact was refused before that", checks.REASONS),
    ):
        rows = [f"| `{code}` | {sentence} |" for code, sentence in codes.items()]
        parts += [f"## {title}", "", "| Code | Meaning |", "|---|---|", *rows, ""]
    return "\n".join(parts)
