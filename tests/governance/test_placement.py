"""From a candidate to a fact: planning, gates and carrying out, on the real database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import audit, embedding, lifecycle, suppressions
from facts.actors import pipeline
from facts.clock import now
from facts.models import (
    ConflictMember,
    ConflictSet,
    Evidence,
    Fact,
    FactRevision,
    FactVector,
    Passage,
    PredicateAlias,
    Relation,
)
from facts.vocabulary import Status, SubjectKind
from governance import conflicts, placement
from governance.models import GateDecision, Review
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    FactFactory,
    GateRuleFactory,
    SubjectFactory,
    candidate,
    person_in,
    say,
    submission,
    submit,
    submitted_fact,
    taken_back,
)

CITIES = ["Lyon", "Paris", "Nice"]


@pytest.fixture
def ada(account):
    """A person who is spoken about."""
    return SubjectFactory(account=account, key="ada")


def fact(placed: placement.Placement) -> Fact:
    """Return the fact that a placement is about."""
    return Fact.objects.get(pk=placed.fact_id)


# The outcome of the gates


def test_an_accepted_fact_is_current_with_its_evidence_and_both_decisions(ada):
    told = submission(ada, {"city": "Lyon"}, at=JANUARY)
    placed = placement.submit(told, actor=pipeline())
    made = fact(placed)
    assert (placed.result, placed.reason, made.status, made.version) == ("fact", "new", "active", 2)
    assert (made.level, made.sensitivity, made.valid_from, made.start_assumed) == ("peer", "personal", JANUARY, True)
    assert (made.predicate, made.value, made.corroboration) == ("lives_in", {"city": "Lyon"}, 1)
    assert list(Evidence.objects.values_list("event_id", "passage_id", "quote")) == [
        (told.event.id, told.passage.id, "Lyon")
    ]
    assert list(GateDecision.objects.values_list("gate", "outcome")) == [("A", "pass"), ("B", "pass")]


def test_what_waits_at_peer_level_is_provisional_and_wider_is_held(account, ada):
    account.gate_preset = "reviewed"
    account.save()
    team = SubjectFactory(account=account, kind=SubjectKind.TOPIC)
    mine, shared = submitted_fact(ada, {"city": "Lyon"}), submitted_fact(team, {"city": "Lyon"})
    assert (mine.status, shared.status) == ("provisional", "held")
    assert (
        list(Review.objects.order_by("id").values_list("kind", "fact_version", "status"))
        == [("new_fact", 2, "pending")] * 2
    )
    assert GateDecision.objects.filter(outcome="wait").count() == 4


def test_what_a_rule_refuses_is_kept_as_rejected(account, ada):
    GateRuleFactory(account=account, gate_a="auto_reject")
    placed = submit(ada, {"city": "Lyon"})
    assert (placed.result, placed.reason, fact(placed).status) == ("rejected", "rule_rejects", "rejected")


def test_what_waits_hides_and_retires_nothing(account, ada):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    GateRuleFactory(account=account, gate_a="human")
    waiting = [
        submitted_fact(ada, {"city": "Paris"}, at=MARCH, update_marker="now"),
        submitted_fact(ada, {"city": "Nice"}, at=MAY),
    ]
    lyon.refresh_from_db()
    assert (lyon.status, lyon.withheld, lyon.valid_to) == ("active", "", None)
    assert [one.status for one in waiting] == ["provisional"] * 2
    assert not ConflictSet.objects.exists()


@pytest.mark.parametrize("confidence", [0.49, 0.0, float("nan")])
def test_a_guess_is_not_kept(ada, confidence):
    placed = submit(ada, {"city": "Lyon"}, confidence=confidence)
    assert (placed.result, placed.reason) == ("rejected", "low_confidence")
    assert not Fact.objects.exists()


def test_a_model_may_raise_sensitivity_and_never_lower_it(ada):
    assert submitted_fact(ada, {"city": "Lyon"}, sensitivity="public").sensitivity == "personal"
    assert submitted_fact(ada, {"city": "Nice"}, predicate="p", sensitivity="restricted").sensitivity == "restricted"
    guarded = submitted_fact(ada, {"x": "y"}, predicate="q", event_fields={"sensitivity": "restricted"})
    assert (guarded.sensitivity, guarded.status) == ("restricted", "provisional")


def test_sources_are_counted_until_there_are_enough(account, ada):
    GateRuleFactory(account=account, minimum_corroboration=2)
    waiting = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    assert waiting.status == "provisional"
    machine = submit(ada, {"city": "Lyon"}, at=MARCH, event_fields={"human": False})
    assert (machine.reason, machine.status) == ("repeated", "provisional")
    second = submit(ada, {"city": "Lyon"}, at=MAY)
    assert (second.result, second.fact_id, second.status) == ("duplicate", waiting.id, "active")
    assert Review.objects.get().status == "withdrawn"
    assert GateDecision.objects.filter(outcome="pass", gate="B").count() == 1


# Repetition


def test_repetition_strengthens_and_moves_confirmation_forward_only(ada):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=MARCH)
    submit(ada, {"city": "Lyon"}, at=MAY)
    submit(ada, {"city": "Lyon"}, at=JANUARY)
    lyon.refresh_from_db()
    assert (lyon.corroboration, lyon.last_reinforced_at, lyon.valid_from) == (3, MAY, MARCH)
    assert Fact.objects.count() == 1


def test_an_edited_message_is_no_second_source(ada):
    told = say(ada, occurred_at=JANUARY)
    submit(ada, {"city": "Lyon"}, event=told)
    edited = say(ada, occurred_at=JANUARY, source_key=told.source_key, revision=2)
    submit(ada, {"city": "Lyon"}, event=edited)
    assert Fact.objects.get().corroboration == 1
    assert Evidence.objects.count() == 2


def test_the_same_event_counts_once(ada):
    told = submission(ada, {"city": "Lyon"})
    first = placement.submit(told, actor=pipeline())
    again = placement.submit(told, actor=pipeline())
    assert (again.result, again.reason, again.fact_id, again.status) == (
        "duplicate",
        "already_evidence",
        first.fact_id,
        "active",
    )
    assert Fact.objects.get().corroboration == 1


def test_after_a_carried_over_key_the_update_may_be_repeated(ada):
    submit(ada, {"city": "Lyon", "country": "FR"}, at=JANUARY)
    moved = submitted_fact(ada, {"city": "Paris"}, at=MARCH, update_marker="now")
    assert moved.value == {"city": "Paris", "country": "FR"}
    again = submit(ada, {"city": "Paris"}, at=MAY)
    assert (again.reason, again.fact_id) == ("repeated", moved.id)


# Change in time


def test_a_marked_change_ends_the_old_value_where_the_new_one_starts(ada):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    paris = submitted_fact(ada, {"city": "Paris"}, at=MARCH, update_marker="now")
    lyon.refresh_from_db()
    assert (lyon.status, lyon.valid_from, lyon.valid_to) == ("superseded", JANUARY, MARCH)
    assert (paris.status, paris.valid_from, paris.came_by_marker) == ("active", MARCH, True)
    assert Relation.objects.get(kind="supersedes", source=paris).target_id == lyon.id


def test_there_and_back_again(ada):
    for at, city in ((JANUARY, "Lyon"), (MARCH, "Paris"), (MAY, "Lyon")):
        submit(ada, {"city": city}, at=at, update_marker="now")
    assert list(Fact.objects.order_by("id").values_list("value__city", "status", "valid_from", "valid_to")) == [
        ("Lyon", "superseded", JANUARY, MARCH),
        ("Paris", "superseded", MARCH, MAY),
        ("Lyon", "active", MAY, None),
    ]


def test_no_longer_and_then_again(ada):
    submit(ada, {"city": "Lyon"}, at=JANUARY)
    submit(ada, {"city": "Lyon"}, at=MARCH, denies=True, update_marker="no longer")
    submit(ada, {"city": "Paris"}, at=MAY)
    back = submitted_fact(ada, {"city": "Lyon"}, at=JULY, update_marker="again")
    assert back.status == "active"
    assert list(Fact.objects.order_by("id").values_list("status", flat=True)) == ["superseded"] * 3 + ["active"]


def test_an_explicit_null_removes_a_key(ada):
    submit(ada, {"city": "Lyon", "street": "Rue A"}, at=JANUARY)
    moved = submitted_fact(ada, {"city": "Paris", "street": None}, at=MARCH, update_marker="now")
    assert moved.value == {"city": "Paris"}


def test_a_null_is_remembered_while_the_change_waits(account, ada):
    submit(ada, {"city": "Lyon", "street": "Rue A"}, at=JANUARY)
    rule = GateRuleFactory(account=account, gate_a="human")
    waiting = submitted_fact(ada, {"city": "Paris", "street": None}, at=MARCH, update_marker="now")
    rule.delete()
    placed = placement.place_waiting(waiting, actor=pipeline(), action="test.approved")
    assert (placed.status, placed.value) == ("active", {"city": "Paris"})


def test_a_late_message_goes_into_history(ada):
    submit(ada, {"city": "Lyon"}, at=JANUARY)
    paris = submitted_fact(ada, {"city": "Paris"}, at=MAY, update_marker="now")
    late = submitted_fact(ada, {"city": "Nice"}, at=MARCH, update_marker="now")
    assert list(Fact.objects.order_by("id").values_list("value__city", "status", "valid_from", "valid_to")) == [
        ("Lyon", "superseded", JANUARY, MARCH),
        ("Paris", "active", MAY, None),
        ("Nice", "superseded", MARCH, MAY),
    ]
    assert Relation.objects.filter(source=paris, target=late, kind="supersedes").exists()


def test_what_was_over_when_it_was_said_is_history(ada):
    current = submitted_fact(ada, {"city": "Lyon"}, at=MARCH)
    past = submitted_fact(ada, {"city": "Paris"}, at=MAY, valid_to=JANUARY, end_stated=True)
    current.refresh_from_db()
    assert (past.status, past.valid_from, past.valid_to) == ("superseded", None, JANUARY)
    assert (current.status, current.withheld) == ("active", "")


def test_an_end_of_what_is_believed_to_go_on_is_for_people(ada):
    current = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    ended = submitted_fact(ada, {"city": "Lyon"}, at=JULY, valid_to=MAY, end_stated=True, statement="Until May.")
    assert (ended.status, ConflictSet.objects.get().reason) == ("candidate", "different_value")
    conflicts.keep_one(person_in(ada.account), ConflictSet.objects.get().id, fact_id=current.id)


def test_what_has_ended_by_its_own_words_makes_room(ada):
    first = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    Fact.objects.filter(pk=first.pk).update(valid_to=MARCH)
    second = submitted_fact(ada, {"city": "Paris"}, at=MAY)
    first.refresh_from_db()
    assert (first.status, first.valid_to, second.status) == ("expired", MARCH, "active")
    assert not ConflictSet.objects.exists()


def test_a_backdated_change_leaves_an_unknown_start(ada):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=MARCH)
    submit(ada, {"city": "Paris"}, at=MAY, valid_from=JANUARY, start_stated=True, update_marker="now")
    lyon.refresh_from_db()
    assert (lyon.status, lyon.valid_from, lyon.valid_to) == ("superseded", None, JANUARY)


# Names, conditions, suppressions


def test_a_predicate_goes_by_its_agreed_name(account, ada):
    PredicateAlias.objects.create(account=account, alias="resides_in", canonical="lives_in")
    submit(ada, {"city": "Lyon"})
    assert submit(ada, {"city": "Lyon"}, predicate="Resides in").reason == "repeated"


def test_who_told_it_is_no_condition(ada):
    first = submitted_fact(ada, {"city": "Lyon"}, qualifiers={"attributed_to": "Bob"})
    assert submit(ada, {"city": "Lyon"}, qualifiers={"when": "summer"}).reason == "new"
    assert submit(ada, {"city": "Paris"}, qualifiers={"when": "winter"}).reason == "one_side_unqualified"
    first.refresh_from_db()
    assert first.withheld == "conflict_open"


def test_what_was_forgotten_stays_forgotten_in_any_form_it_had(ada):
    submit(ada, {"city": "Lyon", "country": "FR"}, at=JANUARY)
    moved = submitted_fact(ada, {"city": "Paris"}, at=MARCH, update_marker="now", statement="She moved to Paris.")
    suppressions.suppress(moved, cause="forgotten", actor=pipeline(), evidence_until=None)
    for value, words in (
        ({"city": "Paris"}, "Paris it is."),
        ({"city": "Paris", "country": "FR"}, "Paris, France."),
        (None, "she moved to  PARIS."),
    ):
        placed = submit(ada, value, at=now(), statement=words)
        assert (placed.result, placed.reason) == ("rejected", "suppressed_forgotten")


def test_statements_without_a_claim(ada):
    first = submit(ada, None, statement="She likes jazz.")
    assert submit(ada, None, statement="she likes  JAZZ.").fact_id == first.fact_id
    assert submit(ada, None, statement="She likes swing.").reason == "new"


def test_somebody_unknown_is_asked_about(account, ada):
    review = placement.report_unresolved(say(ada), candidate({"city": "Lyon"}, about="Bob"), actor=pipeline())
    assert (review.kind, review.detail["about"], review.fact_id) == ("unresolved_subject", "Bob", None)


# Near matches


def vector(angle: float, *, near: float | None = 0.28) -> embedding.Embedded:
    """Return a unit vector whose cosine distance to ``vector(0)`` is ``angle``."""
    identity = embedding.EmbedderIdentity("test", "test", "1", 384, "none")
    return embedding.Embedded(identity, [1 - angle, (1 - (1 - angle) ** 2) ** 0.5, *[0.0] * 382], near)


@pytest.mark.parametrize(("distance", "marked"), [(0.0, True), (0.27, True), (0.3, False)])
def test_a_near_claim_by_another_name_is_marked_and_hides_nothing(ada, distance, marked):
    first = submitted_fact(ada, {"city": "Lyon"}, vector=vector(0))
    second = submitted_fact(ada, {"city": "Paris"}, predicate="located_in", vector=vector(distance))
    first.refresh_from_db()
    assert FactVector.objects.count() == 2
    assert [one.possibly_conflicting for one in (first, second)] == [marked] * 2
    assert [(one.status, one.withheld) for one in (first, second)] == [("active", "")] * 2
    assert list(ConflictSet.objects.values_list("kind", flat=True)) == (["possible"] if marked else [])


def test_nothing_is_near_where_the_embedder_does_not_know_how_near_that_is(ada):
    submitted_fact(ada, {"city": "Lyon"}, vector=vector(0, near=None))
    second = submitted_fact(ada, {"city": "Paris"}, predicate="located_in", vector=vector(0, near=None))
    assert (second.possibly_conflicting, ConflictSet.objects.count()) == (False, 0)


# Bounds and invariants


def queries(subject, **fields) -> int:
    """Return the number of queries of one submission."""
    told = submission(subject, **fields)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        placement.submit(told, actor=pipeline())
    return len(captured)


def test_the_work_does_not_grow_with_the_store(account):
    counted = []
    for size in (5, 200):
        subject = SubjectFactory(account=account)
        for number in range(size - 2):
            FactFactory(subject=subject, predicate=f"p{number}", value={"x": number})
        submit(subject, {"city": "Lyon"}, at=JANUARY)
        submit(subject, {"city": "Paris"}, at=MARCH)
        counted.append(
            (
                queries(subject, value={"city": "Rome"}, predicate="born_in"),
                queries(subject, value={"city": "Nice"}, at=MAY),
                queries(subject, value={"city": "Nice"}, at=JULY),
            )
        )
    assert counted[0] == counted[1]
    assert max(counted[0]) <= 60


STATEMENT = st.fixed_dictionaries(
    {
        "city": st.sampled_from(CITIES),
        "month": st.integers(1, 12),
        "marker": st.booleans(),
        "denies": st.sampled_from([False, False, False, True]),
        "home": st.sampled_from([None, None, "summer"]),
        "trust": st.sampled_from(["trusted", "trusted", "third_party"]),
        "waits": st.sampled_from([False, False, True]),
    }
)


def check_invariants(subject) -> None:
    """Whatever was said in whatever order, these hold."""
    facts = list(Fact.objects.filter(subject=subject))
    hidden = set(
        ConflictMember.objects.filter(
            left_at__isnull=True, withheld=True, conflict_set__status="open", fact__subject=subject
        ).values_list("fact_id", flat=True)
    )
    served = [one for one in facts if one.status == Status.ACTIVE and not one.withheld]
    assert {one.id for one in facts if one.withheld == "conflict_open"} == hidden
    for one in served:
        for other in served:
            if one.id != other.id and one.identity_key == other.identity_key:
                assert one.denies != other.denies or (one.denies and other.denies)
                assert one.value_key != other.value_key
                assert not (one.value == other.value and one.denies != other.denies)
    affirmed = [one.identity_key for one in facts if one.status == Status.ACTIVE and not one.denies]
    assert len(affirmed) == len(set(affirmed))
    for one in facts:
        assert one.valid_to is None or one.valid_from is None or one.valid_from <= one.valid_to
        for passage in Passage.objects.filter(evidence__fact=one):
            cited = Fact.objects.filter(evidence__passage=passage)
            assert (passage.withheld == "conflict_open") == any(fact.withheld for fact in cited)
    for opened in ConflictSet.objects.filter(subject=subject, status="open"):
        assert opened.members.filter(left_at__isnull=True).count() >= 2


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=st.lists(STATEMENT, min_size=2, max_size=7), decisions=st.lists(st.integers(0, 5), max_size=2))
def test_whatever_is_said_in_whatever_order(account, told, decisions):
    with taken_back():
        subject = SubjectFactory(account=account)
        rule = GateRuleFactory(account=account)
        curator = person_in(account)
        for one in told:
            rule.gate_a = "human" if one["waits"] else "auto_keep"
            rule.save()
            superseded = set(Fact.objects.filter(status="superseded").values_list("id", flat=True))
            submit(
                subject,
                {"city": one["city"]},
                at=JANUARY.replace(month=one["month"]),
                update_marker="now" if one["marker"] else "",
                denies=one["denies"],
                qualifiers={"when": one["home"]} if one["home"] else {},
                event_fields={"origin_trust": one["trust"]},
            )
            gone = Fact.objects.filter(status="superseded").exclude(id__in=superseded)
            assert one["marker"] or not FactRevision.objects.filter(fact__in=gone, status="active").exists()
            check_invariants(subject)
        for choice in decisions:
            opened = ConflictSet.objects.filter(status="open").order_by("id").first()
            if opened is not None:
                ids = list(opened.members.filter(left_at__isnull=True).order_by("id").values_list("fact_id", flat=True))
                decided = conflicts.keep_one(curator, opened.id, fact_id=ids[choice % len(ids)])
                check_invariants(subject)
                if choice > 2:
                    conflicts.undo(curator, decided.id)
                    check_invariants(subject)
        for waiting in Review.objects.filter(status="pending").order_by("id"):
            placement.place_waiting(waiting.fact, actor=pipeline(), action="test.approved")
            check_invariants(subject)
        assert list(audit.verify(account.id)) == []


def test_a_start_to_come_waits_while_the_old_value_stays(ada):
    lyon = submitted_fact(ada, {"city": "Lyon"}, at=JANUARY)
    start = now() + timedelta(days=9)
    placed = submit(ada, {"city": "Paris"}, at=MARCH, valid_from=start, start_stated=True, update_marker="from")
    lyon.refresh_from_db()
    assert (placed.reason, fact(placed).status, fact(placed).starts_later) == ("starts_later", "held", True)
    assert (lyon.status, lyon.valid_to, lyon.withheld) == ("active", None, "")
    assert not Review.objects.exists()


def test_what_was_withdrawn_may_be_said_again_by_the_same_event(account, ada):
    first = submission(ada, {"city": "Lyon"})
    fact_id = placement.submit(first, actor=pipeline()).fact_id
    lifecycle.transition(fact_id, account_id=account.id, to="retracted", actor=pipeline(), action="source.deleted")
    again = placement.submit(first, actor=pipeline())
    assert (again.result, again.reason, again.status) == ("fact", "new", "active")
    assert again.fact_id != fact_id
