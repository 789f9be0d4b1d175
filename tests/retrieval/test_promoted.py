"""What promotion shows to others, and what withdrawal takes from them in the same moment: reads, search and cards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from facts import outbox
from facts.models import Fact
from governance import access
from governance.access import Principal
from governance.models import Consent, Role
from governance.sharing import consents, promotions
from retrieval.cards import rebuilding
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.models import Card
from retrieval.search.request import SearchRequest
from retrieval.search.searching import search
from tests.factories import GrantFactory, maker_of
from tests.governance.sharing_scene import Scene, scene_in
from tests.retrieval.conftest import index_vectors, reasons, statements


@pytest.fixture
def scene(account) -> Scene:
    return scene_in(account)


@pytest.fixture
def read(scene) -> Callable[..., ContextAnswer]:
    """Ask about mornings, in a scope with those above it."""

    def asked(who: Principal, scope: str = "/support", query: str = "mornings") -> ContextAnswer:
        index_vectors(scene.account)
        subject = scene.subject.key
        return assemble(
            principal=who,
            request=ContextRequest(
                query=query, scope_path=scope, exact=False, subject_key=subject, purpose="test", with_profile=not query
            ),
        )

    return asked


def found(scene: Scene, who: Principal) -> list[str]:
    """Return what a search in the target finds."""
    index_vectors(scene.account)
    request = SearchRequest(query="mornings", scope_path="/support", exact=False, purpose="test")
    return [item.content.statement for item in search(principal=who, request=request).results if item.unit == "fact"]


def promoted(scene: Scene, **fields: str) -> Fact:
    """Return the copy of a fact about Ada, agreed to and approved."""
    fact = scene.fact(**fields)
    promotion = scene.request(fact)
    consents.grant(scene.ada, scene.consent(fact).id)
    return promotions.approve(scene.decider, promotion.id).copy


def test_others_read_the_copy_until_the_subject_withdraws(scene, read):
    assert (statements(read(scene.other)), found(scene, scene.other)) == ([], [])
    copy = promoted(scene)
    assert (statements(read(scene.other)), found(scene, scene.other)) == ([copy.statement], [copy.statement])
    consents.refuse(scene.ada, scene.consent(Fact.objects.exclude(pk=copy.pk).get()).id)
    answer = read(scene.other)
    assert (statements(answer), answer.packet.passages, found(scene, scene.other)) == ([], [], [])


def test_the_messages_behind_a_copy_stay_where_they_were(scene, read):
    promoted(scene)
    assert read(scene.other).packet.passages == []


def test_whoever_sees_both_reads_it_once(scene, read):
    copy = promoted(scene)
    GrantFactory(subject=scene.subject, role=Role.READER, scope=scene.support)
    answer = read(access.person(maker_of(scene.ada)), "/support/emea")
    assert statements(answer) == [copy.statement]
    told = reasons(answer)
    assert sorted(told[str(fact.id)] for fact in Fact.objects.all()) == ["duplicate_of_served", "top_score"]


def test_cards_lose_the_line_at_once_and_are_built_without_it(scene, read):
    promoted(scene, statement="Ada dislikes noise.")
    copy = promoted(scene)
    outbox.deliver(scene.account.id)
    rebuilding.rebuild_due(scene.account.id)
    holding = Card.objects.filter(lines__contains=[{"facts": [str(copy.id)]}])
    assert holding.exists()
    before = read(scene.other, query="")
    assert copy.statement in str([card.lines for card in before.packet.cards]) + str(statements(before))
    consents.refuse(scene.ada, Consent.objects.get(fact__statement=copy.statement).id)
    after = read(scene.other, query="")
    assert copy.statement not in str([card.lines for card in after.packet.cards]) + str(statements(after))
    outbox.deliver(scene.account.id)
    rebuilding.rebuild_due(scene.account.id)
    assert not holding.exists()
