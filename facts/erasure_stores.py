"""How the ledger wipes its own tables. Registered when Django starts; the order is that of wiping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from facts import erased_keys, index, vector_tables
from facts.clock import now
from facts.erasure import Erasing, Store, holds_no_content, register
from facts.erasure_search import keys_saying
from facts.models import (
    CommonLexemes,
    ConflictDecision,
    ConflictSet,
    Event,
    Evidence,
    Fact,
    FactRevision,
    FactText,
    Identity,
    IndexedUnit,
    Job,
    Membership,
    Passage,
    Separation,
    Subject,
    SubjectMerge,
)
from facts.models.records import JobStatus
from facts.vocabulary import ConflictStatus

#: What stands where words were cut out of an event.
GAP = "[…]"

_VECTORS = ("FactVector", "FactVector768", "FactVector1024", "FactVector1536")


def register_stores() -> None:
    """Register every table of this app."""
    for store in (
        Store(name="facts", tables=("facts.Fact",), find=_facts, wipe=_wipe_facts),
        Store(name="revisions", tables=("facts.FactRevision",), find=_revisions, wipe=_wipe_revisions),
        Store(name="evidence", tables=("facts.Evidence",), find=_evidence, wipe=_wipe_evidence),
        Store(
            name="fact_index",
            tables=("facts.FactText", *(f"facts.{name}" for name in _VECTORS)),
            find=_fact_index,
            wipe=_wipe_fact_index,
        ),
        Store(
            name="passages",
            tables=(
                "facts.Passage",
                "facts.PassageText",
                *(f"facts.{name.replace('Fact', 'Passage')}" for name in _VECTORS),
            ),
            find=_passages,
            wipe=_wipe_passages,
        ),
        Store(name="events", tables=("facts.Event",), find=_events, wipe=_wipe_events),
        Store(name="jobs", tables=("facts.Job",), find=_jobs, wipe=_wipe_jobs),
        Store(name="conflict_sets", tables=("facts.ConflictSet",), find=_conflict_sets, wipe=_wipe_conflict_sets),
        Store(
            name="conflict_decisions",
            tables=("facts.ConflictDecision",),
            find=_conflict_decisions,
            wipe=_wipe_conflict_decisions,
        ),
        Store(name="separations", tables=("facts.Separation",), find=_separations, wipe=_wipe_separations),
        Store(name="common_words", tables=("facts.CommonLexemes",), find=_common_words, wipe=_delete),
        Store(name="identities", tables=("facts.Identity",), find=_identities, wipe=_delete),
        Store(name="subject_merges", tables=("facts.SubjectMerge",), find=_merges, wipe=_wipe_merges),
        Store(name="subjects", tables=("facts.Subject",), find=_subjects, wipe=_wipe_subjects),
    ):
        register(store)
    for table, because in {
        "facts.User": "people who sign in; their accounts are not memory",
        "facts.Account": "the tenant's own name and settings",
        "facts.AccountSecret": "a random key",
        "facts.Scope": "places that people set up",
        "facts.ScopeLink": "ids and the name of a relation",
        "facts.Relation": "ids and the kind of a relation",
        "facts.Suppression": "keyed digests; it is what keeps the words from coming back",
        "facts.PredicateAlias": "names of predicates, which belong to no subject",
        "facts.EmbeddingSpace": "names of models",
        "facts.RefusedText": "ids and instants",
        "facts.LongJob": "ids, paths, cursors and counts of work, and who began or stopped it",
        "facts.AuditEntry": "ids, states, flags, counts and hashes, and who decided",
        "facts.AuditTip": "a number and a hash",
        "facts.OutboxEntry": "ids and states",
        "facts.DayFigure": "numbers by day, place and code",
        "facts.CountedUntil": "names of figures and instants",
    }.items():
        holds_no_content(table, because)


def _facts(erasing: Erasing) -> QuerySet:
    return Fact.objects.filter(account_id=erasing.account_id, pk__in=erasing.facts)


def _wipe_facts(erasing: Erasing, rows: QuerySet) -> None:
    """Leave the tombstone: who, where and when, and the keyed hash of the statement."""
    rows.update(
        statement="",
        predicate="",
        value=None,
        qualifiers={},
        identity_key="",
        value_key="",
        denial_key="",
        extractor_provider="",
        extractor_model="",
    )


def _revisions(erasing: Erasing) -> QuerySet:
    return FactRevision.objects.filter(account_id=erasing.account_id, fact__in=erasing.facts)


def _wipe_revisions(erasing: Erasing, rows: QuerySet) -> None:
    """The database lets this happen to revisions of deleted facts only."""
    rows.update(value=None, value_key="", qualifiers={}, identity_key="", reason="")


def _evidence(erasing: Erasing) -> QuerySet:
    """Quotes of facts that go, of events that go, and quotes by others of what is cut out."""
    return Evidence.objects.filter(
        Q(fact__in=erasing.facts) | Q(event__in=erasing.touched_events), account_id=erasing.account_id
    )


def _wipe_evidence(erasing: Erasing, rows: QuerySet) -> None:
    """Links of facts that go stay without their words; facts that stay lose what they have from events that go."""
    rows.filter(fact__in=erasing.facts).update(quote="")
    rows.filter(fact__in=erasing.released, event__in=erasing.events).delete()
    rows.filter(event__in=erasing.events).update(quote="")
    for link in rows.filter(event__in=erasing.cuts).exclude(quote=""):
        link.quote = _cut(link.quote, erasing.cuts[link.event_id])
        link.save(update_fields=["quote"])


def _fact_index(erasing: Erasing) -> QuerySet:
    return FactText.objects.filter(account_id=erasing.account_id, fact__in=erasing.facts)


def _wipe_fact_index(erasing: Erasing, rows: QuerySet) -> None:
    _delete(erasing, rows)
    _delete_vectors(IndexedUnit.FACT, erasing, list(erasing.facts))


def _passages(erasing: Erasing) -> QuerySet:
    return Passage.objects.filter(account_id=erasing.account_id, event__in=erasing.touched_events)


def _wipe_passages(erasing: Erasing, rows: QuerySet) -> None:
    """Passages of events that go are deleted with their index rows; others lose the words, and are indexed anew."""
    rows.filter(event__in=erasing.events).delete()
    shortened = []
    for passage in rows.filter(event__in=erasing.cuts):
        text = _cut(passage.text, erasing.cuts[passage.event_id])
        if text.strip() == GAP or passage.speaker_name in erasing.speakers:
            passage.delete()
        elif text != passage.text:
            passage.text = text
            passage.save(update_fields=["text"])
            shortened.append(passage)
    ids = [passage.id for passage in shortened]
    _delete_vectors(IndexedUnit.PASSAGE, erasing, ids)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM facts_passagetext WHERE account_id = %s AND passage_id = ANY(%s)", [erasing.account_id, ids]
        )
    index.write_passage_text(shortened)


def _events(erasing: Erasing) -> QuerySet:
    return Event.objects.filter(account_id=erasing.account_id, pk__in=erasing.touched_events)


def _wipe_events(erasing: Erasing, rows: QuerySet) -> None:
    """Leave of an event when it was and a keyed digest of its key, by which a repeat is known again."""
    whole = list(rows.filter(pk__in=erasing.events))
    keys = erased_keys.source_keys(erasing.account_id, {event.source_key for event in whole})
    for event in whole:
        known = event.source_key.startswith(erased_keys.PREFIX)
        event.source_key = event.source_key if known else keys[event.source_key]
        event.text = event.content_hash = event.platform_user_id = event.thread = event.ts = event.run_id = ""
        event.payload, event.urls, event.recorded_claims = {}, [], {}
        event.withdrawn_at = event.withdrawn_at or now()
        event.processed_at = event.processed_at or now()
        event.text_removed_at = event.text_removed_at or now()
        event.save()
    for event in rows.filter(pk__in=erasing.cuts):
        cuts = erasing.cuts[event.id]
        event.text = _cut(event.text, cuts)
        payload = _cut_json(event.payload, cuts, speakers=erasing.speakers)
        # The sender's own spelling of the words may differ from the text that was read out of it.
        event.payload = payload if payload != event.payload else {}
        event.save(update_fields=["text", "payload"])


def _jobs(erasing: Erasing) -> QuerySet:
    """Jobs of these events and facts, those that one of these events asked for, and any whose intermediate results
    repeat the words."""
    ids = [str(key) for key in (*erasing.events, *erasing.cuts)]
    return Job.objects.filter(
        Q(input_key__in=ids)
        | Q(payload__event__in=ids)
        | Q(payload__fact_id__in=[str(key) for key in erasing.facts])
        | Q(pk__in=keys_saying(erasing, Job, "payload", "error")),
        account_id=erasing.account_id,
    )


def _wipe_jobs(erasing: Erasing, rows: QuerySet) -> None:
    """Jobs of what is gone are over, whoever works on them; others lose what was kept for their next try.

    Whoever reads a message from which words are cut reads it anew.
    """
    rows.filter(input_key__in=[str(key) for key in erasing.events]).update(
        status=JobStatus.DONE, claim_token=None, finished_at=now(), payload={}, error=""
    )
    rows.filter(input_key__in=[str(key) for key in erasing.cuts], status=JobStatus.RUNNING).update(
        status=JobStatus.QUEUED, claim_token=None, run_after=now()
    )
    for job in rows.exclude(payload={}):
        job.payload = {key: value for key, value in job.payload.items() if key == "fact_id"}
        job.error = ""
        job.save(update_fields=["payload", "error"])


def _conflict_sets(erasing: Erasing) -> QuerySet:
    sets = ConflictSet.objects.filter(account_id=erasing.account_id)
    return sets.filter(
        Q(pk__in=sets.filter(members__fact__in=erasing.facts).values("pk"))
        | Q(subject__in=erasing.subject_ids)
        | Q(pk__in=keys_saying(erasing, ConflictSet, "rationale"))
    )


def _wipe_conflict_sets(erasing: Erasing, rows: QuerySet) -> None:
    """A set that is still open keeps the digest of the claim that its other members dispute."""
    rows.update(rationale="")
    rows.exclude(status=ConflictStatus.OPEN).update(identity_key="")


def _conflict_decisions(erasing: Erasing) -> QuerySet:
    decisions = ConflictDecision.objects.filter(account_id=erasing.account_id)
    return decisions.filter(
        Q(conflict_set__in=_conflict_sets(erasing).values("pk"))
        | Q(pk__in=keys_saying(erasing, ConflictDecision, "detail", "rationale"))
    )


def _wipe_conflict_decisions(erasing: Erasing, rows: QuerySet) -> None:
    """What was decided stays; the words that were given for it, and what sets members apart, go."""
    rows.update(rationale="", detail={})


def _separations(erasing: Erasing) -> QuerySet:
    return Separation.objects.filter(
        Q(first__in=erasing.facts)
        | Q(second__in=erasing.facts)
        | Q(pk__in=keys_saying(erasing, Separation, "distinction")),
        account_id=erasing.account_id,
    )


def _wipe_separations(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(distinction="")


def _common_words(erasing: Erasing) -> QuerySet:
    """Counts of the subject's own words, and those of whole scopes among which its names are; they are counted anew."""
    words = [word for name in erasing.names for word in name.casefold().split()]
    return CommonLexemes.objects.filter(
        Q(subject__in=erasing.subject_ids) | Q(counts__has_any_keys=words), account_id=erasing.account_id
    )


