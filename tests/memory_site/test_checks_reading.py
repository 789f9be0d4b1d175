"""What is reported of settings of reading before anything runs."""

from __future__ import annotations

import pytest
from django.test import override_settings

from memory_site import checks


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
