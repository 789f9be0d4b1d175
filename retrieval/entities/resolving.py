"""Which names stand for one entity. Equal folded names do; so do a subject's own names, and pairs that were confirmed.

Everything else stays apart: that two names look alike is at most proposed (``proposing``). A name that two subjects
go by stands for neither of them and is an entity by itself.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from retrieval.entities.known import KnownNames
from retrieval.models import AliasPair, Entity, EntityAlias, PairState


def confirmed(account_id: uuid.UUID) -> dict[str, set[str]]:
    """Return for each name those that a person or a model has said to be the same."""
    same: dict[str, set[str]] = defaultdict(set)
    pairs = AliasPair.objects.filter(account_id=account_id, state=PairState.SAME)
    for first, second in pairs.values_list("first", "second"):
        same[first].add(second)
        same[second].add(first)
    return same


def groups(names: Iterable[str], *, known: KnownNames, same: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return ``names`` and all that stand for the same as any of them, one sorted list for each entity. Pure.

    The lists are sorted by their first names, so that the outcome depends on nothing but the names.
    """
    found = []
    seen: set[str] = set()
    for start in sorted(set(names)):
        if start in seen:
            continue
        group: set[str] = set()
        waiting = [start]
        while waiting:
            name = waiting.pop()
            if name not in group:
                group.add(name)
                waiting.extend([*known.one_with(name), *same.get(name, ())])
        seen |= group
        found.append(sorted(group))
    return found


def regroup(account_id: uuid.UUID, names: Iterable[str], *, known: KnownNames) -> dict[str, uuid.UUID]:
    """Write the aliases of ``names`` and of all that stands for the same; return the alias id of each name.

    Inside a transaction that holds ``Lock.ENTITIES``. Entities that one of the names was in are taken apart or
    joined as the groups say. An entity lives on in the group of its first name.
    """
    same = confirmed(account_id)
    asked = set(names)
    wanted = groups(asked, known=known, same=same)
    grouped = {name for group in wanted for name in group}
    aliases = _with_their_entities(account_id, grouped)
    if not grouped.issuperset(aliases):
        # An entity is about to be taken apart: what its other names stand for has to be known as well.
        wanted = groups(grouped.union(aliases), known=known, same=same)
        aliases = _with_their_entities(account_id, {name for group in wanted for name in group})
    taken: set[uuid.UUID] = set()
    new_entities: list[Entity] = []
    new: list[EntityAlias] = []
    changed: list[EntityAlias] = []
    for group in wanted:
        entity_id = _entity_of(group, aliases, taken)
        if entity_id is None:
            new_entities.append(Entity(account_id=account_id))
            entity_id = new_entities[-1].id
        taken.add(entity_id)
        for name in group:
            alias = aliases.get(name)
            if alias is None and name not in asked and name not in known:
                continue  # a name of a pair that no fact holds now
            if alias is None:
                alias = EntityAlias(account_id=account_id, entity_id=entity_id, folded=name, claimed=name in known)
                aliases[name] = alias
                new.append(alias)
            elif (alias.entity_id, alias.claimed) != (entity_id, name in known):
                alias.entity_id, alias.claimed = entity_id, name in known
                changed.append(alias)
    Entity.objects.bulk_create(new_entities)
    EntityAlias.objects.bulk_create(new)
    EntityAlias.objects.bulk_update(changed, ["entity", "claimed"], batch_size=500)
    return {name: alias.id for name, alias in aliases.items()}


def follow_subjects(account_id: uuid.UUID, *, known: KnownNames) -> None:
    """Bring the aliases that subjects go by, or went by, in line with the subjects as they are now; as ``regroup``."""
    aliases = EntityAlias.objects.filter(account_id=account_id)
    gone = [name for name in aliases.filter(claimed=True).values_list("folded", flat=True) if name not in known]
    unclaimed = aliases.filter(claimed=False).values_list("folded", flat=True)
    arrived = [name for name in unclaimed.iterator() if name in known]
    mentioned = aliases.filter(claimed=True, folded__in=list(known.subjects_by_name)).values_list("folded", flat=True)
    regroup(account_id, [*gone, *arrived, *mentioned], known=known)


def _with_their_entities(account_id: uuid.UUID, names: Iterable[str]) -> dict[str, EntityAlias]:
    """Return the aliases of ``names``, and all others of the entities that those are in."""
    rows = EntityAlias.objects.filter(account_id=account_id).defer("h").order_by("folded")
    found = {alias.folded: alias for alias in rows.filter(folded__in=sorted(names))}
    entities = {alias.entity_id for alias in found.values()}
    return found | {alias.folded: alias for alias in rows.filter(entity_id__in=entities)}


def _entity_of(group: Sequence[str], aliases: Mapping[str, EntityAlias], taken: set[uuid.UUID]) -> uuid.UUID | None:
    """Return the entity that the group's names were in before, unless another group has it already."""
    for name in group:
        if name in aliases and aliases[name].entity_id not in taken:
            return aliases[name].entity_id
    return None
