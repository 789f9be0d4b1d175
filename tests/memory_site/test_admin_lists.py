"""Every list of the admin: as many queries for one row as for many, and plans that do not go through whole tables.

Lists are found by looking at the admin site: a new one is held to the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection, models
from django.db.models import Model, QuerySet
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from facts.clock import now
from facts.ids import new_id
from facts.models import Account, Event, Fact, Job, Subject, User
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity, Status
from governance.access import Principal
from governance.models import Review, Role
from memory_site.admin_pages import fact_search
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.sight import Sight
from tests.admin_scene import sign_in
from tests.factories import EventFactory, FactFactory, SubjectFactory, UserFactory, person_in
from tests.memory_site import test_isolation_walk as walk

#: Queries of a list: those of every page (whose account, what waits, rights) and its own. Measured, with some room.
MOST_QUERIES = 40
ROWS = 3


@dataclass(frozen=True)
class House:
    """An account with some rows of everything, and its administrator, who may see all of them."""

    account: Account
    administrator: Principal


@pytest.fixture
def house(account: Account, settings: Any, client: Client) -> House:
    """Plant one row of everything and copy it; the administrator is signed in."""
    settings.SEARCH_THREADS = 0
    rows = walk._plant(account)
    for model, page in _lists().items():
        # Pages of their own in the place of a list show what holds, not rows.
        if model in rows and model is not Account and type(page).changelist_view is GovernedAdmin.changelist_view:
            for number in range(1, ROWS):
                _copy(rows[model], number)
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN, restricted=True)
    sign_in(client, administrator)
    return House(account=account, administrator=administrator)


def _lists() -> dict[type[Model], GovernedAdmin]:
    return {model: page for model, page in admin.site._registry.items() if isinstance(page, GovernedAdmin)}


def _copy(row: Model, number: int) -> None:
    """Write a row like another one, with values of its own where they have to be unique."""
    copy = type(row).objects.get(pk=row.pk)
    copy.pk = new_id()
    copy._state.adding = True
    for field in _unique(type(row)):
        setattr(copy, field.name, _another(field, getattr(row, field.name), row, number))
    copy.save(force_insert=True)


def _unique(model: type[Model]) -> list[models.Field]:
    """Return the fields of which one has to differ for each constraint to hold: the first that can."""
    chosen = []
    for constraint in model._meta.total_unique_constraints + [
        one for one in model._meta.constraints if isinstance(one, models.UniqueConstraint)
    ]:
        fields = [model._meta.get_field(name) for name in constraint.fields if name != "account"]
        chosen += [field for field in fields if _can_differ(field)][:1]
    chosen += [field for field in model._meta.concrete_fields if field.unique and not field.primary_key]
    return list(dict.fromkeys(chosen))


def _can_differ(field: models.Field) -> bool:
    if field.is_relation:
        return field.related_model in {Subject, User, Fact}
    return not field.choices and not isinstance(field, models.BooleanField)


def _another(field: models.Field, value: Any, row: Model, number: int) -> Any:
    match field:
        case models.ForeignKey() if field.related_model is Subject:
            return SubjectFactory(account=row.account, key=f"{field.name}-{type(row).__name__}-{number}")
        case models.ForeignKey() if field.related_model is User:
            return UserFactory()
        case models.ForeignKey():
            return Fact.objects.exclude(pk=value.pk).order_by("id")[number - 1]
        case models.CharField():
            return f"{value[: field.max_length - 3]}-{number}"
        case models.BinaryField():
            return bytes(value)[:-1] + bytes([number])
        case models.DateField():
            return (value or date(2025, 1, 1)) - timedelta(days=number)
        case models.IntegerField():
            return value + 1_000_000 + number
        case models.UUIDField():
            return new_id()
    pytest.fail(f"Teach `_another` how a second {field} looks.")


def _queries(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address)
    assert response.status_code == 200, address
    return [query["sql"] or "" for query in captured.captured_queries]


def _address(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/?_all"


def test_no_list_asks_more_for_more_rows_or_goes_through_all(
    house: House, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list takes as many queries for a page of one row as for one of several, counts a bounded number of rows, and
    sorts out no repetitions."""
    client.get("/admin/")  # what is looked up once in a process counts for no list
    faults = []
    for model, page in _lists().items():
        asked = []
        # Both less than there are: a list that fits on one page is found without looking up ids first.
        for size in (1, 2):
            monkeypatch.setattr(page, "list_per_page", size)
            connection.queries_log.clear()
            asked.append(_queries(client, _address(model)))
        counts = [len(queries) for queries in asked]
        if counts[1] != counts[0] or counts[1] > MOST_QUERIES:
            faults.append(f"{model._meta.label}: {counts[0]} queries for one row, {counts[1]} for a page")
        table = f'FROM "{model._meta.db_table}"'
        for sql in asked[1]:
            unbounded = sql.startswith("SELECT COUNT(*)") and table in sql and "LIMIT" not in sql
            if unbounded or (sql.startswith("SELECT DISTINCT") and table in sql):
                faults.append(f"{model._meta.label}: {sql[:200]}")
    assert not faults, "\n".join(faults)


