"""Everything held about a person, written for them: as JSON, and as one HTML page that needs nothing else.

Parts are read in batches and written one by one, so that a copy of any size takes little memory; all of it is read in
one transaction. It holds what the portal shows, and of others no more than that.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import orjson
from django.db.models import Model, QuerySet
from django.template.loader import render_to_string

from facts.clock import now
from facts.models import Event, Fact, Identity, Membership, Passage, Subject
from facts.tenancy import account_transaction
from governance import subject_data
from governance.access import Principal
from governance.api.consents import consents_shown, own_consents
from governance.api.self_data import dossier_shown, message_shown
from governance.models import Feedback, ForgetReceipt, Grant, Promotion
from ingest import opting_out
from ingest.models import Action, MoodEntry
from retrieval import served
from retrieval.api.self_views import read_shown
from retrieval.cards.building import Line
from retrieval.models import Card

#: What the file is, for programs that read it.
FORMAT = "memory.about-me/1"
#: Rows read at a time.
BATCH = 200
#: Pages of reads looked through at most: 80,000 reads beside those about the person; `complete` says if that was all.
READ_PAGES = 200

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a copy: its name in JSON, its heading, a sentence on it, and where its records come from."""

    name: str
    title: str
    says: str
    records: Callable[[Principal], Iterator[Record]]


def write_json(principal: Principal, file: IO[bytes]) -> None:
    """Write a copy as one JSON object."""
    with account_transaction(principal.account_id):
        head = orjson.dumps(_about(principal), option=orjson.OPT_INDENT_2)
        file.write(head.rstrip(b"}").rstrip())
        for part in PARTS:
            file.write(b',\n  "' + part.name.encode() + b'": [')
            for number, record in enumerate(part.records(principal)):
                file.write(b",\n    " if number else b"\n    ")
                file.write(orjson.dumps(record, default=str))
            file.write(b"\n  ]")
        file.write(b"\n}\n")


def write_html(principal: Principal, file: IO[bytes]) -> None:
    """Write a copy as one page to be read; what machines need beside it stands in the JSON."""
    with account_transaction(principal.account_id):
        about = _about(principal)
        file.write(render_to_string("portal/export/head.html", {"about": about, "parts": PARTS}).encode())
        for part in PARTS:
            file.write(render_to_string("portal/export/part.html", {"part": part}).encode())
            number = 0
            for number, record in enumerate(part.records(principal), start=1):  # noqa: B007 counted for the end
                rows = [(name, value) for name, value in record.items() if value not in (None, "", [], {})]
                said = {"record": record, "rows": rows, "part": part.name}
                file.write(render_to_string("portal/export/record.html", said).encode())
            file.write(render_to_string("portal/export/part_end.html", {"number": number}).encode())
        file.write(render_to_string("portal/export/foot.html").encode())


def receipt_said(receipt: ForgetReceipt) -> Record:
    """Return a receipt as it is handed out: what went, in counts and keyed hashes, and when."""
    return {
        "id": str(receipt.pk),
        "mode": receipt.mode,
        "target": receipt.target,
        "target_id": str(receipt.target_id),
        "created_at": receipt.created_at.isoformat(),
        "lifted_at": receipt.lifted_at.isoformat() if receipt.lifted_at else None,
        "counters": receipt.counters,
    }


def _about(principal: Principal) -> Record:
    """Return who the copy is about, and how they are known."""
    owned = {"account_id": principal.account_id, "subject_id": principal.subject_id}
    membership = Membership.objects.select_related("user", "account", "subject").get(
        account_id=principal.account_id, pk=principal.membership_id
    )
    subject: Subject = membership.subject
    grants = Grant.objects.filter(**owned).select_related("scope").order_by("scope__path", "role", "effect")
    return {
        "format": FORMAT,
        "written_at": now(),
        "account": {"key": membership.account.key, "name": membership.account.name},
        "person": {
            "id": subject.pk,
            "key": subject.key,
            "name": subject.name,
            "known_since": subject.created_at,
            "signs_in_as": membership.user.get_username(),
            "e_mail": membership.user.email,
            "identities": [
                {"platform": one.platform, "value": one.value}
                for one in Identity.objects.filter(**owned).order_by("platform", "value")
            ],
            "roles": [
                {"scope": one.scope.path, "role": one.role, "effect": one.effect, "propagates": one.propagates}
                for one in grants
            ],
            "remembered_from_channels": not opting_out.is_opted_out(principal.account_id, principal.subject_id),
        },
    }


def _batches(found: QuerySet) -> Iterator[list[Any]]:
    """Return the rows of a queryset in batches, newest first."""
    before: uuid.UUID | None = None
    while True:
        rows: list[Model] = list((found if before is None else found.filter(pk__lt=before)).order_by("-pk")[:BATCH])
        if rows:
            yield rows
        if len(rows) < BATCH:
            return
        before = rows[-1].pk


def _facts(principal: Principal) -> Iterator[Record]:
    for found in _batches(subject_data.facts(principal)):
        yield from (dossier_shown(one) for one in subject_data.dossiers(principal, found))


