"""People and the lines of cards: rewording, pinning, removing, and taking that back."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound
from facts.ids import new_id
from facts.locks import Lock, lock_account
from facts.models import Fact
from retrieval.cards import edits, rebuilding
from retrieval.cards.building import Line
from retrieval.context.rendering import one_line
from retrieval.models import Card, CardChange, CardEdit, EditKind

#: Longest line that a person may write: as long as a model's.
CHARACTERS = 300


def name_of(line: Mapping[str, Any]) -> str:
    """Return the name by which a stored line is spoken of: another one as soon as its words or its facts change."""
    body = "\x1f".join([line["text"], *line["facts"]])
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def reword(card: Card, line: str, text: str, *, actor: Actor) -> CardEdit:
    """Let a line say something else on the same facts.

    This and what follows run in the account's transaction; the caller has checked that the person may do it. Raises
    ``DomainError`` (``invalid_line``) and ``Conflicting`` (``stale_version``) when the card says something else by now.
    """
    words = one_line(text)
    if not words or len(words) > CHARACTERS:
        raise DomainError(f"A line has 1 to {CHARACTERS} characters.", code="invalid_line", field="text")
    return _decide(card, line, EditKind.REWORDED, text=words, actor=actor)


def pin(card: Card, line: str, *, actor: Actor) -> CardEdit:
    """Keep a line as it is for as long as its facts hold."""
    return _decide(card, line, EditKind.PINNED, text=None, actor=actor)


def remove(card: Card, line: str, *, actor: Actor) -> CardEdit:
    """Take a line off the card, and its facts out of what the card may say. The facts themselves stay as they are."""
    return _decide(card, line, EditKind.REMOVED, text="", actor=actor)


def undo(card: Card, edit_id: uuid.UUID, *, actor: Actor) -> None:
    """Take a decision back; what was decided before about the same facts counts again.

    Raises ``NotFound`` (``edit_not_found``) for one that does not stand.
    """
    lock_account(Lock.CARDS, card.account_id)
    undone = edits.of_card(card).filter(pk=edit_id).update(undone_at=now(), undone_by_id=actor.membership_id)
    if not undone:
        raise NotFound("There is no such decision, or it was taken back.", code="edit_not_found")
    _record(card, "card.edit_undone", edit_id, actor)
    _follow(card, CardChange.UNDONE, actor)


def _decide(card: Card, line: str, kind: EditKind, *, text: str | None, actor: Actor) -> CardEdit:
    lock_account(Lock.CARDS, card.account_id)
    card.refresh_from_db()
    original = next((stored for stored in card.lines if name_of(stored) == line), None)
    if original is None or not original["facts"]:
        raise Conflicting("The card says something else by now. Look at it again.", code="stale_version")
    seen = Fact.objects.filter(account_id=card.account_id, pk__in=original["facts"]).values_list("id", "version")
    edit = CardEdit.objects.create(
        account_id=card.account_id,
        card=card,
        kind=kind,
        original=Line.stored(original).as_json(),
        text=original["text"] if text is None else text,
        facts={str(fact_id): version for fact_id, version in seen},
        made_by_id=actor.membership_id,
    )
    _record(card, f"card.line_{kind}", edit.pk, actor)
    _follow(card, CardChange.EDITED, actor)
    return edit


def _follow(card: Card, change: CardChange, actor: Actor) -> None:
    """Have the card say what people decided, at once and at the next compaction."""
    Card.objects.filter(account_id=card.account_id, pk=card.pk).update(compact_due=True)
    card.refresh_from_db()
    rebuilding.bring_up_to_date(card, whole=True, change=change, maker=actor.membership_id)


def _record(card: Card, action: str, edit_id: uuid.UUID, actor: Actor) -> None:
    audit.record(
        card.account_id,
        action=action,
        object_type="card",
        object_id=card.pk,
        actor=actor,
        group=new_id(),
        metadata={"edit": str(edit_id), "kind": card.kind},
    )
