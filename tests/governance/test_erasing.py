"""Erasing: nothing of it is left anywhere, and what others said stays."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg.errors import DeadlockDetected

from facts import audit, erasure, erasure_plan, index, vector_tables
from facts.actors import pipeline
from facts.audience import Posture, Reader
from facts.embedding import Embedded, EmbedderIdentity
from facts.erasure import Erasing, ErasureMode
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import (
    AuditEntry,
    ConflictDecision,
    ConflictSet,
    Event,
    Evidence,
    Fact,
    FactRevision,
    FactText,
    IndexedUnit,
    Job,
    Passage,
    PassageText,
    Relation,
    Subject,
    Suppression,
)
from facts.vocabulary import Status
from governance import erasing, feedback, forgetting
from governance.access import Delegation
from governance.access import person as access_of
from governance.models import ApiKey, ForgetReceipt, Grant, IdempotencyRecord, Remark, Review, ReviewKind, Role
from ingest import capture
from ingest.models import CandidateOutcome, EventOutcome
from ingest.observations import Observation
from retrieval.entities import rebuilding
from retrieval.models import Card, CardKind, Mention, ReadStat, RetrievalProfile, StoredQuery, Trace
from tests.factories import (
    MARCH,
    MAY,
    AccountFactory,
    EventFactory,
    FactFactory,
    GrantFactory,
    IdentityFactory,
    MembershipFactory,
    PassageFactory,
    ScopeFactory,
    SubjectFactory,
    entered,
    key_principal,
    maker_of,
    person_in,
    say,
    submit,
    submitted_fact,
    unknown_id,
)

#: Words that stand nowhere else.
PLANTED = ("quixworth", "zanzolin", "marmelink", "plimsoldt")


@pytest.fixture
def ada(account):
    """A person who is spoken about and speaks."""
    return SubjectFactory(account=account, key="ada.quixworth", name="Ada Quixworth")


@pytest.fixture
def bob(account):
    """Another person."""
    return SubjectFactory(account=account, key="bob", name="Bob Stone")


@pytest.fixture
def curator(account):
    """A person who may decide everywhere in the account."""
    return person_in(account)


def now_is(fact: Fact) -> Fact:
    """Return the fact as it is stored now."""
    return Fact.objects.get(pk=fact.pk)


def tables_holding(*words: str) -> dict[str, list[str]]:
    """Return, for each word, the tables of the database in which any column of any row holds it."""
    found: dict[str, list[str]] = {word: [] for word in words}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        )
        for (table,) in cursor.fetchall():
            for word in words:
                cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{word}%"])
                if cursor.fetchone()[0]:
                    found[word].append(table)
    return {word: tables for word, tables in found.items() if tables}


def test_the_search_of_these_tests_finds_what_is_there(ada):
    submitted_fact(ada, {"city": "Zanzolin"})
    assert {"facts_fact", "facts_factrevision", "facts_evidence", "facts_passage", "facts_passagetext"} <= set(
        tables_holding("zanzolin")["zanzolin"]
    )


def test_a_fact_leaves_a_tombstone_and_nothing_else(ada, curator):
    told = say(ada, "I live in Zanzolin by the sea.", payload={"text": "I live in Zanzolin by the sea."})
    fact = submitted_fact(ada, {"city": "Zanzolin"}, event=told, quote="live in Zanzolin")
    receipt = erasing.erase(curator, fact_id=fact.id)
    stone = now_is(fact)
    assert (stone.status, stone.statement, stone.value, stone.predicate) == ("deleted", "", None, "")
    assert stone.recorded_to is not None
    assert [revision.value for revision in FactRevision.objects.filter(fact=fact)] == [None, None, None]
    assert not FactText.objects.filter(fact=fact).exists()
    assert Event.objects.get(pk=told.pk).text == ""
    assert tables_holding("zanzolin") == {}
    assert (receipt.mode, receipt.target, receipt.counters["facts_deleted"]) == ("delete", "fact", 1)
    assert receipt.counters["search"]["left"] == {}


def test_it_is_not_learnt_again_and_no_text_says_what_it_was(ada, curator):
    fact = submitted_fact(ada, {"city": "Zanzolin"})
    plain = (fact.identity_key, fact.value_key)
    erasing.erase(curator, fact_id=fact.id)
    assert submit(ada, {"city": "Zanzolin"}, at=MAY).reason == "suppressed_erased"
    assert tables_holding(*plain) == {}
    assert Suppression.objects.get().cause == "erased"
    assert submit(ada, {"city": "Paris"}, at=MAY).reason == "new"


def test_from_what_others_said_only_the_quoted_words_are_cut_out(ada, bob, curator):
    text = "Ada moved to Zanzolin. The printer is broken again."
    told = say(bob, text, payload={"messages": [{"role": "user", "text": text}]})
    fact = FactFactory(subject=ada, event=told, statement="Ada lives in Zanzolin.")
    Evidence.objects.filter(fact=fact).update(quote="moved to Zanzolin")
    erasing.erase(curator, fact_id=fact.id)
    rest = "Ada […]. The printer is broken again."
    event = Event.objects.get(pk=told.pk)
    assert (event.text, event.payload["messages"][0]["text"], event.withdrawn_at) == (rest, rest, None)
    assert Passage.objects.get(event=told).text == rest
    assert not PassageText.objects.get(passage__event=told).active
    assert tables_holding("zanzolin") == {}


def test_where_the_quoted_words_are_not_found_all_of_the_message_goes(ada, bob, curator):
    told = say(bob, "Ada moved to Zanzolin.")
    fact = FactFactory(subject=ada, event=told, statement="Ada lives there.")
    Evidence.objects.filter(fact=fact).update(quote="moved  to  Zanzolin")
    erasing.erase(curator, fact_id=fact.id)
    assert (Event.objects.get(pk=told.pk).text, Passage.objects.filter(event=told).count()) == ("", 0)
    assert tables_holding("zanzolin") == {}


def test_a_message_that_supports_another_fact_keeps_supporting_it(ada, curator):
    told = say(ada, "I live in Zanzolin. I drink tea.")
    home = submitted_fact(ada, {"city": "Zanzolin"}, event=told, quote="I live in Zanzolin")
    tea = submitted_fact(ada, {"drink": "tea"}, event=told, predicate="drinks", quote="I drink tea")
    erasing.erase(curator, fact_id=home.id)
    assert Event.objects.get(pk=told.pk).text == "[…]. I drink tea."
    assert (now_is(tea).status, Evidence.objects.get(fact=tea).quote) == ("active", "I drink tea")
    assert tables_holding("zanzolin") == {}


@pytest.mark.parametrize("width", [384, 768, 1024, 1536])
def test_vectors_go_from_the_tables_of_every_width(ada, bob, curator, width):
    fact = submitted_fact(ada, {"city": "Zanzolin"})
    shared = say(bob, "Ada moved to Zanzolin. It rains.")
    Evidence.objects.create(
        account=ada.account, fact=fact, event=shared, passage=shared.passages.get(), quote="moved to Zanzolin"
    )
    identity = EmbedderIdentity(provider="p", model="m", version="1", dimensions=width, recipe="r")
    made = Embedded(identity, [0.1] * width)
    vectors = [(passage.id, made) for passage in Passage.objects.all()]
    assert index.write_passage_vectors(ada.account_id, vectors=vectors) == 2
    assert index.write_fact_vectors(ada.account_id, vectors=[(fact.id, made)]) == 1
    erasing.erase(curator, subject_id=ada.id)
    with connection.cursor() as cursor:
        for unit in IndexedUnit:
            cursor.execute(f"SELECT count(*) FROM {vector_tables.table(unit, width)}")
            assert cursor.fetchone() == (0,)
    assert index.write_fact_vectors(ada.account_id, vectors=[(fact.id, made)]) == 0


def test_a_copy_goes_with_its_origin(ada, curator):
    fact = submitted_fact(ada, {"city": "Zanzolin"})
    copy = FactFactory(subject=ada, statement="Lives in Zanzolin.", scope=ScopeFactory(account=ada.account, path="/"))
    Relation.objects.create(account=ada.account, source=copy, target=fact, kind="promoted_from")
    assert erasing.erase(curator, fact_id=fact.id).counters["facts_deleted"] == 2
    assert now_is(copy).status == "deleted"
    assert tables_holding("zanzolin") == {}


def through_every_feature(ada: Subject, bob: Subject, curator) -> None:
    """Store something of the person, in the planted words, wherever words are kept."""
    account = ada.account
    IdentityFactory(subject=ada, value="U-plimsoldt")
    told = say(ada, "I live in Zanzolin with my marmelink.", payload={"text": "I live in Zanzolin with my marmelink."})
    say(ada, "Nothing cites this marmelink at all.")
    fact = submitted_fact(ada, {"city": "Zanzolin"}, event=told, quote="live in Zanzolin")
    other = submitted_fact(ada, {"city": "Marmelink"}, at=MAY)
    conflict = ConflictSet.objects.get()
    ConflictSet.objects.filter(pk=conflict.pk).update(rationale="Zanzolin is right")
    ConflictDecision.objects.create(
        account=account,
        conflict_set=conflict,
        verb="keep",
        detail={"q": "Zanzolin"},
        rationale="marmelink",
        group=fact.id,
    )
    Remark.objects.create(account=account, conflict_set=conflict, text="Zanzolin, as marmelink says")
    feedback.rate(
        account_id=account.id,
        reader=Reader(posture=Posture.PEER, subject_id=ada.id),
        actor=pipeline(),
        rating="useful",
        fact_id=fact.id,
        comment="Yes, Zanzolin",
    )
    Review.objects.create(
        account=account,
        kind=ReviewKind.UNRESOLVED_SUBJECT,
        event=told,
        detail={"statement": "She lives in Zanzolin", "quote": "marmelink"},
    )
    job = Job.objects.create(
        account=account, kind="ingest.process", input_key=str(told.id), payload={"kept": {"a": {"text": "Zanzolin"}}}
    )
    outcome = EventOutcome.objects.create(
        account=account,
        event=told,
        recipe="extract-1",
        job=job,
        scope=told.scope,
        subject=ada,
        occurred_at=told.occurred_at,
    )
    CandidateOutcome.objects.create(
        account=account,
        outcome=outcome,
        ordinal=0,
        result="rejected",
        reason="low_confidence",
        statement="She may live in Zanzolin.",
        quote="marmelink",
    )
    Card.objects.create(
        account=account,
        scope=told.scope,
        subject=ada,
        kind=CardKind.SUBJECT_PROFILE,
        title="Ada Quixworth",
        lines=[{"text": "Lives in Zanzolin", "facts": [str(fact.id)], "edited": True}],
        sensitivity="personal",
    )
    Card.objects.create(
        account=account,
        scope=told.scope,
        kind=CardKind.SCOPE_CARD,
        lines=[
            {"text": "Someone lives in Zanzolin", "facts": [str(fact.id)], "edited": False},
            {"text": "The printer is broken", "facts": [str(unknown_id())], "edited": False},
        ],
        sensitivity="internal",
    )
    StoredQuery.objects.create(
        account=account, scope=told.scope, subject_key=ada.key, query="Where is home?", created_by="x"
    )
    Trace.objects.create(
        account=account,
        scope_path="/support",
        subject=ada,
        subject_key=ada.key,
        reader_posture="peer",
        reader=ada,
        credential_id=unknown_id(),
        credential_name="phone of Ada Quixworth",
        query="Does she live in Zanzolin?",
        request={"exact": True, "thread": "marmelink"},
        budget=900,
        budget_unit="tokens",
        question_time=MAY,
        profile="context 1",
        ranker="r",
        considered=1,
        facts_served=1,
        passages_served=0,
        withheld=0,
        tokens=9,
        status="ok",
        duration_ms=1.0,
    )
    ReadStat.objects.create(
        account=account,
        day=MARCH.date(),
        scope_path="/support",
        purpose="for Ada Quixworth",
        **dict.fromkeys(("calls", "calls_with_facts", "degraded", "failed", "considered", "served", "withheld"), 1),
        tokens=1,
    )
    RetrievalProfile.objects.create(
        account=account, name="fast", version=1, settings={}, note="For Ada Quixworth", created_by="x"
    )
    IdempotencyRecord.objects.create(
        account=account,
        credential_id=unknown_id(),
        key="k",
        request_hash="h",
        body={"statement": fact.statement},
    )
    ForgetReceipt.objects.create(
        account=account, mode="disable", target="subject", target_id=ada.id, reason="Ada Quixworth asked"
    )
    rebuilding.keep(account.id)
    assert Mention.objects.exists()
    assert other.status == "candidate"


@pytest.mark.parametrize("mode", list(ErasureMode))
def test_of_a_subject_nothing_is_left_in_any_table(ada, bob, curator, mode):
    through_every_feature(ada, bob, curator)
    before = tables_holding(*PLANTED)
    assert set(before) == set(PLANTED)
    with CaptureQueriesContext(connection) as asked:
        shown = erasing.preview(curator, subject_id=ada.id, mode=mode)
    assert not [query for query in asked if "LIKE ANY" in str(query["sql"])]  # goes through whole tables
    receipt = erasing.erase(curator, subject_id=ada.id, mode=mode)
    assert tables_holding(*PLANTED) == {}
    counters = receipt.counters
    assert (counters["facts_deleted"], counters["events_erased"]) == (2, 3)
    assert (shown.facts_deleted, shown.events_erased) == (2, 3)
    assert counters["search"]["left"] == {}
    # What only repeats words is found by the erasure; all else the preview foresees.
    foreseen, lost = ({name for name, rows in stores.items() if rows} for stores in (shown.stores, counters["stores"]))
    assert lost - foreseen == {"profile_notes", "names", "stored_answers", "call_purposes"}
    assert foreseen <= lost
    lines = Card.objects.get(kind=CardKind.SCOPE_CARD).lines
    assert [line["text"] for line in lines] == ["The printer is broken"]
    assert not Card.objects.filter(subject=ada).exists()
    assert list(audit.verify(ada.account_id)) == []


def test_the_receipt_is_chained(ada, curator):
    submitted_fact(ada, {"city": "Zanzolin"})
    receipt = erasing.erase(curator, subject_id=ada.id)
    entry = AuditEntry.objects.get(action="forget.delete")
    assert entry.object_id == str(receipt.id)
    assert entry.metadata["receipt"] == erasing.digest(ForgetReceipt.objects.get(pk=receipt.pk))
    assert (entry.metadata["target"], entry.metadata["left"]) == ("subject", 0)
    assert receipt.counters["statement_hashes"] == [Fact.objects.get().statement_hash]


def test_a_subject_of_the_same_key_is_another_one_and_does_not_learn_it_again(account, ada, curator):
    submitted_fact(ada, {"city": "Zanzolin"})
    erasing.erase(curator, subject_id=ada.id)
    for city in ("Paris", "Nice"):
        again = SubjectFactory(account=account, key="ada.quixworth")
        assert submit(again, {"city": "Zanzolin"}, at=MAY).reason == "suppressed_erased"
        assert submit(again, {"city": city}, at=MAY).reason == "new"
        erasing.erase(curator, subject_id=again.id)
    stones = Subject.objects.filter(key__startswith="erased:").values_list("key", flat=True)
    assert len({stone.split(":")[1] for stone in stones}) == 1
    assert len(stones) == 3


def shared_and_lonely(ada: Subject, bob: Subject) -> tuple[Fact, Fact]:
    """Return a fact about Bob that Ada and another message support, and one that Ada alone told."""
    shared = FactFactory(subject=bob, statement="Bob plays chess.", corroboration=2, event=say(bob, "I play chess."))
    told = say(ada, "Bob plays chess, said the plimsoldt.")
    Evidence.objects.create(
        account=ada.account, fact=shared, event=told, passage=told.passages.get(), quote="Bob plays chess, said the"
    )
    lonely = FactFactory(subject=bob, statement="Bob collects stamps.", event=say(ada, "Bob collects stamps, I think."))
    return shared, lonely


def test_what_others_said_too_survives_without_the_share_of_the_erased(ada, bob, curator):
    shared, lonely = shared_and_lonely(ada, bob)
    receipt = erasing.erase(curator, subject_id=ada.id)
    after = now_is(shared)
    assert (after.status, after.statement, after.corroboration) == ("active", "Bob plays chess.", 1)
    assert [link.event.subject for link in Evidence.objects.filter(fact=shared)] == [bob]
    assert (now_is(lonely).status, Evidence.objects.filter(fact=lonely).count()) == ("retracted", 0)
    counted = receipt.counters
    assert (counted["facts_deleted"], counted["facts_withdrawn"], counted["facts_released"]) == (0, 1, 1)
    assert tables_holding("plimsoldt", "quixworth") == {}


def test_strictly_also_what_was_told_by_nobody_else_goes(ada, bob, curator):
    shared, lonely = shared_and_lonely(ada, bob)
    erasing.erase(curator, subject_id=ada.id, mode=ErasureMode.STRICT)
    assert (now_is(shared).status, now_is(lonely).status) == ("active", "deleted")
    assert tables_holding("collects stamps", "plimsoldt") == {}


def test_the_receipt_says_where_others_still_say_the_same_words(ada, bob, curator):
    say(bob, "Lunch with Ada Quixworth on Friday.")
    receipt = erasing.erase(curator, subject_id=ada.id)
    assert receipt.counters["search"]["left"] == {"facts.Event": 1, "facts.Passage": 1}
    assert Event.objects.get(subject=bob).text == "Lunch with Ada Quixworth on Friday."


def test_from_conversations_of_others_goes_what_the_subject_said_there(account, ada, bob, curator):
    turns = [
        {"role": "user", "speaker": "Bob Stone", "content": "The printer is broken."},
        {"role": "user", "speaker": "Ada Quixworth", "content": "My marmelink has one that works."},
    ]
    talk = EventFactory(
        subject=bob, text="The printer is broken.\n\nMy marmelink has one that works.", payload={"messages": turns}
    )
    for turn in turns:
        PassageFactory(event=talk, text=turn["content"], speaker_name=turn["speaker"])
    receipt = erasing.erase(curator, subject_id=ada.id)
    assert [(row.speaker_name, row.text) for row in Passage.objects.all()] == [("Bob Stone", "The printer is broken.")]
    assert Event.objects.get().text == "The printer is broken.\n\n[…]"
    assert Event.objects.get().payload["messages"] == [turns[0], {**turns[1], "speaker": "[…]", "content": "[…]"}]
    assert tables_holding("marmelink", "quixworth") == {}
    assert (receipt.counters["events_shortened"], receipt.counters["search"]["left"]) == (1, {})


def test_a_name_that_another_goes_by_too_is_nobodys(account, curator):
    one, other = (SubjectFactory(account=account, key=key, name="Ana") for key in ("ana.one", "ana.other"))
    said = EventFactory(
        subject=other, text="I drink tea.", payload={"messages": [{"speaker": "Ana", "content": "I …"}]}
    )
    PassageFactory(event=said, speaker_name="Ana")
    erasing.erase(curator, subject_id=one.id)
    assert Event.objects.get().text == "I drink tea."
    assert Passage.objects.get().speaker_name == "Ana"


def test_a_name_is_looked_for_as_a_word(account, curator):
    eve = SubjectFactory(account=account, key="Eve", name="")
    say(SubjectFactory(account=account), "The evening was long.")
    assert erasing.erase(curator, subject_id=eve.id).counters["search"]["left"] == {}


@pytest.mark.parametrize("name", ["C++ (x|y)", "100%", "O'Brien \\d", "_a_b_", "漢字三"])
def test_names_are_no_patterns(account, curator, name):
    odd = SubjectFactory(account=account, key=name, name="")
    say(SubjectFactory(account=account), f"We met {name} today.")
    say(SubjectFactory(account=account), "We met Cxx y 100 O'Brien 5 today.")
    assert erasing.erase(curator, subject_id=odd.id).counters["search"]["left"] == {
        "facts.Event": 1,
        "facts.Passage": 1,
    }


def test_in_one_scope_only_what_is_there_goes(account, ada, curator):
    here = FactFactory(subject=ada)
    there = FactFactory(subject=ada, scope=ScopeFactory(account=account, path="/sales"))
    erasing.erase(curator, subject_id=ada.id, within="/support")
    assert (now_is(here).status, now_is(there).status) == ("deleted", "active")
    assert Subject.objects.get(pk=ada.pk).key == "ada.quixworth"


def test_who_signs_in_keeps_the_login_and_loses_the_memory(account, ada, curator):
    membership = MembershipFactory(account=account, subject=ada)
    GrantFactory(subject=ada, role=Role.MEMBER)
    fact = submitted_fact(ada, {"city": "Zanzolin"})
    erasing.erase(access_of(membership), subject_id=ada.id)
    assert (now_is(fact).status, Subject.objects.get(pk=ada.pk).key) == ("deleted", "ada.quixworth")
    assert Grant.objects.filter(subject=ada).exists()
    assert tables_holding("zanzolin") == {}


def test_the_grants_and_keys_of_who_is_gone_go(account, ada, curator):
    GrantFactory(subject=ada, role=Role.MEMBER)
    key_principal(account, peer=ada, label="Ada Quixworth's phone")
    erasing.erase(curator, subject_id=ada.id)
    assert not Grant.objects.filter(subject=ada).exists()
    key = ApiKey.objects.get()
    assert (key.revoked_at is not None, key.label) == (True, "")


def test_a_disabled_a_rejected_and_a_redacted_fact_go_as_well(ada, curator):
    facts = [FactFactory(subject=ada, status=one) for one in (Status.DISABLED, Status.REJECTED, Status.REDACTED)]
    erasing.erase(curator, subject_id=ada.id)
    assert {now_is(fact).status for fact in facts} == {"deleted"}


def test_what_is_erased_is_erased_once(ada, curator):
    fact = FactFactory(subject=ada)
    erasing.erase(curator, fact_id=fact.id)
    with pytest.raises(Conflicting) as refused:
        erasing.erase(curator, fact_id=fact.id)
    assert refused.value.code == "erased_already"
    with pytest.raises(DomainError):
        erasing.erase(curator)
    with pytest.raises(NotFound):
        erasing.erase(curator, subject_id=unknown_id())


def test_nothing_brings_it_back(ada, curator):
    fact = submitted_fact(ada, {"city": "Zanzolin"})
    hidden = forgetting.disable(curator, subject_id=ada.id)
    erasing.erase(curator, fact_id=fact.id)
    forgetting.enable(curator, hidden.id)
    assert now_is(fact).status == "deleted"
    assert tables_holding("zanzolin") == {}


def test_only_people_and_their_delegates_erase(account, ada, bob):
    FactFactory(subject=ada)
    own_key = key_principal(account, peer=ada)
    for who, code in ((own_key, "human_required"), (key_principal(account), "human_required")):
        with pytest.raises(Refused) as refused:
            erasing.erase(who, subject_id=ada.id)
        assert refused.value.code == code
    for role in (None, Role.MEMBER):
        with pytest.raises(NotFound) as missing:
            erasing.erase(person_in(account, role=role), subject_id=ada.id)
        assert missing.value.code == "subject_not_found"
    delegate = key_principal(account, maker=maker_of(person_in(account)), delegated=[Delegation.FORGET])
    assert erasing.erase(delegate, subject_id=ada.id).actor["kind"] == "person"


def test_authority_is_needed_where_the_subject_spoke_too(account, ada):
    say(ada, "Only said, never a fact.", scope=ScopeFactory(account=account, path="/sales"))
    FactFactory(subject=ada)
    with pytest.raises(Refused):
        erasing.erase(person_in(account, path="/support"), subject_id=ada.id)
    with pytest.raises(Refused):
        erasing.preview(person_in(account, path="/support"), subject_id=ada.id)


def test_another_account_is_neither_known_nor_touched(ada, curator):
    stranger = AccountFactory()
    with entered(stranger):
        theirs = FactFactory(subject=SubjectFactory(account=stranger, key="ada.quixworth"), statement="In Zanzolin.")
    submitted_fact(ada, {"city": "Zanzolin"})
    with pytest.raises(NotFound):
        erasing.erase(curator, fact_id=theirs.id)
    assert erasing.erase(curator, subject_id=ada.id).counters["search"]["left"] == {}
    with entered(stranger):
        assert now_is(theirs).statement == "In Zanzolin."


def test_revisions_lose_their_content_only_with_a_deleted_fact(ada, curator):
    fact = submitted_fact(ada, {"city": "Zanzolin"})
    blank = {"value": None, "value_key": "", "qualifiers": {}, "identity_key": "", "reason": ""}
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        FactRevision.objects.filter(fact=fact).update(**blank)
    erasing.erase(curator, fact_id=fact.id)
    for change in ({"value": {"city": "Paris"}}, {"status": "active"}, {**blank, "confidence": 0.1}):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            FactRevision.objects.filter(fact=fact).update(**change)


def test_a_message_that_comes_again_stays_erased(account, ada, curator):
    app = key_principal(account)
    told = {"kind": "message", "payload": {"text": "I live in Zanzolin."}, "scope": "/support", "subject": ada.key}
    first = capture.capture(app, [Observation(**told, occurred_at=MARCH)]).events[0]
    erasing.erase(curator, subject_id=ada.id, within="/support")
    again = capture.capture(app, [Observation(**told, occurred_at=MARCH)]).events[0]
    assert (again.event_id, again.deduplicated) == (first.event_id, True)
    assert tables_holding("zanzolin") == {}
    assert (
        capture.capture(app, [Observation(**{**told, "payload": {"text": "Hello."}})]).events[0].deduplicated is False
    )


def test_locks_that_wait_for_each_other_are_taken_again(ada, curator, monkeypatch):
    submitted_fact(ada, {"city": "Zanzolin"})
    lock, tries = erasure_plan.lock_facts, []

    def once_in_vain(plan):
        tries.append(plan)
        if len(tries) == 1:
            raise OperationalError from DeadlockDetected()
        lock(plan)

    monkeypatch.setattr(erasure_plan, "lock_facts", once_in_vain)
    assert erasing.erase(curator, subject_id=ada.id).counters["facts_deleted"] == 1
    assert len(tries) == 2


def test_where_locks_stay_taken_nothing_is_done(ada, curator, monkeypatch):
    fact = submitted_fact(ada, {"city": "Zanzolin"})

    def in_vain(plan):
        raise OperationalError from DeadlockDetected()

    monkeypatch.setattr(erasure_plan, "lock_facts", in_vain)
    with pytest.raises(Conflicting) as refused:
        erasing.erase(curator, subject_id=ada.id)
    assert (refused.value.code, now_is(fact).status) == ("try_again", "active")


def test_every_store_finds_nothing_where_nothing_is(account, ada):
    nothing = Erasing(account_id=account.id, facts=frozenset(), events=frozenset(), cuts={})
    say(ada)
    FactFactory(subject=ada)
    assert set(erasure.preview(nothing).values()) == {0}
