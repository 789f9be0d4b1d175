"""Reading what was typed and pressed on the page of a conflict set, and handing it to the services."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time
from typing import Any

from django.http import Http404, QueryDict
from django.utils.dateparse import parse_date

from facts.errors import DomainError
from facts.models import ConflictDecision, ConflictMember, ConflictSet, Fact
from governance import conflicts
from governance.access import Principal
from governance.reviewing import conflict_claims, remarks
from memory_site.admin_pages.deciding.stale import versions_of
from memory_site.admin_pages.deciding.typed_fields import membership_id, reason
from memory_site.admin_pages.governed import typed as text_of

#: What each decision did, for the message after it and in the history.
VERBS = {
    "keep_one": "One side was kept; the others ended or never took effect.",
    "keep_one_never_true": "One side was kept; the others were never true.",
    "reject_all": "No side was ever true.",
    "keep_by_qualifier": "All sides were kept, each under its own condition.",
    "keep_by_interval": "All sides were kept, each in its own time.",
    "keep_as_events": "All sides were kept as separate occurrences.",
    "dismiss": "There is no contradiction; it will not be proposed again.",
    "defer": "Put off.",
}
#: What was about to be decided, for who finds that something changed meanwhile.
_MEANT = {
    "reject_all": "None of them was ever true",
    "keep_by_qualifier": "Keep all, each under its own condition",
    "keep_by_interval": "Keep all, each in its own time",
    "keep_as_events": "Keep all as separate occurrences",
    "dismiss": "There is no contradiction",
    "defer": "Put it off",
}
#: What decides nothing.
ASIDES = {
    "claim": "It is yours to decide.",
    "release": "Anybody may decide it again.",
    "assign": "It is in other hands now.",
    "remark": "Written. Everybody who decides here sees it.",
}
#: Decisions that take something away for good reasons only.
_NEEDS_REASON = {"reject_all", "keep_one_never_true"}


def aside(principal: Principal, conflict: ConflictSet, form: QueryDict) -> None:
    """Do what decides nothing: change in whose hands it is, or write a remark. Raises ``DomainError``."""
    match form.get("verb", ""):
        case "claim":
            conflict_claims.claim(principal, conflict.pk)
        case "release":
            conflict_claims.assign(principal, conflict.pk, to=None)
        case "assign":
            conflict_claims.assign(principal, conflict.pk, to=membership_id(form))
        case _:
            remarks.about_conflict(principal, conflict.pk, text=text_of(form, "remark"))


def decide(principal: Principal, conflict: ConflictSet, form: QueryDict) -> ConflictDecision:
    """Call the service that the pressed button stands for. Raises ``DomainError``, also for an unknown button."""
    verb, _, argument = form.get("verb", "").partition(":")
    taking = _DECISIONS.get(verb)
    if taking is None:
        raise DomainError("Choose one of the decisions.", code="unknown_decision", field="verb")
    conflicts.check_seen(principal, conflict.pk, versions=versions_of(form.getlist("seen")))
    common = {"rationale": reason(form, needed=verb in _NEEDS_REASON), "expected_version": version(form)}
    return taking(principal, conflict, form, argument, common)


def meant(form: QueryDict, facts: Sequence[Fact]) -> str:
    """Return in words what the pressed button was about to decide."""
    verb, _, argument = form.get("verb", "").partition(":")
    if verb not in {"keep_one", "keep_one_never_true"}:
        return _MEANT.get(verb, "")
    number = next((number for number, fact in enumerate(facts, start=1) if str(fact.pk) == argument), None)
    side = f"side {number}" if number else "a side that is not there any more"
    return f"Keep {side}" + (", the rest was never true" if verb == "keep_one_never_true" else "")


def version(form: QueryDict) -> int:
    """Return the version that the form was made from; one that no set has, where the form does not say."""
    text = form.get("version", "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1


def _keep(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    never_true = form.get("verb", "").startswith("keep_one_never_true")
    return conflicts.keep_one(
        principal, conflict.pk, fact_id=_fact_id(argument), others_never_true=never_true, **common
    )


def _by_qualifier(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    qualifiers: dict[uuid.UUID, dict[str, str]] = {}
    for member in _members(conflict):
        name, value = text_of(form, f"condition:{member}"), text_of(form, f"value:{member}")
        if name and value:
            qualifiers[member] = {name: value}
    return conflicts.keep_by_qualifier(principal, conflict.pk, qualifiers=qualifiers, **common)


def _by_interval(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    intervals = {member: (_day(form, f"from:{member}"), _day(form, f"to:{member}")) for member in _members(conflict)}
    return conflicts.keep_by_interval(principal, conflict.pk, intervals=intervals, **common)


def _as_events(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    return conflicts.keep_as_events(principal, conflict.pk, **common)


def _none_true(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    return conflicts.reject_all(principal, conflict.pk, **common)


def _dismiss(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    return conflicts.dismiss(principal, conflict.pk, distinction=text_of(form, "distinction"), **common)


def _defer(
    principal: Principal, conflict: ConflictSet, form: QueryDict, argument: str, common: dict[str, Any]
) -> ConflictDecision:
    until = _day(form, "until")
    if until is None:
        raise DomainError("Say until when.", code="invalid_date", field="until")
    return conflicts.defer(principal, conflict.pk, until=until, **common)


_DECISIONS: dict[str, Callable[..., ConflictDecision]] = {
    "keep_one": _keep,
    "keep_one_never_true": _keep,
    "keep_by_qualifier": _by_qualifier,
    "keep_by_interval": _by_interval,
    "keep_as_events": _as_events,
    "reject_all": _none_true,
    "dismiss": _dismiss,
    "defer": _defer,
}


def _members(conflict: ConflictSet) -> list[uuid.UUID]:
    rows = ConflictMember.objects.filter(account_id=conflict.account_id, conflict_set=conflict, left_at__isnull=True)
    return list(rows.values_list("fact_id", flat=True))


def _fact_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Http404 from None


def _day(form: QueryDict, name: str) -> datetime | None:
    """Return the start of a day, UTC; ``None`` for an empty field. Raises ``DomainError`` (``invalid_date``)."""
    text = text_of(form, name)
    if not text:
        return None
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        raise DomainError("A date looks like 2026-03-31.", code="invalid_date", field=name.partition(":")[0])
    return datetime.combine(day, time.min, tzinfo=UTC)
