from __future__ import annotations

import gc
import subprocess
import sys

from django.conf import settings

from memory_site import gunicorn_config


def test_what_is_loaded_before_the_fork_is_out_of_garbage_collection() -> None:
    gc.unfreeze()
    try:
        gunicorn_config.pre_fork(None, None)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_every_view_is_loaded_before_the_fork_and_no_connection_opened() -> None:
    look = (
        "import sys, memory_site.wsgi; from django.db import connections;"
        "print('memory_site.api.views' in sys.modules, 'memory_site.admin_pages.home' in sys.modules,"
        " any(one.connection for one in connections.all(initialized_only=True)))"
    )
    command = [sys.executable, "-c", look]
    told = subprocess.run(command, cwd=settings.BASE_DIR, check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["True", "True", "False"]
