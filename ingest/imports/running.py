"""Doing an import: chunk by chunk, each with its place in one transaction; what cannot be read is noted and left out.

A record is recognised by its source's key, or by its content and time, so that the same file, or a longer one of the
same source, can be imported again and again. The work is a piece of ``facts.long_jobs`` in steps.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from facts import audit, long_jobs
from facts.actors import Actor, system
from facts.clock import now
from facts.errors import DomainError
from facts.long_jobs import Run, Step
from facts.models import Account, Event, LongJob
from facts.tenancy import account_transaction, normalise_path
from governance.access import Principal, Right
from ingest import opting_out
from ingest.capture import Captured, capture, record_revision
from ingest.imports import events, facts, memories, stating
from ingest.imports.facts import StatedFact
from ingest.imports.items import Fault, Item, Passed, Read, fault_of
from ingest.models import ImportedFile, ImportFault, ImportRun, ImportStatus, ImportUpload
from ingest.withdrawal import hide

KIND = "import"
EVENTS = "events"
SOURCES = (EVENTS, memories.MEM0, memories.ZEP)
#: Records of one transaction: what a kill may cost, against what each costs.
CHUNK = 200
#: Bytes of a file of memories, which is read as a whole; one of events is read line by line and may be of any size.
MAX_DOCUMENT = 256 * 1024 * 1024
#: Bytes of a file that is uploaded.
MAX_UPLOAD = 2 * 1024 * 1024
#: How long an upload is kept of which the import was cancelled or failed, to be gone on with.
UPLOAD_KEPT = timedelta(days=7)
#: Faults that are kept of one import; those beyond are only counted.
MAX_FAULTS = 1_000
DEFAULT_SCOPE = "/imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What an import is asked to do: where records go that name no scope, and whom they are about that name nobody."""

    source: str
    scope: str = DEFAULT_SCOPE
    subject: str = ""

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise DomainError("An import is of events, mem0 or zep.", code="unknown_import_source", field="source")


@dataclass(slots=True)
class Examined:
    """What an import would come to: counts by outcome, and the first faults."""

    records: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)


def begin(account_id: uuid.UUID, path: Path, options: Options, *, actor: Actor) -> LongJob:
    """Have a file imported, or go on with an import of it that was stopped; commits.

    Raises ``DomainError`` (``file_unreadable``, ``file_too_large``, ``invalid_json``, ``invalid_scope``).
    """
    content = None if options.source == EVENTS else _document(path)
    try:
        digest, size, total = _measure(path, content, options)
    except OSError as error:
        raise DomainError(error.strerror or "It cannot be read.", code="file_unreadable", field="file") from None
    return _submit(account_id, options, digest=digest, size=size, total=total, source=str(path.resolve()), actor=actor)


def upload(account_id: uuid.UUID, content: bytes, options: Options, *, name: str, actor: Actor) -> LongJob:
    """Have the content of an uploaded file imported by the worker; commits. It is kept until the work is over.

    Raises ``DomainError`` (``file_too_large``, ``invalid_json``, ``invalid_scope``).
    """
    if len(content) > MAX_UPLOAD:
        raise DomainError("The file is too large to be uploaded.", code="file_too_large", field="file")
    total = len(content.splitlines()) if options.source == EVENTS else len(memories.records(content))
    digest = hashlib.sha256(content).hexdigest()
    with account_transaction(account_id):
        work = _submit(
            account_id, options, digest=digest, size=len(content), total=total, source=f"upload: {name}"[:500],
            actor=actor,
        )  # fmt: skip
        ImportUpload.objects.get_or_create(
            account_id=account_id, run_id=work.options["run"], defaults={"content": content}
        )
        return work


def examine(account_id: uuid.UUID, path: Path, options: Options) -> Examined:
    """Return what an import would come to, and store nothing. Raises as :func:`begin`."""
    found = Examined()
    scope, at = normalise_path(options.scope), now()
    try:
        for record in _records(path, options, scope=scope, at=at):
            found.records += 1
            match record:
                case Fault():
                    found.counts[record.code] += 1
                    if len(found.faults) < MAX_FAULTS:
                        found.faults.append(record)
                case Passed():
                    found.counts[record.reason] += 1
                case StatedFact():
                    found.counts["facts"] += 1
                case Item():
                    found.counts[_fate(account_id, record)] += 1
                    found.counts.update(record.notes)
    except OSError as error:
        raise DomainError(error.strerror or "It cannot be read.", code="file_unreadable", field="file") from None
    return found


