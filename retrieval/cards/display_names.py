"""People by their names: identifiers of a platform in statements are replaced by what somebody is called here."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence

from facts.models import Identity
from retrieval.cards.sources import Source

#: The platform whose identifiers mean nothing to a reader; its members' are told by their first letter.
PLATFORM = "slack"
_MENTION = re.compile(
    r"<?@([UWB][A-Z0-9]{5,63})(?:\|[^<>]{0,200})?>?|(?<![\w@])([UWB](?=[A-Z]*\d)[A-Z0-9]{6,63})(?!\w)"
)


def named(account_id: uuid.UUID, sources: Iterable[Source]) -> list[Source]:
    """Return the sources with known identifiers in their statements replaced; unknown ones stay.

    Runs inside the account; one query, and none where nothing looks like an identifier.
    """
    listed = list(sources)
    names = _names(account_id, [source.statement for source in listed])
    if not names:
        return listed
    return [source._replace(statement=_replaced(source.statement, names)) for source in listed]


def _names(account_id: uuid.UUID, texts: Sequence[str]) -> dict[str, str]:
    mentioned = {first or second for text in texts for first, second in _MENTION.findall(text)}
    if not mentioned:
        return {}
    known = Identity.objects.filter(account_id=account_id, platform=PLATFORM, value__in=mentioned)
    return {identity.value: identity.subject.display_name for identity in known.select_related("subject")}


def _replaced(text: str, names: dict[str, str]) -> str:
    def name(match: re.Match[str]) -> str:
        return names.get(match.group(1) or match.group(2), match.group())

    return _MENTION.sub(name, text)
