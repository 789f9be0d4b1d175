"""The portal: its pages as its person sees them, what can be done there, and what is not there for anybody else."""

from __future__ import annotations

import json

import pytest
from django.http import HttpResponse
from django.test import Client

import memory_site.sign_in
from facts import embedding
from facts.models import Account, AuditEntry, Fact
from facts.vocabulary import Category, Sensitivity, SourceType, Status
from governance.access import Principal
from governance.models import Consent, ConsentStatus, ForgetReceipt, PromotionStatus, Review, Role
from ingest import opting_out
from memory_site.portal import wording
from retrieval.models import TraceKind
from tests.admin_scene import HOSTILE, sign_in
from tests.api import caller_with_key
from tests.factories import (
    AccountFactory,
    FactFactory,
    MembershipFactory,
    SubjectFactory,
    UserFactory,
    entered,
    maker_of,
    person_in,
    say,
    unknown_id,
)
from tests.governance.sharing_scene import Scene, scene_in

PAGES = ("", "facts/", "messages/", "reads/", "consents/", "export/", "erase/")


@pytest.fixture(autouse=True)
def _without_vectors(settings) -> None:
    settings.SEARCH_THREADS = 0
    embedding.register(None)


@pytest.fixture
def ada(account: Account, client: Client) -> Principal:
    """A member without a role or staff rights, signed in."""
    ada = person_in(account, role=None)
    sign_in(client, ada, staff=False)
    return ada


@pytest.fixture
def scene(account: Account, client: Client) -> Scene:
    """Four people and three scopes; Ada is signed in."""
    scene = scene_in(account)
    sign_in(client, scene.ada, staff=False)
    return scene


def own_fact(ada: Principal, **fields) -> Fact:
    return FactFactory(subject=maker_of(ada).subject, **fields)


def get(client: Client, path: str, **query: str) -> HttpResponse:
    with entered(None):
        return client.get(f"/me/{path}", query)


def post(client: Client, path: str, **form: str) -> HttpResponse:
    with entered(None):
        return client.post(f"/me/{path}", form)


