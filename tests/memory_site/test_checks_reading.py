"""What is reported of settings of reading before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from memory_site import checks
from memory_site.database import aliases


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("semantic", "lexical"), []),
        ((), []),
        (
            ("semantic", "vectors", "bm25"),
            [
                "SEARCH_STRATEGIES names bm25, vectors; there are semantic, lexical, temporal, entity_match, "
                "salience_recency, relation_expand."
            ],
        ),
    ],
)
def test_a_strategy_that_there_is_not_is_reported(names: tuple[str, ...], said: list[str]) -> None:
    with override_settings(SEARCH_STRATEGIES=names):
        assert [found.msg for found in checks.check_strategies()] == said


def test_a_strategy_that_there_is_not_stops_every_process(settings: Any) -> None:
    settings.SEARCH_STRATEGIES = ("lexical", "guessing")
    with pytest.raises(ImproperlyConfigured, match="guessing"):
        checks.refuse_errors(worker=False)


def test_fewer_than_no_threads_stop_every_process(settings: Any) -> None:
    settings.SEARCH_THREADS = -1
    assert [found.id for found in checks.check_search_threads()] == ["memory_site.E011"]
    with pytest.raises(ImproperlyConfigured, match="SEARCH_THREADS"):
        checks.refuse_errors(worker=False)


@pytest.mark.parametrize("threads", [0, 8, 40])
def test_the_pool_has_room_for_every_request_and_every_strategy(
    settings: Any, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    settings.SEARCH_THREADS = threads
    made = aliases.build(owner_url="", app_url="", test_name="test", pool=True, search_threads=threads)
    options = settings.DATABASES["default"]["OPTIONS"]
    monkeypatch.setitem(options, "pool", made["default"]["OPTIONS"]["pool"])
    assert checks.check_search_threads() == []
    monkeypatch.setitem(options, "pool", {"max_size": aliases.WEB_THREADS + threads - 1})
    assert [found.id for found in checks.check_search_threads()] == ["memory_site.E012"]
