"""Reading a capture request: from the names that senders use to the one shape that :mod:`ingest.capture` takes. Pure.

Understood are the fields of Haki's clients and our own words for the same things (``governance.fields.ALIASES``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from facts.errors import DomainError
from facts.vocabulary import OriginTrust, Sensitivity, SubjectKind
from governance import fields
from ingest.normalise import clean_json, clean_text

#: Events in one request. More are sent in several; each request is one transaction.
MAX_EVENTS = 1_000
#: Bytes of one event's payload as JSON, as Haki's clients expect.
MAX_PAYLOAD_BYTES = 256 * 1024
MAX_KEY = 256
MAX_KIND = 128
MAX_NAME = 128
MAX_URLS = 50
#: Clocks disagree; further ahead than this a time is a mistake, and so is one before computers kept time.
FUTURE_SLACK = timedelta(days=1)
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)

#: Recorded with an event that came from another store of this kind: it is history, whatever its source.
IMPORTED = "imported"

_SCOPE_NAMES = ("project_id", "scope", "scope_path")
#: What senders call the kinds of subjects. Anything else is taken for a person: the most guarded reading.
_SUBJECT_KINDS = {
    "agent": SubjectKind.AGENT,
    "assistant": SubjectKind.AGENT,
    "bot": SubjectKind.AGENT,
    "channel": SubjectKind.CHANNEL,
    "client": SubjectKind.CLIENT,
    "company": SubjectKind.CLIENT,
    "customer_account": SubjectKind.CLIENT,
    "scope": SubjectKind.SCOPE,
    "search": SubjectKind.SEARCH,
    "topic": SubjectKind.TOPIC,
    "url": SubjectKind.URL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One event as its sender describes it, checked but not yet bound to an account.

    ``scope``          path; "" leaves it to the credential.
    ``subject``        key of whom it is about; "" means the speaker. ``alias`` (kind, value) names it otherwise.
    ``speaker``        key of who said it; "" means the subject, if that is a person who speaks for itself.
    ``actor``          ``agent``, ``tool`` or ``system`` for a machine's words, else "".
    ``actor_id``       whom the sender says acted: kept, and tells that the subject did not speak itself.
    ``occurred_at``    aware UTC; ``None``: now.
    ``origin_trust``, ``sensitivity``   ``None`` leaves the default; sensitivity may only raise it.
    ``channel_id``     the shared channel in which it was said; "" for a conversation with an agent.
    ``source_key``     the key of the message at its source, the same in whatever scope; "" for senders that have none.
    ``source_type``    how it came; "" tells it from ``channel_id``.
    ``notes``          what was replaced to make it storable.
    """

    payload: Mapping[str, Any]
    kind: str = "conversation.message"
    scope: str = ""
    subject: str = ""
    subject_kind: str = SubjectKind.PERSON
    subject_name: str = ""
    alias: tuple[str, str] | None = None
    speaker: str = ""
    speaker_name: str = ""
    actor: str = ""
    actor_id: str = ""
    occurred_at: datetime | None = None
    origin_trust: str | None = None
    sensitivity: str | None = None
    channel_id: str = ""
    channel_name: str = ""
    platform_user_id: str = ""
    ts: str = ""
    thread: str = ""
    agent_id: str = ""
    run_id: str = ""
    urls: tuple[str, ...] = ()
    idempotency_key: str = ""
    source_key: str = ""
    source_type: str = ""
    recorded_claims: Mapping[str, Any] = field(default_factory=dict)
    notes: frozenset[str] = frozenset()