def text_of(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_for_signed_in_members_alone(account, client, page):
    answer = get(client, page)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/me/login/?next=/me/{page}")
    with entered(None):
        client.force_login(UserFactory())
    assert get(client, page).status_code == 403
    assert "belong to no account" in text_of(get(client, page))


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_kept_nowhere_and_run_nothing_strange(ada, client, page):
    own_fact(ada)
    answer = get(client, page)
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    for inline in ("<script", "style=", "onclick", "http://", "//cdn"):
        assert inline not in answer.content.decode().replace('xmlns="http://', "")


def test_members_sign_in_and_out(account, client):
    user = maker_of(person_in(account, role=None)).user
    form = {"username": user.username, "password": "correct horse battery", "next": "/me/facts/"}
    assert post(client, "login/", **{**form, "password": "wrong"}).status_code == 200
    assert post(client, "login/", **form).headers["Location"] == "/me/facts/"
    assert get(client, "").status_code == 200
    assert post(client, "logout/").headers["Location"] == "/me/login/"
    assert get(client, "").status_code == 302


@pytest.mark.parametrize("address", ["/me/login/", "/admin/login/"])
def test_guessing_passwords_is_held_up_for_a_name_from_an_address(account, client, address, monkeypatch):
    monkeypatch.setattr(memory_site.sign_in, "TRIES_OF_NAME", 2)
    user = maker_of(person_in(account)).user
    user.is_staff = True
    user.save()
    wrong = {"username": user.username, "password": "wrong"}
    right = {**wrong, "password": "correct horse battery"}
    for _ in range(2):
        assert "tried too often" not in text_of(client.post(address, wrong))
    assert "tried too often" in text_of(client.post(address, right))
    assert client.post(address, right, REMOTE_ADDR="10.1.1.9").status_code == 302


def test_several_accounts_are_chosen_between(ada, client):
    other, user = AccountFactory(key="second", name="Second Ltd"), maker_of(ada).user
    with entered(other):
        MembershipFactory(account=other, user=user, subject__name="Ada Elsewhere")
    own_fact(ada, statement="Ada likes tea.")
    assert "Ada likes tea." in text_of(get(client, "facts/"))
    assert post(client, "account/", account="second").status_code == 302
    assert "Ada likes tea." not in text_of(get(client, "facts/"))
    assert "Ada Elsewhere" in text_of(get(client, ""))
    post(client, "account/", account="foreign")
    assert "Ada Elsewhere" in text_of(get(client, ""))


def test_facts_are_listed_with_their_sources_narrowed_and_paged(ada, client):
    for number in range(27):
        own_fact(ada, statement=f"Ada likes song number {number}.")
    own_fact(ada, statement="Ada promised cake.", category="commitment", status=Status.HELD)
    first = text_of(get(client, "facts/"))
    assert first.count('class="panel fact"') == 25
    assert "You, in a conversation" in first
    after = get(client, "facts/").context["next_cursor"]
    assert text_of(get(client, "facts/", after=after)).count('class="panel fact"') == 3
    narrowed = text_of(get(client, "facts/", standing="waiting", category="commitment"))
    assert narrowed.count('class="panel fact"') == 1
    assert "waits for approval" in narrowed
    assert get(client, "facts/", standing="?", category="?").status_code == 200
    assert get(client, "facts/", after="nonsense").status_code == 422


def test_one_fact_tells_who_reads_it_why_and_who_was_told(scene, client):
    fact = scene.fact(statement="Ada prefers mornings.", sensitivity="internal")
    asking = caller_with_key(scene.account, label="planner", peer=scene.subject)
    asked = {"scope": "/support/emea", "subject_id": scene.subject.key, "query": "When does Ada work?"}
    assert asking.post("/v1/context", {**asked, "purpose": "planning"}).status_code == 200
    shown = text_of(get(client, f"facts/{fact.id}/"))
    assert "everybody who reads /support/emea" in shown
    assert "4 people and 1 application" in shown
    assert '<b><bdi dir="auto">planner</bdi></b> got context' in shown
    assert "planning" in shown
    assert "When does Ada work?" not in shown
    assert "noticed</b>" in shown
    assert "Ada prefers mornings." in text_of(get(client, "reads/"))


def test_hostile_text_is_shown_and_does_nothing(ada, client):
    fact = own_fact(ada, statement=HOSTILE)
    for page in ("facts/", f"facts/{fact.id}/", "messages/", "erase/"):
        shown = get(client, page).content.decode()
        assert "<script>document" not in shown
        assert "U+202E" in shown
        assert "\u202e" not in shown
        assert "\u200b" not in shown


def test_a_fact_is_contested_with_a_reason(ada, client):
    fact = own_fact(ada)
    assert post(client, f"facts/{fact.id}/contest/", reason=" ").status_code == 422
    assert post(client, f"facts/{fact.id}/contest/", reason="Wrong.").status_code == 302
    assert Fact.objects.get(pk=fact.id).status == Status.DISPUTED
    assert "Contested. Nobody is told it" in text_of(get(client, f"facts/{fact.id}/"))


def test_blacking_out_is_confirmed(ada, client):
    fact = own_fact(ada, statement="Ada likes gin.")
    assert post(client, f"facts/{fact.id}/redact/").status_code == 422
    assert post(client, f"facts/{fact.id}/redact/", sure="yes").status_code == 302
    assert Fact.objects.get(pk=fact.id).status == Status.REDACTED
    shown = text_of(get(client, f"facts/{fact.id}/"))
    assert "The words are shown to nobody." in shown
    assert "gin" not in shown


def test_a_fact_is_withdrawn(ada, client):
    fact = own_fact(ada)
    assert post(client, f"facts/{fact.id}/withdraw/").status_code == 302
    assert Fact.objects.get(pk=fact.id).status == Status.RETRACTED


def test_nothing_of_others_is_there(account, ada, client):
    bob = SubjectFactory(account=account)
    theirs = FactFactory(subject=bob, sensitivity="public", statement="Bob quagmires.")
    for verb in ("", "contest/", "redact/", "withdraw/"):
        answers = []
        for pk in (theirs.id, unknown_id()):
            send = post if verb else get
            answers.append(send(client, f"facts/{pk}/{verb}", **({"reason": "x", "sure": "yes"} if verb else {})))
        assert [answer.status_code for answer in answers] == [404, 404]
        assert "quagmires" not in text_of(answers[0])
    assert Fact.objects.get(pk=theirs.id).status == Status.ACTIVE
    assert "quagmires" not in text_of(get(client, "facts/")) + text_of(get(client, "messages/"))


def test_consent_is_given_refused_and_taken_back(scene, client):
    fact = scene.fact()
    scene.request(fact)
    shown = text_of(get(client, "consents/"))
    assert "Ada prefers mornings." in shown
    assert "May everybody who reads <b>/support</b> be told?" in shown
    assert "Planning shifts." in shown
    consent = scene.consent(fact)
    for verb, status in (("agree", "granted"), ("refuse", "withdrawn"), ("agree", "granted")):
        assert post(client, f"consents/{consent.pk}/{verb}/").status_code == 302
        assert Consent.objects.get().status == status
    assert "Take it back" in text_of(get(client, "consents/"))


def test_consents_of_others_are_not_there(scene, client):
    fact = scene.fact()
    scene.request(fact)
    consent = scene.consent(fact)
    sign_in(client, scene.asker, staff=False)
    assert post(client, f"consents/{consent.pk}/agree/").status_code == 404
    assert Consent.objects.get().status == "pending"


def test_being_remembered_from_channels_is_switched(ada, client):
    assert "<b>On.</b>" in text_of(get(client, ""))
    post(client, "capture/", remember="no")
    assert opting_out.is_opted_out(ada.account_id, ada.subject_id)
    assert "<b>Off.</b>" in text_of(get(client, ""))
    post(client, "capture/", remember="?")
    assert opting_out.is_opted_out(ada.account_id, ada.subject_id)
    post(client, "capture/", remember="yes")
    assert not opting_out.is_opted_out(ada.account_id, ada.subject_id)


def test_an_erasure_is_previewed_confirmed_and_has_a_receipt(account, ada, client):
    subject = maker_of(ada).subject
    own_fact(ada, statement="Ada lives in Zanzolin.")
    bob = SubjectFactory(account=account)
    told = FactFactory(subject=bob, event=say(subject, "Bob collects stamps, I think."))
    shown = text_of(get(client, "erase/"))
    assert "<b>1</b> thing known about you" in shown
    assert "<b>1</b> thing about others that nobody else told is withdrawn" in shown
    assert "<b>2</b> things known" in text_of(get(client, "erase/", erasure="strict"))
    assert post(client, "erase/", confirm="erase").status_code == 422
    assert ForgetReceipt.objects.count() == 0
    answer = post(client, "erase/", confirm=subject.key, erasure="proportionate")
    receipt = ForgetReceipt.objects.get()
    assert answer.headers["Location"] == f"/me/receipts/{receipt.pk}/"
    assert "lost all their words" in text_of(get(client, f"receipts/{receipt.pk}/"))
    kept = json.loads(get(client, f"receipts/{receipt.pk}.json").content)
    assert (kept["id"], kept["counters"]["facts_deleted"]) == (str(receipt.pk), 1)
    assert Fact.objects.get(pk=told.id).status == Status.RETRACTED
    assert "Zanzolin" not in "".join(text_of(get(client, page)) for page in PAGES)
    assert AuditEntry.objects.filter(action="forget.delete").count() == 1


def test_receipts_of_others_are_not_there(account, ada, client):
    own_fact(ada)
    post(client, "erase/", confirm=maker_of(ada).subject.key)
    receipt = ForgetReceipt.objects.get()
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN), staff=False)
    for path in (f"receipts/{receipt.pk}/", f"receipts/{receipt.pk}.json"):
        assert get(client, path).status_code == 404


def test_a_contest_shows_its_reason_to_those_who_decide(ada, account, client):
    fact = own_fact(ada)
    post(client, f"facts/{fact.id}/contest/", reason="It was my sister.")
    sign_in(client, person_in(account))
    review = Review.objects.get()
    with entered(None):
        shown = text_of(client.get(f"/admin/governance/review/{review.pk}/change/"))
    assert "It was my sister." in shown


def test_everything_has_everyday_words():
    for named, known in (
        (wording.STATUSES, set(Status) - {Status.DELETED}),
        (wording.CATEGORIES, set(Category)),
        (wording.SENSITIVITIES, set(Sensitivity)),
        (wording.SOURCE_TYPES, set(SourceType)),
        (wording.READ_KINDS, set(TraceKind)),
        (wording.CONSENTS, set(ConsentStatus)),
        (wording.PROMOTIONS, set(PromotionStatus)),
    ):
        assert set(named) == {str(one) for one in known}
