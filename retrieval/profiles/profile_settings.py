"""What an override may change about a profile: each setting with its bounds, and a profile with its settings applied.

Settings are kept flat, a number for each key, such as ``{"weights.text": 0.6, "deadline_ms": 200}``; what is not named
stays as built in. Weights are no part of the API's contract.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from facts.errors import DomainError
from retrieval.fusion import Weights
from retrieval.models.profiles import ProfileName
from retrieval.profiles.shipped import CONTEXT, SEARCH, ContextProfile, SearchProfile

#: Every strategy, in the order of reports.
STRATEGIES = tuple(SEARCH[ProfileName.THOROUGH].weights)
#: Greatest weight. Only proportions count, so that it is no restriction.
MOST_WEIGHT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One number that may be overridden, from ``least`` to ``most``; ``whole`` when it has no fraction."""

    key: str
    label: str
    least: float
    most: float
    whole: bool
    help: str

    def check(self, value: Any) -> float | int:
        """Return the number as it is kept; raises ``DomainError`` (``invalid_profile``) for anything else."""
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise self._refusal("is no number")
        # Before anything else is done with it: Python has whole numbers that no float can hold.
        if not self.least <= value <= self.most:
            raise self._refusal(f"goes from {self.least:g} to {self.most:g}")
        if self.whole and value != int(value):
            raise self._refusal("has no fraction")
        return int(value) if self.whole else float(value)

    def _refusal(self, why: str) -> DomainError:
        return DomainError(f"{self.label} {why}.", code="invalid_profile", field=self.key)


def _weight(name: str, help_text: str) -> Setting:
    label = f"Weight of {name.replace('_', ' ')}"
    return Setting(key=f"weights.{name}", label=label, least=0, most=MOST_WEIGHT, whole=False, help=help_text)


def _whole(key: str, label: str, least: int, most: int, help_text: str) -> Setting:
    return Setting(key=key, label=label, least=least, most=most, whole=True, help=help_text)


def _decimal(key: str, label: str, least: float, most: float, help_text: str) -> Setting:
    return Setting(key=key, label=label, least=least, most=most, whole=False, help=help_text)


def _by_key(*settings: Setting) -> Mapping[str, Setting]:
    return MappingProxyType({setting.key: setting for setting in settings})


#: The union of two lists of ``top`` rows is what is scored, 256 at the most.
CONTEXT_SETTINGS = _by_key(
    _weight("vector", "What closeness in meaning counts. Only the proportions between the three weights matter."),
    _weight("text", "What shared words count."),
    _weight("recency", "What being recent counts; it falls to a third within 30 days."),
    _whole("top", "Candidates", 1, 128, "Best rows of the meaning search and of the word search that are scored."),
    _whole("near_misses", "Near misses", 0, 64, "Further rows that only the trace names."),
    _decimal("fact_share", "Share of facts", 0, 1, "Part of the budget that facts may use before passages."),
    _whole("passages", "Passages", 0, 128, "Greatest number of passages in a packet."),
    _whole("entity_facts", "Facts for a name", 0, 20, "Facts added for each name that occurs in what is served."),
    _decimal("max_distance", "Recall gate", 0, 2, "Cosine distance beyond which nothing is served; 0: no gate."),
    _decimal("score_share", "Share of the best", 0, 1, "With the gate on: least part of the best row's closeness."),
    _whole("deadline_ms", "Deadline, ms", 50, 10_000, "Milliseconds that one search may take before it is dropped."),
)

SEARCH_SETTINGS = _by_key(
    _weight("semantic", "Closeness in meaning. A strategy with the weight 0 is not run."),
    _weight("lexical", "Shared words."),
    _weight("temporal", "Closeness to the instant that is asked about."),
    _weight("entity_match", "Naming the same people, things and places."),
    _weight("salience_recency", "Confident, corroborated and recent; only where nothing is asked."),
    _weight("relation_expand", "Related to what the other strategies found."),
    _whole("rerank_head", "Reranked", 0, 100, "Best results that a reranker puts into a better order; 0: none."),
    _whole("deadline_ms", "Deadline, ms", 50, 10_000, "Milliseconds that the whole search may take."),
    _whole("rrf_k", "Rank constant", 1, 1_000, "The smaller, the more the first ranks of a list count."),
)