def read_batch(body: Mapping[str, Any], *, at: datetime) -> tuple[list[Observation], str]:
    """Return the observations of a capture request and its batch key ("" when it has none).

    ``at`` is the present. Raises ``DomainError`` naming the first field at fault, ``events.3.payload`` for one of the
    fourth event: ``invalid_payload``, ``batch_too_large``, ``event_too_large``, ``key_too_long``,
    ``naive_datetime``, ``invalid_datetime``, ``impossible_date``, ``ambiguous_field``, ``invalid_scope``.
    """
    events = body.get("events")
    if not isinstance(events, Sequence) or isinstance(events, str) or not events:
        raise DomainError("Send a list of one or more events.", field="events")
    if len(events) > MAX_EVENTS:
        raise DomainError(f"A batch has at most {MAX_EVENTS} events.", code="batch_too_large", field="events")
    batch_key = _text(body, "idempotency_key", limit=MAX_KEY, code="key_too_long")
    observations = []
    for position, event in enumerate(events):
        with fault_in(position):
            observations.append(read_observation(event, at=at))
    return observations, batch_key


@contextmanager
def fault_in(position: int) -> Iterator[None]:
    """Make a ``DomainError`` raised inside name the event it is about, counted from 0."""
    try:
        yield
    except DomainError as error:
        error.field = f"events.{position}" + (f".{error.field}" if error.field else "")
        raise


def read_observation(event: Mapping[str, Any], *, at: datetime) -> Observation:
    """Return one event of a request; raises as :func:`read_batch`, with the field's own name."""
    if not isinstance(event, Mapping):
        raise DomainError("An event is an object.")
    payload, notes = _payload(event)
    named = {meaning: _identifier(event, meaning) for meaning in ("subject", "reader", "thread")}
    scopes = {name: _text(event, name, limit=fields.SCOPE_LENGTH) for name in _SCOPE_NAMES}
    call_scope = fields.call_scope(scopes, required=False)
    actor = _text(event, "actor_type", limit=MAX_NAME).casefold()
    channel = event.get("channel") if isinstance(event.get("channel"), Mapping) else {}
    return Observation(
        payload=payload,
        kind=_text(event, "kind", limit=MAX_KIND) or "conversation.message",
        scope=call_scope.path if call_scope else "",
        subject=named["subject"],
        subject_kind=_SUBJECT_KINDS.get(_text(event, "subject_type", limit=MAX_NAME).casefold(), SubjectKind.PERSON),
        subject_name=_text(event, "subject_name", limit=fields.IDENTIFIER_LENGTH),
        alias=_alias(event),
        speaker=_text(event, "speaker", limit=fields.IDENTIFIER_LENGTH) or named["reader"],
        speaker_name=_text(event, "speaker_name", limit=fields.IDENTIFIER_LENGTH),
        actor=actor if actor in {"agent", "tool", "system"} else "",
        actor_id=_text(event, "actor_id", limit=MAX_NAME),
        occurred_at=_occurred_at(event, at=at),
        origin_trust=_choice(event, "origin_trust", OriginTrust.values),
        sensitivity=_choice(event, "sensitivity", Sensitivity.values),
        channel_id=_text(event, "channel_id", limit=MAX_NAME) or _text(channel, "id", limit=MAX_NAME),
        channel_name=_text(event, "channel_name", limit=200) or _text(channel, "name", limit=200),
        platform_user_id=_text(event, "platform_user_id", limit=MAX_NAME),
        ts=_text(event, "ts", limit=64),
        thread=named["thread"],
        agent_id=_text(event, "agent_id", limit=MAX_NAME),
        run_id=_text(event, "run_id", limit=MAX_NAME),
        urls=_urls(event),
        idempotency_key=_text(event, "idempotency_key", limit=MAX_KEY, code="key_too_long"),
        recorded_claims=_recorded(event),
        notes=notes,
    )


