"""What is said of settings under which no model could be asked, or no budget held."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from memory_site import checks


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, None),
        ({"EXTRACTION_PROVIDER": "rules", "ANTHROPIC_API_KEY": "k"}, None),
        ({"EXTRACTION_PROVIDER": "gemini"}, "memory_site.E007"),
        ({"EXTRACTION_PROVIDER": "anthropic"}, "memory_site.E008"),
        ({"EXTRACTION_PROVIDER": "anthropic", "OPENAI_API_KEY": "k"}, "memory_site.E008"),
        ({"EXTRACTION_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "k"}, None),
        ({"EXTRACTION_PROVIDER": "openai", "OPENAI_API_KEY": "k"}, None),
        ({"EXTRACTION_PROVIDER": "openai", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, None),
        ({"ANSWER_PROVIDER": "none", "ANTHROPIC_API_KEY": "k"}, None),
        ({"ANSWER_PROVIDER": "rules"}, "memory_site.E007"),
        ({"ANSWER_PROVIDER": "openai", "ANTHROPIC_API_KEY": "k"}, "memory_site.E008"),
        ({"ANSWER_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "k"}, None),
        (
            {
                "ANSWER_PROVIDER": "anthropic",
                "ANTHROPIC_API_KEY": "k",
                "ANSWER_MODEL": "claude-nobody-knows",
                "MODEL_BUDGET_USD": 1.0,
            },
            "memory_site.W001",
        ),
        ({"MODEL_PRICES": ("gpt=cheap",)}, "memory_site.E009"),
        (
            {
                "EXTRACTION_PROVIDER": "openai",
                "OPENAI_API_KEY": "k",
                "OPENAI_MODEL": "gpt-nobody-knows",
                "MODEL_BUDGET_USD": 1.0,
            },
            "memory_site.W001",
        ),
        (
            {
                "EXTRACTION_PROVIDER": "openai",
                "OPENAI_API_KEY": "k",
                "OPENAI_MODEL": "gpt-nobody-knows",
                "MODEL_BUDGET_USD": 1.0,
                "MODEL_PRICES": ("gpt-nobody-knows=1/2",),
            },
            None,
        ),
    ],
)
def test_settings_of_models(settings: Any, values: dict[str, Any], found: str | None) -> None:
    for name, value in {
        "EXTRACTION_PROVIDER": "rules",
        "ANSWER_PROVIDER": "none",
        "ANSWER_MODEL": "",
        "ANTHROPIC_API_KEY": "",
        "ANTHROPIC_BASE_URL": "",
        "OPENAI_API_KEY": "",
        "OPENAI_BASE_URL": "",
        "MODEL_BUDGET_USD": 0.0,
        "MODEL_PRICES": (),
        **values,
    }.items():
        setattr(settings, name, value)
    assert [message.id for message in checks.check_models()] == ([found] if found else [])


def test_an_error_stops_the_start_and_a_warning_does_not(settings: Any) -> None:
    settings.EXTRACTION_PROVIDER, settings.OPENAI_API_KEY = "openai", "k"
    settings.OPENAI_BASE_URL, settings.MODEL_BUDGET_USD = "http://127.0.0.1:1/v1", 1.0
    checks.refuse_errors(worker=False)
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    with pytest.raises(ImproperlyConfigured, match="needs OPENAI_API_KEY"):
        checks.refuse_errors(worker=False)
