"""Views of lists: tabs, what people keep and share, and filters that stay."""

from __future__ import annotations

import pytest
from django.contrib.admin import SimpleListFilter
from django.test import Client
from django.urls import reverse

from facts import erasure
from facts.erasure import Erasing
from facts.models import Account
from governance.access import Principal
from governance.models import Role
from memory_site.admin_pages.list_presets import PRESETS
from memory_site.models import LastFilters, SavedView
from tests.admin_scene import sign_in
from tests.factories import FactFactory, SubjectFactory, entered, maker_of, person_in

FACTS = reverse("admin:facts_fact_changelist")


@pytest.fixture
def curator(account: Account, client: Client) -> Principal:
    """Somebody who decides everywhere, signed in."""
    who = person_in(account)
    sign_in(client, who)
    return who


def _other(account: Account, **grant: object) -> Client:
    visitor = Client()
    sign_in(visitor, person_in(account, **grant))
    return visitor


def _tabs(client: Client, address: str = FACTS + "?_all") -> dict[str, bool]:
    response = client.get(address)
    return {tab.name: tab.is_current for tab in response.context["tabs"]}


def _keep(client: Client, query: str = "status__exact=active", **form: str):
    return client.post(
        reverse("admin:view_keep"), {"list": "facts.Fact", "query": query, "name": "Now", **form}, follow=True
    )


def test_a_list_has_presets_and_says_which_one_is_shown(curator: Principal, client: Client) -> None:
    assert _tabs(client) == {
        "All": True,
        "Current": False,
        "Held": False,
        "To be confirmed": False,
        "Restricted": False,
        "Commitments": False,
    }
    shown = _tabs(client, FACTS + "?status__exact=held")
    assert [name for name, current in shown.items() if current] == ["Held"]


def test_every_preset_names_parameters_that_its_list_knows(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.ACCOUNT_ADMIN))
    for label, presets in PRESETS.items():
        app, model = label.lower().split(".")
        address = reverse(f"admin:{app}_{model}_changelist")
        tabs = client.get(address + "?_all").context["tabs"]
        assert {tab.name for tab in tabs} >= {presets.standard, *presets.further}, label
        for tab in tabs:
            shown = client.get(address + tab.address)
            chosen = [one for one in shown.context["cl"].filter_specs if isinstance(one, SimpleListFilter)]
            assert all(one.value() in {None, *dict(one.lookup_choices)} for one in chosen), (label, tab.name)
            assert shown.status_code == 200, (label, tab.name)
            assert [one.name for one in shown.context["tabs"] if one.is_current] == [tab.name], (label, tab.name)


def test_a_view_is_kept_for_oneself(curator: Principal, account: Account, client: Client) -> None:
    response = _keep(client)
    assert "Kept as a tab for you." in response.content.decode()
    view = SavedView.objects.get()
    assert (view.owner_id, view.list_name, view.query, view.shared) == (
        curator.membership_id,
        "facts.Fact",
        {"status__exact": "active"},
        False,
    )
    assert "Now" in _tabs(client)
    assert "Now" not in _tabs(_other(account))


def test_only_parameters_that_the_list_knows_are_kept(curator: Principal, client: Client) -> None:
    _keep(client, "status__exact=active&valid_from__year=2025&p=3&q=tea")
    assert SavedView.objects.get().query == {"q": "tea", "status__exact": "active"}


@pytest.mark.parametrize(
    ("query", "form", "said"),
    [
        ("nonsense=1", {}, "does not understand"),
        ("status__exact=active", {"name": " "}, "A name has 1 to 60 characters."),
        ("status__exact=active", {"name": "x" * 61}, "A name has 1 to 60 characters."),
        ("status__exact=active", {"name": "a\x00b"}, "A name has 1 to 60 characters."),
        ("", {}, "There is nothing to keep"),
        ("q=" + "x" * 1001, {}, "There is nothing to keep"),
        ("subject=An", {"shared": "yes"}, "filter by their key"),
    ],
)
def test_what_cannot_be_kept_is_said(
    curator: Principal, client: Client, query: str, form: dict[str, str], said: str
) -> None:
    assert said in _keep(client, query, **form).content.decode()
    assert not SavedView.objects.exists()


