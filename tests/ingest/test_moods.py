"""How people felt: read out of what was said, entered by themselves, and read by whoever may."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from facts import conflict_sets, lifecycle, outbox
from facts.actors import pipeline
from facts.errors import DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, Fact, Subject
from facts.vocabulary import Category, ConflictKind, Status
from governance import access, erasing
from governance.models import Role
from ingest.models import ModelCall, MoodEntry, MoodSource
from ingest.moods import entering, keeping, prompt, words
from tests.factories import AccountFactory, FactFactory, MembershipFactory, SubjectFactory, key_principal, person_in
from tests.stubs import model_server

#: A Tuesday, 21:35 UTC: 23:35 in Paris by summer time, and the next day in Tokyo.
EVENING = datetime(2026, 6, 9, 21, 35, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _that_evening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "now", lambda: EVENING)
    monkeypatch.setattr(entering, "now", lambda: EVENING)


@pytest.fixture
def ana(account: Account) -> Subject:
    Account.objects.filter(pk=account.pk).update(timezone="Europe/Paris")
    return SubjectFactory(account=account, key="ana", name="Ana")


def mood(subject: Subject, statement: str = "Ana is exhausted.", *, at: datetime = EVENING, **fields: Any) -> Fact:
    return FactFactory(subject=subject, category=Category.MOOD_SIGNAL, statement=statement, valid_from=at, **fields)


def entries() -> list[tuple[str, int, str]]:
    return [(str(entry.day), entry.score, entry.note) for entry in MoodEntry.objects.order_by("day")]


@pytest.mark.parametrize(
    ("statements", "score"),
    [
        ([], 3),
        (["Ana moved to Lyon."], 3),
        (["Ana is exhausted."], 1),
        (["Ana is frustrated."], 2),
        (["Ana is happy with the team."], 4),
        (["Ana is thrilled."], 5),
        (["Ana is frustrated.", "Ana is proud."], 3),
        (["Ana is not happy."], 2),
        (["Ana isn't tired any more."], 4),
        (["Ana n'est pas contente."], 2),
        (["Ana est épuisée."], 1),
        (["Ana est ravie."], 4),
        (["Ana is exhausted and furious and hopeless."], 1),
        (["アナは疲れている。"], 3),
    ],
)
def test_a_score_by_words(statements: list[str], score: int) -> None:
    assert words.score(statements) == score


def test_a_day_is_scored_at_its_end_once_and_anew_when_more_is_said(ana: Subject, account: Account) -> None:
    first = mood(ana)
    assert keeping.detect(account.id) == 1
    assert entries() == [("2026-06-09", 1, "Auto-detected")]
    entry = MoodEntry.objects.get()
    assert (entry.source, entry.facts, entry.scorer) == ("detected", [str(first.id)], "words-1")
    assert keeping.detect(account.id) == 0
    mood(ana, "Ana is thrilled.", at=EVENING + timedelta(minutes=1))
    assert keeping.detect(account.id) == 1
    assert entries() == [("2026-06-09", 3, "Auto-detected")]


def test_a_day_is_that_of_the_account(ana: Subject, account: Account) -> None:
    mood(ana, at=datetime(2026, 6, 8, 22, 30, tzinfo=UTC))  # 0:30 on the 9th in Paris
    mood(ana, "Ana is thrilled.", at=datetime(2026, 6, 8, 21, 30, tzinfo=UTC))  # 23:30 on the 8th
    keeping.detect(account.id)
    assert entries() == [("2026-06-08", 5, "Auto-detected"), ("2026-06-09", 1, "Auto-detected")]


def test_a_day_that_goes_on_is_not_scored_and_old_ones_are_not_either(
    ana: Subject, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    mood(ana)
    mood(ana, at=EVENING - timedelta(days=20))
    monkeypatch.setattr(keeping, "now", lambda: EVENING - timedelta(hours=1))
    assert keeping.detect(account.id) == 0


@pytest.mark.parametrize(
    "fields",
    [{"status": Status.PROVISIONAL}, {"status": Status.DISPUTED}, {"category": Category.GENERAL}],
)
def test_what_is_not_current_or_no_mood_is_not_scored(ana: Subject, account: Account, fields: dict[str, Any]) -> None:
    FactFactory(**{"subject": ana, "category": Category.MOOD_SIGNAL, "valid_from": EVENING, **fields})
    mood(SubjectFactory(account=account, kind="topic"))
    assert keeping.detect(account.id) == 0


def test_nothing_is_detected_over_what_somebody_entered(ana: Subject, account: Account) -> None:
    principal = access.person(MembershipFactory(account=account, subject=ana))
    entering.enter(principal, score=4, note="Fine,\nreally.")
    mood(ana)
    assert keeping.detect(account.id) == 0
    assert entries() == [("2026-06-09", 4, "Fine, really.")]


def test_what_somebody_enters_takes_the_place_of_what_was_detected(ana: Subject, account: Account) -> None:
    mood(ana)
    keeping.detect(account.id)
    principal = access.person(MembershipFactory(account=account, subject=ana))
    entering.enter(principal, score=5)
    entry = MoodEntry.objects.get()
    assert (entry.source, entry.score, entry.facts, entry.note) == (MoodSource.MANUAL, 5, [], "")
    entering.remove(principal, day=date(2026, 6, 9))
    assert not MoodEntry.objects.exists()
    with pytest.raises(NotFound) as gone:
        entering.remove(principal, day=date(2026, 6, 9))
    assert gone.value.code == "mood_not_found"
    # How somebody felt is in no record of what happened.
    written = AuditEntry.objects.filter(object_type="mood").values_list("metadata", flat=True)
    assert [set(metadata) for metadata in written] == [{"day", "source"}] * 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"score": 0}, "score"),
        ({"score": 6}, "score"),
        ({"score": 3, "day": date(2026, 6, 10)}, "day"),
        ({"score": 3, "day": date(2026, 5, 1)}, "day"),
    ],
)
def test_what_can_be_entered(account: Account, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(DomainError) as refused:
        entering.enter(person_in(account), **fields)
    assert (refused.value.code, refused.value.field) == ("invalid_mood", field)


def test_machines_enter_nothing_and_read_nothing(ana: Subject, account: Account) -> None:
    key = key_principal(account, peer=ana)
    mood(ana)
    keeping.detect(account.id)
    with pytest.raises(Refused) as refused:
        entering.enter(key, score=3)
    assert refused.value.code == "human_required"
    assert not entering.visible(key).exists()


def test_who_reads_moods(ana: Subject, account: Account) -> None:
    mood(ana)
    keeping.detect(account.id)
    for principal, seen in (
        (access.person(MembershipFactory(account=account, subject=ana)), 1),
        (person_in(account), 1),
        (person_in(account, role=Role.MEMBER), 0),
        (person_in(account, path="/support"), 0),
    ):
        assert entering.visible(principal).count() == seen


def test_what_rests_on_a_fact_goes_with_it(ana: Subject, account: Account) -> None:
    fact, other = mood(ana), mood(ana, "Ana is happy.")
    keeping.detect(account.id)
    lifecycle.transition(fact.id, account_id=account.id, to=Status.RETRACTED, actor=pipeline(), action="fact.retracted")
    outbox.deliver(account.id)
    assert entries() == []
    assert keeping.detect(account.id) == 1
    assert MoodEntry.objects.get().facts == [str(other.id)]


def test_what_rests_on_a_fact_in_conflict_goes_as_well(ana: Subject, account: Account) -> None:
    first, other = mood(ana), mood(ana, "Ana is thrilled.")
    keeping.detect(account.id)
    conflict_sets.open_set(
        account_id=account.id,
        scope_id=first.scope_id,
        subject_id=ana.id,
        kind=ConflictKind.CONTRADICTION,
        members=[(first.id, True), (other.id, True)],
        reason="values",
        actor=pipeline(),
    )
    outbox.deliver(account.id)
    assert entries() == []


def test_moods_are_erased_with_their_person(ana: Subject, account: Account) -> None:
    mood(ana)
    keeping.detect(account.id)
    receipt = erasing.erase(person_in(account, role=Role.ACCOUNT_ADMIN), subject_id=ana.id)
    assert receipt.counters["stores"]["moods"] == 1
    assert not MoodEntry.objects.exists()


# A model


@pytest.mark.django_db(transaction=True)
def test_a_model_scores_where_one_is_named_and_words_where_it_fails(settings: Any) -> None:
    from facts.tenancy import account_transaction

    account = AccountFactory()
    with account_transaction(account.id):
        subject = SubjectFactory(account=account, key="ana", name="Ana")
        mood(subject, "Ana is exhausted.", at=EVENING - timedelta(days=1))
    with model_server.running() as server:
        settings.MOOD_PROVIDER, settings.OPENAI_API_KEY = "openai", "sk-test"
        settings.OPENAI_BASE_URL = f"{server.address}/v1"
        server.script = [model_server.says(json.dumps({"score": 2}))]
        assert keeping.detect(account.id) == 1
        assert "Ana is exhausted." in server.received[0].texts[0]
        with account_transaction(account.id):
            entry = MoodEntry.objects.get()
            assert (entry.score, entry.scorer.partition(":")[0]) == (2, "openai")
            assert ModelCall.objects.get().role == "mood"
            MoodEntry.objects.all().delete()
        server.script = [model_server.says(json.dumps({"score": 9}))]
        assert keeping.detect(account.id) == 1
        with account_transaction(account.id):
            entry = MoodEntry.objects.get()
            assert (entry.score, entry.scorer) == (1, "words-1")


@pytest.mark.parametrize("text", ["", "[]", '{"score": true}', '{"score": 0}', '{"score": "3"}', "5", '{"score": 2.5}'])
def test_what_a_model_may_not_say(text: str) -> None:
    with pytest.raises(prompt.Unusable):
        prompt.read(text)


def test_words_for_a_model_hide_nothing() -> None:
    assert json.loads(prompt.render(["a\u202eb\x00"])) == {"statements": ["ab "]}
