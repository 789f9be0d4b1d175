"""How long what was said is kept word for word: the installation's rule, and what an account says otherwise."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import DomainError
from facts.ids import new_id
from facts.models import Event
from facts.vocabulary import SourceType
from governance.models import RetentionRule

#: Longest term that can be set, in days: about a hundred years. For longer, keep it for ever.
LONGEST_DAYS = 36_500


def default_days(source_type: str) -> int | None:
    """Return the days for which the installation keeps raw text of a source; ``None``: for ever.

    Live chat goes after ``CONTEXT_RAW_RETENTION_DAYS``; whatever else was given to be remembered stays.
    """
    return settings.CONTEXT_RAW_RETENTION_DAYS if source_type == SourceType.CHANNEL_MESSAGE else None


def set_rule(
    account_id: uuid.UUID, *, source_type: str, days: int | None, actor: Actor, channel_id: str = ""
) -> RetentionRule:
    """Set how long the account keeps raw text of a source, everywhere or in one channel; ``None``: for ever.

    Runs in the account's transaction. Raises ``DomainError`` (``invalid_retention``).
    """
    if source_type not in SourceType.values:
        raise DomainError("There is no such kind of source.", code="invalid_retention", field="source_type")
    if days is not None and not 0 <= days <= LONGEST_DAYS:
        raise DomainError(f"Days are from 0 to {LONGEST_DAYS:,}.", code="invalid_retention", field="days")
    if len(channel_id) > 128 or "\x00" in channel_id:
        raise DomainError("There is no such channel.", code="invalid_retention", field="channel_id")
    rule, _ = RetentionRule.objects.update_or_create(
        account_id=account_id,
        source_type=source_type,
        channel_id=channel_id,
        defaults={"days": days, "set_by": actor.as_json(), "set_at": now()},
    )
    _record(rule, "retention.set", actor)
    return rule


def unset_rule(account_id: uuid.UUID, *, source_type: str, actor: Actor, channel_id: str = "") -> bool:
    """Let the next wider rule hold again; ``False`` when there was no rule. Runs in the account's transaction."""
    rule = RetentionRule.objects.filter(account_id=account_id, source_type=source_type, channel_id=channel_id).first()
    if rule is None:
        return False
    _record(rule, "retention.unset", actor)
    rule.delete()
    return True


def rules_of(account_id: uuid.UUID) -> list[RetentionRule]:
    """Return what the account says otherwise."""
    return list(RetentionRule.objects.filter(account_id=account_id).order_by("source_type", "channel_id"))


def expired(account_id: uuid.UUID, at: datetime) -> QuerySet[Event]:
    """Return the processed events whose raw text is kept no longer at ``at``, counted from when it was recorded.

    The rule of a channel goes before that of the kind of source, and that before the installation's.
    """
    rules = {(rule.source_type, rule.channel_id): rule.days for rule in rules_of(account_id)}
    over = Q(pk__in=[])
    for source_type in SourceType.values:
        channels = {channel: days for (kind, channel), days in rules.items() if kind == source_type and channel}
        general = rules.get((source_type, ""), default_days(source_type))
        over |= _older(at, general, source_type=source_type) & ~Q(channel_id__in=list(channels))
        for channel, days in channels.items():
            over |= _older(at, days, source_type=source_type, channel_id=channel)
    return Event.objects.filter(over, account_id=account_id, processed_at__isnull=False, text_removed_at__isnull=True)


def _older(at: datetime, days: int | None, **where: str) -> Q:
    return Q(pk__in=[]) if days is None else Q(recorded_at__lte=at - timedelta(days=days), **where)


def _record(rule: RetentionRule, action: str, actor: Actor) -> None:
    audit.record(
        rule.account_id,
        action=action,
        object_type="retention_rule",
        object_id=rule.id,
        actor=actor,
        group=new_id(),
        metadata={"source_type": rule.source_type, "of_one_channel": bool(rule.channel_id), "days": rule.days},
    )
