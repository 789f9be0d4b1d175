"""The demo account: something to look at and to ask, on a machine where nothing was said yet.

Its messages go through capture like anybody's; the worker reads them. Times are counted back from now, so that
nothing in it is out of date on the day somebody looks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from facts import tenancy
from facts.actors import Actor, system
from facts.clock import now
from facts.models import Account, Membership
from facts.tenancy import account_transaction, ensure_scope, ensure_subject
from governance.access import Principal, Right
from governance.models import Grant, Role
from ingest.capture import capture
from ingest.observations import Observation

KEY = "demo"
MESSAGES = Path(__file__).with_name("demo_messages.json")


def load() -> Account:
    """Create the demo account with its people and messages, all or nothing; doing it again adds nothing.

    Administrators get a membership with every right in it.
    """
    story = json.loads(MESSAGES.read_text(encoding="utf-8"))
    with transaction.atomic():
        account = Account.objects.filter(key=KEY).first() or tenancy.create_account(key=KEY, name="Demo")
        with account_transaction(account.id):
            for key, name in story["people"].items():
                ensure_subject(account.id, key=key, name=name)
            _admit_administrators(account)
            capture(_importer(account), list(_observations(story, at=now())))
    return account


def _admit_administrators(account: Account) -> None:
    root = ensure_scope(account.id, tenancy.ROOT)
    for user in get_user_model().objects.filter(is_superuser=True, is_active=True):
        name = user.get_full_name() or user.get_username()
        subject = ensure_subject(account.id, key=user.get_username(), name=name)
        Membership.objects.get_or_create(account=account, user=user, defaults={"subject": subject})
        Grant.objects.get_or_create(
            account=account,
            scope=root,
            subject=subject,
            role=Role.ACCOUNT_ADMIN,
            defaults={"granted_by": system("demo").as_json()},
        )


def _importer(account: Account) -> Principal:
    """Return the caller that brings the messages in."""
    actor: Actor = system("demo")
    return Principal(account_id=account.id, name=actor.name, is_person=False, rights=frozenset({Right.CAPTURE}))


def _observations(story: Mapping[str, Any], *, at: datetime) -> Iterator[Observation]:
    for number, message in enumerate(story["messages"], start=1):
        day = (at - timedelta(days=message["days_ago"])).date()
        common: dict[str, Any] = {
            "subject": message["by"],
            "occurred_at": datetime.combine(day, time.fromisoformat(message["at"]), tzinfo=at.tzinfo),
            "idempotency_key": f"demo-{number:02}",
        }
        if message.get("talk"):
            talk = f"talk-{message['by']}"
            yield Observation(scope="/team", payload={"messages": message["turns"]}, thread=talk, **common)
            continue
        channel = story["channels"][message["in"]]
        yield Observation(
            scope=channel["scope"],
            payload={"text": message["text"]},
            channel_id=channel["id"],
            channel_name=channel["name"],
            thread=message.get("thread", ""),
            **common,
        )
