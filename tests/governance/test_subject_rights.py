"""What people know and do about what is held of them: everything of their own, nothing of others, never by a key."""

from __future__ import annotations

import pytest

from facts.erasure import ErasureMode
from facts.errors import DomainError
from facts.models import Account, Fact, Suppression
from facts.vocabulary import Sensitivity, Status
from governance import subject_data, subject_rights
from governance.access import Principal
from governance.models import Feedback, Review, Role
from governance.reviewing import reviews
from governance.subject_data import ReadBy, Standing
from tests.factories import (
    FactFactory,
    SubjectFactory,
    key_principal,
    maker_of,
    person_in,
    say,
    submit,
    unknown_id,
)


@pytest.fixture
def ada(account: Account) -> Principal:
    """A person without any role, about whom things are known in a scope that she may not read."""
    return person_in(account, role=None)


def own_fact(ada: Principal, **fields) -> Fact:
    return FactFactory(subject=maker_of(ada).subject, **fields)


def code_of(call, *arguments, **named) -> str:
    with pytest.raises(DomainError) as caught:
        call(*arguments, **named)
    return caught.value.code


def test_everything_about_oneself_is_listed_in_every_status_and_scope(account, ada):
    statuses = [status for status in Status if status != Status.DELETED]
    for status in statuses:
        own_fact(ada, status=status)
    own_fact(ada, status=Status.DELETED)
    FactFactory(subject=SubjectFactory(account=account))
    listed = list(subject_data.facts(ada))
    assert sorted(fact.status for fact in listed) == sorted(statuses)
    assert {fact.subject_id for fact in listed} == {ada.subject_id}
    counted = sum(subject_data.facts(ada, standing=standing).count() for standing in Standing)
    assert counted == len(statuses)


@pytest.mark.parametrize("status", [Status.DISABLED, Status.REDACTED, Status.RETRACTED])
def test_what_is_shown_to_nobody_is_told_without_words(account, ada, status):
    own_fact(ada, status=status)
    (held,) = subject_data.told(ada, list(subject_data.facts(ada)))
    assert (held.statement, list(held.sources), held.read_by) == (None, [], ReadBy.NOBODY)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ReadBy.SUBJECT),
        ({"level": "scope"}, ReadBy.SCOPE),
        ({"sensitivity": "internal"}, ReadBy.SCOPE),
        ({"sensitivity": "public"}, ReadBy.SCOPE),
        ({"sensitivity": "restricted", "level": "scope"}, ReadBy.GRANTED),
        ({"status": "provisional"}, ReadBy.SUBJECT),
        ({"status": "held", "sensitivity": "public"}, ReadBy.NOBODY),
        ({"withheld": "conflict_open", "sensitivity": "public"}, ReadBy.NOBODY),
    ],
)
def test_who_is_told_a_fact(fields, expected):
    given = {"status": "active", "level": "peer", "sensitivity": "personal", **fields}
    assert subject_data.read_by(Fact(**given)) is expected


def test_sources_tell_who_said_it_where_and_when(account, ada):
    subject = maker_of(ada).subject
    event = say(subject, "I like tea a lot.", channel_name="kitchen")
    own_fact(ada, event=event)
    (held,) = subject_data.told(ada, list(subject_data.facts(ada)))
    (source,) = held.sources
    assert (source.quote, source.speaker, source.is_own) == ("I like tea a lot.", subject.display_name, True)
    assert (source.channel, source.occurred_at, source.human) == ("kitchen", event.occurred_at, True)


def test_words_of_others_that_one_may_not_read_are_not_told(account, ada):
    bob = SubjectFactory(account=account, name="Bob Zanzolin")
    own_fact(ada, event=say(bob, "Ada snores, says Bob.", channel_name="secret-room"))
    (held,) = subject_data.told(ada, list(subject_data.facts(ada)))
    (source,) = held.sources
    assert (source.quote, source.speaker, source.channel, source.event_id) == (None, "", "", None)
    assert source.human is True


def test_open_words_of_others_are_told_where_one_reads(account):
    ada = person_in(account, role=Role.READER, path="/support")
    bob = SubjectFactory(account=account, name="Bob")
    said = say(bob, "Ada leads support.", sensitivity=Sensitivity.INTERNAL)
    said.passages.update(sensitivity=Sensitivity.INTERNAL)
    own_fact(ada, event=said, sensitivity=Sensitivity.INTERNAL)
    (held,) = subject_data.told(ada, list(subject_data.facts(ada)))
    assert [(source.speaker, source.quote) for source in held.sources] == [("Bob", "Ada leads support.")]


def test_many_facts_take_three_queries(account, ada, django_assert_num_queries):
    for _ in range(4):
        own_fact(ada)
    found = list(subject_data.facts(ada))
    with django_assert_num_queries(3):  # evidence, the scopes that are readable, the events of which words are told
        subject_data.told(ada, found)


def test_messages_are_ones_own_and_hidden_where_forgotten(account, ada):
    subject = maker_of(ada).subject
    say(subject, "I like tea.")
    FactFactory(subject=subject, status=Status.REDACTED, event=say(subject, "I like gin."))
    say(SubjectFactory(account=account), "I like rum.")
    listed = [(event.text, event.is_hidden) for event in subject_data.messages(ada)]
    assert listed == [("I like gin.", True), ("I like tea.", False)]


