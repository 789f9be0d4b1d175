"""A Slack export as it lies there: a folder or a ZIP, read file by file and never unpacked.

Files are read in memory, bounded in size; names that lead out of the export are not followed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

#: Largest file that is read, in bytes, unpacked. A busy channel writes a few MB a day.
MAX_FILE_BYTES = 64 * 1024 * 1024
#: Most files of an export: 500 channels over ten years.
MAX_FILES = 2_000_000

#: Lists of conversations between individuals, which are not imported.
DIRECT_LISTS = ("dms.json", "mpims.json")


class Unreadable(Exception):
    """A file, or the whole export, cannot be read; the message says why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChannel:
    """A channel of an export; its folder bears its name."""

    identifier: str
    name: str
    is_private: bool


class Source(Protocol):
    """Where an export lies: its files by name with ``/``, below the folder that holds its lists."""

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file; raises :class:`Unreadable`."""
        ...


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def names(self) -> list[str]:
        found = []
        for path in self._root.rglob("*"):
            if len(found) > MAX_FILES:
                raise Unreadable("It holds too many files.")
            if path.is_file() and path.resolve().is_relative_to(self._root):
                found.append(path.relative_to(self._root).as_posix())
        return sorted(found)

    def read(self, name: str) -> bytes:
        path = self._root / name
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise Unreadable("it is too large")
            return path.read_bytes()
        except OSError as error:
            raise Unreadable(error.strerror or "it cannot be opened") from error


class _Archive:
    def __init__(self, path: Path) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise Unreadable("It is no ZIP file, or a damaged one.") from error

    def names(self) -> list[str]:
        entries = self._archive.infolist()
        if len(entries) > MAX_FILES:
            raise Unreadable("It holds too many files.")
        return sorted(entry.filename for entry in entries if not entry.is_dir() and _stays_inside(entry.filename))

    def read(self, name: str) -> bytes:
        try:
            with self._archive.open(name) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
            raise Unreadable("it is damaged or encrypted") from error
        if len(content) > MAX_FILE_BYTES:
            raise Unreadable("it is too large")
        return content


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and ":" not in name


class Export:
    """An opened export: its users, its channels, and the files of each channel in their order.

    Raises :class:`Unreadable` when there is no list of channels, or one that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise Unreadable("There is no such file or folder.")
        self._source: Source = _Folder(path) if path.is_dir() else _Archive(path)
        names = self._source.names()
        self._prefix = _prefix(names)
        self._names = [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]
        self.channels: list[ExportChannel] = self._read_channels()
        self.direct: set[str] = self._read_direct()
        self.users: list[Any] = self._list("users.json")

    def _list(self, name: str) -> list[Any]:
        return self.read(name) if name in self._names else []

    def _read_channels(self) -> list[ExportChannel]:
        public, private = self._list("channels.json"), self._list("groups.json")
        entries = [(entry, False) for entry in public] + [(entry, True) for entry in private]
        return [
            ExportChannel(
                identifier=str(entry["id"])[:128],
                name=str(entry.get("name") or entry["id"])[:200],
                is_private=private or entry.get("is_private") is True or entry.get("is_group") is True,
            )
            for entry, private in entries
            if isinstance(entry, Mapping) and entry.get("id")
        ]

    def _read_direct(self) -> set[str]:
        """Return the folders of direct messages: named after their identifier, or, of several people, their name."""
        entries = [entry for name in DIRECT_LISTS for entry in self._list(name) if isinstance(entry, Mapping)]
        return {str(entry[field]) for entry in entries for field in ("id", "name") if entry.get(field)}

    def files(self, channel: ExportChannel) -> list[str]:
        """Return the files of a channel, in the order of their days."""
        return [name for name in self._names if PurePosixPath(name).parent.as_posix() == channel.name and _is_day(name)]

    def direct_files(self) -> int:
        """Return how many files hold direct messages, which stay where they are."""
        return sum(self._is_direct(folder) for folder in self._folders())

    def unlisted(self) -> list[str]:
        """Return the folders with messages that no list names: what they are cannot be known."""
        listed = {channel.name for channel in self.channels}
        return sorted({folder for folder in self._folders() if folder not in listed and not self._is_direct(folder)})

    def _folders(self) -> Iterator[str]:
        for name in self._names:
            folder = PurePosixPath(name).parent.as_posix()
            if _is_day(name) and folder != ".":
                yield folder

    def _is_direct(self, folder: str) -> bool:
        return folder in self.direct or folder.startswith("mpdm-")

    def content(self, name: str) -> bytes:
        """Return a file as it is; raises :class:`Unreadable`."""
        return self._source.read(self._prefix + name)

    def read(self, name: str) -> list[Any]:
        """Return the list in a file; raises :class:`Unreadable`."""
        return parse(self.content(name))


def parse(content: bytes) -> list[Any]:
    """Return the list that a file holds, in whatever Unicode encoding, or in Windows' western one.

    Raises :class:`Unreadable`.
    """
    try:
        try:
            text = content.decode(json.detect_encoding(content), "surrogatepass")
        except UnicodeDecodeError:
            text = content.decode("cp1252", "replace")
        found = json.loads(text)
    except RecursionError as error:
        raise Unreadable("its JSON is nested too deep") from error
    except ValueError as error:
        raise Unreadable(f"it is no JSON ({error})"[:150]) from error
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise Unreadable("it holds no list")
    return list(found)


def _prefix(names: Sequence[str]) -> str:
    """Return the folder of the lists, with its slash: some tools wrap an export in a folder of its own."""
    lists = [name for name in names if PurePosixPath(name).name in {"channels.json", "groups.json"}]
    if not lists:
        raise Unreadable("There is neither channels.json nor groups.json in it.")
    nearest = min(lists, key=lambda name: (name.count("/"), name))
    return nearest[: len(nearest) - len(PurePosixPath(nearest).name)]


def _is_day(name: str) -> bool:
    """Tell whether a file holds messages: Slack names them after their day; other files of a folder are not read."""
    stem, _, extension = PurePosixPath(name).name.partition(".")
    return extension == "json" and len(stem) == 10 and stem.replace("-", "").isdigit()
