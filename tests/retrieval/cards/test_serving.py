from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import lifecycle
from facts.actors import pipeline
from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import Account, Fact, Subject
from facts.vocabulary import Sensitivity, Status, Volatility
from governance import forgetting
from governance.access import Principal, Right
from retrieval import candidates, statistics
from retrieval.cards import rebuilding
from retrieval.context import assembly, rendering
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.context.packet import EmptyReason, PacketStatus
from retrieval.models import Card, CardKind, Trace
from tests.factories import (
    JANUARY,
    MARCH,
    EventFactory,
    FactFactory,
    SubjectFactory,
    key_principal,
    person_in,
    submit,
    taken_back,
)
from tests.retrieval.cards.conftest import Work, shared
from tests.retrieval.conftest import reasons, statements

Ask = Callable[..., ContextAnswer]


def _cards(answer: ContextAnswer) -> list[tuple[str, list[str]]]:
    """What is served of cards: the kind, and the lines without their dates."""
    return [(card.kind, [line.text.split(" (")[0] for line in card.lines]) for card in answer.packet.cards]


def _change(fact: Fact, to: str) -> None:
    lifecycle.transition(fact.id, account_id=fact.account_id, to=to, actor=pipeline(), action="fact.changed")


@pytest.fixture
def facts(ana: Subject, work: Work) -> dict[str, Fact]:
    """Two facts for everybody and two for Ana alone, in cards; a fifth that came after them."""
    made = {
        "Atlas": shared(ana, "Ana leads Atlas.", confidence=1.0),
        "Porto": shared(ana, "Ana lives in Porto."),
        "tea": FactFactory(subject=ana, statement="Ana likes tea.", confidence=0.8),
        "moving": FactFactory(subject=ana, statement="Ana may move.", status=Status.PROVISIONAL, confidence=0.5),
    }
    work()
    made["new"] = FactFactory(subject=ana, statement="Ana bought a bicycle.", confidence=0.5)
    return made


def test_cards_come_first_and_then_what_they_do_not_say(facts: dict[str, Fact], ask: Ask) -> None:
    answer = ask("", exact=False)
    assert _cards(answer) == [
        (
            CardKind.SUBJECT_PROFILE,
            ["Ana leads Atlas.", "Ana lives in Porto.", "Ana likes tea.", "Ana may move."],
        )
    ]
    assert statements(answer) == ["Ana bought a bicycle."]
    assert (answer.projection_cache_hit, answer.fast_fallback) == (True, False)
    card = answer.packet.cards[0]
    assert (card.title, card.scope, card.builder) == ("Ana", "/support", "extractive-2")
    assert [line.facts for line in card.lines] == [(facts[name].id,) for name in ("Atlas", "Porto", "tea", "moving")]


