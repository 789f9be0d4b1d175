"""Reading what mem0 and Zep export: their memories, facts and episodes as events with their own times. Pure.

Both write JSON: a list of records, an object that holds such lists, or one record a line. A memory that is one short
sentence is a statement as it stands; a longer text is read for facts like a message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from facts.errors import DomainError
from facts.vocabulary import OriginTrust, SourceType, SubjectKind
from governance.fields import IDENTIFIER_LENGTH
from ingest.imports.items import MAX_STATEMENT, Fault, Item, Passed, Read, fault_of, instant
from ingest.normalise import clean_json, clean_text
from ingest.observations import FUTURE_SLACK, MAX_NAME, Observation

MEM0, ZEP = "mem0", "zep"
#: What an export's lists of records are called, of either system.
_LISTS = ("results", "memories", "edges", "facts", "episodes", "messages", "nodes", "relations", "data")
#: Ends may lie in the future, unlike what was said.
_FOREVER = datetime.max.replace(tzinfo=UTC) - FUTURE_SLACK
#: Roles of Zep's episodes in which a person speaks.
_HUMAN_ROLES = frozenset({"", "user", "norole", "human"})


def records(content: bytes) -> list[tuple[int, Any]]:
    """Return the records of a file with their numbers, counted from 1: of one record a line the number of the line.

    A line that is no JSON is ``None``. Raises ``DomainError`` (``invalid_json``).
    """
    text = content.decode("utf-8-sig", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        found = [(number, _json(line)) for number, line in lines]
        if len(found) < 2 or all(record is None for _, record in found):
            raise DomainError("The file holds no JSON.", code="invalid_json") from None
        return found
    return list(enumerate(_flat(document), start=1))


def read(source: str, line: int, record: Any, *, scope: str, subject: str, at: datetime) -> Read:
    """Return what a record of an export says; ``subject`` stands in where it names nobody."""
    if not isinstance(record, Mapping):
        return Fault(line=line, field="", code="invalid_json")
    understand: Callable[..., Read] = _mem0 if source == MEM0 else _zep
    try:
        cleaned, _ = clean_json(record)
        return understand(line, cleaned, scope=scope, subject=subject, at=at)
    except DomainError as error:
        return fault_of(line, error)


def _mem0(line: int, record: Mapping[str, Any], *, scope: str, subject: str, at: datetime) -> Read:
    """Read one memory; of an export of the vector store its payload."""
    payload = record.get("payload") if isinstance(record.get("payload"), Mapping) else {}
    record = {**payload, **record}
    if "relationship" in record or {"source", "target"} <= set(record):
        return Passed(line=line, reason="graph_relation")
    text = _text(record, "memory") or _text(record, "data") or _text(record, "text")
    created, assumed = instant(record.get("created_at"), field="created_at", at=at)
    updated, also = instant(record.get("updated_at"), field="updated_at", at=at)
    ends, _ = _end(record, "expiration_date")
    user, agent = _name(record, "user_id"), _name(record, "agent_id")
    return _item(
        line,
        source=MEM0,
        key=_name(record, "id"),
        text=text,
        # As it stands it was written when it was updated.
        said_at=updated or created,
        subject=user or agent or subject,
        subject_kind=SubjectKind.AGENT if agent and not user else SubjectKind.PERSON,
        scope=scope,
        agent_id=agent,
        run_id=_name(record, "run_id"),
        valid_to=ends,
        claims=_only(record, "created_at", "updated_at", "categories", "metadata", "app_id", "hash"),
        naive=assumed or also,
    )


def _zep(line: int, record: Mapping[str, Any], *, scope: str, subject: str, at: datetime) -> Read:
    """Read one fact (an edge of the graph) or one episode; nodes are passed over."""
    if "fact" in record:
        return _zep_fact(line, record, scope=scope, subject=subject, at=at)
    if "content" in record:
        return _zep_episode(line, record, scope=scope, subject=subject, at=at)
    if "labels" in record or "summary" in record:
        return Passed(line=line, reason="graph_node")
    return Fault(line=line, field="fact", code="empty_text")


def _zep_fact(line: int, record: Mapping[str, Any], *, scope: str, subject: str, at: datetime) -> Read:
    created, assumed = instant(record.get("created_at"), field="created_at", at=at)
    starts, also = instant(record.get("valid_at"), field="valid_at", at=at)
    ends, assumed_too = _end(record, "invalid_at")
    if ends is None:
        # It was taken back without a word about since when it did not hold.
        ends, _ = _end(record, "expired_at")
    return _item(
        line,
        source=ZEP,
        key=_key(record),
        text=_text(record, "fact"),
        said_at=created or starts,
        subject=_of_whom(record) or subject,
        scope=scope,
        valid_from=starts,
        valid_to=ends,
        claims=_only(
            record, "created_at", "valid_at", "invalid_at", "expired_at", "name", "episodes", "episode_uuids",
            "source_node_uuid", "target_node_uuid", "source_node_name", "target_node_name", "attributes",
        ),
        naive=assumed or also or assumed_too,
    )  # fmt: skip


def _zep_episode(line: int, record: Mapping[str, Any], *, scope: str, subject: str, at: datetime) -> Read:
    """Read one episode: what was said in a thread, or a document that was added."""
    created, assumed = instant(record.get("created_at"), field="created_at", at=at)
    role = _text(record, "role_type").casefold()
    is_message = _text(record, "source").casefold() in {"", "message"}
    return _item(
        line,
        source=ZEP,
        key=_key(record),
        text=_text(record, "content"),
        said_at=created,
        subject=_of_whom(record) or subject,
        scope=scope,
        thread=_name(record, "thread_id") or _name(record, "session_id"),
        speech=is_message and role in _HUMAN_ROLES,
        claims=_only(record, "created_at", "source", "source_description", "role", "role_type", "metadata"),
        naive=assumed,
        may_state=False,
    )


def _item(
    line: int,
    *,
    source: str,
    key: str,
    text: str,
    said_at: datetime | None,
    subject: str,
    scope: str,
    claims: Mapping[str, Any],
    naive: bool,
    subject_kind: str = SubjectKind.PERSON,
    agent_id: str = "",
    run_id: str = "",
    thread: str = "",
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    speech: bool = False,
    may_state: bool = True,
) -> Read:
    """Return a record as an event. Words that a system wrote are told by a tool, and are no evidence of speech."""
    text = text.strip()
    if not text:
        return Fault(line=line, field="memory" if source == MEM0 else "fact", code="empty_text")
    if said_at is None:
        return Fault(line=line, field="created_at", code="missing_time")
    if not subject:
        return Fault(line=line, field="user_id", code="missing_subject")
    if valid_from is not None and valid_to is not None and valid_to <= valid_from:
        return Fault(line=line, field="invalid_at", code="inverted_interval")
    is_statement = may_state and len(text) <= MAX_STATEMENT and "\n" not in text
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    observation = Observation(
        payload={"text": text},
        kind=f"memory.{source}",
        scope=scope,
        subject=subject,
        subject_kind=subject_kind,
        # A long text is read for facts, and its subject did not say it itself.
        actor="tool" if is_statement or not (speech or may_state) else "",
        actor_id="" if speech else source,
        occurred_at=said_at,
        origin_trust=OriginTrust.SEMI_TRUSTED,
        thread=thread,
        agent_id=agent_id,
        run_id=run_id,
        source_key=f"{source}:{subject_kind}:{subject}:{key or digest}"[:400],
        source_type=SourceType.BACKFILL,
        recorded_claims={"source": source, **({} if speech else {"actor_id": source}), **claims},
    )
    return Item(
        line=line,
        observation=observation,
        is_statement=is_statement,
        valid_from=valid_from,
        valid_to=valid_to,
        notes=("time_without_zone",) if naive else (),
    )


def _flat(document: Any) -> Iterator[Any]:
    """Yield the records of a document; those of an object are told whose they are, where it says so."""
    if isinstance(document, list):
        for part in document:
            yield from _flat(part) if isinstance(part, Mapping) and _lists_in(part) else [part]
    elif isinstance(document, Mapping) and _lists_in(document):
        whose = _only(document, "user_id", "group_id", "graph_id")
        for name in _lists_in(document):
            for part in document[name]:
                yield {**whose, **part} if isinstance(part, Mapping) else part
    else:
        yield document


def _lists_in(document: Mapping[str, Any]) -> list[str]:
    if any(isinstance(document.get(name), str) for name in ("memory", "fact", "content", "data")):
        return []
    return [name for name in _LISTS if isinstance(document.get(name), list)]


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _end(record: Mapping[str, Any], name: str) -> tuple[datetime | None, bool]:
    """Return an end, which may lie in the future."""
    return instant(record.get(name), field=name, at=_FOREVER)


def _key(record: Mapping[str, Any]) -> str:
    return _name(record, "uuid") or _name(record, "uuid_") or _name(record, "id")


def _of_whom(record: Mapping[str, Any]) -> str:
    return _name(record, "user_id") or _name(record, "group_id") or _name(record, "graph_id")


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return clean_text(value)[0] if isinstance(value, str) else ""


def _name(record: Mapping[str, Any], name: str) -> str:
    """Return an identifier as one line; "" for none."""
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return ""
    limit = IDENTIFIER_LENGTH if name in {"user_id", "group_id", "graph_id"} else MAX_NAME
    return " ".join(clean_text(value)[0].split())[:limit]


def _only(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: record[name] for name in names if record.get(name) not in (None, "", [], {})}
