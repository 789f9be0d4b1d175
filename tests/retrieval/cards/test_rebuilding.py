from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import lifecycle, outbox, tenancy
from facts.actors import pipeline
from facts.clock import now
from facts.models import Account, Fact, Subject
from facts.tenancy import account_transaction
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind, Volatility
from retrieval import tasks
from retrieval.cards import marking, rebuilding, sources
from retrieval.models import Card, CardEdit, CardKind
from tests.factories import (
    JANUARY,
    AccountFactory,
    EventFactory,
    FactFactory,
    ScopeFactory,
    SubjectFactory,
    submit,
    taken_back,
)
from tests.retrieval.cards.conftest import shared, texts

Work = Callable[[], int]


def _change(fact: Fact, to: str, **changes: object) -> None:
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=to, actor=pipeline(), action="fact.changed", changes=changes
    )


def test_the_profile_of_a_subject_says_what_it_may_see_of_itself(account: Account, ana: Subject, work: Work) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")
    FactFactory(subject=ana, statement="Ana may move.", status=Status.PROVISIONAL, confidence=0.5)
    FactFactory(subject=ana, statement="Ana is ill.", sensitivity=Sensitivity.RESTRICTED)
    shared(ana, "Ana leads Atlas.", confidence=1.0)
    work()
    card = Card.objects.get(kind=CardKind.SUBJECT_PROFILE)
    assert [line["text"] for line in card.lines] == [
        "Ana leads Atlas. (2025-03-10)",
        "Ana likes tea. (2025-03-10)",
        "Ana may move. (2025-03-10)",
    ]
    assert (card.subject, card.title, card.scope.path, card.sensitivity) == (ana, "Ana", "/support", "personal")
    assert (card.builder, card.version, card.sources, card.delta_count) == ("extractive-2", 1, 3, 0)
    assert (card.pending, card.due_at) == ([], None)


def test_the_card_of_a_scope_says_only_what_every_reader_may_see(account: Account, ana: Subject, work: Work) -> None:
    place = SubjectFactory(account=account, kind=SubjectKind.SCOPE, key="support")
    shared(ana, "Ana leads Atlas.", confidence=1.0)
    FactFactory(subject=ana, statement="Ana sells tea.", sensitivity=Sensitivity.PUBLIC, confidence=0.8)
    FactFactory(subject=place, statement="Support closes at six.", confidence=0.6)
    FactFactory(subject=ana, statement="Ana likes tea.")
    FactFactory(subject=ana, statement="Ana is ill.", sensitivity=Sensitivity.RESTRICTED, level=Level.ACCOUNT)
    shared(ana, "Ana may move.", status=Status.PROVISIONAL)
    shared(ana, "Ana left Lyon.", status=Status.SUPERSEDED)
    shared(ana, "Ana lives elsewhere.", scope__path="/")
    work()
    assert texts(account.id, CardKind.SCOPE_CARD, scope__path="/support") == [
        ["Ana leads Atlas. (2025-03-10)", "Ana sells tea. (2025-03-10)", "Support closes at six. (2025-03-10)"]
    ]


def test_what_needs_a_remark_is_in_no_card(account: Account, ana: Subject, work: Work) -> None:
    shared(ana, "Ana leads Atlas.")
    shared(ana, "Ana lives in Porto.")
    shared(ana, "Ana said " + "yes and " * 22 + "no.", confidence=1.0)
    shared(ana, "Ana is busy.", volatility=Volatility.EPHEMERAL)
    shared(ana, "Ana plays chess.", volatility=Volatility.SLOW, valid_from=now() - timedelta(days=366))
    shared(ana, "Ana left.", valid_to=JANUARY, valid_from=None)
    shared(ana, "Ana starts.", valid_from=now() + timedelta(days=1))
    shared(ana, "Ana was here.", expires_at=JANUARY)
    doubtful = shared(ana, "Ana runs Borealis.")
    Fact.objects.filter(pk=doubtful.pk).update(possibly_conflicting=True)
    submit(ana, {"value": "tea"}, predicate="drink", at=JANUARY)
    submit(ana, {"value": "coffee"}, predicate="drink")
    work()
    expected = ["Ana leads Atlas. (2025-03-10)", "Ana lives in Porto. (2025-03-10)"]
    assert texts(account.id, CardKind.SCOPE_CARD) == [expected]
    assert texts(account.id, CardKind.SUBJECT_PROFILE) == [expected]


