"""The room that the browser tests of the admin meet in: a scene that is committed, and a curator who is signed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.test import Client
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page

from facts.clock import now
from facts.models import ConflictSet, User
from facts.tenancy import account_transaction
from governance.models import Review
from memory_site import heartbeat
from tests.admin_scene import Scene, build, sign_in
from tests.factories import AccountFactory

#: Options of axe. Stylesheets are not fetched a second time, which it does beside the page's own policy and base
#: address, and no report is made of what is right.
AXE = {"preload": False, "resultTypes": ["violations"]}


@dataclass(frozen=True)
class Room:
    """The scene and where it is served."""

    scene: Scene
    address: str
    cookie: str

    def enter(self, context: BrowserContext) -> None:
        """Let a browser context be signed in as the curator."""
        context.add_cookies([{"name": "sessionid", "value": self.cookie, "url": self.address}])

    def open(self, page: Page, path: str) -> None:
        """Open a path."""
        page.goto(self.address + path)

    def conflict(self, number: int) -> str:
        """Return the path of a conflict set's page; they are numbered from 0, oldest first."""
        return record("facts_conflictset", self.scene.conflicts[number].pk)


def record(name: str, pk: object) -> str:
    """Return the path of a record's page."""
    return reverse(f"admin:{name}_change", args=[pk])


def prepare(address: str, *, hostile: bool = True) -> Room:
    """Fill an account, as if it had been used for some days, and sign its curator in."""
    client = Client()
    account = AccountFactory(key="demo", name="Demo")
    with account_transaction(account.id):
        scene = build(account, hostile=hostile)
        days = timedelta(days=1)
        for age, conflict in enumerate(reversed(scene.conflicts), start=1):
            ConflictSet.objects.filter(pk=conflict.pk).update(opened_at=now() - age * 2 * days, due_at=now() + 3 * days)
        Review.objects.update(created_at=now() - 2 * days)
        User.objects.filter(memberships__account=account).update(username="ada", first_name="Ada")
        sign_in(client, scene.curator)
    heartbeat.beat()
    return Room(scene, address, client.cookies["sessionid"].value)
