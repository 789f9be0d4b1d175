"""Reading names into the index: as facts come, and a scope anew; twice, late, in another order, at once."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import connection

from facts import lifecycle, tenancy
from facts.actors import pipeline
from facts.models import Account, Scope, Subject
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from retrieval import tasks
from retrieval.entities import names, pruning, rebuilding
from retrieval.models import AliasPair, Card, CardKind, Entity, EntityAlias, Mention, NamesRead, PairState
from tests.factories import AccountFactory, FactFactory, IdentityFactory, SubjectFactory, entered
from tests.retrieval.entities.conftest import entities, mentions

STATEMENTS = [
    "Ana Silva likes green tea.",
    "The Atlas launch slips, says Bruno.",
    "bruno costa knows C++",
    "昨日田中太郎と会った",
    "Nothing is named here.",
]


def _people(account: Account) -> Subject:
    ana = SubjectFactory(account=account, key="u-17", name="Ana Silva")
    IdentityFactory(subject=ana, platform="email", value="ana@x.io")
    SubjectFactory(account=account, key="bruno-costa", name="Bruno Costa")
    SubjectFactory(account=account, key="田中太郎", name="")
    return ana


def test_new_facts_are_read_once(account: Account) -> None:
    ana = _people(account)
    for statement in STATEMENTS:
        FactFactory(subject=ana, statement=statement)
    assert rebuilding.keep(account.id) == len(STATEMENTS)
    assert mentions(account) == [
        ("Ana Silva likes green tea.", "ana silva", "Ana Silva", 1.0),
        ("Nothing is named here.", "ana silva", "", 1.0),
        ("The Atlas launch slips, says Bruno.", "ana silva", "", 1.0),
        ("The Atlas launch slips, says Bruno.", "atlas", "Atlas", 1.0),
        ("The Atlas launch slips, says Bruno.", "bruno", "Bruno", 1.0),
        ("bruno costa knows C++", "ana silva", "", 1.0),
        ("bruno costa knows C++", "bruno costa", "bruno costa", 1.0),
        ("bruno costa knows C++", "cplusplus", "C++", 1.0),
        ("昨日田中太郎と会った", "ana silva", "", 1.0),
        ("昨日田中太郎と会った", names.fold("田中太郎"), "田中太郎", 1.0),
    ]
    assert entities(account) == [
        ["ana silva", "ana x io", "u 17"],
        ["atlas"],
        ["bruno"],
        ["bruno costa"],
        ["cplusplus"],
        [names.fold("田中太郎")],
    ]
    assert rebuilding.keep(account.id) == 0


def test_nothing_new_costs_two_questions(account: Account, django_assert_num_queries) -> None:
    FactFactory(subject=SubjectFactory(account=account))
    rebuilding.keep(account.id)
    with django_assert_num_queries(8):  # two savepoints with their account, and a question in each
        assert rebuilding.keep(account.id) == 0


def test_a_namesake_of_the_subject_is_in_doubt(account: Account) -> None:
    dana = SubjectFactory(account=account, key="dana-1", name="Dana")
    SubjectFactory(account=account, key="dana-2", name="Dana")
    FactFactory(subject=dana, statement="Likes tea")
    rebuilding.keep(account.id)
    assert mentions(account) == [("Likes tea", "dana", "", 0.5), ("Likes tea", "dana 1", "", 1.0)]


def test_a_first_name_inside_of_a_full_name_is_nobody_else(account: Account) -> None:
    victor = SubjectFactory(account=account, key="victor", name="Victor")
    FactFactory(subject=SubjectFactory(account=account, key="bo"), statement="Met Victor Hale today")
    FactFactory(subject=victor, statement="Likes tea")
    rebuilding.keep(account.id)
    assert ("Met Victor Hale today", "victor hale", "Victor Hale", 1.0) in mentions(account)
    assert [statement for statement, name, *_ in mentions(account) if name == "victor"] == ["Likes tea"]


@pytest.mark.parametrize("order", [list(range(5)), [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
def test_the_index_is_the_same_in_whatever_order_facts_come(order: list[int], db: None) -> None:
    whole, pieces = AccountFactory(), AccountFactory()
    found = []
    for account, in_order in ((whole, range(5)), (pieces, order)):
        with entered(account):
            ana = _people(account)
            for number in in_order:
                FactFactory(subject=ana, statement=STATEMENTS[number])
                if account is pieces:
                    rebuilding.keep(account.id)
            rebuilding.keep(account.id)
            found.append((entities(account), mentions(account)))
    assert found[0] == found[1]


def test_a_rebuild_changes_nothing_that_is_right(account: Account) -> None:
    ana = _people(account)
    for statement in STATEMENTS:
        FactFactory(subject=ana, statement=statement)
    rebuilding.keep(account.id)
    before = entities(account), mentions(account), set(Entity.objects.values_list("id", flat=True))
    scope = Scope.objects.get(account=account, path="/support")
    for _ in range(2):
        rebuilt = rebuilding.rebuild_scope(account.id, scope.id)
        assert (rebuilt.facts, rebuilt.mentions, rebuilt.names) == (5, 10, 6)
        after = entities(account), mentions(account), set(Entity.objects.values_list("id", flat=True))
        assert after == before
    assert rebuilding.keep(account.id) == 0


def test_a_rebuild_finds_subjects_who_came_later(account: Account) -> None:
    FactFactory(subject=SubjectFactory(account=account, key="bo"), statement="she told dana about it")
    rebuilding.keep(account.id)
    SubjectFactory(account=account, key="dana")
    scope = Scope.objects.get(account=account, path="/support")
    rebuilding.rebuild_scope(account.id, scope.id)
    assert ("she told dana about it", "dana", "dana", 1.0) in mentions(account)


def test_a_rebuild_removes_what_is_wrong_in_this_scope_only(account: Account) -> None:
    ana = SubjectFactory(account=account, key="ana")
    here = FactFactory(subject=ana, statement="Met Bruno today")
    there = FactFactory(subject=ana, statement="Met Cleo today", scope=tenancy.ensure_scope(account.id, "/sales"))
    rebuilding.keep(account.id)
    entity = Entity.objects.create(account=account)
    wrong = EntityAlias.objects.create(account=account, entity=entity, folded="wrong")
    for fact in (here, there):
        Mention.objects.create(account=account, alias=wrong, fact=fact, scope=fact.scope, surface="Wrong")
    rebuilding.rebuild_scope(account.id, here.scope_id)
    assert [statement for statement, name, *_ in mentions(account) if name == "wrong"] == ["Met Cleo today"]
    rebuilding.rebuild_scope(account.id, there.scope_id)
    assert not EntityAlias.objects.filter(folded="wrong").exists()
    assert not Entity.objects.filter(pk=entity.pk).exists()


def test_a_failing_rebuild_leaves_the_index_as_it_was(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account, key="ana"), statement="Met Bruno today")
    rebuilding.keep(account.id)
    before = mentions(account)

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(pruning, "prune_locked", fail)
    with pytest.raises(RuntimeError):
        rebuilding.rebuild_scope(account.id, fact.scope_id)
    assert mentions(account) == before


def test_a_dry_run_writes_nothing(account: Account) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account, key="ana"), statement="Met Bruno today")
    seen: list[int] = []
    rebuilt = rebuilding.rebuild_scope(account.id, fact.scope_id, dry_run=True, progress=seen.append)
    assert (rebuilt.facts, rebuilt.mentions, seen) == (1, 2, [1])
    assert not Mention.objects.exists()
    assert not Entity.objects.exists()


def test_large_scopes_are_read_in_chunks(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "CHUNK", 2)
    ana = SubjectFactory(account=account, key="ana")
    facts = [FactFactory(subject=ana, statement=f"Met Bruno{number}x today") for number in range(5)]
    seen: list[int] = []
    assert rebuilding.rebuild_scope(account.id, facts[0].scope_id, progress=seen.append).facts == 5
    assert seen == [2, 4, 5]


def test_a_run_is_bounded_and_the_next_one_goes_on(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "CHUNK", 2)
    monkeypatch.setattr(rebuilding, "PER_RUN", 4)
    ana = SubjectFactory(account=account, key="ana")
    for number in range(5):
        FactFactory(subject=ana, statement=f"Met Bruno{number}x today")
    assert [rebuilding.keep(account.id) for _ in range(3)] == [4, 1, 0]


def test_facts_that_were_read_by_other_rules_are_read_again(account: Account) -> None:
    FactFactory(subject=SubjectFactory(account=account, key="ana"), statement="Met Bruno today")
    rebuilding.keep(account.id)
    NamesRead.objects.update(recipe="0")
    assert rebuilding.keep(account.id) == 1
    assert NamesRead.objects.get().recipe == names.RECIPE
    assert len(mentions(account)) == 2


@pytest.mark.parametrize("status", [Status.RETRACTED, Status.REDACTED, Status.DELETED])
def test_what_is_wiped_names_nothing_any_more(account: Account, status: Status) -> None:
    ana = SubjectFactory(account=account, key="ana")
    fact = FactFactory(subject=ana, statement="Met Bruno today")
    FactFactory(subject=ana, statement="Met Cleo today")
    rebuilding.keep(account.id)
    names_of_pairs = [("ana", "bruno"), ("ana", "cleo")]
    for first, second in names_of_pairs:
        AliasPair.objects.create(account=account, first=first, second=second, state=PairState.DIFFERENT)
    lifecycle.transition(fact.id, account_id=account.id, to=status, actor=pipeline(), action="fact.wiped")
    rebuilding.keep(account.id)
    assert entities(account) == [["ana"], ["cleo"]]
    assert [(pair.first, pair.second) for pair in AliasPair.objects.all()] == [("ana", "cleo")]
    rebuilding.forget()
    assert rebuilding.keep(account.id) == 0


def test_forgotten_facts_keep_their_mentions_for_their_return(account: Account) -> None:
    fact = FactFactory(subject=SubjectFactory(account=account, key="ana"), statement="Met Bruno today")
    rebuilding.keep(account.id)
    lifecycle.transition(fact.id, account_id=account.id, to=Status.DISABLED, actor=pipeline(), action="fact.disabled")
    rebuilding.keep(account.id)
    assert len(mentions(account)) == 2


def test_a_subject_without_mentions_leaves_no_names(account: Account) -> None:
    ana = SubjectFactory(account=account, key="ana", name="Ana")
    IdentityFactory(subject=ana, platform="email", value="ana@x.io")
    fact = FactFactory(subject=ana, statement="Likes tea")
    rebuilding.keep(account.id)
    assert entities(account) == [["ana", "ana x io"]]
    lifecycle.transition(fact.id, account_id=account.id, to=Status.DELETED, actor=pipeline(), action="fact.deleted")
    rebuilding.keep(account.id)
    assert entities(account) == []


def test_the_worker_reads_names_has_cards_built_and_proposes(account: Account) -> None:
    topic = SubjectFactory(account=account, key="launches", kind="topic")
    fact = FactFactory(subject=topic, statement="We ship Atlas and Atlantis")
    card = Card.objects.create(account=account, scope=fact.scope, kind=CardKind.SCOPE_CARD, sensitivity="public")
    tasks.keep_names()
    card.refresh_from_db()
    assert card.due_at is not None
    assert len(mentions(account)) == 3
    assert not EntityAlias.objects.filter(h=None).exists()


def test_nothing_of_another_account_is_read(account: Account) -> None:
    other = AccountFactory()
    with entered(other):
        FactFactory(subject=SubjectFactory(account=other, key="ana"), statement="Met Bruno today")
    assert rebuilding.keep(account.id) == 0
    assert not Mention.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_runs_at_once_write_everything_once() -> None:
    account = AccountFactory()
    with account_transaction(account.id):
        ana = _people(account)
        for statement in STATEMENTS * 4:
            FactFactory(subject=ana, statement=statement)
        scope_id = Scope.objects.get(account=account, path="/support").id
    failures: list[BaseException] = []

    def run(work: object, *arguments: uuid.UUID) -> None:
        try:
            work(*arguments)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(rebuilding.keep, account.id)) for _ in range(3)]
    threads += [threading.Thread(target=run, args=(rebuilding.rebuild_scope, account.id, scope_id)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    with account_transaction(account.id):
        assert Mention.objects.count() == 10 * 4
        assert NamesRead.objects.count() == 5 * 4
        assert [len(names) for names in entities(account)] == [3, 1, 1, 1, 1, 1]
