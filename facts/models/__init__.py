"""The tables of the fact ledger, one module per concept."""

from facts.models.conflicts import (
    ConflictDecision,
    ConflictMember,
    ConflictSet,
    PredicateAlias,
    Separation,
    Suppression,
)
from facts.models.evidence import Event, Evidence, Passage
from facts.models.facts import Fact, FactRevision, Relation
from facts.models.figures import CountedUntil, DayFigure
from facts.models.index import (
    CommonLexemes,
    EmbeddingSpace,
    FactText,
    FactVector,
    IndexedUnit,
    PassageText,
    PassageVector,
    RefusedText,
)
from facts.models.long_jobs import LongJob
from facts.models.merges import SubjectMerge
from facts.models.records import AuditEntry, AuditTip, Job, OutboxEntry
from facts.models.tenancy import (
    Account,
    AccountSecret,
    Identity,
    Membership,
    Scope,
    ScopeLink,
    Subject,
    User,
)
from facts.models.wide_vectors import (
    FactVector768,
    FactVector1024,
    FactVector1536,
    PassageVector768,
    PassageVector1024,
    PassageVector1536,
)

__all__ = [
    "Account",
    "AccountSecret",
    "AuditEntry",
    "AuditTip",
    "CommonLexemes",
    "ConflictDecision",
    "ConflictMember",
    "ConflictSet",
    "CountedUntil",
    "DayFigure",
    "EmbeddingSpace",
    "Event",
    "Evidence",
    "Fact",
    "FactRevision",
    "FactText",
    "FactVector",
    "FactVector768",
    "FactVector1024",
    "FactVector1536",
    "Identity",
    "IndexedUnit",
    "Job",
    "LongJob",
    "Membership",
    "OutboxEntry",
    "Passage",
    "PassageText",
    "PassageVector",
    "PassageVector768",
    "PassageVector1024",
    "PassageVector1536",
    "PredicateAlias",
    "RefusedText",
    "Relation",
    "Scope",
    "ScopeLink",
    "Separation",
    "Subject",
    "SubjectMerge",
    "Suppression",
    "User",
]
