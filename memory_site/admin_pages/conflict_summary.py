"""A conflict set in one line: what its sides say."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from facts.models import ConflictMember, ConflictSet
from memory_site.admin_pages.fact_display import plain, words
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated, shorten

#: Sides named in one line, and characters of each.
_SIDES, _LENGTH = 3, 60


def with_sides(eyes: Sight, conflicts: QuerySet[ConflictSet]) -> QuerySet[ConflictSet]:
    """Load the members and their facts with the sets, in two further queries."""
    members = ConflictMember.objects.filter(account_id=eyes.principal.account_id).order_by("fact_id")
    members = members.prefetch_related(Prefetch("fact", queryset=eyes.facts()))
    return conflicts.prefetch_related(Prefetch("members", queryset=members, to_attr="loaded_members"))


def in_short(conflict: ConflictSet) -> SafeString:
    """Return the claims that compete, such as "lives in: Lisbon / Porto", as far as they may be read."""
    members = [member for member in conflict.loaded_members if member.left_at is None or conflict.closed_at]
    # A side that the person may not even list was not loaded.
    sides = [getattr(member, "fact", None) for member in members]
    facts = [fact for fact in sides if fact is not None and fact.readable]
    if not facts:
        return isolated(words(conflict.reason) or conflict.kind)
    predicates = {fact.predicate for fact in facts}
    if len(predicates) == 1 and "" not in predicates:
        head, sides = f"{words(predicates.pop())}: ", [_value(fact.value) for fact in facts]
    else:
        head, sides = "", [fact.statement for fact in facts]
    shown = [shorten(side, _LENGTH) for side in sides[:_SIDES]]
    more = [f"{len(sides) - _SIDES} more"] if len(sides) > _SIDES else []
    return isolated(head) + format_html_join(" / ", "{}", ((isolated(side),) for side in [*shown, *more]))


def _value(value: object) -> str:
    """Return a value without the name of its only part."""
    if isinstance(value, dict) and len(value) == 1:
        return plain(next(iter(value.values())))
    return plain(value)