def step(run: Run) -> Step:
    """Take in the next chunk (a step of ``facts.long_jobs``)."""
    account_id, wanted = run.job.account_id, run.job.options
    options = Options(source=wanted["format"], scope=wanted["scope"], subject=wanted["subject"])
    with account_transaction(account_id):
        importing = ImportRun.objects.select_related("upload").get(account_id=account_id, pk=wanted["run"])
        held = ImportUpload.objects.filter(account_id=account_id, run=importing).first()
    if held is not None and not bytes(held.content):
        return Step(failed="upload_erased")
    place = run.job.position
    try:
        if options.source == EVENTS:
            records, after = _next_lines(importing, held, place, wanted)
        else:
            records, after = _next_records(importing, held, place, wanted)
    except OSError:
        return Step(failed="file_unreadable")
    except DomainError as error:
        return Step(failed=error.code)
    read = [_read(options, line, record, at=run.job.created_at) for line, record in records]
    with account_transaction(account_id), audit.gathered(account_id):
        counts, faults = _take_in(account_id, importing, read)
        _note_faults(importing, faults)
        done = run.job.done + len(records)
        importing.messages_done, importing.updated_at = done, now()
        importing.counts = dict(sorted((Counter(importing.counts) + counts).items()))
        finished = len(records) < CHUNK
        if finished:
            has_faults = ImportFault.objects.filter(account_id=account_id, run=importing).exists()
            importing.status = ImportStatus.FAULTY if has_faults else ImportStatus.DONE
            importing.finished_at = importing.updated_at
        importing.save()
        run.note(done, position=after, counts=counts)
    return Step(finished=finished)


def ended(work: LongJob) -> None:
    """Let go of what was uploaded, unless the work can go on from it."""
    if work.state == "done":
        ImportUpload.objects.filter(account_id=work.account_id, run_id=work.options["run"]).delete()


def prune(account_id: uuid.UUID) -> int:
    """Let go of uploads with which nobody went on for :data:`UPLOAD_KEPT`, in the caller's account transaction."""
    under_way = long_jobs.of_account(account_id, kind=KIND).filter(finished_at__isnull=True)
    runs = {work.options["run"] for work in under_way}
    left = ImportUpload.objects.filter(account_id=account_id, created_at__lt=now() - UPLOAD_KEPT).exclude(content=b"")
    return left.exclude(run_id__in=runs).update(content=b"")


def principal(account_id: uuid.UUID) -> Principal:
    """Return as whom records are taken in."""
    return Principal(
        account_id=account_id, name=system("import").name, is_person=False, rights=frozenset({Right.CAPTURE})
    )


def _submit(
    account_id: uuid.UUID, options: Options, *, digest: str, size: int, total: int, source: str, actor: Actor
) -> LongJob:
    scope = normalise_path(options.scope)
    asked = {"format": options.source, "scope": scope, "subject": options.subject, "size": size, "digest": digest}
    key = hashlib.sha256(repr(sorted(asked.items())).encode()).hexdigest()[:64]
    with account_transaction(account_id):
        known = long_jobs.of_account(account_id, kind=KIND).filter(input_key=key, finished_at__isnull=True).first()
        if known is not None:
            return known
        run = ImportRun.objects.create(
            account_id=account_id, kind=options.source, source=source[:1_000], options=asked, files=1, messages=total
        )
        ImportedFile.objects.create(account_id=account_id, run=run, name=Path(source).name[:500], digest=digest)
        return long_jobs.submit(
            account_id,
            kind=KIND,
            input_key=key,
            title=f"{Path(source).name} ({options.source})",
            options={**asked, "run": str(run.pk), "source": source},
            total=total,
            actor=actor,
        )


def _measure(path: Path, content: bytes | None, options: Options) -> tuple[str, int, int]:
    """Return digest, size and number of records of a file."""
    if content is not None:
        return hashlib.sha256(content).hexdigest(), len(content), len(memories.records(content))
    digest, total, ends_open = hashlib.sha256(), 0, False
    with path.open("rb") as file:
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
            total += chunk.count(b"\n")
            ends_open = not chunk.endswith(b"\n")
    return digest.hexdigest(), path.stat().st_size, total + ends_open


