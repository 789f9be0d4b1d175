"""Vector tables for embedders of other widths than the default: 768, 1,024 and 1,536 numbers.

Such vectors are too long for a covering index (a b-tree tuple holds 2,704 bytes), or would make one three to five times
as large. Their index finds the rows of a scope; the vectors are read from the table, where they lie inline
(``STORAGE PLAIN``, in the migration). Searches are slower for it, and otherwise the same.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from facts.models.evidence import Passage
from facts.models.facts import Fact
from facts.models.index import KEY, WINDOW, EmbeddingSpace, IndexRow


class _WideFactVector(IndexRow):
    pk = models.CompositePrimaryKey("fact_id", "space_id")
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        abstract = True


class _WidePassageVector(IndexRow):
    pk = models.CompositePrimaryKey("passage_id", "space_id")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        abstract = True


def _scope_index(name: str, unit: str) -> models.Index:
    return models.Index(fields=KEY, include=[unit, *WINDOW, "space"], condition=Q(active=True), name=name)


class FactVector768(_WideFactVector):
    """A fact's vector of 768 numbers."""

    h = HalfVectorField(dimensions=768)

    class Meta:
        indexes = [_scope_index("fact_vector_768", "fact")]


class PassageVector768(_WidePassageVector):
    """A passage's vector of 768 numbers."""

    h = HalfVectorField(dimensions=768)

    class Meta:
        indexes = [_scope_index("passage_vector_768", "passage")]


class FactVector1024(_WideFactVector):
    """A fact's vector of 1,024 numbers."""

    h = HalfVectorField(dimensions=1024)

    class Meta:
        indexes = [_scope_index("fact_vector_1024", "fact")]


class PassageVector1024(_WidePassageVector):
    """A passage's vector of 1,024 numbers."""

    h = HalfVectorField(dimensions=1024)

    class Meta:
        indexes = [_scope_index("passage_vector_1024", "passage")]


class FactVector1536(_WideFactVector):
    """A fact's vector of 1,536 numbers."""

    h = HalfVectorField(dimensions=1536)

    class Meta:
        indexes = [_scope_index("fact_vector_1536", "fact")]


class PassageVector1536(_WidePassageVector):
    """A passage's vector of 1,536 numbers."""

    h = HalfVectorField(dimensions=1536)

    class Meta:
        indexes = [_scope_index("passage_vector_1536", "passage")]