def test_one_fact_makes_no_card(account: Account, ana: Subject, work: Work) -> None:
    fact = shared(ana, "Ana leads Atlas.")
    work()
    assert not Card.objects.exists()
    other = shared(ana, "Ana lives in Porto.")
    work()
    assert texts(account.id, CardKind.SCOPE_CARD) == [
        ["Ana leads Atlas. (2025-03-10)", "Ana lives in Porto. (2025-03-10)"]
    ]
    _change(other, Status.REJECTED)
    work()
    assert not Card.objects.exists()
    assert Fact.objects.get(pk=fact.pk).status == Status.ACTIVE


def test_only_peers_have_a_profile(account: Account, work: Work) -> None:
    atlas = SubjectFactory(account=account, kind=SubjectKind.TOPIC, key="atlas")
    bot = SubjectFactory(account=account, kind=SubjectKind.AGENT, key="bot")
    for subject in (atlas, bot):
        for number in range(2):
            shared(subject, f"{subject.key} has number {number}.")
    work()
    assert [card.subject for card in Card.objects.filter(kind=CardKind.SUBJECT_PROFILE)] == [bot]


def test_a_session_is_summed_up_for_all_and_for_each_of_its_subjects(
    account: Account, ana: Subject, work: Work
) -> None:
    ben = SubjectFactory(account=account, key="ben")
    for number in range(3):
        event = EventFactory(subject=ana, thread="s-1", text=f"said {number}")
        shared(ana, f"Ana asked {number}.", event=event)
    FactFactory(subject=ana, statement="Ana is worried.", event=EventFactory(subject=ana, thread="s-1"))
    FactFactory(subject=ben, statement="Ben listens.", event=EventFactory(subject=ben, thread="s-2"))
    shared(ben, "Ben spoke elsewhere.")
    work()
    summaries = Card.objects.filter(kind=CardKind.SESSION_SUMMARY, key="s-1")
    said = {card.subject_id: sorted(line["text"] for line in card.lines) for card in summaries}
    asked = [f"Ana asked {number}. (2025-03-10)" for number in range(3)]
    assert said == {None: asked, ana.id: [*asked, "Ana is worried. (2025-03-10)"]}
    assert not Card.objects.filter(key="s-2").exists()


def test_a_change_in_a_session_reaches_everybodys_summary_of_it(account: Account, ana: Subject, work: Work) -> None:
    ben = SubjectFactory(account=account, key="ben")
    for number in range(3):
        shared(ana, f"Ana asked {number}.", event=EventFactory(subject=ana, thread="s-1"))
    work()
    shared(ben, "Ben answered.", event=EventFactory(subject=ben, thread="s-1"))
    work()
    summaries = Card.objects.filter(kind=CardKind.SESSION_SUMMARY, key="s-1")
    assert {card.subject_id: len(card.lines) for card in summaries} == {None: 4, ana.id: 4, ben.id: 4}


def test_nothing_is_done_when_nothing_has_changed(account: Account, ana: Subject, work: Work) -> None:
    shared(ana, "Ana leads Atlas.")
    shared(ana, "Ana lives in Porto.")
    assert work() == 3
    before = list(Card.objects.order_by("id").values())
    with CaptureQueriesContext(connection) as captured:
        assert work() == 0
    sent = [query["sql"] for query in captured.captured_queries if "SAVEPOINT" not in str(query["sql"])]
    # twice: enter the account, then the lock and the waiting entries, or the cards that are due
    assert len(sent) == 5
    assert list(Card.objects.order_by("id").values()) == before


def test_building_twice_changes_nothing(account: Account, ana: Subject, work: Work) -> None:
    shared(ana, "Ana leads Atlas.")
    shared(ana, "Ana lives in Porto.")
    work()
    card = Card.objects.get(kind=CardKind.SCOPE_CARD)
    again = rebuilding.rebuild(account.id, card.id)
    assert again is not None
    assert (again.lines, again.version, again.title) == (card.lines, card.version, card.title)
    assert again.built_at > card.built_at


