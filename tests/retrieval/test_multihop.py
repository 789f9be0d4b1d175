from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.context.multihop import entities


@pytest.mark.parametrize(
    ("texts", "query", "expected"),
    [
        ([], "", []),
        (["Ana works with Bruno.", "Bruno leads Atlas."], "Where does Ana work?", ["Bruno", "Atlas"]),
        (["Ana works with Bruno.", "Ana leads Atlas, Bruno too.", "Atlas is late."], "", ["Ana", "Atlas"]),
        (["The team is late. However it ships. Les autres attendent."], "", []),
        (["Élodie déménage"], "", ["Elodie"]),
        (["Élodie déménage"], "que fait elodie", []),
        (["Al and Bo and Cleo"], "", ["Cleo"]),
        (["R2D2 and COBOL"], "", ["COBOL"]),
        (["He likes Zed, Yan, Xio"], "", ["Xio", "Yan"]),
    ],
)
def test_entities(texts: list[str], query: str, expected: list[str]) -> None:
    assert entities(texts, query=query) == expected


@given(st.lists(st.text()), st.text())
def test_entities_are_few_and_not_in_the_query(texts: list[str], query: str) -> None:
    found = entities(texts, query=query)
    assert len(found) <= 2
    assert entities(texts, query=" ".join([query, *found])) != found or not found
