"""What happens to actions when facts change: told by the outbox of facts, once or several times, in order.

A fact that becomes current sets off each matching rule once. One that is current no more withdraws its actions and
what is still to be sent about them; one that comes back brings them back.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from django.db.models import DurationField, ExpressionWrapper, F, Q

from facts import audit
from facts.actors import Actor, pipeline
from facts.clock import now
from facts.ids import new_id
from facts.models import ConflictMember, Evidence, Fact, OutboxEntry, Relation, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import RelationKind, SourceType, Status, SubjectKind
from ingest.actions import rules
from ingest.actions.due import due_on
from ingest.actions.receivers import receiver_of
from ingest.actions.rules import Rule
from ingest.deliveries import outbox, targets
from ingest.models import Action, ActionKind, ActionState, DeliveryTarget, NoticeTo
from ingest.observations import IMPORTED

ACTOR = pipeline("actions")
#: About what the deliveries of this module are.
ABOUT = "action"
#: What was said longer ago than this when it came in was imported, and sets off nothing.
LIVE_WITHIN = timedelta(days=2)

#: Why an action is closed or withdrawn, by the status of its fact.
WITHDRAWN_BY = {
    Status.SUPERSEDED: "fact_superseded",
    Status.DISPUTED: "fact_disputed",
    Status.REJECTED: "fact_rejected",
    Status.EXPIRED: "fact_expired",
    Status.DISABLED: "fact_forgotten",
    Status.REDACTED: "fact_redacted",
    Status.RETRACTED: "fact_retracted",
    Status.DELETED: "fact_erased",
    Status.CANDIDATE: "fact_not_current",
    Status.PROVISIONAL: "fact_not_current",
    Status.HELD: "fact_not_current",
}
#: The fact is over and nothing took its place: what was to be done about it is done.
FACT_ENDED = "fact_ended"
#: Why nobody was told.
NO_TARGET = "no_target"
RECEIVER_UNCLEAR = "receiver_unclear"


def note_changes(account_id: uuid.UUID, entries: Sequence[OutboxEntry]) -> None:
    """Set off, withdraw and bring back what these changes concern; a handler of the outbox.

    It looks at the facts as they are now, so that being told twice, or late, changes nothing.
    """
    changed: set[uuid.UUID] = set()
    arrived: set[uuid.UUID] = set()
    conflicts: set[uuid.UUID] = set()
    for entry in entries:
        if entry.topic == "fact.changed":
            changed.add(entry.object_id)
            if entry.payload["to"] == Status.ACTIVE and entry.payload["from"] != Status.ACTIVE:
                arrived.add(entry.object_id)
        elif entry.topic.startswith("conflict."):
            conflicts.add(entry.object_id)
    members = ConflictMember.objects.filter(account_id=account_id, conflict_set__in=conflicts)
    changed.update(members.values_list("fact_id", flat=True))
    if changed:
        _follow(account_id, changed, arrived)


def _follow(account_id: uuid.UUID, changed: Collection[uuid.UUID], arrived: Collection[uuid.UUID]) -> None:
    known: dict[uuid.UUID, list[Action]] = defaultdict(list)
    for action in Action.objects.select_for_update().filter(account_id=account_id, fact_id__in=changed).order_by("id"):
        known[action.fact_id].append(action)
    all_rules = rules.rules_of(account_id)
    categories = {rule.category for rule in all_rules if rule.enabled}
    told = Q(pk__in=list(known)) | Q(pk__in=arrived, category__in=categories)
    concerned = list(
        Fact.objects.filter(told, account_id=account_id).select_related("scope", "subject", "account").order_by("id")
    )
    live = sets_off(account_id, [fact.id for fact in concerned if fact.id in arrived])
    for fact in concerned:
        if fact.status == Status.NEEDS_REVALIDATION:
            continue
        if _holds(fact):
            _restore(fact, known[fact.id])
            if fact.id in live:
                _set_off(fact, all_rules, taken={action.rule_key for action in known[fact.id]})
        else:
            _take_back(fact, known[fact.id])


def _holds(fact: Fact) -> bool:
    """Whether the fact is current: nothing withholds it, and it has not ended."""
    over = fact.valid_to is not None and fact.valid_to <= now()
    return fact.status == Status.ACTIVE and fact.withheld == Withheld.NOTHING and not over


def sets_off(account_id: uuid.UUID, fact_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return which of these facts may set off anything: those that were said just now, here.

    What was backfilled or imported sets off nothing, nor does what the system itself put together: deductions and
    copies that were placed elsewhere. Two queries.
    """
    if not fact_ids:
        return set()
    late = ExpressionWrapper(F("event__recorded_at") - F("event__occurred_at"), output_field=DurationField())
    said = (
        Evidence.objects.filter(account_id=account_id, fact_id__in=fact_ids)
        .exclude(event__source_type=SourceType.BACKFILL)
        .exclude(event__recorded_claims__has_key=IMPORTED)
        .annotate(late=late)
        .filter(late__lte=LIVE_WITHIN)
    )
    made = Relation.objects.filter(
        account_id=account_id,
        source_id__in=fact_ids,
        kind__in=[RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM],
    )
    return {*said.values_list("fact_id", flat=True)} - {*made.values_list("source_id", flat=True)}


