"""Keeping what came from the web: as an event that is evidence of nobody, and as reference facts that cite it.

A page is about its address, a search about its query, whoever else they name: no fact about a person comes of either.
Both are a third party's words; those that give orders are held like any other.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from facts import audit, erased_keys
from facts.actors import Actor
from facts.candidates import Candidate
from facts.clock import now
from facts.errors import Conflicting, DomainError
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import Event, Subject
from facts.tenancy import account_transaction, ensure_scope, ensure_subject
from facts.vocabulary import (
    Category,
    EvidenceLevel,
    Form,
    Kind,
    OriginTrust,
    Sensitivity,
    SourceType,
    SubjectKind,
    Volatility,
)
from governance import placement
from governance.placement import Placement, Submission
from ingest import line
from ingest.extraction import checks
from ingest.web import addresses
from ingest.web.pages import Page
from ingest.web.searching import Found
from ingest.web.summing_up import Summary

#: What is sure of a reference: that the page said so (calibration of the Mako seed: .7 to .8).
PAGE_CONFIDENCE = 0.75
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.7, 0.8
#: Results of one search that become facts.
KEPT_RESULTS = 5
#: The predicate under which an address has one current summary, which the next fetch replaces.
SUMMARY = "page_summary"
#: Pages and searches that an account keeps in a minute when it is asked by callers.
PER_MINUTE = 30
#: Recorded with the event: nobody said it.
_NOBODY = {"actor_type": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was kept: the event, whether it was there already, and what became of each possible fact, in order."""

    event: Event
    known: bool
    placed: tuple[Placement, ...]


def keep_page(
    account_id: uuid.UUID, page: Page, summary: Summary, *, scope: str, actor: Actor, asked_by: Mapping[str, Any]
) -> Kept:
    """Keep a page and the fact that sums it up. ``asked_by``: ids of what asked for it, kept with the event."""
    payload = {"text": page.text, "title": page.title, "url": page.url, "found_at": page.found_at, "cut": page.cut}
    # What the page calls itself stands in the statement and names the subject: orders given there are left out.
    title = "" if checks.is_directive(page.title) else page.title
    with account_transaction(account_id):
        subject = _subject(account_id, SubjectKind.URL, page.url, name=title)
        event, known = _event(
            account_id,
            subject,
            source_type=SourceType.URL_FETCH,
            key=page.url,
            payload=payload,
            scope=scope,
            asked_by=asked_by,
            actor=actor,
        )
        if known:
            return Kept(event=event, known=True, placed=())
        candidate = Candidate(
            statement=_page_statement(page.url, title, summary.text),
            quote=summary.quote,
            confidence=PAGE_CONFIDENCE,
            category=Category.REFERENCE,
            kind=_kind(summary.text),
            form=Form.STATE,
            predicate=SUMMARY,
            value={"summary": summary.text},
            # The same address read again: what it says now takes the place of what it said.
            update_marker="fetched again",
            valid_from=event.occurred_at,
            start_stated=True,
            volatility=Volatility.SLOW,
        )
        source = (summary.provider, summary.model, summary.version)
        return Kept(event=event, known=False, placed=(_place(event, subject, candidate, source, actor=actor),))


def keep_search(
    account_id: uuid.UUID,
    query: str,
    results: Sequence[Found],
    *,
    scope: str,
    actor: Actor,
    asked_by: Mapping[str, Any],
) -> Kept:
    """Keep the results of a search, and the first of them as facts."""
    text = "\n\n".join(f"{found.title}\n{found.url}\n{found.snippet}" for found in results)
    rows = [{"url": found.url, "title": found.title, "score": found.score} for found in results]
    payload = {"text": text, "query": query, "results": rows}
    with account_transaction(account_id):
        subject = _subject(account_id, SubjectKind.SEARCH, query, name=query)
        event, known = _event(
            account_id,
            subject,
            source_type=SourceType.WEB_SEARCH,
            key=query,
            payload=payload,
            scope=scope,
            asked_by=asked_by,
            actor=actor,
        )
        if known:
            return Kept(event=event, known=True, placed=())
        placed = [
            _place(event, subject, _found(found, query), ("tavily", "search", "1"), actor=actor)
            for found in results[:KEPT_RESULTS]
            if found.snippet
        ]
        return Kept(event=event, known=False, placed=tuple(placed))


