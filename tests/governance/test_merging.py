"""Merging subjects and taking it back: what moves, what stays, who may, and that nothing is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event as Signal
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from facts import conflict_sets, lifecycle, locks, subject_rows, tenancy
from facts.actors import pipeline
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import (
    Account,
    AuditEntry,
    ConflictSet,
    Event,
    Evidence,
    Fact,
    FactRevision,
    FactText,
    Identity,
    Passage,
    PassageText,
    Relation,
    Subject,
    Suppression,
)
from facts.tenancy import ensure_subject, get_subject, resolve_identity
from facts.vocabulary import ConflictStatus, Level, RelationKind, Sensitivity, Status, SubjectKind
from governance import erasing, forgetting, identities
from governance.access import Delegation, Principal
from governance.merging import merging, unmerging
from governance.models import Consent, ConsentStatus
from governance.sharing import consent_links, promotions
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    IdentityFactory,
    MembershipFactory,
    SubjectFactory,
    key_principal,
    maker_of,
    person_in,
    submit,
    submitted_fact,
    taken_back,
    unknown_id,
)


@pytest.fixture
def curator(account: Account) -> Principal:
    """A curator of the whole account."""
    return person_in(account)


@pytest.fixture
def anna(account: Account) -> Subject:
    """Anna as Slack knows her."""
    return SubjectFactory(account=account, key="U042", name="Anna K.")


@pytest.fixture
def anna_k(account: Account) -> Subject:
    """Anna as the company knows her."""
    return SubjectFactory(account=account, key="anna.keller", name="Anna Keller")


def merge(curator: Principal, source: Subject, target: Subject) -> Any:
    return merging.merge(curator, source_id=source.id, target_id=target.id, rationale="Same desk.")


def state(account: Account) -> dict[str, Any]:
    """Return all that anybody can see of an account's memory, by id."""
    return {
        "facts": sorted(
            Fact.objects.filter(account=account).values_list(
                "id", "subject_id", "status", "level", "sensitivity", "withheld", "possibly_conflicting", "value_key",
                "identity_key", "valid_from", "valid_to", "corroboration", "last_reinforced_at", "start_assumed",
            )
        ),
        "evidence": sorted(Evidence.objects.filter(account=account).values_list("id", "fact_id", "event_id")),
        "relations": sorted(Relation.objects.filter(account=account).values_list("source_id", "target_id", "kind")),
        "events": sorted(Event.objects.filter(account=account).values_list("id", "subject_id", "speaker_id")),
        "passages": sorted(Passage.objects.filter(account=account).values_list("id", "subject_id", "withheld")),
        "fact_rows": sorted(
            FactText.objects.filter(account=account).values_list("fact_id", "subject_id", "active", "audience")
        ),
        "passage_rows": sorted(PassageText.objects.filter(account=account).values_list("passage_id", "subject_id")),
        "identities": sorted(Identity.objects.filter(account=account).values_list("id", "subject_id")),
        "subjects": sorted(Subject.objects.filter(account=account).values_list("id", "merged_into"), key=str),
        "suppressions": sorted(Suppression.objects.filter(account=account).values_list("id", "subject_id")),
        "consents": sorted(Consent.objects.filter(account=account).values_list("id", "subject_id", "status")),
        "open": sorted(
            ConflictSet.objects.filter(account=account, status=ConflictStatus.OPEN).values_list("id", "subject_id")
        ),
    }  # fmt: skip


