"""The page on which somebody is let go, the record of it, and the buttons of a key."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from facts.models import Account, Membership
from governance import keys
from governance.models import ApiKey, Leaving, Role
from tests.admin_scene import sign_in
from tests.factories import FactFactory, SubjectFactory, api_key, maker_of, person_in


@pytest.fixture
def zoe(account: Account, client: Client) -> Membership:
    """A curator, while an administrator is signed in."""
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    return maker_of(person_in(account, path="/support"))


def _text(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


def test_somebody_is_let_go_after_a_look_and_let_in_again(account: Account, client: Client, zoe: Membership) -> None:
    FactFactory(subject=zoe.subject, statement="Zoe plays chess.")
    address = reverse("admin:member_leaves", args=[zoe.pk])
    assert address in _text(client.get(reverse("admin:facts_membership_change", args=[zoe.pk])))
    shown = _text(client.get(address))
    assert "curator at" in shown
    assert "<dt>Facts about them: as you choose below</dt><dd>1</dd>" in shown
    for wrong in ({"facts": "keep", "key": "bob"}, {"facts": "?", "key": zoe.subject.key}):
        assert client.post(address, wrong).status_code == 422
    assert Membership.objects.filter(pk=zoe.pk).exists()
    gone = client.post(address, {"facts": "forget", "key": zoe.subject.key})
    left = Leaving.objects.get()
    assert gone["Location"] == reverse("admin:governance_leaving_change", args=[left.pk])
    assert "Let them in again" in _text(client.get(gone["Location"]))
    assert client.get(address).status_code == 404
    client.post(reverse("admin:leaving_undo", args=[left.pk]))
    assert Membership.objects.filter(pk=zoe.pk).exists()
    assert "Let them in again" not in _text(client.get(gone["Location"]))


def test_a_key_gets_a_new_secret_that_is_shown_once(account: Account, client: Client, zoe: Membership) -> None:
    old, raw = api_key(account, label="shop")
    page = _text(client.post(reverse("admin:key_rotate", args=[old.pk]), {"hours": "0"}))
    new = ApiKey.objects.exclude(pk=old.pk).get()
    assert new.prefix in page
    assert keys.authenticate(raw) is None
    assert client.post(reverse("admin:key_rotate", args=[new.pk]), {"hours": "x"}).context["form"].errors["hours"]
    assert ApiKey.objects.count() == 2


def test_a_key_is_bound_to_a_peer_and_a_rate(account: Account, client: Client, zoe: Membership) -> None:
    ada = SubjectFactory(account=account, key="ada")
    made = {"label": "shop", "rights": ["read"], "peer": "ada", "per_minute": "5"}
    assert client.post(reverse("admin:key_create"), made).status_code == 200
    key = ApiKey.objects.get()
    assert (key.peer_id, key.requests_per_minute) == (ada.id, 5)
    answer = client.post(reverse("admin:key_create"), {**made, "peer": "nobody"})
    assert "No peer goes by that key." in _text(answer)
    assert ApiKey.objects.count() == 1
