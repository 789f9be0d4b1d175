"""Counting the processes that use something together, so that the last one to leave can clear up.

Each user holds a shared `flock`, which the kernel drops with its process. So no count can go stale, whatever way a
process ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


class UserCount:
    """The users that share one lock file. A forked child counts as a user of its own from the moment it exists."""

    def __init__(self, path: Path) -> None:
        """Count users by the file at `path`, which is made by the first."""
        self.path = path
        self._descriptor: int | None = None
        self._for_child: int | None = None
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self._after_in_parent, after_in_child=self._after_in_child
        )

    @property
    def is_in(self) -> bool:
        """Tell whether this process is counted."""
        return self._descriptor is not None

    def enter(self) -> None:
        """Count this process, waiting while a last user clears up."""
        if self._descriptor is None:
            self._descriptor = self._locked()

    def leave(self, *, when_last: Callable[[], None]) -> None:
        """Count this process no more; call `when_last` when no other is left, while newcomers have to wait."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            when_last()
        finally:
            os.close(descriptor)

    def _locked(self) -> int:
        """Return a new descriptor that holds a lock of its own."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return descriptor

    def _before_fork(self) -> None:
        """Take the child's lock before there is a child: an inherited one would be the parent's, and go with it."""
        if self._descriptor is not None:
            self._for_child = self._locked()

    def _after_in_parent(self) -> None:
        """Leave the new lock to the child."""
        if self._for_child is not None:
            os.close(self._for_child)
            self._for_child = None

    def _after_in_child(self) -> None:
        """Keep the new lock, and let go of the parent's."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._for_child = self._for_child, None
