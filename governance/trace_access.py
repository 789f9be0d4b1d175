"""Whether a caller may speak about a trace: asked of whoever keeps traces, which is an app above this one."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from facts.errors import NotFound
from governance.access import Principal

#: ``check(principal, trace_id)``, inside the account's transaction.
TraceCheck = Callable[[Principal, uuid.UUID], bool]

_checks: list[TraceCheck] = []


def register(check: TraceCheck) -> None:
    """Tell who answers; called once when Django starts."""
    _checks[:] = [check]


def require_trace(principal: Principal, trace_id: uuid.UUID) -> None:
    """Raise ``NotFound`` (``trace_not_found``) unless the caller may inspect the trace."""
    if not any(check(principal, trace_id) for check in _checks):
        raise NotFound("There is no such trace.", code="trace_not_found", field="trace_id")
