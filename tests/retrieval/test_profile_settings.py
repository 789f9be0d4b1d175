from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.errors import DomainError
from retrieval.profiles import profile_settings
from retrieval.profiles.shipped import CONTEXT, SEARCH, Weights


def _refused(name: str, settings: dict[str, object]) -> tuple[str, str | None]:
    with pytest.raises(DomainError) as refused:
        profile_settings.check(name, settings)
    return refused.value.code, refused.value.field


@pytest.mark.parametrize(
    ("name", "changes", "code", "field"),
    [
        ("nonsense", {}, "unknown_profile", "profile"),
        ("minimal", {"deadline_ms": 200}, "invalid_profile", "deadline_ms"),
        ("context", {"rerank_head": 3}, "invalid_profile", "rerank_head"),
        ("balanced", {"top": 3}, "invalid_profile", "top"),
        ("context", {"top": 0}, "invalid_profile", "top"),
        ("context", {"top": 129}, "invalid_profile", "top"),
        ("context", {"top": 12.5}, "invalid_profile", "top"),
        ("context", {"top": True}, "invalid_profile", "top"),
        ("context", {"top": "64"}, "invalid_profile", "top"),
        ("context", {"fact_share": 1.01}, "invalid_profile", "fact_share"),
        ("context", {"fact_share": math.nan}, "invalid_profile", "fact_share"),
        ("context", {"max_distance": math.inf}, "invalid_profile", "max_distance"),
        ("context", {"deadline_ms": -math.inf}, "invalid_profile", "deadline_ms"),
        ("context", {"top": 10**40}, "invalid_profile", "top"),
        ("context", {"top": -(10**400)}, "invalid_profile", "top"),
        ("context", {"max_distance": 10**400}, "invalid_profile", "max_distance"),
        ("balanced", {"weights.semantic": 10**400}, "invalid_profile", "weights.semantic"),
        ("balanced", {"weights.semantic": -0.1}, "invalid_profile", "weights.semantic"),
        ("balanced", {"rrf_k": 0}, "invalid_profile", "rrf_k"),
        ("fast", {"weights.semantic": 0, "weights.salience_recency": 0}, "invalid_profile", "weights"),
        ("context", {"weights.vector": 0, "weights.text": 0, "weights.recency": 0}, "invalid_profile", "weights"),
    ],
)
def test_what_is_out_of_bounds_is_refused(name: str, changes: dict[str, object], code: str, field: str) -> None:
    assert _refused(name, changes) == (code, field)


def test_only_what_differs_is_kept() -> None:
    given_ = {"weights.text": CONTEXT.weights.text, "top": 64.0, "passages": 4, "weights.vector": 1}
    assert profile_settings.check("context", given_) == {"weights.vector": 1.0, "passages": 4}


def test_a_context_profile_with_settings() -> None:
    profile = profile_settings.applied("context", {"weights.text": 1, "passages": 0, "deadline_ms": 120}, version=3)
    assert profile.weights == Weights(vector=CONTEXT.weights.vector, text=1.0, recency=CONTEXT.weights.recency)
    assert (profile.passages, profile.deadline_ms, profile.top) == (0, 120, CONTEXT.top)
    label = profile_settings.label({"weights.text": 1.0, "passages": 0, "deadline_ms": 120}, 3)
    assert label.startswith("3-")
    assert len(label) == 10
    assert profile.label == f"context-{CONTEXT.version}-{label}"


def test_a_strategy_without_weight_is_not_run_and_one_with_weight_is() -> None:
    profile = profile_settings.applied("fast", {"weights.salience_recency": 0, "weights.lexical": 2}, version=1)
    assert profile.weights == {"semantic": SEARCH["fast"].weights["semantic"], "lexical": 2.0}
    assert list(profile.weights) == ["semantic", "lexical"]


def test_the_label_depends_on_the_settings_and_not_on_their_order() -> None:
    first = profile_settings.label({"top": 5, "passages": 2}, 1)
    assert first == profile_settings.label({"passages": 2, "top": 5}, 1)
    assert first != profile_settings.label({"passages": 3, "top": 5}, 1)


@given(
    st.dictionaries(
        st.sampled_from(sorted(profile_settings.SEARCH_SETTINGS)), st.floats(allow_nan=True) | st.integers()
    )
)
def test_whatever_is_accepted_makes_a_profile_that_runs_something(changes: dict[str, float]) -> None:
    try:
        profile = profile_settings.applied("thorough", changes, version=1)
    except DomainError:
        return
    assert sum(profile.weights.values()) > 0
    assert all(weight > 0 for weight in profile.weights.values())
    assert profile.rrf_k > 0
