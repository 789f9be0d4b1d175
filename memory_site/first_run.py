"""What a new installation gets: somebody who can sign in, a demo account, and a key to try the API with."""

from __future__ import annotations

import io
import os
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model
from django.core.management import call_command

from facts.models import Account
from memory_site import demo

ADMIN = "admin"
PASSWORD_BYTES = 12  # 16 characters
DEMO_ACCOUNT = "demo"


def create_admin() -> str | None:
    """Create the first administrator and return the password, or `None` when there is an administrator."""
    users = get_user_model().objects
    if users.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    users.create_superuser(username=ADMIN, password=password)
    return password


def load_demo(key_file: Path) -> None:
    """Load the demo account where there is none; a key kept in `key_file` is another database's then, and goes."""
    if not Account.objects.filter(key=DEMO_ACCOUNT).exists():
        key_file.unlink(missing_ok=True)
        demo.load()


def demo_key(path: Path) -> str:
    """Return the API key of the demo account, kept in `path` for its owner's eyes; made when there is none."""
    if path.exists():
        return path.read_text().strip()
    output = io.StringIO()
    call_command("create_key", account=DEMO_ACCOUNT, label="make run", raw=True, stdout=output)
    key = output.getvalue().strip()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(key)
    return key