def _document(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_DOCUMENT:
            raise DomainError("The file is too large.", code="file_too_large", field="file")
        return path.read_bytes()
    except OSError as error:
        raise DomainError(error.strerror or "It cannot be read.", code="file_unreadable", field="file") from None


def _next_lines(
    importing: ImportRun, held: ImportUpload | None, place: Mapping[str, Any], wanted: Mapping[str, Any]
) -> tuple[list[tuple[int, Any]], dict[str, Any]]:
    """Return the next lines of a file of events with their numbers, and the place after them."""
    offset, line = place.get("offset", 0), place.get("line", 0)
    if held is not None:
        lines = bytes(held.content)[offset:].splitlines(keepends=True)[:CHUNK]
    else:
        path = Path(wanted["source"])
        if path.stat().st_size != wanted["size"]:
            raise DomainError("The file is not what it was.", code="file_changed")
        with path.open("rb") as file:
            file.seek(offset)
            lines = list(islice(_bounded_lines(file), CHUNK))
    records = list(enumerate(lines, start=line + 1))
    return records, {"offset": offset + sum(map(len, lines)), "line": line + len(lines)}


def _bounded_lines(file: Any) -> Iterator[bytes]:
    """Yield the lines of a file; one that is too long only as far as shows that it is, padded to its length."""
    while start := file.readline(events.MAX_LINE + 2):
        rest = 0
        while not start.endswith(b"\n") and rest == 0 and len(start) > events.MAX_LINE:
            while part := file.readline(events.MAX_LINE):
                rest += len(part)
                if part.endswith(b"\n"):
                    break
            break
        yield start + b" " * rest


def _next_records(
    importing: ImportRun, held: ImportUpload | None, place: Mapping[str, Any], wanted: Mapping[str, Any]
) -> tuple[list[tuple[int, Any]], dict[str, Any]]:
    """Return the next records of a file of memories with their numbers, and the place after them."""
    if held is not None:
        found = _records_of(bytes(held.content), wanted["digest"])
    else:
        path = Path(wanted["source"])
        if path.stat().st_size != wanted["size"]:
            raise DomainError("The file is not what it was.", code="file_changed")
        found = _records_in(path, wanted["digest"])
    start = place.get("record", 0)
    chunk = found[start : start + CHUNK]
    return list(chunk), {"record": start + len(chunk)}


@lru_cache(maxsize=1)
def _records_in(path: Path, digest: str) -> tuple[tuple[int, Any], ...]:
    return _records_of(_document(path), digest)


def _records_of(content: bytes, digest: str) -> tuple[tuple[int, Any], ...]:
    if hashlib.sha256(content).hexdigest() != digest:
        raise DomainError("The file is not what it was.", code="file_changed")
    return tuple(memories.records(content))


def _records(path: Path, options: Options, *, scope: str, at: datetime) -> Iterator[Read | StatedFact]:
    """Yield all records of a file, understood."""
    wanted = Options(source=options.source, scope=scope, subject=options.subject)
    if options.source == EVENTS:
        with path.open("rb") as file:
            for line, content in enumerate(_bounded_lines(file), start=1):
                yield _read(wanted, line, content, at=at)
    else:
        for line, record in memories.records(_document(path)):
            yield _read(wanted, line, record, at=at)


def _read(options: Options, line: int, record: Any, *, at: datetime) -> Read | StatedFact:
    if options.source == EVENTS:
        return events.read(line, record, scope=options.scope, subject=options.subject, at=at)
    return memories.read(options.source, line, record, scope=options.scope, subject=options.subject, at=at)


def _take_in(
    account_id: uuid.UUID, importing: ImportRun, read: Sequence[Read | StatedFact]
) -> tuple[Counter[str], list[Fault]]:
    """Keep the records of a chunk in the caller's transaction; returns what became of them, and the faults."""
    counts: Counter[str] = Counter(record.reason for record in read if isinstance(record, Passed))
    faults = [record for record in read if isinstance(record, Fault)]
    items = [record for record in read if isinstance(record, Item)]
    stated = [record for record in read if isinstance(record, StatedFact)]
    while items:
        try:
            with audit.savepoint():
                counts += _keep(account_id, importing, items)
            break
        except _Refused as refused:
            items = [item for item in items if item.line != refused.item.line]
            faults.append(fault_of(refused.item.line, refused.error))
    for fact in stated:
        try:
            with audit.savepoint():
                counts[facts.place(account_id, fact)] += 1
        except DomainError as error:
            faults.append(fault_of(fact.line, error))
    for fault in faults:
        counts[fault.code] += 1
    return counts, faults


class _Refused(Exception):
    """One record of a chunk is not taken in; the others are, without it."""

    def __init__(self, item: Item, error: DomainError) -> None:
        super().__init__(error.code)
        self.item = item
        self.error = error


def _captured(caller: Principal, items: Sequence[Item]) -> Sequence[Captured]:
    """Capture records; raises :class:`_Refused` for the first one that is at fault."""
    try:
        return capture(caller, [item.observation for item in items]).events
    except DomainError as error:
        position = _position_in(error)
        if position is None or position >= len(items):
            raise
        error.field = (error.field or "").partition(".")[2].partition(".")[2]
        raise _Refused(items[position], error) from None


def _position_in(error: DomainError) -> int | None:
    """Return of which event of a batch an error tells."""
    parts = (error.field or "").split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "events" and parts[1].isdigit() else None


def _keep(account_id: uuid.UUID, importing: ImportRun, items: Sequence[Item]) -> Counter[str]:
    """Capture records, and place those that are statements. Raises :class:`_Refused`."""
    caller = principal(account_id)
    counts: Counter[str] = Counter()
    fresh, known = [], _known(account_id, items)
    for item in items:
        earlier = known.get(item.observation.source_key)
        if earlier is None or not item.observation.source_key:
            fresh.append(item)
            continue
        revised = _revise(caller, item, earlier)
        counts["deduplicated" if revised.deduplicated else "revised"] += 1
        if not revised.deduplicated and item.is_statement:
            counts[stating.place(account_id, item, revised.event_id)] += 1
    if fresh:
        for item, answer in zip(fresh, _captured(caller, fresh), strict=True):
            counts["deduplicated" if answer.deduplicated else "captured"] += 1
            if not answer.deduplicated and item.is_statement:
                counts[stating.place(account_id, item, answer.event_id)] += 1
    for item in items:
        counts.update(item.notes)
    return counts


def _known(account_id: uuid.UUID, items: Sequence[Item]) -> dict[str, Event]:
    """Return the latest revisions of records that were imported before, by key."""
    keys = [item.observation.source_key for item in items if item.observation.source_key]
    rows = Event.objects.filter(account_id=account_id, source_key__in=keys).order_by("revision")
    return {event.source_key: event for event in rows}


def _revise(caller: Principal, item: Item, earlier: Event) -> Captured:
    """Keep a memory that says something else than before as the next revision of it; an older one changes nothing."""
    at = item.observation.occurred_at
    same = Captured(event_id=earlier.id, deduplicated=True, revision=earlier.revision)
    if earlier.withdrawn_at is not None or earlier.text_removed_at is not None or earlier.forgotten_at is not None:
        return same
    in_channel = bool(item.observation.channel_id) and earlier.speaker_id is not None
    if in_channel and opting_out.is_opted_out(earlier.account_id, earlier.speaker_id):
        return same
    if earlier.text == item.observation.payload.get("text") or at is None or at <= earlier.occurred_at:
        return same
    revised = record_revision(caller, item.observation, edits=earlier)
    if not revised.deduplicated:
        hide([earlier])
    return revised


def _note_faults(importing: ImportRun, faults: Sequence[Fault]) -> None:
    left = MAX_FAULTS - ImportFault.objects.filter(account_id=importing.account_id, run=importing).count()
    ImportFault.objects.bulk_create(
        (
            ImportFault(
                account_id=importing.account_id, run=importing, line=fault.line, field=fault.field, code=fault.code
            )
            for fault in sorted(faults, key=lambda fault: fault.line)[: max(0, left)]
        ),
        ignore_conflicts=True,
    )


def _fate(account_id: uuid.UUID, item: Item) -> str:
    """Return what would become of a record."""
    key = item.observation.source_key
    with account_transaction(account_id):
        if key and Event.objects.filter(account_id=account_id, source_key=key).exists():
            return "known_already"
    return "statements" if item.is_statement else "read_for_facts"


def consent_is_automatic(account_id: uuid.UUID) -> bool:
    """Tell whether the account takes consent for given, which an import has to say."""
    return Account.objects.get(pk=account_id).consent_mode == "auto"
