"""The navigation: pages by what people come for, those of records and all others. A test holds that none is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from governance.models import Role
from memory_site.admin_pages.sight import Sight


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is the list of no model: its address by name, its title, and who may open it."""

    address: str
    title: str
    is_open_to: Callable[[Sight], bool]


def _curators(eyes: Sight) -> bool:
    return eyes.is_curator


def _everybody(eyes: Sight) -> bool:
    return True


def _administrators(eyes: Sight) -> bool:
    return eyes.has_role_at_root(Role.ACCOUNT_ADMIN)


def _curators_of_all(eyes: Sight) -> bool:
    return eyes.has_role_at_root(Role.CURATOR)


NAMES = Page("admin:name_pairs", "Names that may be one", _curators_of_all)
FIGURES = Page("admin:figures", "Figures", _curators)
SCHEDULES = Page("admin:schedules", "Schedules", _administrators)
PLAYGROUND = Page("admin:playground", "Playground", _everybody)

#: Each group with its pages in their order: names of models, or pages without one.
GROUPS: tuple[tuple[str, tuple[str | Page, ...]], ...] = (
    ("Decide", ("Review", "ConflictSet", "Consent", "Action", NAMES)),
    ("Memory", ("Fact", "Subject", "Event", "Card", "MoodEntry", "Scope", "Suppression")),
    ("Reads", (FIGURES, "Trace", PLAYGROUND, "RetrievalProfile")),
    ("Taking in", ("SlackWorkspace", "SlackChannel", "SlackReceipt", "OptOut", "ImportRun")),
    ("Telling", ("ActionRule", "DeliveryTarget", "Delivery")),
    ("People and keys", ("Membership", "Grant", "Identity", "ApiKey", "Leaving")),
    ("Account", ("GateRule", "Account", "AuditEntry", "ForgetReceipt")),
    ("Work", ("LongJob", "Job", SCHEDULES)),
)
#: Where models go that stand in no group.
REST = "Installation"


def groups(models: dict[str, dict[str, Any]], eyes: Sight | None) -> list[dict[str, Any]]:
    """Return the groups that hold anything, in the form of Django's list of apps.

    ``models`` are the entries of Django's list by the names of the models, of those that the person may open.
    """
    left = dict(models)
    found = []
    for title, pages in GROUPS:
        entries = [
            _entry(page) if isinstance(page, Page) else left.pop(page)
            for page in pages
            if (eyes is not None and page.is_open_to(eyes) if isinstance(page, Page) else page in left)
        ]
        found.append((title, entries))
    found.append((REST, list(left.values())))
    return [
        {
            "name": title,
            "models": entries,
            "app_label": title.split()[0].lower(),
            "app_url": "",
            "has_module_perms": True,
        }
        for title, entries in found
        if entries
    ]


def _entry(page: Page) -> dict[str, Any]:
    return {
        "name": page.title,
        "object_name": page.address.split(":")[1],
        "admin_url": reverse(page.address),
        "view_only": True,
        "perms": {"view": True},
    }