def check_rate(account_id: uuid.UUID) -> None:
    """Raise ``DomainError`` (``web_rate_limited``) where callers ask for too much. Inside the account."""
    recent = Event.objects.filter(
        account_id=account_id,
        source_type__in=[SourceType.URL_FETCH, SourceType.WEB_SEARCH],
        recorded_at__gte=now() - timedelta(minutes=1),
    )
    if recent.count() >= PER_MINUTE:
        raise DomainError(
            f"At most {PER_MINUTE} pages and searches a minute are asked for.", code="web_rate_limited", status=429
        )


def _subject(account_id: uuid.UUID, kind: str, text: str, *, name: str) -> Subject:
    return ensure_subject(account_id, kind=kind, key=addresses.subject_key(text), name=name)


def _event(
    account_id: uuid.UUID,
    subject: Subject,
    *,
    source_type: str,
    key: str,
    payload: dict[str, Any],
    scope: str,
    asked_by: Mapping[str, Any],
    actor: Actor,
) -> tuple[Event, bool]:
    """Write the event and queue it for its passages; ``True`` with one that says the same already.

    Raises ``Conflicting`` (``suppressed``) for what was erased: it does not come back by being read again.
    """
    content = json.dumps(payload, ensure_ascii=False, sort_keys=True).encode()
    content_hash = f"sha256:{hashlib.sha256(content).hexdigest()}"
    place = ensure_scope(account_id, scope)
    lock_subject(place.id, subject.id)
    source_key = f"web:{place.id}:{addresses.digest(key)}:{content_hash}"
    tombstone = erased_keys.source_keys(account_id, [source_key])[source_key]
    if Event.objects.filter(account_id=account_id, source_key=tombstone).exists():
        raise Conflicting("What was erased is not taken in again.", code="suppressed")
    read_before = Event.objects.filter(account_id=account_id, scope=place, subject=subject, source_type=source_type)
    latest = read_before.order_by("-id").first()
    if latest is not None and latest.source_key == source_key:
        return latest, True
    at = now()
    event = Event.objects.create(
        id=new_id(),
        account_id=account_id,
        scope=place,
        subject=subject,
        source_key=source_key,
        # A page that says again what it said before says it anew.
        revision=read_before.filter(source_key=source_key).count() + 1,
        kind="web.page" if source_type == SourceType.URL_FETCH else "web.search",
        source_type=source_type,
        payload=payload,
        text=payload["text"],
        human=False,
        occurred_at=at,
        content_hash=content_hash,
        origin_trust=OriginTrust.THIRD_PARTY,
        sensitivity=Sensitivity.INTERNAL,
        urls=[key] if source_type == SourceType.URL_FETCH else [row["url"] for row in payload["results"]],
        recorded_claims={**_NOBODY, **asked_by},
    )
    line.join(account_id, [event])
    audit.record(
        account_id,
        action="web.kept",
        object_type="event",
        object_id=event.id,
        actor=actor,
        group=new_id(),
        metadata={"source_type": source_type},
    )
    return event, False


def _place(
    event: Event, subject: Subject, candidate: Candidate, source: tuple[str, str, str], *, actor: Actor
) -> Placement:
    provider, model, version = source
    return placement.submit(
        Submission(
            event=event,
            passage=None,
            subject=subject,
            candidate=candidate,
            evidence_level=EvidenceLevel.INDIRECT,
            provider=provider,
            model=model,
            prompt_version=version,
        ),
        actor=actor,
    )


def _page_statement(url: str, title: str, summary: str) -> str:
    words = " ".join(summary.split())
    return f"The page “{title}” ({url}) says: {words}" if title else f"The page {url} says: {words}"


def _found(found: Found, query: str) -> Candidate:
    title = found.title or found.url
    confidence = LEAST_CONFIDENCE + (MOST_CONFIDENCE - LEAST_CONFIDENCE) * found.score
    return Candidate(
        statement=f"A web search for “{query}” found “{title}” ({found.url}): {found.snippet}",
        quote=found.snippet,
        confidence=round(confidence, 4),
        category=Category.REFERENCE,
        kind=_kind(f"{title} {found.snippet}"),
        form=Form.EVENT,
        volatility=Volatility.VOLATILE,
    )


def _kind(text: str) -> str:
    """What gives orders is an instruction, which a third party's words never become: the gates refuse it."""
    return Kind.INSTRUCTION if checks.is_directive(text) else Kind.ATTRIBUTE
