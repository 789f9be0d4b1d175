"""`run`: everything that is needed to use the product on this machine, until Ctrl-C."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from memory_site import first_run, processes, runner, schedules
from memory_site.database import base as embedded
from memory_site.database import preparation
from memory_site.embedded_postgres import ServerError

WEB_PATIENCE = 60.0  # seconds for the web server to answer its first request
LOOK = 0.1  # seconds between looks


class Stopped(Exception):
    """The operator stopped the program before it was up."""


class Command(BaseCommand):
    """Starts database, web server and worker, says how to reach them, and stops them together."""

    help = "Run database, web server and worker together."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until SIGTERM or Ctrl-C."""
        self.began = time.monotonic()
        self.stopping = processes.stop_requested()
        self.address = f"http://{settings.MEMORY_HOST}:{settings.PORT}"
        try:
            with runner.only_one(settings.VAR_DIR, address=self.address):
                listening = runner.claim_port(settings.MEMORY_HOST, settings.PORT)
                self._run(runner.children(listening))
        except Stopped:
            pass
        except (runner.CannotRun, processes.TooManyFailures, preparation.UnsuitableServer, ServerError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("Stopped.")

    def _run(self, group: list[processes.Child]) -> None:
        """Prepare the database, start the children, greet, and supervise."""
        try:
            self._prepare_database()
            password = first_run.create_admin()
            schedules.sync()
            self._go_on_unless_stopped()
            for child in group:
                child.start()
            key_file = settings.VAR_DIR / "demo_key"
            first_run.load_demo(key_file)
            key = first_run.demo_key(key_file)
            self._wait_for_web(group[0])
            self._greet(password=password, key=key)
            runner.supervise(group, is_stopping=self.stopping.wait, keep_up=self._keep_database_up)
        finally:
            runner.stop(group)
            connections.close_all()

    def _prepare_database(self) -> None:
        """Bring the database up to date; a server that is not ours is checked at every start."""
        owner = connections["owner"]
        if settings.USES_EMBEDDED_POSTGRES:
            preparation.create_database(owner)
        preparation.check_server(owner)
        executor = MigrationExecutor(owner)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            self.stdout.write("Preparing the database ...")
            call_command("migrate", verbosity=0, interactive=False)

    def _keep_database_up(self) -> None:
        """Start the embedded server again if it went away."""
        if settings.USES_EMBEDDED_POSTGRES and not embedded.server().is_listening():
            embedded.server().ensure()

    def _wait_for_web(self, web: processes.Child) -> None:
        """Wait for the first page; raise `CannotRun` when none comes."""
        deadline = time.monotonic() + WEB_PATIENCE
        while time.monotonic() < deadline and not web.has_ended():
            status = runner.page_status("/health")
            if status == HTTPStatus.OK:
                return
            if status is not None:
                raise runner.CannotRun(f"The web server answers {status}; the log says why.")
            self._go_on_unless_stopped(after=LOOK)
        raise runner.CannotRun("The web server did not start; the messages above say why.")

    def _go_on_unless_stopped(self, *, after: float = 0.0) -> None:
        """Raise `Stopped` when the operator asked for it, within `after` seconds."""
        if self.stopping.wait(after):
            raise Stopped

    def _greet(self, *, password: str | None, key: str) -> None:
        """Say how to use what is running."""
        seconds = time.monotonic() - self.began
        if password:
            login = f"{first_run.ADMIN} / {password}   (shown this once)"
        else:
            login = f"{first_run.ADMIN}; forgotten? .venv/bin/python manage.py changepassword {first_run.ADMIN}"
        self.stdout.write(
            f"""
Running at {self.address} after {seconds:.1f} s. Ctrl-C stops it.

  Admin    {self.address}/admin/
  Login    {login}
  Key      {key}   (account "demo"; kept in {settings.VAR_DIR / "demo_key"})

  curl -s {self.address}/v1/context \\
       -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\
       -d '{{"scope": "/slack/product", "subject_id": "ken", "query": "How can Ken be reached?"}}'
"""
        )
