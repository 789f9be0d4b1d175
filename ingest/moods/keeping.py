"""Writing moods down: what was read out of a day's facts, never over what the person entered."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.db.models.functions import Coalesce

from facts import isolation
from facts.clock import now
from facts.ids import new_id
from facts.models import Account, ConflictMember, Fact, OutboxEntry
from facts.models.evidence import Withheld
from facts.tenancy import account_transaction
from facts.timezones import zone_of
from facts.vocabulary import Category, Status, SubjectKind
from ingest.models import MoodEntry, MoodSource
from ingest.moods import scoring

#: What is noted with an entry that nobody entered.
NOTE = "Auto-detected"
#: The hour of the account's own day from which that day is scored.
HOUR = 23
#: Days back that are looked at again: what was said late in the day may become current after it.
DAYS_BACK = 2
#: Statements of one day that are scored, the latest.
STATEMENTS = 30


def detect_everywhere() -> int:
    """Score the days that are due in every account; return how many entries were written."""
    accounts = Account.objects.values_list("id", flat=True)
    return isolation.each_account(accounts, detect, name="detect_moods")


def detect(account_id: uuid.UUID) -> int:
    """Score the account's last days, for every person with something new to score; return how many were written."""
    account = Account.objects.get(pk=account_id)
    zone = zone_of(account.timezone)
    here = now().astimezone(zone)
    first = here.date() - timedelta(days=DAYS_BACK)
    last = here.date() if here.hour >= HOUR else here.date() - timedelta(days=1)
    with account_transaction(account_id):
        due = _due(account_id, first=first, last=last, zone=zone)
    written = 0
    for (subject_id, day), facts in due.items():
        score, scorer = scoring.score(account_id, [fact.statement for fact in facts])
        with account_transaction(account_id):
            written += _write(account_id, subject_id, day, score=score, scorer=scorer, facts=facts)
    return written


def note_changes(account_id: uuid.UUID, entries: Sequence[OutboxEntry]) -> None:
    """Take away what rests on facts that are current no more, or that are withheld; a handler of the outbox. A day
    that is still looked at is scored anew from what is left."""
    changed = {entry.object_id for entry in entries if entry.topic == "fact.changed"}
    conflicts = [entry.object_id for entry in entries if entry.topic.startswith("conflict.")]
    if conflicts:
        members = ConflictMember.objects.filter(account_id=account_id, conflict_set__in=conflicts)
        changed.update(members.values_list("fact_id", flat=True))
    signals = Fact.objects.filter(account_id=account_id, pk__in=changed, category=Category.MOOD_SIGNAL)
    gone = signals.exclude(status=Status.ACTIVE, withheld=Withheld.NOTHING)
    ids = [str(pk) for pk in gone.values_list("pk", flat=True)]
    if ids:
        detected = MoodEntry.objects.filter(account_id=account_id, source=MoodSource.DETECTED)
        detected.filter(facts__has_any_keys=ids).delete()


def _due(account_id: uuid.UUID, *, first: date, last: date, zone: ZoneInfo) -> dict[tuple[uuid.UUID, date], list[Fact]]:
    """Return, by person and day, the facts to score: days with an entry of the same facts, or one of the person's
    own, are left out."""
    current = Fact.objects.filter(
        account_id=account_id,
        category=Category.MOOD_SIGNAL,
        status=Status.ACTIVE,
        withheld=Withheld.NOTHING,
        subject__kind=SubjectKind.PERSON,
    ).annotate(at=Coalesce("valid_from", "recorded_from"))
    span = Q(at__gte=_midnight(first, zone), at__lt=_midnight(last + timedelta(days=1), zone))
    found: dict[tuple[uuid.UUID, date], list[Fact]] = defaultdict(list)
    for fact in current.filter(span).order_by("at", "id"):
        found[fact.subject_id, fact.at.astimezone(zone).date()].append(fact)
    known = {
        (entry.subject_id, entry.day): entry
        for entry in MoodEntry.objects.filter(account_id=account_id, day__gte=first, day__lte=last)
    }
    latest = {key: facts[-STATEMENTS:] for key, facts in found.items()}
    return {key: facts for key, facts in latest.items() if _is_news(known.get(key), facts)}


def _is_news(entry: MoodEntry | None, facts: Sequence[Fact]) -> bool:
    if entry is None:
        return True
    return entry.source == MoodSource.DETECTED and entry.facts != [str(fact.id) for fact in facts]


def _write(
    account_id: uuid.UUID, subject_id: uuid.UUID, day: date, *, score: int, scorer: str, facts: Sequence[Fact]
) -> int:
    """Write an entry unless the person has entered one meanwhile, or a fact was withdrawn while it was scored."""
    ids = [fact.id for fact in facts]
    held = Fact.objects.select_for_update().filter(account_id=account_id, pk__in=ids, status=Status.ACTIVE)
    if len(list(held.values_list("pk", flat=True))) != len(ids):
        return 0
    values = {"score": score, "scorer": scorer, "facts": [str(pk) for pk in ids], "note": NOTE, "updated_at": now()}
    entry, created = MoodEntry.objects.get_or_create(
        account_id=account_id,
        subject_id=subject_id,
        day=day,
        defaults={"id": new_id(), "source": MoodSource.DETECTED, **values},
    )
    if created:
        return 1
    mine = MoodEntry.objects.filter(account_id=account_id, pk=entry.pk, source=MoodSource.DETECTED)
    return mine.update(**values)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)
