"""What tests of the index of names look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from facts.models import Account
from retrieval.entities import rebuilding
from retrieval.models import EntityAlias, Mention


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    rebuilding.forget()
    yield
    rebuilding.forget()


def entities(account: Account) -> list[list[str]]:
    """Return the folded names of each entity of the account."""
    found = defaultdict(list)
    for alias in EntityAlias.objects.filter(account=account).order_by("folded"):
        found[alias.entity_id].append(alias.folded)
    return sorted(found.values())


def mentions(account: Account) -> list[tuple[str, str, str, float]]:
    """Return each mention as (statement, folded name, surface, confidence), in one order."""
    rows = Mention.objects.filter(account=account)
    return sorted(rows.values_list("fact__statement", "alias__folded", "surface", "confidence"))
