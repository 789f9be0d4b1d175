"""The events and passages behind facts, as far as a reader may know of them: conditions for use inside queries.

Events have no row in the search index, so their audience is put together here from what the index packs for passages.
An event is readable only as a whole: a passage of it can be stricter than the event, by the facts that cite it.
"""

from __future__ import annotations

from retrieval.visibility import Visibility


def audience(event: str, named: str) -> str:
    """Return a lateral join that gives the events of the alias ``event`` an audience under the alias ``named``."""
    return (
        f"LATERAL (SELECT {event}.account_id, {event}.scope_id, {event}.subject_id,"
        f" (CASE {event}.sensitivity WHEN 'public' THEN 0 WHEN 'internal' THEN 1 WHEN 'personal' THEN 2 ELSE 3 END"
        " + CASE WHEN es.kind = 'scope' THEN 16 ELSE 0 END)::smallint AS audience"
        f" FROM facts_subject es WHERE es.id = {event}.subject_id) {named}"
    )


def allowed(visible: Visibility, event: str, named: str) -> str:
    """Return the condition that the reader may read all of an event, whatever became of it since."""
    stricter = (
        f"SELECT 1 FROM facts_passage ep JOIN facts_passagetext et ON et.passage_id = ep.id"
        f" WHERE ep.account_id = {event}.account_id AND ep.event_id = {event}.id AND NOT ({visible.allowed('et')})"
    )
    return f"({visible.allowed(named)} AND NOT EXISTS ({stricter}))"


def said(event: str) -> str:
    """Return the condition that an event was said and recorded by the times asked about, and was not withdrawn."""
    return (
        f"({event}.withdrawn_at IS NULL AND {event}.occurred_at <= %(at)s"
        f" AND (%(known_at)s::timestamptz IS NULL OR {event}.recorded_at <= %(known_at)s))"
    )


def standing(event: str) -> str:
    """Return :func:`said` and that nothing of the event is forgotten or drawn into an open conflict."""
    kept_back = (
        f"SELECT 1 FROM facts_passage kp WHERE kp.account_id = {event}.account_id AND kp.event_id = {event}.id"
        " AND kp.withheld <> ''"
    )
    return f"({said(event)} AND NOT EXISTS ({kept_back}))"