def _payload(event: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the clean payload: the sender's object, or its plain ``text``."""
    payload, text = event.get("payload"), event.get("text")
    if payload is not None and text is not None:
        raise DomainError("Send a payload or a text, not both.", code="ambiguous_field", field="text")
    if isinstance(text, str):
        payload = {"text": text}
    if not isinstance(payload, Mapping):
        raise DomainError("An event has a payload (an object) or a text.", field="payload")
    cleaned, notes = clean_json(payload)
    if len(json.dumps(cleaned, ensure_ascii=False).encode()) > MAX_PAYLOAD_BYTES:
        raise DomainError(
            f"A payload has at most {MAX_PAYLOAD_BYTES // 1024} KiB.", code="event_too_large", field="payload"
        )
    return cleaned, notes


def _occurred_at(event: Mapping[str, Any], *, at: datetime) -> datetime | None:
    said = event.get("occurred_at")
    if said is None:
        return None
    if not isinstance(said, str):
        raise DomainError("A time is ISO 8601 text.", code="invalid_datetime", field="occurred_at")
    moment = fields.parse_instant(said.strip(), field="occurred_at")
    if not EARLIEST <= moment <= at + FUTURE_SLACK:
        raise DomainError(
            "An event happened after 1970 and not in the future.", code="impossible_date", field="occurred_at"
        )
    return moment


def _text(data: Mapping[str, Any], name: str, *, limit: int, code: str = "invalid_payload") -> str:
    """Return a short text field, trimmed and clean; "" when it is absent or null."""
    said = data.get(name)
    if said is None:
        return ""
    if not isinstance(said, str | int) or isinstance(said, bool):
        raise DomainError(f"'{name}' is a text.", field=name)
    text = clean_text(str(said))[0].strip()
    if len(text) > limit:
        raise DomainError(f"'{name}' has at most {limit} characters.", code=code, field=name)
    return text


def _identifier(event: Mapping[str, Any], meaning: str) -> str:
    said = fields.named(event, meaning)
    if said is None:
        return ""
    names = [alias.name for alias in fields.ALIASES if alias.means == meaning]
    name = next(name for name in names if event.get(name) not in (None, ""))
    limit = MAX_NAME if meaning == "thread" else fields.IDENTIFIER_LENGTH
    return _text(event, name, limit=limit)


def _alias(event: Mapping[str, Any]) -> tuple[str, str] | None:
    alias = event.get("subject_alias")
    if alias is None:
        return None
    if not isinstance(alias, Mapping):
        raise DomainError("An alias is an object with kind and value.", field="subject_alias")
    kind, value = _text(alias, "kind", limit=64).casefold(), _text(alias, "value", limit=256)
    if not kind or not value:
        raise DomainError("An alias is an object with kind and value.", field="subject_alias")
    return kind, value


def _choice(event: Mapping[str, Any], name: str, values: Sequence[str]) -> str | None:
    said = _text(event, name, limit=MAX_NAME)
    if said and said not in values:
        raise DomainError(f"'{name}' is one of {', '.join(values)}.", field=name)
    return said or None


def _urls(event: Mapping[str, Any]) -> tuple[str, ...]:
    urls = event.get("urls") or []
    if not isinstance(urls, Sequence) or isinstance(urls, str) or len(urls) > MAX_URLS:
        raise DomainError(f"'urls' is a list of at most {MAX_URLS} addresses.", field="urls")
    return tuple(_text({"urls": url}, "urls", limit=2_000) for url in urls)


def _recorded(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the sender states beyond what the system acts upon: kept with the event, never authority."""
    claims: dict[str, Any] = {}
    for name in (*fields.RECORDED_NAMES, "actor_type", "actor_id", "subject_type", "retention_policy"):
        if said := _text(event, name, limit=fields.IDENTIFIER_LENGTH):
            claims[name] = said
    for name in ("source", "classification", "metadata"):
        if event.get(name) is not None:
            claims[name], _ = clean_json(event[name])
    if len(json.dumps(claims, ensure_ascii=False).encode()) > MAX_PAYLOAD_BYTES:
        raise DomainError(
            f"A source has at most {MAX_PAYLOAD_BYTES // 1024} KiB.", code="event_too_large", field="source"
        )
    return claims
