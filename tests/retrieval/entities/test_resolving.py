"""Which names stand for one entity, and that nothing but a yes joins more."""

from __future__ import annotations

import uuid

from facts.models import Account, Subject
from retrieval.entities import known, rebuilding, resolving
from retrieval.entities.known import KnownNames
from retrieval.models import AliasPair, EntityAlias, PairState
from tests.factories import FactFactory, IdentityFactory, SubjectFactory
from tests.retrieval.entities.conftest import entities

ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)


def _known(*claims: tuple[uuid.UUID, str]) -> KnownNames:
    made = KnownNames()
    for subject_id, name in claims:
        made.add(subject_id, name)
    return made


def test_equal_names_are_one_and_others_are_not() -> None:
    assert resolving.groups(["dana", "dana r", "dana"], known=_known(), same={}) == [["dana"], ["dana r"]]


def test_a_subjects_own_names_are_one() -> None:
    names = _known((ONE, "Dana"), (ONE, "dana@x.io"), (TWO, "Bruno"))
    assert resolving.groups(["dana x io", "bruno"], known=names, same={}) == [["bruno"], ["dana", "dana x io"]]


def test_a_name_of_two_subjects_is_neither_of_them() -> None:
    names = _known((ONE, "Dana"), (ONE, "dana-1"), (TWO, "Dana"), (TWO, "dana-2"))
    assert resolving.groups(["dana", "dana 1", "dana 2"], known=names, same={}) == [["dana"], ["dana 1"], ["dana 2"]]


def test_confirmed_pairs_join_across() -> None:
    names = _known((ONE, "Dana"), (ONE, "d@x.io"))
    same = {"dana": {"copy lead"}, "copy lead": {"dana", "the lead"}, "the lead": {"copy lead"}}
    assert resolving.groups(["the lead"], known=names, same=same) == [["copy lead", "d x io", "dana", "the lead"]]


def test_names_of_subjects_leave_out_what_names_nothing(account: Account) -> None:
    SubjectFactory(account=account, key="0192f0c4-1b7a-7c3e-8b1a-5d2f8a6c9e10", name="Dana Reis")
    SubjectFactory(account=account, key="42", name="support")
    SubjectFactory(account=account, key="/docs", name="The Docs", kind="url")
    dana = Subject.objects.get(name="Dana Reis")
    IdentityFactory(subject=dana, platform="email", value="dana@x.io")
    assert set(known.load(account.id).subjects_by_name) == {"dana reis", "dana x io"}


def test_entities_follow_their_subjects(account: Account) -> None:
    dana = SubjectFactory(account=account, key="dana", name="Dana")
    FactFactory(subject=dana, statement="Dana likes tea.")
    FactFactory(subject=SubjectFactory(account=account, key="bo"), statement="Met Reis.")
    rebuilding.keep(account.id)
    assert entities(account) == [["bo"], ["dana"], ["reis"]]
    IdentityFactory(subject=dana, value="Reis")
    rebuilding.forget()
    rebuilding.keep(account.id)
    assert entities(account) == [["bo"], ["dana", "reis"]]
    dana.identities.all().delete()
    rebuilding.forget()
    rebuilding.keep(account.id)
    assert entities(account) == [["bo"], ["dana"], ["reis"]]
    assert not EntityAlias.objects.get(folded="reis").claimed


def test_a_confirmed_pair_joins_names_of_facts_that_come_later(account: Account) -> None:
    ana = SubjectFactory(account=account, key="ana")
    AliasPair.objects.create(account=account, first="atlas", second="helios", state=PairState.SAME)
    FactFactory(subject=ana, statement="The Atlas launch slips")
    FactFactory(subject=ana, statement="We shipped Helios")
    rebuilding.keep(account.id)
    assert entities(account) == [["ana"], ["atlas", "helios"]]
