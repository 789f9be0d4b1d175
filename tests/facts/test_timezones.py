"""Time zones of accounts: what is no name is refused everywhere, and what cannot be read goes by UTC and says so."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from facts import tenancy, timezones
from facts.errors import DomainError
from facts.models import Account, Job
from facts.vocabulary import Category
from ingest.models import MoodEntry
from ingest.moods import keeping
from ingest.reasoning import passing
from retrieval.cards import nightly
from tests.factories import FactFactory, SubjectFactory

#: Has the form of a name, and is none.
NOWHERE = "Mars/Olympus"
NIGHT = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "name", ["", " ", NOWHERE, "../etc/passwd", "/etc/localtime", "Europe", "Europe/Paris\0", "a" * 70]
)
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(DomainError) as caught:
        timezones.check(name)
    assert (caught.value.code, caught.value.field) == ("unknown_timezone", "timezone")
    assert timezones.zone_of(name).key == "UTC"


def test_what_is_one_is_taken_without_the_space_around_it() -> None:
    assert timezones.check(" Europe/Paris ") == "Europe/Paris"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "Europe Paris", "../etc", "Europe/", "é"])
def test_the_database_keeps_what_is_no_name_from_being_written(account: Account, name: str) -> None:
    with pytest.raises(DomainError):
        tenancy.create_account(key="other", name="Other", timezone=name)
    with pytest.raises(IntegrityError, match="account_timezone_is_a_name"), transaction.atomic():
        Account.objects.filter(pk=account.pk).update(timezone=name)


@pytest.mark.django_db
def test_an_account_whose_zone_cannot_be_read_has_its_days_and_nights_by_utc(
    account: Account, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    FactFactory(
        subject=SubjectFactory(account=account, key="ana"),
        category=Category.MOOD_SIGNAL,
        statement="Ana is happy.",
        valid_from=NIGHT,
    )
    Account.objects.filter(pk=account.pk).update(timezone=NOWHERE, created_at=NIGHT.replace(year=2025))
    for module in (keeping, nightly, passing):
        monkeypatch.setattr(module, "now", lambda: NIGHT)
    with caplog.at_level(logging.WARNING, logger=timezones.__name__):
        keeping.detect(account.id)
        nightly._submit_night(account.id)
        passing._submit_night(account.id)
    assert [entry.day.isoformat() for entry in MoodEntry.objects.all()] == ["2026-03-02"]
    begun = Job.objects.filter(kind__in=[nightly.BEGIN, passing.BEGIN]).values_list("kind", "input_key")
    assert set(begun) == {(nightly.BEGIN, "2026-03-02"), (passing.BEGIN, "2026-03-02")}
    assert {record.timezone for record in caplog.records if record.message == "unknown_timezone"} == {NOWHERE}
