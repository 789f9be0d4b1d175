"""What somebody said, and who was told what about them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from governance import pagination, subject_data
from memory_site.admin_pages.governed import typed
from memory_site.admin_pages.texts import shorten
from memory_site.portal import wording
from memory_site.portal.shell import member_page, render
from retrieval import served
from retrieval.served import ServedRead

#: Messages on one page, and characters shown of each.
PAGE, SHOWN_CHARACTERS = 25, 4_000
_READS = "portal.reads"


@dataclass(frozen=True, slots=True)
class WordedRead:
    """A read in everyday words, with the statements that it told, as far as they are shown to anybody."""

    read: ServedRead
    did: str
    statements: list[tuple[uuid.UUID, str]]
    hidden: int


@member_page()
def messages_page(request: HttpRequest) -> HttpResponse:
    """Show one page of what was said, newest first."""
    found, next_cursor = pagination.page(
        subject_data.messages(request.principal),
        listing="portal.messages",
        cursor=typed(request.GET, "after") or None,
        limit=PAGE,
    )
    shown = [
        (
            event,
            shorten(event.text, SHOWN_CHARACTERS),
            event.speaker_id == request.principal.subject_id,
            event.channel_name or event.channel_id,
            wording.SOURCE_TYPES[event.source_type],
        )
        for event in found
    ]
    return render(
        request,
        "messages.html",
        title="What you said",
        section="messages",
        messages_of=shown,
        next_cursor=next_cursor,
        is_first="after" not in request.GET,
    )


@member_page()
def reads_page(request: HttpRequest) -> HttpResponse:
    """Show one page of who was told what, newest first."""
    reads, next_cursor = reads_from(request)
    return render(
        request,
        "reads.html",
        title="Who was told about you",
        section="reads",
        reads=reads,
        next_cursor=next_cursor,
        is_first="after" not in request.GET,
        looked_through=served.OTHERS_LOOKED_THROUGH,
    )


def reads_from(request: HttpRequest, *, fact_id: uuid.UUID | None = None) -> tuple[list[WordedRead], str | None]:
    """Return the reads of the page that the address asks for, and the cursor of the next one.

    Raises ``DomainError`` (``invalid_cursor``).
    """
    principal, cursor = request.principal, typed(request.GET, "after")
    before = pagination.place_of(cursor, listing=_READS) if cursor else None
    found = served.reads_of(principal, before=before, fact_id=fact_id)
    told = {one for read in found.reads for one in read.facts}
    facts = subject_data.facts(principal).filter(pk__in=told).exclude(status__in=subject_data.WORDLESS)
    statements = dict(facts.order_by().values_list("pk", "statement"))
    worded = []
    for read in found.reads:
        shown = [(one, statements[one]) for one in read.facts if one in statements]
        worded.append(
            WordedRead(
                read=read,
                did=wording.READ_KINDS[read.kind],
                statements=shown,
                hidden=len(read.facts) - len(shown),
            )
        )
    return worded, pagination.cursor_for(found.before, listing=_READS) if found.before else None
