"""The records of what the system does about facts: rules, and the actions that came of them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Fact, Membership, Scope, Subject
from facts.models.owned import Owned, one_of
from facts.vocabulary import Category
from ingest.models.deliveries import DeliveryTarget


class ActionKind(models.TextChoices):
    """What is done about a fact."""

    TASK = "task"
    BLOCKER = "blocker"
    ALERT = "alert"
    FLAG = "flag"
    MESSAGE = "message"


class NoticeTo(models.TextChoices):
    """Who is told of an action when it opens."""

    NOBODY = "nobody"
    OPS = "ops", "the target called ops"
    TARGET = "target", "a target of the rule's own"
    RECEIVER = "receiver", "the person to whom something was handed over"


class ActionRule(Owned):
    """When a fact of a category becomes current with a confidence above ``threshold``, this is done.

    ``key`` names the rule for good: a fact sets off each rule once, whatever the rule said before.
    """

    key = models.SlugField(max_length=64)
    category = models.CharField(max_length=20, choices=Category.choices)
    threshold = models.FloatField(help_text="Strictly greater.")
    kind = models.CharField(max_length=8, choices=ActionKind.choices)
    notice_to = models.CharField(max_length=8, choices=NoticeTo.choices, default=NoticeTo.NOBODY)
    target = models.ForeignKey(DeliveryTarget, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["category", "key"]
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="action_rule_once"),
            one_of("category", Category, "action_rule_category_known"),
            one_of("kind", ActionKind, "action_rule_kind_known"),
            one_of("notice_to", NoticeTo, "action_rule_notice_known"),
            models.CheckConstraint(condition=Q(threshold__gte=0, threshold__lt=1), name="action_rule_threshold"),
            models.CheckConstraint(
                condition=Q(notice_to=NoticeTo.TARGET, target__isnull=False)
                | (~Q(notice_to=NoticeTo.TARGET) & Q(target__isnull=True)),
                name="action_rule_target_iff_named",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class ActionState(models.TextChoices):
    """Where an action stands."""

    OPEN = "open"
    DONE = "done"
    DISMISSED = "dismissed"
    WITHDRAWN = "withdrawn", "withdrawn: its fact holds no more"


class Action(Owned):
    """What the system does about one fact by one rule: once, whatever happens how often.

    It holds no words: they are the fact's. ``scope`` and ``subject`` repeat the fact's. ``state_before`` is what a
    withdrawn action comes back to. ``reason`` is a code: why it was closed or withdrawn, or why nobody was told.
    """

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="actions")
    rule_key = models.CharField(max_length=64)
    rule_version = models.PositiveIntegerField(help_text="0: the built-in rule.")
    kind = models.CharField(max_length=8, choices=ActionKind.choices)
    state = models.CharField(max_length=10, choices=ActionState.choices, default=ActionState.OPEN)
    state_before = models.CharField(max_length=10, choices=ActionState.choices, blank=True)
    reason = models.CharField(max_length=64, blank=True)
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    assignee = models.ForeignKey(Subject, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    due_on = models.DateField(null=True, blank=True, help_text="A day in the account's time zone.")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=now)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "fact", "rule_key"], name="action_once_per_rule"),
            one_of("kind", ActionKind, "action_kind_known"),
            one_of("state", ActionState, "action_state_known"),
        ]
        indexes = [
            models.Index(fields=["account", "state", "id"], name="action_by_state"),
            models.Index(fields=["account", "scope", "state"], name="action_by_scope"),
            models.Index(fields=["account", "assignee", "state"], name="action_by_assignee"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
