"""What every extractor takes and gives back, whatever stands behind it.

An extractor is a pure reader of text: it opens no transaction, knows no scope and writes nothing.
The same input and identity may be run again at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from facts.candidates import Candidate

#: The name under which a candidate is ``about`` the speaker's group ("we use Postgres"): not a person.
GROUP = "team"
#: Candidates of one message; a longer list is not a chat message any more.
MAX_CANDIDATES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """One message to read, with what is needed to understand it.

    ``text``          the message, Unicode NFC; the only evidence. May be of any length.
    ``occurred_at``   when it was said, aware UTC.
    ``speaker_name``  display name of the speaker; "" when unknown.
    ``timezone``      IANA name of the speaker's time zone; relative dates are read in it.
    ``window``        up to five earlier messages ``(speaker_name, text)``, oldest first: context, never evidence.
    ``participants``  names of the people known in the conversation, the speaker included or not.
    """

    text: str
    occurred_at: datetime
    speaker_name: str = ""
    timezone: str = "UTC"
    window: tuple[tuple[str, str], ...] = ()
    participants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorIdentity:
    """Who extracted: kept on every fact, so that facts of one recipe can be found again."""

    provider: str
    model: str
    prompt_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Something that looked like a fact and was refused: the reason code and the words it was about.

    ``quote`` is empty where repeating it would store what must not be stored (``secret``).
    """

    code: str
    statement: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What reading a message cost: tokens in and out, and US dollars; ``None`` where the price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionResult:
    """What became of one message: candidates that passed the checks, and refusals with their reason."""

    candidates: tuple[Candidate, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    usage: Usage = Usage()


class Extractor(Protocol):
    """Reads one message. Raises :class:`ExtractionFailed` and nothing else."""

    @property
    def identity(self) -> ExtractorIdentity:
        """Provider, model and recipe of this extractor."""
        ...

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        """Return the candidates and refusals of one message."""
        ...


class ExtractionFailed(Exception):
    """A provider gave no usable answer.

    ``retryable``    trying again may help.
    ``error_class``  what went wrong, in a word; never content.
    ``outside``      the message is, by all that is known, not at fault: the provider is out of reach, refuses the
                     key, or the budget is used up. Such a try is not held against the message.
    ``pause``        the least time to wait before the next try.
    ``progressed``   part of the work was done and kept; the rest may go on at once.
    """

    def __init__(
        self,
        *,
        retryable: bool,
        error_class: str,
        outside: bool = False,
        pause: timedelta = timedelta(0),
        progressed: bool = False,
    ) -> None:
        super().__init__(error_class)
        self.retryable = retryable
        self.error_class = error_class
        self.outside = outside
        self.pause = pause
        self.progressed = progressed
