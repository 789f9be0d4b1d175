"""What subjects said about sharing what is personal."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.models import Fact, Scope, Subject
from facts.models.owned import Owned, one_of


class ConsentStatus(models.TextChoices):
    """Where a consent stands. Only ``granted`` lets anything be seen; ``withdrawn`` was granted before."""

    PENDING = "pending"
    GRANTED = "granted"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"


class ConsentChannel(models.TextChoices):
    """How an answer came. ``message``: a no, told to the bot of a chat. ``auto``: nobody answered, the account's
    ``consent_mode`` did."""

    SESSION = "session"
    LINK = "link"
    MESSAGE = "message"
    AUTO = "auto"


class Consent(Owned):
    """Whether a subject agrees that one personal fact about it is seen in one scope, beyond itself.

    ``verified``: it is certain that the subject itself answered. The database keeps a yes without that from being
    written, but for the account-wide one, which is marked as such. ``unreached_at``: since when every way to bring the
    question to the subject has failed, or there was none; it waits until the subject signs in.
    """

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="consents")
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="+")
    target = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=12, choices=ConsentStatus.choices, default=ConsentStatus.PENDING)
    channel = models.CharField(max_length=12, choices=ConsentChannel.choices, blank=True)
    verified = models.BooleanField(default=False)
    requested_by = models.JSONField(default=dict)
    requested_at = models.DateTimeField(default=now)
    decided_by = models.JSONField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    unreached_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "fact", "subject", "target"], name="consent_once"),
            one_of("status", ConsentStatus, "consent_status_known"),
            models.CheckConstraint(
                condition=~Q(status=ConsentStatus.GRANTED) | Q(verified=True) | Q(channel=ConsentChannel.AUTO),
                name="consent_yes_is_verified",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "subject", "status"], name="consent_by_subject"),
            models.Index(fields=["account", "status", "id"], name="consent_by_status"),
        ]


class ConsentLink(Owned):
    """A link that was sent to a subject so that it can answer without signing in; good for one answer.

    The link itself is signed and holds two ids; nothing of it is stored.
    """

    consent = models.ForeignKey(Consent, on_delete=models.CASCADE, related_name="links")
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["account", "consent"], name="consent_link_by_consent")]
