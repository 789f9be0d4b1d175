"""What people tell the bot to do, in a message that begins by naming it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Verb(StrEnum):
    """What the bot is told to do."""

    ON = "on"
    OFF = "off"
    FORGET = "forget"
    REMEMBER = "remember"
    REFUSE = "refuse"
    STATUS = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A verb; of :attr:`Verb.REFUSE` with the code of the question that is refused."""

    verb: Verb
    code: str = ""


#: Each way to say it; texts are compared without case, outer punctuation and doubled blanks.
_WAYS: dict[str, Verb] = {
    "on": Verb.ON,
    "listen": Verb.ON,
    "start listening": Verb.ON,
    "off": Verb.OFF,
    "stop listening": Verb.OFF,
    "forget me": Verb.FORGET,
    "stop remembering me": Verb.FORGET,
    "don't remember me": Verb.FORGET,
    "do not remember me": Verb.FORGET,
    "start remembering me": Verb.REMEMBER,
    "remember me": Verb.REMEMBER,
    "remember me again": Verb.REMEMBER,
    "status": Verb.STATUS,
    "help": Verb.STATUS,
    "oublie-moi": Verb.FORGET,
    "ne retiens plus rien de moi": Verb.FORGET,
    "souviens-toi de moi": Verb.REMEMBER,
}
_REFUSAL = re.compile(r"(?:no|non)\s+([a-z2-7]{8})")


def read(text: str, *, bot: str, direct: bool = False) -> Command | None:
    """Return what a message tells the bot with the user identifier ``bot`` to do; ``None`` where it is none.

    ``text`` is in Slack's escaped form. In a ``direct`` message the bot need not be named.
    """
    named = re.match(rf"\s*<@{re.escape(bot)}(?:\|[^<>]*)?>[\s,:]*", text) if bot else None
    if named is None and not direct:
        return None
    rest = text[named.end() if named else 0 :]
    said = " ".join(rest.replace("’", "'").split()).casefold().strip(" .!,:")
    if (refused := _REFUSAL.fullmatch(said)) is not None:
        return Command(verb=Verb.REFUSE, code=refused[1])
    return Command(verb=_WAYS[said]) if said in _WAYS else None
