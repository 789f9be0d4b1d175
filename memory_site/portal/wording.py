"""How the portal calls things: everyday words for statuses, categories, sources and reads."""

from __future__ import annotations

from dataclasses import dataclass

from facts.models import Fact
from facts.models.evidence import Withheld
from facts.vocabulary import Category, Sensitivity, Status
from governance.models import ConsentStatus, PromotionStatus
from governance.readers import Readers
from governance.subject_data import STATUSES as STATUSES_OF
from governance.subject_data import HeldFact, ReadBy, Source, Standing
from memory_site.admin_pages.fact_display import words
from retrieval.models import TraceKind

STANDINGS: dict[str, str] = {
    "": "Everything",
    Standing.CURRENT: "Known now",
    Standing.WAITING: "Not decided yet",
    Standing.CONTESTED: "Contested",
    Standing.PAST: "No longer so",
    Standing.HIDDEN: "Hidden",
}

#: A status as a label, and what it means for whom it is about.
STATUSES: dict[str, tuple[str, str]] = {
    Status.ACTIVE: ("known", "It is told to those named below."),
    Status.PROVISIONAL: ("known to you alone", "Nobody else is told it until somebody has approved it."),
    Status.NEEDS_REVALIDATION: ("to be confirmed", "It is old; nobody is told it until somebody has confirmed it."),
    Status.CANDIDATE: ("not decided yet", "Nobody is told it until it is decided."),
    Status.HELD: ("waits for approval", "Nobody is told it until somebody has approved it."),
    Status.DISPUTED: ("contested", "Nobody is told it until somebody has decided."),
    Status.SUPERSEDED: ("replaced", "Something newer took its place. It is told as history only."),
    Status.EXPIRED: ("over", "Its time has passed. It is told as history only."),
    Status.REJECTED: ("turned down", "Somebody decided that it was never true. Nobody else is told it."),
    Status.DISABLED: ("hidden", "It was forgotten: shown to nobody. That can be taken back."),
    Status.REDACTED: ("blacked out", "It is shown to nobody, for good, and never learned again."),
    Status.RETRACTED: ("withdrawn", "It was taken back, or its source was: shown to nobody."),
}

SENSITIVITIES: dict[str, str] = {
    Sensitivity.PUBLIC: "public",
    Sensitivity.INTERNAL: "for everybody who reads there",
    Sensitivity.PERSONAL: "personal",
    Sensitivity.RESTRICTED: "specially protected",
}

CATEGORIES: dict[str, str] = {
    Category.GENERAL: "general",
    Category.COMMITMENT: "promises",
    Category.BLOCKER: "what is in the way",
    Category.HANDOFF: "handing over",
    Category.RISK_SIGNAL: "risks",
    Category.MOOD_SIGNAL: "mood",
    Category.DEADLINE_MENTION: "deadlines",
    Category.REFERENCE: "from pages and searches",
    Category.STATUS_UPDATE: "news of work",
}

SOURCE_TYPES: dict[str, str] = {
    "channel_message": "in a channel",
    "conversation": "in a conversation",
    "url_fetch": "on a web page",
    "web_search": "in a web search",
    "backfill": "in an older message that was imported",
    "admin_input": "entered by hand",
}

READ_KINDS: dict[str, str] = {
    TraceKind.CONTEXT: "got context",
    TraceKind.SEARCH: "searched",
    TraceKind.ASK: "asked a question",
    TraceKind.PROFILE: "looked at your profile",
    TraceKind.REPLAY: "looked at an earlier read again",
    TraceKind.PREVIEW: "tried out a setting",
}

