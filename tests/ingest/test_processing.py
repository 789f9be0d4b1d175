from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django_q.models import OrmQ

from facts import jobs
from facts.candidates import Candidate
from facts.clock import now
from facts.models import Account, Event, Evidence, Fact, Job, Passage, PassageText, PassageVector, Subject
from facts.models.records import JobStatus
from facts.tenancy import ensure_subject
from governance.access import Principal
from governance.models import Review
from ingest import outcomes, processing, reading, tasks
from ingest.extraction import ExtractionFailed, ExtractionInput
from ingest.line import Part
from ingest.models import CandidateOutcome, EventOutcome
from ingest.processing import Drained
from tests.factories import JANUARY, JULY, MARCH, MAY, IdentityFactory, key_principal
from tests.ingest.fakes import FakeExtractor, cities, city, refusing, tell


@pytest.fixture
def app(account: Account) -> Principal:
    return key_principal(account)


def use(monkeypatch: pytest.MonkeyPatch, answer: Any) -> FakeExtractor:
    extractor = FakeExtractor(answer)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
    return extractor


def drain(principal: Principal) -> Drained:
    return processing.drain(Part(account_id=principal.account_id), seconds=5)


def outcome_of(event: Event) -> EventOutcome:
    return EventOutcome.objects.select_related("job").get(event_id=event.id)


def test_a_message_becomes_passages_and_facts(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    event = tell(app)
    assert drain(app) == Drained(processed=1, pending=0)
    fact = Fact.objects.get()
    assert (fact.statement, fact.status, fact.subject.key, fact.scope.path) == (
        "The speaker lives in Lyon.",
        "active",
        "ana",
        "/p",
    )
    assert (fact.evidence_level, fact.level, fact.sensitivity) == ("direct", "peer", "personal")
    assert (fact.extractor_provider, fact.extractor_model, fact.prompt_version) == ("fake", "fake-1", "7")
    passage = Passage.objects.get()
    assert (passage.text, passage.ordinal, passage.evidential, passage.speaker_name) == (
        "i live in Lyon",
        0,
        True,
        "ana",
    )
    assert (PassageText.objects.count(), PassageVector.objects.count()) == (1, 1)
    evidence = Evidence.objects.get()
    assert (evidence.event_id, evidence.passage_id, evidence.quote) == (event.id, passage.id, "Lyon")
    outcome = outcome_of(event)
    assert (outcome.result, outcome.reason, outcome.counts, outcome.provider) == ("facts", "", {"fact": 1}, "fake")
    assert (outcome.job.status, outcome.job.attempts) == (JobStatus.DONE, 1)
    kept = CandidateOutcome.objects.get()
    assert (kept.result, kept.reason, kept.fact_id, kept.statement, kept.quote) == ("fact", "new", fact.id, "", "")
    assert Event.objects.get().processed_at is not None


@pytest.mark.parametrize(
    ("answer", "fields", "result", "reason", "reasons"),
    [
        (lambda item: [], {}, "nothing", "nothing_to_remember", []),
        (refusing, {}, "rejected", "", ["question"]),
        (lambda item: [city("Lyon", about="Zoe")], {}, "rejected", "", ["subject_unresolved"]),
        (cities, {"actor_type": "agent"}, "nothing", "not_human_speech", []),
        (cities, {"payload": {"role": "assistant", "content": "Lyon"}}, "nothing", "not_human_speech", []),
        (cities, {"payload": {"City": "Lyon"}}, "nothing", "not_human_speech", []),
    ],
)
def test_why_nothing_was_remembered(
    app: Principal,
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    fields: dict[str, Any],
    result: str,
    reason: str,
    reasons: list[str],
) -> None:
    use(monkeypatch, answer)
    event = tell(app, **fields)
    drain(app)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.reason) == (result, reason)
    assert list(outcome.candidates.values_list("reason", flat=True)) == reasons
    assert not Fact.objects.exists()
    assert Passage.objects.count() == 1


def test_refused_words_are_kept_with_their_reason(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, refusing)
    tell(app, "where is Lyon?")
    drain(app)
    row = CandidateOutcome.objects.get()
    assert (row.result, row.reason, row.statement, row.quote, row.fact) == (
        "rejected",
        "question",
        "A question.",
        "where is Lyon?",
        None,
    )


