"""How ingestion wipes its own tables. Registered when Django starts."""

from __future__ import annotations

import json

from django.db.models import Q, QuerySet

from facts.clock import now
from facts.erasure import Erasing, Store, holds_no_content, register
from facts.erasure_search import keys_saying
from ingest import batch_reading, reasons
from ingest.models import (
    Action,
    CandidateOutcome,
    Delivery,
    DeliveryTarget,
    EventOutcome,
    ImportUpload,
    MoodEntry,
    OutcomeResult,
    TargetAudience,
    TargetRecipient,
)


def register_stores() -> None:
    """Register every table of this app."""
    for store in (
        Store(name="candidates", tables=("ingest.CandidateOutcome",), find=_candidates, wipe=_wipe_candidates),
        Store(name="uploads", tables=("ingest.ImportUpload",), find=_uploads, wipe=_empty),
        Store(name="waiting_events", tables=("ingest.EventOutcome",), find=_waiting, wipe=_close),
        Store(name="actions", tables=("ingest.Action",), find=_actions, wipe=_wipe_actions),
        Store(name="deliveries", tables=("ingest.Delivery",), find=_deliveries, wipe=_delete),
        Store(name="moods", tables=("ingest.MoodEntry",), find=_moods, wipe=_delete),
        Store(name="delivery_targets", tables=("ingest.DeliveryTarget",), find=_targets, wipe=_delete),
        Store(name="delivery_readers", tables=("ingest.TargetRecipient",), find=_readers, wipe=_delete),
    ):
        register(store)
    for table, because in {
        "ingest.MessageBatch": "counts and times; what was read of it is kept with its job",
        "ingest.ModelCall": "figures, codes and a keyed digest",
        "ingest.ChannelBinding": "the name of a channel, which people set up",
        "ingest.ImportRun": "where an import read from, its options and counts",
        "ingest.ImportFault": "numbers of lines, names of fields and codes",
        "ingest.BackfillChannel": "identifiers of channels, time stamps and counts",
        "ingest.ImportedFile": "the name of a file and how far it was read",
        "ingest.SlackWorkspace": "the names of a workspace and its app, which people set up",
        "ingest.SlackChannel": "the name of a channel, which people set up, and who opted it in",
        "ingest.SlackReceipt": "the identifier of a request of Slack's and what it came to",
        "ingest.DeletedMessage": "the key of a message that was never seen",
        "ingest.OptOut": "who does not want to be remembered, and keyed digests: it has to be known for good",
        "ingest.ActionRule": "categories, thresholds and names of targets",
        "ingest.ReasoningMark": "a time stamp",
        "ingest.BlockedWay": "ids, numbers and times",
    }.items():
        holds_no_content(table, because)


def _candidates(erasing: Erasing) -> QuerySet:
    """What was read out of the events and became no fact, and what says the same elsewhere."""
    found = CandidateOutcome.objects.filter(account_id=erasing.account_id).exclude(statement="", quote="")
    return found.filter(
        Q(outcome__event__in=erasing.touched_events)
        | Q(fact__in=erasing.facts)
        | Q(pk__in=keys_saying(erasing, CandidateOutcome, "statement", "quote"))
    )


def _wipe_candidates(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(statement="", quote="")


def _uploads(erasing: Erasing) -> QuerySet:
    """Return the files that wait to be imported: for a subject all of them, else those that hold the words.

    Who is meant by a file is known only once it is read; an upload is easily made again.
    """
    waiting = ImportUpload.objects.filter(account_id=erasing.account_id).exclude(content=b"")
    if erasing.subject is not None:
        return waiting
    spellings = {form.encode() for text in erasing.texts for form in (text, json.dumps(text)[1:-1])} - {b""}
    holding = [row.pk for row in waiting if any(spelling in bytes(row.content) for spelling in spellings)]
    return waiting.filter(pk__in=holding)


def _empty(erasing: Erasing, rows: QuerySet) -> None:
    """The import that comes upon it ends as failed and says why."""
    rows.update(content=b"")


def _waiting(erasing: Erasing) -> QuerySet:
    return EventOutcome.objects.filter(
        account_id=erasing.account_id, event__in=erasing.events, result=OutcomeResult.PENDING
    )


def _close(erasing: Erasing, rows: QuerySet) -> None:
    """Nothing is left to be read in them; a worker that reads one now finds its claim gone."""
    batch_reading.forget_answers(erasing.account_id, list(rows.values_list("event_id", flat=True)))
    rows.update(
        result=OutcomeResult.NOTHING, reason=reasons.ERASED, error_class="", finished_at=now(), waits_for_batch=False
    )


def _actions(erasing: Erasing) -> QuerySet:
    """What is done about these facts or about the subject, and what the subject was to do about others."""
    return Action.objects.filter(account_id=erasing.account_id).filter(
        _done_about(erasing) | Q(assignee__in=erasing.subject_ids)
    )


def _wipe_actions(erasing: Erasing, rows: QuerySet) -> None:
    """An action about somebody else stays, in nobody's hands."""
    rows.filter(_done_about(erasing)).delete()
    rows.update(assignee=None)


def _done_about(erasing: Erasing) -> Q:
    return Q(fact__in=erasing.facts) | Q(subject__in=erasing.subject_ids)


def _deliveries(erasing: Erasing) -> QuerySet:
    """What was or will be sent about these, or to the subject."""
    actions = Action.objects.filter(_done_about(erasing), account_id=erasing.account_id).values("pk")
    return Delivery.objects.filter(account_id=erasing.account_id).filter(
        Q(object_id__in=actions) | Q(object_id__in=erasing.facts) | Q(recipient__in=erasing.subject_ids)
    )


def _moods(erasing: Erasing) -> QuerySet:
    """How the subject felt, and what was read out of these facts about anybody."""
    said = Q(facts__has_any_keys=[str(fact_id) for fact_id in erasing.facts])
    return MoodEntry.objects.filter(said | Q(subject__in=erasing.subject_ids), account_id=erasing.account_id)


def _targets(erasing: Erasing) -> QuerySet:
    """The subject's own mailbox or channel, which an administrator set up."""
    return DeliveryTarget.objects.filter(
        account_id=erasing.account_id, audience=TargetAudience.PERSON, readers__subject__in=erasing.subject_ids
    )


def _readers(erasing: Erasing) -> QuerySet:
    """The subject reads nothing any more that is sent to others as well."""
    return TargetRecipient.objects.filter(account_id=erasing.account_id, subject__in=erasing.subject_ids)


def _delete(erasing: Erasing, rows: QuerySet) -> None:
    rows.delete()