def _messages(principal: Principal) -> Iterator[Record]:
    for found in _batches(subject_data.messages(principal)):
        passages = _passages(principal, found)
        for event in found:
            hidden = event.is_hidden
            yield {**message_shown(event, principal), "passages": [] if hidden else passages.get(event.pk, [])}


def _passages(principal: Principal, found: list[Event]) -> dict[uuid.UUID, list[Record]]:
    rows = Passage.objects.filter(account_id=principal.account_id, event__in=[event.pk for event in found])
    passages: dict[uuid.UUID, list[Record]] = {}
    for row in rows.order_by("event_id", "ordinal"):
        passages.setdefault(row.event_id, []).append(
            {"id": row.pk, "speaker": row.speaker_name, "text": row.text, "sensitivity": row.sensitivity}
        )
    return passages


def _consents(principal: Principal) -> Iterator[Record]:
    for found in _batches(own_consents(principal)):
        yield from consents_shown(found)


def _promotions(principal: Principal) -> Iterator[Record]:
    for found in _batches(subject_data.promotions(principal)):
        yield from (_promotion(one) for one in found)


def _promotion(row: Promotion) -> Record:
    return {
        "id": row.pk,
        "fact_id": row.fact_id,
        "statement": None if row.fact.status in subject_data.WORDLESS else row.fact.statement,
        "target": row.target.path,
        "status": row.status,
        "reason": row.reason,
        "requested_by": row.requested_by.get("name", ""),
        "requested_at": row.requested_at,
        "closed_at": row.closed_at,
    }


def _contests(principal: Principal) -> Iterator[Record]:
    own = Feedback.objects.filter(account_id=principal.account_id, actor__membership_id=str(principal.membership_id))
    for found in _batches(own):
        for row in found:
            yield {
                "id": row.pk,
                "fact_id": row.fact_id,
                "trace_id": row.trace_id,
                "rating": row.rating,
                "comment": row.comment,
                "created_at": row.created_at,
            }


def _reads(principal: Principal) -> Iterator[Record]:
    before: uuid.UUID | None = None
    for _ in range(READ_PAGES):
        page = served.reads_of(principal, before=before)
        yield from (read_shown(read) for read in page.reads)
        before = page.before
        if before is None:
            return
    yield {"complete": False, "looked_back_to": before}


def _cards(principal: Principal) -> Iterator[Record]:
    """Return the summaries about the person, each line only while everything that it rests on is shown to them."""
    own = Card.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id).exclude(builder="")
    for found in _batches(own.select_related("scope")):
        lines = {card.pk: [Line.stored(line) for line in card.lines] for card in found}
        cited = {fact_id for kept in lines.values() for line in kept for fact_id in line.facts}
        shown = _shown_facts(principal, cited)
        for card in found:
            yield {
                "id": card.pk,
                "kind": card.kind,
                "scope": card.scope.path,
                "built_at": card.built_at,
                "lines": [
                    {"text": line.text, "fact_ids": list(line.facts)}
                    for line in lines[card.pk]
                    if line.facts and set(line.facts) <= shown
                ],
            }


def _shown_facts(principal: Principal, cited: set[uuid.UUID]) -> set[uuid.UUID]:
    own: QuerySet[Fact] = subject_data.facts(principal).filter(pk__in=cited).exclude(status__in=subject_data.WORDLESS)
    return set(own.order_by().values_list("pk", flat=True))


def _moods(principal: Principal) -> Iterator[Record]:
    for found in _batches(MoodEntry.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id)):
        for row in found:
            yield {"day": row.day, "score": row.score, "source": row.source, "note": row.note, "fact_ids": row.facts}


def _actions(principal: Principal) -> Iterator[Record]:
    """Return what was done about facts on the person; it holds no words but theirs."""
    own = Action.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id)
    for found in _batches(own.select_related("scope")):
        for row in found:
            yield {
                "id": row.pk,
                "fact_id": row.fact_id,
                "kind": row.kind,
                "state": row.state,
                "scope": row.scope.path,
                "due_on": row.due_on,
                "created_at": row.created_at,
            }


def _receipts(principal: Principal) -> Iterator[Record]:
    for found in _batches(subject_data.receipts(principal)):
        yield from (receipt_said(row) for row in found)


PARTS: tuple[Part, ...] = (
    Part("facts", "What is known", "With sources, who may read it, and how it came to be known.", _facts),
    Part("events", "What you said", "Your messages and those of your conversations, as they were taken in.", _messages),
    Part("consents", "Your consents", "What you were asked, and what you answered.", _consents),
    Part("promotions", "Asked for about you", "What others wanted to be known more widely.", _promotions),
    Part("feedback", "What you said about it", "What you contested or rated, in your words.", _contests),
    Part("reads", "Who was told", "Applications and people that were told something about you, and when.", _reads),
    Part("cards", "Summaries", "What was written together about you.", _cards),
    Part("moods", "How you felt", "One entry a day, as you entered it or as it was read out of what you said.", _moods),
    Part("actions", "What was done about it", "Tasks, blockers and notices that came of what is known.", _actions),
    Part("receipts", "Receipts", "What was hidden or erased before.", _receipts),
)
