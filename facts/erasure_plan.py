"""What a forgetting takes: worked out under locks, before anything is touched.

The locks are those of whoever writes facts, in the same order: jobs, events, subjects. A worker in the middle of a
message either has finished before, and what it wrote goes too, or finds its claim gone.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.db.models import Q, QuerySet

from facts.erasure import Erasing, ErasureMode
from facts.erasure_search import LEAST_NAME, distinctive
from facts.locks import lock_subject
from facts.models import (
    Event,
    Evidence,
    Fact,
    FactRevision,
    Identity,
    Job,
    Membership,
    Passage,
    Relation,
    Subject,
    SubjectMerge,
)
from facts.tenancy import present
from facts.vocabulary import RelationKind, Status

#: Fields of a turn in which its words stand.
_SAID = ("content", "text", "message")


def for_fact(fact: Fact) -> Erasing:
    """Return what goes with one fact: it, its copies, and the words that they quote.

    A message of the subject that supports nothing else goes as a whole; from others the quoted words are cut out.
    """
    facts = _with_copies({fact.id}, fact.account_id)
    whole, cuts = _quoted(fact.account_id, facts, own={fact.subject_id})
    return Erasing(
        account_id=fact.account_id,
        facts=frozenset(facts),
        events=whole,
        cuts=cuts,
        texts=_texts(fact.account_id, facts, whole),
    )


def for_subject(subject: Subject, *, within: str | None, mode: ErasureMode) -> Erasing:
    """Return what goes with a subject: what is about it and what it said; ``within``: in the scope of that path only.

    Facts about others which rest on what it said keep standing on their other sources. Those without another one are
    withdrawn, or in strict mode go as well.
    """
    account_id = subject.account_id
    events, about = own_events(subject, within=within), own_facts(subject, within=within)
    said = frozenset(events.values_list("id", flat=True))
    gone = set(about.values_list("id", flat=True))
    released = set(
        Fact.objects.filter(account_id=account_id, evidence__event__in=said)
        .exclude(pk__in=gone)
        .exclude(status=Status.DELETED)
        .values_list("id", flat=True)
    )
    supported = Evidence.objects.filter(account_id=account_id, fact__in=released, event__withdrawn_at__isnull=True)
    alone = released - set(supported.exclude(event__in=said).values_list("fact_id", flat=True))
    if mode is ErasureMode.STRICT:
        gone |= alone
        alone = set()
    gone = _with_copies(gone, account_id)
    whole, cuts = _quoted(account_id, gone, own={subject.id, present(subject).id}, known=said)
    spoken = _spoken_in_other_events(subject, within=within, except_in=whole)
    return Erasing(
        account_id=account_id,
        facts=frozenset(gone),
        events=whole,
        cuts=_joined(cuts, spoken),
        released=frozenset(released - gone),
        withdrawn=frozenset(alone - gone),
        texts=_texts(account_id, gone, whole, spoken=spoken),
        speakers=frozenset(_all_names(subject)) if spoken else frozenset(),
        names=_names(subject) if within is None else (),
        subject=subject if within is None else None,
        merged=tuple(merged_into(subject)) if within is None else (),
    )


def merged_into(subject: Subject) -> list[uuid.UUID]:
    """Return the subjects that were merged into this one, directly or through others."""
    found: list[uuid.UUID] = []
    ahead = [subject.id]
    while ahead:
        below = Subject.objects.filter(account_id=subject.account_id, merged_into__in=ahead).order_by("id")
        ahead = list(below.values_list("id", flat=True))
        found += ahead
    return found


def own_events(subject: Subject, *, within: str | None) -> QuerySet[Event]:
    """Return what a subject said, and what was said in its conversations, in the scope of that path or everywhere.

    Of one that was merged into another: what was its own until then.
    """
    own = Q(subject=subject) | Q(speaker=subject)
    if subject.merged_into_id is not None:
        merges = SubjectMerge.objects.filter(account_id=subject.account_id, source=subject, undone_at__isnull=True)
        for rows in merges.values_list("rows", flat=True):
            own |= Q(pk__in=[*rows.get("facts.Event.subject", ()), *rows.get("facts.Event.speaker", ())])
    events = Event.objects.filter(own, account_id=subject.account_id)
    return events if within is None else events.filter(scope__path=within)


def own_facts(subject: Subject, *, within: str | None) -> QuerySet[Fact]:
    """Return the facts about a subject that still have content, likewise."""
    own = Q(subject=subject)
    if subject.merged_into_id is not None:
        before = FactRevision.objects.filter(account_id=subject.account_id, subject=subject)
        own |= Q(pk__in=before.values("fact_id"))
    facts = Fact.objects.filter(own, account_id=subject.account_id).exclude(status=Status.DELETED)
    return facts if within is None else facts.filter(scope__path=within)


def lock_events(account_id: uuid.UUID, event_ids: Iterable[uuid.UUID]) -> None:
    """Keep workers from writing about these messages: their jobs first, then the messages."""
    ids = sorted(event_ids)
    jobs = Job.objects.filter(account_id=account_id, input_key__in=[str(event_id) for event_id in ids])
    list(jobs.select_for_update().order_by("id").values_list("id", flat=True))
    rows = Event.objects.filter(account_id=account_id, pk__in=ids).select_for_update(no_key=True)
    list(rows.order_by("id").values_list("id", flat=True))


def lock_facts(erasing: Erasing) -> None:
    """Lock the subjects of all facts concerned, in one order for everybody, and then the subject that goes.

    A capture that refers to that subject is waited for, and a later one waits.
    """
    facts = Fact.objects.filter(account_id=erasing.account_id, pk__in=erasing.facts | erasing.released)
    places = set(facts.values_list("scope_id", "subject_id"))
    events = Event.objects.filter(account_id=erasing.account_id, pk__in=erasing.events)
    places |= set(events.values_list("scope_id", "subject_id"))
    for scope_id, subject_id in sorted(places):
        lock_subject(scope_id, subject_id)
    if erasing.subject is not None:
        Subject.objects.select_for_update().get(account_id=erasing.account_id, pk=erasing.subject.pk)


def _with_copies(facts: set[uuid.UUID], account_id: uuid.UUID) -> set[uuid.UUID]:
    """Add the copies that were promoted from these facts and what was deduced from them, and the same of those."""
    while True:
        copies = Relation.objects.filter(
            account_id=account_id,
            target__in=facts,
            kind__in=[RelationKind.PROMOTED_FROM, RelationKind.DERIVED_FROM],
        ).exclude(source__status=Status.DELETED)
        more = set(copies.values_list("source_id", flat=True)) - facts
        if not more:
            return facts
        facts = facts | more


def _quoted(
    account_id: uuid.UUID, facts: set[uuid.UUID], *, own: set[uuid.UUID], known: frozenset[uuid.UUID] = frozenset()
) -> tuple[frozenset[uuid.UUID], Mapping[uuid.UUID, tuple[str, ...]]]:
    """Return which cited events go as a whole, ``known`` among them, and what is cut out of the others.

    Where the quoted words cannot be found as they are, all of the event goes rather than none of it. An event whose
    text was removed before has nothing to lose but the quotes of it.
    """
    evidence = Evidence.objects.filter(account_id=account_id, fact__in=facts).exclude(event__in=known)
    quotes: dict[uuid.UUID, set[str]] = defaultdict(set)
    for event_id, quote in evidence.values_list("event_id", "quote"):
        quotes[event_id].add(quote.strip())
    supporting_others = set(
        Evidence.objects.filter(account_id=account_id, event__in=quotes)
        .exclude(fact__in=facts)
        .exclude(fact__status=Status.DELETED)
        .values_list("event_id", flat=True)
    )
    passages: dict[uuid.UUID, list[str]] = defaultdict(list)
    for event_id, text in Passage.objects.filter(account_id=account_id, event__in=quotes).values_list(
        "event_id", "text"
    ):
        passages[event_id].append(text)
    whole, cuts = set(known), {}
    for event in Event.objects.filter(account_id=account_id, pk__in=quotes):
        said = passages[event.id] or [event.text]
        is_empty = not event.text and not event.payload
        can_be_cut = is_empty or all(
            quote and quote in event.text and any(quote in text for text in said) for quote in quotes[event.id]
        )
        if not can_be_cut or (event.id not in supporting_others and event.subject_id in own):
            whole.add(event.id)
        else:
            cuts[event.id] = tuple(sorted(quotes[event.id], key=len, reverse=True))
    return frozenset(whole), cuts


def _spoken_in_other_events(
    subject: Subject, *, within: str | None, except_in: frozenset[uuid.UUID]
) -> dict[uuid.UUID, set[str]]:
    """Return what the subject said in conversations of others, by event; also what was not cut into passages yet."""
    names = _all_names(subject)
    place = {"account_id": subject.account_id} | ({} if within is None else {"scope__path": within})
    spoken: dict[uuid.UUID, set[str]] = defaultdict(set)
    passages = Passage.objects.filter(speaker_name__in=names, **place).exclude(event__in=except_in)
    for event_id, text in passages.values_list("event_id", "text"):
        spoken[event_id].add(text.strip())
    for name in sorted(names):
        talks = Event.objects.filter(payload__messages__contains=[{"speaker": name}], **place).exclude(pk__in=except_in)
        for event_id, turns in talks.values_list("id", "payload__messages"):
            said = [turn for turn in turns if isinstance(turn, Mapping) and turn.get("speaker") == name]
            spoken[event_id] |= {
                text.strip() for turn in said for key in _SAID if isinstance(text := turn.get(key), str)
            }
    return spoken


def _joined(
    cuts: Mapping[uuid.UUID, tuple[str, ...]], more: Mapping[uuid.UUID, set[str]]
) -> dict[uuid.UUID, tuple[str, ...]]:
    """Return all cuts of each event, the longest first, so that none cuts another one in two."""
    return {
        event_id: tuple(sorted({*cuts.get(event_id, ()), *more.get(event_id, ())} - {""}, key=len, reverse=True))
        for event_id in {*cuts, *more}
    }


def _texts(
    account_id: uuid.UUID,
    facts: set[uuid.UUID],
    events: frozenset[uuid.UUID],
    *,
    spoken: Mapping[uuid.UUID, set[str]] | None = None,
) -> tuple[str, ...]:
    """Return the statements, the quotes and all that was said, as far as they are worth looking for."""
    found = list(Fact.objects.filter(account_id=account_id, pk__in=facts).values_list("statement", flat=True))
    found += Evidence.objects.filter(account_id=account_id, fact__in=facts).values_list("quote", flat=True)
    found += Passage.objects.filter(account_id=account_id, event__in=events).values_list("text", flat=True)
    found += Event.objects.filter(account_id=account_id, pk__in=events).values_list("text", flat=True)
    found += [text for texts in (spoken or {}).values() for text in texts]
    return distinctive(found)


def _names(subject: Subject) -> tuple[str, ...]:
    """Return the names that the subject goes by; none of one who signs in, whose account stays."""
    if Membership.objects.filter(account_id=subject.account_id, subject=subject).exists():
        return ()
    return tuple(sorted(name for name in _all_names(subject) if len(name) >= LEAST_NAME))


def _all_names(subject: Subject) -> set[str]:
    """Return the names, keys and identities of the subject and of those that were merged into it.

    But for those that others go by as well.
    """
    ids = [subject.id, *merged_into(subject)]
    identities = Identity.objects.filter(account_id=subject.account_id, subject__in=ids)
    itself = Subject.objects.filter(account_id=subject.account_id, pk__in=ids).values_list("name", "key")
    names = {*identities.values_list("value", flat=True), *(name for pair in itself for name in pair)}
    others = Subject.objects.filter(Q(name__in=names) | Q(key__in=names), account_id=subject.account_id)
    shared = {name for pair in others.exclude(pk__in=ids).values_list("name", "key") for name in pair}
    return {name.strip() for name in names - shared} - {""}
