"""Promotions and consents over HTTP: for signed-in people, each shown what concerns them."""

from __future__ import annotations

import pytest

from facts.vocabulary import Sensitivity
from governance.models import Consent, Promotion
from tests.api import caller_with_key, problem, signed_in
from tests.factories import AccountFactory, entered, maker_of, person_in, unknown_id
from tests.governance.sharing_scene import Scene, scene_in


@pytest.fixture
def scene(account) -> Scene:
    return scene_in(account)


@pytest.fixture
def callers(scene):
    """Ada, the one who asks, the one who decides, and somebody else, each signed in."""
    return [signed_in(maker_of(who)) for who in (scene.ada, scene.asker, scene.decider, scene.other)]


def asked(caller, fact, **changes):
    """POST a request."""
    return caller.post("/v1/promotions", {"fact_id": fact.id, "target": "/support", "reason": "Shifts.", **changes})


def test_the_whole_way(scene, callers):
    ada, asker, decider, other = callers
    fact = scene.fact()
    made = asked(asker, fact)
    assert made.status_code == 201, made.content
    promotion = made.json()
    assert {name: promotion[name] for name in ("status", "consent", "scope", "target", "statement", "reason")} == {
        "status": "requested",
        "consent": "pending",
        "scope": "/support/emea",
        "target": "/support",
        "statement": "Ada prefers mornings.",
        "reason": "Shifts.",
    }
    address = f"/v1/promotions/{promotion['id']}"
    assert problem(decider.post(f"{address}/approve")) == (409, "consent_missing", None)
    (consent,) = ada.get("/v1/consents").json()["consents"]
    assert (consent["status"], consent["statement"], consent["scope"], consent["reason"], consent["requested_by"]) == (
        "pending",
        "Ada prefers mornings.",
        "/support",
        "Shifts.",
        promotion["requested_by"],
    )
    granted = ada.post(f"/v1/consents/{consent['id']}/grant").json()
    assert (granted["status"], granted["channel"], granted["verified"]) == ("granted", "session", True)
    assert problem(asker.post(f"{address}/approve")) == (403, "own_request", None)
    approved = decider.post(f"{address}/approve", {"rationale": "Helps."}).json()
    assert (approved["status"], approved["copy_id"]) == ("approved", str(scene.copy(fact).id))
    assert ada.get("/v1/promotions", status="approved").json()["promotions"][0]["id"] == promotion["id"]
    withdrawn = ada.post(f"/v1/consents/{consent['id']}/withdraw").json()
    assert (withdrawn["status"], scene.copy(fact).status) == ("withdrawn", "retracted")
    seen = decider.get(address).json()
    assert (seen["status"], seen["statement"]) == ("withdrawn", None)
    assert other.get("/v1/promotions").json()["promotions"] == []
    assert problem(other.get(address)) == (404, "promotion_not_found", None)


def test_denying_rejecting_and_cancelling(scene, callers):
    ada, asker, decider, _ = callers
    made = asked(asker, scene.fact()).json()
    assert ada.post(f"/v1/consents/{Consent.objects.get().id}/deny").json()["status"] == "denied"
    assert asker.get(f"/v1/promotions/{made['id']}").json()["status"] == "refused"
    for caller, verb, status in ((decider, "reject", "rejected"), (asker, "cancel", "cancelled")):
        made = asked(asker, scene.fact(sensitivity=Sensitivity.INTERNAL)).json()
        assert made["consent"] is None
        assert caller.post(f"/v1/promotions/{made['id']}/{verb}").json()["status"] == status
        assert problem(decider.post(f"/v1/promotions/{made['id']}/approve")) == (409, "promotion_decided", None)


def test_keys_never(account, scene):
    promotion, nobody = scene.request(scene.fact()), unknown_id()
    consent = Consent.objects.get()
    key = caller_with_key(account, delegated=["resolve", "forget"], maker=maker_of(scene.decider), peer=scene.subject)
    answers = [key.get("/v1/promotions"), key.get(f"/v1/promotions/{promotion.id}"), key.get("/v1/consents")]
    answers.append(asked(key, scene.fact()))
    answers += [key.post(f"/v1/promotions/{promotion.id}/{verb}") for verb in ("approve", "reject", "cancel")]
    answers += [key.post(f"/v1/consents/{who}/{verb}") for who in (consent.id, nobody) for verb in ("grant", "deny")]
    answers.append(key.post(f"/v1/consents/{consent.id}/withdraw"))
    assert [problem(answer) for answer in answers] == [(403, "human_required", None)] * len(answers)


def test_refusals_of_a_request(scene, callers):
    _, asker, _, other = callers
    fact = scene.fact()
    assert problem(asked(asker, fact, target="/elsewhere")) == (422, "not_above", "target")
    assert problem(asked(asker, fact, reason="")) == (422, "invalid_payload", "reason")
    assert problem(asked(asker, fact, target="/../x")) == (422, "invalid_scope", "scope")
    assert problem(asked(other, fact)) == (404, "fact_not_found", "fact_id")
    assert asked(asker, fact).status_code == 201
    assert problem(asked(asker, fact)) == (409, "promotion_pending", "fact_id")


def test_a_repeated_request_with_its_key_asks_once(scene, callers):
    fact = scene.fact()
    body = {"fact_id": fact.id, "target": "/support", "reason": "Shifts."}
    first, again = (callers[1].post("/v1/promotions", body, headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert (first.status_code, again.status_code, again.json()["id"]) == (201, 201, first.json()["id"])
    assert Promotion.objects.count() == 1


def test_another_account_sees_nothing(scene):
    promotion = scene.request(scene.fact())
    consent = Consent.objects.get()
    foreign = AccountFactory()
    with entered(foreign):
        stranger = signed_in(maker_of(person_in(foreign)))
    assert stranger.get("/v1/promotions").json()["promotions"] == []
    assert stranger.get("/v1/consents").json()["consents"] == []
    assert problem(stranger.post(f"/v1/promotions/{promotion.id}/approve"))[:2] == (404, "promotion_not_found")
    assert problem(stranger.post(f"/v1/consents/{consent.id}/grant"))[:2] == (404, "consent_not_found")
