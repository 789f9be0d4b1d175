"""Terminals that ask a person for a key."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.ids import new_id
from facts.models import Account, Membership
from facts.models.owned import one_of


class DeviceLoginStatus(models.TextChoices):
    """What a person has said about a terminal that asked to be let in."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class DeviceLogin(models.Model):
    """A terminal that asks a person for a key. Belongs to no account until somebody decides.

    Only digests of its two codes are stored, and never a key: the key is made when the terminal picks it up.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(
        Account, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    device_digest = models.CharField(max_length=64, unique=True)
    user_code_digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField(db_index=True)
    status = models.CharField(max_length=8, choices=DeviceLoginStatus.choices, default=DeviceLoginStatus.WAITING)
    decided_by = models.ForeignKey(Membership, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=128, blank=True)
    project = models.CharField(max_length=512, blank=True, help_text="Path of the scope that the client works in.")
    is_confined = models.BooleanField(default=False, help_text="Whether the key is confined to the project.")
    rights = models.JSONField(default=list, blank=True)
    delegated = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            one_of("status", DeviceLoginStatus, "device_login_status_known"),
            models.CheckConstraint(
                condition=Q(status=DeviceLoginStatus.WAITING, account__isnull=True, decided_by__isnull=True)
                | (~Q(status=DeviceLoginStatus.WAITING) & Q(account__isnull=False, decided_by__isnull=False)),
                name="device_login_decided_in_an_account",
            ),
        ]
