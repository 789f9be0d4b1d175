"""Whom a message is about: speakers and subjects of an event, and the subject of each possible fact.

Scope and subject come from the event. A name in the text leads to a subject only when it is that of somebody in the
conversation, or of exactly one person the account knows.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import CharField, F, Func, Q, Value
from django.db.models.functions import Lower

from facts.candidates import Candidate
from facts.canonical import normalise_text
from facts.errors import Conflicting, DomainError, NotFound
from facts.models import Event, Identity, Scope, Subject
from facts.tenancy import ensure_subject, present, resolve_identity
from facts.vocabulary import SubjectKind
from governance import fields
from ingest.extraction import GROUP, ExtractionInput
from ingest.extraction.subjects import resolve, subject_kind
from ingest.normalise import Turn

#: A key that reads as a person's name; others, such as ``usr_81``, would spoil a sentence.
_NAME_LIKE = re.compile(r"[^\W\d_]+(?:[ .'’-]+[^\W\d_]+)*\.?")
_WORD = re.compile(r"@?[^\W_][\w.'’-]*")
#: Words of one message that are tried as names.
MAX_MENTIONS = 100
#: Persons that are looked at for those names; a name that many bear tells nobody apart anyway.
MAX_NAMESAKES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Who takes part: the event's speaker (``None``: unknown), and subjects by the names they go by there."""

    speaker: Subject | None
    by_name: Mapping[str, Subject]

    def named(self, name: str) -> Subject | None:
        """Return the one who is called so in the conversation."""
        return self.by_name.get(fold(name))


def fold(name: str) -> str:
    """Return a name as names are compared: without case, surrounding blanks or an at sign."""
    return normalise_text(name).lstrip("@").casefold()


def spoken_name(subject: Subject | None) -> str:
    """Return the name to use in a sentence: the given one, else a key that reads as a name, else ""."""
    if subject is None:
        return ""
    return subject.name or (subject.key if _NAME_LIKE.fullmatch(subject.key) else "")


def subject_by_alias(account_id: uuid.UUID, alias: tuple[str, str], *, key: str, kind: str, name: str = "") -> Subject:
    """Return the subject of an alias, registering an unknown one for ``key`` (or, without a key, as ``kind:value``).

    Raises ``Conflicting`` (``alias_conflict``) when the alias belongs to another subject than ``key``, and
    ``DomainError`` (``alias_self_registration_too_long``).
    """
    platform, value = alias
    try:
        known = resolve_identity(account_id, platform=platform, value=value)
    except NotFound:
        own_key = key or f"{platform}:{value}"
        if len(own_key) > fields.IDENTIFIER_LENGTH:
            raise DomainError(
                "This alias is too long to register itself.",
                code="alias_self_registration_too_long",
                field="subject_alias",
            ) from None
        subject = ensure_subject(account_id, key=own_key, kind=kind, name=name)
        identity, _ = Identity.objects.get_or_create(
            account_id=account_id, platform=platform, value=value, defaults={"subject": subject}
        )
        return identity.subject
    if key and known.key != key and ensure_subject(account_id, key=key, kind=known.kind).id != known.id:
        raise Conflicting("This alias belongs to another subject.", code="alias_conflict", field="subject_alias")
    return known


def find_person(account_id: uuid.UUID, name: str) -> Subject | None:
    """Return the one person of the account who goes by ``name``: key, identity, full name or first name."""
    wanted = fold(name)
    if not wanted:
        return None
    people = Subject.objects.filter(account_id=account_id, kind=SubjectKind.PERSON)
    by_key = people.filter(key__in={name.strip(), wanted}).order_by("key").first()
    if by_key is not None:
        return present(by_key)
    known_as = Identity.objects.filter(account_id=account_id, value__iexact=wanted).values("subject_id")
    called = Q(name__iexact=wanted) | Q(key__iexact=wanted) | Q(id__in=known_as)
    for condition in (called, Q(name__istartswith=f"{wanted} ")):
        found = {one.id: one for one in map(present, people.filter(condition)[:MAX_NAMESAKES])}
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
    return None


def speaker_of_turn(account_id: uuid.UUID, turn: Turn, *, others: Sequence[Subject]) -> Subject | None:
    """Return who said a turn that names its speaker: one of ``others`` first, else a person the account knows."""
    for subject in others:
        if fold(turn.speaker) in {fold(subject.key), fold(subject.name)}:
            return subject
    return find_person(account_id, turn.speaker)


def mentioned(account_id: uuid.UUID, text: str) -> list[Subject]:
    """Return the persons of the account whom a text names unmistakably, in two queries whatever its length."""
    words = dict.fromkeys(fold(word.rstrip(".'’-")) for word in _WORD.findall(text) if not word[0].islower())
    likely = [word for word in words if word][:MAX_MENTIONS]
    if not likely:
        return []
    found: dict[str, dict[uuid.UUID, Subject]] = {}
    identities = Identity.objects.annotate(folded=Lower("value")).filter(account_id=account_id, folded__in=likely)
    for identity in identities.select_related("subject")[:MAX_NAMESAKES]:
        if identity.subject.kind == SubjectKind.PERSON:
            found.setdefault(identity.folded, {})[identity.subject_id] = identity.subject
    first_name = Lower(Func(F("name"), Value(" "), Value(1), function="split_part", output_field=CharField()))
    people = Subject.objects.annotate(full=Lower("name"), first=first_name, known_as=Lower("key")).filter(
        Q(full__in=likely) | Q(first__in=likely) | Q(known_as__in=likely),
        account_id=account_id,
        kind=SubjectKind.PERSON,
    )
    for person in people.order_by("key")[:MAX_NAMESAKES]:
        for word in {person.full, person.first, person.known_as} & set(likely):
            found.setdefault(word, {})[present(person).id] = present(person)
    return [subject for namesakes in found.values() if len(namesakes) == 1 for subject in namesakes.values()]


def subject_of(
    candidate: Candidate, item: ExtractionInput, *, event: Event, scope: Scope, conversation: Conversation
) -> Subject | None:
    """Return the subject of a candidate, or ``None`` when the person it names cannot be told.

    Things are created on first mention; persons never are.
    """
    if not candidate.about:
        return conversation.speaker or event.subject
    if candidate.about == GROUP:
        return ensure_subject(event.account_id, kind=SubjectKind.SCOPE, key=_scope_key(scope), name=scope.name)
    person = conversation.named(resolve(candidate.about, item) or candidate.about)
    if person is not None:
        return person
    person = find_person(event.account_id, candidate.about)
    if person is not None:
        return person
    if subject_kind(candidate, item) == SubjectKind.TOPIC:
        name = normalise_text(candidate.about)[:200]
        return ensure_subject(event.account_id, kind=SubjectKind.TOPIC, key=name.casefold()[:200], name=name)
    return None


def _scope_key(scope: Scope) -> str:
    """Return the key of a scope as a subject: its path, or its id where that is too long for a key."""
    return scope.path if len(scope.path) <= fields.IDENTIFIER_LENGTH else str(scope.id)
