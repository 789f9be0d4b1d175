"""The narrow tables that reads search: one row per served-able fact or passage, covering b-trees, no GIN, no HNSW.

Everything that must hold before the best 64 are taken is inside the index (``include``), so that a search is an
index-only scan under row-level security. Rows here are rebuildable; nothing is counted or stamped in them, because a
write per read would spoil the visibility map and with it the index-only scans.
"""

from __future__ import annotations

from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from facts.clock import now
from facts.models.evidence import Passage
from facts.models.facts import Fact
from facts.models.owned import Owned
from facts.models.tenancy import Account, Scope, Subject

#: Width of the default vector tables; those of other widths are in ``facts.models.wide_vectors``.
VECTOR_DIMENSIONS = 384


class IndexedUnit(models.TextChoices):
    """What is found by a search."""

    FACT = "fact"
    PASSAGE = "passage"


class EmbeddingSpace(models.Model):
    """An embedder identity: only vectors of one space may be compared with each other.

    ``serving``: the one space whose vectors reads compare with; it changes only when another is complete.
    ``blueprint`` is what its embedder can be made again from, without secrets. ``asked_for_at`` is when the youngest
    process started whose settings ask for this space. ``missing`` vectors were counted last at ``counted_at``, beside
    those of the ``refused`` texts (:class:`RefusedText`).
    """

    id = models.SmallAutoField(primary_key=True)
    provider = models.CharField(max_length=64)
    model = models.CharField(max_length=128)
    version = models.CharField(max_length=128)
    dimensions = models.PositiveIntegerField()
    recipe = models.CharField(max_length=128)
    blueprint = models.JSONField(default=dict)
    serving = models.BooleanField(default=False)
    serving_since = models.DateTimeField(null=True)
    asked_for_at = models.DateTimeField(null=True)
    missing = models.PositiveIntegerField(null=True)
    refused = models.PositiveIntegerField(null=True)
    counted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "model", "version", "dimensions", "recipe"], name="embedding_space_once"
            ),
            models.UniqueConstraint(fields=["serving"], condition=Q(serving=True), name="embedding_space_one_serves"),
        ]

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}@{self.version}/{self.dimensions}/{self.recipe}"


class RefusedText(Owned):
    """A fact or passage whose text the embedder of a space refuses, and when it is asked again."""

    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, related_name="+", db_index=False)
    unit = models.CharField(max_length=8, choices=IndexedUnit.choices)
    item_id = models.UUIDField()
    times = models.PositiveSmallIntegerField(default=1)
    retry_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "space", "unit", "item_id"], name="refused_text_once")
        ]


class IndexRow(models.Model):
    """The columns that all narrow tables share.

    ``audience`` packs level, sensitivity, "about a scope" and "provisional" (``facts.audience``).
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+", db_index=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="+", db_index=False)
    active = models.BooleanField()
    audience = models.SmallIntegerField()
    expires_at = models.DateTimeField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)

    class Meta:
        abstract = True


#: What a search goes by, and what else must hold before the best rows are taken.
KEY = ["account", "scope", "subject"]
WINDOW = ["audience", "expires_at", "valid_from", "valid_to"]


class FactVector(IndexRow):
    """A fact's vector in one embedding space, cosine distance 0 to 2."""

    pk = models.CompositePrimaryKey("fact_id", "space_id")
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT, related_name="+", db_index=False)
    h = HalfVectorField(dimensions=VECTOR_DIMENSIONS)

    class Meta:
        indexes = [
            models.Index(
                fields=KEY,
                include=["fact", *WINDOW, "space", "h"],
                condition=Q(active=True),
                name="fact_vector_cover",
            )
        ]


class PassageVector(IndexRow):
    """A passage's vector in one embedding space."""

    pk = models.CompositePrimaryKey("passage_id", "space_id")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT, related_name="+", db_index=False)
    h = HalfVectorField(dimensions=VECTOR_DIMENSIONS)

    class Meta:
        indexes = [
            models.Index(
                fields=KEY,
                include=["passage", *WINDOW, "space", "h"],
                condition=Q(active=True),
                name="passage_vector_cover",
            )
        ]


class FactText(IndexRow):
    """A fact's lexemes. ``fits``: small enough for a b-tree tuple (set by a trigger), so found index-only."""

    fact = models.OneToOneField(Fact, on_delete=models.CASCADE, primary_key=True, related_name="+")
    tsv = SearchVectorField()
    fits = models.BooleanField(default=True)

    class Meta:
        indexes = [
            models.Index(
                fields=KEY,
                include=["fact", *WINDOW, "tsv"],
                condition=Q(active=True, fits=True),
                name="fact_text_cover",
            ),
            models.Index(fields=KEY, condition=Q(active=True, fits=False), name="fact_text_big"),
        ]


class PassageText(IndexRow):
    """A passage's lexemes, as in :class:`FactText`."""

    passage = models.OneToOneField(Passage, on_delete=models.CASCADE, primary_key=True, related_name="+")
    tsv = SearchVectorField()
    fits = models.BooleanField(default=True)

    class Meta:
        indexes = [
            models.Index(
                fields=KEY,
                include=["passage", *WINDOW, "tsv"],
                condition=Q(active=True, fits=True),
                name="passage_text_cover",
            ),
            models.Index(fields=KEY, condition=Q(active=True, fits=False), name="passage_text_big"),
        ]


class CommonLexemes(Owned):
    """The lexemes that many searchable rows of one corpus share; refreshed by a worker, never per write.

    A corpus is the facts, or the passages, of a scope (``subject`` null) or of one subject in it. Only large
    corpora have a row (``facts.textindex``); a question is matched by its rarer words there. ``counts`` maps each
    lexeme that occurs in a noticeable share of the ``rows`` rows to the number of rows that hold it.
    """

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    unit = models.CharField(max_length=8, choices=IndexedUnit.choices)
    rows = models.PositiveIntegerField()
    counts = models.JSONField(default=dict)
    refreshed_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "common lexemes"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "scope", "subject", "unit"],
                nulls_distinct=False,
                name="common_lexemes_once",
            )
        ]