def test_a_repeated_statement_is_a_duplicate(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    tell(app, at=MARCH)
    again = tell(app, at=MAY)
    drain(app)
    outcome = outcome_of(again)
    assert (outcome.result, outcome.counts) == ("duplicate", {"duplicate": 1})
    assert (Fact.objects.get().corroboration, Evidence.objects.count()) == (2, 2)


def test_candidates_are_taken_in_event_time_order(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, cities)
    tell(app, "i live in Paris", at=MAY)
    tell(app, "i live in Lyon", at=JANUARY)
    latest = tell(app, "i live in Rome", at=JULY)
    tasks.process(str(outcome_of(latest).job_id), str(app.account_id))
    assert [item.text for item in extractor.seen] == ["i live in Lyon", "i live in Paris", "i live in Rome"]
    tasks.process(str(outcome_of(latest).job_id), str(app.account_id))
    assert len(extractor.seen) == 3


def test_a_long_line_lets_others_in(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, cities)
    events = [tell(app, f"i live in City{number}", at=MARCH + timedelta(hours=number)) for number in range(3)]
    monkeypatch.setattr(processing, "TURN_SECONDS", 0.0)
    before = OrmQ.objects.count()
    tasks.process(str(outcome_of(events[0]).job_id), str(app.account_id))
    assert len(extractor.seen) == 1
    assert [task.task["args"][1] for task in OrmQ.objects.order_by("id")[before:]] == [
        str(outcome_of(events[1]).job_id)
    ]


def test_a_delivery_for_nothing_does_nothing(app: Principal, account: Account) -> None:
    tasks.process("0192a1b2-0000-7000-8000-000000000000", str(account.id))
    assert not Fact.objects.exists()


def test_every_turn_is_read_as_its_speakers(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, cities)
    messages = [
        {"role": "user", "text": "i live in Lyon"},
        {"role": "assistant", "text": "Lyon is nice"},
        {"speaker": "Bo", "text": "i live in Oslo"},
    ]
    tell(app, payload={"messages": messages})
    drain(app)
    assert [(fact.subject.key, fact.value, fact.evidence_level) for fact in Fact.objects.order_by("subject__key")] == [
        ("Bo", {"value": "Oslo"}, "direct"),
        ("ana", {"value": "Lyon"}, "direct"),
    ]
    assert [
        (row.ordinal, row.text, row.speaker_name, row.evidential) for row in Passage.objects.order_by("ordinal")
    ] == [
        (0, "i live in Lyon", "ana", True),
        (1, "Lyon is nice", "assistant", False),
        (2, "i live in Oslo", "Bo", True),
    ]
    assert extractor.seen[1].window == (("ana", "i live in Lyon"), ("assistant", "Lyon is nice"))
    assert Evidence.objects.get(fact__subject__key="Bo").passage.ordinal == 2


def test_the_window_is_the_last_five_messages_of_the_thread(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, lambda item: [])
    for number in range(7):
        tell(
            app,
            f"m{number}",
            at=MARCH + timedelta(minutes=number),
            thread_id="t",
            subject_id="ana" if number % 2 else "bo",
        )
    tell(app, "elsewhere", at=MARCH, thread_id="u")
    tell(app, "other scope", at=MARCH, thread_id="t", project_id="q")
    tell(app, "later", at=MAY, thread_id="t")
    drain(app)
    seen = {item.text: item for item in extractor.seen}
    assert seen["m6"].window == (
        ("ana", "m1"),
        ("bo", "m2"),
        ("ana", "m3"),
        ("bo", "m4"),
        ("ana", "m5"),
    )
    assert (seen["m6"].speaker_name, seen["m6"].participants) == ("bo", ("bo", "ana"))
    assert seen["m0"].window == ()
    assert seen["elsewhere"].participants == ("ana",)


def test_channel_messages_outside_threads_share_a_window(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = use(monkeypatch, lambda item: [])
    tell(app, "one", at=MARCH, channel_id="C")
    tell(app, "two", at=MAY, channel_id="C")
    tell(app, "three", at=JULY, channel_id="D")
    drain(app)
    assert {item.text: item.window for item in extractor.seen} == {
        "one": (),
        "two": (("ana", "one"),),
        "three": (),
    }


@pytest.mark.parametrize(
    ("about", "kind", "key", "level"),
    [
        ("", "person", "ana", "direct"),
        ("Ana", "person", "ana", "direct"),
        ("Bo", "person", "bo", "indirect"),
        ("bo berg", "person", "bo", "indirect"),
        ("cyn", "person", "cy", "indirect"),
        ("team", "scope", "/p", "indirect"),
    ],
)
def test_whom_a_candidate_is_about(
    app: Principal, monkeypatch: pytest.MonkeyPatch, about: str, kind: str, key: str, level: str
) -> None:
    ensure_subject(app.account_id, key="bo", name="Bo Berg")
    IdentityFactory(subject=ensure_subject(app.account_id, key="cy"), value="cyn")
    use(monkeypatch, lambda item: [city("Lyon", about=about)])
    tell(app)
    drain(app)
    fact = Fact.objects.get()
    assert (fact.subject.kind, fact.subject.key, fact.evidence_level) == (kind, key, level)


def test_a_name_that_two_persons_bear_is_asked_about(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_subject(app.account_id, key="bo1", name="Bo Berg")
    ensure_subject(app.account_id, key="bo2", name="Bo Dahl")
    use(monkeypatch, lambda item: [city("Lyon", about="Bo")])
    event = tell(app)
    drain(app)
    review = Review.objects.get()
    assert (review.kind, review.event_id, review.detail["about"]) == ("unresolved_subject", event.id, "Bo")
    assert not Fact.objects.exists()


def test_a_thing_becomes_a_topic(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    billing = Candidate(
        statement="Billing runs on Postgres.", quote="Lyon", confidence=0.9, predicate="database",
        value={"value": "postgres"}, about="Billing  API",
    )  # fmt: skip
    use(monkeypatch, lambda item: [billing])
    tell(app)
    drain(app)
    subject = Fact.objects.get().subject
    assert (subject.kind, subject.key, subject.name) == ("topic", "billing api", "Billing API")


def test_a_person_of_the_account_whom_the_text_names_takes_part(
    app: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_subject(app.account_id, key="zoe", name="Zoé Martin")
    ensure_subject(app.account_id, key="max", name="Max Muster")
    extractor = use(monkeypatch, lambda item: [])
    IdentityFactory(subject=ensure_subject(app.account_id, key="kim", name="Kim Lee"), value="U77")
    tell(app, "Zoé is on call, ask max or @u77")
    drain(app)
    assert sorted(extractor.seen[0].participants) == ["Kim Lee", "Zoé Martin", "ana"]


def test_a_third_party_is_named_with_what_it_told(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    tell(app, origin_trust="third_party", actor_id="crm")
    drain(app)
    fact = Fact.objects.get()
    assert (fact.qualifiers, fact.origin_trust, fact.evidence_level) == (
        {"attributed_to": "crm"},
        "third_party",
        "indirect",
    )


def test_quotes_lead_to_the_passage_that_holds_them(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    tell(app, "x " * 700 + "i live in Lyon")
    drain(app)
    evidence = Evidence.objects.select_related("passage").get()
    assert (evidence.passage.ordinal, Passage.objects.count()) == (1, 2)
    assert "Lyon" in evidence.passage.text


def test_an_extractor_that_raises_is_tried_again_and_then_given_up(
    app: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(item: ExtractionInput) -> Any:
        raise ValueError(item.text)

    use(monkeypatch, fail)
    event = tell(app)
    neighbour = tell(app, "i live in Rome", at=JULY)
    assert drain(app) == Drained(processed=0, pending=2)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.error_class, outcome.job.status, outcome.job.attempts) == (
        "pending",
        "ValueError",
        JobStatus.QUEUED,
        1,
    )
    assert outcome.job.error == ""
    assert Passage.objects.count() == 2
    for _ in range(outcome.job.max_attempts - 1):
        Job.objects.update(run_after=now())
        drain(app)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.reason, outcome.job.status) == ("failed", "extraction_failed", JobStatus.DEAD)
    assert outcome_of(neighbour).result == "failed"
    assert Event.objects.filter(processed_at__isnull=True).count() == 2

    use(monkeypatch, cities)
    assert drain(app) == Drained(processed=0, pending=0)
    outcomes.retry(app.account_id, event.id, actor=app.actor)
    assert drain(app) == Drained(processed=1, pending=0)
    assert (outcome_of(event).result, outcome_of(event).error_class) == ("facts", "")
    assert Passage.objects.count() == 2


def test_a_job_that_an_operator_revives_brings_its_event_back(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda item: (_ for _ in ()).throw(ExtractionFailed(retryable=False, error_class="refused")))
    event = tell(app)
    drain(app)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.error_class, outcome.job.attempts) == ("failed", "refused", 1)
    use(monkeypatch, cities)
    jobs.retry(app.account_id, outcome.job_id)
    tasks.process(str(outcome.job_id), str(app.account_id))
    assert outcome_of(event).result == "facts"


def test_a_poisoned_message_holds_up_nobody(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    def poisoned(item: ExtractionInput) -> list[Candidate]:
        if "poison" in item.text:
            raise RuntimeError
        return cities(item)

    use(monkeypatch, poisoned)
    tell(app, "poison", at=JANUARY)
    tell(app, "i live in Lyon", at=MARCH)
    tell(app, "i live in Rome", at=MAY, subject_id="bo")
    assert drain(app) == Drained(processed=2, pending=1)
    assert Fact.objects.count() == 2


def test_an_event_that_cannot_be_written_leaves_nothing_half_done(
    app: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, lambda item: [city("Lyon"), city("Rome", about="bo", form="nonsense")])
    ensure_subject(app.account_id, key="bo")
    event = tell(app)
    drain(app)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.error_class) == ("pending", "invalid_fact")
    assert (Fact.objects.count(), Passage.objects.count(), CandidateOutcome.objects.count()) == (0, 0, 0)


def test_a_claim_that_was_lost_writes_nothing(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(item: ExtractionInput) -> list[Candidate]:
        return cities(item)

    use(monkeypatch, slow)
    event = tell(app)
    monkeypatch.setattr(processing, "_let_earlier_finish", lambda outcome: Job.objects.update(claim_token=None))
    assert drain_once(app)
    assert (Fact.objects.count(), Passage.objects.count(), outcome_of(event).result) == (0, 0, "pending")


def drain_once(principal: Principal) -> bool:
    return processing.process_front(Part(account_id=principal.account_id))


def test_an_event_whose_workers_died_is_given_up(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    event = tell(app)
    neighbour = tell(app, "i live in Rome", at=MAY, subject_id="bo")
    job = outcome_of(event).job
    dead = now() - jobs.CLAIM_LASTS - timedelta(seconds=1)
    Job.objects.filter(pk=job.pk).update(status=JobStatus.RUNNING, attempts=job.max_attempts, claimed_at=dead)
    drain(app)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.error_class, outcome.job.status) == ("failed", "attempts_used_up", JobStatus.DEAD)
    assert outcome_of(neighbour).result == "facts"


def test_what_is_due_is_delivered_again_once_a_line(app: Principal) -> None:
    for number in range(3):
        tell(app, f"m{number}", at=MARCH + timedelta(hours=number))
        tell(app, f"m{number}", at=MARCH + timedelta(hours=number), subject_id="bo")
    tell(app, "m", subject_id="cy")
    OrmQ.objects.all().delete()
    later = now() + timedelta(hours=1)
    Job.objects.filter(
        input_key__in=[str(pk) for pk in Event.objects.filter(text="m0").values_list("id", flat=True)]
    ).update(run_after=later)
    Job.objects.filter(input_key=str(Event.objects.get(text="m").id)).update(status=JobStatus.RUNNING, claimed_at=now())
    tasks.requeue_waiting()
    delivered = {task.task["args"][1] for task in OrmQ.objects.all()}
    fronts = Event.objects.filter(text="m1").values_list("id", flat=True)
    assert delivered == {str(job.id) for job in Job.objects.filter(input_key__in=[str(pk) for pk in fronts])}
    assert len(delivered) == 2


def test_a_withdrawn_event_is_closed_without_being_remembered(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    event = tell(app)
    Event.objects.update(withdrawn_at=now())
    drain(app)
    outcome = outcome_of(event)
    assert (outcome.result, outcome.reason) == ("nothing", "event_withdrawn")
    assert (Fact.objects.count(), Passage.objects.count()) == (0, 0)


def test_subjects_of_speech_in_a_group_keep_their_own_lines(app: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, cities)
    tell(app, at=MARCH, subject_id="ana")
    tell(app, "i live in Rome", at=MAY, subject_id="bo")
    bo = Subject.objects.get(key="bo")
    assert processing.drain(Part(account_id=app.account_id, subject_id=bo.id), seconds=5) == Drained(
        processed=1, pending=0
    )
    assert Fact.objects.get().subject == bo


@pytest.mark.parametrize(("under", "done"), [("/", 2), ("/p", 1), ("/q", 1), ("/pp", 0)])
def test_a_part_of_the_line_is_processed_alone(
    app: Principal, monkeypatch: pytest.MonkeyPatch, under: str, done: int
) -> None:
    use(monkeypatch, cities)
    tell(app)
    tell(app, project_id="q")
    assert processing.drain(Part(account_id=app.account_id, under=under), seconds=5).processed == done


def test_two_french_messages_are_an_update(app: Principal) -> None:
    tell(app, "Je préfère recevoir mes factures en français.", thread_id="t", subject_id="usr_verify_1")
    tell(
        app,
        "En fait, envoie-les moi en anglais plutôt, pas en français.",
        at=MAY,
        thread_id="t",
        subject_id="usr_verify_1",
    )
    drain(app)
    assert sorted(Fact.objects.values_list("status", "predicate", "value")) == [
        ("active", "preferred_language", {"value": "en"}),
        ("superseded", "preferred_language", {"value": "fr"}),
    ]
