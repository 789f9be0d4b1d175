"""What people say of their own mood, and who may read moods. Runs inside the account."""

from __future__ import annotations

from datetime import date, timedelta

from django.db.models import QuerySet

from facts import audit
from facts.clock import now
from facts.errors import DomainError, NotFound, Refused
from facts.ids import new_id
from facts.models import Account
from facts.timezones import zone_of
from governance.access import Principal, has_role
from governance.models import Role
from ingest.models import MoodEntry, MoodSource
from ingest.normalise import clean_text

#: How far back a mood may be entered.
DAYS_BACK = 31


def enter(principal: Principal, *, score: int, day: date | None = None, note: str = "") -> MoodEntry:
    """Write down how the person felt on a day, today by default, in place of what was there; return the entry.

    Raises ``Refused`` (``human_required``) and ``DomainError`` (``invalid_mood`` with the field).
    """
    if not principal.is_person or principal.subject_id is None:
        raise Refused("A person says this of themselves.", code="human_required")
    if isinstance(score, bool) or not 1 <= score <= 5:
        raise DomainError("A whole number from 1 to 5.", code="invalid_mood", field="score")
    today = _today(principal)
    day = day or today
    if not today - timedelta(days=DAYS_BACK) <= day <= today:
        raise DomainError(f"One of the last {DAYS_BACK} days.", code="invalid_mood", field="day")
    note = " ".join(clean_text(note)[0].split())[:500]
    values = {
        "score": score,
        "note": note,
        "source": MoodSource.MANUAL,
        "facts": [],
        "scorer": "",
        "updated_at": now(),
    }
    entry, _ = MoodEntry.objects.update_or_create(
        account_id=principal.account_id,
        subject_id=principal.subject_id,
        day=day,
        defaults=values,
        create_defaults={"id": new_id(), **values},
    )
    _record(principal, entry, "mood.entered")
    return entry


def remove(principal: Principal, *, day: date) -> None:
    """Take an entry of the person's own away, entered or detected. Raises ``Refused`` and ``NotFound``
    (``mood_not_found``)."""
    if not principal.is_person or principal.subject_id is None:
        raise Refused("A person says this of themselves.", code="human_required")
    entry = MoodEntry.objects.filter(account_id=principal.account_id, subject_id=principal.subject_id, day=day).first()
    if entry is None:
        raise NotFound("There is no entry of that day.", code="mood_not_found")
    _record(principal, entry, "mood.removed")
    entry.delete()


def visible(principal: Principal) -> QuerySet[MoodEntry]:
    """Return the entries that the caller may read: their own; all, for those who decide in the whole account."""
    entries = MoodEntry.objects.filter(account_id=principal.account_id).select_related("subject")
    if not principal.is_person:
        return entries.none()
    if has_role(principal, "/", Role.CURATOR):
        return entries
    return entries.filter(subject_id=principal.subject_id)


def _today(principal: Principal) -> date:
    zone = zone_of(Account.objects.values_list("timezone", flat=True).get(pk=principal.account_id))
    return now().astimezone(zone).date()


def _record(principal: Principal, entry: MoodEntry, action: str) -> None:
    """Write down that there was an entry, never how the person felt."""
    audit.record(
        principal.account_id,
        action=action,
        object_type="mood",
        object_id=entry.id,
        actor=principal.actor,
        group=new_id(),
        metadata={"day": entry.day.isoformat(), "source": entry.source},
    )
