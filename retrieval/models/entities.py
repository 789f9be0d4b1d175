"""Entities and mentions: the internal, rebuildable index of the names in facts. They reach no surface."""

from __future__ import annotations

from django.db import models
from pgvector.django import HalfVectorField

from facts.clock import now
from facts.models import EmbeddingSpace, Fact, Scope
from facts.models.owned import Owned, one_of


class Entity(Owned):
    """Whatever one or several names stand for. It has no name of its own: its aliases are its names."""

    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "entities"


class EntityAlias(Owned):
    """One name, folded (``retrieval.entities.names.fold``), of exactly one entity of the account.

    ``claimed``: a subject goes by it. ``h`` is the name's vector in ``space``, by which look-alikes are proposed.
    """

    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="aliases", db_index=False)
    folded = models.CharField(max_length=200)
    claimed = models.BooleanField(default=False)
    space = models.ForeignKey(EmbeddingSpace, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    h = HalfVectorField(null=True)

    class Meta:
        verbose_name_plural = "entity aliases"
        constraints = [models.UniqueConstraint(fields=["account", "folded"], name="entity_alias_once")]
        indexes = [models.Index(fields=["account", "entity"], name="entity_alias_by_entity")]


class Mention(Owned):
    """A fact names an entity by one of its aliases.

    ``surface`` is the name as the fact's text has it, empty when the fact is about the entity without naming it.
    ``confidence`` 0..1 tells how sure it is that a name is meant.
    """

    alias = models.ForeignKey(EntityAlias, on_delete=models.CASCADE, related_name="mentions", db_index=False)
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+", db_index=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    surface = models.CharField(max_length=200, blank=True)
    confidence = models.FloatField(default=1.0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "fact", "alias"], name="mention_once")]
        indexes = [
            models.Index(fields=["account", "alias", "scope"], include=["fact", "confidence"], name="mention_cover"),
            models.Index(fields=["account", "scope"], name="mention_by_scope"),
        ]


class NamesRead(Owned):
    """The names in a fact have been read, by the rules of ``recipe`` (``retrieval.entities.names.RECIPE``)."""

    fact = models.OneToOneField(Fact, on_delete=models.CASCADE, related_name="+")
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    recipe = models.CharField(max_length=16)

    class Meta:
        verbose_name_plural = "names read"
        indexes = [models.Index(fields=["account", "scope"], name="names_read_by_scope")]


class PairState(models.TextChoices):
    """What is known of two entities that may be one."""

    PROPOSED = "proposed"
    SAME = "same"
    DIFFERENT = "different"


class AliasPair(Owned):
    """Two spellings that may stand for one entity; only a person or a model says yes, and it is kept over rebuilds."""

    first = models.CharField(max_length=200, help_text="Folded; the smaller of the two.")
    second = models.CharField(max_length=200)
    similarity = models.FloatField(null=True, help_text="Cosine similarity of the two names.")
    state = models.CharField(max_length=10, choices=PairState.choices, default=PairState.PROPOSED)
    decided_by = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "first", "second"], name="alias_pair_once"),
            one_of("state", PairState, "alias_pair_state_known"),
        ]
