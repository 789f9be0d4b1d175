"""The history of rules: each change with its reason, to be looked at and to be gone back to."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from facts.canonical import has_control_characters
from facts.errors import DomainError
from governance.access import Principal
from governance.models import RuleChange, RuleSort
from governance.models.rule_changes import NOTE_LENGTH


def reason(note: str) -> str:
    """Return why a rule is changed, without space around it; raises ``DomainError`` (``note_missing``,
    ``invalid_note``)."""
    note = note.strip()
    if not note:
        raise DomainError("Say why it is changed.", code="note_missing", field="note")
    if len(note) > NOTE_LENGTH or has_control_characters(note):
        raise DomainError(
            f"A reason is plain text of at most {NOTE_LENGTH} characters.", code="invalid_note", field="note"
        )
    return note


def note_change(
    principal: Principal,
    *,
    sort: RuleSort,
    key: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    note: str,
) -> RuleChange:
    """Write a change down, in the transaction that makes it; ``note`` is what :func:`reason` returned."""
    return RuleChange.objects.create(
        account_id=principal.account_id,
        sort=sort,
        key=key,
        before=before,
        after=after,
        note=note,
        made_by=principal.actor.as_json(),
    )


def history(account_id: uuid.UUID, *, sort: RuleSort, key: str | None = None) -> QuerySet[RuleChange]:
    """Return the changes of one rule, or of all rules of a sort, newest first."""
    found = RuleChange.objects.filter(account_id=account_id, sort=sort).order_by("-id")
    return found if key is None else found.filter(key=key)
