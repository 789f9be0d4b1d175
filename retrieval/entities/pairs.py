"""Deciding whether two names stand for one entity: only a person's or a model's yes joins them, and it is kept.

A decision changes what is found by which name, in the whole account, and never what anybody may see.
"""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from django.db import connection

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import Conflicting, NotFound
from facts.ids import new_id
from facts.locks import Lock, lock_account
from facts.tenancy import ROOT, account_transaction
from governance import access
from governance.access import Delegation, Principal
from retrieval.entities import known, resolving
from retrieval.models import AliasPair, PairState
from retrieval.visibility import Visibility


class ShownPair(NamedTuple):
    """A pair as its reviewer sees it: two wordings from facts that the reviewer may read."""

    id: uuid.UUID
    first: str
    second: str
    similarity: float | None
    state: str


def list_pairs(principal: Principal, *, state: str = PairState.PROPOSED, limit: int = 100) -> list[ShownPair]:
    """Return the pairs that the caller may decide, most alike first.

    Shown is how the names are written in facts that the caller may currently read. A pair of which one name occurs
    in no such fact is not listed: deciding about it is for somebody who knows both. Raises ``Refused`` for callers
    who are no curators of the whole account.
    """
    with account_transaction(principal.account_id):
        access.require_authority(principal, Delegation.RESOLVE, path=ROOT)
        return _shown(principal, "p.state = %(state)s", {"state": state, "limit": limit})


def _shown(principal: Principal, which: str, parameters: dict[str, Any]) -> list[ShownPair]:
    instant = now()
    visible = Visibility(
        account_id=principal.account_id,
        scope_ids=tuple(scope.id for scope in access.all_readable_scopes(principal)),
        subject_id=None,
        reader=access.resolve_reader(principal),
        at=instant,
        now=instant,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM (SELECT p.id,"
            f" {_wording('p.first', visible)} AS first, {_wording('p.second', visible)} AS second,"
            f" p.similarity, p.state FROM retrieval_aliaspair p WHERE p.account_id = %(account)s AND {which}) x"
            " WHERE first IS NOT NULL AND second IS NOT NULL"
            " ORDER BY similarity DESC NULLS LAST, first, second LIMIT %(limit)s",
            {**visible.parameters(), **parameters},
        )
        return [ShownPair(*row) for row in cursor.fetchall()]


def _require_shown(principal: Principal, pair_id: uuid.UUID) -> ShownPair:
    """Return one pair as the caller sees it; raises ``NotFound`` (``pair_not_found``) where it is not shown."""
    found = _shown(principal, "p.id = %(pair)s", {"pair": pair_id, "limit": 1})
    if not found:
        raise NotFound("There is no such pair.", code="pair_not_found")
    return found[0]


def _wording(name: str, visible: Visibility) -> str:
    """Return the SQL of how a folded name is most often written in facts of ``visible``; NULL when it is in none."""
    return (
        "(SELECT m.surface FROM retrieval_entityalias a JOIN retrieval_mention m"
        " ON m.account_id = %(account)s AND m.alias_id = a.id JOIN facts_facttext t ON t.fact_id = m.fact_id"
        " JOIN facts_fact f ON f.id = m.fact_id"
        f" WHERE a.account_id = %(account)s AND a.folded = {name} AND m.surface <> '' AND f.withheld = ''"
        f" AND {visible.current('t')}"
        ' GROUP BY m.surface ORDER BY count(*) DESC, length(m.surface), m.surface COLLATE "C" LIMIT 1)'
    )


def decide(principal: Principal, pair_id: uuid.UUID, *, same: bool) -> AliasPair:
    """Record that a person says the two names are the same, or are not.

    Raises ``NotFound`` (``pair_not_found``), also for a pair that :func:`list_pairs` does not show the caller,
    ``Conflicting`` (``pair_decided``, ``pair_contradicts``) and ``Refused``.
    """
    with account_transaction(principal.account_id):
        actor = access.require_authority(principal, Delegation.RESOLVE, path=ROOT)
        _require_shown(principal, pair_id)
        return confirm(principal.account_id, pair_id, same=same, actor=actor)


def undo(principal: Principal, pair_id: uuid.UUID) -> AliasPair:
    """Make a decided pair a proposal again; the names part unless others hold them together.

    Raises ``NotFound`` (``pair_not_found``), ``Conflicting`` (``nothing_to_undo``) and ``Refused``.
    """
    with account_transaction(principal.account_id):
        actor = access.require_authority(principal, Delegation.RESOLVE, path=ROOT)
        _require_shown(principal, pair_id)
        return _record(principal.account_id, pair_id, state=PairState.PROPOSED, actor=actor)


def confirm(account_id: uuid.UUID, pair_id: uuid.UUID, *, same: bool, actor: Actor) -> AliasPair:
    """Record a person's or a model's decision about a proposed pair, and join the names if they are the same.

    Raises ``NotFound`` (``pair_not_found``), ``Conflicting`` (``pair_decided``) for one that is decided already, and
    ``Conflicting`` (``pair_contradicts``) where an earlier decision says otherwise of the same names.
    """
    with account_transaction(account_id):
        pair = AliasPair.objects.filter(account_id=account_id, pk=pair_id).first()
        if pair is None:
            raise NotFound("There is no such pair.", code="pair_not_found")
        if pair.state != PairState.PROPOSED:
            raise Conflicting("This pair is decided already.", code="pair_decided")
        return _record(account_id, pair_id, state=PairState.SAME if same else PairState.DIFFERENT, actor=actor)


def _record(account_id: uuid.UUID, pair_id: uuid.UUID, *, state: PairState, actor: Actor) -> AliasPair:
    audit.record(
        account_id,
        action=f"entity_pair.{state}",
        object_type="alias_pair",
        object_id=pair_id,
        actor=actor,
        group=new_id(),
    )
    lock_account(Lock.ENTITIES, account_id)
    pair = AliasPair.objects.select_for_update().get(account_id=account_id, pk=pair_id)
    decided = state != PairState.PROPOSED
    if decided and pair.state != PairState.PROPOSED:
        raise Conflicting("This pair is decided already.", code="pair_decided")
    if not decided and pair.state == PairState.PROPOSED:
        raise Conflicting("Nothing is decided about this pair.", code="nothing_to_undo")
    pair.state = state
    pair.decided_by = actor.name[:200] if decided else ""
    pair.decided_at = now() if decided else None
    pair.save(update_fields=["state", "decided_by", "decided_at"])
    known_names = known.load(account_id)
    _refuse_contradiction(account_id, known_names)
    resolving.regroup(account_id, [pair.first, pair.second], known=known_names)
    return pair


def _refuse_contradiction(account_id: uuid.UUID, known_names: known.KnownNames) -> None:
    """Raise ``Conflicting`` when decisions, and what subjects go by, make one of two names that are said to differ."""
    same = resolving.confirmed(account_id)
    different = AliasPair.objects.filter(account_id=account_id, state=PairState.DIFFERENT)
    for first, second in different.values_list("first", "second"):
        if second in resolving.groups([first], known=known_names, same=same)[0]:
            raise Conflicting("Another decision about these names says otherwise.", code="pair_contradicts")
