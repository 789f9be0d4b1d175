from __future__ import annotations

import gc

from memory_site import gunicorn_config


def test_what_is_loaded_before_the_fork_is_out_of_garbage_collection() -> None:
    gc.unfreeze()
    try:
        gunicorn_config.pre_fork(None, None)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
