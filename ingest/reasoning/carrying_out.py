"""Carrying out what a model proposed and was not refused, through the gates and under the subject's lock."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from facts import conflict_sets, lifecycle
from facts.actors import pipeline
from facts.ids import new_id
from facts.locks import lock_subject
from facts.models import ConflictMember, Evidence, Fact, Relation, Separation
from facts.vocabulary import ConflictKind, ConflictStatus, RelationKind, Status
from governance import deductions, placement
from ingest.reasoning import judging, offered, prompt
from ingest.reasoning.offered import Offer
from ingest.reasoning.prompt import Operation, Verb

ACTOR = pipeline(offered.NAME)
#: What is refused once more under the lock.
CHANGED = "changed_meanwhile"

#: ``propose(account_id, first, second) -> bool``: proposes to people that two names stand for one; says whether it did.
ProposeNames = Callable[[uuid.UUID, str, str], bool]

_propose_names: ProposeNames | None = None


def register_names(propose: ProposeNames) -> None:
    """Tell who keeps the names in facts, and asks people which of them are one."""
    global _propose_names
    _propose_names = propose


def carry_out(offer: Offer, operations: Sequence[Operation], *, provider: str, model: str) -> Counter[str]:
    """Carry out the operations about what was offered; return how many came to what. Inside the account.

    Facts that have changed since they were offered are no ground for anything.
    """
    if not offer.facts:
        return Counter()
    account_id = offer.subject.account_id
    lock_subject(offer.scope.id, offer.subject.id)
    if not offered.still_stands(account_id, offer.facts):
        return Counter({CHANGED: len(operations)})
    roots = roots_of(offer)
    counts: Counter[str] = Counter()
    gone: set[uuid.UUID] = set()
    for operation in sorted(operations, key=lambda one: list(Verb).index(one.verb)):
        reason = judging.refusal(operation, offer, roots=roots)
        cited = [] if reason else judging.cites(operation, offer)
        if not reason and gone & {fact.id for fact in cited}:
            reason = CHANGED
        if reason:
            counts[f"refused_{reason}"] += 1
            continue
        match operation.verb:
            case Verb.DEDUCE:
                counts[_deduce(operation, cited, roots, provider=provider, model=model)] += 1
            case Verb.RELATE:
                counts[_relate(operation, cited)] += 1
            case Verb.MERGE_DUPLICATES:
                gone |= merge(cited)
                counts["merged"] += len(cited) - 1
            case Verb.PROPOSE_SAME_ENTITY:
                proposed = _propose_names is not None and _propose_names(account_id, *operation.names)
                counts["names_proposed" if proposed else "names_known"] += 1
    return counts


def merge_exact(offer: Offer) -> int:
    """Merge the facts that say the same word for word, without any model; return how many were. Inside the account."""
    account_id = offer.subject.account_id
    lock_subject(offer.scope.id, offer.subject.id)
    if not offered.still_stands(account_id, offer.facts):
        return 0
    alike: dict[tuple[object, ...], list[Fact]] = defaultdict(list)
    for fact in offer.facts:
        audience = (fact.level, fact.sensitivity)
        alike[(fact.statement_hash, fact.identity_key, fact.value_key, fact.form, fact.valid_from, *audience)].append(
            fact
        )
    groups = [facts for facts in alike.values() if len(facts) > 1]
    return sum(len(merge(facts)) for facts in groups)


def merge(facts: Sequence[Fact]) -> set[uuid.UUID]:
    """Let the best supported of these facts, else the oldest, stand for all; the others are superseded and kept.

    The caller holds the subject's lock. Returns those that were superseded.
    """
    winner, *losers = sorted(facts, key=lambda fact: (-fact.corroboration, fact.recorded_from, fact.id))
    group = new_id()
    how = {"account_id": winner.account_id, "actor": ACTOR, "reason": "same_statement", "group": group}
    said = []
    for loser in losers:
        known = Evidence.objects.filter(account_id=winner.account_id, fact=winner).values("event_id")
        for one in Evidence.objects.filter(account_id=winner.account_id, fact=loser).exclude(event_id__in=known):
            said.append(one.event.occurred_at)
            Evidence.objects.create(
                account_id=winner.account_id,
                fact=winner,
                event_id=one.event_id,
                passage_id=one.passage_id,
                quote=one.quote,
                human=one.human,
            )
        Relation.objects.get_or_create(
            account_id=winner.account_id, source_id=winner.id, target_id=loser.id, kind=RelationKind.SUPERSEDES
        )
        ends = {"valid_to": loser.valid_from} if loser.valid_from else {}
        lifecycle.transition(loser.id, to=Status.SUPERSEDED, action="fact.merged", changes=ends, **how)
    if said:
        placement.reinforce(winner, max(said), actor=ACTOR, reason="same_statement", group=group)
    return {loser.id for loser in losers}


def roots_of(offer: Offer) -> dict[uuid.UUID, frozenset[uuid.UUID]]:
    """Return what each derived fact among the offered rests on in the end."""
    edges = Relation.objects.filter(
        account_id=offer.subject.account_id, source_id__in=offer.derived, kind=RelationKind.DERIVED_FROM
    )
    below: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    for source_id, target_id in edges.values_list("source_id", "target_id"):
        below[source_id].add(target_id)
    derived = set(
        Relation.objects.filter(
            account_id=offer.subject.account_id,
            source_id__in=set().union(*below.values()),
            kind=RelationKind.DERIVED_FROM,
        ).values_list("source_id", flat=True)
    )
    return {source_id: frozenset(targets - derived) for source_id, targets in below.items()}


def _deduce(
    operation: Operation,
    cited: Sequence[Fact],
    roots: Mapping[uuid.UUID, frozenset[uuid.UUID]],
    *,
    provider: str,
    model: str,
) -> str:
    fact = deductions.fact_of(
        cited,
        statement=operation.statement,
        confidence=operation.confidence,
        provider=provider,
        model=model,
        prompt_version=prompt.VERSION,
    )
    rests_on = {one.id for one in cited}.union(*(_all_below(one) for one in cited))
    said_before = Fact.objects.filter(account_id=fact.account_id, pk__in=rests_on, statement_hash=fact.statement_hash)
    if said_before.exists():
        return f"refused_{judging.LOOP}"
    placed = placement.place_deduction(fact, rests_on=sorted(rests_on), actor=ACTOR, group=new_id())
    if placed.result == placement.Result.REJECTED:
        return f"refused_{placed.reason}"
    return "known_already" if placed.result == placement.Result.DUPLICATE else "deduced"


def _all_below(fact: Fact) -> set[uuid.UUID]:
    """Return all that a fact rests on: each deduction keeps the whole of it."""
    edges = Relation.objects.filter(account_id=fact.account_id, source_id=fact.id, kind=RelationKind.DERIVED_FROM)
    return set(edges.values_list("target_id", flat=True))


def _relate(operation: Operation, cited: Sequence[Fact]) -> str:
    """Write an edge; a contradiction asks people whether it is one, and hides nothing until they say so."""
    source, target = cited
    kind = RelationKind(operation.relation)
    if kind is RelationKind.CONTRADICTS:
        source, target = sorted(cited, key=lambda fact: fact.id)
    _, is_new = Relation.objects.get_or_create(
        account_id=source.account_id, source_id=source.id, target_id=target.id, kind=kind
    )
    if is_new and kind is RelationKind.CONTRADICTS and not _asked_already(source, target):
        conflict_sets.open_set(
            account_id=source.account_id,
            scope_id=source.scope_id,
            subject_id=source.subject_id,
            kind=ConflictKind.POSSIBLE,
            members=[(source.id, False), (target.id, False)],
            reason="reasoning_contradicts",
            actor=ACTOR,
        )
    return "related" if is_new else "known_already"


def _asked_already(first: Fact, second: Fact) -> bool:
    """Tell whether people said what sets the two apart, or a set over both is open."""
    pair = sorted((first.id, second.id))
    apart = Separation.objects.filter(
        account_id=first.account_id, first_id__in=pair, second_id__in=pair, lifted_at__isnull=True
    )
    members = ConflictMember.objects.filter(
        account_id=first.account_id, left_at__isnull=True, conflict_set__status=ConflictStatus.OPEN
    )
    shared = members.filter(fact=first, conflict_set_id__in=members.filter(fact=second).values("conflict_set_id"))
    return apart.exists() or shared.exists()
