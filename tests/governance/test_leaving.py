"""Somebody leaves the account: what a preview says, what ends at once, and what an undo brings back."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, ConflictSet, Fact, Membership
from facts.tenancy import ensure_scope
from governance import keys, leaving
from governance.access import Delegation, Principal
from governance.models import Consent, Grant, LeaversFacts, Promotion, Review, Role
from governance.reviewing import review_claims
from governance.sharing import promotions
from tests.api import signed_in
from tests.factories import (
    AccountFactory,
    FactFactory,
    SubjectFactory,
    UserFactory,
    api_key,
    entered,
    maker_of,
    person_in,
    say,
    submit,
    unknown_id,
)


@pytest.fixture
def administrator(account: Account) -> Principal:
    return person_in(account, role=Role.ACCOUNT_ADMIN)


@pytest.fixture
def zoe(account: Account) -> Membership:
    """A curator of /support about whom and from whom something is known, and who has things in hand."""
    return maker_of(person_in(account, path="/support"))


@pytest.fixture
def scene(account: Account, administrator: Principal, zoe: Membership) -> dict[str, object]:
    """What hangs on Zoe: facts, an open conflict, a question of consent, a claimed review and conflict, keys."""
    support = ensure_scope(account.id, "/support")
    own = FactFactory(subject=zoe.subject, scope=support, statement="Zoe plays chess.")
    other = SubjectFactory(account=account, key="bob")
    told = FactFactory(subject=other, scope=support, event=say(zoe.subject, "Bob collects stamps.", scope=support))
    for city in ("Lyon", "Rome"):
        submit(zoe.subject, {"city": city}, event_fields={"scope": support})
    promotions.request_promotion(administrator, fact_id=own.id, target="/", reason="Useful.")
    Fact.objects.filter(pk=told.pk).update(origin_trust="trusted")
    review = Review.objects.create(account=account, kind="new_fact", fact=told, fact_version=told.version)
    review_claims.assign(administrator, review.id, to=zoe.id)
    ConflictSet.objects.update(assignee=zoe)
    _, mine = api_key(account, maker=zoe, delegated=[Delegation.RESOLVE])
    _, as_her = api_key(account, peer=zoe.subject)
    return {"own": own, "told": told, "review": review, "keys": (mine, as_her)}


def test_the_preview_counts_what_would_end(scene, administrator: Principal, zoe: Membership) -> None:
    seen = leaving.preview(administrator, zoe.id)
    assert [(grant.role, grant.scope.path) for grant in seen.grants] == [(Role.CURATOR, "/support")]
    assert (seen.keys, seen.keys_delegated) == (2, 1)
    assert (seen.reviews_assigned, seen.conflicts_assigned, seen.only_they_decide) == (1, 1, 0)
    assert (seen.facts_about, seen.facts_from, seen.facts_only_from) == (3, 1, 1)
    assert (seen.open_conflicts, seen.consents_pending, seen.promotions_about, seen.promotions_asked) == (1, 1, 1, 0)
    assert Membership.objects.filter(pk=zoe.pk).exists()


def test_access_ends_at_once_and_what_waited_is_settled(scene, administrator: Principal, zoe: Membership) -> None:
    session = signed_in(zoe)
    assert session.get("/v1/facts", scope="/support").status_code == 200
    assert all(keys.authenticate(raw) for raw in scene["keys"])
    gone = leaving.leave(administrator, zoe.id, facts=LeaversFacts.KEEP)
    assert session.get("/v1/facts", scope="/support").json()["error"]["type"] == "no_account"
    assert not any(keys.authenticate(raw) for raw in scene["keys"])
    assert not Grant.objects.filter(subject=zoe.subject).exists()
    assert (Consent.objects.get().status, Promotion.objects.get().status) == ("denied", "refused")
    review = Review.objects.get(pk=scene["review"].pk)
    assert (review.status, review.assignee_id, ConflictSet.objects.get().assignee_id) == ("pending", None, None)
    assert Fact.objects.get(pk=scene["own"].pk).status == "active"
    entry = AuditEntry.objects.get(action="member.left")
    assert (entry.object_id, entry.metadata["keys"], entry.metadata["consents"]) == (str(gone.id), 2, 1)


def test_undone_they_are_who_they_were(scene, administrator: Principal, zoe: Membership) -> None:
    subject, user = zoe.subject, zoe.user
    gone = leaving.leave(administrator, zoe.id, facts=LeaversFacts.FORGET)
    assert Fact.objects.get(pk=scene["own"].pk).status == "disabled"
    leaving.undo(administrator, gone.id)
    back = Membership.objects.get(subject=subject)
    assert (str(back.id), back.user) == (gone.detail["membership"], user)
    assert list(Grant.objects.filter(subject=subject).values_list("role", "scope__path")) == [("curator", "/support")]
    assert Fact.objects.get(pk=scene["own"].pk).status == "active"
    assert Review.objects.get(pk=scene["review"].pk).assignee_id == back.id
    assert Consent.objects.get().status == "denied"
    assert not any(keys.authenticate(raw) for raw in scene["keys"])
    assert signed_in(back).get("/v1/facts", scope="/support").status_code == 200
    with pytest.raises(Conflicting) as refused:
        leaving.undo(administrator, gone.id)
    assert refused.value.code == "leaving_undone"


def test_what_is_erased_does_not_come_back(scene, administrator: Principal, zoe: Membership) -> None:
    gone = leaving.leave(administrator, zoe.id, facts=LeaversFacts.ERASE)
    assert Fact.objects.get(pk=scene["own"].pk).status == "deleted"
    assert Fact.objects.get(pk=scene["told"].pk).status == "retracted"
    with pytest.raises(Conflicting) as refused:
        leaving.undo(administrator, gone.id)
    assert refused.value.code == "leaving_final"


def test_somebody_who_is_in_again_is_not_let_in_twice(account, administrator: Principal, zoe: Membership) -> None:
    subject = zoe.subject
    gone = leaving.leave(administrator, zoe.id, facts=LeaversFacts.KEEP)
    Membership.objects.create(account=account, user=UserFactory(), subject=subject)
    with pytest.raises(Conflicting) as refused:
        leaving.undo(administrator, gone.id)
    assert refused.value.code == "subject_taken"


def test_what_only_they_decide_is_named(account: Account, zoe: Membership) -> None:
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN, propagates=False)
    support = ensure_scope(account.id, "/support")
    held = FactFactory(subject=SubjectFactory(account=account), scope=support, status="held")
    Review.objects.create(account=account, kind="new_fact", fact=held, fact_version=1)
    with CaptureQueriesContext(connection) as of_one:
        assert leaving.preview(administrator, zoe.id).only_they_decide == 1
    for _ in range(5):
        event = say(held.subject, "Who is that?", scope=support)
        Review.objects.create(account=account, kind="unresolved_subject", event=event)
    with CaptureQueriesContext(connection) as of_six:
        assert leaving.preview(administrator, zoe.id).only_they_decide == 6
    assert len(of_six) == len(of_one)
    person_in(account, path="/support")
    assert leaving.preview(administrator, zoe.id).only_they_decide == 0


@pytest.mark.parametrize(
    ("who", "code"),
    [("curator", "forbidden_scope"), ("key", "human_required"), ("self", "own_request"), ("stranger", "not_found")],
)
def test_who_lets_nobody_go(account: Account, administrator: Principal, zoe: Membership, who: str, code: str) -> None:
    if who == "stranger":
        other = AccountFactory()
        with entered(other):
            caller = person_in(other, role=Role.ACCOUNT_ADMIN)
            with pytest.raises(NotFound):
                leaving.leave(caller, zoe.id, facts=LeaversFacts.KEEP)
        return
    callers = {
        "curator": lambda: person_in(account),
        "key": lambda: keys.authenticate(api_key(account, delegated=[*Delegation], maker=maker_of(administrator))[1]),
        "self": lambda: administrator,
    }
    target = administrator.membership_id if who == "self" else zoe.id
    with pytest.raises(Refused) as refused:
        leaving.leave(callers[who](), target, facts=LeaversFacts.KEEP)
    assert refused.value.code == code


def test_the_last_administrator_stays(account: Account, administrator: Principal) -> None:
    second = person_in(account, role=Role.ACCOUNT_ADMIN)
    other = maker_of(second)
    other.user.is_active = False
    other.user.save()
    with pytest.raises(DomainError) as refused:
        leaving.leave(second, administrator.membership_id, facts=LeaversFacts.KEEP)
    assert refused.value.code == "last_administrator"
    with pytest.raises(NotFound):
        leaving.preview(administrator, unknown_id())


def test_the_command_shows_before_it_acts(account: Account, administrator: Principal, zoe: Membership) -> None:
    by = maker_of(administrator).user.username
    with entered(None):
        out = io.StringIO()
        asked = {"account": account.key, "user": zoe.user.username, "by": by, "stdout": out}
        call_command("remove_member", **asked)
        assert "Nothing was done" in out.getvalue()
        call_command("remove_member", **asked, yes=True)
        assert "has left" in out.getvalue()
        with pytest.raises(CommandError):
            call_command("remove_member", **asked, yes=True)
    assert not Membership.objects.filter(pk=zoe.pk).exists()
