from __future__ import annotations

import ast
from pathlib import Path

from django.conf import settings

from facts.models.conflicts import SuppressionCause
from ingest import reasons
from ingest.extraction import checks


def stated_reasons(module: str) -> set[str]:
    """Return the texts a module passes as ``reason=``."""
    tree = ast.parse((Path(settings.BASE_DIR) / module).read_text())
    return {
        text.value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "reason"
        for text in ast.walk(keyword.value)
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value.isidentifier()
    }


def test_whatever_the_planner_says_is_explained() -> None:
    planned = stated_reasons("facts/consolidation.py")
    assert {"new", "update_marker", "different_value"} <= planned
    assert planned - {"suppressed_"} <= set(reasons.PLACEMENT_REASONS)


def test_every_cause_of_suppression_is_explained() -> None:
    assert {f"suppressed_{cause}" for cause in SuppressionCause.values} <= set(reasons.PLACEMENT_REASONS)


def test_every_check_is_explained() -> None:
    assert set(checks.REASONS) <= set(reasons.REASONS)


def test_codes_are_told_apart() -> None:
    tables = (checks.REASONS, reasons.EVENT_REASONS, reasons.PLACEMENT_REASONS)
    assert len(reasons.REASONS) == sum(len(table) for table in tables)


def test_an_explanation_is_a_sentence() -> None:
    assert reasons.explain("question") == "The evidence is a question."
    assert reasons.explain("") == ""
    assert all(sentence.endswith(".") for sentence in reasons.REASONS.values())


def test_the_documentation_lists_every_code() -> None:
    page = reasons.as_markdown()
    assert all(f"| `{code}` | {sentence} |" in page for code, sentence in reasons.REASONS.items())
