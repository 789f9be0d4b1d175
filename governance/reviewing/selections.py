"""What a person has chosen in a list: kept here, so that it holds across pages and filters."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence

from facts.clock import now
from facts.errors import DomainError
from governance.access import Principal
from governance.models import Selection

#: Things that can be chosen in one list.
MAX_ITEMS = 500


def of(principal: Principal, name: str) -> Selection:
    """Return what the person has chosen in the list of this name; an empty one where nothing is."""
    found = Selection.objects.filter(
        account_id=principal.account_id, membership_id=principal.membership_id, name=name
    ).first()
    return found or Selection(account_id=principal.account_id, membership_id=principal.membership_id, name=name)


def choose(
    principal: Principal,
    name: str,
    *,
    shown: Iterable[uuid.UUID],
    chosen: Mapping[uuid.UUID, int | None],
) -> Selection:
    """Take over what stands on one page of the list: of ``shown``, exactly ``chosen`` are chosen from now on.

    What was chosen on other pages stays. Runs inside the account's transaction. Raises ``DomainError``
    (``batch_too_large``) for more than :data:`MAX_ITEMS`, and then changes nothing.
    """
    selection = _locked(principal, name)
    gone = {str(pk) for pk in shown}
    items = {pk: version for pk, version in selection.items.items() if pk not in gone}
    items |= {str(pk): version for pk, version in chosen.items()}
    if len(items) > MAX_ITEMS:
        raise DomainError(f"At most {MAX_ITEMS} can be chosen at once.", code="batch_too_large", field="chosen")
    selection.items = items
    selection.changed_at = now()
    selection.save(update_fields=["items", "changed_at"])
    return selection


def clear(principal: Principal, name: str) -> None:
    """Choose nothing any more."""
    selection = _locked(principal, name)
    selection.items, selection.changed_at = {}, now()
    selection.save(update_fields=["items", "changed_at"])


def finish(principal: Principal, name: str, *, verb: str, outcome: Sequence[Mapping[str, str]]) -> Selection:
    """Keep what became of each chosen thing; those that were dealt with are chosen no longer.

    ``outcome`` gives for each item ``id`` and either the ``status`` it has now, or ``code`` and ``message``.
    """
    selection = _locked(principal, name)
    done = {item["id"] for item in outcome if not item.get("code")}
    selection.items = {pk: version for pk, version in selection.items.items() if pk not in done}
    selection.outcome = {"verb": verb, "items": [dict(item) for item in outcome]}
    selection.changed_at = now()
    selection.save(update_fields=["items", "outcome", "changed_at"])
    return selection


def _locked(principal: Principal, name: str) -> Selection:
    rows = Selection.objects.select_for_update()
    selection, _ = rows.get_or_create(account_id=principal.account_id, membership_id=principal.membership_id, name=name)
    return selection
