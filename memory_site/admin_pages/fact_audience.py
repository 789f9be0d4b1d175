"""Who can read a fact and why: the rule in words, and the people and keys that it comes to."""

from __future__ import annotations

from dataclasses import dataclass

from facts.models import Fact
from facts.models.evidence import Withheld
from facts.status_graph import SERVED_TO
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from governance.readers import ReaderTable, readers_at

#: Names that are written out; of the others the number is told.
SHOWN_PEOPLE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceShown:
    """The rule, who reads it by that rule, and who decides about it. ``now``: why nobody gets it at the moment."""

    rule: str
    now: str
    people: tuple[str, ...]
    further_people: int
    keys: int
    curators: tuple[str, ...]


def audience_of(fact: Fact) -> AudienceShown:
    """Return who could read a fact, which comes with its scope and subject; six queries."""
    readers = ReaderTable(fact.account_id).of(fact)
    return AudienceShown(
        rule=rule_of(fact),
        now=_kept_back(fact),
        people=readers.people[:SHOWN_PEOPLE],
        further_people=max(0, len(readers.people) - SHOWN_PEOPLE),
        keys=readers.keys,
        curators=readers_at(fact.account_id, fact.scope.path).curators[:SHOWN_PEOPLE],
    )


def rule_of(fact: Fact) -> str:
    """Return the audience rule as it applies to this fact, for people."""
    here = f"with a role at {fact.scope.path}"
    match fact.sensitivity:
        case Sensitivity.PUBLIC:
            return f"Public: everybody {here}, and calls that read for nobody in particular."
        case Sensitivity.RESTRICTED:
            return (
                "Restricted: only whom it is about, and people with a grant for restricted facts of the whole account."
            )
        case Sensitivity.PERSONAL if fact.subject.kind != SubjectKind.SCOPE and fact.level == Level.PEER:
            return "Personal, and not shared: only whom it is about."
        case Sensitivity.PERSONAL if fact.subject.kind != SubjectKind.SCOPE:
            return f"Personal, and shared: everybody {here}."
        case _:
            return f"For everybody {here}."


def _kept_back(fact: Fact) -> str:
    """Return why readers do not get it now; empty when they do."""
    if fact.status != Status.ACTIVE:
        return f"It is {fact.status.replace('_', ' ')}: served to {SERVED_TO[Status(fact.status)]}."
    if fact.withheld != Withheld.NOTHING:
        return f"It is withheld: {fact.get_withheld_display()}."
    return ""
