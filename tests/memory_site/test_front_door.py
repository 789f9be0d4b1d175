"""Where the bare address leads."""

from __future__ import annotations

import pytest
from django.test import Client

from facts.models import User


@pytest.mark.django_db
@pytest.mark.parametrize(("is_staff", "leads_to"), [(None, "/admin/"), (True, "/admin/"), (False, "/me/")])
def test_the_bare_address_leads_to_where_one_works(client: Client, is_staff: bool | None, leads_to: str) -> None:
    if is_staff is not None:
        client.force_login(User.objects.create(username="ana", is_staff=is_staff))
    answer = client.get("/")
    assert (answer.status_code, answer["Location"]) == (302, leads_to)


@pytest.mark.django_db
def test_whoever_meets_the_admin_is_shown_the_way_to_their_own_pages(client: Client) -> None:
    assert b'href="/me/login/"' in client.get("/admin/login/").content
