"""Accounts, people who sign in, the scope tree, subjects and their names."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q

from facts.clock import now
from facts.ids import new_id
from facts.models.owned import Owned, one_of
from facts.textindex import ANALYZER_VERSION
from facts.vocabulary import SubjectKind


class GatePreset(models.TextChoices):
    """The built-in gate rules an account starts from (see ``governance.gating.gates``)."""

    BALANCED = "balanced"
    REVIEWED = "reviewed"
    OPEN = "open"


class ConsentMode(models.TextChoices):
    """Whether personal knowledge needs its subject's own yes, or an account-wide one for imports."""

    SUBJECT_REQUIRED = "subject_required"
    AUTO = "auto"


class User(AbstractUser):
    """A person who signs in. What they may do in an account hangs on their membership there."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)


class Account(models.Model):
    """A tenant: the isolation boundary. Comes from the credential, never from the request."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    key = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    timezone = models.CharField(max_length=64, default="UTC", help_text="IANA name, such as Europe/Paris.")
    gate_preset = models.CharField(
        max_length=16, choices=GatePreset.choices, default=GatePreset.BALANCED, db_default=GatePreset.BALANCED
    )
    consent_mode = models.CharField(
        max_length=20,
        choices=ConsentMode.choices,
        default=ConsentMode.SUBJECT_REQUIRED,
        db_default=ConsentMode.SUBJECT_REQUIRED,
    )
    second_look_percent = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="How many of a hundred facts that the gates placed by themselves a person looks at afterwards.",
    )
    created_at = models.DateTimeField(default=now)
    text_version = models.CharField(
        max_length=8,
        default=ANALYZER_VERSION,
        editable=False,
        help_text="The form in which all text rows of the account are indexed (facts.textindex).",
    )
    text_progress = models.JSONField(
        default=dict, editable=False, help_text="How far they are in the form that comes next (facts.reindexing)."
    )

    class Meta:
        ordering = ["key"]
        constraints = [
            one_of("gate_preset", GatePreset, "account_gate_preset_known"),
            models.CheckConstraint(
                condition=models.Q(second_look_percent__lte=100), name="account_second_look_percent"
            ),
            # Which names there are is for ``facts.timezones`` to say: it depends on the machine.
            models.CheckConstraint(
                condition=models.Q(timezone__regex=r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"),
                name="account_timezone_is_a_name",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AccountSecret(models.Model):
    """The per-account key under which statement hashes are computed; never shown anywhere."""

    account = models.OneToOneField(Account, on_delete=models.PROTECT, primary_key=True, related_name="+")
    statement_key = models.BinaryField(max_length=32)


class Scope(Owned):
    """A node of the tree of paths (``/``, ``/support``, ``/support/emea``)."""

    path = models.CharField(max_length=512)
    name = models.CharField(max_length=200, blank=True)
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["path"]
        constraints = [
            models.UniqueConstraint(fields=["account", "path"], name="scope_path_once"),
            models.CheckConstraint(condition=Q(path__startswith="/"), name="scope_path_is_absolute"),
        ]

    def __str__(self) -> str:
        return self.path


class ScopeLink(Owned):
    """An authorised sideways relation between two scopes; never grants access by itself."""

    source = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="links_out")
    target = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="links_in")
    kind = models.CharField(max_length=64, default="related")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "source", "target", "kind"], name="scope_link_once")]


class Subject(Owned):
    """Whom or what facts are about. A subject of kind person or agent is also a peer: it may speak and read."""

    kind = models.CharField(max_length=16, choices=SubjectKind.choices, default=SubjectKind.PERSON)
    key = models.CharField(max_length=200)
    name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=now)
    merged_into = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="merged",
        db_index=False,
        help_text="A person said that it is this one: whoever names it means that one (facts.models.SubjectMerge).",
    )

    class Meta:
        ordering = ["key"]
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "key"], name="subject_key_once"),
            one_of("kind", SubjectKind, "subject_kind_known"),
            models.CheckConstraint(condition=~Q(merged_into=models.F("id")), name="subject_not_merged_into_itself"),
        ]
        indexes = [
            models.Index(
                fields=["account", "merged_into"], name="subject_merged", condition=Q(merged_into__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return self.name or self.key

    @property
    def display_name(self) -> str:
        """The name to show, falling back to the key."""
        return self.name or self.key


class Identity(Owned):
    """A platform's name for a subject, such as ``slack`` / ``U123`` or an e-mail address.

    ``confirmed``: the platform itself, or a person who may decide it, says whose it is. What a caller said when it
    captured is enough to file messages by, and never to send anything to. ``confirmed_by``: that person; ``None`` where
    the platform itself said so. Nobody's consent is asked for by a name that only a person confirmed.
    """

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="identities")
    platform = models.CharField(max_length=64)
    value = models.CharField(max_length=256)
    confirmed = models.BooleanField(default=False)
    confirmed_by = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [models.UniqueConstraint(fields=["account", "platform", "value"], name="identity_value_once")]

    def __str__(self) -> str:
        return f"{self.platform}:{self.value}"


class Membership(Owned):
    """A signed-in user in an account, bound to the one person subject as whom they read."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "user"], name="membership_user_once"),
            models.UniqueConstraint(fields=["account", "subject"], name="membership_subject_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.account}"