def test_everything_of_the_source_is_the_targets_and_its_names_lead_there(account, curator, anna, anna_k):
    identity = IdentityFactory(subject=anna, platform="slack", value="U042")
    fact = submitted_fact(anna, {"city": "Bern"})
    event = Event.objects.get(evidence__fact=fact)

    made = merge(curator, anna, anna_k)

    fact.refresh_from_db()
    event.refresh_from_db()
    assert (fact.subject_id, fact.status) == (anna_k.id, Status.ACTIVE)
    assert (event.subject_id, event.speaker_id) == (anna_k.id, anna_k.id)
    assert FactText.objects.get(fact_id=fact.id).subject_id == anna_k.id
    assert PassageText.objects.get(passage__event=event).subject_id == anna_k.id
    assert get_subject(account.id, key="U042") == anna_k
    assert get_subject(account.id, key="U042", itself=True) == anna
    assert ensure_subject(account.id, key="U042") == anna_k
    assert resolve_identity(account.id, platform="slack", value="U042") == anna_k
    assert made.rows["facts.Identity.subject"] == [str(identity.id)]
    assert list(FactRevision.objects.filter(fact=fact).order_by("version").values_list("subject_id", flat=True)) == [
        anna.id, anna.id, anna_k.id,
    ]  # fmt: skip
    entry = AuditEntry.objects.get(account=account, action="subject.merged", object_type="subject_merge")
    assert entry.metadata["source"] == str(anna.id)
    assert "Anna" not in str(entry.metadata)


def test_what_both_say_alike_becomes_one_and_what_they_say_differently_a_conflict(account, curator, anna, anna_k):
    submit(anna_k, {"city": "Bern"}, at=JANUARY)
    same = submitted_fact(anna, {"city": "Bern"}, at=MARCH)
    other = submitted_fact(anna, {"drink": "tea"}, predicate="prefers_drink", at=MARCH)
    coffee = submitted_fact(anna_k, {"drink": "coffee"}, predicate="prefers_drink", at=MAY)

    seen = merging.preview(curator, source_id=anna.id, target_id=anna_k.id)
    assert (seen.facts, seen.repeated, len(seen.conflicts), seen.conflicts_hidden) == (2, 1, 1, 0)
    assert ConflictSet.objects.filter(account=account).count() == 0

    made = merge(curator, anna, anna_k)

    for fact in (same, other, coffee):
        fact.refresh_from_db()
    bern = Fact.objects.get(subject=anna_k, predicate="lives_in", status=Status.ACTIVE)
    assert (bern.corroboration, same.status) == (2, Status.SUPERSEDED)
    assert Relation.objects.filter(source=bern, target=same, kind=RelationKind.SUPERSEDES).exists()
    opened = ConflictSet.objects.get(account=account)
    assert (opened.status, set(conflict_sets.current_member_ids(opened))) == ("open", {other.id, coffee.id})
    assert (other.status, other.withheld, coffee.withheld) == ("candidate", "conflict_open", "conflict_open")
    assert made.detail["conflicts_opened"] == {str(opened.id): opened.version}


_VALUES = st.sampled_from([{"city": "Bern"}, {"city": "Lyon"}, {"drink": "tea"}, None])
_STATEMENTS = st.lists(
    st.tuples(st.booleans(), _VALUES, st.sampled_from([JANUARY, MARCH, MAY, JULY]), st.booleans()), max_size=6
)


@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=_STATEMENTS)
def test_unmerging_gives_back_exactly_what_was_there(said, account, curator, anna, anna_k):
    with taken_back():
        for number, (of_source, value, at, marked) in enumerate(said):
            claim = {"predicate": f"has_{next(iter(value))}"} if value else {"statement": f"Remark {number % 2}."}
            marker = {"update_marker": "now"} if value and marked else {}
            submit(anna if of_source else anna_k, value, at=at, **claim, **marker)
        before = state(account)
        merged = False
        with suppress(Conflicting), transaction.atomic():
            merged = merge(curator, anna, anna_k) is not None
        if merged:
            assert unmerging.unmerge(curator, subject_id=anna.id).detail["kept"] == []
        assert state(account) == before


def test_a_preview_changes_nothing(account, curator, anna, anna_k):
    submit(anna, {"city": "Bern"}, at=JANUARY)
    submit(anna_k, {"city": "Lyon"}, at=MARCH)
    before, entries = state(account), AuditEntry.objects.filter(account=account).count()

    merging.preview(curator, source_id=anna.id, target_id=anna_k.id)

    assert state(account) == before
    assert AuditEntry.objects.filter(account=account).count() == entries


