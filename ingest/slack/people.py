"""The people and bots of a workspace as subjects, with the names they go by there.

Whoever may capture can say that an identifier or an address is somebody's. What the workspace itself says confirms
that only where nobody else had a say: for a subject that came from the workspace, or that signs in with the address
which the workspace has for the member. Messages to people go to confirmed identities alone.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts.canonical import has_control_characters
from facts.models import Identity, Membership, Subject
from facts.tenancy import ensure_subject
from facts.vocabulary import SubjectKind
from ingest import opting_out
from ingest.normalise import clean_text
from ingest.slack.messages import IDENTIFIER, SLACKBOT

#: Platforms of identities: a user's or bot's identifier, an e-mail address, a name.
SLACK = "slack"
EMAIL = "email"
SLACK_NAME = "slack_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry of a workspace's list of users. ``bot`` is the identifier under which a bot posts, "" for people."""

    identifier: str
    handle: str = ""
    real_name: str = ""
    display_name: str = ""
    email: str = ""
    is_bot: bool = False
    bot: str = ""


def read_member(entry: Any) -> Member | None:
    """Return an entry of the list of users, or ``None`` for what is none."""
    if not isinstance(entry, Mapping) or not IDENTIFIER.fullmatch(str(entry.get("id"))):
        return None
    profile = entry.get("profile") if isinstance(entry.get("profile"), Mapping) else {}
    return Member(
        identifier=str(entry["id"]),
        handle=_line(entry.get("name")),
        real_name=_line(profile.get("real_name")) or _line(entry.get("real_name")),
        display_name=_line(profile.get("display_name")),
        email=_line(profile.get("email")).casefold(),
        is_bot=entry.get("is_bot") is True or entry["id"] == SLACKBOT,
        bot=_line(profile.get("bot_id"))[:64],
    )


def names_of(members: Sequence[Member]) -> dict[str, str]:
    """Return the name to read for each member, bots also by the identifier under which they post.

    That is the name they chose to be shown, unless somebody else is shown under it as well.
    """
    shown = Counter(member.display_name.casefold() for member in members if member.display_name)
    names = {}
    for member in members:
        chosen = member.display_name if shown[member.display_name.casefold()] == 1 else ""
        name = chosen or member.real_name or member.display_name or member.handle or member.identifier
        for identifier in (member.identifier, member.bot):
            if identifier:
                names[identifier] = name
    return names


def register(account_id: uuid.UUID, members: Sequence[Member]) -> dict[str, Subject]:
    """Find or create the subjects of a workspace's members, by identifier, and note the names they go by.

    Somebody known by identifier or by e-mail address stays who they are. A name that several bear is noted for
    nobody. Runs in the caller's account transaction.
    """
    names = names_of(members)
    unique = Counter(
        name for member in members for name in {member.handle, member.real_name, member.display_name} if name
    )
    subjects = {}
    for member in sorted(members, key=lambda member: member.identifier):
        subject, confirmed = _subject_of(account_id, member, name=names[member.identifier])
        aliases = [(SLACK, member.identifier), (SLACK, member.bot), (EMAIL, member.email)]
        aliases += [
            (SLACK_NAME, name)
            for name in (member.handle, member.real_name, member.display_name)
            if name not in {subject.name, subject.key} and unique[name] == 1
        ]
        _note(account_id, subject, aliases, confirmed=confirmed)
        subjects[member.identifier] = subject
        if member.bot:
            subjects[member.bot] = subject
    return subjects


def stranger(account_id: uuid.UUID, identifier: str, *, name: str, is_bot: bool) -> Subject:
    """Find or create the subject of an author whom the list of users does not hold."""
    member = Member(identifier=identifier, real_name=name, is_bot=is_bot)
    subject, confirmed = _subject_of(account_id, member, name=name)
    _note(account_id, subject, [(SLACK, member.identifier)], confirmed=confirmed)
    return subject


def known(account_id: uuid.UUID, identifiers: Iterable[str]) -> dict[str, Subject]:
    """Return the subjects of those identifiers that are known, in one query."""
    found = Identity.objects.filter(account_id=account_id, platform=SLACK, value__in=set(identifiers))
    return {identity.value: identity.subject for identity in found.select_related("subject")}


