from __future__ import annotations

from collections.abc import Callable

import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import DomainError, NotFound
from facts.models import Account, Fact, Subject
from facts.vocabulary import Level, Sensitivity, Status
from governance import forgetting, keys
from governance.access import Principal, Right
from governance.models import Role
from retrieval import statistics
from retrieval.context.assembly import ContextAnswer
from retrieval.models import Trace
from retrieval.profiles import profile_versions
from retrieval.search.answer import SearchAnswer
from retrieval.traces import selectors
from retrieval.traces.replay import Replay, ReplayMode, replay, served_keys
from tests.factories import AccountFactory, FactFactory, SubjectFactory, entered, key_principal, person_in

Ask = Callable[..., ContextAnswer]
Find = Callable[..., SearchAnswer]


def _end(fact: Fact, status: str = Status.SUPERSEDED) -> None:
    lifecycle.transition(
        account_id=fact.account_id,
        fact_id=fact.pk,
        to=status,
        actor=pipeline(),
        action="fact.ended",
        expected_version=fact.version,
        changes={"valid_to": now()},
    )


def _shown(found: Replay) -> list[tuple[str, int | None, int | None, str | None, str | None]]:
    return [
        (row.text, row.compared.before, row.compared.after, row.reason_before, row.reason_after) for row in found.rows
    ]


def _facts(ana: Subject, *statements: str) -> list[Fact]:
    return [FactFactory(subject=ana, statement=text) for text in statements]


def test_replayed_as_it_is_shows_what_came_and_what_went(ana: Subject, ask: Ask, app: Principal) -> None:
    old, kept = _facts(ana, "Ana likes green tea.", "Ana drinks tea at noon.")
    answer = ask("tea", budget=40)
    _end(old)
    FactFactory(subject=ana, statement="Ana likes black tea.")
    again = ask("tea", budget=40)
    found = replay(app, answer.trace_id, mode=ReplayMode.NOW)
    texts = {row.text: row.compared.change.value for row in found.rows}
    assert texts["Ana likes black tea."] == "added"
    assert texts["Ana likes green tea."] == "missing"
    assert texts["Ana drinks tea at noon."] in {"same", "moved"}
    assert served_keys(found.replayed) == served_keys(Trace.objects.get(pk=again.trace_id))
    reasons = {row.text: (row.reason_before, row.reason_after) for row in found.rows}
    assert reasons["Ana likes black tea."] == ("not_recorded_yet", "top_score")
    assert reasons["Ana likes green tea."] == ("top_score", "not_current")
    assert found.hidden == 0
    assert kept.statement in texts


def test_replayed_as_it_was_gives_what_was_served(ana: Subject, ask: Ask, app: Principal) -> None:
    (old,) = _facts(ana, "Ana likes green tea.")
    answer = ask("tea")
    _end(old)
    FactFactory(subject=ana, statement="Ana likes black tea.")
    ask("tea")
    found = replay(app, answer.trace_id, mode=ReplayMode.THEN)
    assert [row.compared.change.value for row in found.rows] == ["same", "same"]
    assert found.replayed.known_at == found.original.created_at
    assert found.replayed.as_of == found.original.question_time


def test_a_replay_is_deterministic(ana: Subject, ask: Ask, app: Principal) -> None:
    _facts(ana, *(f"Ana likes tea number {number}." for number in range(8)))
    answer = ask("Which tea?", budget=60)
    for mode in ReplayMode:
        first, second = (replay(app, answer.trace_id, mode=mode) for _ in range(2))
        assert _shown(first) == _shown(second)
        assert served_keys(first.replayed) == served_keys(second.replayed)


def test_what_was_forgotten_stays_gone(account: Account, ana: Subject, ask: Ask, app: Principal) -> None:
    (fact,) = _facts(ana, "Ana likes green tea.")
    answer = ask("tea")
    forgetting.disable(person_in(account), fact_id=fact.pk, reason="asked")
    for mode in ReplayMode:
        found = replay(app, answer.trace_id, mode=mode)
        assert found.rows == []
        assert found.hidden == 2
        assert served_keys(found.replayed) == []


def test_a_replay_enters_no_figures_and_is_no_call_of_whoever_replays(
    account: Account, ana: Subject, ask: Ask, app: Principal
) -> None:
    _facts(ana, "Ana likes green tea.")
    answer = ask("tea")
    curator = person_in(account)
    found = replay(curator, answer.trace_id, mode=ReplayMode.NOW)
    assert found.replayed.kind == "replay"
    assert found.replayed.request["replay_of"] == str(answer.trace_id)
    assert (found.replayed.credential_id, found.replayed.reader_id) == (curator.pk, ana.pk)
    scopes = [found.original.scope]
    total = statistics.overview(account_id=account.id, scopes=scopes, reader=selectors.rereader(app, found.original))
    assert total.total.calls == 1
    with pytest.raises(DomainError) as refused:
        replay(curator, found.replayed.pk, mode=ReplayMode.NOW)
    assert refused.value.code == "not_replayable"


