"""What a delivery about an action says: the fact's words where they may be told, else that there is something.

A flag about a mood and a message to a receiver are also sent without a word and without a name, to whoever may not
read the fact; anything else is then not sent.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse

from facts import unseen
from facts.models import Fact
from ingest.actions.firing import ABOUT
from ingest.deliveries import contents
from ingest.deliveries.audience import may_be_told, why_not_current
from ingest.deliveries.contents import Content, NotToBeTold
from ingest.deliveries.places import Place
from ingest.models import Action, ActionKind, ActionState, Delivery

#: Why something is not told: somebody who reads there may not read the fact.
AUDIENCE = "audience"
OPENED = "action.opened"
#: What each kind is called in the first line.
TITLES = {
    ActionKind.TASK: "New task",
    ActionKind.BLOCKER: "New blocker",
    ActionKind.ALERT: "Deadline",
    ActionKind.FLAG: "Mood",
    ActionKind.MESSAGE: "Handed over to you",
}
#: What is said to whoever may not read the fact.
_BARE = {
    ActionKind.FLAG: "Somebody's mood was noticed. Who it is and what was said is for those who may know.",
    ActionKind.MESSAGE: "Something was handed over to you. What it is stands where it was said.",
}


def register() -> None:
    """Tell the deliveries who words those about actions."""
    contents.register(ABOUT, word)


def word(delivery: Delivery, place: Place) -> Content:
    """Return what is said about an action at a place. Raises ``NotToBeTold``."""
    found = Action.objects.filter(account_id=delivery.account_id, pk=delivery.object_id)
    action = found.select_related("fact__subject", "fact__scope").first()
    if action is None:
        raise NotToBeTold("action_gone", over=True)
    if action.state != ActionState.OPEN:
        raise NotToBeTold(f"action_{action.state}", over=True)
    fact = action.fact
    if reason := why_not_current(fact):
        raise NotToBeTold(reason)
    if may_be_told(fact, place):
        return _in_full(action, fact)
    if action.kind in _BARE:
        return _bare(action)
    raise NotToBeTold(AUDIENCE)


def _in_full(action: Action, fact: Fact) -> Content:
    due = f"Due on {action.due_on.isoformat()}." if action.due_on else ""
    about = f"About {_line(fact.subject.display_name)} in {fact.scope.path}."
    lines = [f"{TITLES[action.kind]}: {_line(fact.statement)}", due, about, _link(action)]
    return Content(
        type=OPENED,
        title=f"{TITLES[action.kind]} in {fact.scope.path}",
        text="\n".join(line for line in lines if line),
        fields={
            "action": _ids(action) | {"due_on": action.due_on.isoformat() if action.due_on else None},
            "fact": {
                "id": str(fact.id),
                "statement": fact.statement,
                "category": fact.category,
                "confidence": fact.confidence,
            },
            "subject": {"key": fact.subject.key, "name": fact.subject.name},
            "scope": fact.scope.path,
        },
    )


def _bare(action: Action) -> Content:
    """Say nothing that tells who, what or where: not even the ids, which may be looked up."""
    said = _BARE[ActionKind(action.kind)]
    return Content(type=OPENED, title=TITLES[action.kind], text=said, fields={"action": {"kind": action.kind}})


def _ids(action: Action) -> dict[str, Any]:
    return {"id": str(action.id), "kind": action.kind, "opened_at": action.created_at.isoformat()}


def _link(action: Action) -> str:
    if not settings.MEMORY_SITE_URL:
        return ""
    return settings.MEMORY_SITE_URL.rstrip("/") + reverse("admin:ingest_action_change", args=[action.id])


def _line(text: str) -> str:
    """Return text as one line that shows all of what it holds."""
    return " ".join(unseen.DECEIVING.sub(" ", text).split())
