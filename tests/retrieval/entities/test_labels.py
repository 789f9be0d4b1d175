"""How a card may call an entity: as the facts of its own scope do."""

from __future__ import annotations

import uuid

import pytest

from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import Account, Subject
from facts.models.evidence import Withheld
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity, Status
from retrieval.entities import labels, rebuilding, resolving
from retrieval.models import AliasPair, PairState
from retrieval.visibility import Visibility
from tests.factories import FactFactory, SubjectFactory

SHARED = {"level": Level.SCOPE, "sensitivity": Sensitivity.INTERNAL}


@pytest.fixture
def topic(account: Account) -> Subject:
    return SubjectFactory(account=account, key="launches", name="Launches", kind="topic")


def _shared(account: Account, path: str = "/support") -> Visibility:
    instant = now()
    return Visibility(
        account_id=account.id,
        scope_ids=(ensure_scope(account.id, path).id,),
        subject_id=None,
        reader=Reader(posture=Posture.PEER, subject_id=uuid.UUID(int=0)),
        at=instant,
        now=instant,
    )


def _labelled(account: Account, path: str = "/support") -> list[tuple[str, int]]:
    rebuilding.keep(account.id)
    return [(label, len(ids)) for label, ids in labels.most_mentioned(_shared(account, path))]


def test_the_most_named_come_first_by_their_commonest_wording(account: Account, topic: Subject) -> None:
    for statement in ("We ship ATLAS now", "We ship Atlas soon", "We sell Atlas", "We ship Helios", "We ship Aether"):
        FactFactory(subject=topic, statement=statement, **SHARED)
    assert _labelled(account) == [("Atlas", 3), ("Aether", 1), ("Helios", 1)]
    assert [label for label, _ in labels.most_mentioned(_shared(account), limit=1)] == ["Atlas"]


def test_equally_common_wordings_go_by_length_then_alphabet(account: Account, topic: Subject) -> None:
    for statement in ("We ship Jean Paul", "We ship Jean-Paul", "We ship Zoë", "We ship ZOE"):
        FactFactory(subject=topic, statement=statement, **SHARED)
    assert _labelled(account) == [("ZOE", 2), ("Jean Paul", 2)]


def test_only_what_everybody_sees_counts(account: Account, topic: Subject) -> None:
    ana = SubjectFactory(account=account, key="ana")
    FactFactory(subject=ana, statement="Met Bruno there")
    FactFactory(subject=topic, statement="We ship Secret", level=Level.SCOPE, sensitivity=Sensitivity.RESTRICTED)
    FactFactory(subject=topic, statement="We ship Waiting", status=Status.PROVISIONAL, **SHARED)
    contested = FactFactory(subject=topic, statement="We ship Contested", **SHARED)
    type(contested).objects.filter(pk=contested.pk).update(withheld=Withheld.CONFLICT)
    FactFactory(subject=topic, statement="We ship Atlas", **SHARED)
    assert _labelled(account) == [("Atlas", 1)]


def test_a_name_from_another_scope_is_never_the_label(account: Account, topic: Subject) -> None:
    sales = ensure_scope(account.id, "/sales")
    AliasPair.objects.create(account=account, first="atlas", second="blue acquisition", state=PairState.SAME)
    FactFactory(subject=topic, statement="We ship Atlas", **SHARED)
    for number in range(3):
        FactFactory(subject=topic, statement=f"We buy Blue Acquisition {number}", scope=sales, **SHARED)
    assert _labelled(account) == [("Atlas", 1)]
    assert _labelled(account, "/sales")[0] == ("Blue Acquisition", 3)
    assert resolving.confirmed(account.id)["atlas"] == {"blue acquisition"}


def test_a_fact_about_an_entity_that_does_not_name_it_gives_no_label(account: Account, topic: Subject) -> None:
    FactFactory(subject=topic, statement="They are late", **SHARED)
    assert _labelled(account) == []
