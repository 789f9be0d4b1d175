"""How reading wipes its own tables. Registered when Django starts."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from facts.erasure import Erasing, Store, holds_no_content, register
from facts.erasure_search import keys_citing, keys_saying
from retrieval.cards import marking
from retrieval.entities import pruning
from retrieval.entities.names import fold
from retrieval.models import (
    AliasPair,
    Card,
    CardEdit,
    CardKind,
    CardVersion,
    EntityAlias,
    Mention,
    ReadStat,
    RetrievalProfile,
    StoredQuery,
    Trace,
)


def register_stores() -> None:
    """Register every table of this app."""
    for store in (
        Store(name="card_edits", tables=("retrieval.CardEdit",), find=_edits, wipe=_delete),
        Store(name="card_versions", tables=("retrieval.CardVersion",), find=_versions, wipe=_delete),
        Store(name="cards", tables=("retrieval.Card", "retrieval.CardVector"), find=_cards, wipe=_wipe_cards),
        Store(name="mentions", tables=("retrieval.Mention",), find=_mentions, wipe=_wipe_mentions),
        Store(name="name_pairs", tables=("retrieval.AliasPair",), find=_pairs, wipe=_delete),
        Store(name="names", tables=("retrieval.EntityAlias",), find=_aliases, wipe=_wipe_aliases),
        Store(name="stored_queries", tables=("retrieval.StoredQuery",), find=_stored_queries, wipe=_delete),
        Store(name="call_purposes", tables=("retrieval.ReadStat",), find=_purposes, wipe=_wipe_purposes),
        Store(name="profile_notes", tables=("retrieval.RetrievalProfile",), find=_notes, wipe=_wipe_notes),
        Store(name="trace_queries", tables=("retrieval.Trace",), find=_traces, wipe=_wipe_traces),
    ):
        register(store)
    holds_no_content("retrieval.NamesRead", "which facts were read for names, by which rules")


def _edits(erasing: Erasing) -> QuerySet:
    return CardEdit.objects.filter(
        Q(card__in=_cards_about(erasing))
        | Q(pk__in=keys_citing(erasing.account_id, CardEdit, [*erasing.facts, *erasing.withdrawn], "original"))
        | Q(pk__in=keys_saying(erasing, CardEdit, "original", "text")),
        account_id=erasing.account_id,
    )


def _versions(erasing: Erasing) -> QuerySet:
    """Versions go as a whole: what is left of one would be no version that there ever was."""
    return CardVersion.objects.filter(
        Q(card__in=_cards_about(erasing))
        | Q(pk__in=keys_citing(erasing.account_id, CardVersion, [*erasing.facts, *erasing.withdrawn], "lines"))
        | Q(pk__in=keys_saying(erasing, CardVersion, "lines")),
        account_id=erasing.account_id,
    )


def _cards_about(erasing: Erasing) -> QuerySet:
    """The profiles of the erased subject: its own, and those for the readers of scopes."""
    keys = [str(subject_id) for subject_id in erasing.subject_ids]
    about = Q(subject__in=erasing.subject_ids) | Q(kind=CardKind.SHARED_PROFILE, key__in=keys)
    return Card.objects.filter(about, account_id=erasing.account_id)


def _cards(erasing: Erasing) -> QuerySet:
    return Card.objects.filter(
        Q(pk__in=_cards_about(erasing))
        | Q(pk__in=keys_citing(erasing.account_id, Card, [*erasing.facts, *erasing.withdrawn], "lines"))
        | Q(pk__in=keys_saying(erasing, Card, "key", "title", "lines")),
        account_id=erasing.account_id,
    )


def _wipe_cards(erasing: Erasing, rows: QuerySet) -> None:
    """Lines that rest on what goes are taken out; a card that is about it, or says it otherwise, is built anew."""
    keys = list(rows.values_list("pk", flat=True))
    marking.forget_facts(erasing.account_id, erasing.facts | erasing.withdrawn)
    saying = keys_saying(erasing, Card, "key", "title", "lines")
    going = Card.objects.filter(Q(pk__in=_cards_about(erasing)) | Q(pk__in=saying), pk__in=keys)
    scopes = list(going.values_list("scope_id", flat=True))
    going.delete()
    marking.mark_scopes(erasing.account_id, scopes)


def _mentions(erasing: Erasing) -> QuerySet:
    return Mention.objects.filter(account_id=erasing.account_id, fact__in=erasing.facts)


def _wipe_mentions(erasing: Erasing, rows: QuerySet) -> None:
    """Also drops the names that nothing mentions any more."""
    pruning.drop_wiped(erasing.account_id)


def _folded(erasing: Erasing) -> list[str]:
    return [fold(name) for name in erasing.names]


def _pairs(erasing: Erasing) -> QuerySet:
    names = _folded(erasing)
    return AliasPair.objects.filter(Q(first__in=names) | Q(second__in=names), account_id=erasing.account_id)


def _aliases(erasing: Erasing) -> QuerySet:
    return EntityAlias.objects.filter(account_id=erasing.account_id, folded__in=_folded(erasing))


def _wipe_aliases(erasing: Erasing, rows: QuerySet) -> None:
    """A name that facts about others still hold stays one of theirs, and no longer stands for the subject."""
    rows.filter(mentions=None).delete()
    rows.update(claimed=False)
    pruning.prune(erasing.account_id)


def _stored_queries(erasing: Erasing) -> QuerySet:
    asked_for = [erasing.subject.key] if erasing.subject is not None else []
    return StoredQuery.objects.filter(
        Q(subject_key__in=asked_for) | Q(pk__in=keys_saying(erasing, StoredQuery, "query", "subject_key")),
        account_id=erasing.account_id,
    )


def _purposes(erasing: Erasing) -> QuerySet:
    """Figures of calls that named a purpose in these words."""
    saying = keys_saying(erasing, ReadStat, "purpose")
    return ReadStat.objects.filter(account_id=erasing.account_id, pk__in=saying)


def _wipe_purposes(erasing: Erasing, rows: QuerySet) -> None:
    """The figures stay, each row apart, as rows of two purposes are."""
    for row in rows:
        row.purpose = f"erased {row.pk}"
        row.save(update_fields=["purpose"])


def _notes(erasing: Erasing) -> QuerySet:
    saying = keys_saying(erasing, RetrievalProfile, "note")
    return RetrievalProfile.objects.filter(account_id=erasing.account_id, pk__in=saying)


def _wipe_notes(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(note="")


def _traces(erasing: Erasing) -> QuerySet:
    """Reads about the subject or by it, and those whose question says the words."""
    found = Trace.objects.filter(account_id=erasing.account_id)
    return found.filter(
        Q(subject__in=erasing.subject_ids)
        | Q(reader__in=erasing.subject_ids)
        | Q(pk__in=keys_saying(erasing, Trace, "query", "request", "subject_key", "purpose", "credential_name"))
    )


def _wipe_traces(erasing: Erasing, rows: QuerySet) -> None:
    """What was asked goes; what was decided about each fact stays, as ids."""
    named = keys_saying(erasing, Trace, "credential_name")
    rows.filter(pk__in=named).update(credential_name="")
    rows.update(query="", request={}, subject_key="", purpose="")


def _delete(erasing: Erasing, rows: QuerySet) -> None:
    rows.delete()
