"""The views that every list has from the start, shown as tabs in front of those that people keep.

A preset whose parameters its list does not know is left out (``saved_views``), so that this table may be ahead of a
list, and never breaks one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Presets:
    """The tabs of one list: the name of the list as it comes, and the further ones with their parameters."""

    standard: str = "All"
    further: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


PRESETS: Mapping[str, Presets] = {
    "facts.ConflictSet": Presets(
        "Waiting",
        {
            "Mine": {"hands": "mine"},
            "Overdue": {"state": "overdue"},
            "Put off": {"state": "deferred"},
            "Only possible": {"kind__exact": "possible"},
        },
    ),
    "governance.Review": Presets(
        "Waiting",
        {
            "Mine": {"hands": "mine"},
            "Nobody's": {"hands": "nobody"},
            "Overdue": {"state": "overdue"},
            "Risky": {"risk": "high"},
            "Contested": {"kind__exact": "contest"},
            "Put off": {"state": "deferred"},
        },
    ),
    "governance.Consent": Presets(
        "Waiting",
        {
            "For over a week": {"asked": "week"},
            "Could not be asked": {"state": "unreached"},
            "I asked": {"by": "me"},
            "Agreed": {"state": "granted"},
            "Said no": {"state": "refused"},
        },
    ),
    "facts.Identity": Presets("All", {"Not confirmed": {"confirmed__exact": "0"}}),
    "ingest.Action": Presets("Open", {"Mine": {"given": "me"}, "Nobody's": {"given": "nobody"}}),
    "facts.Fact": Presets(
        "All",
        {
            "Current": {"status__exact": "active"},
            "Held": {"status__exact": "held"},
            "To be confirmed": {"status__exact": "needs_revalidation"},
            "Restricted": {"sensitivity__exact": "restricted"},
            "Commitments": {"category__exact": "commitment", "status__exact": "active"},
        },
    ),
    "facts.Event": Presets("All", {"Not processed yet": {"state": "waiting"}, "Withdrawn": {"state": "withdrawn"}}),
    "retrieval.Trace": Presets(
        "All",
        {
            "Served nothing": {"served": "nothing"},
            "Something withheld": {"served": "withheld"},
            "Degraded": {"status": "degraded"},
            "Failed": {"status": "failed"},
        },
    ),
    "facts.Job": Presets("All", {"Given up": {"status__exact": "dead"}, "Waiting": {"status__exact": "queued"}}),
    "ingest.Delivery": Presets("All", {"Given up": {"state__exact": "dead"}, "Waiting": {"state__exact": "pending"}}),
    "facts.AuditEntry": Presets(
        "All", {"Today": {"since": "day"}, "Of the gates": {"about": "gate_rule"}, "Of keys": {"about": "api_key"}}
    ),
    "facts.LongJob": Presets("All", {"Under way": {"state__exact": "running"}}),
    "governance.ApiKey": Presets("All", {"In use": {"state": "used"}, "Ended": {"state": "ended"}}),
    "ingest.SlackChannel": Presets("All", {"Listened to": {"listening__exact": "1"}}),
}


def presets_of(list_name: str) -> Presets:
    """Return the tabs of a list by the label of its model; of a list without a line here, the list as it comes."""
    return PRESETS.get(list_name, Presets())
