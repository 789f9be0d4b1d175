"""From what was offered and what came back to the answer: a pure function, one case after another.

What is cited is what was offered, whatever a model says; without a citation there is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.ask.answering import AnswerFailed, Worded
from retrieval.ask.evidence import Evidence

#: Below this a model's answer is a lead to check, not a conclusion.
LEAST_CONFIDENCE = 50
#: Statements that stand for an answer where no model is configured, and how sure that is.
STATEMENTS = 4
STATEMENTS_CONFIDENCE = 40

NOTHING_GROUNDED = "Nothing that is remembered here answers this."
CALL_FAILED = "The answer could not be worded: the model call failed. The statements found for it are listed."
CHANGED = "What the answer would have rested on changed while it was worded. Ask again."
#: ``degraded`` where evidence was forgotten, withdrawn or disputed while a model worked on it.
EVIDENCE_CHANGED = "evidence_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer, what it rests on, and how far it goes.

    ``confidence`` is 0 to 100. ``degraded`` names a failure of the answerer, ``None`` where there was none.
    ``prompt_tokens`` is 0 without a model and ``None`` where the provider did not say, or failed.
    """

    answer: str
    cited: tuple[Evidence, ...]
    abstained: bool
    confidence: int
    degraded: str | None = None
    prompt_tokens: int | None = 0

    @property
    def statements(self) -> list[str]:
        """The words of what is cited."""
        return [item.text for item in self.cited]


def nothing_grounded(*, prompt_tokens: int | None = 0) -> Verdict:
    """Return the abstention that reports the state of the memory, not of the subject."""
    return Verdict(answer=NOTHING_GROUNDED, cited=(), abstained=True, confidence=0, prompt_tokens=prompt_tokens)


def without_model(offered: Sequence[Evidence]) -> Verdict:
    """Return the first statements as they are: a chosen configuration, not a failure."""
    if not offered:
        return nothing_grounded()
    first = tuple(offered[:STATEMENTS])
    text = " ".join(item.text for item in first)
    return Verdict(answer=text, cited=first, abstained=False, confidence=STATEMENTS_CONFIDENCE)


def of_model(worded: Worded, offered: Sequence[Evidence]) -> Verdict:
    """Return a model's answer with the citations that were offered to it, each once, in its own order."""
    numbers = [number for number in dict.fromkeys(worded.citations) if 1 <= number <= len(offered)]
    if not numbers:
        return nothing_grounded(prompt_tokens=worded.input_tokens)
    return Verdict(
        answer=worded.text,
        cited=tuple(offered[number - 1] for number in numbers),
        abstained=worded.confidence < LEAST_CONFIDENCE,
        confidence=worded.confidence,
        prompt_tokens=worded.input_tokens,
    )


def of_failure(failure: AnswerFailed, offered: Sequence[Evidence]) -> Verdict:
    """Return that the call failed, with everything that was found."""
    return Verdict(
        answer=CALL_FAILED,
        cited=tuple(offered),
        abstained=True,
        confidence=0,
        degraded=failure.error_class,
        prompt_tokens=None,
    )


def evidence_changed(verdict: Verdict) -> Verdict:
    """Return that nothing may be said any more of what was worded: its words may hold what must not be told."""
    return Verdict(
        answer=CHANGED,
        cited=(),
        abstained=True,
        confidence=0,
        degraded=EVIDENCE_CHANGED,
        prompt_tokens=verdict.prompt_tokens,
    )
