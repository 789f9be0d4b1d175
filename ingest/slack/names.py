"""Who and what the identifiers in Slack's messages mean. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names to read instead of identifiers: people (with bots) and channels, by identifier."""

    people: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)

    def person(self, identifier: str, label: str = "") -> str:
        """Return the name of a person; unknown ones keep the label that the message gives, else their identifier."""
        return self.people.get(identifier) or label.lstrip("@") or identifier

    def channel(self, identifier: str, label: str = "") -> str:
        """Return the name of a channel, as :meth:`person` does."""
        return self.channels.get(identifier) or label.lstrip("#") or identifier
