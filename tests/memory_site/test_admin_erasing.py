"""The page that erases a subject: what it shows, and that it erases only what was confirmed."""

from __future__ import annotations

import pytest
from django.contrib.messages import get_messages
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from facts.models import Account, Event, Fact, Subject
from governance.models import ForgetReceipt, Role
from tests.admin_scene import sign_in
from tests.factories import AccountFactory, FactFactory, ScopeFactory, SubjectFactory, entered, person_in, say


@pytest.fixture
def ada(account: Account) -> Subject:
    """A person about whom one fact is known."""
    subject = SubjectFactory(account=account, key="ada", name="Ada <i>Quixworth</i>")
    FactFactory(subject=subject, statement="Ada lives in Zanzolin.")
    return subject


def _address(subject: Subject) -> str:
    return reverse("admin:subject_erase", args=[subject.pk])


def _text(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


def test_the_page_of_a_subject_leads_to_what_would_go(account: Account, client: Client, ada: Subject) -> None:
    sign_in(client, person_in(account))
    assert _address(ada) in _text(client.get(reverse("admin:facts_subject_change", args=[ada.pk])))
    shown = _text(client.get(_address(ada)))
    assert "1 fact and 1 message lose all their content" in shown
    assert "<dt>Evidence</dt><dd>1</dd>" in shown
    assert "<i>Quixworth" not in shown
    assert Fact.objects.get().status == "active"


def test_nothing_goes_without_the_key(account: Account, client: Client, ada: Subject) -> None:
    sign_in(client, person_in(account))
    for key in ("", "bob"):
        answer = client.post(_address(ada), {"key": key})
        assert answer.status_code == 422
        assert "Type the key of the subject to confirm." in _text(answer)
    assert (Fact.objects.get().status, ForgetReceipt.objects.count()) == ("active", 0)


@pytest.mark.parametrize(
    ("asked", "status"), [("proportionate", "retracted"), ("strict", "deleted"), ("?", "retracted")]
)
def test_what_was_confirmed_goes(account: Account, client: Client, ada: Subject, asked: str, status: str) -> None:
    bob = SubjectFactory(account=account)
    told = FactFactory(subject=bob, event=say(ada, "Bob collects stamps, I think."))
    sign_in(client, person_in(account))
    answer = client.post(_address(ada), {"key": "ada", "erasure": asked})
    assert answer.status_code == 302
    assert [str(message) for message in get_messages(answer.wsgi_request)] == [
        "Erased for good. No word of it was found anywhere."
    ]
    assert Fact.objects.get(pk=told.pk).status == status
    assert set(Event.objects.values_list("text", flat=True)) == {""}
    assert client.get(answer["Location"]).status_code == 200


def test_who_may_not_erase_there_is_told_so(account: Account, client: Client, ada: Subject) -> None:
    for path in ("/sales", "/support"):
        FactFactory(subject=ada, scope=ScopeFactory(account=account, path=path))
    sign_in(client, person_in(account, path="/support"))
    for answer in (client.get(_address(ada)), client.post(_address(ada), {"key": "ada"})):
        assert (answer.status_code, "You may not decide here." in _text(answer)) == (403, True)
        assert "Erase for good" not in _text(answer)
    assert set(Fact.objects.values_list("status", flat=True)) == {"active"}


def test_others_see_no_such_page(account: Account, client: Client, ada: Subject) -> None:
    stranger = AccountFactory()
    with entered(stranger):
        theirs = SubjectFactory(account=stranger)
    sign_in(client, person_in(account))
    assert client.get(_address(theirs)).status_code == 404
    sign_in(client, person_in(account, role=Role.MEMBER))
    assert client.post(_address(ada), {"key": "ada"}).status_code == 404
    assert Fact.objects.get().status == "active"
