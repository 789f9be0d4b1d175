"""The words of files that people share: what Slack shows of one is kept at once, the rest is fetched by a job.

A job holds the message's place and no content. The message is read again then: what was deleted meanwhile is not
fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from facts import jobs
from facts.clock import now
from ingest.models import SlackWorkspace
from ingest.slack import channels, client, directory, people, workspaces
from ingest.slack.client import Slack
from ingest.slack.delivery import Channel, complete
from ingest.slack.messages import Said, read_time, understand

FILES = "slack.files"
#: Files of one message that are fetched.
MAX_FILES = 10

#: Kinds of files that are text although their media type does not say so.
_TEXT_TYPES = frozenset({"text", "markdown", "json", "yaml", "csv", "log", "xml", "sql", "post", "email"})
_OWN_MODES = frozenset({"hosted", "snippet", "post", "email", ""})


def queue(workspace: SlackWorkspace, channel_id: str, event: Mapping[str, Any]) -> None:
    """Have the rest of a message's files fetched, in the caller's transaction, where there is more to read."""
    record = event.get("message") if isinstance(event.get("message"), Mapping) else event
    files = [file for file in _files(record) if wants_text(file)]
    if not files or client.client_for(workspace.team) is None:
        return
    ts, edited = str(record.get("ts")), record.get("edited")
    version = str(edited.get("ts")) if isinstance(edited, Mapping) else ""
    if read_time(ts) is None:
        return
    thread = record.get("thread_ts")
    jobs.submit(
        workspace.account_id,
        kind=FILES,
        input_key=f"{workspace.team}:{channel_id}:{ts}:{version[:32]}",
        payload={
            "team": workspace.team,
            "channel": channel_id,
            "ts": ts,
            "thread": thread if isinstance(thread, str) and read_time(thread) and thread != ts else "",
        },
    )


def wants_text(file: Mapping[str, Any]) -> bool:
    """Tell whether a file is text of which the message holds not everything, and which is small enough to read."""
    kind = str(file.get("mimetype", ""))
    is_text = (kind.startswith("text/") and kind != "text/html") or file.get("filetype") in _TEXT_TYPES
    shown = isinstance(file.get("preview"), str) and not file.get("preview_is_truncated")
    shown = shown or isinstance(file.get("plain_text"), str)
    size = file.get("size")
    fits = isinstance(size, int) and 0 < size <= client.MAX_FILE_BYTES
    own = file.get("mode", "") in _OWN_MODES and not file.get("is_external")
    return bool(is_text and not shown and fits and own and client.is_slacks_own(str(file.get("url_private"))))


def fetch(slack: Slack, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message as it is now with the words of its files; ``None`` when it is gone.

    Raises ``client.SlackFailed``.
    """
    record = slack.message(payload["channel"], payload["ts"], thread=payload.get("thread", ""))
    if record is None:
        return None
    files = [dict(file) for file in _files(record)]
    for file in files:
        if wants_text(file) and (text := slack.file_text(file["url_private"])) is not None:
            file["plain_text"] = text
    return {**record, "files": files}


def write(workspace: SlackWorkspace, payload: Mapping[str, Any], record: Mapping[str, Any] | None) -> None:
    """Keep the message with its files' words, if its channel is still listened to. In the account transaction."""
    if record is None or channels.listening(workspace, payload["channel"]) is None:
        return
    binding = channels.binding_of(workspace.account_id, workspace.team, payload["channel"])
    found = understand(record, directory.names_in(workspace, record), now=now())
    if binding is not None and isinstance(found, Said):
        authors = people.known(workspace.account_id, [found.author])
        complete(workspaces.principal_of(workspace), Channel(binding=binding), found, authors=authors)


def _files(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    files = record.get("files")
    return [file for file in files if isinstance(file, Mapping)][:MAX_FILES] if isinstance(files, list) else []
