"""The closed vocabularies of the fact ledger.

Every enumeration that a model field, an API answer or an extractor may carry is defined here once.
The words are those of the design: one word for one thing in models, endpoints, admin pages and docs.
"""

from __future__ import annotations

from django.db import models


class SubjectKind(models.TextChoices):
    """Whom or what a fact is about."""

    PERSON = "person"
    AGENT = "agent"
    CLIENT = "client"
    CHANNEL = "channel"
    URL = "url"
    SEARCH = "search"
    SCOPE = "scope"
    TOPIC = "topic"


class Level(models.TextChoices):
    """How widely a fact asks to be seen: ``peer`` < ``scope`` < ``account``."""

    PEER = "peer"
    SCOPE = "scope"
    ACCOUNT = "account"


class Sensitivity(models.TextChoices):
    """How guarded a text is, from open to most guarded."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    RESTRICTED = "restricted"


class OriginTrust(models.TextChoices):
    """How far the origin of an event is trusted, most trusted first."""

    TRUSTED = "trusted"
    SEMI_TRUSTED = "semi_trusted"
    THIRD_PARTY = "third_party"
    UNTRUSTED = "untrusted"


class Category(models.TextChoices):
    """What an observation is good for; the actions of later stages are keyed by it."""

    COMMITMENT = "commitment"
    BLOCKER = "blocker"
    HANDOFF = "handoff"
    RISK_SIGNAL = "risk_signal"
    MOOD_SIGNAL = "mood_signal"
    DEADLINE_MENTION = "deadline_mention"
    REFERENCE = "reference"
    STATUS_UPDATE = "status_update"
    GENERAL = "general"


class Kind(models.TextChoices):
    """What sort of statement a fact makes."""

    ATTRIBUTE = "attribute"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    EVENT = "event"
    RELATION = "relation"
    SKILL = "skill"


class Form(models.TextChoices):
    """``state`` has one current value; occurrences of an ``event`` accumulate."""

    STATE = "state"
    EVENT = "event"


class EvidenceLevel(models.TextChoices):
    """``direct``: the subject said it of itself; anything else is ``indirect``."""

    DIRECT = "direct"
    INDIRECT = "indirect"


class Volatility(models.TextChoices):
    """How fast a fact ages; the horizons live in ``facts.freshness``."""

    STABLE = "stable"
    SLOW = "slow"
    VOLATILE = "volatile"
    EPHEMERAL = "ephemeral"


class Status(models.TextChoices):
    """Where a fact stands; the arrows between these live in ``facts.status_graph``."""

    CANDIDATE = "candidate"
    PROVISIONAL = "provisional"
    HELD = "held"
    ACTIVE = "active"
    NEEDS_REVALIDATION = "needs_revalidation"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REJECTED = "rejected"
    DISABLED = "disabled"
    REDACTED = "redacted"
    RETRACTED = "retracted"
    DELETED = "deleted"


class RelationKind(models.TextChoices):
    """Typed edges between facts, read as "source ... target"."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    PROMOTED_FROM = "promoted_from"


class ConflictKind(models.TextChoices):
    """Why the members of a conflict set cannot all hold, and whom that hides."""

    CONTRADICTION = "contradiction"
    QUARANTINE = "quarantine"
    POSSIBLE = "possible"


class ConflictStatus(models.TextChoices):
    """Where a conflict set stands."""

    OPEN = "open"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    DISSOLVED = "dissolved"


class SourceType(models.TextChoices):
    """How an event reached the store."""

    CHANNEL_MESSAGE = "channel_message"
    CONVERSATION = "conversation"
    URL_FETCH = "url_fetch"
    WEB_SEARCH = "web_search"
    BACKFILL = "backfill"
    ADMIN_INPUT = "admin_input"


SENSITIVITY_RANK: dict[str, int] = {value: rank for rank, value in enumerate(Sensitivity.values)}
LEVEL_RANK: dict[str, int] = {value: rank for rank, value in enumerate(Level.values)}
#: Higher is more trusted.
TRUST_RANK: dict[str, int] = {value: rank for rank, value in enumerate(reversed(OriginTrust.values))}
