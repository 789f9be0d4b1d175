"""From a draft and its clause to a candidate: the sentence, the dates, the marker, the sensitivity."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from facts.candidates import Candidate
from facts.vocabulary import Category, Form, Sensitivity
from ingest.extraction import dates
from ingest.extraction.languages import FRENCH
from ingest.extraction.rules.clauses import Clause, verbatim
from ingest.extraction.rules.drafts import Draft
from ingest.extraction.rules.voice import subject

_RESTRICTED = re.compile(
    r"\b(?:diagnos\w+|depress\w+|bipolar|adhd|autis\w+|therap(?:y|ist)|psychiatr\w+|antidepress\w+"
    r"|medication|chemo\w*|cancer|diabet\w+|hiv|pregnan\w+|miscarriage|ivf|surgery|epilep\w+|migraines?"
    r"|rehab|alcoholic|addict\w*|gay|lesbian|bisexual|trans(?:gender)?|sexual\w*|religio\w+|muslim"
    r"|christian|jewish|catholic|hindu|atheist|church|mosque|vote[ds]? for|republican|democrat"
    r"|socialist|conservative party"
    r"|salary|earn \W?\d|my (?:income|debt|mortgage|loan)|in debt|bankrupt\w*|lawsuit|suing|arrested"
    r"|court case|criminal record|divorc\w+|visa status|asylum|disab(?:led|ility)|sick leave"
    r"|dépression|dépressif|dépressive|thérapie|thérapeute|psy|psychologue|psychiatre"
    r"|traitement médical|médicaments?|cancer|diabète|diabétique|séropositif|enceinte|fausse couche"
    r"|opération chirurgicale|épilep\w+"
    r"|homosexuel\w*|lesbienne|bisexuel\w*|musulmane?|chrétienne?|juive?|catholique|athée|voté pour"
    r"|je vote|syndiquée?|salaire|je gagne \d|mes dettes|surendett\w+|procès|garde à vue"
    r"|casier judiciaire|handicap\w*|arrêt maladie|maladie)\b",
    re.IGNORECASE,
)
#: Words that are an occupation or a software term rather than the speaker's condition.
_OPEN = re.compile(
    r"\b(?:transaction|therapist|psychologist|psychologue|psychiatre|psychiatrist) (?:at|by profession"
    r"|de métier|chez)\b",
    re.IGNORECASE,
)


def assemble(draft: Draft, clause: Clause, *, about: str) -> Candidate:
    """Return the candidate of the draft. ``about`` is the other person or thing it is about, "" for the speaker."""
    start, end, start_stated, end_stated = _interval(draft, clause)
    marker = clause.marker or verbatim(draft.marker, clause.quote)
    if draft.denies and not marker and clause.language == FRENCH and re.search(r"\bplus\b", clause.text):
        marker = verbatim("plus", clause.quote)
    if draft.form == Form.EVENT:
        marker = ""
    return Candidate(
        statement=draft.statement or _statement(draft, clause, about),
        quote=clause.quote,
        confidence=draft.confidence,
        category=draft.category,
        kind=draft.kind,
        form=draft.form,
        predicate=draft.predicate,
        value=draft.value,
        qualifiers=dict(draft.qualifiers),
        update_marker=marker,
        denies=draft.denies,
        about=about,
        valid_from=start,
        valid_to=end,
        start_stated=start_stated,
        end_stated=end_stated,
        volatility=draft.volatility,
        sensitivity=draft.sensitivity or sensitivity(clause.text),
    )


def sensitivity(text: str) -> str | None:
    """``restricted`` where the text touches health, sexuality, belief, politics, money or the law, else ``None``."""
    return Sensitivity.RESTRICTED.value if _RESTRICTED.search(text) and not _OPEN.search(text) else None


def _statement(draft: Draft, clause: Clause, about: str) -> str:
    who = subject(clause.item.speaker_name, about, clause.language)
    says = draft.negated if draft.denies and draft.negated else draft.says
    return f"{who[:1].upper()}{who[1:]} {says.strip()}{_stated_days(draft, clause)}."


def _stated_days(draft: Draft, clause: Clause) -> str:
    """The day the text itself gives, behind statements that would otherwise lose it."""
    if not draft.starts:
        return ""
    start, end, start_stated, end_stated = _interval(draft, clause)
    zone = dates.zone(clause.item.timezone)
    parts = []
    if start_stated and start:
        parts.append(
            ("à partir du " if clause.language == FRENCH else "from ") + start.astimezone(zone).date().isoformat()
        )
    if end_stated and end and draft.form == Form.EVENT:
        last = end.astimezone(zone).date() - timedelta(days=1)
        if not start or last != start.astimezone(zone).date():
            parts.append(("jusqu'au " if clause.language == FRENCH else "until ") + last.isoformat())
    return f" ({', '.join(parts)})" if parts else ""


def _interval(draft: Draft, clause: Clause) -> tuple[datetime | None, datetime | None, bool, bool]:
    """Validity as the text states it: start, end, and whether each was stated."""
    if draft.category != Category.GENERAL or not draft.predicate:
        return None, None, False, False
    start: datetime | None = None
    end: datetime | None = None
    text = f"{clause.lead}{clause.text}"
    for mention in dates.find(text, occurred_at=clause.item.occurred_at, timezone=clause.item.timezone):
        first = dates.instant(mention.first, clause.item.timezone)
        after = dates.instant(mention.after, clause.item.timezone)
        if mention.role == "until" and end is None:
            end = after if mention.fine else first
        elif mention.role == "since" and start is None:
            start = first
        elif mention.role in {"at", "by"} and draft.starts and start is None:
            start = first
            if draft.form == Form.EVENT:
                end = after
    if draft.denies and start is not None:
        start, end = None, start
    if start is not None and end is not None and end <= start:
        end = None
    return start, end, start is not None, end is not None