def _set_off(fact: Fact, all_rules: Iterable[Rule], *, taken: Collection[str]) -> None:
    for rule in rules.matching(all_rules, category=fact.category, confidence=fact.confidence):
        if rule.key in taken:
            continue
        person = fact.subject if fact.subject.kind == SubjectKind.PERSON else None
        receiver = receiver_of(fact) if rule.notice_to == NoticeTo.RECEIVER else None
        action = Action.objects.create(
            account_id=fact.account_id,
            fact=fact,
            rule_key=rule.key,
            rule_version=rule.version,
            kind=rule.kind,
            scope=fact.scope,
            subject=fact.subject,
            assignee=receiver if rule.kind == ActionKind.MESSAGE else person if rule.kind == ActionKind.TASK else None,
            due_on=due_on(fact, timezone=fact.account.timezone),
        )
        action.reason = _tell(action, rule, receiver)
        if action.reason:
            action.save(update_fields=["reason"])
        record(action, action_name="action.opened", actor=ACTOR)


def _tell(action: Action, rule: Rule, receiver: Subject | None) -> str:
    """Ask for the delivery that goes with an action; return why there is none where there should be one, else ""."""
    if rule.notice_to == NoticeTo.NOBODY:
        return ""
    common = {"about": ABOUT, "object_id": action.id, "key": f"action:{action.id}"}
    if rule.notice_to == NoticeTo.RECEIVER:
        if receiver is None:
            return RECEIVER_UNCLEAR
        outbox.request(action.account_id, recipient=receiver, **common)
        return ""
    target = (
        targets.named(action.account_id, targets.OPS)
        if rule.notice_to == NoticeTo.OPS
        else DeliveryTarget.objects.filter(account_id=action.account_id, pk=rule.target_id).first()
    )
    if target is None:
        return NO_TARGET
    outbox.request(action.account_id, target=target, **common)
    return ""


def _restore(fact: Fact, actions: Iterable[Action]) -> None:
    """Bring back what was withdrawn while the fact was away."""
    back = [action for action in actions if action.state_before]
    for action in back:
        action.state, action.state_before, action.reason = action.state_before, "", ""
        action.version += 1
        action.save(update_fields=["state", "state_before", "reason", "version"])
        record(action, action_name="action.restored", actor=ACTOR)
    open_ones = [action.id for action in actions if action.state == ActionState.OPEN]
    if open_ones:
        outbox.restore(fact.account_id, open_ones)


def _take_back(fact: Fact, actions: Iterable[Action]) -> None:
    """Close what is open about a fact that is over, withdraw what is open about one that does not hold."""
    open_ones = [action for action in actions if action.state == ActionState.OPEN]
    if not open_ones:
        return
    state, reason = _what_becomes(fact)
    for action in open_ones:
        action.state_before, action.state, action.reason = action.state, state, reason
        action.version += 1
        action.save(update_fields=["state_before", "state", "reason", "version"])
        record(action, action_name=f"action.{state}", actor=ACTOR)
    outbox.withdraw(fact.account_id, [action.id for action in open_ones])


def _what_becomes(fact: Fact) -> tuple[str, str]:
    """Return the state of the actions of a fact that is current no more, and why."""
    if fact.withheld != Withheld.NOTHING and fact.status == Status.ACTIVE:
        return ActionState.WITHDRAWN, str(fact.withheld)
    ended = fact.status in {Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED} and fact.valid_to is not None
    followed = Relation.objects.filter(account_id=fact.account_id, target=fact, kind=RelationKind.SUPERSEDES)
    if ended and not followed.exists():
        return ActionState.DONE, FACT_ENDED
    return ActionState.WITHDRAWN, WITHDRAWN_BY[Status(fact.status)]


def record(action: Action, *, action_name: str, actor: Actor) -> None:
    """Write down what became of an action."""
    audit.record(
        action.account_id,
        action=action_name,
        object_type="action",
        object_id=action.id,
        actor=actor,
        group=new_id(),
        metadata={
            "kind": action.kind,
            "state": action.state,
            "fact": str(action.fact_id),
            "rule": action.rule_key,
            "reason": action.reason,
            "assignee": str(action.assignee_id) if action.assignee_id else None,
            "version": action.version,
        },
    )
