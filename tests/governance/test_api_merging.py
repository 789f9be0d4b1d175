"""Merging over HTTP and on the subject's page, and looking subjects and aliases up."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Account, Fact, Identity, Subject, SubjectMerge
from facts.vocabulary import Level, Sensitivity
from governance.access import APP_RIGHTS, Delegation
from governance.models import Role
from tests.admin_scene import sign_in
from tests.api import caller_with_key, signed_in
from tests.factories import (
    FactFactory,
    GrantFactory,
    MembershipFactory,
    SubjectFactory,
    maker_of,
    person_in,
    submit,
    unknown_id,
)


@pytest.fixture
def anna(account: Account) -> Subject:
    return SubjectFactory(account=account, key="U042", name="Anna K.")


@pytest.fixture
def anna_k(account: Account) -> Subject:
    return SubjectFactory(account=account, key="anna.keller", name="Anna Keller")


def curator(account: Account):
    membership = MembershipFactory(account=account)
    GrantFactory(subject=membership.subject, role=Role.CURATOR)
    return membership


def test_a_person_merges_and_takes_it_back(account, anna, anna_k):
    submit(anna, {"city": "Bern"})
    caller = signed_in(curator(account))

    seen = caller.post(f"/v1/subjects/{anna.id}/merge/preview", {"into": str(anna_k.id)})
    assert (seen.status_code, seen.json()["facts"], seen.json()["conflicts"]) == (200, 1, [])
    made = caller.post(f"/v1/subjects/{anna.id}/merge", {"into": str(anna_k.id), "rationale": "Same desk."})
    assert made.status_code == 200
    told = made.json()
    assert (told["status"], told["source_subject_id"], told["target_subject_id"]) == ("merged", "U042", "anna.keller")
    assert (told["facts_moved"], told["events_moved"], told["traces_moved"]) == (1, 1, 0)
    assert Fact.objects.get(account=account).subject_id == anna_k.id

    back = caller.post(f"/v1/subjects/{anna.id}/unmerge", {})
    assert (back.status_code, back.json()["status"], back.json()["kept"]) == (200, "undone", [])
    assert Fact.objects.get(account=account).subject_id == anna.id
    again = caller.post(f"/v1/subjects/{anna.id}/unmerge", {})
    assert (again.status_code, again.json()["error"]["type"]) == (404, "merge_not_found")


def test_keys_merge_only_in_the_name_of_a_person(account, anna, anna_k):
    body = {"project_id": "support", "source_subject_id": "U042", "target_subject_id": "anna.keller"}
    refused = caller_with_key(account, rights=APP_RIGHTS).post("/v1/subjects/merge", body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "human_required")
    hidden = caller_with_key(account, rights=APP_RIGHTS).post(
        "/v1/subjects/merge", {**body, "source_subject_id": "nobody"}
    )
    assert hidden.json()["error"]["type"] == "human_required"

    maker = maker_of(person_in(account))
    made = caller_with_key(account, delegated=[Delegation.RESOLVE], maker=maker).post("/v1/subjects/merge", body)
    assert (made.status_code, made.json()["merge_id"]) == (200, str(SubjectMerge.objects.get().id))


def test_an_alias_is_registered_once_and_found_through_a_merge(account, anna, anna_k):
    key = caller_with_key(account, rights=APP_RIGHTS)
    body = {"project_id": "p", "alias_kind": "Email", "alias_value": "anna@example.org", "canonical_subject_id": "U042"}
    first = key.post("/v1/subjects/resolve", body)
    assert (first.status_code, first.json()) == (
        200,
        {
            "alias_kind": "email",
            "alias_value": "anna@example.org",
            "canonical_subject_id": "U042",
            "created": True,
            "self_registered": False,
        },
    )
    assert key.post("/v1/subjects/resolve", body).json()["created"] is False
    other = key.post("/v1/subjects/resolve", {**body, "canonical_subject_id": "anna.keller"})
    assert (other.status_code, other.json()["error"]["type"]) == (409, "alias_conflict")
    alone = key.post("/v1/subjects/resolve", {"alias_kind": "slack", "alias_value": "U9"})
    assert (alone.json()["canonical_subject_id"], alone.json()["self_registered"]) == ("slack:U9", True)

    signed_in(curator(account)).post(f"/v1/subjects/{anna.id}/merge", {"into": str(anna_k.id)})
    now = key.post("/v1/subjects/resolve", body)
    assert (now.status_code, now.json()["canonical_subject_id"]) == (200, "anna.keller")
    assert Identity.objects.get(value="anna@example.org").subject_id == anna_k.id
    assert caller_with_key(account, rights=["read"]).post("/v1/subjects/resolve", body).status_code == 403


def test_subjects_are_listed_as_far_as_their_facts_may_be_seen(account, anna, anna_k):
    atlas = SubjectFactory(account=account, kind="topic", key="atlas", name="Atlas")
    FactFactory(subject=atlas, level=Level.SCOPE, sensitivity=Sensitivity.PUBLIC)
    FactFactory(subject=anna)
    key = caller_with_key(account, rights=["read"])

    listed = key.get("/v1/subjects").json()
    assert [(one["subject_id"], one["facts"], one["recalls"]) for one in listed["subjects"]] == [("atlas", 1, None)]
    assert listed["next_after"] is None
    assert key.get(f"/v1/subjects/{atlas.id}").json()["name"] == "Atlas"
    for hidden in (anna.id, unknown_id()):
        answer = key.get(f"/v1/subjects/{hidden}")
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "subject_not_found")


def test_the_page_shows_what_would_change_and_wants_the_key_typed(account, anna, anna_k):
    for subject, city in ((anna, "Bern"), (anna_k, "Lyon")):
        submit(subject, {"city": city}, statement=f"Anna lives in {city}.")
    client = Client()
    sign_in(client, person_in(account))
    address = reverse("admin:subject_merge", args=[anna.pk])

    assert "anna.keller" in client.get(address, {"search": "anna"}).text
    shown = client.get(address, {"into": str(anna_k.pk)})
    beside = [[fact.statement for fact in known.facts] for known in shown.context["pair"]]
    assert beside == [["Anna lives in Bern."], ["Anna lives in Lyon."]]
    page = shown.text
    assert "<b>1</b> conflict would open" in page
    wrong = client.post(address, {"into": str(anna_k.pk), "key": "U042"})
    assert (wrong.status_code, SubjectMerge.objects.count()) == (422, 0)
    done = client.post(address, {"into": str(anna_k.pk), "key": "anna.keller", "rationale": "Same desk."}, follow=True)
    assert "They are one now." in done.text
    assert "Make them two again" in done.text
    back = client.post(reverse("admin:subject_unmerge", args=[anna.pk]), follow=True)
    assert "They are two again." in back.text
    assert SubjectMerge.objects.get().undone_at is not None
