"""Doing the same to many conflict sets: what the pages for it need to know about them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from facts.models import ConflictDecision, ConflictSet, Fact
from governance import conflicts
from governance.access import Principal
from governance.reviewing import conflict_bulk, presence
from governance.reviewing.conflict_bulk import ConflictBulkVerb
from governance.reviewing.deciders import deciders_at
from governance.reviewing.many import Item, Result
from memory_site.admin_pages.conflict_summary import in_short, with_sides
from memory_site.admin_pages.deciding.many_pages import Many, Verb
from memory_site.admin_pages.deciding.stale import versions_of
from memory_site.admin_pages.deciding.typed_fields import day, membership_id, reason
from memory_site.admin_pages.governed import typed
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated

VERBS = {
    ConflictBulkVerb.DISMISS: Verb(
        title="Dismiss", button="They do not contradict", done="dismissed", needs_distinction=True
    ),
    ConflictBulkVerb.DEFER: Verb(title="Put off", button="Put them off", done="put off", needs_day=True),
    ConflictBulkVerb.CLAIM: Verb(title="Take", button="Take them", done="taken", is_undone=False),
    ConflictBulkVerb.ASSIGN: Verb(
        title="Give", button="Give them to somebody", done="given", needs_person=True, is_undone=False
    ),
}


def many_conflicts() -> Many:
    """Return how conflict sets are dealt with alike."""
    return Many(
        name="conflicts",
        noun="conflict",
        prefix="conflict",
        verbs=VERBS,
        rows=_rows,
        order=("opened_at", "id"),
        look_ahead=conflict_bulk.look_ahead,
        decide=_decide,
        decisions=ConflictDecision,
        about="conflict_set_id",
        take_back=conflicts.undo,
        value=lambda conflict: f"{conflict.pk}:{conflict.version}",
        shown=_shown,
        sides=_sides,
        people=_people,
    )


def _rows(eyes: Sight) -> object:
    return with_sides(eyes, eyes.conflicts())


def _shown(conflict: ConflictSet) -> tuple[SafeString, str]:
    name = isolated(conflict.subject.display_name)
    return format_html("{}: {}", name, in_short(conflict)), conflict.get_kind_display().lower()


def _sides(conflict: ConflictSet) -> list[Fact]:
    return [member.fact for member in conflict.loaded_members if member.left_at is None and member.fact is not None]


def _people(principal: Principal, rows: Sequence[ConflictSet]) -> list[tuple[str, str]]:
    """Return those who decide wherever one of the sets is."""
    paths = {conflict.scope.path for conflict in rows}
    return [(str(one.pk), presence.name_of(one)) for one in deciders_at(principal.account_id, *sorted(paths))]


def _decide(principal: Principal, items: Sequence[Item], form: QueryDict) -> Sequence[Result]:
    verb = form.get("verb", "")
    to: uuid.UUID | None = membership_id(form) if verb == ConflictBulkVerb.ASSIGN else None
    return conflict_bulk.decide_all(
        principal,
        items,
        verb=verb,
        seen=versions_of(form.getlist("seen")),
        rationale=reason(form, needed=False),
        distinction=typed(form, "distinction"),
        until=day(form) if verb == ConflictBulkVerb.DEFER else None,
        to=to,
    )