def test_a_name_is_taken_once_and_so_many_views_are_kept(
    curator: Principal, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(client)
    assert "You have a view of that name already." in _keep(client, "q=tea").content.decode()
    monkeypatch.setattr("memory_site.admin_pages.saved_views.MOST_OWN", 1)
    assert "remove one first" in _keep(client, "q=tea", name="Tea").content.decode()
    assert SavedView.objects.count() == 1


def test_a_shared_view_shows_each_person_what_they_may_see(
    curator: Principal, account: Account, client: Client
) -> None:
    ana = SubjectFactory(account=account, key="ana")
    FactFactory(subject=ana, statement="Ana is ill.", sensitivity="personal")
    _keep(client, shared="yes")
    assert "Ana is ill." in client.get(FACTS + "?status__exact=active").content.decode()
    reader = _other(account, role=Role.READER)
    assert "Now" in _tabs(reader)
    assert "Ana is ill." not in reader.get(FACTS + "?status__exact=active").content.decode()


def test_a_shared_view_is_not_offered_to_who_may_not_know_whom_it_names(
    curator: Principal, account: Account, client: Client
) -> None:
    FactFactory(subject=SubjectFactory(account=account, key="ana"))
    _keep(client, "subject=ana", shared="yes")
    assert "Now" in _tabs(_other(account))
    assert "Now" not in _tabs(_other(account, path="/sales"))


def test_who_decides_nowhere_shares_nothing(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=Role.READER))
    assert "Only who decides somewhere" in _keep(client, shared="yes").content.decode()
    assert not SavedView.objects.exists()
    _keep(client)
    address = reverse("admin:view_share", args=[SavedView.objects.get().pk])
    client.post(address, {"shared": "yes"})
    assert not SavedView.objects.get().shared


def test_a_view_is_shared_and_removed_by_its_owner_and_by_administrators(
    curator: Principal, account: Account, client: Client
) -> None:
    _keep(client)
    view = SavedView.objects.get()
    share, remove = reverse("admin:view_share", args=[view.pk]), reverse("admin:view_remove", args=[view.pk])
    administrator, other = _other(account, role=Role.ACCOUNT_ADMIN), _other(account)
    assert administrator.post(remove).status_code == 404
    client.post(share, {"shared": "yes"})
    assert SavedView.objects.get().shared
    assert other.post(remove).status_code == 404
    assert other.post(share, {"shared": "no"}).status_code == 404
    administrator.post(share, {"shared": "no"})
    assert not SavedView.objects.get().shared
    client.post(remove)
    assert not SavedView.objects.exists()


def test_a_list_comes_back_as_it_was_left(curator: Principal, account: Account, client: Client) -> None:
    client.get(FACTS + "?status__exact=held&p=1&q=tea")
    assert LastFilters.objects.get().query == {"status__exact": "held"}
    back = client.get(FACTS)
    assert back.url == FACTS + "?status__exact=held&_last=yes"
    shown = client.get(back.url)
    assert "Shown as you left it." in shown.content.decode()
    assert shown.context["cl"].params == {"status__exact": "held"}
    assert _other(account).get(FACTS).status_code == 200


def test_everything_is_shown_when_asked_for_and_stays_so(curator: Principal, client: Client) -> None:
    client.get(FACTS + "?status__exact=held")
    assert client.get(FACTS + "?_all").context["cl"].params == {}
    assert not LastFilters.objects.exists()
    assert client.get(FACTS).status_code == 200


def test_links_of_a_list_ask_for_everything_by_name(curator: Principal, client: Client) -> None:
    page = client.get(FACTS + "?status__exact=held").content.decode()
    assert 'href="?"' not in page
    assert 'href="?_all"' in page


def test_what_a_list_does_not_understand_is_not_remembered(curator: Principal, client: Client) -> None:
    LastFilters.objects.create(
        account_id=curator.account_id,
        owner_id=curator.membership_id,
        list_name="facts.Fact",
        query={"no_such_parameter": "1"},
    )
    assert client.get(FACTS, follow=True).status_code == 200
    assert not LastFilters.objects.exists()


def test_views_of_another_account_are_not_there(curator: Principal, account: Account, client: Client) -> None:
    from tests.factories import AccountFactory

    other = AccountFactory(key="another")
    with entered(other):
        stranger = person_in(other, role=Role.ACCOUNT_ADMIN)
        view = SavedView.objects.create(
            account=other, owner=maker_of(stranger), list_name="facts.Fact", name="Theirs", query={}, shared=True
        )
    assert "Theirs" not in _tabs(client)
    assert client.post(reverse("admin:view_remove", args=[view.pk])).status_code == 404


@pytest.mark.parametrize("label", ["", "facts", "facts.Fact.x", "facts.Nothing", "auth.User", "django_q.OrmQ"])
def test_views_are_kept_of_our_lists_only(curator: Principal, client: Client, label: str) -> None:
    response = client.post(reverse("admin:view_keep"), {"list": label, "query": "q=tea", "name": "Now"})
    assert response.status_code == 404


def test_views_that_name_somebody_who_is_erased_go(curator: Principal, client: Client) -> None:
    _keep(client, "q=Ana+Lima", name="About her")
    _keep(client, "status__exact=active")
    client.get(FACTS + "?subject=lima")
    erasing = Erasing(account_id=curator.account_id, facts=frozenset(), events=frozenset(), cuts={}, names=("Lima",))
    wiped = erasure.wipe(erasing)
    assert (wiped["saved_views"], wiped["last_filters"]) == (1, 1)
    assert [view.query for view in SavedView.objects.all()] == [{"status__exact": "active"}]
