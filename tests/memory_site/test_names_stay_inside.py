"""The index of names leaves through no surface: a name that is nowhere but there is in no answer and on no page."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.db import models
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from facts import embedding, outbox
from facts.models import Account, Fact
from facts.vocabulary import Level, Sensitivity
from governance.access import Right
from governance.models import Role
from memory_site.api.urls import urlpatterns
from retrieval.cards import rebuilding as card_rebuilding
from retrieval.embedders import registry
from retrieval.entities import rebuilding
from retrieval.models import AliasPair, Card, CardKind, Entity, EntityAlias, Mention, PairState, Trace
from tests.admin_scene import sign_in
from tests.api import Caller, caller_with_key
from tests.factories import FactFactory, SubjectFactory, person_in

#: In no fact, message or request: only an alias of the entity that everything here is about.
PLANTED = "zanzibarquux"
QUESTION = {"project_id": "support", "query": "Who ships Atlas?", "purpose": "test"}
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/search", {**QUESTION, "profile": "thorough", "include_identity_profile": True}),
    ("/v1/search", QUESTION),
    ("/v1/context", QUESTION),
    ("/v1/context", {**QUESTION, "query": ""}),
    ("/v1/context", {**QUESTION, "render": "text"}),
    ("/v1/ask", QUESTION),
    ("/v1/stable-profile", {"project_id": "support", "subject_id": "reader"}),
]


@pytest.fixture
def without_vectors() -> Iterator[None]:
    """No embedder: loading one takes longer than a search may."""
    embedding.register(None)
    yield
    registry.register()


@pytest.fixture
def planted(account: Account, without_vectors: None, settings: Any) -> Account:
    """An account whose facts share an entity, with a card about it, and with a name for it that nobody has said."""
    settings.SEARCH_THREADS = 0
    rebuilding.forget()
    topic = SubjectFactory(account=account, key="launches", kind="topic")
    SubjectFactory(account=account, key="reader")
    for statement in ("We ship Atlas soon", "Bruno ships Atlas", "They sell Atlas in Lyon"):
        FactFactory(subject=topic, statement=statement, level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    rebuilding.keep(account.id)
    atlas = EntityAlias.objects.get(folded="atlas")
    alias = EntityAlias.objects.create(account=account, entity_id=atlas.entity_id, folded=PLANTED)
    # What it finds is found through it as well.
    for mention in Mention.objects.filter(alias=atlas):
        fields = {"fact_id": mention.fact_id, "scope_id": mention.scope_id}
        Mention.objects.create(account=account, alias=alias, surface="", **fields)
    AliasPair.objects.create(account=account, first="atlas", second=PLANTED, state=PairState.SAME)
    outbox.deliver(account.id)
    card_rebuilding.rebuild_due(account.id)
    return account


def _secrets() -> list[bytes]:
    """Return what may be seen nowhere: the planted name, and the ids of entities and aliases."""
    ids = [
        identifier
        for model in (Entity, EntityAlias, Mention, AliasPair)
        for identifier in model.objects.values_list("id", flat=True)
    ]
    return [PLANTED.encode(), *(str(identifier).encode() for identifier in ids)]


def _routes(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns)
        elif str(pattern.pattern) not in {"schema", "docs", "^.*$"}:
            yield pattern


def _addresses(known: dict[str, uuid.UUID]) -> Iterator[str]:
    """Return the address of everything that the API lets one GET, with ids of things that are there."""
    for pattern in _routes(urlpatterns):
        if hasattr(pattern.callback.view_class, "get"):
            address = str(pattern.pattern)
            for name in pattern.pattern.converters:
                address = address.replace(f"<uuid:{name}>", str(known.get(name, uuid.UUID(int=1))))
            yield f"/v1/{address}"


def test_no_answer_of_the_api_holds_it(planted: Account) -> None:
    caller = caller_with_key(planted, rights=[*Right], peer=SubjectFactory(account=planted, key="app", kind="agent"))
    secrets = _secrets()
    answers = [_asked(caller, path, body) for path, body in SEARCHES]
    assert b"They sell Atlas in Lyon" in answers[0]
    assert b"entity_match" in answers[0]
    assert b"relation_expand" in answers[0]
    known = {
        "fact_id": Fact.objects.values_list("id", flat=True)[0],
        "trace_id": Trace.objects.filter(kind="search").values_list("id", flat=True)[0],
        "event_id": Fact.objects.get(statement__startswith="Bruno").evidence.get().event_id,
    }
    answers.append(
        caller.post("/v1/lineage", {**QUESTION, "target_type": "fact", "target_id": known["fact_id"]}).content
    )
    answers.append(caller.post(f"/v1/traces/{known['trace_id']}/replay", {}).content)
    found = {address: caller.get(address, project_id="support") for address in _addresses(known)}
    assert sum(answer.status_code == 200 for answer in found.values()) >= 8
    answers += [answer.content for answer in found.values()]
    for answer in answers:
        assert not [secret for secret in secrets if secret in answer]


def _asked(caller: Caller, path: str, body: dict[str, Any]) -> bytes:
    answer = caller.post(path, body)
    assert answer.status_code == 200, answer.content
    return answer.content


def test_no_page_of_the_admin_holds_it(planted: Account, client: Client) -> None:
    caller = caller_with_key(planted)
    for path, body in SEARCHES[:4]:
        _asked(caller, path, body)
    sign_in(client, person_in(planted, role=Role.ACCOUNT_ADMIN))
    secrets = _secrets()
    pages = [client.get(reverse("admin:index")).content]
    pages += [client.get(reverse("admin:name_pairs"), {"state": state}).content for state in PairState.values]
    for model in admin.site._registry:
        pages += _pages(client, model)
    assert len(pages) > 20
    for page in pages:
        assert not [secret for secret in secrets if secret in page]


def _pages(client: Client, model: type[models.Model]) -> Iterator[bytes]:
    """Return the list of a model's objects and the pages of the first few."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield client.get(reverse(f"{name}_changelist")).content
    for identifier in model._default_manager.values_list("pk", flat=True)[:5]:
        answer = client.get(reverse(f"{name}_change", args=[identifier]))
        if answer.status_code == 200:
            yield answer.content


def test_no_page_is_about_the_index_itself() -> None:
    assert {Entity, EntityAlias, Mention, AliasPair}.isdisjoint(admin.site._registry)


def test_cards_call_an_entity_as_their_own_facts_do(planted: Account) -> None:
    titles = set(Card.objects.filter(kind=CardKind.ENTITY_CARD).values_list("title", flat=True))
    assert "Atlas" in titles
    assert not [title for title in titles if PLANTED in title.lower()]
