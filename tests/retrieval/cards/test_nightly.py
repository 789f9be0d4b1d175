"""Nights: once for each local day of an account, by whatever clock, in the ledger, card by card."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from facts import embedding as embedders
from facts import jobs, long_jobs, outbox
from facts.clock import now
from facts.models import Account, Event, Job, LongJob, Subject
from facts.models.records import JobStatus
from facts.tenancy import account_transaction
from retrieval.cards import composing, embedding, nightly
from retrieval.cards.composing import ComposeFailed, Proposed, Task
from retrieval.models import Card, CardKind, CardVector
from tests.factories import AccountFactory, EventFactory, SubjectFactory
from tests.retrieval.cards.conftest import Work, shared

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("timezone", "at", "night"),
    [
        ("UTC", "2026-11-30T22:59:59", date(2026, 11, 29)),
        ("UTC", "2026-11-30T23:00:00", date(2026, 11, 30)),
        ("Asia/Kolkata", "2026-11-30T17:29:00", date(2026, 11, 29)),
        ("Asia/Kolkata", "2026-11-30T17:30:00", date(2026, 11, 30)),
        ("Pacific/Kiritimati", "2026-11-30T09:00:00", date(2026, 11, 30)),
        ("America/Los_Angeles", "2026-12-01T07:00:00", date(2026, 11, 30)),
        # put forward at 2:00 and back at 3:00
        ("Europe/Paris", "2026-03-29T20:59:00", date(2026, 3, 28)),
        ("Europe/Paris", "2026-03-29T21:00:00", date(2026, 3, 29)),
        ("Europe/Paris", "2026-10-25T21:59:00", date(2026, 10, 24)),
        ("Europe/Paris", "2026-10-25T22:00:00", date(2026, 10, 25)),
    ],
)
def test_the_night_of_a_day_begins_at_eleven_by_the_clock_on_the_wall(timezone: str, at: str, night: date) -> None:
    assert nightly.night_of(timezone, datetime.fromisoformat(at).replace(tzinfo=UTC)) == night


@pytest.mark.parametrize("timezone", ["Asia/Beirut", "Africa/Cairo", "America/Santiago", "Pacific/Apia", "Asia/Gaza"])
def test_each_local_day_has_one_night_also_where_midnight_is_skipped_or_comes_twice(timezone: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    seen = [nightly.night_of(timezone, start + number * HOUR / 2) for number in range(2 * 24 * 366)]
    assert seen == sorted(seen)
    days = sorted(set(seen))
    assert days == [days[0] + timedelta(days=number) for number in range(len(days))]


def _at(monkeypatch: pytest.MonkeyPatch, at: datetime) -> None:
    monkeypatch.setattr(nightly, "now", lambda: at)


def _nights(account: Account) -> list[str]:
    with account_transaction(account.id):
        found = Job.objects.filter(account_id=account.id, kind=nightly.BEGIN)
        return list(found.order_by("id").values_list("input_key", flat=True))


def test_a_night_begins_once_and_missed_ones_are_caught_up_by_one(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    Account.objects.filter(pk=account.pk).update(timezone="Asia/Tokyo", created_at=datetime(2026, 3, 1, tzinfo=UTC))
    for at in ("03-10T13:59", "03-10T14:00", "03-10T14:00", "03-11T13:00", "03-15T20:00", "03-15T20:05"):
        _at(monkeypatch, datetime.fromisoformat(f"2026-{at}").replace(tzinfo=UTC))
        nightly.begin_nights()
    assert _nights(account) == ["2026-03-09", "2026-03-10", "2026-03-15"]


def test_an_account_has_no_night_before_its_first_day(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    created = datetime(2026, 3, 10, 12, tzinfo=UTC)
    Account.objects.filter(pk=account.pk).update(created_at=created)
    _at(monkeypatch, created + HOUR)
    nightly.begin_nights()
    assert _nights(account) == []
    _at(monkeypatch, created + 11 * HOUR)
    nightly.begin_nights()
    assert _nights(account) == ["2026-03-10"]


class Failing:
    """A composer that fails for cards with a word in their facts, as often as it is told to."""

    identity = "failing:test:1"

    def __init__(self) -> None:
        self.word, self.times, self.everywhere, self.error_class = "", 0, False, "provider_rejected"

    def compose(self, *, account_id: uuid.UUID, task: Task) -> Sequence[Proposed]:
        """Answer or fail."""
        if self.times and any(self.word in fact.text for fact in task.facts):
            self.times -= 1
            raise ComposeFailed(self.error_class, everywhere=self.everywhere)
        section = task.sections[0] if task.sections else ""
        return [Proposed(section=section, text=f"So: {fact.text}", numbers=(fact.number,)) for fact in task.facts]


@pytest.fixture
def composer() -> Iterator[Failing]:
    failing = Failing()
    composing.register(lambda: failing)
    yield failing
    composing.register(None)


@pytest.fixture
def due(account: Account, ana: Subject, work: Work) -> list[Card]:
    """Two people with two profiles each, and a card of their scope: all due."""
    ben = SubjectFactory(account=account, key="ben", name="Ben")
    for subject in (ana, ben):
        for name in ("Atlas", "Borealis"):
            shared(subject, f"{subject.name} leads {name}.", valid_from=None)
    work()
    return list(Card.objects.exclude(kind=CardKind.ENTITY_CARD))


def _night(account: Account) -> LongJob:
    """Begin a night and return its work."""
    job = jobs.submit(account.id, kind=nightly.BEGIN, input_key="2026-03-10")
    nightly.begin_night(account.id, job.id)
    nightly.begin_night(account.id, job.id)
    assert Job.objects.get(pk=job.pk).status == JobStatus.DONE
    return LongJob.objects.get(kind=nightly.NIGHT)


def _steps(account: Account, work: LongJob) -> list[str]:
    """Do the steps of the work to its end, pauses left out; return what it paused for."""
    run = long_jobs.take(account.id, work.pk)
    assert run is not None
    reasons: list[str] = []
    for _ in range(60):
        done = nightly.step(run)
        if done.finished:
            return reasons
        if done.reason:
            reasons.append(done.reason)
    raise AssertionError("the night does not end")


def test_a_night_compacts_card_by_card_what_is_due(account: Account, due: list[Card], composer: Failing) -> None:
    work = _night(account)
    assert work.total == len(due) == 5
    assert _steps(account, work) == []
    work.refresh_from_db()
    assert (work.done, work.counts) == (5, {"composed": 5})
    assert not Card.objects.filter(compact_due=True).exists()
    assert set(Card.objects.values_list("builder", flat=True)) == {"failing:test:1"}
    again = jobs.submit(account.id, kind=nightly.BEGIN, input_key="2026-03-11")
    nightly.begin_night(account.id, again.id)
    assert LongJob.objects.count() == 1


def test_a_card_that_fails_stops_no_other_and_is_tried_again(
    account: Account, due: list[Card], composer: Failing
) -> None:
    composer.word, composer.times = "Ana leads", 4
    assert _steps(account, _night(account)) == ["cards_not_composed", "cards_not_composed"]
    assert LongJob.objects.get().counts == {"composed": 5, "failed": 4}
    assert not Card.objects.filter(compact_due=True).exists()


def test_what_always_fails_is_left_for_the_next_night(account: Account, due: list[Card], composer: Failing) -> None:
    composer.word, composer.times = "Ben", 99
    _steps(account, _night(account))
    left = Card.objects.filter(compact_due=True)
    assert {card.kind for card in left} == {"subject_profile", "shared_profile", "scope_card"}
    assert all(card.lines and card.builder.startswith("extractive") for card in left)


@pytest.mark.parametrize(
    ("error_class", "pause"), [("budget_tight", 60), ("budget_exhausted", 60), ("provider_unavailable", 15)]
)
def test_a_night_pauses_while_no_card_can_be_worded(
    account: Account, due: list[Card], composer: Failing, error_class: str, pause: int
) -> None:
    composer.times, composer.everywhere, composer.error_class = 1, True, error_class
    run = long_jobs.take(account.id, _night(account).pk)
    assert run is not None
    paused = nightly.step(run)
    assert (paused.pause, paused.reason) == (timedelta(minutes=pause), error_class)
    assert Card.objects.filter(compact_due=True).count() == 5
    nightly.step(run)
    assert Card.objects.filter(compact_due=True).count() == 4


def test_a_session_is_summed_up_when_it_has_gone_quiet(
    account: Account, ana: Subject, work: Work, composer: Failing, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SESSION_QUIET_MINUTES = 30
    said = now()
    for number in range(3):
        event = EventFactory(subject=ana, thread="s-1", text=f"said {number}")
        shared(ana, f"Ana asked {number}.", event=event, valid_from=None)
    Event.objects.filter(thread="s-1").update(occurred_at=said)
    work()
    _at(monkeypatch, said + timedelta(minutes=29))
    assert nightly.submit_quiet_sessions() == 0
    _at(monkeypatch, said + timedelta(minutes=30))
    assert nightly.submit_quiet_sessions() == 2
    assert nightly.submit_quiet_sessions() == 2
    found = list(Job.objects.filter(kind=nightly.ONE))
    assert len(found) == 2
    for job in found:
        nightly.run_one(account.id, job.id)
    summaries = Card.objects.filter(kind=CardKind.SESSION_SUMMARY)
    assert {tuple(line["text"] for line in card.lines) for card in summaries} == {
        ("So: Ana asked 0.", "So: Ana asked 1.", "So: Ana asked 2.")
    }
    assert nightly.submit_quiet_sessions() == 0


def test_a_card_that_was_asked_for_is_tried_again_when_its_model_fails(
    account: Account, due: list[Card], composer: Failing
) -> None:
    nightly.ask_for(due[0])
    job = Job.objects.get(kind=nightly.ONE)
    composer.times, composer.everywhere, composer.error_class = 1, True, "provider_unavailable"
    nightly.run_one(account.id, job.id)
    job.refresh_from_db()
    assert (job.status, job.error_class, job.attempts) == (JobStatus.QUEUED, "provider_unavailable", 0)
    assert job.run_after > now() + timedelta(minutes=14)
    Job.objects.update(run_after=now())
    nightly.run_one(account.id, job.id)
    job.refresh_from_db()
    assert job.status == JobStatus.DONE
    assert Card.objects.get(pk=due[0].pk).builder == "failing:test:1"


def test_what_cards_say_is_embedded_once_for_each_version(account: Account, due: list[Card]) -> None:
    assert embedding.embed_stale(account.id) == 5
    assert embedding.embed_stale(account.id) == 0
    vector = CardVector.objects.get(card=due[0])
    provider = embedders.provider()
    assert provider is not None
    text = embedding.text_of(due[0].title, due[0].lines)
    (expected,) = provider.embed_documents([text])
    assert list(vector.h) == pytest.approx([float(number) for number in expected], abs=1e-3)
    assert vector.space_id == embedders.space(provider.identity).id
    Card.objects.filter(pk=due[0].pk).update(version=9)
    assert embedding.embed_stale(account.id) == 1


@pytest.mark.django_db(transaction=True)
def test_the_command_builds_what_is_due_and_tells_no_words() -> None:
    account = AccountFactory(key="acme")
    with account_transaction(account.id):
        ana = SubjectFactory(account=account, key="ana", name="Ana")
        for name in ("Atlas", "Borealis"):
            shared(ana, f"Ana leads {name}.", valid_from=None)
    outbox.deliver(account.id)

    def told(**options: object) -> list[str]:
        out = StringIO()
        call_command("build_profiles", stdout=out, **options)
        return out.getvalue().splitlines()

    assert told(account="acme", dry_run=True)[0] == "acme: 3 cards are due."
    subject = told(account="acme", subject="ana")
    assert subject[0] == "acme: 2 cards are due."
    assert sorted(line.split("  ")[-1] for line in subject[1:]) == ["shared_profile: built", "subject_profile: built"]
    assert told() == ["acme: 1 cards are due.", "  1 of 1  scope_card: built"]
    assert told() == ["acme: 0 cards are due."]
    for options in ({"account": "nobody"}, {"subject": "ana"}, {"account": "acme", "subject": "nobody"}):
        with pytest.raises(CommandError):
            told(**options)
