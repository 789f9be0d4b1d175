"""The tables of reading, one module per concept."""

from retrieval.models.cards import Card, CardChange, CardEdit, CardKind, CardVector, CardVersion, EditKind
from retrieval.models.entities import AliasPair, Entity, EntityAlias, Mention, NamesRead, PairState
from retrieval.models.large_scopes import LargeScope
from retrieval.models.profiles import ProfileAction, ProfileName, RetrievalProfile, StoredQuery
from retrieval.models.traces import ReadStat, Trace, TraceKind

__all__ = [
    "AliasPair",
    "Card",
    "CardChange",
    "CardEdit",
    "CardKind",
    "CardVector",
    "CardVersion",
    "EditKind",
    "Entity",
    "EntityAlias",
    "LargeScope",
    "Mention",
    "NamesRead",
    "PairState",
    "ProfileAction",
    "ProfileName",
    "ReadStat",
    "RetrievalProfile",
    "StoredQuery",
    "Trace",
    "TraceKind",
]
