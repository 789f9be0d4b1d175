"""The pure planner: every rule, in the order in which the rules are tried, and what must hold for any input."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.claims import make_claim
from facts.consolidation import Claim, Known, OpenSet, Plan, Proposal, SuppressionRule, Verb, opposes, plan
from facts.vocabulary import Form, Status


def month(number: int) -> datetime:
    """Return the first of a month of 2025; 13 is January 2026."""
    return datetime(2025 + (number - 1) // 12, (number - 1) % 12 + 1, 1, tzinfo=UTC)


NOW = month(12)
A, B, C, SET, EVENT = (uuid.UUID(int=number) for number in range(1, 6))


def claim(value="Lyon", *, predicate="lives_in", home=None, denies=False, form=Form.STATE, words="") -> Claim:
    """Return a claim: ``value`` is a city, an object, or ``None`` for no claim; ``home`` a qualifier."""
    value = {"city": value} if isinstance(value, str) else value
    return make_claim(
        statement_hash=words or f"{predicate} {value} {home} {denies}",
        predicate=predicate if value is not None else "",
        value=value,
        qualifiers={"when": home} if home else {},
        denies=denies,
        form=form,
    )


def known(value="Lyon", *, id=A, said=3, status="active", starts=0, **fields) -> Known:
    """Return a known fact that was said in month ``said`` and holds from ``starts`` (default: then)."""
    names = {"predicate", "home", "denies", "form", "words"}
    made = claim(value, **{name: fields.pop(name) for name in list(fields) if name in names})
    base = {
        "id": id,
        "status": status,
        "claim": made,
        "since": month(said),
        "said_at": month(said),
        "valid_from": month(starts or said),
        "start_assumed": not starts,
        "origin_trust": "trusted",
    }
    return Known(**{**base, **fields})


def proposal(value="Paris", *, said=6, starts=0, **fields) -> Proposal:
    """Return a candidate said in month ``said`` that holds from ``starts`` (default: then)."""
    names = {"predicate", "home", "denies", "form", "words"}
    made = claim(value, **{name: fields.pop(name) for name in list(fields) if name in names})
    base = {
        "claim": made,
        "event_id": EVENT,
        "said_at": month(said),
        "starts_at": month(starts or said),
        "start_stated": bool(starts),
        "origin_trust": "trusted",
    }
    return Proposal(**{**base, **fields})


def over(value="Paris", *, ends=5, **fields) -> Proposal:
    """Return a candidate that states its own end in month ``ends``."""
    return proposal(value, ends_at=month(ends), end_stated=True, **fields)


def open_set(*members, kind="contradiction", withheld=None, identity_key="") -> OpenSet:
    """Return an open set; a contradiction withholds all, unless told otherwise."""
    hidden = members if withheld is None else withheld
    return OpenSet(
        id=SET, kind=kind, member_ids=frozenset(members), withheld_ids=frozenset(hidden), identity_key=identity_key
    )


def suppression(value="Paris", *, cause="rejected", until=None, by="claim", origin=None, **fields) -> SuppressionRule:
    """Return a suppression of a claim, by claim or by the statement's words."""
    made = claim(value, **fields)
    keys = (
        {"identity_key": made.identity_key, "value_key": made.value_key}
        if by == "claim"
        else {"statement_hash": made.statement_hash}
    )
    ends = month(until) if until else None
    return SuppressionRule(id=SET, cause=cause, fact_id=origin, evidence_until=ends, **keys)


