"""Characters that people do not see and models read: one set for everything that removes or shows them.

They hide words from whoever reviews a text, split words that are looked for, or turn the direction of writing.
"""

from __future__ import annotations

import re

_RANGES = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_MORE_SELECTORS = r"(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
#: The joiners stay, which Persian, Indic scripts and emoji are written with; so does one selector of a variant after a
#: character, of which a whole row spells out hidden bytes.
UNSEEN = re.compile(f"[{_RANGES}]|{_MORE_SELECTORS}")
#: The same and what moves the rest of a line: control characters, and breaks of lines and paragraphs.
DECEIVING = re.compile(
    f"[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029{_RANGES}]|{_MORE_SELECTORS}",
)
_CONTROL = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff]")


def for_model(text: str) -> str:
    """Return ``text`` as a model gets it: nothing unseen in it, a space for each control character."""
    if text.isascii() and text.isprintable():
        return text
    return UNSEEN.sub("", _CONTROL.sub(" ", text))
