"""Facts in words: claims, validity, trust, and what a revision changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime

from facts.lifecycle import MUTABLE
from facts.models import Fact, FactRevision
from memory_site.admin_pages.texts import Part, differences

#: Fields of a revision that say nothing to people: digests and references.
_UNSHOWN = {"identity_key", "scope_id", "start_assumed"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line about a fact; ``differs`` when the facts beside it say something else."""

    label: str
    text: str
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One field that a revision changed."""

    label: str
    before: str
    after: str

    @property
    def words(self) -> list[list[Part]]:
        """Both in parts, the words that differ marked."""
        return differences([self.before, self.after])


def plain(value: object) -> str:
    """Return a claim's value or conditions as people write them: ``city: Paris, since: 2024``."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        if set(value) == {"value"}:
            return plain(value["value"])
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(plain(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def moment(value: datetime | None) -> str:
    """Return an instant as the pages show it: UTC, without the time at midnight."""
    if value is None:
        return ""
    value = localtime(value)
    return f"{value:%Y-%m-%d}" if (value.hour, value.minute) == (0, 0) else f"{value:%Y-%m-%d %H:%M}"


def instant(value: datetime | None) -> SafeString:
    """Return an instant as HTML: date and minute, UTC, readable by machines too."""
    if value is None:
        return mark_safe("–")
    value = localtime(value)
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), f"{value:%Y-%m-%d %H:%M}")


def date_only(value: datetime | None) -> SafeString:
    """Return an instant as lists of what waits show it: the day, with the minute for who points at it."""
    if value is None:
        return mark_safe("–")
    value = localtime(value)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', value.isoformat(), f"{value:%Y-%m-%d %H:%M}", f"{value:%Y-%m-%d}"
    )


def validity(start: datetime | None, end: datetime | None, *, assumed: bool = False) -> str:
    """Return a half-open interval in words."""
    since = f"from {moment(start)}{' (assumed)' if assumed else ''}" if start else "always"
    return f"{since} until {moment(end)}" if end else since


def words(code: str) -> str:
    """Return a code such as ``semi_trusted`` or ``gate.accepted`` as words."""
    return code.replace("_", " ").replace(".", " ")


def actor_name(actor: dict[str, Any] | None) -> str:
    """Return an author as lists show it."""
    if not actor:
        return "–"
    name, kind = actor.get("name", "?"), actor.get("kind", "?")
    return name if name == kind or kind == "person" else f"{name} ({kind})"


def claim(fact: Fact) -> list[tuple[str, str]]:
    """Return what a fact says and how far it is to be trusted, as label and text; the same labels for every fact."""
    return [
        ("Claim", f"{fact.predicate} = {plain(fact.value)}" if fact.predicate else "no structured claim"),
        ("Conditions", plain(fact.qualifiers) or "none"),
        ("Valid", validity(fact.valid_from, fact.valid_to, assumed=fact.start_assumed)),
        ("Evidence", f"{words(fact.evidence_level)}, {fact.corroboration} independent"),
        ("Confidence", f"{fact.confidence:.2f}"),
        ("Origin", words(fact.origin_trust)),
        ("Kind", f"{words(fact.category)}, {fact.form}"),
        ("Audience", f"{fact.level}, {fact.sensitivity}"),
        ("Status", words(fact.status)),
        ("Recorded", moment(fact.recorded_from)),
    ]


def claim_rows(facts: Sequence[Fact]) -> list[list[Row]]:
    """Return the lines of each fact, marking those in which they differ."""
    columns = [claim(fact) for fact in facts]
    if not columns:
        return []
    differs = [len({column[line][1] for column in columns}) > 1 for line in range(len(columns[0]))]
    return [
        [Row(label, text, different) for (label, text), different in zip(column, differs, strict=True)]
        for column in columns
    ]


def changes(before: FactRevision | None, after: FactRevision) -> list[Change]:
    """Return what a revision changed, in words; of the first revision, nothing."""
    if before is None:
        return []
    names = ["status", *(name for name in MUTABLE if name not in _UNSHOWN)]
    pairs = [(name, _shown(getattr(before, name)), _shown(getattr(after, name))) for name in names]
    return [Change(words(name), old or "–", new or "–") for name, old, new in pairs if old != new]


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return moment(value)
    return words(value) if isinstance(value, str) else plain(value)
