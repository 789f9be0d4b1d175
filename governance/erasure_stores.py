"""How governance wipes its own tables. Registered when Django starts."""

from __future__ import annotations

import uuid

from django.db.models import Q, QuerySet

from facts.clock import now
from facts.erasure import Erasing, Store, holds_no_content, register
from facts.erasure_search import keys_saying
from facts.models import ConflictMember, Membership
from governance import keys
from governance.models import (
    ApiKey,
    Feedback,
    ForgetReceipt,
    Grant,
    IdempotencyRecord,
    Promotion,
    Remark,
    Review,
    ReviewStatus,
    RuleChange,
)


def register_stores() -> None:
    """Register every table of this app."""
    for store in (
        Store(name="reviews", tables=("governance.Review",), find=_reviews, wipe=_wipe_reviews),
        Store(name="promotions", tables=("governance.Promotion",), find=_promotions, wipe=_wipe_promotions),
        Store(name="remarks", tables=("governance.Remark",), find=_remarks, wipe=_wipe_remarks),
        Store(name="rule_notes", tables=("governance.RuleChange",), find=_rule_notes, wipe=_wipe_rule_notes),
        Store(name="feedback", tables=("governance.Feedback",), find=_feedback, wipe=_wipe_feedback),
        Store(name="receipts", tables=("governance.ForgetReceipt",), find=_receipts, wipe=_wipe_receipts),
        Store(name="stored_answers", tables=("governance.IdempotencyRecord",), find=_answers, wipe=_delete),
        Store(name="grants", tables=("governance.Grant",), find=_grants, wipe=_delete),
        Store(name="keys", tables=("governance.ApiKey",), find=_keys, wipe=_revoke),
    ):
        register(store)
    for table, because in {
        "governance.DeviceLogin": "digests, and a label until the key is picked up, at most ten minutes",
        "governance.GateRule": "settings of the gates",
        "governance.RetentionRule": "settings of retention",
        "governance.ReviewDecision": "ids, times and states",
        "governance.Consent": "ids, states and who answered",
        "governance.Leaving": "ids, roles and numbers",
        "governance.Presence": "who looked at what, and when",
        "governance.Selection": "ids, versions, states, and sentences of this system",
        "governance.GateDecision": "the rule that applied, codes, and who decided",
    }.items():
        holds_no_content(table, because)


def _reviews(erasing: Erasing) -> QuerySet:
    return Review.objects.filter(
        Q(fact__in=erasing.facts)
        | Q(event__in=erasing.touched_events)
        | Q(pk__in=keys_saying(erasing, Review, "detail", "rationale")),
        account_id=erasing.account_id,
    )


def _wipe_reviews(erasing: Erasing, rows: QuerySet) -> None:
    """Nobody is asked any more about what is gone; what people wrote about it goes too."""
    gone = Q(fact__in=erasing.facts) | Q(event__in=erasing.touched_events)
    rows.filter(gone, status=ReviewStatus.PENDING).update(status=ReviewStatus.WITHDRAWN, decided_at=now())
    rows.update(detail={}, rationale="")


def _promotions(erasing: Erasing) -> QuerySet:
    return Promotion.objects.filter(
        Q(fact__in=erasing.facts) | Q(pk__in=keys_saying(erasing, Promotion, "reason")), account_id=erasing.account_id
    ).exclude(reason="")


def _wipe_promotions(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(reason="")


def _rule_notes(erasing: Erasing) -> QuerySet:
    saying = keys_saying(erasing, RuleChange, "note")
    return RuleChange.objects.filter(account_id=erasing.account_id, pk__in=saying)


def _wipe_rule_notes(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(note="")


def _remarks(erasing: Erasing) -> QuerySet:
    """What people wrote beside a decision about what goes, or in which its words stand."""
    members = ConflictMember.objects.filter(account_id=erasing.account_id, fact__in=erasing.facts)
    about = (
        Q(review__fact__in=erasing.facts)
        | Q(review__event__in=erasing.touched_events)
        | Q(conflict_set__in=members.values("conflict_set"))
    )
    said = Q(pk__in=keys_saying(erasing, Remark, "text"))
    return Remark.objects.filter(about | said, account_id=erasing.account_id).exclude(text="")


def _wipe_remarks(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(text="")


def _feedback(erasing: Erasing) -> QuerySet:
    found = Feedback.objects.filter(account_id=erasing.account_id).exclude(comment="")
    return found.filter(Q(fact__in=erasing.facts) | Q(pk__in=keys_saying(erasing, Feedback, "comment")))


def _wipe_feedback(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(comment="")


def _receipts(erasing: Erasing) -> QuerySet:
    """Earlier receipts about the same things, for what people gave as a reason."""
    found = ForgetReceipt.objects.filter(account_id=erasing.account_id).exclude(reason="")
    named = Q(target_id__in=[*erasing.facts, *erasing.subject_ids])
    return found.filter(named | Q(pk__in=keys_saying(erasing, ForgetReceipt, "reason")))


def _wipe_receipts(erasing: Erasing, rows: QuerySet) -> None:
    rows.update(reason="")


def _answers(erasing: Erasing) -> QuerySet:
    saying = keys_saying(erasing, IdempotencyRecord, "key", "body")
    return IdempotencyRecord.objects.filter(account_id=erasing.account_id, pk__in=saying)


def _leaving(erasing: Erasing) -> list[uuid.UUID]:
    """The subject, unless it signs in."""
    members = Membership.objects.filter(account_id=erasing.account_id, subject__in=erasing.subject_ids)
    return [] if members.exists() else erasing.subject_ids


def _grants(erasing: Erasing) -> QuerySet:
    return Grant.objects.filter(account_id=erasing.account_id, subject__in=_leaving(erasing))


def _keys(erasing: Erasing) -> QuerySet:
    return ApiKey.objects.filter(account_id=erasing.account_id, peer__in=_leaving(erasing))


def _revoke(erasing: Erasing, rows: QuerySet) -> None:
    """Nobody reads as somebody who is gone."""
    rows.filter(revoked_at__isnull=True).update(revoked_at=now())
    rows.update(label="")
    keys.forget_cached()


def _delete(erasing: Erasing, rows: QuerySet) -> None:
    rows.delete()
