"""Taking in a fact that another store of this kind wrote out: through the gates, with the events it rests on."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from facts.actors import pipeline
from facts.candidates import Candidate
from facts.errors import DomainError
from facts.models import Event, Passage
from facts.tenancy import ensure_subject
from facts.vocabulary import Category, EvidenceLevel, Form, Kind, Sensitivity, SubjectKind, Volatility
from governance import placement
from governance.fields import parse_instant
from ingest.extraction import checks
from ingest.imports.items import Fault, fault_of
from ingest.normalise import clean_json

#: Pieces of evidence of one fact that are taken in.
MAX_EVIDENCE = 100
MAX_STATEMENT = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A line that holds a fact: the candidate, its subject, and quotes by the keys of their events."""

    line: int
    candidate: Candidate
    subject: str
    subject_kind: str
    evidence_level: str
    evidence: tuple[tuple[str, str], ...]
    provider: str
    model: str
    prompt_version: str


def read(line: int, record: Mapping[str, Any]) -> StatedFact | Fault:
    """Return what a line of the type ``fact`` says."""
    try:
        cleaned, _ = clean_json(record)
        return _read(line, cleaned)
    except DomainError as error:
        return fault_of(line, error)


def place(account_id: uuid.UUID, stated: StatedFact) -> str:
    """Hand a fact to the gates, in the caller's account transaction; returns what came of it.

    Its events have to be there already. Raises ``DomainError`` (``unknown_evidence``, ``invalid_subject``).
    """
    keys = [key for key, _ in stated.evidence]
    rows = Event.objects.filter(
        account_id=account_id, source_key__in=keys, withdrawn_at__isnull=True, forgotten_at__isnull=True
    )
    events = {event.source_key: event for event in rows.select_related("account", "scope").order_by("revision")}
    subject = ensure_subject(account_id, kind=stated.subject_kind, key=stated.subject)
    came_to = ""
    for key, quote in stated.evidence:
        event = events.get(key)
        if event is None:
            continue
        placed = placement.submit(
            placement.Submission(
                event=event,
                passage=Passage.objects.filter(account_id=account_id, event=event).order_by("ordinal").first(),
                subject=subject,
                candidate=_quoting(stated.candidate, quote),
                evidence_level=stated.evidence_level,
                provider=stated.provider,
                model=stated.model,
                prompt_version=stated.prompt_version,
            ),
            actor=pipeline(),
        )
        came_to = came_to or f"{placed.result}_{placed.status or placed.reason}"
    if not came_to:
        raise DomainError("Nothing that it rests on is there.", code="unknown_evidence", field="evidence")
    return came_to


def _quoting(candidate: Candidate, quote: str) -> Candidate:
    fields = {name: getattr(candidate, name) for name in Candidate.__dataclass_fields__}
    return Candidate(**{**fields, "quote": quote or candidate.statement})


def _read(line: int, record: Mapping[str, Any]) -> StatedFact:
    statement = _text(record, "statement")
    if not statement or len(statement) > MAX_STATEMENT:
        raise DomainError("A fact has a statement.", code="empty_text", field="statement")
    if checks.is_directive(statement) or not checks.is_readable(statement):
        raise DomainError("This is no statement.", code="refused_statement", field="statement")
    value = record.get("value")
    if value is not None and not isinstance(value, Mapping):
        raise DomainError("A value is an object.", field="value")
    confidence = record.get("confidence", 1.0)
    starts, ends = _instant(record, "valid_from"), _instant(record, "valid_to")
    if starts is not None and ends is not None and ends <= starts:
        raise DomainError("It ends before it starts.", code="inverted_interval", field="valid_to")
    qualifiers = record.get("qualifiers")
    return StatedFact(
        line=line,
        candidate=Candidate(
            statement=statement,
            quote=statement,
            confidence=float(confidence) if isinstance(confidence, int | float) else 1.0,
            category=_one_of(record, "category", Category.values, Category.GENERAL),
            kind=_one_of(record, "kind", Kind.values, Kind.ATTRIBUTE),
            form=_one_of(record, "form", Form.values, Form.STATE),
            predicate=_text(record, "predicate") if value is not None else "",
            value=value,
            qualifiers=qualifiers if isinstance(qualifiers, Mapping) else {},
            denies=record.get("denies") is True,
            valid_from=starts,
            valid_to=ends,
            start_stated=starts is not None and record.get("start_assumed") is not True,
            end_stated=ends is not None,
            volatility=_one_of(record, "volatility", Volatility.values, Volatility.STABLE),
            sensitivity=_one_of(record, "sensitivity", Sensitivity.values, None),
        ),
        subject=_text(record, "subject_id"),
        subject_kind=_one_of(record, "subject_type", SubjectKind.values, SubjectKind.PERSON),
        evidence_level=_one_of(record, "evidence_level", EvidenceLevel.values, EvidenceLevel.INDIRECT),
        evidence=_evidence(record),
        provider=_text(record, "provider")[:64] or "import",
        model=_text(record, "model")[:128],
        prompt_version=_text(record, "prompt_version")[:64],
    )


def _evidence(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    told = record.get("evidence")
    pairs = [
        (_text(part, "source_key"), _text(part, "quote"))
        for part in (told if isinstance(told, list) else [])[:MAX_EVIDENCE]
        if isinstance(part, Mapping)
    ]
    found = tuple((key, quote) for key, quote in pairs if key)
    if not found:
        raise DomainError("A fact rests on events.", code="unknown_evidence", field="evidence")
    return found


def _instant(record: Mapping[str, Any], name: str) -> datetime | None:
    said = record.get(name)
    if said is None:
        return None
    if not isinstance(said, str):
        raise DomainError("A time is ISO 8601 text.", code="invalid_datetime", field=name)
    return parse_instant(said, field=name).astimezone(UTC)


def _one_of(record: Mapping[str, Any], name: str, values: list[str], otherwise: Any) -> Any:
    said = record.get(name)
    return said if said in values else otherwise


def _text(record: Mapping[str, Any], name: str) -> str:
    said = record.get(name)
    return said.strip() if isinstance(said, str) else ""