def test_what_was_recorded_after_a_merge_stays_with_the_target_and_is_listed(account, curator, anna, anna_k):
    bern = submitted_fact(anna, {"city": "Bern"}, at=JANUARY)
    merge(curator, anna, anna_k)
    later = submitted_fact(anna_k, {"drink": "tea"}, predicate="prefers_drink")
    submit(anna_k, {"city": "Bern"}, at=JULY)

    taken = unmerging.unmerge(curator, subject_id=anna.id)

    bern.refresh_from_db()
    assert taken.detail["kept"] == [str(later.id)]
    assert (bern.subject_id, bern.status, bern.corroboration) == (anna.id, Status.ACTIVE, 2)
    assert Subject.objects.get(pk=anna.id).merged_into_id is None
    assert get_subject(account.id, key="U042") == anna
    with pytest.raises(NotFound, match="merged into no other"):
        unmerging.unmerge(curator, subject_id=anna.id)


def test_a_merge_on_which_something_was_built_is_not_taken_back(account, curator, anna, anna_k):
    submit(anna, {"city": "Bern"}, at=JANUARY)
    merge(curator, anna, anna_k)
    submit(anna_k, {"city": "Lyon"}, at=JULY, update_marker="now")

    with pytest.raises(Conflicting) as refusal:
        unmerging.unmerge(curator, subject_id=anna.id)

    assert refusal.value.code == "merge_built_upon"
    assert Subject.objects.get(pk=anna.id).merged_into_id == anna_k.id


def test_a_yes_for_one_covers_nothing_of_the_other_and_counts_again_after_an_undo(account, curator, anna, anna_k):
    shared = FactFactory(subject=anna, level=Level.SCOPE, status=Status.CANDIDATE)
    yes = Consent.objects.create(
        account=account, fact=shared, subject=anna, target=shared.scope, status=ConsentStatus.GRANTED,
        verified=True, channel="session",
    )  # fmt: skip
    refused = FactFactory(subject=anna)
    no = Consent.objects.create(
        account=account, fact=refused, subject=anna, target=refused.scope, status=ConsentStatus.DENIED
    )
    how = {"account_id": account.id, "actor": pipeline(), "action": "gate.accepted"}
    lifecycle.transition(shared.id, to=Status.ACTIVE, **how)

    merge(curator, anna, anna_k)
    shared.refresh_from_db()
    assert (shared.subject_id, shared.level) == (anna_k.id, Level.PEER)
    assert Consent.objects.get(pk=yes.pk).subject_id == anna.id
    assert Consent.objects.get(pk=no.pk).subject_id == anna_k.id

    unmerging.unmerge(curator, subject_id=anna.id)
    shared.refresh_from_db()
    assert (shared.subject_id, shared.level) == (anna.id, Level.SCOPE)
    assert Consent.objects.get(pk=no.pk).subject_id == anna.id


def test_what_was_forgotten_of_one_is_not_said_again_of_the_other(account, curator, anna, anna_k):
    gone = submitted_fact(anna, {"city": "Bern"}, at=JANUARY)
    forgetting.disable(curator, fact_id=gone.id)
    merge(curator, anna, anna_k)

    placed = submit(anna_k, {"city": "Bern"}, at=JULY)

    assert (placed.result, placed.reason) == ("rejected", "suppressed_forgotten")