def settings_of(name: str) -> Mapping[str, Setting]:
    """Return what may be overridden of the profile ``name``: nothing of ``minimal``.

    Raises ``DomainError`` (``unknown_profile``).
    """
    if name not in ProfileName.values:
        raise unknown_profile()
    if name == ProfileName.MINIMAL:
        return MappingProxyType({})
    return CONTEXT_SETTINGS if name == ProfileName.CONTEXT else SEARCH_SETTINGS


def unknown_profile() -> DomainError:
    """Return the error for a name that no profile has."""
    return DomainError("There is no such profile.", code="unknown_profile", field="profile")


def built_in(name: str) -> Mapping[str, float | int | None]:
    """Return the built-in value of each setting; ``None`` is what the operator's settings decide.

    A strategy that the profile does not run has the weight 0.
    """
    known = settings_of(name)
    profile = CONTEXT if name == ProfileName.CONTEXT else SEARCH[name]
    return {key: _value(profile, key) for key in known}


def check(name: str, settings: Mapping[str, Any]) -> dict[str, float | int]:
    """Return the settings of an override as they are kept: numbers within bounds that differ from what is built in.

    Raises ``DomainError``: ``invalid_profile`` for an unknown setting, a value out of bounds, or weights that are all
    zero; ``unknown_profile``.
    """
    known = settings_of(name)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise DomainError("The profile has no such setting.", code="invalid_profile", field=unknown[0])
    checked = {key: known[key].check(settings[key]) for key in known if key in settings}
    values = built_in(name) | checked
    weights = [values[key] for key in known if key.startswith("weights.")]
    if weights and not any(weights):
        raise DomainError("At least one weight is greater than 0.", code="invalid_profile", field="weights")
    return {key: value for key, value in checked.items() if value != built_in(name)[key]}


def applied(name: str, settings: Mapping[str, Any], *, version: int) -> ContextProfile | SearchProfile:
    """Return the profile ``name`` with ``settings`` applied, labelled with the override's ``version``.

    Strategies without weight are left out. Raises ``DomainError`` as :func:`check`.
    """
    checked = check(name, settings)
    values = built_in(name) | checked
    weights = {
        key.removeprefix("weights."): float(value) for key, value in values.items() if key.startswith("weights.")
    }
    plain = {key: value for key, value in checked.items() if not key.startswith("weights.")}
    if name == ProfileName.CONTEXT:
        return replace(CONTEXT, weights=Weights(**weights), override=label(checked, version), **plain)
    run = {strategy: weight for strategy, weight in weights.items() if weight > 0}
    return replace(SEARCH[name], weights=run, override=label(checked, version), **plain)


def label(settings: Mapping[str, float | int], version: int) -> str:
    """Return how an override is named behind its profile's version, such as ``3-1f0c9a2e``.

    The digest is of the settings, so that equal labels mean equal settings, whichever scope they belong to.
    """
    written = json.dumps(dict(settings), sort_keys=True, separators=(",", ":"))
    return f"{version}-{hashlib.sha256(written.encode()).hexdigest()[:8]}"


def reference_table(name: str) -> str:
    """Return the settings of a profile as a Markdown table for the documentation."""
    lines = ["| Setting | Built in | From | To | What for |", "|---|---|---|---|---|"]
    for (key, setting), value in zip(settings_of(name).items(), built_in(name).values(), strict=True):
        shown = "operator's" if value is None else f"{value:g}"
        lines.append(f"| `{key}` | {shown} | {setting.least:g} | {setting.most:g} | {setting.help} |")
    return "\n".join(lines) + "\n"


def _value(profile: ContextProfile | SearchProfile, key: str) -> float | int | None:
    if not key.startswith("weights."):
        return getattr(profile, key)
    name = key.removeprefix("weights.")
    if isinstance(profile.weights, Weights):
        return getattr(profile.weights, name)
    return profile.weights.get(name, 0.0)