def refresh(account_id: uuid.UUID, member: Member) -> Subject:
    """Take in what a workspace tells of one member now: who they are, and the names they go by.

    A subject that Slack brought is renamed, and stays known by its former name; a name that somebody else bears is
    noted for nobody new.
    """
    name = names_of([member])[member.identifier]
    subject, confirmed = _subject_of(account_id, member, name=name)
    aliases = [(SLACK, member.identifier), (SLACK, member.bot), (EMAIL, member.email)]
    came_from_slack = subject.key in (member.handle, f"{SLACK}:{member.identifier}")
    former = subject.name
    if came_from_slack and name not in (former, member.identifier):
        Subject.objects.filter(account_id=account_id, pk=subject.pk).update(name=name)
        subject.name = name
    for alias in {former, member.handle, member.real_name, member.display_name} - {"", subject.name, subject.key}:
        borne = Subject.objects.filter(account_id=account_id, name=alias).exclude(pk=subject.pk)
        if not borne.exists():
            aliases.append((SLACK_NAME, alias))
    _note(account_id, subject, aliases, confirmed=confirmed)
    return subject


def _subject_of(account_id: uuid.UUID, member: Member, *, name: str) -> tuple[Subject, bool]:
    """Return the subject of a member, made where there is none, and whether it is certain that it is the member's."""
    for platform, value in ((SLACK, member.identifier), (EMAIL, member.email)):
        known = Identity.objects.filter(account_id=account_id, platform=platform, value=value).select_related("subject")
        found = known.first() if value else None
        if found is not None:
            told_by_slack = found.confirmed and found.confirmed_by is None
            return found.subject, told_by_slack or _is_certain(found.subject, member)
    return _create(account_id, member, name=name)


def _is_certain(subject: Subject, member: Member) -> bool:
    """Tell whether a subject that somebody said to be a member's can be nobody else's."""
    if subject.key == f"{SLACK}:{member.identifier}":
        return True
    members = Membership.objects.filter(account_id=subject.account_id, subject=subject, user__is_active=True)
    return bool(member.email) and members.filter(user__email__iexact=member.email).exists()


def _create(account_id: uuid.UUID, member: Member, *, name: str) -> tuple[Subject, bool]:
    """Make a subject, called by its handle where nobody has that key: two strangers never become one.

    It is not certain to be the member's where somebody had made one of that key before, and merged it into another.
    """
    kind = SubjectKind.AGENT if member.is_bot else SubjectKind.PERSON
    taken = not member.handle or Subject.objects.filter(account_id=account_id, key=member.handle).exists()
    key = f"{SLACK}:{member.identifier}" if taken else member.handle
    subject = ensure_subject(account_id, key=key, kind=kind, name=name)
    return subject, subject.key == key


def _note(account_id: uuid.UUID, subject: Subject, aliases: Iterable[tuple[str, str]], *, confirmed: bool) -> None:
    """Note names that are free as the subject's. Names that people choose are confirmed for nobody."""
    for platform, value in aliases:
        if not value:
            continue
        certain = confirmed and platform != SLACK_NAME
        identity, is_new = Identity.objects.get_or_create(
            account_id=account_id,
            platform=platform,
            value=value[:256],
            defaults={"subject": subject, "confirmed": certain},
        )
        by_slack = identity.confirmed and identity.confirmed_by is None
        if certain and not by_slack and identity.subject_id == subject.id:
            # Asked again in the statement: it may be merged into somebody else meanwhile.
            still = Identity.objects.filter(account_id=account_id, pk=identity.pk, subject=subject)
            still.update(confirmed=True, confirmed_by=None)
        if is_new and platform == SLACK:
            opting_out.recognise(account_id, subject, value)


def _line(value: Any) -> str:
    """Return a name as one clean line of at most 200 characters; "" for anything else."""
    if not isinstance(value, str):
        return ""
    text = " ".join(clean_text(value)[0].split())[:200]
    return "" if has_control_characters(text) else text