def test_whoever_replays_is_shown_only_what_they_may_see(
    account: Account, ana: Subject, ask: Ask, app: Principal
) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.")
    FactFactory(subject=ana, statement="Ana shares her tea.", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    answer = ask("tea")
    curator = person_in(account)
    found = replay(curator, answer.trace_id, mode=ReplayMode.NOW)
    assert [row.text for row in found.rows if row.compared.item.unit == "fact"] == ["Ana shares her tea."]
    assert len(served_keys(found.replayed)) == len(found.rows) + found.hidden
    assert found.hidden >= 1
    inspected = selectors.packet_of(curator, found.replayed)
    assert [fact.statement for fact in inspected.packet.facts] == ["Ana shares her tea."]
    mine = replay(app, answer.trace_id, mode=ReplayMode.NOW)
    assert mine.hidden == 0
    assert len(selectors.packet_of(app, mine.replayed).packet.facts) == 2


def test_only_who_may_inspect_a_trace_may_replay_it(account: Account, ana: Subject, ask: Ask) -> None:
    answer = ask("tea")
    other = AccountFactory()
    with entered(other):
        stranger = person_in(other, role=Role.ACCOUNT_ADMIN)
        with pytest.raises(NotFound) as refused:
            replay(stranger, answer.trace_id, mode=ReplayMode.NOW)
        assert refused.value.code == "trace_not_found"
    for who in (
        key_principal(account, label="another"),
        person_in(account, role=Role.READER),
        person_in(account, path="/sales"),
    ):
        with pytest.raises(NotFound):
            replay(who, answer.trace_id, mode=ReplayMode.NOW)


def test_a_key_that_lost_a_right_replays_as_nobody(account: Account, ana: Subject, ask: Ask) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.")
    app = key_principal(account, label="wide", rights=[Right.READ, Right.READ_FOR_OTHERS])
    answer = ask("tea", principal=app, peer_key="ana")
    assert len(answer.packet.facts) == 1
    row = keys.keys_within(person_in(account, role=Role.ACCOUNT_ADMIN)).get(pk=app.key_id)
    row.rights = [Right.READ]
    row.save(update_fields=["rights"])
    found = replay(app, answer.trace_id, mode=ReplayMode.NOW)
    assert found.replayed.reader_posture == "public_only"
    assert served_keys(found.replayed) == []


def test_a_removed_credential_leaves_nothing_to_replay(account: Account, ana: Subject, ask: Ask) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.", sensitivity=Sensitivity.PUBLIC)
    app = key_principal(account, label="gone")
    answer = ask("tea", principal=app)
    Trace.objects.filter(pk=answer.trace_id).update(credential_id=SubjectFactory(account=account).pk)
    found = replay(person_in(account), answer.trace_id, mode=ReplayMode.NOW)
    assert served_keys(found.replayed) == []
    assert {row.compared.change.value for row in found.rows} == {"missing"}


def test_the_profile_of_then_is_used_for_then(account: Account, ana: Subject, ask: Ask, app: Principal) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.")
    admin = person_in(account, role=Role.ACCOUNT_ADMIN)
    profile_versions.save(admin, name="context", scope=None, settings={"passages": 0}, note="x", expected=None)
    answer = ask("tea")
    assert answer.packet.passages == []
    profile_versions.switch_off(admin, name="context", scope=None, note="x", expected=1)
    then = replay(app, answer.trace_id, mode=ReplayMode.THEN)
    today = replay(app, answer.trace_id, mode=ReplayMode.NOW)
    assert then.replayed.profile == then.original.profile == answer.profile
    assert [key.unit for key in served_keys(then.replayed)] == ["fact"]
    assert [key.unit for key in served_keys(today.replayed)] == ["fact", "passage"]


def test_what_cannot_be_the_same_any_more_is_said(ana: Subject, ask: Ask, app: Principal) -> None:
    answer = ask("tea")
    Trace.objects.filter(pk=answer.trace_id).update(
        profile="context-0-7-00000000", request={}, embedder="another", ranker="older"
    )
    notes = replay(app, answer.trace_id, mode=ReplayMode.THEN).notes
    assert [note.split()[0] for note in notes] == ["The", "Ranked", "The", "Whether", "Read"]
    Trace.objects.filter(pk=answer.trace_id).update(profile="unheard-1")
    assert replay(app, answer.trace_id, mode=ReplayMode.THEN).notes[0].startswith("The profile")


def test_standing_context_is_replayed_as_well(ana: Subject, ask: Ask, app: Principal) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.")
    answer = ask("")
    for mode in ReplayMode:
        found = replay(app, answer.trace_id, mode=mode)
        assert [(row.text, row.compared.change.value) for row in found.rows] == [("Ana likes green tea.", "same")]


def test_a_search_is_replayed(ana: Subject, find: Find, app: Principal) -> None:
    old = FactFactory(subject=ana, statement="Ana likes green tea.")
    answer = find("tea", limit=5)
    _end(old)
    then = replay(app, answer.trace_id, mode=ReplayMode.THEN)
    today = replay(app, answer.trace_id, mode=ReplayMode.NOW)
    assert {row.compared.change.value for row in then.rows if row.compared.item.unit == "fact"} <= {"same", "moved"}
    assert ("Ana likes green tea.", "missing") in [(row.text, row.compared.change.value) for row in today.rows]
    assert today.replayed.budget == 5


def test_what_a_name_led_to_is_found_again(ana: Subject, ask: Ask, app: Principal) -> None:
    atlas = FactFactory(subject=ana, statement="The engine room of Atlas is noisy.")
    for number in range(70):
        FactFactory(subject=ana, statement=f"Ana met client number {number}.")
    FactFactory(subject=ana, statement="Ana works on Atlas.")
    answer = ask("what works for Ana", budget=10_000)
    reasons = {row.text: row for row in replay(app, answer.trace_id, mode=ReplayMode.THEN).rows}
    row = reasons["The engine room of Atlas is noisy."]
    assert (row.reason_before, row.reason_after) == ("multi_hop_expansion", "multi_hop_expansion")
    _end(atlas)
    today = replay(app, answer.trace_id, mode=ReplayMode.NOW)
    assert (atlas.statement, "not_current") in [(row.text, row.reason_after) for row in today.rows]
