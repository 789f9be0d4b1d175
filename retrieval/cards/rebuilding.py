"""Building the cards that are due: what the worker does, safe to do twice, late, or in two places at once.

A build holds the account's lock of cards while it reads facts and writes the card. A change that its reading did not
see commits later, and so does the entry of the outbox that tells of it: the card falls due again. Until then the
reader's side serves no line whose facts may not be seen.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from datetime import datetime
from time import monotonic

from facts.clock import now
from facts.locks import Lock, lock_account
from facts.models import Account, Scope, Subject
from facts.tenancy import account_transaction
from retrieval.cards import edits, names, sources, versions
from retrieval.cards.building import BUILDER, LIMITS, Line, build, strictest
from retrieval.cards.display_names import named
from retrieval.cards.sources import CardPlace, Found
from retrieval.models import Card, CardChange, CardKind

logger = logging.getLogger(__name__)

#: Cards of one account built in one round; the next round goes on.
ROUND = 200
#: After this time a round begins with no further account; a task may take twice as long and more.
SECONDS = 30.0
#: Builds from changes alone between two whole ones, as in the system that this comes from.
DELTAS = 20
#: Kinds whose changes are taken in one by one; the others rest on few facts and are always built as a whole.
_BY_DELTA = frozenset({CardKind.SCOPE_CARD, CardKind.SUBJECT_PROFILE, CardKind.SHARED_PROFILE})


def rebuild_everywhere(*, seconds: float = SECONDS) -> int:
    """Do :func:`rebuild_due` for every account, for about ``seconds``; return the number of cards looked at.

    Each round begins with another account, so that none waits for ever; one that fails stops no other.
    """
    accounts = list(Account.objects.order_by("id").values_list("id", flat=True))
    if not accounts:
        return 0
    until = monotonic() + seconds
    first = int(now().timestamp()) // 60 % len(accounts)
    looked_at = 0
    for account_id in (*accounts[first:], *accounts[:first]):
        if monotonic() > until:
            break
        try:
            looked_at += rebuild_due(account_id)
        except Exception:
            logger.exception("cards_not_built", extra={"account": str(account_id)})
    return looked_at


def rebuild_due(account_id: uuid.UUID, *, limit: int = ROUND) -> int:
    """Build the cards of an account that are due, those that wait longest first; return how many were looked at."""
    with account_transaction(account_id):
        due = Card.objects.filter(account_id=account_id, due_at__lte=now()).order_by("due_at", "id")
        waiting = list(due.values_list("id", flat=True)[:limit])
    for card_id in waiting:
        with account_transaction(account_id):
            lock_account(Lock.CARDS, account_id)
            card = Card.objects.filter(account_id=account_id, pk=card_id, due_at__lte=now()).first()
            if card is not None:
                bring_up_to_date(card, whole=False)
    return len(waiting)


def rebuild(account_id: uuid.UUID, card_id: uuid.UUID) -> Card | None:
    """Build one card as a whole, due or not; return it, or ``None`` when it is gone or nothing is left to say."""
    with account_transaction(account_id):
        lock_account(Lock.CARDS, account_id)
        card = Card.objects.filter(account_id=account_id, pk=card_id).first()
        if card is None:
            return None
        bring_up_to_date(card, whole=True)
        return Card.objects.filter(account_id=account_id, pk=card_id).first()


def bring_up_to_date(
    card: Card, *, whole: bool, change: str = CardChange.BUILT, maker: uuid.UUID | None = None
) -> None:
    """Write the card anew, or delete it when too little is left to say; with that of a scope, those of its names.

    For whoever holds the account's lock of cards. ``change`` and ``maker`` (a membership) are what the versions say.
    """
    at = now()
    place = place_of(card)
    if card.kind == CardKind.ENTITY_CARD:
        _rebuild_names(card.account_id, card.scope_id, at, change=change, maker=maker)
        return
    _write(card, place, at, whole=whole, change=change, maker=maker)
    if card.kind == CardKind.SCOPE_CARD:
        _rebuild_names(card.account_id, card.scope_id, at)


def _write(card: Card, place: CardPlace, at: datetime, *, whole: bool, change: str, maker: uuid.UUID | None) -> None:
    before = [Line.stored(line) for line in card.lines]
    found = None if whole or not _takes_changes(card, place, at) else _changed(card, place, before, at)
    if found is None:
        found = sources.find(place, at=at)
        card.sources, card.delta_count = found.total, 0
    else:
        card.delta_count += 1
    decided = edits.in_force(card, place, at=at)
    composed = supported(place, [line for line in before if line.composed], decided, at=at)
    if not composed:
        card.offered = []
    lines = _lines(card, found, decided, composed)
    if not lines and not decided.any:
        card.delete()
        return
    card.title = _title(card)
    builder = card.builder if composed else BUILDER
    save(card, lines, found, at, due_at=due(place, found, at), builder=builder, change=change, maker=maker)


def _lines(card: Card, found: Found, decided: edits.Decided, composed: Sequence[Line]) -> list[Line]:
    """Return what people decided, what a model worded and still holds, then facts that neither has seen."""
    kept = [*decided.lines, *composed]
    if not _enough(card.kind, found):
        return kept
    seen = decided.removed | {uuid.UUID(fact_id) for fact_id in card.offered}
    return build(card.kind, named(card.account_id, found.sources), kept=kept, passed_over=seen)


def supported(place: CardPlace, lines: Sequence[Line], decided: edits.Decided, *, at: datetime) -> list[Line]:
    """Return the lines whose facts may all be used at ``at``, and about none of whose facts a person has decided."""
    settled = decided.removed | {fact_id for line in decided.lines for fact_id in line.facts}
    cited = {fact_id for line in lines for fact_id in line.facts}
    current = sources.usable(place, cited, at=at).keys() - settled
    return [line for line in lines if line.facts and current >= set(line.facts)]


def _takes_changes(card: Card, place: CardPlace, at: datetime) -> bool:
    """Tell whether the changes since the last build are known one by one, and nothing began to hold by time alone."""
    if card.kind not in _BY_DELTA or card.builder != BUILDER or card.delta_count >= DELTAS or not card.pending:
        return False
    started = sources.next_start(place, at=card.built_at)
    return started is None or started > at


def _changed(card: Card, place: CardPlace, before: Sequence[Line], at: datetime) -> Found | None:
    """Return the facts of the card and the changed ones, as far as they may be used; ``None`` when too few are left.

    A line that left makes room for whatever is best among all facts, which only a whole build knows.
    """
    cited = {fact_id for line in before for fact_id in line.facts}
    among = cited | {uuid.UUID(fact_id) for fact_id in card.pending}
    found = sources.find(place, at=at, among=sorted(among))
    left = cited - {source.id for source in found.sources}
    return found if not left and _enough(card.kind, found) else None


def _enough(kind: str, found: Found) -> bool:
    return found.total >= LIMITS[kind].least


def due(place: CardPlace, found: Found, at: datetime) -> datetime | None:
    """Return when time alone changes what the card may say."""
    moments = (_first_end(found), sources.next_start(place, at=at))
    return min((moment for moment in moments if moment), default=None)


def _first_end(found: Found) -> datetime | None:
    """Return when time takes the first of the sources away."""
    return min((source.changes_at for source in found.sources if source.changes_at), default=None)


def save(
    card: Card,
    lines: Sequence[Line],
    found: Found,
    at: datetime,
    *,
    due_at: datetime | None,
    builder: str = BUILDER,
    change: str = CardChange.BUILT,
    maker: uuid.UUID | None = None,
) -> None:
    """Store what the card says from now on; where that is something else than before, as a version of its own."""
    stored = [line.as_json() for line in lines]
    changed = card.lines != stored
    if changed:
        card.version += 1
    card.lines = stored
    card.sensitivity = strictest(found.sources)
    card.builder = builder
    card.pending = []
    card.due_at = due_at
    card.built_at = at
    card.save()
    if changed:
        versions.keep(card, change=change, maker=maker)


def _rebuild_names(
    account_id: uuid.UUID,
    scope_id: uuid.UUID,
    at: datetime,
    *,
    change: str = CardChange.BUILT,
    maker: uuid.UUID | None = None,
) -> None:
    """Write the cards about the names of a scope, and delete those of names that are no longer among them."""
    known = {
        card.key: card
        for card in Card.objects.filter(account_id=account_id, scope_id=scope_id, kind=CardKind.ENTITY_CARD)
    }
    written: set[str] = set()
    for name in names.of_scope(account_id, scope_id, at=at, least=LIMITS[CardKind.ENTITY_CARD].least):
        card = known.get(name.key) or Card(
            account_id=account_id, scope_id=scope_id, kind=CardKind.ENTITY_CARD, key=name.key
        )
        place = place_of(card)
        found = sources.find(place, at=at, among=name.facts)
        decided = edits.in_force(card, place, at=at)
        lines = _lines(card, found, decided, [])
        if name.key in written or not (lines or decided.any):
            continue
        card.title, card.sources = name.label, found.total
        save(card, lines, found, at, due_at=_first_end(found), change=change, maker=maker)
        written.add(name.key)
    Card.objects.filter(account_id=account_id, pk__in=[known[key].pk for key in known.keys() - written]).delete()


def _title(card: Card) -> str:
    """Return what the card is called: by its subject, its scope or its thread."""
    if card.kind == CardKind.SUBJECT_PROFILE:
        return Subject.objects.get(account_id=card.account_id, pk=card.subject_id).display_name
    if card.kind == CardKind.SHARED_PROFILE:
        about = Subject.objects.filter(account_id=card.account_id, pk=card.key).first()
        return about.display_name if about is not None else ""
    if card.kind == CardKind.SCOPE_CARD:
        return Scope.objects.get(account_id=card.account_id, pk=card.scope_id).path
    return card.key


def place_of(card: Card) -> CardPlace:
    """Return which card it is."""
    return CardPlace(
        account_id=card.account_id,
        kind=card.kind,
        scope_id=card.scope_id,
        subject_id=card.subject_id,
        key=card.key,
    )