def test_a_contested_fact_waits_for_a_curator_with_the_reason(account, ada):
    fact = own_fact(ada)
    assert subject_rights.contest(ada, fact.id, reason=" I never said so. ").status == Status.DISPUTED
    review = Review.objects.get()
    assert (review.kind, review.reasons) == ("contest", ["contested_by_subject"])
    assert Feedback.objects.get().comment == "I never said so."
    subject_rights.contest(ada, fact.id, reason="Really not.")
    assert (Review.objects.count(), Feedback.objects.count()) == (1, 2)
    reviews.approve(person_in(account), review.id)
    assert Fact.objects.get(pk=fact.id).status == Status.ACTIVE


@pytest.mark.parametrize(
    "status", [Status.PROVISIONAL, Status.NEEDS_REVALIDATION, Status.HELD, Status.SUPERSEDED, Status.EXPIRED]
)
def test_a_refused_contest_brings_back_what_was_there(account, ada, status):
    fact = own_fact(ada, status=status)
    subject_rights.contest(ada, fact.id, reason="Wrong.")
    reviews.approve(person_in(account), Review.objects.get(kind="contest").id)
    assert Fact.objects.get(pk=fact.id).status == status


def test_what_waits_or_is_gone_is_not_contested_and_needs_a_reason(account, ada):
    for status in (Status.CANDIDATE, Status.REJECTED, Status.DISABLED, Status.REDACTED, Status.RETRACTED):
        assert code_of(subject_rights.contest, ada, own_fact(ada, status=status).id, reason="x") == "not_contestable"
    assert code_of(subject_rights.contest, ada, own_fact(ada).id, reason=" ") == "reason_missing"


def test_redaction_is_for_good_and_keeps_from_learning_again(account, ada):
    fact = Fact.objects.get(pk=submit(maker_of(ada).subject, {"city": "Lyon"}).fact_id)
    passages = fact.evidence.get().event.passages
    assert subject_rights.redact(ada, fact.id).status == Status.REDACTED
    assert subject_rights.redact(ada, fact.id).version == fact.version + 1
    assert passages.get().withheld == "source_forgotten"
    assert submit(maker_of(ada).subject, {"city": "Lyon"}).fact_id is None
    assert code_of(subject_rights.withdraw, ada, fact.id) == "gone_already"


def test_what_was_withdrawn_is_learned_again_when_said_again(account, ada):
    fact = Fact.objects.get(pk=submit(maker_of(ada).subject, {"city": "Lyon"}).fact_id)
    assert subject_rights.withdraw(ada, fact.id, reason="Not here.").status == Status.RETRACTED
    assert Suppression.objects.count() == 0
    assert submit(maker_of(ada).subject, {"city": "Lyon"}).fact_id not in {None, fact.id}


def test_pending_questions_about_what_is_taken_away_are_closed(account, ada):
    fact = own_fact(ada)
    subject_rights.contest(ada, fact.id, reason="Wrong.")
    subject_rights.withdraw(ada, fact.id)
    assert Review.objects.get().status == "withdrawn"


@pytest.mark.parametrize("verb", [subject_rights.contest, subject_rights.redact, subject_rights.withdraw])
def test_facts_about_others_are_not_there(account, ada, verb):
    theirs = FactFactory(subject=SubjectFactory(account=account), sensitivity=Sensitivity.PUBLIC)
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    for who in (ada, administrator):
        for fact_id in (theirs.id, unknown_id()):
            assert code_of(verb, who, fact_id, reason="x") == "fact_not_found"


def test_keys_do_nothing_of_this(account, ada):
    fact = own_fact(ada)
    key = key_principal(
        account, peer=fact.subject, maker=maker_of(ada), delegated=["resolve", "forget", "observe", "keys"]
    )
    for verb in (subject_rights.contest, subject_rights.redact, subject_rights.withdraw):
        assert code_of(verb, key, fact.id, reason="x") == "human_required"
    proportionate = ErasureMode.PROPORTIONATE
    assert code_of(subject_rights.erase, key, mode=proportionate, confirm=fact.subject.key) == "human_required"
    assert code_of(subject_rights.preview_erasure, key, mode=proportionate) == "human_required"


def test_erasing_everything_needs_ones_own_key(account, ada):
    fact = own_fact(ada)
    bob = FactFactory(subject=SubjectFactory(account=account))
    for typed in ("", "erase", bob.subject.key):
        code = code_of(subject_rights.erase, ada, mode=ErasureMode.STRICT, confirm=typed)
        assert code == "confirmation_mismatch"
    receipt = subject_rights.erase(ada, mode=ErasureMode.STRICT, confirm=f" {fact.subject.key} ")
    assert Fact.objects.get(pk=fact.id).status == Status.DELETED
    assert Fact.objects.get(pk=bob.id).status == Status.ACTIVE
    assert subject_data.get_receipt(ada, receipt.id) == receipt
    assert list(subject_data.facts(ada)) == []


def test_receipts_of_others_are_not_there(account, ada):
    bob = person_in(account, role=None)
    own_fact(bob)
    receipt = subject_rights.erase(bob, mode=ErasureMode.STRICT, confirm=subject_rights.key_of(bob))
    assert code_of(subject_data.get_receipt, ada, receipt.id) == "receipt_not_found"