#: name → (candidate, known facts, further arguments, what the plan must say)
CASES = {
    # Rule 1: suppressed, or the very event again.
    "suppressed for good": (
        proposal(),
        [],
        {"suppressions": [suppression(cause="forgotten")]},
        "drop suppressed_forgotten",
    ),
    "suppressed by what is named": (
        proposal(),
        [],
        {"suppressions": [suppression(cause="forgotten", origin=B), suppression(cause="forgotten", origin=A)]},
        ("drop suppressed_forgotten", {"targets": (A, B)}),
    ),
    "what blocks for good comes first": (
        proposal(said=6),
        [],
        {"suppressions": [suppression(until=7, origin=A), suppression(cause="forgotten", origin=B)]},
        ("drop suppressed_forgotten", {"targets": (B,)}),
    ),
    "suppressed by words": (
        proposal(None, words="w"),
        [],
        {"suppressions": [suppression(None, words="w", by="words", cause="erased")]},
        "drop suppressed_erased",
    ),
    "rejected, evidence from before": (
        proposal(said=6),
        [],
        {"suppressions": [suppression(until=7)]},
        "drop suppressed_rejected",
    ),
    "rejected, evidence of that instant": (
        proposal(said=6),
        [],
        {"suppressions": [suppression(until=6)]},
        "drop suppressed_rejected",
    ),
    "rejected, evidence from after": (proposal(said=6), [], {"suppressions": [suppression(until=5)]}, "create new"),
    "another value is not suppressed": (proposal("Nice"), [], {"suppressions": [suppression()]}, "create new"),
    "under another condition it is not suppressed": (
        proposal(home="summer"),
        [],
        {"suppressions": [suppression()]},
        "create new",
    ),
    "a denial is not suppressed with its value": (
        proposal(denies=True),
        [],
        {"suppressions": [suppression()]},
        "create new",
    ),
    "suppression beats repetition": (
        proposal("Lyon"),
        [known()],
        {"suppressions": [suppression("Lyon")]},
        "drop suppressed_rejected",
    ),
    "same event, same claim": (
        proposal("Lyon"),
        [known(event_ids=frozenset({EVENT}))],
        {},
        ("nothing already_evidence", {"targets": (A,)}),
    ),
    "same event, ended since": (
        proposal("Lyon"),
        [known(status="superseded", event_ids=frozenset({EVENT}))],
        {},
        "nothing already_evidence",
    ),
    "same event, set apart since": (
        proposal("Lyon", words="w"),
        [known(home="summer", words="w", event_ids=frozenset({EVENT}))],
        {},
        "nothing already_evidence",
    ),
    "same event, another claim": (
        proposal("Lyon", predicate="works_in"),
        [known(event_ids=frozenset({EVENT}))],
        {},
        "create new",
    ),
    # Rule 2: the same again.
    "repeated by a human": (proposal("Lyon"), [known()], {}, ("reinforce repeated", {"targets": (A,)})),
    "repeated by a machine": (proposal("Lyon", human=False), [known()], {}, "link repeated"),
    "repeated in other spelling": (proposal("  LYON. "), [known()], {}, "reinforce repeated"),
    "repeated with a marker": (proposal("Lyon", marker=True), [known()], {}, "reinforce repeated"),
    "repeated by an older event": (proposal("Lyon", said=1), [known(came_by_marker=True)], {}, "reinforce repeated"),
    "repeated in part": (proposal("Lyon"), [known({"city": "Lyon", "country": "FR"})], {}, "reinforce repeated"),
    "repeated with more": (proposal({"city": "Lyon", "country": "FR"}), [known()], {}, "open_conflict different_value"),
    "a denial repeated": (proposal("Lyon", denies=True), [known(denies=True)], {}, "reinforce repeated"),
    "equal to a provisional one": (proposal("Lyon"), [known(status="provisional")], {}, "reinforce repeated"),
    "equal to a held one": (proposal("Lyon"), [known(status="held")], {}, "reinforce repeated"),
    "equal to one that needs revalidation": (
        proposal("Lyon"),
        [known(status="needs_revalidation")],
        {},
        "reinforce repeated",
    ),
    "the current one before the waiting one": (
        proposal("Lyon"),
        [known(status="candidate"), known(id=B)],
        {},
        ("reinforce repeated", {"targets": (B,)}),
    ),
    "equal to a rejected one": (proposal("Lyon"), [known(status="rejected")], {}, "create new"),
    "no claim, equal words": (proposal(None, words="w"), [known(None, words="w")], {}, "reinforce repeated"),
    "no claim, other words": (proposal(None, words="v"), [known(None, words="w")], {}, "create new"),
    "an occurrence of the same time": (
        proposal("Lyon", form="event", starts=3, words="v"),
        [known(form="event", starts=3, words="w")],
        {},
        "reinforce repeated",
    ),
    "an occurrence of another time": (
        proposal("Lyon", form="event", starts=4, words="w"),
        [known(form="event", starts=3, words="w")],
        {},
        "create new",
    ),
    "an occurrence told again": (
        proposal("Lyon", form="event", words="w"),
        [known(form="event", words="w")],
        {},
        "reinforce repeated",
    ),
    "a fact that was set apart, in the words of its source": (
        proposal("Lyon"),
        [known("Paris"), known("Lyon", id=B, home="dist", stated_identity=claim("Lyon").identity_key)],
        {},
        ("reinforce repeated", {"targets": (B,)}),
    ),
    # Rule 3: an open conflict.
    "a third value joins": (
        proposal("Nice"),
        [known(), known("Paris", id=B, status="candidate")],
        {"open_sets": [open_set(A, B)]},
        (
            "join_conflict conflict_open",
            {"set_id": SET, "kind": "contradiction", "hides_candidate": True, "withheld": ()},
        ),
    ),
    "with a marker it joins all the same": (
        proposal("Nice", marker=True),
        [known(), known("Paris", id=B, status="candidate")],
        {"open_sets": [open_set(A, B)]},
        "join_conflict conflict_open",
    ),
    "an equal value strengthens its member": (
        proposal("Paris"),
        [known(), known("Paris", id=B, status="candidate")],
        {"open_sets": [open_set(A, B)]},
        ("reinforce repeated", {"targets": (B,)}),
    ),
    "a set of another condition is not joined": (
        proposal("Nice", home="summer"),
        [known(home="winter"), known("Paris", id=B, status="candidate", home="winter")],
        {"open_sets": [open_set(A, B)]},
        "create new",
    ),
    "a possible conflict is not joined": (
        proposal("Nice"),
        [known(), known("x", id=B, predicate="located")],
        {"open_sets": [open_set(A, B, kind="possible", withheld=())]},
        "open_conflict different_value",
    ),
    "the set's own identity counts when its first member has left": (
        proposal("Nice"),
        [known(home="summer"), known("Rome", id=B, home="winter")],
        {"open_sets": [open_set(A, B, identity_key=claim().identity_key)]},
        "join_conflict conflict_open",
    ),
    "an equal source turns a quarantine into a contradiction": (
        proposal("Nice"),
        [known(), known("Paris", id=B, status="candidate", origin_trust="untrusted")],
        {"open_sets": [open_set(A, B, kind="quarantine", withheld=(B,))]},
        ("join_conflict conflict_open", {"kind": "contradiction", "withheld": (A,), "hides_candidate": True}),
    ),
    "a less trusted source only joins a quarantine": (
        proposal("Nice", origin_trust="third_party"),
        [known(), known("Paris", id=B, status="candidate", origin_trust="untrusted")],
        {"open_sets": [open_set(A, B, kind="quarantine", withheld=(B,))]},
        ("join_conflict conflict_open", {"kind": "quarantine", "withheld": (), "hides_candidate": True}),
    ),
    "a more trusted source hides what a quarantine served": (
        proposal("Nice"),
        [known(origin_trust="third_party"), known("Paris", id=B, status="candidate", origin_trust="untrusted")],
        {"open_sets": [open_set(A, B, kind="quarantine", withheld=(B,))]},
        ("join_conflict conflict_open", {"kind": "quarantine", "withheld": (A,), "hides_candidate": False}),
    ),
    # Rule 4: history.
    "arriving late against a marked change": (
        proposal("Paris", said=1),
        [known(said=3, came_by_marker=True)],
        {},
        ("place_in_history arrived_late", {"ends_at": month(3), "targets": (A,), "truncates": ()}),
    ),
    "late with a marker does not win either": (
        proposal("Paris", said=1, marker=True),
        [known(said=3, came_by_marker=True)],
        {},
        "place_in_history arrived_late",
    ),
    "late, between two known values": (
        proposal("Nice", said=2),
        [known(said=3, came_by_marker=True), known("Paris", id=B, said=1, status="superseded", valid_to=month(3))],
        {},
        ("place_in_history arrived_late", {"ends_at": month(3), "truncates": (B,)}),
    ),
    "late, and history knows it": (
        proposal("Paris", said=2),
        [known(said=3, came_by_marker=True), known("Paris", id=B, said=1, status="superseded", valid_to=month(3))],
        {},
        ("link already_history", {"targets": (B,)}),
    ),
    "late against a value without a marker is a contradiction": (
        proposal("Paris", said=1),
        [known(said=3)],
        {},
        "open_conflict different_value",
    ),
    "older than the repetition of a marked change, not than the change": (
        proposal("Paris", said=4),
        [known(said=3, came_by_marker=True, said_at=month(5))],
        {},
        "open_conflict different_value",
    ),
    "late under a condition": (
        proposal("Paris", said=1, home="summer"),
        [known(said=3, came_by_marker=True)],
        {},
        ("place_in_history arrived_late", {"ends_at": month(3)}),
    ),
    "said before an announced change took effect": (
        proposal("Paris", said=5),
        [known(said=3, starts=8, came_by_marker=True)],
        {},
        ("place_in_history arrived_late", {"ends_at": month(8)}),
    ),
    "its own end has passed": (
        over("Paris", starts=1, ends=2),
        [known(said=3)],
        {},
        ("place_in_history stated_end", {"ends_at": month(2), "targets": ()}),
    ),
    "over, with nothing else known": (
        over("Paris", starts=1, ends=2),
        [],
        {},
        ("place_in_history stated_end", {"ends_at": month(2)}),
    ),
    "over, since when nobody knows": (
        over("Paris", ends=2, starts_at=None),
        [known(said=3)],
        {},
        ("place_in_history stated_end", {"ends_at": month(2)}),
    ),
    "over, and history knows it, since when nobody knows": (
        over("Paris", ends=2, starts_at=None),
        [known("Paris", said=1, status="superseded", valid_to=month(2))],
        {},
        "link already_history",
    ),
    "over, without a claim": (over(None, words="w", starts=1, ends=2), [], {}, "place_in_history stated_end"),
    "an end in the future is no history": (over("Paris", ends=13), [], {}, "create new"),
    "an occurrence that is over stays one": (over("Paris", form="event", starts=1, ends=2), [], {}, "create new"),
    "said to be over what is believed to go on": (
        over("Lyon", starts=1, ends=5),
        [known(said=3)],
        {},
        ("open_conflict different_value", {"targets": (A,)}),
    ),
    "an earlier stay is no repetition of the present one": (
        over("Lyon", starts=1, ends=2),
        [known(said=3, starts=3)],
        {},
        ("place_in_history stated_end", {"ends_at": month(2)}),
    ),
    # Rule 5: an announced change.
    "a marked change": (
        proposal("Paris", marker=True),
        [known()],
        {},
        ("supersede update_marker", {"targets": (A,), "value": {"city": "Paris"}, "clears_start": ()}),
    ),
    "at the same instant it is not older": (
        proposal("Paris", said=3, marker=True),
        [known(said=3)],
        {},
        "supersede update_marker",
    ),
    "unstated keys are carried over": (
        proposal({"city": "Paris"}, marker=True),
        [known({"city": "Lyon", "country": "FR"})],
        {},
        ("supersede update_marker", {"value": {"city": "Paris", "country": "FR"}}),
    ),
    "an explicit null removes a key": (
        proposal({"city": "Paris", "street": None}, marker=True),
        [known({"city": "Lyon", "street": "R", "country": "FR"})],
        {},
        ("supersede update_marker", {"value": {"city": "Paris", "country": "FR"}}),
    ),
    "a change that removes a key and nothing else": (
        proposal({"street": None}, marker=True),
        [known({"city": "Lyon", "street": "R"})],
        {},
        ("supersede update_marker", {"value": {"city": "Lyon"}}),
    ),
    "A to B to A": (
        proposal("Lyon", said=6, marker=True),
        [known("Paris", id=B, said=4), known("Lyon", said=1, status="superseded", valid_to=month(4))],
        {},
        ("supersede update_marker", {"targets": (B,)}),
    ),
    "A to B to A without a marker": (
        proposal("Lyon", said=6),
        [known("Paris", id=B, said=4), known("Lyon", said=1, status="superseded", valid_to=month(4))],
        {},
        ("open_conflict different_value", {"targets": (B,)}),
    ),
    "older with a marker": (
        proposal("Paris", said=1, marker=True),
        [known(said=3)],
        {},
        "open_conflict different_value",
    ),
    "a no longer": (
        proposal("Lyon", denies=True, marker=True),
        [known()],
        {},
        ("supersede update_marker", {"targets": (A,)}),
    ),
    "a denial without a marker": (proposal("Lyon", denies=True), [known()], {}, "open_conflict different_value"),
    "a denial of another value opposes nothing": (proposal("Nice", denies=True), [known()], {}, "create new"),
    "back again ends both the new value and the old denial": (
        proposal("Lyon", marker=True),
        [known("Lyon", denies=True, said=4), known("Paris", id=B, said=5)],
        {},
        ("supersede update_marker", {"targets": (A, B), "value": {"city": "Lyon"}}),
    ),
    "a backdated change before an assumed start": (
        proposal("Paris", starts=2, marker=True),
        [known(said=3)],
        {},
        ("supersede update_marker", {"clears_start": (A,)}),
    ),
    "a backdated change before a stated start": (
        proposal("Paris", starts=2, marker=True),
        [known(said=3, starts=3)],
        {},
        "open_conflict different_value",
    ),
    "a change to come": (
        proposal("Paris", starts=13, marker=True),
        [known()],
        {},
        ("schedule starts_later", {"targets": (A,)}),
    ),
    "its day has come, though the old value was repeated meanwhile": (
        proposal("Paris", said=2, starts=6, marker=True, fact_id=C),
        [known(said=1, said_at=month(4))],
        {},
        "supersede update_marker",
    ),
    "its day has come, but another change was announced meanwhile": (
        proposal("Paris", said=2, starts=6, marker=True, fact_id=C),
        [known(said=4, came_by_marker=True)],
        {},
        "open_conflict different_value",
    ),
    "a marked change from a less direct source": (
        proposal("Paris", marker=True, evidence_level="indirect"),
        [known()],
        {},
        "open_conflict different_value",
    ),
    "a marked change from an equally indirect source": (
        proposal("Paris", marker=True, evidence_level="indirect"),
        [known(evidence_level="indirect")],
        {},
        "supersede update_marker",
    ),
    "a marked change from a less trusted source": (
        proposal("Paris", marker=True, origin_trust="semi_trusted"),
        [known()],
        {},
        ("open_conflict less_trusted", {"kind": "quarantine"}),
    ),
    "a marked change from a more trusted source": (
        proposal("Paris", marker=True),
        [known(origin_trust="untrusted")],
        {},
        "supersede update_marker",
    ),
    "a marked change without a condition against two conditions": (
        proposal("Nice", marker=True),
        [known(home="summer"), known("Paris", id=B, home="winter")],
        {},
        ("open_conflict one_side_unqualified", {"targets": (A, B)}),
    ),
    "a marked change under its condition": (
        proposal("Nice", home="summer", marker=True),
        [known(home="summer"), known("Paris", id=B, home="winter")],
        {},
        ("supersede update_marker", {"targets": (A,)}),
    ),
    # Rule 6: contradictions.
    "another value": (
        proposal(),
        [known()],
        {},
        (
            "open_conflict different_value",
            {"targets": (A,), "kind": "contradiction", "withheld": (A,), "hides_candidate": True},
        ),
    ),
    "a condition against none": (proposal(home="summer"), [known()], {}, "open_conflict one_side_unqualified"),
    "none against a condition": (proposal(), [known(home="summer")], {}, "open_conflict one_side_unqualified"),
    "a condition against none, equal values": (proposal("Lyon", home="summer"), [known()], {}, "create new"),
    "two conditions": (proposal(home="winter"), [known(home="summer")], {}, "create new"),
    "less trusted": (
        proposal(origin_trust="third_party"),
        [known(origin_trust="semi_trusted")],
        {},
        ("open_conflict less_trusted", {"kind": "quarantine", "withheld": (), "hides_candidate": True}),
    ),
    "more trusted": (
        proposal(),
        [known(origin_trust="untrusted")],
        {},
        ("open_conflict more_trusted", {"kind": "quarantine", "withheld": (A,), "hides_candidate": False}),
    ),
    "more trusted than one, as trusted as another": (
        proposal(),
        [known(home="summer"), known("Nice", id=B, home="winter", origin_trust="untrusted")],
        {},
        ("open_conflict one_side_unqualified", {"kind": "contradiction", "withheld": (A, B)}),
    ),
    "a person said that there is no contradiction": (
        proposal(fact_id=C),
        [known()],
        {"separated_from": frozenset({A})},
        "create new",
    ),
    "what waits opposes nothing": (
        proposal(),
        [known(status="provisional"), known(id=B, status="held")],
        {},
        "create new",
    ),
    "what is over opposes nothing": (proposal(), [known(status="superseded")], {}, "create new"),
    "what is disputed opposes nothing": (proposal(), [known(status="disputed")], {}, "create new"),
    "an occurrence opposes nothing": (proposal(), [known(form="event")], {}, "create new"),
    # Rule 7: nothing known.
    "nothing known": (proposal(), [], {}, ("create new", {"ended": (), "possible": ()})),
    "the known value has ended by its own words": (
        proposal(said=6),
        [known(valid_to=month(5))],
        {},
        ("create new", {"ended": (A,)}),
    ),
    "the same value again after its own end": (
        proposal("Lyon", said=6),
        [known(valid_to=month(5))],
        {},
        ("create new", {"ended": (A,)}),
    ),
    "its own end is still to come": (
        proposal(said=6),
        [known(valid_to=month(13))],
        {},
        "open_conflict different_value",
    ),
    "said while the known value held": (
        proposal(said=4),
        [known(valid_to=month(5))],
        {},
        "open_conflict different_value",
    ),
    "near under another predicate": (
        proposal(),
        [known("Paris", predicate="located_in")],
        {"near": [A]},
        ("create new", {"possible": (A,)}),
    ),
    "near under the same predicate and another condition": (
        proposal(home="winter"),
        [known(home="summer")],
        {"near": [A]},
        ("create new", {"possible": ()}),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_the_rules(name):
    candidate, facts, more, expected = CASES[name]
    words, details = expected if isinstance(expected, tuple) else (expected, {})
    decided = plan(candidate, facts=facts, now=NOW, **more)
    assert f"{decided.verb} {decided.reason}" == words
    assert {name: getattr(decided, name) for name in details} == details


# What must hold whatever is known.

_CITIES = st.sampled_from(["Lyon", "Paris", "Nice", {"city": "Lyon", "country": "FR"}, None])
_MONTHS = st.integers(1, 12)
_TRUST = st.sampled_from(["trusted", "semi_trusted", "third_party", "untrusted"])
_CLAIMS = st.fixed_dictionaries(
    {
        "value": _CITIES,
        "home": st.sampled_from([None, None, "summer", "winter"]),
        "denies": st.booleans(),
        "form": st.sampled_from([Form.STATE, Form.STATE, Form.EVENT]),
    }
)


@st.composite
def _known_facts(draw) -> list[Known]:
    facts = []
    for number in range(draw(st.integers(0, 5))):
        fields = draw(_CLAIMS)
        said = draw(_MONTHS)
        later = draw(st.integers(said, 12))
        facts.append(
            known(
                fields.pop("value"),
                id=uuid.UUID(int=100 + number),
                said=said,
                said_at=month(later),
                starts=draw(st.sampled_from([0, 1, 4, 8])),
                status=draw(st.sampled_from(Status.values)),
                came_by_marker=draw(st.booleans()),
                origin_trust=draw(_TRUST),
                **fields,
            )
        )
    return facts


@st.composite
def _proposals(draw) -> Proposal:
    fields = draw(_CLAIMS)
    return proposal(
        fields.pop("value"),
        said=draw(_MONTHS),
        starts=draw(st.sampled_from([0, 2, 6, 13])),
        marker=draw(st.booleans()),
        origin_trust=draw(_TRUST),
        evidence_level=draw(st.sampled_from(["direct", "indirect"])),
        human=draw(st.booleans()),
        **fields,
    )


@st.composite
def _open_sets(draw, facts) -> list[OpenSet]:
    if len(facts) < 2 or not draw(st.booleans()):
        return []
    ids = [known.id for known in draw(st.permutations(facts))[:2]]
    return [open_set(*ids, kind=draw(st.sampled_from(["contradiction", "quarantine", "possible"])))]


@st.composite
def _situations(draw) -> tuple[Proposal, list[Known], list[OpenSet]]:
    facts = draw(_known_facts())
    return draw(_proposals()), facts, draw(_open_sets(facts))


def _planned(situation: tuple[Proposal, list[Known], list[OpenSet]]) -> Plan:
    candidate, facts, open_sets = situation
    return plan(candidate, facts=facts, open_sets=open_sets, now=NOW)


@given(_situations(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_known_does_not_matter(situation, random):
    candidate, facts, open_sets = situation
    shuffled = list(facts)
    random.shuffle(shuffled)
    assert _planned((candidate, shuffled, open_sets)) == _planned(situation)


@given(_situations())
def test_nothing_is_superseded_without_a_marker_or_by_something_older(situation):
    candidate, facts, _ = situation
    decided = _planned(situation)
    if decided.verb in {Verb.SUPERSEDE, Verb.SCHEDULE}:
        assert candidate.marker
        by_id = {known.id: known for known in facts}
        for target in decided.targets:
            assert candidate.takes_effect >= by_id[target].said_at
            assert opposes(candidate.claim, by_id[target].claim)


@given(_situations())
def test_without_a_marker_nothing_believed_is_replaced(situation):
    candidate, facts, open_sets = situation
    decided = _planned((replace(candidate, marker=False), facts, open_sets))
    assert decided.verb not in {Verb.SUPERSEDE, Verb.SCHEDULE}


@given(_situations())
def test_a_contradiction_hides_all_and_a_quarantine_the_less_trusted(situation):
    decided = _planned(situation)
    if decided.verb is Verb.OPEN_CONFLICT:
        trust = {"contradiction": set(decided.targets), "quarantine": {*decided.withheld}}[decided.kind]
        assert set(decided.withheld) == trust
        assert decided.hides_candidate or decided.withheld == decided.targets


@given(_situations())
def test_current_values_that_oppose_the_candidate_never_stay_beside_it_unseen(situation):
    """Whoever is created as current opposes nothing that is current, but what has ended."""
    candidate, facts, _ = situation
    decided = _planned(situation)
    if decided.verb is Verb.CREATE:
        assert not [
            known
            for known in facts
            if known.status == Status.ACTIVE and opposes(candidate.claim, known.claim) and known.id not in decided.ended
        ]


@given(_CLAIMS, _CLAIMS)
def test_opposition_is_mutual(one, other):
    first, second = claim(one.pop("value"), **one), claim(other.pop("value"), **other)
    assert opposes(first, second) == opposes(second, first)


@given(_CLAIMS)
def test_nothing_opposes_itself(fields):
    one = claim(fields.pop("value"), **fields)
    assert not opposes(one, one)


def test_a_step_of_microseconds_decides_what_is_older():
    just_before = month(3) - timedelta(microseconds=1)
    decided = plan(replace(proposal(marker=True), said_at=just_before, starts_at=just_before), facts=[known()], now=NOW)
    assert decided.verb is Verb.OPEN_CONFLICT
