"""Roles are the server's: databases that are prepared side by side must not fail over each other."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest
from django.db import connections
from psycopg import errors, sql

from facts import server_roles

TOGETHER = 8


def _connect(database: str) -> psycopg.Connection:
    parameters = {**connections["owner"].get_connection_params(), "dbname": database}
    parameters = {key: parameters[key] for key in ("host", "port", "user", "password", "dbname") if key in parameters}
    return psycopg.connect(**parameters, autocommit=True)


@pytest.mark.django_db
def test_databases_prepared_at_once_end_with_one_role() -> None:
    name = f"made_by_test_{uuid.uuid4().hex}"
    role = sql.Identifier(name)
    own = connections["owner"].settings_dict["NAME"]
    barrier = Barrier(TOGETHER)

    def prepare(place: int) -> None:
        with _connect("postgres" if place % 2 else own) as connection:

            def change() -> None:
                with connection.transaction():
                    if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).fetchall():
                        connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(role))
                    connection.execute(sql.SQL("ALTER ROLE {} SET jit = off").format(role))
                    connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))

            barrier.wait()
            server_roles.retried(change)

    try:
        with ThreadPoolExecutor(TOGETHER) as pool:
            list(pool.map(prepare, range(TOGETHER)))
        with _connect(own) as connection:
            counted = connection.execute("SELECT count(*) FROM pg_roles WHERE rolname = %s", [name]).fetchone()
        assert counted == (1,)
    finally:
        with _connect(own) as connection:
            connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(role))


def test_what_never_succeeds_is_raised() -> None:
    tries = []

    def change() -> None:
        tries.append(1)
        raise errors.DuplicateObject("there already")

    with pytest.raises(errors.DuplicateObject):
        server_roles.retried(change)
    assert len(tries) == server_roles.ATTEMPTS


def test_another_failure_is_raised_at_once() -> None:
    tries = []

    def change() -> None:
        tries.append(1)
        raise errors.InsufficientPrivilege("not yours")

    with pytest.raises(errors.InsufficientPrivilege):
        server_roles.retried(change)
    assert len(tries) == 1