def _identities(erasing: Erasing) -> QuerySet:
    return Identity.objects.filter(account_id=erasing.account_id, subject__in=erasing.subject_ids)


def _merges(erasing: Erasing) -> QuerySet:
    """What people wrote about merging a subject that goes, or that repeats the words."""
    found = SubjectMerge.objects.filter(account_id=erasing.account_id).exclude(rationale="")
    concerned = Q(source__in=erasing.subject_ids) | Q(target__in=erasing.subject_ids)
    return found.filter(concerned | Q(pk__in=keys_saying(erasing, SubjectMerge, "rationale")))


def _wipe_merges(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(rationale="")


def _subjects(erasing: Erasing) -> QuerySet:
    """The subject itself, unless it signs in: a login needs whom it stands for."""
    members = Membership.objects.filter(account_id=erasing.account_id, subject__in=erasing.subject_ids)
    found = Subject.objects.filter(account_id=erasing.account_id, pk__in=erasing.subject_ids)
    return found.exclude(pk__in=members.values("subject_id"))


def _wipe_subjects(erasing: Erasing, rows: QuerySet) -> None:
    """Leave a keyed digest in the place of the key: a new subject of that key is another one, and is recognised."""
    for subject in rows:
        key = erased_keys.subject_key(erasing.account_id, kind=subject.kind, key=subject.key)
        before = Subject.objects.filter(account_id=erasing.account_id, kind=subject.kind, key__startswith=key).count()
        subject.key, subject.name = (f"{key}:{before + 1}" if before else key), ""
        subject.save(update_fields=["key", "name"])


def _delete(erasing: Erasing, rows: QuerySet) -> None:
    rows.delete()


def _delete_vectors(unit: IndexedUnit, erasing: Erasing, ids: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        for table in vector_tables.tables(unit):
            cursor.execute(
                f"DELETE FROM {table} WHERE account_id = %s AND {unit}_id = ANY(%s)", [erasing.account_id, list(ids)]
            )


def _cut(text: str, words: Sequence[str]) -> str:
    for one in words:
        text = text.replace(one, GAP)
    return text


def _cut_json(value: Any, words: Sequence[str], *, speakers: frozenset[str]) -> Any:
    """Cut the words out of every text in a JSON value; one that is the name of a speaker goes as a whole."""
    match value:
        case str():
            return GAP if value.strip() in speakers else _cut(value, words)
        case Mapping():
            return {key: _cut_json(item, words, speakers=speakers) for key, item in value.items()}
        case list():
            return [_cut_json(item, words, speakers=speakers) for item in value]
        case _:
            return value
