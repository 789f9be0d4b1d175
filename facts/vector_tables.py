"""Which table holds the vectors of a width: the only place that knows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from facts.models import (
    FactVector,
    FactVector768,
    FactVector1024,
    FactVector1536,
    IndexedUnit,
    PassageVector,
    PassageVector768,
    PassageVector1024,
    PassageVector1536,
)
from facts.models.index import VECTOR_DIMENSIONS

_TABLES: Mapping[int, Mapping[str, str]] = MappingProxyType(
    {
        width: {IndexedUnit.FACT: facts._meta.db_table, IndexedUnit.PASSAGE: passages._meta.db_table}
        for width, facts, passages in (
            (VECTOR_DIMENSIONS, FactVector, PassageVector),
            (768, FactVector768, PassageVector768),
            (1024, FactVector1024, PassageVector1024),
            (1536, FactVector1536, PassageVector1536),
        )
    }
)
#: The widths for which there are tables, smallest first.
WIDTHS = tuple(_TABLES)


class UnknownWidth(ValueError):
    """No table holds vectors of that many numbers."""

    def __init__(self, dimensions: int) -> None:
        known = ", ".join(map(str, WIDTHS))
        super().__init__(f"there is no table for vectors of {dimensions} numbers, only for {known}")


def table(unit: str, dimensions: int) -> str:
    """Return the table of the vectors of facts or passages with that many numbers; raises :class:`UnknownWidth`."""
    if dimensions not in _TABLES:
        raise UnknownWidth(dimensions)
    return _TABLES[dimensions][unit]


def tables(unit: str) -> list[str]:
    """Return the tables of all widths."""
    return [names[unit] for names in _TABLES.values()]
