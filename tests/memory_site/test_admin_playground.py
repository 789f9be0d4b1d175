"""The playground: what somebody else would be told, who may look, and what stays hidden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from facts.models import Account, AuditEntry, Subject
from facts.vocabulary import Level, Sensitivity
from governance.access import Principal
from governance.models import Role
from retrieval import places
from retrieval.models import Trace, TraceKind
from tests.admin_scene import sign_in
from tests.factories import FactFactory, GrantFactory, SubjectFactory, maker_of, person_in

PAGE = reverse("admin:playground")
FORM = {"call": "context", "query": "What does Ana drink?", "scope": "/support", "read_as": "self"}


@pytest.fixture(autouse=True)
def _searches_in_this_transaction(settings: Any) -> Iterator[None]:
    settings.SEARCH_THREADS = 0
    places.forget()
    yield
    places.forget()


@pytest.fixture
def ana(account: Account) -> Subject:
    """Somebody of whom an internal, a personal and a restricted fact is known."""
    ana = SubjectFactory(account=account, key="ana", name="Ana Lima")
    FactFactory(subject=ana, statement="Ana drinks tea.", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    FactFactory(subject=ana, statement="Ana drinks wine.", level=Level.PEER, sensitivity=Sensitivity.PERSONAL)
    FactFactory(subject=ana, statement="Ana drinks syrup.", level=Level.PEER, sensitivity=Sensitivity.RESTRICTED)
    return ana


@pytest.fixture
def curator(account: Account, client: Client) -> Principal:
    """Somebody who decides everywhere, without a grant of what is restricted, signed in."""
    who = person_in(account)
    sign_in(client, who)
    return who


def _try(client: Client, **form: Any) -> HttpResponse:
    return client.post(PAGE, {**FORM, **form})


def _told(response: HttpResponse) -> set[str]:
    return {item.text for item in response.context["tried"].items}


@pytest.mark.parametrize(("call", "hidden"), [("context", 2), ("search", 1), ("ask", 1)])
def test_a_peer_is_told_what_is_theirs_and_the_curator_sees_what_is_not_restricted(
    curator: Principal, ana: Subject, client: Client, call: str, hidden: int
) -> None:
    response = _try(client, call=call, read_as="peer", peer="ana")
    assert _told(response) == {"Ana drinks tea.", "Ana drinks wine."}
    assert response.context["tried"].hidden == hidden
    page = response.content.decode()
    assert "syrup" not in page
    assert f"{hidden} more would be told to this reader" in page


def test_an_answer_that_rests_on_something_hidden_is_not_shown(
    curator: Principal, ana: Subject, client: Client
) -> None:
    page = _try(client, call="ask", read_as="peer", peer="ana").content.decode()
    assert "The answer rests on something that you may not read" in page
    assert "It holds something that you may not read." in page


def test_who_was_granted_restricted_facts_sees_them_with_answer_and_prompt(
    account: Account, ana: Subject, client: Client
) -> None:
    sign_in(client, person_in(account, restricted=True))
    response = _try(client, call="ask", read_as="peer", peer="ana")
    assert "Ana drinks syrup." in _told(response)
    assert response.context["tried"].hidden == 0
    assert "syrup" in response.context["tried"].answer
    assert '"statement": "Ana drinks syrup."' in response.context["tried"].prompt


def test_reading_as_another_is_put_down_and_reading_as_oneself_is_not(
    curator: Principal, ana: Subject, client: Client
) -> None:
    _try(client)
    assert not AuditEntry.objects.filter(action="read.inspected").exists()
    _try(client, read_as="peer", peer="ana")
    entry = AuditEntry.objects.get(action="read.inspected")
    trace = Trace.objects.get(reader=ana)
    assert (entry.object_type, entry.object_id) == ("subject", str(ana.pk))
    assert entry.actor["membership_id"] == str(curator.membership_id)
    assert entry.metadata == {"call": "context", "trace": str(trace.pk)}
    assert trace.kind == TraceKind.PREVIEW


def test_the_prompt_is_that_of_the_packet_as_far_as_it_is_shown(
    curator: Principal, ana: Subject, client: Client
) -> None:
    prompt = _try(client, read_as="peer", peer="ana").context["tried"].prompt
    assert "- Ana drinks tea." in prompt
    assert "wine" in prompt
    assert "syrup" not in prompt


def test_nobody_is_told_what_is_public(curator: Principal, ana: Subject, client: Client) -> None:
    FactFactory(subject=ana, statement="Ana drinks water.", level=Level.SCOPE, sensitivity=Sensitivity.PUBLIC)
    assert _told(_try(client, read_as="public")) == {"Ana drinks water."}


def test_a_member_reads_where_it_was_granted_to_them(account: Account, curator: Principal, client: Client) -> None:
    member = maker_of(person_in(account, path="/sales", role=Role.READER)).subject
    FactFactory(subject=member, statement="The member drinks tea.", level=Level.SCOPE, sensitivity="internal")
    assert _told(_try(client, query="tea", read_as="peer", peer=member.key)) == set()
    GrantFactory(subject=member, role=Role.READER, scope=member.facts.get().scope)
    places.forget()
    assert _told(_try(client, query="tea", read_as="peer", peer=member.key)) == {"The member drinks tea."}


@pytest.mark.parametrize(
    ("grant", "form", "said"),
    [
        ({"role": Role.READER}, {}, "Only who decides in a scope may read there as somebody else."),
        ({"path": "/sales"}, {}, "There is no such scope, or none that you may read."),
        ({}, {"peer": "nobody-at-all"}, "You know no person or agent of that key."),
        ({}, {"peer": ""}, "You know no person or agent of that key."),
        ({}, {"scope": "/nowhere"}, "There is no such scope, or none that you may read."),
        ({}, {"as_of": "yesterday"}, "This is no ISO 8601 date and time."),
        ({}, {"profile": "fast"}, "A context call has one profile"),
        ({}, {"call": "ask", "budget": "51"}, "At most 50."),
        ({}, {"call": "search", "query": " "}, "Type a question."),
    ],
)
def test_what_is_refused_is_said_and_leaves_nothing(
    account: Account, ana: Subject, client: Client, grant: dict[str, Any], form: dict[str, str], said: str
) -> None:
    sign_in(client, person_in(account, **grant))
    response = _try(client, **{"read_as": "peer", "peer": "ana", **form})
    assert said in response.content.decode()
    assert response.context["tried"] is None
    assert not Trace.objects.exists()
    assert not AuditEntry.objects.filter(action="read.inspected").exists()


def test_a_curator_elsewhere_knows_no_peer_of_here(account: Account, ana: Subject, client: Client) -> None:
    sign_in(client, person_in(account, path="/sales"))
    page = _try(client, scope="/sales", read_as="peer", peer="ana").content.decode()
    assert "You know no person or agent of that key." in page


def test_a_question_is_kept_for_looks_at_profiles_by_administrators(
    account: Account, ana: Subject, client: Client
) -> None:
    sign_in(client, person_in(account))
    assert "Keep as stored query" not in _try(client).content.decode()
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    assert "Keep as stored query" in _try(client).content.decode()


def test_a_link_fills_the_form_in(curator: Principal, client: Client) -> None:
    page = client.get(PAGE, {"query": "Tea?", "scope": "/support"}).content.decode()
    assert "Tea?" in page
    assert 'value="/support"' in page
