"""Names that look alike: proposed to people, joined by their yes only, and never shown beyond what they may read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from facts import embedding, embedding_usage
from facts.actors import pipeline
from facts.embedding import EmbedderIdentity
from facts.embedding_usage import Usage
from facts.errors import Conflicting, NotFound, Refused
from facts.models import Account, AuditEntry, Scope
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity
from governance.access import Principal
from governance.models import Role
from retrieval.entities import pairs, proposing, rebuilding
from retrieval.models import AliasPair, EntityAlias, PairState
from tests.factories import FactFactory, SubjectFactory, entered, key_principal, person_in, unknown_id
from tests.retrieval.entities.conftest import entities

SHARED = {"level": Level.SCOPE, "sensitivity": Sensitivity.INTERNAL}


class ByFirstLetter:
    """Names are as near as their first letters."""

    identity = EmbedderIdentity(provider="test", model="letters", version="1", dimensions=384, recipe="first")
    bounded = True

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.full((len(texts), 384), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, ord(text[0]) % 384] = 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def _letters(embedder: object) -> None:
    embedding.register(ByFirstLetter())


@pytest.fixture
def curator(account: Account) -> Principal:
    return person_in(account)


@pytest.fixture
def proposed(account: Account) -> AliasPair:
    """Three names in facts that the whole scope may see; two of them look alike."""
    topic = SubjectFactory(account=account, key="launches", kind="topic")
    for statement in ("We ship Atlas soon", "We ship ATLASSIAN soon", "We ship Helios soon"):
        FactFactory(subject=topic, statement=statement, **SHARED)
    rebuilding.keep(account.id)
    proposing.propose(account.id)
    return AliasPair.objects.get()


def test_look_alikes_are_proposed_and_not_joined(account: Account, proposed: AliasPair) -> None:
    assert (proposed.first, proposed.second, proposed.state) == ("atlas", "atlassian", PairState.PROPOSED)
    assert proposed.similarity == pytest.approx(1, abs=1e-3)
    assert entities(account) == [["atlas"], ["atlassian"], ["helios"], ["launches"]]
    assert proposing.propose(account.id) == 0
    assert AliasPair.objects.count() == 1


def test_below_the_least_similarity_nothing_is_proposed(
    account: Account, proposed: AliasPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposing, "LEAST_SIMILARITY", 1.1)
    proposing.propose_afresh(account.id)
    assert not AliasPair.objects.exists()


def test_without_an_embedder_nothing_is_proposed(account: Account) -> None:
    embedding.register(None)
    FactFactory(subject=SubjectFactory(account=account), statement="We ship Atlas and Atlantis")
    rebuilding.keep(account.id)
    assert proposing.propose(account.id) == 0


def test_names_are_compared_in_bounds_and_the_next_run_goes_on(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposing, "PER_RUN", 2)
    topic = SubjectFactory(account=account, key="x-files", kind="topic")
    FactFactory(subject=topic, statement="We ship Atlas, Atlantis, Bolero and Boston", **SHARED)
    rebuilding.keep(account.id)
    assert [proposing.propose(account.id) for _ in range(4)] == [2, 2, 1, 0]
    assert {(pair.first, pair.second) for pair in AliasPair.objects.all()} == {
        ("atlantis", "atlas"),
        ("bolero", "boston"),
    }


def test_a_yes_joins_and_undoing_parts(account: Account, curator: Principal, proposed: AliasPair) -> None:
    pair = pairs.decide(curator, proposed.id, same=True)
    assert (pair.state, pair.decided_by) == (PairState.SAME, curator.name)
    assert pair.decided_at is not None
    assert entities(account) == [["atlas", "atlassian"], ["helios"], ["launches"]]
    pair = pairs.undo(curator, proposed.id)
    assert (pair.state, pair.decided_by, pair.decided_at) == (PairState.PROPOSED, "", None)
    assert entities(account) == [["atlas"], ["atlassian"], ["helios"], ["launches"]]
    recorded = AuditEntry.objects.filter(object_id=str(proposed.id)).order_by("seq")
    assert [entry.action for entry in recorded] == ["entity_pair.same", "entity_pair.proposed"]
    assert all(entry.metadata == {} for entry in recorded)


def test_what_is_not_decided_cannot_be_undone(curator: Principal, proposed: AliasPair) -> None:
    with pytest.raises(Conflicting) as refused:
        pairs.undo(curator, proposed.id)
    assert refused.value.code == "nothing_to_undo"


def test_a_no_is_never_proposed_again(account: Account, curator: Principal, proposed: AliasPair) -> None:
    pairs.decide(curator, proposed.id, same=False)
    proposing.propose_afresh(account.id)
    assert AliasPair.objects.get().state == PairState.DIFFERENT
    assert pairs.list_pairs(curator) == []


def test_decisions_are_kept_over_rebuilds(account: Account, curator: Principal, proposed: AliasPair) -> None:
    pairs.decide(curator, proposed.id, same=True)
    scope = Scope.objects.get(account=account, path="/support")
    rebuilding.rebuild_scope(account.id, scope.id)
    proposing.propose_afresh(account.id)
    assert AliasPair.objects.get().decided_by == curator.name
    assert ["atlas", "atlassian"] in entities(account)


def test_a_decision_is_made_once(curator: Principal, proposed: AliasPair) -> None:
    pairs.decide(curator, proposed.id, same=True)
    with pytest.raises(Conflicting) as refused:
        pairs.decide(curator, proposed.id, same=False)
    assert refused.value.code == "pair_decided"
    with pytest.raises(NotFound):
        pairs.decide(curator, unknown_id(), same=True)


def test_decisions_that_contradict_each_other_are_refused(
    account: Account, curator: Principal, proposed: AliasPair
) -> None:
    pairs.decide(curator, proposed.id, same=True)
    pairs.confirm(account.id, _pair(account, "atlassian", "helios").id, same=True, actor=pipeline())
    with pytest.raises(Conflicting) as refused:
        pairs.confirm(account.id, _pair(account, "atlas", "helios").id, same=False, actor=pipeline())
    assert refused.value.code == "pair_contradicts"


def _pair(account: Account, first: str, second: str) -> AliasPair:
    return AliasPair.objects.create(account=account, first=first, second=second)


def test_reviewers_see_how_facts_they_may_read_write_the_names(curator: Principal, proposed: AliasPair) -> None:
    assert pairs.list_pairs(curator) == [(proposed.id, "Atlas", "ATLASSIAN", proposed.similarity, PairState.PROPOSED)]


def test_a_pair_of_which_the_reviewer_may_not_read_a_name_is_not_there(account: Account, curator: Principal) -> None:
    ana = SubjectFactory(account=account, key="ana")
    FactFactory(subject=ana, statement="Met Bruno there")
    FactFactory(subject=ana, statement="Met Bianca there", sensitivity=Sensitivity.PUBLIC)
    rebuilding.keep(account.id)
    proposing.propose(account.id)
    pair = AliasPair.objects.get(first="bianca")
    assert pairs.list_pairs(curator) == []
    with pytest.raises(NotFound):
        pairs.decide(curator, pair.id, same=True)


@pytest.mark.parametrize("who", ["member", "curator elsewhere", "key", "another account"])
def test_others_decide_nothing(account: Account, proposed: AliasPair, who: str) -> None:
    ensure_scope(account.id, "/support")
    if who == "another account":
        from tests.factories import AccountFactory

        other = AccountFactory()
        with entered(other):
            stranger = person_in(other)
        with entered(other), pytest.raises(NotFound):
            pairs.decide(stranger, proposed.id, same=True)
        return
    principal = {
        "member": lambda: person_in(account, role=Role.MEMBER),
        "curator elsewhere": lambda: person_in(account, path="/support"),
        "key": lambda: key_principal(account),
    }[who]()
    for attempt in (
        lambda: pairs.list_pairs(principal),
        lambda: pairs.decide(principal, proposed.id, same=True),
        lambda: pairs.undo(principal, proposed.id),
    ):
        with pytest.raises(Refused):
            attempt()
    assert AliasPair.objects.get().state == PairState.PROPOSED


def test_a_new_embedder_compares_everything_anew(account: Account, proposed: AliasPair) -> None:
    made = ByFirstLetter()
    made.identity = EmbedderIdentity(provider="test", model="letters", version="2", dimensions=384, recipe="first")
    embedding.register(made)
    embedding.serve(embedding.space(made.identity))
    assert proposing.propose(account.id) == 4
    assert set(EntityAlias.objects.values_list("space__version", flat=True)) == {"2"}


class Charging(ByFirstLetter):
    """Tells what its calls cost, as remote embedders do."""

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        usage = Usage(provider="test", model="letters", list_prices=False, tokens=len(texts), latency_ms=1)
        embedding_usage.note(usage)
        return super().embed_documents(texts)


def test_comparing_names_is_booked_on_their_account(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    booked: list[object] = []
    monkeypatch.setattr(embedding_usage, "_book", lambda account_id, usage: booked.append(account_id))
    embedding.register(Charging())
    topic = SubjectFactory(account=account, key="launches", kind="topic")
    FactFactory(subject=topic, statement="We ship Atlas soon", **SHARED)
    rebuilding.keep(account.id)
    proposing.propose(account.id)
    assert booked == [account.id]
