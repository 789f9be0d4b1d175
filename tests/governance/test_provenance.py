"""Who put a fact in."""

from __future__ import annotations

from facts import lifecycle
from facts.actors import pipeline
from facts.vocabulary import Status
from governance.access import Delegation, require_authority
from governance.provenance import put_in_by
from tests.factories import FactFactory, SubjectFactory, key_principal, maker_of, person_in, submitted_fact


def test_who_wrote_the_first_revision_put_it_in(account):
    me, you = person_in(account), person_in(account)
    fact = FactFactory(subject=SubjectFactory(account=account), actor=me.actor)
    assert put_in_by(account.id, [fact.id], me.actor)
    assert not put_in_by(account.id, [fact.id], you.actor)
    lifecycle.transition(fact.id, account_id=account.id, to=Status.DISPUTED, actor=you.actor, action="x")
    assert not put_in_by(account.id, [fact.id], you.actor)


def test_through_a_key_it_is_the_same_person(account):
    me = person_in(account)
    key = key_principal(account, delegated=[Delegation.RESOLVE], maker=maker_of(me))
    through_key = require_authority(key, Delegation.RESOLVE, path="/")
    fact = FactFactory(subject=SubjectFactory(account=account), actor=through_key)
    assert put_in_by(account.id, [fact.id], me.actor)
    assert put_in_by(account.id, [fact.id], through_key)
    assert not put_in_by(account.id, [fact.id], key.actor)


def test_what_somebody_said_is_put_in_by_the_pipeline(account):
    me = person_in(account)
    fact = submitted_fact(maker_of(me).subject, {"city": "Lyon"})
    assert not put_in_by(account.id, [fact.id], me.actor)
    assert not put_in_by(account.id, [fact.id], pipeline())
    assert not put_in_by(account.id, [], me.actor)
