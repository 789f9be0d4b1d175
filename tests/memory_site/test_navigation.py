"""That no page of the admin is out of reach: each is in the navigation, or linked from the list that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, reverse

from facts.models import Account, User
from governance.models import Role
from memory_site.admin_pages.navigation import GROUPS, Page
from tests.admin_scene import sign_in
from tests.factories import person_in

#: Reached by the code that a terminal shows, and answers that pages fetch by themselves.
ELSEWHERE = {"device_login", "suggest_subjects", "jsi18n", "autocomplete"}
#: Steps of a decision about many, which begins at the list.
STEPS = {"review_bulk", "review_bulk_done", "conflict_bulk", "conflict_bulk_done"}
#: Of the sign-in itself, linked from the head of every page.
IN_THE_HEAD = {"index", "login", "logout", "password_change", "password_change_done", "view_on_site"}


@pytest.fixture
def everywhere(account: Account, client: Client) -> Client:
    """A browser of somebody who may open every page."""
    principal = person_in(account, role=Role.ACCOUNT_ADMIN)
    User.objects.filter(memberships__id=principal.membership_id).update(is_superuser=True)
    return sign_in(client, principal)


def _listed(page: str) -> bool:
    return page not in ELSEWHERE | IN_THE_HEAD


def _own_pages() -> Iterator[str]:
    """Yield the names of the pages of the site itself that need no id."""
    for pattern in admin.site.get_urls():
        plain = isinstance(pattern, URLPattern) and pattern.name and "<" not in str(pattern.pattern)
        if plain and _listed(pattern.name):
            yield pattern.name


def test_every_page_is_in_the_navigation_once(everywhere: Client) -> None:
    groups = everywhere.get(reverse("admin:index")).context["available_apps"]
    addresses = [entry["admin_url"] for group in groups for entry in group["models"]]
    assert len(addresses) == len(set(addresses))
    lists = {
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in admin.site._registry
    }
    assert lists <= set(addresses)
    shown = [name for name in _own_pages() if everywhere.get(reverse(f"admin:{name}")).status_code == 200]
    assert {"figures", "name_pairs", "playground"} <= set(shown)
    assert {reverse(f"admin:{name}") for name in shown} <= set(addresses)


def test_pages_without_an_id_are_linked_from_their_list(everywhere: Client) -> None:
    orphans = []
    for model, page in admin.site._registry.items():
        start = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        listed = everywhere.get(reverse(f"{start}_changelist")).content.decode()
        for pattern in page.get_urls():
            plain = isinstance(pattern, URLPattern) and pattern.name and "<" not in str(pattern.pattern)
            if not plain or pattern.name.endswith(("_changelist", "_add")) or pattern.name in STEPS:
                continue
            address = reverse(f"admin:{pattern.name}")
            if everywhere.get(address).status_code == 200 and address not in listed:
                orphans.append(address)
    assert orphans == []


def test_every_name_in_the_navigation_is_a_page() -> None:
    models = {model.__name__ for model in admin.site._registry}
    named = [page for _, pages in GROUPS for page in pages]
    assert {page for page in named if not isinstance(page, Page)} <= models
    assert all(reverse(page.address) for page in named if isinstance(page, Page))


def test_who_decides_nothing_is_offered_no_page_that_refuses_them(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.READER))
    groups = client.get(reverse("admin:index")).context["available_apps"]
    addresses = [entry["admin_url"] for group in groups for entry in group["models"]]
    assert addresses
    assert {client.get(address).status_code for address in addresses} == {200}