def test_rebuilding_what_is_gone_does_nothing(account: Account, ana: Subject) -> None:
    assert rebuilding.rebuild(account.id, ana.id) is None


def test_changes_are_taken_in_one_by_one_until_a_whole_build(
    account: Account, ana: Subject, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "DELTAS", 3)
    asked: list[bool] = []
    find = sources.find

    def counted(place: sources.CardPlace, **options: object) -> sources.Found:
        if place.kind == CardKind.SCOPE_CARD:
            asked.append("among" in options)
        return find(place, **options)

    monkeypatch.setattr(sources, "find", counted)
    shared(ana, "Fact 0.")
    shared(ana, "Fact 1.")
    work()
    for number in range(2, 7):
        shared(ana, f"Fact {number}.")
        work()
    assert asked == [False, True, True, True, False, True]
    card = Card.objects.get(kind=CardKind.SCOPE_CARD)
    assert (card.delta_count, card.sources, len(card.lines)) == (1, 6, 7)


def test_a_line_that_leaves_makes_room_for_the_best_of_all(
    account: Account, ana: Subject, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [shared(ana, f"{number:02} " + "x" * 150, confidence=0.9 - number / 100) for number in range(12)]
    work()
    card = Card.objects.get(kind=CardKind.SCOPE_CARD)
    assert [line["text"][:2] for line in card.lines] == [f"{number:02}" for number in range(7)]
    _change(facts[0], Status.SUPERSEDED)
    work()
    card.refresh_from_db()
    assert [line["text"][:2] for line in card.lines] == [f"{number:02}" for number in range(1, 8)]


def test_many_changes_ask_for_a_whole_build(
    account: Account, ana: Subject, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marking, "PENDING", 3)
    for number in range(2):
        shared(ana, f"Fact {number}.")
    work()
    for number in range(2, 5):
        shared(ana, f"Fact {number}.")
    outbox.deliver(account.id)
    card = Card.objects.get(kind=CardKind.SCOPE_CARD)
    assert len(card.pending) == 3
    shared(ana, "Fact 9.")
    outbox.deliver(account.id)
    card.refresh_from_db()
    assert card.pending is None


def test_a_card_falls_due_when_time_changes_what_it_may_say(
    account: Account, ana: Subject, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon, sooner = now() + timedelta(days=2), now() + timedelta(days=1)
    shared(ana, "Ana leads Atlas.")
    shared(ana, "Ana lives in Porto.")
    shared(ana, "Ana is on leave.", valid_to=soon)
    shared(ana, "Ana speaks Dutch.", expires_at=soon + timedelta(days=1))
    shared(ana, "Ana runs Borealis.", valid_from=sooner)
    work()
    card = Card.objects.get(kind=CardKind.SCOPE_CARD)
    assert (len(card.lines), card.due_at) == (4, sooner)
    later = sooner + timedelta(seconds=1)
    monkeypatch.setattr(rebuilding, "now", lambda: later)
    assert rebuilding.rebuild_due(account.id) == 3
    card.refresh_from_db()
    assert (len(card.lines), card.due_at) == (5, soon)


@pytest.mark.parametrize(
    ("volatility", "days"), [(Volatility.SLOW, 365), (Volatility.VOLATILE, 60), (Volatility.EPHEMERAL, 7)]
)
def test_ageing_is_one_of_the_things_that_time_does(
    account: Account, ana: Subject, work: Work, volatility: str, days: int
) -> None:
    started = now() - timedelta(days=days - 1)
    shared(ana, "Ana leads Atlas.")
    shared(ana, "Ana is busy.", volatility=volatility, valid_from=started)
    work()
    assert Card.objects.get(kind=CardKind.SCOPE_CARD).due_at == started + timedelta(days=days)


def test_a_line_that_a_person_wrote_stays_until_one_of_its_facts_leaves(
    account: Account, ana: Subject, work: Work
) -> None:
    facts = [shared(ana, f"Ana leads {name}.") for name in ("Atlas", "Borealis", "Cirrus")]
    work()
    card = Card.objects.get(kind=CardKind.SCOPE_CARD)
    original = {"text": "", "facts": [str(fact.id) for fact in facts[:2]]}
    seen = {str(fact.id): fact.version for fact in facts[:2]}
    text = "Ana leads Atlas and Borealis."
    CardEdit.objects.create(account=account, card=card, kind="reworded", original=original, text=text, facts=seen)
    rebuilding.rebuild(account.id, card.id)
    card.refresh_from_db()
    assert [line["text"] for line in card.lines] == [text, "Ana leads Cirrus. (2025-03-10)"]
    assert card.lines[0]["edited"]
    _change(facts[0], Status.SUPERSEDED)
    work()
    card.refresh_from_db()
    assert sorted(line["text"] for line in card.lines) == [
        "Ana leads Borealis. (2025-03-10)",
        "Ana leads Cirrus. (2025-03-10)",
    ]


@pytest.mark.parametrize("to", [Status.DISABLED, Status.REDACTED, Status.RETRACTED, Status.DELETED])
def test_what_is_withdrawn_leaves_the_stored_card_before_any_build(
    account: Account, ana: Subject, work: Work, to: str
) -> None:
    facts = [shared(ana, f"Ana leads {name}.") for name in ("Atlas", "Borealis", "Cirrus")]
    work()
    with taken_back():
        _change(facts[1], to)
        outbox.deliver(account.id)
        for card in Card.objects.all():
            assert [line["text"] for line in card.lines] == [
                "Ana leads Atlas. (2025-03-10)",
                "Ana leads Cirrus. (2025-03-10)",
            ]
            assert card.due_at <= now()


def test_facts_are_forgotten_wherever_they_were(account: Account, ana: Subject, work: Work) -> None:
    facts = [shared(ana, f"Ana leads {name}.") for name in ("Atlas", "Borealis")]
    work()
    elsewhere = ScopeFactory(account=account, path="/sales")
    lifecycle.amend(
        facts[0].id,
        account_id=account.id,
        actor=pipeline(),
        action="fact.moved",
        changes={"scope_id": elsewhere.id},
    )
    assert marking.forget_facts(account.id, [facts[0].id]) == 3
    assert {line["text"] for card in Card.objects.all() for line in card.lines} == {"Ana leads Borealis. (2025-03-10)"}
    assert marking.forget_facts(account.id, [facts[0].id]) == 0
    assert marking.forget_facts(account.id, []) == 0


def test_a_fact_that_moves_changes_the_cards_of_both_places(account: Account, ana: Subject, work: Work) -> None:
    facts = [shared(ana, f"Ana leads {name}.") for name in ("Atlas", "Borealis", "Cirrus")]
    elsewhere = ScopeFactory(account=account, path="/sales")
    shared(ana, "Ana sells.", scope=elsewhere)
    work()
    lifecycle.amend(
        facts[0].id, account_id=account.id, actor=pipeline(), action="fact.moved", changes={"scope_id": elsewhere.id}
    )
    work()
    assert {
        path: [len(lines) for lines in texts(account.id, CardKind.SCOPE_CARD, scope__path=path)]
        for path in ("/support", "/sales")
    } == {"/support": [2], "/sales": [2]}


def test_a_conflict_takes_lines_out_and_its_end_brings_them_back(account: Account, ana: Subject, work: Work) -> None:
    shared(ana, "Ana leads Atlas.")
    shared(ana, "Ana lives in Porto.")
    submit(ana, {"value": "tea"}, predicate="drink", statement="Ana drinks tea.", at=JANUARY)
    work()
    profile = Card.objects.get(kind=CardKind.SUBJECT_PROFILE)
    assert len(profile.lines) == 3
    submit(ana, {"value": "coffee"}, predicate="drink", statement="Ana drinks coffee.")
    work()
    profile.refresh_from_db()
    assert len(profile.lines) == 2


@pytest.mark.django_db(transaction=True)
def test_each_account_has_its_own_cards() -> None:
    accounts = [AccountFactory() for _ in range(2)]
    for number, account in enumerate(accounts):
        with account_transaction(account.id):
            ana = SubjectFactory(account=account, key="ana")
            for name in ("Atlas", "Borealis"):
                shared(ana, f"Ana leads {name} {number}.")
    tasks.keep_cards()
    for number, account in enumerate(accounts):
        with account_transaction(account.id):
            assert texts(account.id, CardKind.SCOPE_CARD) == [
                [f"Ana leads Atlas {number}. (2025-03-10)", f"Ana leads Borealis {number}. (2025-03-10)"]
            ]


@pytest.mark.parametrize(
    "statements",
    [
        ("安娜住在里斯本。", "安娜喜欢绿茶。"),
        ("آنا تعيش في لشبونة.", "تحب آنا الشاي."),
        ("אנה גרה בליסבון.", "אנה אוהבת תה."),
    ],
)
def test_statements_of_any_script_are_quoted(
    account: Account, ana: Subject, work: Work, statements: tuple[str, str]
) -> None:
    for statement in statements:
        shared(ana, statement, valid_from=None)
    work()
    assert sorted(texts(account.id, CardKind.SCOPE_CARD)[0]) == sorted(statements)


@pytest.mark.django_db(transaction=True)
def test_an_account_whose_cards_cannot_be_built_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = [AccountFactory() for _ in range(2)]
    for account in accounts:
        with account_transaction(account.id):
            ana = SubjectFactory(account=account, key="ana")
            for name in ("Atlas", "Borealis"):
                shared(ana, f"Ana leads {name}.")
    outbox.deliver_everywhere()
    find = sources.find

    def broken(place: sources.CardPlace, **options: object) -> sources.Found:
        if place.account_id == accounts[0].id:
            raise RuntimeError("no")
        return find(place, **options)

    monkeypatch.setattr(sources, "find", broken)
    assert rebuilding.rebuild_everywhere(seconds=-1) == 0
    assert rebuilding.rebuild_everywhere() == 3
    with account_transaction(accounts[0].id):
        assert texts(accounts[0].id, CardKind.SCOPE_CARD) == []
        assert Card.objects.filter(due_at__lte=now()).count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_change_during_a_build_leaves_no_stale_card_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        ana = SubjectFactory(account=account, key="ana")
        facts = [shared(ana, f"Ana leads {name}.") for name in ("Atlas", "Borealis", "Cirrus")]
    outbox.deliver(account.id)
    read, changed = threading.Event(), threading.Event()
    find = sources.find

    def slow(place: sources.CardPlace, **options: object) -> sources.Found:
        found = find(place, **options)
        if place.kind == CardKind.SCOPE_CARD:
            read.set()
            assert changed.wait(10)
        return found

    monkeypatch.setattr(sources, "find", slow)

    def build() -> None:
        rebuilding.rebuild_due(account.id)
        connection.close()

    builder = threading.Thread(target=build)
    builder.start()
    assert read.wait(10)
    with account_transaction(account.id):
        _change(facts[0], Status.SUPERSEDED)
    changed.set()
    builder.join()
    outbox.deliver(account.id)
    rebuilding.rebuild_due(account.id)
    with account_transaction(account.id):
        assert texts(account.id, CardKind.SCOPE_CARD) == [
            ["Ana leads Borealis. (2025-03-10)", "Ana leads Cirrus. (2025-03-10)"]
        ]
        assert Card.objects.get(kind=CardKind.SCOPE_CARD).due_at is None


@pytest.mark.django_db(transaction=True)
def test_two_builders_make_one_card() -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        ana = SubjectFactory(account=account, key="ana")
        for name in ("Atlas", "Borealis"):
            shared(ana, f"Ana leads {name}.")
        tenancy.ensure_scope(account.id, "/support")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            outbox.deliver(account.id)
            rebuilding.rebuild_due(account.id)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outbox.deliver(account.id)
    rebuilding.rebuild_due(account.id)
    assert errors == []
    with account_transaction(account.id):
        assert sorted(Card.objects.values_list("kind", "version")) == [
            ("scope_card", 1),
            ("shared_profile", 1),
            ("subject_profile", 1),
        ]
