"""Asked by e-mail: a signed link for one answer, which opening does not give, and over which a no always counts."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core import mail, signing
from django.test import Client

from facts import jobs
from facts.clock import now
from facts.errors import DomainError
from facts.models import Job
from governance.models import Consent, ConsentLink
from governance.sharing import consent_codes, consent_links, consent_mail, consents
from tests.api import signed_in
from tests.factories import AccountFactory, entered, maker_of
from tests.governance.sharing_scene import Scene, scene_in


@pytest.fixture
def scene(account) -> Scene:
    return scene_in(account)


@pytest.fixture
def mailed(settings):
    """A mail server, and the site's address."""
    settings.EMAIL_HOST, settings.MEMORY_SITE_URL = "mail.example", "https://memory.example/"
    settings.DEFAULT_FROM_EMAIL = "memory@memory.example"


@pytest.fixture
def token(scene) -> str:
    """A link to a question to Ada."""
    scene.request(scene.fact())
    return consent_links.issue(Consent.objects.get())


def reachable(scene: Scene) -> None:
    user = maker_of(scene.ada).user
    user.email = "ada@people.example"
    user.save()


def visit(client: Client, token: str, answer: str = "", **headers: str):
    """Open the page of a link or press a button on it, as somebody who is not signed in."""
    address = f"/consent/{token}/"
    with entered(None):
        return client.post(address, {"answer": answer}, headers=headers) if answer else client.get(address)


def refusal(work, *arguments, **named) -> str:
    with pytest.raises(DomainError) as caught:
        work(*arguments, **named)
    return caught.value.code


def test_the_question_goes_to_the_address_that_the_subject_signs_in_with(scene, mailed):
    reachable(scene)
    scene.request(scene.fact())
    job = Job.objects.get(kind="consent.mail")
    consent_mail.run(str(job.id), str(scene.account.id))
    (message,) = mail.outbox
    assert f'"no {consent_codes.code_of(Consent.objects.get().id)}"' in message.body
    assert (message.to, message.from_email) == (["ada@people.example"], "memory@memory.example")
    assert "mornings" not in message.subject + message.body
    (token,) = re.findall(r"https://memory\.example/consent/(\S+)/", message.body)
    assert consent_links.open_link(token).consent == Consent.objects.get()
    assert Job.objects.get(kind="consent.mail").status == "done"


def test_a_question_that_is_answered_by_then_is_not_sent(scene, mailed):
    reachable(scene)
    scene.request(scene.fact())
    consents.grant(scene.ada, Consent.objects.get().id)
    consent_mail.run(str(Job.objects.get(kind="consent.mail").id), str(scene.account.id))
    assert (mail.outbox, ConsentLink.objects.count()) == ([], 0)


@pytest.mark.parametrize("missing", ["EMAIL_HOST", "MEMORY_SITE_URL", "address"])
def test_without_a_way_to_the_subject_no_link_is_made(scene, mailed, settings, missing):
    if missing != "address":
        reachable(scene)
        setattr(settings, missing, "")
    promotion = scene.request(scene.fact())
    assert not Job.objects.filter(kind="consent.mail").exists()
    assert Consent.objects.get().unreached_at is not None
    asker, address = signed_in(maker_of(scene.asker)), f"/v1/promotions/{promotion.id}"
    assert asker.get(address).json()["consent_unreached_at"] is not None
    consents.grant(scene.ada, Consent.objects.get().id)
    assert asker.get(address).json()["consent_unreached_at"] is None


def test_a_mail_that_is_given_up_is_said_until_it_arrives(scene, mailed, monkeypatch):
    reachable(scene)
    scene.request(scene.fact())
    job = Job.objects.get(kind="consent.mail")

    def refuse(**named: object) -> None:
        raise ConnectionRefusedError

    with monkeypatch.context() as broken:
        broken.setattr(consent_mail, "send_mail", refuse)
        for attempt in range(1, job.max_attempts + 1):
            with pytest.raises(ConnectionRefusedError):
                consent_mail.run(str(job.id), str(scene.account.id))
            assert (Consent.objects.get().unreached_at is None) == (attempt < job.max_attempts)
            Job.objects.filter(pk=job.pk).update(run_after=now())
    jobs.retry(scene.account.id, job.id)
    consent_mail.run(str(job.id), str(scene.account.id))
    assert (len(mail.outbox), Consent.objects.get().unreached_at) == (1, None)


