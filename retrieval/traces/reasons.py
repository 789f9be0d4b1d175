"""Why something considered was served or not: one closed list, each reason with its sentence."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """What happened to a fact or passage that was considered."""

    INCLUDED = "included"
    EXCLUDED = "excluded"
    BLOCKED = "blocked"


class Reason(StrEnum):
    """The reason code of a decision. Codes are part of the API: never renamed, never reused."""

    TOP_SCORE = "top_score"
    MULTI_HOP_EXPANSION = "multi_hop_expansion"
    STANDING_CONTEXT = "standing_context"
    CARD_LINE = "card_line"
    STABLE_PROFILE = "stable_profile"
    NOT_STABLE_PROFILE = "not_stable_profile"
    CITED = "cited"
    OFFERED = "offered"
    BEYOND_EVIDENCE = "beyond_evidence"
    OVER_BUDGET = "over_budget"
    OVER_PASSAGE_LIMIT = "over_passage_limit"
    BELOW_RELEVANCE_FLOOR = "below_relevance_floor"
    FAR_BEHIND_BEST = "far_behind_best"
    BEYOND_CANDIDATE_LIMIT = "beyond_candidate_limit"
    DUPLICATE_OF_SERVED = "duplicate_of_served"
    CONFLICT_OPEN = "conflict_open"
    VOLATILITY_EXPIRED = "volatility_expired"


#: The action that goes with each reason, and the sentence that explains it to people.
MEANING: dict[Reason, tuple[Action, str]] = {
    Reason.TOP_SCORE: (Action.INCLUDED, "Its score was among the best and it fitted the budget."),
    Reason.MULTI_HOP_EXPANSION: (
        Action.INCLUDED,
        "It mentions a name found in what was already served, and there was budget left.",
    ),
    Reason.STANDING_CONTEXT: (
        Action.INCLUDED,
        "Nothing was asked; it is among the most salient and recent facts.",
    ),
    Reason.CARD_LINE: (Action.INCLUDED, "A line of a card that was served rests on it."),
    Reason.STABLE_PROFILE: (Action.INCLUDED, "It is one of the lasting facts by which the reader is known."),
    Reason.NOT_STABLE_PROFILE: (
        Action.EXCLUDED,
        "It is about who the reader is, but passing, supposed, sensitive, without a source, told already, or too much.",
    ),
    Reason.CITED: (Action.INCLUDED, "The answer cites it."),
    Reason.OFFERED: (Action.INCLUDED, "It was offered as evidence; the answer does not cite it."),
    Reason.BEYOND_EVIDENCE: (Action.EXCLUDED, "It was found, and there was no room for it among the evidence."),
    Reason.OVER_BUDGET: (Action.EXCLUDED, "It did not fit into what was left of the budget."),
    Reason.OVER_PASSAGE_LIMIT: (
        Action.EXCLUDED,
        "The number of passages, or the share of the budget they may take, was used up.",
    ),
    Reason.BELOW_RELEVANCE_FLOOR: (
        Action.EXCLUDED,
        "Its distance from the question is above the limit of the recall gate.",
    ),
    Reason.FAR_BEHIND_BEST: (
        Action.EXCLUDED,
        "The recall gate is on, and it is much less about the question than the best that was found.",
    ),
    Reason.BEYOND_CANDIDATE_LIMIT: (
        Action.EXCLUDED,
        "It matched, but ranked after the greatest number of candidates that are scored.",
    ),
    Reason.DUPLICATE_OF_SERVED: (Action.EXCLUDED, "The same text is already in the packet."),
    Reason.CONFLICT_OPEN: (
        Action.BLOCKED,
        "It is part of an open conflict; no side of it is served until a person resolves it.",
    ),
    Reason.VOLATILITY_EXPIRED: (
        Action.BLOCKED,
        "It is of a kind that changes quickly and was not confirmed for too long.",
    ),
}


def reference_table() -> str:
    """Return the reason codes as a Markdown table for the documentation."""
    lines = ["| Reason | Action | Meaning |", "|---|---|---|"]
    lines += [f"| `{reason}` | {action} | {sentence} |" for reason, (action, sentence) in MEANING.items()]
    return "\n".join(lines) + "\n"