@pytest.mark.parametrize(
    ("who", "error", "code"),
    [
        ("member", Refused, "forbidden_scope"),
        ("key", Refused, "human_required"),
        ("itself", Refused, "own_request"),
        ("unknown", NotFound, "subject_not_found"),
        ("same", DomainError, "invalid_merge"),
        ("agent", DomainError, "invalid_merge"),
        ("signed in", Conflicting, "subject_signs_in"),
        ("spoken for", Conflicting, "subject_has_keys"),
        ("merged", Conflicting, "subject_merged"),
        ("disputed", Conflicting, "conflict_open"),
    ],
)
def test_who_may_not_be_merged_by_whom(account, curator, anna, anna_k, who, error, code):
    source, target, caller = anna, anna_k, curator
    match who:
        case "member":
            caller = person_in(account, path="/support")
        case "key":
            caller = key_principal(account)
        case "itself":
            target = Subject.objects.get(pk=curator.subject_id)
        case "unknown":
            source = Subject(id=unknown_id())
        case "same":
            target = anna
        case "agent":
            target = SubjectFactory(account=account, kind=SubjectKind.AGENT)
        case "signed in":
            MembershipFactory(account=account, subject=anna)
        case "spoken for":
            key_principal(account, peer=anna)
        case "merged":
            merge(curator, anna, SubjectFactory(account=account))
        case "disputed":
            for city, at in (("Bern", JANUARY), ("Lyon", MARCH)):
                submit(anna, {"city": city}, at=at)
            submit(anna_k, {"city": "Rome"}, at=MAY)
    before = state(account)

    with pytest.raises(error) as refusal, transaction.atomic():
        merge(caller, source, target)

    assert refusal.value.code == code
    assert state(account) == before


def test_a_key_to_which_a_curator_delegated_merges_in_their_name(account, curator, anna, anna_k):
    key = key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(curator))

    made = merge(key, anna, anna_k)

    assert made.actor["membership_id"] == str(curator.membership_id)
    assert made.actor["key_id"] == str(key.key_id)


def test_erasing_the_one_that_was_merged_reaches_what_was_its_own_and_no_more(account, curator, anna, anna_k):
    IdentityFactory(subject=anna, platform="slack", value="anna-on-slack")
    bern = submitted_fact(anna, {"city": "Bern"}, at=JANUARY, statement="Anna lives in Bern by the river.")
    tea = submitted_fact(anna_k, {"drink": "tea"}, predicate="prefers_drink")
    merge(curator, anna, anna_k)

    receipt = erasing.erase(curator, subject_id=anna.id)

    bern.refresh_from_db()
    tea.refresh_from_db()
    assert (bern.status, bern.statement, tea.status) == (Status.DELETED, "", Status.ACTIVE)
    assert receipt.counters["search"]["left"] == {}
    assert Subject.objects.get(pk=anna.id).name == ""
    assert Subject.objects.get(pk=anna_k.id).name == "Anna Keller"
    assert not Identity.objects.filter(value="anna-on-slack").exists()
    assert ensure_subject(account.id, key="U042").id not in {anna.id, anna_k.id}


def test_erasing_the_one_that_they_are_takes_the_other_names_too(account, curator, anna, anna_k):
    bern = submitted_fact(anna, {"city": "Bern"}, at=JANUARY)
    merge(curator, anna, anna_k)

    erasing.erase(curator, subject_id=anna_k.id)

    bern.refresh_from_db()
    assert bern.status == Status.DELETED
    assert Subject.objects.get(pk=anna.id).name == ""
    assert Subject.objects.get(pk=anna.id).key != "U042"


def test_a_merged_one_may_have_been_merged_into_before_and_is_found_through_both(account, curator, anna, anna_k):
    third = SubjectFactory(account=account, key="keller-a")
    submit(anna, {"city": "Bern"})
    merge(curator, anna, anna_k)
    merge(curator, anna_k, third)

    assert get_subject(account.id, key="U042") == third
    assert Fact.objects.get(account=account).subject_id == third.id
    with pytest.raises(Conflicting):
        unmerging.unmerge(curator, subject_id=anna.id)
    unmerging.unmerge(curator, subject_id=anna_k.id)
    unmerging.unmerge(curator, subject_id=anna.id)
    assert Fact.objects.get(account=account).subject_id == anna.id


