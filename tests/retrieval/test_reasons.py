from __future__ import annotations

from retrieval.traces.reasons import MEANING, Action, Reason, reference_table


def test_every_reason_has_an_action_and_a_sentence() -> None:
    assert set(MEANING) == set(Reason)
    for action, sentence in MEANING.values():
        assert action in Action
        assert sentence.endswith(".")


def test_reference_table_has_a_row_for_each_reason() -> None:
    rows = reference_table().splitlines()
    assert len(rows) == 2 + len(Reason)
    assert rows[2] == "| `top_score` | included | Its score was among the best and it fitted the budget. |"
