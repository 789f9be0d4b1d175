"""Every strategy there is, by the name that profiles, settings and reports call it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from retrieval.strategies.base import Strategy
from retrieval.strategies.entity_match import EntityMatch
from retrieval.strategies.lexical import Lexical
from retrieval.strategies.relation_expand import RelationExpand
from retrieval.strategies.salience_recency import SalienceRecency
from retrieval.strategies.semantic import Semantic
from retrieval.strategies.temporal import Temporal

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        strategy.name: strategy
        for strategy in (Semantic(), Lexical(), Temporal(), EntityMatch(), SalienceRecency(), RelationExpand())
    }
)
