"""The page on which a curator of the target decides about a promotion."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from facts.models import Subject
from governance.models import Consent, Promotion, Review
from governance.sharing import consents
from tests.admin_scene import sign_in
from tests.factories import person_in
from tests.governance.sharing_scene import Scene, scene_in


@pytest.fixture
def scene(account) -> Scene:
    return scene_in(account)


def page_of(client: Client, review: Review) -> str:
    """Return the page of a review."""
    answer = client.get(reverse("admin:governance_review_change", args=[review.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_shows_where_to_why_what_the_subject_says_and_who_could_read_it(scene, client):
    fact = scene.fact()
    promotion = scene.request(fact)
    sign_in(client, scene.decider)
    page = page_of(client, promotion.review)
    assert "To be known in /support" in page
    assert "Planning shifts." in page
    assert "could not be asked" in page
    assert Subject.objects.get(pk=scene.other.subject_id).display_name in page
    Consent.objects.update(unreached_at=None)
    assert "has not answered" in page_of(client, promotion.review)
    consents.grant(scene.ada, scene.consent(fact).id)
    assert "agreed to this" in page_of(client, promotion.review)


def test_it_is_approved_there(scene, client):
    fact = scene.fact()
    promotion = scene.request(fact)
    sign_in(client, scene.decider)
    address = reverse("admin:review_decide", args=[promotion.review_id])
    assert "has agreed.</span>" in page_of(client, promotion.review)
    assert client.post(address, {"verb": "approve"}).status_code == 409
    consents.grant(scene.ada, scene.consent(fact).id)
    assert client.post(address, {"verb": "approve", "reason": "Helps."}).status_code == 302
    assert (scene.copy(fact).status, Promotion.objects.get().status) == ("active", "approved")
    assert "The copy" in page_of(client, promotion.review)


def test_an_approval_is_said_and_taken_back_on_the_next_page(scene, client):
    fact = scene.fact()
    promotion = scene.request(fact)
    consents.grant(scene.ada, scene.consent(fact).id)
    sign_in(client, scene.decider)
    answer = client.post(reverse("admin:review_decide", args=[promotion.review_id]), {"verb": "approve"})
    page = client.get(answer["Location"])
    undo = reverse("admin:promotion_undo", args=[promotion.review_id])
    assert (page.context["done_text"], page.context["undo_done"]) == ("Approved: a copy was placed.", undo)
    assert page.context["done_undoable"]
    client.post(undo)
    assert client.get(answer["Location"]).context["done"] is None
    assert Promotion.objects.get().status == "requested"


def test_it_is_rejected_there_and_the_fact_stays(scene, client):
    fact = scene.fact()
    promotion = scene.request(fact)
    sign_in(client, scene.decider)
    client.post(reverse("admin:review_decide", args=[promotion.review_id]), {"verb": "reject", "reason": "Private."})
    fact.refresh_from_db()
    assert (fact.status, Promotion.objects.get().status) == ("active", "rejected")


def test_a_curator_of_the_target_alone_reads_what_to_decide_about(account, scene, client):
    fact = scene.fact()
    promotion = scene.request(fact)
    sign_in(client, person_in(account, path="/support", propagates=False))
    assert fact.statement in page_of(client, promotion.review)
    client.post(reverse("admin:review_decide", args=[promotion.review_id]), {"verb": "reject", "reason": "Private."})
    assert client.get(reverse("admin:facts_fact_change", args=[fact.pk])).status_code in {302, 404}


def test_the_one_who_asked_does_not_decide(scene, client):
    promotion = scene.request(scene.fact())
    sign_in(client, scene.asker)
    page = page_of(client, promotion.review)
    assert "You asked for this, or put it in yourself" in page
    assert 'value="approve"' not in page
    refusal = {"verb": "reject", "reason": "Private."}
    answer = client.post(reverse("admin:review_decide", args=[promotion.review_id]), refusal)
    assert (answer.status_code, Promotion.objects.get().status) == (403, "requested")


def test_curators_below_do_not_see_it(account, scene, client):
    promotion = scene.request(scene.fact())
    sign_in(client, person_in(account, path="/support/emea"))
    address = reverse("admin:governance_review_change", args=[promotion.review_id])
    assert client.get(address).status_code in {302, 404}


def test_a_consent_is_looked_at_and_given_by_nobody_else(scene, client):
    fact = scene.fact()
    promotion = scene.request(fact)
    consent = scene.consent(fact)
    address = reverse("admin:governance_consent_change", args=[consent.pk])
    sign_in(client, scene.decider)
    page = client.get(address)
    assert (page.context["place"], page.context["readable"]) == (1, True)
    assert [(choice.label, choice.subject_only) for choice in page.context["choices"]] == [
        ("Now", True),
        ("Agreed and approved, a copy", False),
        ("Refused, a copy", False),
    ]
    assert reverse("admin:governance_review_change", args=[promotion.review_id]) in page.text
    client.post(address, {"answer": "yes", "status": "granted", "verb": "approve"})
    assert scene.consent(fact).status == "pending"
    sign_in(client, person_in(scene.account, path="/support/emea"))
    page = client.get(address)
    assert fact.statement in page.text
    assert page.context["promotions"] == [], "the request is decided above"
    sign_in(client, scene.ada)
    assert client.get(address).status_code == 404
