"""Reading a line of a file of events: the fields of ``POST /v1/capture``, or a line of our own export. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from facts.errors import DomainError
from facts.vocabulary import SourceType
from ingest.imports import facts
from ingest.imports.facts import StatedFact
from ingest.imports.items import Fault, Item, Passed, Read, fault_of
from ingest.normalise import clean_json, clean_text
from ingest.observations import IMPORTED, Observation, read_observation

#: Bytes of a line: a payload of the largest size, and room for its other fields.
MAX_LINE = 1024 * 1024


def read(line: int, content: bytes, *, scope: str, subject: str, at: datetime) -> Read | StatedFact:
    """Return what a line says. ``scope`` and ``subject`` stand in where it names none.

    The time is required: an event is recognised when it comes again by its content and its time.
    """
    if len(content) > MAX_LINE:
        return Fault(line=line, field="", code="event_too_large")
    if not content.strip():
        return Passed(line=line, reason="blank_line")
    try:
        record = json.loads(content.decode("utf-8-sig" if line == 1 else "utf-8"))
    except (ValueError, RecursionError):
        return Fault(line=line, field="", code="invalid_json")
    if isinstance(record, Mapping) and record.get("type") == "fact":
        return facts.read(line, record)
    try:
        observation = _own(read_observation(record, at=at), record)
        if observation.occurred_at is None:
            return Fault(line=line, field="occurred_at", code="missing_time")
    except DomainError as error:
        return fault_of(line, error)
    nobody = not (observation.subject or observation.speaker or observation.alias)
    observation = replace(
        observation,
        scope=observation.scope or scope,
        subject=subject if nobody else observation.subject,
        source_type=observation.source_type or SourceType.BACKFILL,
    )
    return Item(line=line, observation=observation)


def _own(observation: Observation, record: Mapping[str, Any]) -> Observation:
    """Return an event with what another store of this kind knows of it beyond the fields of a capture."""
    if record.get("type") != "event":
        return observation
    key, source_type, claims = record.get("source_key"), record.get("source_type"), record.get("claims")
    told = clean_json(claims)[0] if isinstance(claims, Mapping) else {}
    return replace(
        observation,
        source_key=clean_text(key)[0][:400] if isinstance(key, str) else "",
        source_type=source_type if source_type in SourceType.values else SourceType.BACKFILL,
        # Its source is what it was, and yet nobody said it just now: no page is fetched and nobody told for it.
        recorded_claims={**told, IMPORTED: True},
    )