def test_who_confirmed_a_name_said_nothing_of_the_one_that_its_subject_becomes(account, curator, anna, anna_k):
    told = IdentityFactory(subject=anna, confirmed=True)
    vouched = IdentityFactory(subject=anna, confirmed=True, confirmed_by=curator.actor.as_json())
    own = IdentityFactory(subject=anna_k, confirmed=True)

    def confirmed() -> list[bool]:
        return [Identity.objects.get(pk=one.pk).confirmed for one in (told, vouched, own)]

    merge(curator, anna, anna_k)
    assert confirmed() == [False, False, True]
    doubted = AuditEntry.objects.filter(account=account, action="identity.doubted")
    assert sorted(entry.metadata["by_platform"] for entry in doubted) == [False, True]

    # What a curator says of it then goes with the merge, and what the platform said before comes back.
    identities.confirm(curator, vouched.id, subject_id=anna_k.id)
    unmerging.unmerge(curator, subject_id=anna.id)
    assert confirmed() == [True, False, True]
    assert not Identity.objects.filter(account=account, confirmed_by__isnull=False).exists()


def test_a_link_that_was_sent_to_one_says_no_yes_for_the_other(account, curator, anna, anna_k):
    fact = FactFactory(subject=anna, sensitivity=Sensitivity.PERSONAL)
    promotions.request_promotion(curator, fact_id=fact.id, target="/", reason="For all.")
    consent = Consent.objects.get(account=account)
    Consent.objects.update(unreached_at=None)
    sent = consent_links.issue(consent)

    merge(curator, anna, anna_k)

    with pytest.raises(Conflicting) as caught:
        consent_links.answer(sent, agrees=True)
    consent.refresh_from_db()
    assert (caught.value.code, consent.subject_id, consent.status) == ("link_expired", anna_k.id, ConsentStatus.PENDING)
    assert consent.unreached_at is not None
    assert consent_links.answer(sent, agrees=False).status == ConsentStatus.DENIED


def test_restricted_sides_of_a_conflict_are_counted_in_a_preview_and_not_worded(account, curator, anna, anna_k):
    claim = ("lives_in", {"city": "Bern"}, {})
    for subject, city in ((anna, "Bern"), (anna_k, "Lyon")):
        FactFactory(
            subject=subject, sensitivity=Sensitivity.RESTRICTED, predicate=claim[0], value={"city": city},
            valid_from=JANUARY if city == "Bern" else MARCH,
        )  # fmt: skip

    seen = merging.preview(curator, source_id=anna.id, target_id=anna_k.id)

    assert (seen.conflicts, seen.conflicts_hidden) == ([], 1)


def test_every_column_that_names_a_subject_follows_a_merge_or_says_why_it_stays():
    columns = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if field.related_model is Subject
    }
    assert columns == set(subject_rows.registered())


@pytest.mark.django_db(transaction=True)
def test_a_message_that_is_captured_for_the_source_meanwhile_is_told_to_come_again():
    made = AccountFactory()
    with tenancy.account_transaction(made.id):
        curator = person_in(made)
        anna, anna_k = SubjectFactory(account=made, key="U042"), SubjectFactory(account=made, key="anna.keller")
        submit(anna, {"city": "Bern"})
    merged, held = Signal(), Signal()

    def capture() -> str:
        try:
            with tenancy.account_transaction(made.id):
                found = ensure_subject(made.id, key="U042")
                held.set()
                merged.wait(10)
                locks.hold_subjects(made.id, {found.id: found.key})
        except Conflicting as refusal:
            return refusal.code
        finally:
            connection.close()
        return "captured"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(capture)
        held.wait(10)
        merge(curator, anna, anna_k)
        merged.set()
        assert waiting.result(20) == "try_again"
    with tenancy.account_transaction(made.id):
        assert ensure_subject(made.id, key="U042") == anna_k
        assert Fact.objects.get(account_id=made.id).subject_id == anna_k.id
