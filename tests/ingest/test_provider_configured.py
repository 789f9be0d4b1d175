"""The extractors that the settings ask for."""

from __future__ import annotations

from typing import Any

import pytest

from ingest import reading
from ingest.extraction import get_extractor
from ingest.extraction.providers import configured
from ingest.extraction.providers.openai_client import COMPATIBLE_WAYS, OPENAI_WAYS


def test_the_local_rules_are_the_default(settings: Any) -> None:
    settings.ANTHROPIC_API_KEY = settings.OPENAI_API_KEY = "k"
    settings.EXTRACTION_PROVIDER = "rules"
    assert reading.configured_extractor().identity.provider == "rules"


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-haiku-4-5"), ("openai", "gpt-5.4-mini")])
def test_a_provider_is_asked_for_by_name(settings: Any, provider: str, model: str) -> None:
    settings.EXTRACTION_PROVIDER = provider
    settings.ANTHROPIC_MODEL = settings.OPENAI_MODEL = model
    identity = reading.configured_extractor().identity
    assert (identity.provider, identity.model) == (provider, model)


def test_a_client_is_shared_within_a_process_and_never_across_a_fork(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = get_extractor("anthropic").client
    assert get_extractor("anthropic").client is first
    monkeypatch.setattr(configured.os, "getpid", lambda: -1)
    assert get_extractor("anthropic").client is not first
    settings.ANTHROPIC_API_KEY = "another"
    monkeypatch.undo()
    assert get_extractor("anthropic").client is not first


def test_a_server_of_ones_own_is_asked_by_chat_and_has_no_list_price(settings: Any) -> None:
    settings.OPENAI_BASE_URL = ""
    own = configured.openai().client
    assert (own._ways, own.list_prices, own.address) == (OPENAI_WAYS, True, "https://api.openai.com/v1")
    settings.OPENAI_BASE_URL = "http://127.0.0.1:1/v1"
    other = configured.openai().client
    assert (other._ways, other.list_prices, other.address) == (COMPATIBLE_WAYS, False, "http://127.0.0.1:1/v1")