def test_a_mail_whose_workers_died_is_said(scene, mailed):
    reachable(scene)
    scene.request(scene.fact())
    job = Job.objects.get(kind="consent.mail")
    long_ago = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
    Job.objects.update(status="running", attempts=job.max_attempts, claimed_at=long_ago)
    consent_mail.run(str(job.id), str(scene.account.id))
    assert (Job.objects.get(pk=job.pk).status, mail.outbox) == ("dead", [])
    assert Consent.objects.get().unreached_at is not None


def test_an_address_that_is_gone_by_then_is_said(scene, mailed):
    reachable(scene)
    scene.request(scene.fact())
    user = maker_of(scene.ada).user
    user.email = ""
    user.save()
    consent_mail.run(str(Job.objects.get(kind="consent.mail").id), str(scene.account.id))
    assert (mail.outbox, Consent.objects.get().unreached_at is None) == ([], False)


def test_nobody_is_asked_where_the_account_consents_for_everybody(scene, mailed):
    reachable(scene)
    scene.account.consent_mode = "auto"
    scene.account.save()
    scene.request(scene.fact())
    assert not Job.objects.filter(kind="consent.mail").exists()


def test_opening_the_page_decides_nothing(scene, token, client):
    for _ in range(2):
        page = visit(client, token)
        assert (page.status_code, "Ada prefers mornings." in page.content.decode()) == (200, True)
    assert "no-store" in page.headers["Cache-Control"]
    assert page.headers["X-Robots-Tag"] == "noindex"
    assert (Consent.objects.get().status, ConsentLink.objects.get().used_at) == ("pending", None)


def test_a_yes_is_the_subjects_own_and_good_once(scene, token, client):
    assert visit(client, token, "yes").status_code == 302
    consent = Consent.objects.get()
    assert (consent.status, consent.channel, consent.verified) == ("granted", "link", True)
    assert consent.decided_by["subject_id"] == str(scene.ada.subject_id)
    page = visit(client, token).content.decode()
    assert ("Ada prefers mornings." in page, "Take it back" in page, "Yes, I agree" in page) == (False, True, False)
    assert visit(client, token, "no").status_code == 302
    assert Consent.objects.get().status == "withdrawn"
    assert visit(client, token, "yes").status_code == 409
    assert refusal(consent_links.answer, token, agrees=True) == "link_used"
    assert Consent.objects.get().status == "withdrawn"


def test_after_a_no_by_another_way_no_link_says_yes(scene, token):
    consents.refuse(scene.ada, Consent.objects.get().id)
    assert refusal(consent_links.answer, token, agrees=True) == "link_used"
    assert Consent.objects.get().status == "denied"


def test_an_old_link_is_good_for_a_no_only(scene, token, client):
    ConsentLink.objects.update(expires_at=now() - timedelta(seconds=1))
    assert "Ada prefers mornings." not in visit(client, token).content.decode()
    assert refusal(consent_links.answer, token, agrees=True) == "link_expired"
    visit(client, token, "no")
    consent = Consent.objects.get()
    assert (consent.status, consent.verified) == ("denied", False)


def test_a_form_of_another_site_answers_nothing(scene, token):
    browser = Client(enforce_csrf_checks=True)
    assert visit(browser, token, "yes").status_code == 403
    page = visit(browser, token).content.decode()
    (csrf,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert visit(browser, token, "yes", **{"X-CSRFToken": csrf}).status_code == 302
    assert Consent.objects.get().status == "granted"


@pytest.mark.parametrize("forged", ["x", "WyJhIl0:1:x", "\x00", "é" * 300])
def test_a_forged_link_is_none(scene, token, client, forged):
    assert refusal(consent_links.open_link, forged) == "consent_link_not_found"
    assert refusal(consent_links.answer, token[:-1] + ("A" if token[-1] != "A" else "B"), agrees=False) == (
        "consent_link_not_found"
    )
    assert Consent.objects.get().status == "pending"


def test_a_link_of_something_gone_is_none_and_another_account_is_no_way_in(scene, token, client):
    foreign = AccountFactory()
    link = ConsentLink.objects.get()
    crossed = signing.dumps([str(foreign.id), str(link.id)], salt="consent.link")
    assert visit(client, crossed).status_code == 404
    link.delete()
    assert visit(client, token).status_code == 404


def test_the_link_holds_no_words(token):
    assert "mornings" not in token
    assert len(token) < 200
