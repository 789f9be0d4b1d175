"""Telling progress on the command line: one line that is rewritten on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import Any

from facts import progress_lines
from facts.models import LongJob

#: Seconds between two lines where there is no terminal to rewrite one line on.
QUIET = 5.0
#: Seconds between two changes of the line on a terminal.
LIVELY = 0.2
#: Columns of the line, so that a shorter one leaves nothing of a longer one.
WIDTH = 100


class Teller:
    """Writes where work stands to a command's output, elsewhere than on a terminal only for what takes long."""

    def __init__(self, out: Any) -> None:
        """Write to ``out``, a stream of Django's commands."""
        self._out = out
        self._on_terminal = bool(out.isatty())
        self._every = LIVELY if self._on_terminal else QUIET
        self._next = time.monotonic() + (0.0 if self._on_terminal else QUIET)
        self._open_line = False

    def tell(self, job: LongJob, *, now: bool = False) -> None:
        """Write a line, unless that was just done; ``now``: in any case."""
        at = time.monotonic()
        if at < self._next and not now:
            return
        self._next = at + self._every
        text = progress_lines.line(job)
        if self._on_terminal:
            self._out.write(f"\r{text:<{WIDTH}}", ending="")
            self._out.flush()
            self._open_line = True
        else:
            self._out.write(text)

    def end(self, job: LongJob | None = None) -> None:
        """Leave the line, having written ``job`` as it was left."""
        if job is not None:
            self.tell(job, now=True)
        if self._open_line:
            self._out.write("")
            self._open_line = False
