"""The records of what is sent out: places to which it goes, the deliveries themselves, and which ways are blocked."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Scope, Subject
from facts.models.owned import Owned, one_of


class DeliveryKind(models.TextChoices):
    """By which way something is sent."""

    SLACK = "slack", "Slack"
    WEBHOOK = "webhook", "signed webhook"
    EMAIL = "email", "e-mail"


class TargetAudience(models.TextChoices):
    """Who reads what arrives at a target, as its administrator declared."""

    SCOPE = "scope", "everybody who may read a scope"
    PERSON = "person", "one person"
    NAMED = "named", "named recipients"


class DeliveryTarget(Owned):
    """A place to which deliveries go, and who reads what arrives there.

    ``address`` is the id of a channel or user for Slack, an address for a webhook, a mailbox for e-mail. ``scope``
    goes with the audience ``scope``, ``recipients`` are the one person or the named recipients. A webhook signs with
    ``secret``; until ``previous_secret_until`` it signs with ``previous_secret`` as well.
    """

    name = models.SlugField(max_length=64)
    kind = models.CharField(max_length=8, choices=DeliveryKind.choices)
    address = models.CharField(max_length=500)
    audience = models.CharField(max_length=8, choices=TargetAudience.choices)
    scope = models.ForeignKey(Scope, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    recipients = models.ManyToManyField(Subject, through="TargetRecipient", related_name="+")
    enabled = models.BooleanField(default=True)
    secret = models.CharField(max_length=100, blank=True)
    previous_secret = models.CharField(max_length=100, blank=True)
    previous_secret_until = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="delivery_target_once"),
            one_of("kind", DeliveryKind, "delivery_target_kind_known"),
            one_of("audience", TargetAudience, "delivery_target_audience_known"),
            models.CheckConstraint(
                condition=Q(audience=TargetAudience.SCOPE, scope__isnull=False)
                | (~Q(audience=TargetAudience.SCOPE) & Q(scope__isnull=True)),
                name="delivery_target_scope_iff_audience",
            ),
            models.CheckConstraint(
                condition=Q(kind=DeliveryKind.WEBHOOK) ^ Q(secret=""), name="delivery_target_secret_iff_webhook"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class TargetRecipient(Owned):
    """Somebody who reads what arrives at a target."""

    target = models.ForeignKey(DeliveryTarget, on_delete=models.CASCADE, related_name="readers")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "target", "subject"], name="target_recipient_once"),
        ]

    def __str__(self) -> str:
        return str(self.subject)


class DeliveryState(models.TextChoices):
    """Where a delivery stands."""

    PENDING = "pending", "it waits to be sent, or to be tried again"
    SENDING = "sending", "a worker is sending it"
    SENT = "sent", "the receiver has taken it"
    DEAD = "dead", "given up; a person can send it again"
    CANCELLED = "cancelled", "what it is about is withdrawn or done"
    SUPPRESSED = "suppressed", "it may not be told there"


class Delivery(Owned):
    """One message to one place: ids only; its words are put together when it is sent.

    It goes to a ``target``, or to a ``recipient`` wherever they are reached. ``about`` names who words it, and
    ``object_id`` what it is about. ``key`` is unique in the account: asking twice is one delivery. ``uncertain``: a
    try may have arrived without our knowing. ``reason`` is a code: why it was suppressed or cancelled.
    """

    target = models.ForeignKey(
        DeliveryTarget, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    recipient = models.ForeignKey(Subject, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    about = models.CharField(max_length=32)
    object_id = models.UUIDField()
    key = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.PENDING)
    reason = models.CharField(max_length=64, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    uncertain = models.BooleanField(default=False)
    next_try_at = models.DateTimeField(default=now)
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    error_class = models.CharField(max_length=128, blank=True)
    receipt = models.CharField(max_length=200, blank=True, help_text="What the receiver calls it, if it says so.")
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="delivery_key_once"),
            one_of("state", DeliveryState, "delivery_state_known"),
            models.CheckConstraint(
                condition=Q(target__isnull=False) ^ Q(recipient__isnull=False), name="delivery_one_place"
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "next_try_at"],
                name="delivery_waiting",
                condition=Q(state__in=["pending", "sending"]),
            ),
            models.Index(fields=["account", "object_id"], name="delivery_by_object"),
            models.Index(fields=["account", "state", "id"], name="delivery_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.about} {self.state}"


class BlockedWay(Owned):
    """A way out that failed several times in a row: until ``blocked_until`` nothing is tried there, and nothing lost.

    ``way`` is the id of a target, or the name of a kind for what goes to people.
    """

    way = models.CharField(max_length=64)
    failures = models.PositiveIntegerField(default=0)
    blocked_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "way"], name="blocked_way_once")]
