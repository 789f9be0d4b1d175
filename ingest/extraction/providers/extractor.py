"""The extractor behind every model: ask, read, check, have repaired what can be, keep what holds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts.candidates import Candidate
from facts.unseen import for_model
from ingest.extraction import checks, segments
from ingest.extraction.base import (
    MAX_CANDIDATES,
    ExtractionFailed,
    ExtractionInput,
    ExtractionResult,
    ExtractorIdentity,
    Rejection,
    Usage,
)
from ingest.extraction.providers import candidates, circuit, parsing, prices, prompt, retrying
from ingest.extraction.providers.calls import REFUSED, UNREADABLE, Answer, Ask, Books, Call, Client, Unbooked

#: Further calls about one message, to have failed facts or an unreadable answer repaired.
MAX_REPAIRS = 2
#: Seconds for all calls about one message where nobody sets a deadline.
SECONDS = 75.0
#: Characters of a failed answer that are shown to the model again.
MAX_SHOWN_AGAIN = 30_000
#: Failed checks that a model can mend by looking again. The others are verdicts about the message: asking again
#: would only teach the model to word it differently.
REPAIRABLE = frozenset(
    {
        checks.EMPTY,
        checks.QUOTE_NOT_IN_SOURCE,
        checks.UNREADABLE,
        checks.FIRST_PERSON_STATEMENT,
        checks.DATE_UNRESOLVED,
        checks.INVERTED_INTERVAL,
    }
)
#: Notes on an answer, for the books.
CUT_SHORT = "cut_short"
SEARCHED_FOR = "searched_for"
TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True)
class _Failure:
    """A fact that failed a check: its position in the answer, from 1."""

    position: int
    code: str
    candidate: Candidate

    @property
    def topic(self) -> str:
        """What the fact is about, to recognise its repaired form by."""
        return self.candidate.predicate or self.candidate.category

    def as_rejection(self) -> Rejection:
        """Return the refusal that people get to see; a secret is not repeated in it."""
        if self.code == checks.SECRET:
            return Rejection(code=self.code)
        return Rejection(code=self.code, statement=self.candidate.statement, quote=self.candidate.quote)


@dataclass(frozen=True, slots=True)
class _Read:
    """An answer, sorted: what passed the checks and what failed. ``readable`` is false where nothing was found."""

    answer: Answer
    readable: bool = False
    passed: tuple[Candidate, ...] = ()
    failed: tuple[_Failure, ...] = ()


class ModelExtractor:
    """Extracts by asking a model. Raises :class:`ExtractionFailed` and nothing else."""

    def __init__(
        self,
        client: Client,
        *,
        circuit_name: str,
        timeout: float,
        books: Books | None = None,
        deadline: float | None = None,
    ) -> None:
        """``timeout`` bounds one try, in seconds; ``deadline`` (monotonic) everything this extractor does."""
        self.identity = ExtractorIdentity(provider=client.provider, model=client.model, prompt_version=prompt.VERSION)
        self.client = client
        self.circuit_name = circuit_name
        self._timeout = timeout
        self._books: Books = books or Unbooked()
        self._deadline = deadline
        self._answered = False

    def booked(self, books: Books, *, seconds: float) -> ModelExtractor:
        """Return the same extractor for one piece of work, with its books and its time."""
        return ModelExtractor(
            self.client,
            circuit_name=self.circuit_name,
            timeout=self._timeout,
            books=books,
            deadline=time.monotonic() + seconds,
        )

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        """Return what the message states, and what of it was refused."""
        shown = segments.own_words(item.text[: segments.MAX_CHARACTERS])
        if not any(character.isalnum() for character in shown):
            return ExtractionResult()
        deadline = self._deadline if self._deadline is not None else time.monotonic() + SECONDS
        ask = Ask(prompt.SYSTEM, (("user", prompt.render(item)),))
        answers = [read := self._read(ask, item, deadline=deadline)]
        while not read.readable and not read.answer.refused:
            if len(answers) > MAX_REPAIRS:
                raise ExtractionFailed(retryable=True, error_class=UNREADABLE)
            ask = _again(ask, read.answer, prompt.REPAIR_FORMAT)
            answers.append(read := self._read(ask, item, deadline=deadline))
        kept = list(read.passed)
        refused = [failure.as_rejection() for failure in read.failed if failure.code not in REPAIRABLE]
        waiting = [failure for failure in read.failed if failure.code in REPAIRABLE]
        while waiting and len(answers) <= MAX_REPAIRS:
            ask = _again(ask, read.answer, prompt.render_repair((each.position, each.code) for each in waiting))
            try:
                answers.append(read := self._read(ask, item, deadline=deadline))
            except ExtractionFailed:
                # What holds already must not wait for a repair.
                break
            kept += read.passed
            refused += [failure.as_rejection() for failure in _left_out(waiting, read)]
            refused += [failure.as_rejection() for failure in read.failed if failure.code not in REPAIRABLE]
            waiting = [failure for failure in read.failed if failure.code in REPAIRABLE]
        refused += [failure.as_rejection() for failure in waiting]
        if read.answer.refused:
            refused.append(Rejection(code=checks.PROVIDER_REFUSED))
        if len(item.text) > segments.MAX_CHARACTERS:
            refused.append(Rejection(code=checks.BEYOND_LIMIT))
        return ExtractionResult(
            candidates=_distinct(kept)[:MAX_CANDIDATES],
            rejections=tuple(refused),
            usage=self._usage([each.answer for each in answers]),
        )

    def _read(self, ask: Ask, item: ExtractionInput, *, deadline: float) -> _Read:
        """Ask, or take the answer that was paid for already, and sort what it holds."""
        known = self._books.before(ask)
        if known is not None:
            return _sort(known, item)[0]
        try:
            answer, latency_ms = retrying.send(
                self.client,
                ask,
                books=self._books,
                circuit=circuit.of(self.circuit_name),
                timeout=self._timeout,
                deadline=deadline,
            )
        except ExtractionFailed as failure:
            if failure.error_class == retrying.OUT_OF_TIME and self._answered:
                failure.progressed = True
            raise
        read, notes = _sort(answer, item)
        error_class = REFUSED if answer.refused else "" if read.readable else UNREADABLE
        self._books.book(Call(ask=ask, latency_ms=latency_ms, answer=answer, error_class=error_class, notes=notes))
        self._answered = True
        return read

    def _usage(self, answers: Sequence[Answer]) -> Usage:
        """Return what the answers cost together."""
        costs = [prices.cost(self.client, answer) for answer in answers]
        return Usage(
            input_tokens=sum(answer.input_tokens or 0 for answer in answers),
            output_tokens=sum(answer.output_tokens or 0 for answer in answers),
            cost_usd=None if None in costs else float(sum(cost for cost in costs if cost is not None)),
        )


def _sort(answer: Answer, item: ExtractionInput) -> tuple[_Read, tuple[str, ...]]:
    """Return the facts of an answer by whether they pass the checks, and notes on what was odd about it."""
    notes = [CUT_SHORT] if answer.truncated else []
    if answer.refused:
        return _Read(answer), tuple(notes)
    try:
        parsed = parsing.parse(answer.text)
    except parsing.Unreadable:
        return _Read(answer), tuple(notes)
    if not parsed.whole:
        notes.append(SEARCHED_FOR)
    if len(parsed.rows) > MAX_CANDIDATES:
        notes.append(TOO_MANY)
    passed, failed, odd = _checked(parsed.rows[:MAX_CANDIDATES], item)
    return _Read(answer, True, tuple(passed), tuple(failed)), tuple(dict.fromkeys([*notes, *odd]))


def _checked(
    rows: Sequence[Mapping[str, Any]], item: ExtractionInput
) -> tuple[list[Candidate], list[_Failure], list[str]]:
    """Return the candidates that listed facts describe by whether they pass the checks, and notes on odd fields."""
    passed: list[Candidate] = []
    failed: list[_Failure] = []
    notes: list[str] = []
    for position, row in enumerate(rows, start=1):
        candidate, odd = candidates.read(row, item)
        notes += odd
        code = checks.validate(candidate, item)
        if code is None or code in checks.DEFERRED:
            passed.append(candidate)
        else:
            failed.append(_Failure(position, code, candidate))
    return passed, failed, notes


def read_rows(rows: Sequence[Mapping[str, Any]], item: ExtractionInput) -> ExtractionResult:
    """Return what listed facts come to that were read of a message together with others; nothing is asked any more."""
    passed, failed, _ = _checked(rows, item)
    refused = [failure.as_rejection() for failure in failed]
    if len(item.text) > segments.MAX_CHARACTERS:
        refused.append(Rejection(code=checks.BEYOND_LIMIT))
    return ExtractionResult(candidates=_distinct(passed)[:MAX_CANDIDATES], rejections=tuple(refused))


def _again(ask: Ask, answer: Answer, request: str) -> Ask:
    """Return the ask that follows an answer which has to be repaired."""
    said: Any = for_model(answer.text[:MAX_SHOWN_AGAIN]).strip() or "(nothing)"
    return Ask(ask.system, (*ask.turns, ("assistant", said), ("user", request)), ask.shape)


def _left_out(waiting: Sequence[_Failure], read: _Read) -> list[_Failure]:
    """Return the failed facts that a repaired answer no longer lists."""
    candidates_ = [*read.passed, *(failure.candidate for failure in read.failed)]
    listed = Counter(candidate.predicate or candidate.category for candidate in candidates_)
    missing = []
    for failure in waiting:
        if listed[failure.topic]:
            listed[failure.topic] -= 1
        else:
            missing.append(failure)
    return missing


def _distinct(kept: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return each statement once."""
    return tuple({(candidate.about, candidate.statement): candidate for candidate in reversed(kept)}.values())[::-1]
