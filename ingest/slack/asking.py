"""Jobs that ask Slack something: claimed, asked without a transaction, written in one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection

from facts import jobs
from facts.jobs import Claim
from facts.tenancy import account_transaction
from ingest.models import SlackWorkspace
from ingest.slack import channels, directory, file_texts, people
from ingest.slack.client import RateLimited, Refused, Slack, Unavailable, client_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a kind of job asks, and what is done with the answer."""

    ask: Callable[[Slack, Mapping[str, Any]], Any]
    write: Callable[[SlackWorkspace, Mapping[str, Any], Any], None]


def _ask_member(slack: Slack, payload: Mapping[str, Any]) -> Any:
    return slack.call("users.info", user=payload["user"]).get("user")


def _write_member(workspace: SlackWorkspace, payload: Mapping[str, Any], told: Any) -> None:
    member = people.read_member(told)
    if member is not None and member.identifier == payload["user"]:
        people.refresh(workspace.account_id, member)


def _ask_channel(slack: Slack, payload: Mapping[str, Any]) -> Any:
    return slack.call("conversations.info", channel=payload["channel"]).get("channel")


def _write_channel(workspace: SlackWorkspace, payload: Mapping[str, Any], told: Any) -> None:
    if isinstance(told, Mapping):
        channels.note(workspace, told)


def _ask_members(slack: Slack, payload: Mapping[str, Any]) -> Any:
    return slack.members(cursor=payload.get("cursor", ""))


def _write_members(workspace: SlackWorkspace, payload: Mapping[str, Any], told: Any) -> None:
    """Take in a page of members, and have the next one asked for, or the channels after the last."""
    entries, cursor = told
    members = [member for entry in entries if (member := people.read_member(entry)) is not None]
    for member in sorted(members, key=lambda member: member.identifier):
        if member.identifier != workspace.bot_user_id:
            people.refresh(workspace.account_id, member)
    directory.look_up_page(workspace, payload, kind=directory.MEMBERS if cursor else directory.CHANNELS, cursor=cursor)


def _ask_channels(slack: Slack, payload: Mapping[str, Any]) -> Any:
    return slack.channels(cursor=payload.get("cursor", ""))


def _write_channels(workspace: SlackWorkspace, payload: Mapping[str, Any], told: Any) -> None:
    entries, cursor = told
    for channel in entries:
        channels.note(workspace, channel)
    if cursor:
        directory.look_up_page(workspace, payload, kind=directory.CHANNELS, cursor=cursor)


QUESTIONS: dict[str, Question] = {
    directory.MEMBER: Question(ask=_ask_member, write=_write_member),
    directory.CHANNEL: Question(ask=_ask_channel, write=_write_channel),
    directory.MEMBERS: Question(ask=_ask_members, write=_write_members),
    directory.CHANNELS: Question(ask=_ask_channels, write=_write_channels),
    file_texts.FILES: Question(ask=file_texts.fetch, write=file_texts.write),
}


def run(account_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Answer one delivery of a job. Safe to run twice, late, or killed in between."""
    with account_transaction(account_id):
        claim = jobs.claim(account_id, job_id)
        if claim is None:
            return
        payload = claim.job.payload
        workspace = SlackWorkspace.objects.filter(
            account_id=account_id, team=payload.get("team", ""), disconnected_at__isnull=True
        ).first()
    slack = client_for(workspace.team) if workspace is not None else None
    if workspace is None or slack is None:
        with account_transaction(account_id):
            jobs.finish(claim)
        return
    question = QUESTIONS[claim.job.kind]
    if not connection.in_atomic_block:
        connection.close()
    try:
        told = question.ask(slack, payload)
    except (RateLimited, Unavailable, Refused) as failure:
        with account_transaction(account_id):
            _give_back(claim, failure)
        return
    with account_transaction(account_id):
        if jobs.holds(claim):
            question.write(workspace, payload, told)
            jobs.finish(claim)


def _give_back(claim: Claim, failure: RateLimited | Unavailable | Refused) -> None:
    """Put a job back whose answer has to be waited for; close one that Slack refuses to answer."""
    if not jobs.holds(claim):
        return
    match failure:
        case RateLimited():
            pause = timedelta(seconds=failure.seconds)
            jobs.postpone(claim, error_class="rate_limited", pause=pause, at_once=True)
        case Unavailable():
            jobs.fail(claim, error_class="slack_unavailable")
        case Refused():
            jobs.fail(claim, error_class=failure.error, retryable=False)
