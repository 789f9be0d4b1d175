from __future__ import annotations

import uuid

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

from facts import statements

pytestmark = pytest.mark.django_db

PREPARED = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE %(like)s"


def test_values_are_bound_by_name_and_others_are_ignored() -> None:
    assert statements.rows("SELECT %(a)s::int + %(a)s::int, %(b)s::text", {"a": 2, "b": None, "c": object()}) == [
        (4, None)
    ]


def test_ids_go_in_as_one_text() -> None:
    ids = [uuid.UUID(int=1), uuid.UUID(int=2)]
    assert statements.id_array(ids) == f"{{{ids[0]},{ids[1]}}}"
    assert statements.rows("SELECT unnest(%(ids)s::uuid[])", {"ids": statements.id_array(ids)}) == [
        (ids[0],),
        (ids[1],),
    ]
    assert statements.rows("SELECT unnest(%(ids)s::uuid[])", {"ids": statements.id_array([])}) == []


def test_a_session_keeps_the_plan_of_a_repeated_statement() -> None:
    for number in range(4):
        assert statements.rows("SELECT %(number)s::int * 1234567", {"number": number}) == [(number * 1234567,)]
    assert statements.rows(PREPARED, {"like": "%* 1234567"}) == [("SELECT $1::int * 1234567",)]


def test_statements_are_counted_and_logged_as_any_other() -> None:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        statements.rows("SELECT %(number)s::int", {"number": 5})
        statements.execute("SET LOCAL work_mem = '4MB'", {})
    assert len(captured) == 2


def test_failures_are_those_of_django() -> None:
    with pytest.raises(DataError):
        statements.rows("SELECT %(text)s::int", {"text": "no number"})
