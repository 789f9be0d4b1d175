"""Doing what somebody tells the bot, and answering them through the outbox. Such a message is never kept.

A channel is opted in by anybody of the workspace who is in it, and out by everybody; people speak for themselves. A
question of consent can be refused here, and agreed to only where it is certain who answers.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from facts.actors import Actor, ActorKind
from facts.errors import DomainError
from facts.models import Subject
from facts.vocabulary import SubjectKind
from governance.sharing import consent_codes
from ingest import opting_out
from ingest.deliveries import contents, outbox
from ingest.deliveries.contents import Content
from ingest.deliveries.places import Place
from ingest.models import Delivery, SlackWorkspace
from ingest.slack import channels, directory, people
from ingest.slack.commands import Command, Verb, read
from ingest.slack.messages import IDENTIFIER, SLACKBOT, read_time

_PREFIX = "slack.answer."
_HOW = (
    "Begin a message with my name, then: on, off (this channel); stop remembering me, start remembering me (you, in"
    " every channel); no and the code of a question (refuses it)."
)
#: What somebody is answered.
ANSWERS = {
    "on": "I remember from now on what is said in that channel. Say off to me there, and I stop.",
    "off": "I remember nothing more of that channel. What I learned there before stays, until it is erased.",
    "guest": "Only members of this workspace can have me listen to a channel.",
    "shared_scope": "This private channel shares its place with others; an administrator has to give it its own.",
    "forgotten": "From now on I keep nothing that you say in channels, and learn nothing about you from others there. "
    "What I know already stays until you have it erased: on your own page, or by an administrator.",
    "remembered": "I keep again what you say in the channels that I listen to.",
    "known": "That is how it is already.",
    "refused": "Your no is noted. What was shared because of an earlier yes is pulled back.",
    "unknown_code": "I know no open question of yours with that code.",
    "status_on": f"I remember what is said in that channel. {_HOW}",
    "status_off": f"I remember nothing of what is said there. {_HOW}",
    "status_silent": f"I keep nothing that you say in channels. {_HOW}",
}
_ANSWERED_IN = frozenset({"channel", "group"})


def command_in(
    workspace: SlackWorkspace, event: Mapping[str, Any], spoken: Mapping[str, Any], *, direct: bool
) -> Command | None:
    """Return what a person tells the bot; machines tell it nothing."""
    text, author = spoken.get("text"), spoken.get("user")
    is_machine = spoken.get("bot_id") or author == SLACKBOT or spoken.get("subtype") == "bot_message"
    if is_machine or not isinstance(text, str) or not isinstance(author, str) or not IDENTIFIER.fullmatch(author):
        return None
    return read(text, bot=workspace.bot_user_id, direct=direct)


def obey(workspace: SlackWorkspace, event: Mapping[str, Any], command: Command) -> None:
    """Do it, once for one message and never against a later word, and answer."""
    said_at = read_time(str(event.get("ts")))
    if said_at is None:
        return
    subject = people.stranger(workspace.account_id, event["user"], name="", is_bot=False)
    if subject.kind != SubjectKind.PERSON:
        return
    directory.look_up_member(workspace, event["user"])
    match command.verb:
        case Verb.ON | Verb.OFF:
            answer, about = _switch(workspace, event, command.verb, subject=subject, said_at=said_at)
        case Verb.FORGET | Verb.REMEMBER:
            say = opting_out.stop_remembering if command.verb == Verb.FORGET else opting_out.start_remembering
            changed = say(workspace.account_id, subject, via=opting_out.MESSAGE, said_at=said_at)
            done = "forgotten" if command.verb == Verb.FORGET else "remembered"
            answer, about = (done if changed else "known"), subject.id
        case Verb.REFUSE:
            refused = consent_codes.refuse(workspace.account_id, subject, code=command.code)
            answer, about = ("refused" if refused else "unknown_code"), subject.id
        case _:
            answer, about = _status(workspace, event, subject), subject.id
    if answer:
        place = f"{workspace.team}:{event.get('channel')}:{event['ts']}"
        outbox.request(
            workspace.account_id,
            about=_PREFIX + answer,
            object_id=about,
            key=f"{_PREFIX}{place}"[:200],
            recipient=subject,
        )


def register_answers() -> None:
    """Tell the outbox how answers are worded."""
    for answer in ANSWERS:
        contents.register(_PREFIX + answer, _word)


def _word(delivery: Delivery, place: Place) -> Content:
    text = ANSWERS[delivery.about.removeprefix(_PREFIX)]
    return Content(type=delivery.about, title="Memory", text=text, fields={})


def _switch(
    workspace: SlackWorkspace, event: Mapping[str, Any], verb: Verb, *, subject: Subject, said_at: datetime
) -> tuple[str, uuid.UUID]:
    """Opt a channel in or out; returns the answer, "" for none, and what it is about."""
    channel_id, where = str(event.get("channel")), event.get("channel_type")
    if where not in _ANSWERED_IN:
        return "", subject.id
    teams = {event.get(name) for name in ("team", "user_team", "source_team")} - {None, "", workspace.team}
    if verb == Verb.ON and teams:
        return "guest", subject.id
    known = channels.note(workspace, {"id": channel_id, "is_private": where == "group"}, is_member=True)
    if known is None:
        return "", subject.id
    actor = Actor(kind=ActorKind.PERSON, name=subject.display_name, subject_id=subject.id)
    switch = channels.opt_in if verb == Verb.ON else channels.opt_out
    try:
        with transaction.atomic():
            channel = switch(workspace, channel_id, actor=actor, said_at=said_at)
    except DomainError:
        return "shared_scope", known.id
    directory.look_up_channel(workspace, channel_id)
    if channel is None:
        return "", known.id
    if verb == Verb.ON:
        directory.look_up_all(workspace)
    return verb.value, known.id


def _status(workspace: SlackWorkspace, event: Mapping[str, Any], subject: Subject) -> str:
    if opting_out.is_opted_out(workspace.account_id, subject.id):
        return "status_silent"
    kept = channels.listening(workspace, str(event.get("channel"))) is not None
    return "status_on" if kept else "status_off"
