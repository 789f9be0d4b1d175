"""Fields that the pages of conflicts and reviews have in common, as they were typed."""

from __future__ import annotations

import uuid

from django.http import QueryDict

from facts.errors import DomainError
from memory_site.admin_pages.governed import typed


def reason(form: QueryDict, *, needed: bool) -> str:
    """Return the reason; raises ``DomainError`` (``reason_needed``) where one is needed and none was given."""
    text = typed(form, "reason")
    if needed and not text:
        raise DomainError("Say why: what takes something away needs a reason.", code="reason_needed", field="reason")
    return text


def membership_id(form: QueryDict) -> uuid.UUID:
    """Return whom something is given to; raises ``DomainError`` (``invalid_payload``)."""
    try:
        return uuid.UUID(typed(form, "assignee"))
    except ValueError:
        raise DomainError("Choose one of these.", code="invalid_payload", field="assignee") from None