def test_the_trace_tells_what_the_lines_rest_on(facts: dict[str, Fact], ask: Ask, account: Account) -> None:
    answer = ask("", exact=False)
    trace = Trace.objects.get(pk=answer.trace_id)
    assert reasons(answer) == {
        **{str(facts[name].id): "card_line" for name in ("Atlas", "Porto", "tea", "moving")},
        str(facts["new"].id): "standing_context",
    }
    assert (trace.facts_served, trace.considered, trace.withheld) == (5, 5, 0)
    text = rendering.block(answer.packet).splitlines()
    assert trace.tokens == answer.token_count == sum(len(line) // 4 for line in text[2:-1] if line != "Facts:")
    assert trace.request["thread"] == ""
    reader = Reader(posture=Posture(answer.reader_posture), subject_id=trace.reader_id)
    figures = statistics.overview(account_id=account.id, scopes=[facts["tea"].scope], reader=reader)
    assert (figures.total.injection_rate, figures.total.served) == (1.0, 5)


def test_another_reader_gets_the_card_of_the_scope_and_no_profile(
    account: Account, facts: dict[str, Fact], ask: Ask
) -> None:
    SubjectFactory(account=account, key="ben")
    answer = ask("", exact=False, subject_key="ben")
    assert _cards(answer) == [(CardKind.SCOPE_CARD, ["Ana leads Atlas.", "Ana lives in Porto."])]
    assert statements(answer) == []
    assert set(reasons(answer)) == {str(facts[name].id) for name in ("Atlas", "Porto")}


def test_a_reader_with_a_right_over_others_gets_nobodys_profile(
    account: Account, facts: dict[str, Fact], ask: Ask
) -> None:
    SubjectFactory(account=account, key="ben")
    key = key_principal(account, rights=(Right.READ, Right.READ_FOR_OTHERS))
    answer = ask("", principal=key, exact=True, subject_key="ana", peer_key="ben")
    assert _cards(answer) == [(CardKind.SCOPE_CARD, ["Ana leads Atlas.", "Ana lives in Porto."])]


def test_without_a_reader_only_public_lines_are_served(account: Account, ana: Subject, work: Work, ask: Ask) -> None:
    shared(ana, "Ana leads Atlas.")
    FactFactory(subject=ana, statement="Ana sells tea.", sensitivity=Sensitivity.PUBLIC)
    work()
    answer = ask("", principal=key_principal(account, rights=(Right.READ,)), exact=False)
    assert _cards(answer) == [(CardKind.SCOPE_CARD, ["Ana sells tea."])]
    assert len(reasons(answer)) == 1


def test_a_scope_that_was_not_granted_shows_none_of_its_cards(
    account: Account, facts: dict[str, Fact], ask: Ask
) -> None:
    elsewhere = person_in(account, path="/sales")
    answer = ask("", principal=elsewhere, exact=False)
    assert (answer.packet.cards, answer.packet.facts) == ([], [])
    assert (answer.projection_cache_hit, answer.fast_fallback) == (False, False)


@pytest.mark.parametrize(
    "to",
    [
        Status.NEEDS_REVALIDATION,
        Status.DISPUTED,
        Status.SUPERSEDED,
        Status.EXPIRED,
        Status.REJECTED,
        Status.DISABLED,
        Status.REDACTED,
        Status.RETRACTED,
        Status.DELETED,
    ],
)
def test_a_line_is_not_served_any_more_the_moment_its_fact_leaves(facts: dict[str, Fact], ask: Ask, to: str) -> None:
    with taken_back():
        _change(facts["Porto"], to)
        answer = ask("", exact=False)
        assert _cards(answer) == [(CardKind.SUBJECT_PROFILE, ["Ana leads Atlas.", "Ana likes tea.", "Ana may move."])]
        assert str(facts["Porto"].id) not in reasons(answer)


def test_a_line_is_not_served_any_more_the_moment_its_fact_is_for_fewer(
    account: Account, facts: dict[str, Fact], ask: Ask
) -> None:
    SubjectFactory(account=account, key="ben")
    lifecycle.amend(
        facts["Porto"].id,
        account_id=account.id,
        actor=pipeline(),
        action="fact.narrowed",
        changes={"level": "peer", "sensitivity": "personal"},
    )
    assert _cards(ask("", exact=False, subject_key="ben")) == [(CardKind.SCOPE_CARD, ["Ana leads Atlas."])]


@pytest.mark.parametrize("change", [{"expires_at": MARCH}, {"valid_to": MARCH + timedelta(days=1)}])
def test_a_line_is_not_served_past_its_time(
    account: Account, facts: dict[str, Fact], ask: Ask, change: dict[str, object]
) -> None:
    lifecycle.amend(facts["Porto"].id, account_id=account.id, actor=pipeline(), action="fact.ended", changes=change)
    assert _cards(ask("", exact=False))[0][1] == ["Ana leads Atlas.", "Ana likes tea.", "Ana may move."]


def test_a_line_that_has_aged_is_withheld_and_said_to_be(
    account: Account, ana: Subject, facts: dict[str, Fact], ask: Ask
) -> None:
    Fact.objects.filter(pk=facts["Porto"].pk).update(volatility=Volatility.EPHEMERAL)
    answer = ask("", exact=False)
    assert _cards(answer)[0][1] == ["Ana leads Atlas.", "Ana likes tea.", "Ana may move."]
    assert reasons(answer)[str(facts["Porto"].id)] == "volatility_expired"
    assert answer.packet.warnings == ["volatility_expired: 1 fact(s) withheld, not confirmed for too long"]


def test_a_line_whose_fact_needs_a_remark_gives_way_to_the_fact(facts: dict[str, Fact], ask: Ask) -> None:
    Fact.objects.filter(pk=facts["Porto"].pk).update(possibly_conflicting=True)
    answer = ask("", exact=False)
    assert _cards(answer)[0][1] == ["Ana leads Atlas.", "Ana likes tea.", "Ana may move."]
    assert [(fact.statement, fact.possibly_conflicting) for fact in answer.packet.facts] == [
        ("Ana lives in Porto.", True),
        ("Ana bought a bicycle.", False),
    ]


def test_both_sides_of_a_conflict_leave_the_cards_at_once(ana: Subject, work: Work, ask: Ask) -> None:
    shared(ana, "Ana leads Atlas.")
    submit(ana, {"value": "tea"}, predicate="drink", statement="Ana drinks tea.", at=JANUARY)
    work()
    assert _cards(ask(""))[0][1] == ["Ana drinks tea.", "Ana leads Atlas."]
    submit(ana, {"value": "coffee"}, predicate="drink", statement="Ana drinks coffee.")
    answer = ask("")
    assert _cards(answer)[0][1] == ["Ana leads Atlas."]
    assert answer.packet.warnings == ["open_conflict: 1 fact(s) hidden pending conflict resolution"]
    assert answer.packet.status is PacketStatus.DEGRADED
    assert sorted(reasons(answer).values()) == ["card_line", "conflict_open"]


def test_what_is_forgotten_is_gone_from_reads_and_from_the_card(
    account: Account, ana: Subject, facts: dict[str, Fact], ask: Ask, work: Work
) -> None:
    receipt = forgetting.disable(person_in(account), fact_id=facts["Porto"].id)
    assert _cards(ask("", exact=False))[0][1] == ["Ana leads Atlas.", "Ana likes tea.", "Ana may move."]
    work()
    assert not [line for card in Card.objects.all() for line in card.lines if "Porto" in line["text"]]
    forgetting.enable(person_in(account), receipt.id)
    work()
    assert "Ana lives in Porto." in _cards(ask("", exact=False))[0][1]


def test_a_line_that_rests_on_several_facts_needs_all_of_them(facts: dict[str, Fact], ask: Ask) -> None:
    card = Card.objects.get(kind=CardKind.SUBJECT_PROFILE)
    both = {"text": "Ana, of Porto, leads Atlas.", "edited": True}
    card.lines = [{**both, "facts": [str(facts["Atlas"].id), str(facts["Porto"].id)]}]
    card.save()
    answer = ask("", exact=False)
    assert (_cards(answer), answer.packet.cards[0].lines[0].edited) == (
        [(CardKind.SUBJECT_PROFILE, ["Ana, of Porto, leads Atlas."])],
        True,
    )
    assert Trace.objects.get(pk=answer.trace_id).facts_served == 5
    _change(facts["Porto"], Status.SUPERSEDED)
    answer = ask("", exact=False)
    assert _cards(answer) == [(CardKind.SCOPE_CARD, ["Ana leads Atlas."])]


def test_an_exact_scope_shows_only_what_is_about_the_subject(
    account: Account, ana: Subject, facts: dict[str, Fact], work: Work, ask: Ask
) -> None:
    ben = SubjectFactory(account=account, key="ben")
    shared(ben, "Ben leads Cirrus.")
    shared(ana, "Ana works from home.", scope__path="/")
    shared(ana, "Ana is on call.", scope__path="/")
    work()
    exact = ask("", exact=True)
    assert _cards(exact) == [
        (
            CardKind.SUBJECT_PROFILE,
            ["Ana leads Atlas.", "Ana lives in Porto.", "Ana likes tea.", "Ana bought a bicycle.", "Ana may move."],
        )
    ]
    wide = ask("", exact=False)
    assert [(card.kind, card.scope, len(card.lines)) for card in wide.packet.cards] == [
        (CardKind.SUBJECT_PROFILE, "/support", 5),
        (CardKind.SUBJECT_PROFILE, "/", 2),
        (CardKind.SCOPE_CARD, "/support", 1),
    ]
    assert ask("", exact=True, subject_key="nobody").packet.empty_reason is EmptyReason.NO_MEMORY


def test_the_summary_of_the_session_comes_first(account: Account, ana: Subject, work: Work, ask: Ask) -> None:
    for number in range(3):
        shared(ana, f"Ana asked {number}.", event=EventFactory(subject=ana, thread="s-1"))
    FactFactory(subject=ana, statement="Ana worries.", event=EventFactory(subject=ana, thread="s-1"), confidence=0.5)
    FactFactory(subject=ana, statement="Ana likes tea.")
    SubjectFactory(account=account, key="ben")
    work()
    asked = [f"Ana asked {number}." for number in range(3)]
    own = ask("", exact=False, thread="s-1")
    assert _cards(own) == [
        (CardKind.SESSION_SUMMARY, [*asked, "Ana worries."]),
        (CardKind.SUBJECT_PROFILE, ["Ana likes tea."]),
    ]
    assert own.packet.cards[0].title == "s-1"
    assert _cards(ask("", exact=False, thread="s-1", subject_key="ben")) == [(CardKind.SESSION_SUMMARY, asked)]
    for thread in ("", "s-2"):
        assert _cards(ask("", exact=False, thread=thread))[0][0] == CardKind.SUBJECT_PROFILE


@pytest.mark.parametrize("budget", [1, 2, 8])
def test_a_budget_too_small_for_a_line_serves_none(facts: dict[str, Fact], ask: Ask, budget: int) -> None:
    answer = ask("", exact=False, budget=budget)
    assert (answer.packet.cards, answer.token_count <= budget) == ([], True)
    assert answer.projection_cache_hit is False
    if budget == 1:
        assert answer.packet.empty_reason is EmptyReason.OVER_BUDGET
        assert set(reasons(answer).values()) == {"over_budget"}


def test_a_kind_ends_at_its_first_line_that_does_not_fit(ana: Subject, work: Work, ask: Ask) -> None:
    FactFactory(subject=ana, statement="Ana " + "likes tea and " * 10 + "coffee.", confidence=1.0)
    FactFactory(subject=ana, statement="Ana rides.", confidence=0.9)
    for name in ("Atlas", "Borealis"):
        shared(ana, f"Ana leads {name}.", confidence=0.5)
    work()
    answer = ask("", exact=False, budget=30)
    # The long line ends the profile; the card of the scope follows, and then the facts that still fit.
    assert _cards(answer) == [(CardKind.SCOPE_CARD, ["Ana leads Atlas.", "Ana leads Borealis."])]
    assert statements(answer) == ["Ana rides."]
    assert answer.token_count == 25


def test_a_budget_in_characters_counts_headings_and_lines(facts: dict[str, Fact], ask: Ask) -> None:
    heading, line = "About the reader:", "- Ana leads Atlas. (2025-03-10)"
    enough = len(heading) + len(line) + 2
    assert _cards(ask("", budget=enough - 1, budget_unit="chars")) == []
    assert _cards(ask("", budget=enough, budget_unit="chars")) == [(CardKind.SUBJECT_PROFILE, ["Ana leads Atlas."])]


def test_the_same_words_are_not_served_twice(ana: Subject, facts: dict[str, Fact], ask: Ask) -> None:
    copy = shared(ana, "Ana likes tea.", scope__path="/")
    answer = ask("", exact=False)
    assert statements(answer) == ["Ana bought a bicycle."]
    assert reasons(answer)[str(copy.id)] == "duplicate_of_served"


@pytest.mark.parametrize("instant", ["as_of", "known_at"])
def test_cards_are_of_now(facts: dict[str, Fact], ask: Ask, instant: str) -> None:
    answer = ask("", exact=False, **{instant: now()})
    assert answer.packet.cards == []
    assert "Ana leads Atlas." in statements(answer)
    assert (answer.projection_cache_hit, answer.fast_fallback) == (False, True)


def test_with_nothing_stored_both_flags_are_down(ana: Subject, ask: Ask) -> None:
    answer = ask("")
    assert (answer.projection_cache_hit, answer.fast_fallback) == (False, False)
    assert answer.packet.empty_reason is EmptyReason.NO_MEMORY
    assert rendering.block(answer.packet) == rendering.compact(answer.packet) == ""


def test_a_question_is_answered_without_cards(facts: dict[str, Fact], ask: Ask) -> None:
    answer = ask("tea", exact=False)
    assert answer.packet.cards == []
    assert (answer.projection_cache_hit, answer.fast_fallback) == (False, False)


def test_the_profile_can_be_asked_for_beside_a_question(facts: dict[str, Fact], ask: Ask) -> None:
    answer = ask("Does Ana like tea?", exact=False, with_profile=True)
    assert [kind for kind, _ in _cards(answer)] == [CardKind.SUBJECT_PROFILE]
    assert "Ana likes tea." in statements(answer)
    assert reasons(answer)[str(facts["tea"].id)] == "top_score"
    assert answer.projection_cache_hit is True
    text = rendering.compact(answer.packet)
    assert text.startswith(
        "User profile: **Role & Responsibilities**: Ana leads Atlas. (2025-03-10) Ana lives in Porto. "
    )
    assert "\n\nRelevant observations:\n- [general] Ana likes tea. (2025-03-10)" in text
    tight = ask("Does Ana like tea?", exact=False, with_profile=True, budget=33)
    assert statements(tight) == []
    assert set(reasons(tight).values()) == {"card_line", "over_budget"}
    assert ask("tea", exact=False, with_profile=True, as_of=MARCH).packet.cards == []


def test_standing_context_needs_few_queries_however_many_cards(
    account: Account, ana: Subject, app: Principal, work: Work
) -> None:
    for path in ("/", "/support", "/support/emea"):
        for number in range(8):
            event = EventFactory(subject=ana, thread="s-1", scope__path=path)
            shared(ana, f"Ana asked for number {number} in {path}.", scope__path=path, event=event)
    work()
    request = ContextRequest(
        scope_path="/support/emea", exact=False, subject_key="ana", thread="s-1", purpose="test", budget=5_000
    )
    assemble(principal=app, request=request)
    with CaptureQueriesContext(connection) as captured:
        answer = assemble(principal=app, request=request)
    assert len(answer.packet.cards) == 3
    sent = [query["sql"] for query in captured.captured_queries if "SAVEPOINT" not in str(query["sql"])]
    # account and bounds, cards, cited facts, the newest facts, the salient ones, those that no card says, trace
    assert len(sent) == 7


def _sleep(*args: object, **kwargs: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(5)")


def test_without_time_for_facts_cards_are_served_and_it_is_said(
    facts: dict[str, Fact], ask: Ask, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CONTEXT_DEADLINE_MS = 50
    monkeypatch.setattr(assembly.candidates, "salient", _sleep)
    answer = ask("", exact=False)
    assert [kind for kind, _ in _cards(answer)] == [CardKind.SUBJECT_PROFILE]
    assert answer.packet.facts == []
    assert answer.packet.status is PacketStatus.DEGRADED
    assert answer.packet.warnings == ["degraded_retrieval: without salience_recency (timeout)"]
    assert Trace.objects.get(pk=answer.trace_id).status == "degraded"


def test_without_time_for_anything_the_packet_has_failed(
    facts: dict[str, Fact], ask: Ask, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CONTEXT_DEADLINE_MS = 50
    monkeypatch.setattr(assembly.candidates, "salient", _sleep)
    monkeypatch.setattr(assembly.cards, "_stored", _sleep)
    answer = ask("", exact=False)
    assert (answer.packet.status, answer.packet.empty_reason) == (PacketStatus.FAILED, EmptyReason.RETRIEVAL_FAILED)
    assert answer.packet.warnings == ["degraded_retrieval: without cards (timeout), salience_recency (timeout)"]
    assert (answer.projection_cache_hit, answer.fast_fallback) == (False, False)


def test_of_very_many_facts_the_newest_are_compared(ana: Subject, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "SALIENT_AMONG", 2)
    for number in range(4):
        FactFactory(subject=ana, statement=f"Fact {number}.", valid_from=JANUARY + timedelta(days=number))
    assert statements(ask("")) == ["Fact 3.", "Fact 2."]
    FactFactory(subject=ana, statement="Of unknown age.", valid_from=None)
    assert statements(ask("")) == ["Of unknown age.", "Fact 3."]


def test_a_card_about_names_is_called_by_nothing_but_what_it_says(account: Account, ana: Subject, ask: Ask) -> None:
    facts = [shared(ana, f"The {name} engine is loud.") for name in ("Atlas", "Nightfall")]
    lines = [{"text": fact.statement, "facts": [str(fact.id)], "edited": False} for fact in facts]
    Card.objects.create(
        account=account,
        scope=facts[0].scope,
        kind=CardKind.ENTITY_CARD,
        key="nightfall",
        title="Nightfall",
        lines=lines,
        sensitivity="internal",
        builder="extractive-2",
    )
    assert [card.title for card in ask("").packet.cards] == ["Nightfall"]
    _change(facts[1], Status.SUPERSEDED)
    assert ask("").packet.cards == []


def test_at_most_eight_cards_about_names_the_richest_first(account: Account, ana: Subject, ask: Ask) -> None:
    for number in range(10):
        fact = shared(ana, f"Engine{number} is loud.")
        Card.objects.create(
            account=account,
            scope=fact.scope,
            kind=CardKind.ENTITY_CARD,
            key=f"engine{number}",
            title=f"Engine{number}",
            sources=number,
            sensitivity="internal",
            builder="extractive-2",
            lines=[{"text": fact.statement, "facts": [str(fact.id)], "edited": False}],
        )
    titles = [card.title for card in ask("", budget=5_000).packet.cards]
    assert titles == [f"Engine{number}" for number in range(9, 1, -1)]


def test_a_card_that_cites_what_is_gone_is_no_fault(
    account: Account, ana: Subject, facts: dict[str, Fact], ask: Ask
) -> None:
    card = Card.objects.get(kind=CardKind.SUBJECT_PROFILE)
    card.lines = [
        {"text": "Nobody knows why.", "facts": [str(uuid.uuid4())], "edited": False},
        {"text": "Nothing is cited.", "facts": [], "edited": False},
    ]
    card.save()
    assert _cards(ask("", exact=False)) == [(CardKind.SCOPE_CARD, ["Ana leads Atlas.", "Ana lives in Porto."])]
    rebuilding.rebuild(account.id, card.id)
    assert _cards(ask("", exact=False))[0][0] == CardKind.SUBJECT_PROFILE
