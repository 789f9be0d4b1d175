"""Importing a Slack export: file by file, each message once, and on from where it was left when it is started again.

The run and its files are rows: what is done is written in the transaction that did it, and can be watched.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from facts import long_jobs
from facts.actors import system
from facts.clock import now
from facts.models import LongJob, Subject
from facts.tenancy import account_transaction
from facts.vocabulary import SourceType
from governance.access import Principal, Right
from ingest.models import ImportedFile, ImportRun, ImportStatus
from ingest.slack import delivery, people
from ingest.slack.delivery import Channel
from ingest.slack.export import Export, ExportChannel, Unreadable, parse
from ingest.slack.messages import Changed, Said, Skipped, Understood, understand
from ingest.slack.names import Names

KIND = "slack_export"
#: Scope below which each channel gets its own, unless told otherwise.
DEFAULT_ROOT = "/slack"
#: Records of one transaction: what a kill may cost, against what each costs.
SEGMENT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What an import is asked to do.

    ``scope``        path of the scope of all shared channels; "": each its own below :data:`DEFAULT_ROOT`. Private
                     channels always get a scope of their own.
    ``scopes``       path by name of a channel, before ``scope``.
    ``team``         identifier of the workspace; "": as the export says.
    ``since``        older messages are skipped.
    ``limit``        most records that are looked at; ``None``: all.
    ``origin_trust`` how far what people say there is trusted; ``None``: fully.
    ``shift``        moves the time of every message.
    """

    scope: str = ""
    scopes: Mapping[str, str] = field(default_factory=dict)
    team: str = ""
    since: datetime | None = None
    limit: int | None = None
    origin_trust: str | None = None
    shift: timedelta = timedelta()

    def path_of(self, channel: ExportChannel) -> str:
        """Return the path of the scope to which a channel is bound when it is seen first."""
        if channel.name in self.scopes:
            return self.scopes[channel.name]
        if self.scope and not channel.is_private:
            return self.scope
        return f"{self.scope or DEFAULT_ROOT}/{channel.name}".replace("//", "/")

    def as_json(self) -> dict[str, Any]:
        """Return what decides whether an import that was started again is the same one."""
        return {
            "scope": self.scope,
            "scopes": dict(sorted(self.scopes.items())),
            "team": self.team,
            "since": self.since.isoformat() if self.since else "",
            "limit": self.limit,
            "origin_trust": self.origin_trust or "",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import came to. ``faults``: why files were not read, by name."""

    run_id: uuid.UUID | None
    files: int
    messages: int
    counts: Mapping[str, int]
    faults: Mapping[str, str]
    direct_files: int
    scopes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """An export with everything that is the same for all its files."""

    export: Export
    options: Options
    names: Names
    team: str
    files: tuple[tuple[ExportChannel, str], ...]
    at: datetime

    def understand(self, record: Any) -> Understood:
        """Return what a record says, as far as it was asked for."""
        found = understand(record, self.names, now=self.at, shift=self.options.shift)
        said = found.message if isinstance(found, Changed) else found
        if isinstance(said, Said) and self.options.since is not None and said.at < self.options.since:
            return Skipped(reason="before_since")
        return found


def examine(path: Path, options: Options) -> Imported:
    """Return what an import would find, without storing anything; raises :class:`Unreadable`."""
    plan = _plan(path, options)
    counts: Counter[str] = Counter()
    faults: dict[str, str] = _faults_of_folders(plan.export)
    seen: set[tuple[str, str]] = set()
    left = options.limit
    for channel, name in plan.files:
        try:
            records = plan.export.read(name)[:left]
        except Unreadable as error:
            faults[name] = str(error)
            continue
        left = None if left is None else left - len(records)
        for record in records:
            found = plan.understand(record)
            if isinstance(found, Said):
                is_new = (channel.identifier, found.ts) not in seen
                seen.add((channel.identifier, found.ts))
                counts[delivery.CAPTURED if is_new else delivery.DEDUPLICATED] += 1
            else:
                counts[found.reason if isinstance(found, Skipped) else type(found).__name__.lower()] += 1
    return Imported(
        run_id=None,
        files=len(plan.files),
        messages=sum(counts.values()),
        counts=counts,
        faults=faults,
        direct_files=plan.export.direct_files(),
        scopes={channel.name: options.path_of(channel) for channel in plan.export.channels},
    )


def import_export(
    account_id: uuid.UUID, path: Path, options: Options, *, watch: Callable[[LongJob], None] = lambda work: None
) -> Imported:
    """Take in an export, continuing an import of it that was interrupted; each message is stored once.

    A file that cannot be read is noted and left out. ``watch`` is shown the progress after each segment. Raises
    :class:`Unreadable` when nothing can be read, ``DomainError`` (``invalid_scope``), and ``long_jobs.CancelAsked``
    when somebody ended it.
    """
    plan = _plan(path, options)
    principal = Principal(
        account_id=account_id, name=system(KIND).name, is_person=False, rights=frozenset({Right.CAPTURE})
    )
    with account_transaction(account_id):
        run = _open_run(account_id, path, plan)
        authors = people.register(account_id, _members(plan.export))
        channels = {
            channel.identifier: Channel(
                binding=delivery.bind(
                    account_id,
                    team=plan.team,
                    channel_id=channel.identifier,
                    name=channel.name,
                    is_private=channel.is_private,
                    path=options.path_of(channel),
                ),
                source_type=SourceType.BACKFILL,
                origin_trust=options.origin_trust,
                provenance={"import": str(run.id)},
            )
            for channel in plan.export.channels
        }
    left = options.limit
    with long_jobs.working(
        account_id, kind=KIND, input_key=str(run.id), title=path.name, total=run.messages, actor=principal.actor
    ) as work:
        for channel, name in plan.files:
            if left == 0:
                break
            to = channels[channel.identifier]
            looked_at = _import_file(
                principal, run, to, plan, name, authors=authors, limit=left, work=work, watch=watch
            )
            left = None if left is None else left - looked_at
    with account_transaction(account_id):
        faults = _close(run, _faults_of_folders(plan.export))
    return Imported(
        run_id=run.id,
        files=run.files,
        messages=run.messages_done,
        counts=run.counts,
        faults=faults,
        direct_files=plan.export.direct_files(),
        scopes={channel.binding.name: channel.binding.scope.path for channel in channels.values()},
    )


def _plan(path: Path, options: Options) -> _Plan:
    export = Export(path)
    members = _members(export)
    teams = {user["team_id"] for user in export.users if isinstance(user, Mapping) and user.get("team_id")}
    names = Names(
        people=people.names_of(members), channels={channel.identifier: channel.name for channel in export.channels}
    )
    return _Plan(
        export=export,
        options=options,
        names=names,
        # Guests of shared channels come with their own team; a workspace cannot be told from several.
        team=options.team or (str(teams.pop())[:64] if len(teams) == 1 else ""),
        files=tuple((channel, name) for channel in export.channels for name in export.files(channel)),
        at=now(),
    )


def _members(export: Export) -> list[people.Member]:
    return [member for entry in export.users if (member := people.read_member(entry)) is not None]


def _open_run(account_id: uuid.UUID, path: Path, plan: _Plan) -> ImportRun:
    """Return the interrupted run of the same export with the same options, or a new one."""
    same = ImportRun.objects.filter(
        account_id=account_id,
        kind=KIND,
        source=str(path.resolve())[:1_000],
        options=plan.options.as_json(),
        status=ImportStatus.RUNNING,
    )
    run = same.first()
    if run is not None:
        return run
    return ImportRun.objects.create(
        account_id=account_id,
        kind=KIND,
        source=str(path.resolve())[:1_000],
        options=plan.options.as_json(),
        files=len(plan.files),
        messages=_count(plan),
    )


def _count(plan: _Plan) -> int:
    """Return the number of records to look at, so that a progress can be told; what cannot be read counts nothing."""
    total = 0
    for _, name in plan.files:
        try:
            total += len(plan.export.read(name))
        except Unreadable:
            continue
    return total if plan.options.limit is None else min(total, plan.options.limit)


def _import_file(
    principal: Principal,
    run: ImportRun,
    channel: Channel,
    plan: _Plan,
    name: str,
    *,
    authors: dict[str, Subject],
    limit: int | None,
    work: long_jobs.Run,
    watch: Callable[[LongJob], None],
) -> int:
    """Take in what is left of one file; returns how many of its records count against the limit."""
    try:
        content = plan.export.content(name)
        records = parse(content)[:limit]
    except Unreadable as error:
        with account_transaction(principal.account_id):
            _file_row(run, name, digest="", fault=str(error))
        return 0
    with account_transaction(principal.account_id):
        row = _file_row(run, name, digest=hashlib.sha256(content).hexdigest(), fault="")
    understood = [plan.understand(record) for record in records[row.position :]]
    for segment in delivery.segments(understood, size=SEGMENT):
        with account_transaction(principal.account_id):
            counts = delivery.deliver(principal, channel, segment, authors=authors)
            row.position += len(segment)
            row.save(update_fields=["position"])
            _note_progress(run, counts, done=len(segment))
            work.note(run.messages_done, counts=counts)
        watch(work.job)
        work.check()
    return len(records)


def _file_row(run: ImportRun, name: str, *, digest: str, fault: str) -> ImportedFile:
    """Return the row of a file. A file that is not what it was when it was begun is read from its start."""
    row, _ = ImportedFile.objects.get_or_create(account_id=run.account_id, run=run, name=name[:500])
    if (row.digest, row.fault) != (digest, fault):
        row.digest, row.fault, row.position = digest, fault[:200], 0
        row.save()
    return row


def _note_progress(run: ImportRun, counts: Counter[str], *, done: int) -> None:
    known = ImportRun.objects.select_for_update().get(account_id=run.account_id, pk=run.pk)
    run.counts = dict(sorted((Counter(known.counts) + counts).items()))
    run.messages_done, run.updated_at = known.messages_done + done, now()
    run.save(update_fields=["counts", "messages_done", "updated_at"])


def _close(run: ImportRun, faults: dict[str, str]) -> dict[str, str]:
    """End a run; returns everything that could not be read, by name."""
    rows = ImportedFile.objects.filter(account_id=run.account_id, run=run).exclude(fault="")
    faults = {**faults, **dict(rows.values_list("name", "fault"))}
    run.status = ImportStatus.FAULTY if faults else ImportStatus.DONE
    run.finished_at = run.updated_at = now()
    run.save(update_fields=["status", "finished_at", "updated_at"])
    return faults


def _faults_of_folders(export: Export) -> dict[str, str]:
    return {f"{folder}/": "no list says what kind of conversation this is" for folder in export.unlisted()}
