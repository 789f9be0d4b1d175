"""The deterministic checks every candidate passes, whichever extractor made it.

A check has one stable reason code. The order is part of the contract: the first failing check names
the reason. The bounds come from the design: confidence at least 0.5; text is readable with one
alphanumeric character and, from 24 visible characters on, a share of alphanumerics of at least 0.6.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, timedelta

from facts.candidates import Candidate
from facts.unseen import UNSEEN
from facts.vocabulary import Kind, SubjectKind
from ingest.extraction import dates, languages, segments
from ingest.extraction.base import ExtractionInput
from ingest.extraction.secrets import holds_secret
from ingest.extraction.subjects import is_known, subject_kind

EMPTY = "empty"
LOW_CONFIDENCE = "low_confidence"
QUOTE_NOT_IN_SOURCE = "quote_not_in_source"
UNREADABLE = "unreadable"
SECRET = "secret"  # noqa: S105 - a reason code
QUESTION = "question"
SPEECH_ACT = "speech_act"
IMPERATIVE_DIRECTIVE = "imperative_directive"
MACHINE_CLAIM = "machine_claim"
FIRST_PERSON_STATEMENT = "first_person_statement"
DATE_UNRESOLVED = "date_unresolved"
INVERTED_INTERVAL = "inverted_interval"
MARKER_NOT_IN_QUOTE = "marker_not_in_quote"
SUBJECT_UNKNOWN = "subject_unknown"
#: Reported about text that was not read.
BEYOND_LIMIT = "beyond_limit"
#: Reported by a model provider that would not read the message.
PROVIDER_REFUSED = "provider_refused"
#: Reported by the local extractor about a pronoun whose referent it could not find.
UNRESOLVED_REFERENCE = "unresolved_reference"

REASONS: dict[str, str] = {
    EMPTY: "The candidate has no statement or no quote.",
    LOW_CONFIDENCE: "The extractor's confidence is below 0.5.",
    QUOTE_NOT_IN_SOURCE: "The quoted words do not occur in the message.",
    UNREADABLE: "Statement or quote is not readable text.",
    SECRET: "The text holds a password, key or card number, which is never stored.",
    QUESTION: "The evidence is a question.",
    SPEECH_ACT: "The statement only reports that somebody asked, greeted, thanked or said something.",
    IMPERATIVE_DIRECTIVE: "The text is an order aimed at the agent.",
    MACHINE_CLAIM: "The statement is about an assistant, agent or bot.",
    FIRST_PERSON_STATEMENT: "The statement is in the first person.",
    DATE_UNRESOLVED: "A date of the statement neither occurs in the quote nor follows from it.",
    INVERTED_INTERVAL: "The validity ends before it starts.",
    MARKER_NOT_IN_QUOTE: "The update marker does not occur in the quote.",
    SUBJECT_UNKNOWN: "The person the statement is about is not known in the conversation.",
    BEYOND_LIMIT: "The message is longer than what is read; the rest was left unread.",
    PROVIDER_REFUSED: "The model provider refused to read the message.",
    UNRESOLVED_REFERENCE: "What a pronoun stands for could not be found in the conversation.",
}
#: Refusals that the pipeline may still settle: the person may be resolvable in the account.
DEFERRED = frozenset({SUBJECT_UNKNOWN})

MINIMUM_CONFIDENCE = 0.5
_READABLE_FROM = 24
_READABLE_SHARE = 0.6

_ISO_DATE = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b")
_SPEECH = re.compile(
    r"\b(?:asked|greeted|thanked|congratulated|apologi[sz]ed|wondered|inquired|said hello|said hi|says hello|says hi"
    r"|a demandé|a remercié|a salué|a félicité|s'est excusée?|remercie|salue|demande si|se demande)\b"
    r"|\b(?:said|says|told|wrote|mentioned|replied|a dit|a écrit|a répondu)\b.{0,40}?(?:[\"«“]|\bthat\b"
    r"|\bque\b|\bqu')",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"\b(?:the|an?|this|your|my|our) (?:ai|assistant|agent|bot|chatbot|language model|llm)\b(?! (?:team"
    r"|project|manager|software))"
    r"|\bas an ai\b|\b(?:chatgpt|claude|gemini|copilot) (?:is|was|has|can|will|should)\b"
    r"|\b(?:l'assistant|l'agent|l'ia|le bot|le chatbot|un assistant ia|le modèle de langage)(?![\w-])",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|all|your"
    r"|any|system|safety)\b"
    r".{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|directives?|memor(?:y|ies))\b"
    r"|\b(?:ignore|oublie|ignorez|oubliez|contourne)[zr]?\b.{0,30}\b(?:instructions?|consignes?|règles?"
    r"|directives?)\b"
    r"|(?<!\bwhere )(?<!\bwho )(?<!\bwhat )(?<!\bhow )\byou are now\b(?=\s+\S)(?! (?:the|a) (?:owner|lead))"
    r"|(?<!\bI )(?<!\bwe )(?<!'ll )\bact as (?:an?|the|if)\b"
    r"|(?<!\bI )(?<!\bwe )\bpretend (?:to be|you are|that you)\b|\bsystem prompt\b"
    r"|\bdeveloper mode\b|\bjailbreak|\btu es (?:désormais|maintenant) (?:un|une|le|la)\b"
    r"|\bfais comme si tu\b|\bagis comme\b"
    r"|\b(?:reveal|print|output|leak|exfiltrate|révèle|affiche)\b.{0,30}\b(?:prompt|instructions?"
    r"|secrets?|keys?|password|clés?)\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|warn|mention to|reveal to) (?:the )?(?:user|customer|human|anyone)\b"
    r"|\bne (?:dis|révèle|mentionne)[sz]? (?:jamais|pas|rien)\b.{0,20}\b(?:utilisateur|client)"
    r"|\b(?:always|from now on,?(?: you)?(?: must| should)?(?: always)?) (?:recommend|approve|trust"
    r"|obey|execute|run|send(?! (?:me|us|my|our)\b)|forward|transfer)\b"
    r"|\b(?:recommande|approuve|exécute|obéis|transfère)[sz]? toujours\b"
    r"|\b(?:always|only) (?:answer|respond|reply|say)\b"
    r"(?: (?:that|yes|no)\b| [\"'«]| with (?:yes\b|no\b|[\"'«]|the (?:words?|phrase|text)\b)| as (?:if|an?)\b)"
    r"|\bfrom now on,? you (?:must|shall|will|have to|are to)\b(?!.{0,40}\b(?:me|us|my|our)\b)"
    r"|\b(?:réponds|répondez|dis|dites) toujours(?: (?:que|oui|non)\b| qu'| [\"'«])"
    r"|\b(?:désormais|dorénavant|à partir de maintenant),? (?:tu dois|vous devez)\b"
    r"(?!.{0,40}(?:\b(?:me|nous|moi|mon|ma|mes)\b|\bm'))",
    re.IGNORECASE,
)
_JOINERS = "\u200c\u200d"
_FIRST_PERSON = {
    languages.ENGLISH: re.compile(
        r"(?<![\w/'-])(?:I(?:'(?:m|ve|ll|d))?(?![\w/.'-])|(?:[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us"
        r"|[Oo]urs?|[Oo]urselves)(?![\w-]))"
    ),
    languages.FRENCH: re.compile(
        r"(?<![\w'-])(?:(?:je|moi|mon|ma|mes|me|nous|notre|nos)(?![\w-])|[jm]'(?=\w))", re.IGNORECASE
    ),
}
_OWN_REQUEST = re.compile(r"\b(?:me|my|us|our|moi|mes|mon|ma|nous|nos)\b", re.IGNORECASE)


def validate(candidate: Candidate, item: ExtractionInput) -> str | None:
    """Return the reason code of the first check the candidate fails, or ``None``."""
    quote, statement = candidate.quote, candidate.statement
    if not quote.strip() or not statement.strip():
        return EMPTY
    if not candidate.confidence >= MINIMUM_CONFIDENCE:
        return LOW_CONFIDENCE
    if quote not in item.text:
        return QUOTE_NOT_IN_SOURCE
    if not (is_readable(statement) and is_readable(quote)):
        return UNREADABLE
    if holds_secret(quote) or holds_secret(statement):
        return SECRET
    if is_directive(quote) or is_directive(statement):
        return IMPERATIVE_DIRECTIVE
    if _is_question(candidate):
        return QUESTION
    if _SPEECH.search(statement):
        return SPEECH_ACT
    if speaks_of_machines(statement):
        return MACHINE_CLAIM
    if is_first_person(statement):
        return FIRST_PERSON_STATEMENT
    return _time_and_subject(candidate, item)


def is_directive(text: str) -> bool:
    """Whether the text orders the agent about, rather than stating what the speaker wants for themselves."""
    return bool(directives(text))


def directives(text: str) -> list[tuple[int, int]]:
    """Return where ``text`` orders the agent about: (start, end) of each such place, in order.

    It is read as a model would read it: without what is unseen, with one form for letters that are written in several.
    """
    if text.isascii():
        return [match.span() for match in _DIRECTIVE.finditer(text)]
    places, shown = [], []
    hidden = {place for match in UNSEEN.finditer(text) for place in range(*match.span())}
    for place, character in enumerate(text):
        if place in hidden or character in _JOINERS:
            continue
        for form in segments.evened(unicodedata.normalize("NFKC", character)):
            places.append(place)
            shown.append(form)
    found = _DIRECTIVE.finditer("".join(shown))
    return [(places[match.start()], places[match.end() - 1] + 1) for match in found]


def is_readable(text: str) -> bool:
    """Whether the text reads as language rather than as debris."""
    visible = [character for character in text if not character.isspace()]
    letters = sum(character.isalnum() for character in visible)
    if not letters:
        return False
    return len(visible) < _READABLE_FROM or letters / len(visible) >= _READABLE_SHARE


def speaks_of_machines(statement: str) -> bool:
    """Whether the statement is about an assistant, agent or bot."""
    return bool(_MACHINE.search(statement))


def is_first_person(statement: str) -> bool:
    """Whether the statement speaks as "I" or "we" in its language."""
    pattern = _FIRST_PERSON[languages.detect(statement) or languages.ENGLISH]
    return bool(pattern.search(statement.replace("’", "'")))


def _is_question(candidate: Candidate) -> bool:
    """A question is no evidence, except a request that states a standing choice of the one who asks."""
    if "?" in candidate.statement:
        return True
    if not candidate.quote.rstrip(" \"')»”").endswith("?"):
        return False
    standing = candidate.kind in {Kind.INSTRUCTION, Kind.PREFERENCE}
    return not (standing and _OWN_REQUEST.search(candidate.quote.replace("-", " ")))


def _time_and_subject(candidate: Candidate, item: ExtractionInput) -> str | None:
    if _unresolved_dates(candidate, item):
        return DATE_UNRESOLVED
    if candidate.valid_from and candidate.valid_to and candidate.valid_to <= candidate.valid_from:
        return INVERTED_INTERVAL
    if candidate.update_marker and candidate.update_marker not in candidate.quote:
        return MARKER_NOT_IN_QUOTE
    if subject_kind(candidate, item) == SubjectKind.PERSON and not is_known(candidate.about, item):
        return SUBJECT_UNKNOWN
    return None


def _unresolved_dates(candidate: Candidate, item: ExtractionInput) -> list[str]:
    """ISO dates of the statement that neither stand in the quote nor follow from a phrase in it."""
    wanted = [text for text in _ISO_DATE.findall(candidate.statement) if text not in candidate.quote]
    if not wanted:
        return []
    plain = candidate.quote.replace("’", "'").replace("\u00a0", " ")
    resolved: set[date] = set()
    for mention in dates.find(plain, occurred_at=item.occurred_at, timezone=item.timezone):
        resolved.update(
            (mention.first, mention.after, mention.after - timedelta(days=1), mention.first - timedelta(days=1))
        )
    return [text for text in wanted if text not in {day.isoformat() for day in resolved}]
