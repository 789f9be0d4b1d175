"""The two ways into the one database.

`owner` migrates and owns the tables. `default` is what web, worker and tests use: the restricted role
`memory_app`, which row-level security binds. It is a mirror of `owner` in tests, so that the test database is
created and migrated by the owner and used by the restricted role.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from memory_site.embedded_postgres import PORT, SUPERUSER

APP_ROLE = "memory_app"
DATABASE_NAME = "memory"
CONNECTION_AGE = 60  # seconds
WEB_THREADS = 4  # per web process; each holds a connection while it answers
SPARE_CONNECTIONS = 4  # for what else a web process does beside its requests
POOL_TIMEOUT = 10  # seconds

PREPARED_AFTER = 2  # uses of a statement on one connection

# `jit` and parallel workers cost more than they save for queries of milliseconds.
SESSION = "-c jit=off -c max_parallel_workers_per_gather=0"


def build(
    *, owner_url: str, app_url: str, test_name: str, pool: bool, search_threads: int, prepares: bool = False
) -> dict[str, dict[str, Any]]:
    """Return Django's `DATABASES`.

    Without `owner_url` both aliases use the embedded server. Without `app_url` the application logs in as the
    owner and assumes the restricted role. `pool` is for web processes only: a pool does not survive the
    worker's forks. It has room for every request thread and for each of the `search_threads`, so that none of them
    waits for a connection. `prepares` lets the application's sessions keep the plans of statements that the server
    binds, which are those of `facts.statements`: Django's own are bound by the client. Raises `ValueError` when a URL
    is not a PostgreSQL URL.
    """
    if not owner_url:
        owner = {
            "ENGINE": "memory_site.database",
            "NAME": DATABASE_NAME,
            "USER": SUPERUSER,
            "PORT": str(PORT),
        }
        default = {**owner, "USER": APP_ROLE}
        role = None
    else:
        owner = parse(owner_url)
        default = parse(app_url) if app_url else dict(owner)
        role = None if app_url else APP_ROLE
    lasting = {"CONN_HEALTH_CHECKS": True, "CONN_MAX_AGE": 0 if pool else CONNECTION_AGE}
    owner_options = owner.pop("OPTIONS", {})
    # Not Django's `assume_role`: it waits for a connection of the pool while it makes one. A role set at the start
    # of the session is also what `RESET ROLE` returns to.
    options = default.pop("OPTIONS", {})
    session = [options.get("options", ""), SESSION, f"-c role={role}" if role else ""]
    options = {**options, "options": " ".join(filter(None, session))}
    if pool:
        most = WEB_THREADS + SPARE_CONNECTIONS + search_threads
        options["pool"] = {"min_size": 1, "max_size": most, "timeout": POOL_TIMEOUT}
    if prepares:
        options["prepare_threshold"] = PREPARED_AFTER
    # Django would make every alias wait for `default`, which here mirrors the one that waits.
    owner_test = {"NAME": test_name, "DEPENDENCIES": []}
    return {
        "default": {**default, **lasting, "OPTIONS": options, "TEST": {"MIRROR": "owner"}},
        "owner": {**owner, "CONN_MAX_AGE": 0, "OPTIONS": owner_options, "TEST": owner_test},
    }


def parse(url: str) -> dict[str, Any]:
    """Return Django's settings for a `postgresql://` URL; its query string becomes connection options."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ValueError("a database URL looks like postgresql://user:password@host:5432/name")
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or options.pop("host", "")),
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }
