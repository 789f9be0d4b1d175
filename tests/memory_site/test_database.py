"""The two ways into the database, and what the restricted one may not do."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.utils import ProgrammingError

from memory_site.database import aliases, preparation


class FakeServer:
    """Stands for a server's answers: its version number, its version, and the pgvector it offers."""

    def __init__(self, *, number: int, version: str, pgvector: str | None) -> None:
        self.answers = [(number // 10000, version), (pgvector,) if pgvector else None]

    def cursor(self) -> FakeServer:
        return self

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def execute(self, statement: str) -> None:
        return None

    def fetchone(self) -> tuple[object, ...] | None:
        return self.answers.pop(0)


def build(**changes: object) -> dict[str, dict[str, object]]:
    return aliases.build(
        **{"owner_url": "", "app_url": "", "test_name": "test_x", "pool": False, "search_threads": 8, **changes}
    )


def test_without_urls_both_use_the_embedded_server_under_their_own_role() -> None:
    made = build()
    assert {name: (alias["ENGINE"], alias["USER"]) for name, alias in made.items()} == {
        "default": ("memory_site.database", "memory_app"),
        "owner": ("memory_site.database", "postgres"),
    }
    assert made["default"]["TEST"] == {"MIRROR": "owner"}
    assert made["owner"]["TEST"]["NAME"] == "test_x"


def test_with_one_url_the_owner_assumes_the_restricted_role() -> None:
    made = build(owner_url="postgresql://own%40er:s%2Fecret@db.example:5433/memory?sslmode=require")
    assert made["default"]["OPTIONS"] == {
        "sslmode": "require",
        "options": "-c jit=off -c max_parallel_workers_per_gather=0 -c role=memory_app",
    }
    assert made["owner"]["OPTIONS"] == {"sslmode": "require"}
    for alias in made.values():
        assert (alias["USER"], alias["PASSWORD"]) == ("own@er", "s/ecret")
        assert (alias["HOST"], alias["PORT"], alias["NAME"]) == ("db.example", "5433", "memory")


def test_with_two_urls_the_restricted_role_logs_in() -> None:
    made = build(owner_url="postgresql://owner@db/memory", app_url="postgresql://memory_app@db/memory")
    assert made["default"]["USER"] == "memory_app"
    assert "role" not in made["default"]["OPTIONS"]["options"]


def test_only_a_pool_keeps_no_lasting_connections() -> None:
    assert build()["default"]["CONN_MAX_AGE"] == 60
    pooled = build(pool=True)["default"]
    assert pooled["CONN_MAX_AGE"] == 0
    assert pooled["OPTIONS"]["pool"] == {"min_size": 1, "max_size": 16, "timeout": 10}
    assert "pool" not in build(pool=True)["owner"]["OPTIONS"]


@pytest.mark.parametrize("url", ["mysql://a@b/c", "postgresql://a@b", "memory"])
def test_refuses_what_is_no_postgresql_url(url: str) -> None:
    with pytest.raises(ValueError, match="looks like postgresql://"):
        build(owner_url=url)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (
            FakeServer(number=150008, version="15.8", pgvector="0.8.0"),
            "PostgreSQL 16 or newer is needed; this server is 15.8.",
        ),
        (
            FakeServer(number=170002, version="17.2", pgvector=None),
            "pgvector 0.8 or newer is needed; this server does not have pgvector.",
        ),
        (
            FakeServer(number=170002, version="17.2", pgvector="0.7.4"),
            "pgvector 0.8 or newer is needed; this server has 0.7.4.",
        ),
    ],
)
def test_says_what_a_server_lacks(server: FakeServer, message: str) -> None:
    with pytest.raises(preparation.UnsuitableServer) as raised:
        preparation.check_server(server)
    assert str(raised.value) == message


def test_accepts_the_oldest_suitable_server() -> None:
    preparation.check_server(FakeServer(number=160000, version="16.0", pgvector="0.8.0"))


@pytest.mark.django_db
def test_the_application_is_neither_owner_nor_able_to_pass_by_the_rules() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole,"
            " (SELECT count(*) FROM pg_auth_members WHERE member = r.oid),"
            " (SELECT count(*) FROM pg_class WHERE relowner = r.oid)"
            " FROM pg_roles r WHERE rolname = current_user"
        )
        assert cursor.fetchone() == ("memory_app", False, False, False, False, 0, 0)
        cursor.execute("SELECT current_setting('max_parallel_workers_per_gather'), current_setting('jit')")
        assert cursor.fetchone() == ("0", "off")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE mine (id int)", "ALTER TABLE django_session ADD mine int", "SET session_replication_role = replica"],
)
def test_the_application_cannot_change_the_schema_or_switch_triggers_off(statement: str) -> None:
    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db(databases=["default", "owner"])
def test_preparing_again_changes_nothing_and_new_tables_are_granted() -> None:
    owner = connections["owner"]
    for _ in range(2):
        preparation.prepare(owner, may_login=True)
        preparation.grant(owner)
    with owner.cursor() as cursor:
        cursor.execute("CREATE TABLE later (id int)")
        cursor.execute("SELECT has_table_privilege('memory_app', 'later', 'INSERT')")
        assert cursor.fetchone() == (True,)


@pytest.mark.django_db
def test_only_the_owner_migrates() -> None:
    with pytest.raises(CommandError, match="Only the owner migrates"):
        call_command("migrate", database="default")
