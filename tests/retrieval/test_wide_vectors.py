"""Vectors of other widths: found by the index of their own table, inside the account, in the right order."""

from __future__ import annotations

import pytest
from django.db import connection

from facts import embedding, tenancy
from facts.audience import Posture, Reader
from facts.clock import now
from facts.models import IndexedUnit
from facts.tenancy import account_transaction
from retrieval import candidates
from retrieval.candidates import Question
from retrieval.embedders import registry
from retrieval.visibility import Visibility
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.conftest import index_vectors
from tests.retrieval.test_candidates import Sent, _scans
from tests.retrieval.test_reembedding import OtherEmbedder

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("dimensions", [768, 1024, 1536])
def test_a_wide_vector_is_found_by_its_scope(dimensions: int) -> None:
    embedding.register(OtherEmbedder(dimensions=dimensions))
    visibles = []
    for key in ("first", "second"):
        account = tenancy.create_account(key=key, name=key)
        with account_transaction(account.id):
            ana = SubjectFactory(account=account, key="ana")
            facts = [FactFactory(subject=ana, statement=f"Ana likes {thing}.") for thing in ("tea", "chess", "rowing")]
            index_vectors(account)
        visibles.append(
            Visibility(
                account_id=account.id,
                scope_ids=(facts[0].scope_id,),
                subject_id=ana.id,
                reader=Reader(posture=Posture.PEER, subject_id=ana.id),
                at=now(),
                now=now(),
            )
        )
    asked = registry.embed_query(account_id=account.id, text="chess", seconds=10)
    with account_transaction(account.id, local={"enable_seqscan": "off"}):
        question = Question(vector=candidates.vector_literal(asked.numbers), space=embedding.space(asked.identity))
        sent = Sent()
        with connection.execute_wrapper(sent):
            found = candidates.nearest(IndexedUnit.FACT, question, visibles[1], limit=2)
        assert {name for _, name in _scans(sent.plans()[0])} == {f"fact_vector_{dimensions}"}
        assert (len(found), found[0]) == (2, facts[1].id)
        best, *_ = candidates.fetch_facts([facts[1].id], question, visibles[1], current=True)
        assert best.similarity == pytest.approx(1 / 3**0.5, abs=0.02)
        assert candidates.nearest(IndexedUnit.FACT, question, visibles[0], limit=2) == []