#: What was done to a fact, by the names that revisions have for it; others are shown as they are.
STEPS: dict[str, str] = {
    "fact.proposed": "noticed",
    "fact.placed": "accepted",
    "fact.reinforced": "said again",
    "fact.superseded": "replaced by something newer",
    "fact.started": "began",
    "fact.ended": "ended",
    "fact.expired": "its time passed",
    "fact.contested": "contested",
    "fact.disabled": "hidden",
    "fact.enabled": "brought back",
    "fact.revalidation_due": "to be confirmed again",
    "gate.accepted": "accepted",
    "gate.waits": "waits for approval",
    "gate.rejected": "turned down",
    "review.approved": "approved",
    "review.rejected": "turned down",
    "review.confirmed": "confirmed",
    "review.undone": "a decision was taken back",
    "contest.refused": "the objection was refused",
    "consent.granted": "you agreed",
    "consent.narrowed": "kept for you alone",
    "promotion.copied": "made known more widely",
    "promotion.pulled_back": "pulled back",
    "source.deleted": "its source was deleted",
    "source.erased": "a source of it was erased",
    "subject.withdrew": "you withdrew it",
    "subject.redacted": "you blacked it out",
}

CONSENTS: dict[str, str] = {
    ConsentStatus.PENDING: "waits for your answer",
    ConsentStatus.GRANTED: "you agreed",
    ConsentStatus.DENIED: "you said no",
    ConsentStatus.WITHDRAWN: "you took it back",
}

PROMOTIONS: dict[str, str] = {
    PromotionStatus.REQUESTED: "asked for, not decided yet",
    PromotionStatus.APPROVED: "known there",
    PromotionStatus.REJECTED: "turned down",
    PromotionStatus.CANCELLED: "no longer asked for",
    PromotionStatus.REFUSED: "you said no",
    PromotionStatus.WITHDRAWN: "pulled back",
}


@dataclass(frozen=True, slots=True)
class Worded:
    """A fact as the portal shows it; ``is_open``: something about it waits to be decided."""

    held: HeldFact
    is_open: bool
    status: str
    meaning: str
    category: str
    told_to: str
    sources: list[tuple[Source, str]]


def worded(held: HeldFact) -> Worded:
    """Return a fact in everyday words."""
    status, meaning = STATUSES[held.fact.status]
    is_open = held.fact.status in STATUSES_OF[Standing.WAITING] | STATUSES_OF[Standing.CONTESTED]
    if held.fact.withheld == Withheld.CONFLICT:
        status, meaning = "contradicted", "Something else says otherwise. Nobody is told either until it is decided."
        is_open = True
    return Worded(
        held=held,
        is_open=is_open,
        status=status,
        meaning=meaning,
        category=CATEGORIES[held.fact.category],
        told_to=told_to(held.read_by, held.fact),
        sources=[(source, byline(source)) for source in held.sources],
    )


def told_to(read_by: ReadBy, fact: Fact) -> str:
    """Return who is told a fact."""
    match read_by:
        case ReadBy.NOBODY:
            return "nobody now" if fact.status in STATUSES_OF[Standing.PAST] else "nobody"
        case ReadBy.SUBJECT:
            return "you alone"
        case ReadBy.GRANTED:
            return "you, and those with a special permission"
        case ReadBy.SCOPE:
            return f"everybody who reads {fact.scope.path}"


def byline(source: Source) -> str:
    """Return who said it and where, without the words themselves and the time."""
    if source.event_id is None:
        by = "a person" if source.human else "a machine"
        return f"Said by {by} where you may not read"
    who = "You" if source.is_own else source.speaker or "Somebody"
    where = f"in {source.channel}" if source.channel else SOURCE_TYPES[source.source_type]
    return f"{who}, {where}"


def step(action: str) -> str:
    """Return what a revision did."""
    return STEPS.get(action) or words(action)


def lookers(readers: Readers, read_by: ReadBy) -> str:
    """Return how many read what is for everybody in a scope; empty where that is nobody."""
    if read_by is not ReadBy.SCOPE:
        return ""
    people, keys = len(readers.people), readers.keys
    return f"{people} {'person' if people == 1 else 'people'} and {keys} application{'' if keys == 1 else 's'}"
