"""Finding facts by what somebody types: an id, or words that all stand in the statement."""

from __future__ import annotations

import uuid

from django.contrib.postgres.search import SearchQuery
from django.db.models import QuerySet

from facts import textindex
from facts.models import Fact, FactText


def facts_called(listed: QuerySet[Fact], typed: str, *, account_id: uuid.UUID) -> QuerySet[Fact]:
    """Return those of the ``listed`` facts that are meant; words are looked for only where they may be read."""
    try:
        return listed.filter(pk=uuid.UUID(typed))
    except ValueError:
        query = SearchQuery(textindex.phrase(typed), config="english", search_type="plain")
        found = FactText.objects.filter(account_id=account_id, tsv=query)
        return listed.filter(readable=True, pk__in=found.values("fact_id"))
