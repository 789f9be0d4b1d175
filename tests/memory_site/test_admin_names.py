"""The page on which a curator says which names are one."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Account
from facts.vocabulary import Level, Sensitivity
from governance.models import Role
from retrieval.entities import rebuilding
from retrieval.models import AliasPair, EntityAlias, PairState
from tests.admin_scene import HOSTILE, sign_in
from tests.factories import FactFactory, SubjectFactory, UserFactory, person_in, unknown_id

PAGE = reverse("admin:name_pairs")


@pytest.fixture
def browser(account: Account) -> Client:
    return sign_in(Client(), person_in(account))


@pytest.fixture
def pair(account: Account) -> AliasPair:
    """Two names that all in the scope may read."""
    rebuilding.forget()
    topic = SubjectFactory(account=account, key="launches", kind="topic")
    FactFactory(
        subject=topic, statement="We ship Atlas and Atlantis", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL
    )
    rebuilding.keep(account.id)
    return AliasPair.objects.create(account=account, first="atlantis", second="atlas", similarity=0.8)


def test_a_decision_is_taken_and_undone(pair: AliasPair, browser: Client) -> None:
    page = browser.get(PAGE)
    assert b"Atlantis" in page.content
    assert b"alike to 80" in page.content
    for decision, before, state in (("same", "proposed", "same"), ("undo", "same", "proposed")):
        answer = browser.post(PAGE, {"pair": pair.id, "decision": decision, "state": before})
        assert (answer.status_code, answer["Location"]) == (HTTPStatus.FOUND, f"{PAGE}?state={before}")
        pair.refresh_from_db()
        assert pair.state == state
        assert EntityAlias.objects.values("entity_id").distinct().count() == (2 if state == "same" else 3)
    browser.post(PAGE, {"pair": pair.id, "decision": "different"})
    assert b"Atlantis" not in browser.get(PAGE).content
    assert b"Atlantis" in browser.get(PAGE, {"state": PairState.DIFFERENT}).content


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"pair": "x", "decision": "same"}, 404),
        ({"pair": "\x00", "decision": "same"}, 404),
        ({"decision": "same"}, 404),
        ({"pair": str(unknown_id()), "decision": "same"}, 404),
        ({"decision": "marry"}, 422),
        ({"decision": "undo"}, 409),
    ],
)
def test_what_cannot_be_decided_is_said(pair: AliasPair, browser: Client, form: dict[str, str], status: int) -> None:
    answer = browser.post(PAGE, form if "pair" in form or status == 404 else {"pair": str(pair.id), **form})
    assert answer.status_code == status
    assert b'role="alert"' in answer.content
    pair.refresh_from_db()
    assert pair.state == PairState.PROPOSED


@pytest.mark.parametrize("role", [Role.READER, Role.MEMBER])
def test_it_is_not_for_others(account: Account, pair: AliasPair, role: str) -> None:
    browser = sign_in(Client(), person_in(account, role=role))
    for answer in (browser.get(PAGE), browser.post(PAGE, {"pair": pair.id, "decision": "same"})):
        assert answer.status_code == HTTPStatus.FORBIDDEN
        assert b"Atlantis" not in answer.content


def test_curators_of_a_part_and_strangers_see_nothing(account: Account, pair: AliasPair, client: Client) -> None:
    partial = sign_in(Client(), person_in(account, path="/support"))
    assert partial.get(PAGE).status_code == HTTPStatus.FORBIDDEN
    assert client.get(PAGE).status_code == HTTPStatus.FOUND
    client.force_login(UserFactory(is_staff=True))
    assert b"Atlantis" not in client.get(PAGE).content


def test_names_are_shown_as_text(account: Account, browser: Client) -> None:
    rebuilding.forget()
    ana = SubjectFactory(account=account, key="ana", kind="topic")
    shared = {"level": Level.SCOPE, "sensitivity": Sensitivity.INTERNAL}
    FactFactory(subject=ana, statement=f"「{HOSTILE[:18]}」 and Atlas", **shared)
    rebuilding.keep(account.id)
    hostile = EntityAlias.objects.exclude(folded__in=["atlas", "ana"]).first()
    first, second = sorted(["atlas", hostile.folded])
    AliasPair.objects.create(account=account, first=first, second=second)
    page = browser.get(PAGE).content
    assert b"Atlas" in page
    assert b"<script>document" not in page


def test_the_home_page_leads_there(pair: AliasPair, browser: Client, account: Account) -> None:
    assert PAGE.encode() in browser.get(reverse("admin:index")).content
    other = sign_in(Client(), person_in(account, path="/support"))
    assert PAGE.encode() not in other.get(reverse("admin:index")).content
