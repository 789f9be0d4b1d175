"""The conflict page: each decision, its undo, staleness, authority, and the way through the queue."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facts import conflict_sets, lifecycle
from facts.actors import pipeline
from facts.models import Account, ConflictDecision, ConflictMember, ConflictSet, Evidence, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus, Form, Status
from governance.access import Principal
from governance.models import Role
from governance.reviewing import conflict_claims
from memory_site.admin_pages import threads
from retrieval.context.assembly import ContextRequest, assemble
from tests.admin_scene import sign_in
from tests.factories import (
    JANUARY,
    MARCH,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    key_principal,
    person_in,
    say,
    submit,
)


def _conflict(account: Account, *, key: str = "ana") -> ConflictSet:
    ana = SubjectFactory(account=account, key=key)
    submit(ana, {"city": "Lisbon"}, at=JANUARY)
    placed = submit(ana, {"city": "Porto"}, at=MARCH)
    return ConflictSet.objects.get(members__fact_id=placed.fact_id)


def _sides(conflict: ConflictSet) -> list[Fact]:
    """Return the facts of a set, the older one first."""
    return list(Fact.objects.filter(conflict_memberships__conflict_set=conflict).order_by("pk"))


def _page(conflict: ConflictSet) -> str:
    return reverse("admin:facts_conflictset_change", args=[conflict.pk])


def _decide(client: Client, conflict: ConflictSet, verb: str, **fields: object) -> HttpResponse:
    version = fields.pop("version", str(conflict.version))
    address = reverse("admin:conflict_decide", args=[conflict.pk])
    return client.post(address, {"verb": verb, "version": version, **fields})


@pytest.fixture
def curator(account: Account, client: Client) -> Principal:
    """A curator of the whole account, signed in."""
    principal = person_in(account)
    sign_in(client, principal)
    return principal


def test_the_sides_are_shown_with_their_differences_and_quotes(
    account: Account, client: Client, curator: Principal
) -> None:
    page = client.get(_page(_conflict(account)))
    first, second = page.context["sides"]
    assert [part.text for part in first.statement if part.marked] == ["Lisbon"]
    assert [part.text for part in second.statement if part.marked] == ["Porto"]
    assert [row.label for row in first.rows if row.differs] == ["Claim", "Valid", "Status"]
    assert [part.text for part in first.excerpts[0].messages[0].parts if part.marked] == ["Lisbon"]


def test_each_choice_says_what_becomes_of_the_others(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    sides = client.get(_page(conflict)).context["sides"]
    assert [side.consequence for side in sides] == ["The other never took effect.", "The other held until this began."]
    lisbon, _ = _sides(conflict)
    kwargs = {"subject": lisbon.subject, "scope": lisbon.scope, "status": Status.CANDIDATE}
    always = FactFactory(statement="In Faro.", valid_from=None, start_assumed=False, **kwargs)
    conflict_sets.join(conflict, fact_id=always.pk, withheld=True, actor=pipeline())
    sides = client.get(_page(conflict)).context["sides"]
    assert [side.consequence for side in sides] == [
        "Those before it held until this began; those after it never took effect.",
        "The others held until this began.",
        "The others held until now.",
    ]


def test_keeping_one_side_ends_the_other_and_says_so(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    lisbon, porto = _sides(conflict)
    answer = _decide(client, conflict, f"keep_one:{porto.pk}", reason="She moved.")
    decision = ConflictDecision.objects.get()
    assert answer["Location"] == f"{_page(conflict)}?decided={decision.pk}"
    assert (decision.verb, decision.rationale) == ("keep_one", "She moved.")
    assert decision.actor["membership_id"] == str(curator.membership_id)
    lisbon.refresh_from_db()
    porto.refresh_from_db()
    assert (lisbon.status, lisbon.valid_to, porto.status) == (Status.SUPERSEDED, porto.valid_from, Status.ACTIVE)
    page = client.get(answer["Location"])
    assert b"the others ended or never took effect" in page.content
    assert page.context["done_undoable"]


def test_the_others_may_never_have_been_true(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    lisbon, porto = _sides(conflict)
    _decide(client, conflict, f"keep_one_never_true:{lisbon.pk}", reason="She never lived there.")
    porto.refresh_from_db()
    assert porto.status == Status.REJECTED


def test_both_hold_under_their_own_conditions(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    lisbon, porto = _sides(conflict)
    conditions = {f"condition:{fact.pk}": "season" for fact in (lisbon, porto)}
    values = {f"value:{lisbon.pk}": "winter", f"value:{porto.pk}": "summer"}
    _decide(client, conflict, "keep_by_qualifier", **conditions, **values)
    assert [(fact.status, fact.qualifiers) for fact in _sides(conflict)] == [
        (Status.ACTIVE, {"season": "winter"}),
        (Status.ACTIVE, {"season": "summer"}),
    ]


def test_a_missing_condition_is_said_and_what_was_typed_is_kept(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    lisbon, _ = _sides(conflict)
    typed = {f"condition:{lisbon.pk}": "season", f"value:{lisbon.pk}": "winter"}
    page = _decide(client, conflict, "keep_by_qualifier", reason="Seasons", **typed)
    assert page.status_code == 422
    assert b"Every fact that is kept needs what sets it apart." in page.content
    assert page.context["sides"][0].typed["value"] == "winter"
    assert b">Seasons</textarea>" in page.content
    conflict.refresh_from_db()
    assert conflict.status == ConflictStatus.OPEN


def test_both_held_in_their_own_time(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    lisbon, porto = _sides(conflict)
    days = {f"from:{lisbon.pk}": "2024-01-01", f"to:{lisbon.pk}": "2025-03-01", f"from:{porto.pk}": "2025-03-01"}
    _decide(client, conflict, "keep_by_interval", **days)
    assert [(fact.status, str(fact.valid_from)[:10], str(fact.valid_to)[:10]) for fact in _sides(conflict)] == [
        (Status.SUPERSEDED, "2024-01-01", "2025-03-01"),
        (Status.ACTIVE, "2025-03-01", "None"),
    ]


def test_characters_that_the_database_refuses_are_left_out(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    _decide(client, conflict, "dismiss", distinction="home\x00 and office", reason="\x00")
    conflict.refresh_from_db()
    assert conflict.rationale == "home and office"


@pytest.mark.parametrize("version", ["9" * 5000, "-1", "one", "٣"])
def test_a_version_that_is_none_decides_nothing(
    account: Account, client: Client, curator: Principal, version: str
) -> None:
    conflict = _conflict(account)
    assert _decide(client, conflict, "keep_as_events", version=version).status_code == 409
    assert ConflictDecision.objects.count() == 0


@pytest.mark.parametrize("filters", ["p=7", "kind__exact=contradiction&p=2", "opened_at=nonsense", "state=%00", "&&=="])
def test_filters_that_no_longer_fit_do_no_harm(
    account: Account, client: Client, curator: Principal, filters: str
) -> None:
    conflict = _conflict(account)
    page = client.get(_page(conflict), {"_changelist_filters": filters})
    assert page.status_code in {200, 400}


@pytest.mark.parametrize("day", ["2025-02-30", "yesterday", "0000-01-01"])
def test_an_impossible_date_is_said(account: Account, client: Client, curator: Principal, day: str) -> None:
    conflict = _conflict(account)
    page = _decide(client, conflict, "defer", until=day)
    assert page.status_code == 422
    assert b"A date looks like 2026-03-31." in page.content


def test_both_happened(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    _decide(client, conflict, "keep_as_events")
    assert [(fact.status, fact.form) for fact in _sides(conflict)] == [(Status.ACTIVE, Form.EVENT)] * 2


def test_neither_was_ever_true(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    _decide(client, conflict, "reject_all", reason="Neither.")
    assert [fact.status for fact in _sides(conflict)] == [Status.REJECTED, Status.REJECTED]


def test_there_is_no_contradiction(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    _decide(client, conflict, "dismiss", distinction="home and office")
    conflict.refresh_from_db()
    assert (conflict.status, conflict.rationale) == (ConflictStatus.DISMISSED, "home and office")


def test_a_deferred_conflict_leaves_the_queue(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    _decide(client, conflict, "defer", until="2999-01-01")
    listed = reverse("admin:facts_conflictset_changelist")
    assert list(client.get(listed).context["cl"].result_list) == []
    assert list(client.get(listed, {"state": "deferred"}).context["cl"].result_list) == [conflict]
    late = _conflict(account, key="ben")
    ConflictSet.objects.update(due_at=JANUARY)
    assert list(client.get(listed, {"state": "overdue"}).context["cl"].result_list) == [late]


def test_a_decision_is_undone(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    before = [(fact.status, fact.valid_to) for fact in _sides(conflict)]
    _decide(client, conflict, f"keep_one:{_sides(conflict)[0].pk}")
    decision = ConflictDecision.objects.get()
    answer = client.post(reverse("admin:conflict_undo", args=[conflict.pk, decision.pk]))
    assert answer["Location"] == f"{_page(conflict)}?undone={decision.pk}"
    assert b"One side was kept; the others ended" in client.get(answer["Location"]).content
    conflict.refresh_from_db()
    assert conflict.status == ConflictStatus.OPEN
    assert [(fact.status, fact.valid_to) for fact in _sides(conflict)] == before


def test_a_set_that_changed_says_what_changed_and_decides_nothing(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    lisbon, _ = _sides(conflict)
    seen = conflict.version
    third = FactFactory(subject=lisbon.subject, scope=lisbon.scope, status=Status.CANDIDATE, statement="In Faro.")
    conflict_sets.join(conflict, fact_id=third.pk, withheld=True, actor=pipeline())
    page = _decide(client, conflict, f"keep_one:{lisbon.pk}", version=str(seen), reason="Sure.")
    assert page.status_code == 409
    assert b"changed while you looked at it" in page.content
    assert [what for _, what in page.context["stale"]] == ["a fact joined"]
    assert [side.joined_since for side in page.context["sides"]] == [False, False, True]
    assert b">Sure.</textarea>" in page.content
    assert b"You were about to decide: <b>Keep side 1</b>" in page.content
    assert ConflictDecision.objects.count() == 0


def test_a_side_that_changed_is_shown_three_ways_and_decides_nothing(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    lisbon, porto = _sides(conflict)
    lifecycle.amend(
        porto.pk, account_id=account.id, actor=pipeline(), action="x", changes={"sensitivity": "restricted"}
    )
    seen = [f"{lisbon.pk}:{lisbon.version}", f"{porto.pk}:{porto.version}", "nonsense"]
    page = _decide(client, conflict, f"keep_one_never_true:{lisbon.pk}", reason="Sure.", seen=seen)
    assert page.status_code == 409
    (moved,) = page.context["moved"]
    assert (moved.number, [(one.label, one.before, one.after) for one in moved.changes]) == (
        2,
        [("sensitivity", "personal", "restricted")],
    )
    assert b"<b>Keep side 1, the rest was never true</b>" in page.content
    assert ConflictDecision.objects.count() == 0


def test_what_takes_something_away_needs_a_reason(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    for verb in ("reject_all", f"keep_one_never_true:{_sides(conflict)[0].pk}"):
        page = _decide(client, conflict, verb)
        assert page.status_code == 422
        assert b"what takes something away needs a reason" in page.content
    assert ConflictDecision.objects.count() == 0


def test_a_conflict_is_taken_talked_about_and_seen_to_be_looked_at(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    _decide(client, conflict, "claim")
    assert client.get(_page(conflict)).context["mine"]
    listed = reverse("admin:facts_conflictset_changelist")
    assert list(client.get(listed, {"hands": "mine"}).context["cl"].result_list) == [conflict]
    other = person_in(account)
    elsewhere = sign_in(Client(), other)
    page = elsewhere.get(_page(conflict))
    assert (page.context["taken_by"], [name for name, _ in page.context["others_here"]]) == (
        curator.name,
        [curator.name],
    )
    assert _decide(elsewhere, conflict, "claim").status_code == 409
    _decide(elsewhere, conflict, "assign", assignee=str(other.membership_id))
    _decide(elsewhere, conflict, "remark", remark="She told me so.")
    page = client.get(_page(conflict))
    assert page.context["taken_by"] == other.name
    assert [remark.text for remark in page.context["remarks"]] == ["She told me so."]
    assert [one.what for one in page.context["history"]][:2] == [
        "a remark was written",
        "somebody took it, or was given it",
    ]
    assert _decide(client, conflict, "keep_as_events").status_code == 302


def test_the_page_says_who_would_read_which_side_and_which_answers_used_them(
    account: Account, client: Client, curator: Principal
) -> None:
    ana = SubjectFactory(account=account, key="ana")
    submit(ana, {"city": "Lisbon"}, at=JANUARY)
    ask = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query="", purpose="test")
    for _ in range(2):
        served = assemble(principal=key_principal(account), request=ask)
    placed = submit(ana, {"city": "Porto"}, at=MARCH)
    page = client.get(_page(ConflictSet.objects.get(members__fact_id=placed.fact_id)))
    assert [(one.label, one.nobody, one.subject_only, one.keys) for one in page.context["choices"]] == [
        ("Until it is decided", True, False, 0),
        ("Whichever is kept", False, True, 2),
    ]
    (_, used), (_, unused) = page.context["uses"]
    assert (used.reads, used.trace_id, unused) == (2, served.trace_id, None)


def test_a_form_without_a_version_decides_nothing(account: Account, client: Client, curator: Principal) -> None:
    conflict = _conflict(account)
    page = _decide(client, conflict, f"keep_one:{_sides(conflict)[0].pk}", version="")
    assert page.status_code == 409
    assert ConflictDecision.objects.count() == 0


def test_an_unknown_decision_is_refused(account: Account, client: Client, curator: Principal) -> None:
    assert _decide(client, _conflict(account), "flip_a_coin").status_code == 422


def test_somebody_who_put_a_fact_in_does_not_decide_about_it(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    lisbon, _ = _sides(conflict)
    mine = FactFactory(subject=lisbon.subject, scope=lisbon.scope, status=Status.CANDIDATE, actor=curator.actor)
    conflict_sets.join(conflict, fact_id=mine.pk, withheld=True, actor=pipeline())
    page = client.get(_page(conflict))
    assert not page.context["may_decide"]
    assert b"You asked for this, or put it in yourself" in page.content
    assert b'value="keep_one:' not in page.content
    page = _decide(client, conflict, "reject_all", reason="Neither.")
    assert page.status_code == 403
    assert b"Nobody decides about what they put in themselves." in page.content


def test_a_conflict_of_another_scope_does_not_exist(account: Account, client: Client) -> None:
    conflict = _conflict(account)
    sign_in(client, person_in(account, path="/sales"))
    assert client.get(_page(conflict)).status_code == 404
    assert _decide(client, conflict, "reject_all").status_code == 404


def test_a_decision_leads_to_the_next_of_the_filtered_list(
    account: Account, client: Client, curator: Principal
) -> None:
    conflicts = [_conflict(account, key=key) for key in ("a", "b", "c")]
    filters = "kind=contradiction"
    page = client.get(_page(conflicts[0]), {"_changelist_filters": filters})
    assert (page.context["place"], len(page.context["queue"].ids)) == (1, 3)
    assert page.context["following_address"].startswith(_page(conflicts[1]))
    answer = _decide(client, conflicts[1], "keep_as_events", _changelist_filters=filters)
    assert answer["Location"].startswith(f"{_page(conflicts[2])}?_changelist_filters=kind%3Dcontradiction&decided=")
    page = client.get(answer["Location"])
    assert (page.context["place"], len(page.context["queue"].ids)) == (2, 2)
    assert page.context["done"].conflict_set == conflicts[1]


def test_the_page_costs_the_same_for_any_number_of_sides_and_pieces_of_evidence(
    account: Account, client: Client, curator: Principal
) -> None:
    conflict = _conflict(account)
    lisbon, _ = _sides(conflict)
    with CaptureQueriesContext(connection) as two:
        client.get(_page(conflict))
    for number in range(10):
        more = FactFactory(subject=lisbon.subject, scope=lisbon.scope, status=Status.CANDIDATE, statement=f"{number}.")
        conflict_sets.join(conflict, fact_id=more.pk, withheld=True, actor=pipeline())
    for number in range(20):
        event = say(lisbon.subject, f"I live in Lisbon, number {number}.", occurred_at=JANUARY)
        Evidence.objects.create(
            account=account, fact=lisbon, event=event, passage=event.passages.get(), quote=event.text
        )
    with CaptureQueriesContext(connection) as twelve:
        page = client.get(_page(conflict))
    assert len(page.context["sides"]) == 12
    assert page.context["sides"][0].more_evidence == 21 - threads.SHOWN_EVIDENCE
    assert len(twelve) == len(two)
    assert len(two) <= 60


def test_an_unknown_conflict_is_not_found(account: Account, client: Client, curator: Principal) -> None:
    assert client.get(reverse("admin:facts_conflictset_change", args=[uuid.uuid4()])).status_code == 404
    assert client.get(reverse("admin:facts_conflictset_change", args=["nonsense"])).status_code == 404


def test_whoever_administers_decides_too(account: Account, client: Client) -> None:
    conflict = _conflict(account)
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    assert client.get(_page(conflict)).context["may_decide"]


# Many alike


def _value(conflict: ConflictSet) -> str:
    return f"{conflict.pk}:{conflict.version}"


def _seen(conflicts: list[ConflictSet]) -> list[str]:
    return [f"{fact.pk}:{fact.version}" for conflict in conflicts for fact in _sides(conflict)]


def test_what_would_become_of_many_is_said_before(account: Account, client: Client, curator: Principal) -> None:
    fine, joined, taken, own, untrusted, decided = (_conflict(account, key=key) for key in "abcdef")
    possible = _conflict(account, key="g")
    everything = [fine, joined, taken, own, untrusted, decided, possible]
    values = [_value(conflict) for conflict in everything]
    answer = client.post(reverse("admin:conflict_choose"), {"shown": [], "chosen": values, "verb": "dismiss"})
    assert client.get(reverse("admin:facts_conflictset_changelist")).context["chosen_count"] == 7
    kwargs = {"status": Status.CANDIDATE, "scope": fine.scope}
    third = FactFactory(subject=joined.subject, **kwargs)
    conflict_sets.join(joined, fact_id=third.pk, withheld=True, actor=pipeline())
    conflict_claims.claim(person_in(account), taken.pk)
    mine = FactFactory(subject=own.subject, actor=curator.actor, **kwargs)
    ConflictMember.objects.create(account=account, conflict_set=own, fact=mine)
    ConflictSet.objects.filter(pk=untrusted.pk).update(kind="quarantine")
    ConflictSet.objects.filter(pk=possible.pk).update(kind="possible")
    _decide(client, decided, "keep_as_events")
    with CaptureQueriesContext(connection) as captured:
        page = client.get(answer["Location"])
    assert len(captured) <= 25
    assert [one["row"] for one in page.context["changing"]] == [fine, possible]
    effects = [one["effect"].partition(",")[0] for one in page.context["changing"]]
    assert effects == ["all its sides are current", "readers get its facts as before"]
    assert {one["row"]: one["code"] for one in page.context["staying"]} == {
        joined: "stale_version",
        taken: "conflict_claimed",
        own: "own_request",
        untrusted: "verb_unfit",
        decided: "conflict_already_resolved",
    }
    given = client.get(reverse("admin:conflict_bulk"), {"verb": "assign"}).context
    assert taken in [one["row"] for one in given["changing"]], "what somebody has can be given to somebody else"
    assert (str(curator.membership_id), curator.name) in given["people"]


@pytest.mark.django_db(transaction=True)
def test_many_are_dealt_with_one_by_one_and_all_is_taken_back(client: Client) -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        curator, other = person_in(account), person_in(account)
        sign_in(client, curator)
        first, second, third, unchosen = (_conflict(account, key=key) for key in "abcd")
        chosen = [first, second, third]
        seen = _seen([*chosen, unchosen])
        client.post(reverse("admin:conflict_choose"), {"shown": [], "chosen": [_value(one) for one in chosen]})
        changed = _sides(second)[0].pk
        lifecycle.amend(changed, account_id=account.id, actor=pipeline(), action="x", changes={"sensitivity": "public"})
    form = {"verb": "dismiss", "item": [_value(one) for one in [*chosen, unchosen]], "seen": seen}
    unsaid = client.post(reverse("admin:conflict_decide_many"), form)
    assert unsaid.status_code == 422
    assert b"Say what separates them. Nothing was decided." in unsaid.content
    answer = client.post(reverse("admin:conflict_decide_many"), {**form, "distinction": "home and work"})
    page = client.get(answer["Location"])
    assert [item["id"] for item in page.context["changed"]] == [str(first.pk), str(third.pk)]
    assert [(item["id"], item["code"]) for item in page.context["left"]] == [(str(second.pk), "stale_version")]
    decisions = [item["decision"] for item in page.context["undoable"]]
    client.post(reverse("admin:conflict_undo_many"), {"decision": decisions})
    with account_transaction(account.id):
        assert {one.status for one in ConflictSet.objects.all()} == {ConflictStatus.OPEN}
    client.post(reverse("admin:conflict_choose"), {"shown": [], "chosen": [_value(first)]})
    give = {"verb": "assign", "item": [_value(first)], "assignee": str(other.membership_id)}
    answer = client.post(reverse("admin:conflict_decide_many"), give)
    assert client.get(answer["Location"]).context["undoable"] == []
    with account_transaction(account.id):
        assert ConflictSet.objects.get(assignee__isnull=False) == first