def test_every_search_says_what_it_searches() -> None:
    silent = [model._meta.label for model, page in _lists().items() if page.search_fields and not page.search_help_text]
    assert silent == []


def test_every_list_says_something_when_it_is_empty() -> None:
    assert all(page.empty_list for page in _lists().values())


#: Lists under filters, and the index that has to find what is rare in them.
_FOUND_BY = [
    (Fact, "", "fact_by_account"),
    (Fact, "sensitivity__exact=restricted", "fact_by_sensitivity"),
    (Fact, "category__exact=blocker", "fact_by_category"),
    (Job, "", "job_by_account"),
    (Event, "", "event_by_account"),
    (Event, "source_type__exact=web_search", "event_by_source"),
    (Event, "origin_trust__exact=untrusted", "event_by_trust"),
    (Event, "state=withdrawn", "event_withdrawn"),
    (Review, "state=approved", "review_by_status"),
    (Review, "state=all", "review_by_account"),
]
#: So many that the planner tells the ways to them apart.
MANY = 2_000


def test_heavy_lists_find_what_is_rare_by_an_index(account: Account) -> None:
    """The planner goes by the size of a table, also where it has no statistics of it."""
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    fact = FactFactory(subject=SubjectFactory(account=account))
    job = Job.objects.create(account=account, kind="process", input_key="0", status="done")
    event = EventFactory(subject=fact.subject)
    review = Review.objects.create(account=account, kind="new_fact", fact=fact, status="approved", decided_at=now())
    fields = {fact: ("statement_hash", "identity_key"), job: ("input_key",), event: ("source_key",), review: ()}
    for row, unique in fields.items():
        _multiply(row, unique)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
    faults = []
    for model, query, index in _FOUND_BY:
        plan = _rows(administrator, _lists()[model], query).explain()
        if f"using {index} on" not in plan:
            faults.append(f"{model._meta.label} {query or 'as it comes'} without {index}:\n{plan[:2000]}")
        of_events = [line for line in plan.splitlines() if "withdrawn_at IS NULL" in line]
        if model is Event and (not of_events or "hashed SubPlan" in "".join(of_events)):
            faults.append(f"{query or 'as it comes'}: what concerns one message is gathered for all of them")
    assert not faults, "\n".join(faults)


def test_facts_are_found_by_all_words_whatever_their_number(
    account: Account, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few are looked up by keys, many by going through the newest; what is past or about oneself is found too."""
    curator = person_in(account, path="/support")
    subject = SubjectFactory(account=account)
    here, elsewhere = ensure_scope(account.id, "/support"), ensure_scope(account.id, "/sales")
    said = {"statement": "Ana drinks green tea.", "sensitivity": Sensitivity.INTERNAL, "level": Level.SCOPE}
    current = FactFactory(subject=subject, scope=here, **said)
    past = FactFactory(subject=subject, scope=here, status=Status.SUPERSEDED, **said)
    own = FactFactory(subject=Subject.objects.get(pk=curator.subject_id), scope=elsewhere, **said)
    FactFactory(subject=subject, scope=elsewhere, **said)
    FactFactory(subject=subject, scope=here, **{**said, "statement": "Ana drinks green juice."})
    sign_in(client, curator)
    for few in (fact_search.FEW, 0):
        monkeypatch.setattr(fact_search, "FEW", few)
        found = client.get("/admin/facts/fact/", {"q": "teas green"}).context["cl"].result_list
        assert {fact.pk for fact in found} == {current.pk, past.pk, own.pk}
        assert not client.get("/admin/facts/fact/", {"q": "quagmire"}).context["cl"].result_list
        assert not client.get("/admin/facts/fact/", {"q": "the"}).context["cl"].result_list
    monkeypatch.undo()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = fact_search.facts_called(Sight(curator).facts(), "green tea", eyes=Sight(curator)).explain()
    assert "on facts_facttext_keys" in plan
    assert "on facts_facttext_ended_keys" in plan


def _multiply(row: Model, unique: tuple[str, ...]) -> None:
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    type(row).objects.bulk_create(
        type(row)(**{**values, "id": new_id(), **{name: f"{name}-{number}" for name in unique if values[name]}})
        for number in range(MANY)
    )


def _rows(who: Principal, page: GovernedAdmin, query: str) -> QuerySet:
    """Return the first page of a list, as the administrator asks for it."""
    request = RequestFactory().get(f"/?{query}")
    request.principal, request.user = who, None
    request.session, request._messages = {}, None
    request.resolver_match = resolve(_address(page.model).partition("?")[0])
    return page.get_changelist_instance(request).queryset[:50]
