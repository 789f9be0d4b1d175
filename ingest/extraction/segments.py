"""From raw text to short sentences that can serve as evidence.

What no person said as a plain sentence (code, quoted lines, logs, addresses, an assistant's turn,
recalled memory) is blanked out in place, so that every sentence keeps its offsets in the text.
All work is linear in the text and stops at the limits below; the rest is reported, not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Characters of one message that are read: about 3,000 words, far beyond any chat message.
MAX_CHARACTERS = 20_000
#: Sentences of one message that are read.
MAX_SENTENCES = 120
#: A longer stretch without an end of sentence is no sentence a rule could read safely.
MAX_SENTENCE_CHARACTERS = 400

_ALIKE = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "´": "'", "\u00a0": " ", "\u202f": " ", "\t": " ", "“": '"', "”": '"'}
)
_ADDRESS = re.compile(
    r"<?https?://[^\s<>|]{1,2000}(?:\|[^<>\n]{0,200})?>?|<mailto:[^>\s]{1,300}>|\bwww\.[^\s<>]{1,500}"
)
_INLINE_CODE = re.compile(r"`[^`\n]{1,300}`")
_SPOKEN_QUOTE = re.compile(r'"[^"\n]{1,300}"|«[^»\n]{1,300}»')
_LOG_LINE = re.compile(
    r"\s*(?:>|&gt;|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[\d\d:\d\d|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG"
    r"|FATAL|TRACE)\]?[ :]"
    r"|Traceback \(|File \"|at [\w$.]+\(|[{}\]]|\[[\"\d{\[]|<(?!@|https?:|mailto:)|\$ |#!"
    r"|[\w.-]+=\S+\s*$|[+-]{3} |@@ "
    r"|def \w+\(|class \w+[(:]|import [\w.]+\s*$|from [\w.]+ import )"
)
_ASSISTANT_LINE = re.compile(r"\s*(?:assistant|ai|bot|system|tool|chatgpt|claude)\s*:", re.IGNORECASE)
_PERSON_LINE = re.compile(r"\s*(?:user|human|me|utilisateur|client|customer)\s*:\s*", re.IGNORECASE)
_MEMORY_OPEN = re.compile(r"<(\w{0,30}memory\w{0,30})>", re.IGNORECASE)
#: Emoji end a sentence, as such and as the codes that chat platforms write for them.
_END = re.compile(
    r"(?:[.!?…]+[\"')\]]*(?=\s|$))|[\n;]|\s[—–]\s|\s-{1,2}\s|[\U0001F300-\U0001FAFF☀-➿]"
    r"|(?<![\w:]):(?:[a-z][a-z0-9_+'-]{1,50}|[+-]1|100):(?![\w:])"
)
#: Stands for each character of an address while sentences are found; blank afterwards.
_LINK = "\u2063"
_ABBREVIATION = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|vs|e\.g|i\.e|no|approx|env|m|mme)|\b[A-Z])\.$", re.IGNORECASE)
_NUMBERING = re.compile(r"\s*\d{1,2}\.$")
_BULLET = re.compile(r"\s*(?:[-*•·]+|\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: ``quote`` verbatim from the text, ``plain`` the same length with typography evened out.

    ``start`` is its offset in the text; ``asks`` tells that it ends with a question mark;
    ``link`` is the first address that stands in it, which ``plain`` shows as blanks.
    """

    quote: str
    plain: str
    start: int
    asks: bool
    link: str = ""

    @property
    def end(self) -> int:
        """Offset just behind the sentence."""
        return self.start + len(self.quote)


@dataclass(frozen=True, slots=True)
class Segments:
    """The readable sentences of a text; ``beyond_limit`` tells that some were left unread."""

    sentences: tuple[Sentence, ...]
    beyond_limit: bool


def evened(text: str) -> str:
    """Return the text with plain quotation marks and blanks, of the same length."""
    return text.translate(_ALIKE)


def split(text: str) -> Segments:
    """Return the sentences of the text, in order."""
    head = text[:MAX_CHARACTERS]
    plain = _mask(evened(head))
    beyond = len(text) > MAX_CHARACTERS
    sentences: list[Sentence] = []
    for start, end in _spans(plain):
        if not any(character.isalnum() for character in plain[start:end]):
            continue
        if len(sentences) >= MAX_SENTENCES or end - start > MAX_SENTENCE_CHARACTERS:
            beyond = True
            continue
        address = _ADDRESS.search(head, start, end)
        sentences.append(
            Sentence(
                quote=head[start:end],
                plain=plain[start:end].replace(_LINK, " "),
                start=start,
                asks="?" in plain[max(start, end - 4) : end],
                link=_bare(address.group()) if address else "",
            )
        )
    return Segments(tuple(sentences), beyond)


def _bare(address: str) -> str:
    """Return an address without what only surrounds it; parentheses that are its own stay."""
    address = address.strip("<>").split("|")[0]
    while address and (address[-1] in ".,;:!?\"'`" or (address[-1] == ")" and address.count(")") > address.count("("))):
        address = address[:-1]
    return address


def _spans(plain: str) -> list[tuple[int, int]]:
    """Offsets of the sentences, without surrounding blanks, bullets or separators."""
    spans, start = [], 0
    for match in [*_END.finditer(plain), None]:
        stop = match.start() if match else len(plain)
        if match and match.group().startswith(".") and _ABBREVIATION.search(plain, max(start, stop - 10), stop + 1):
            continue
        if match and _NUMBERING.match(plain, start, match.end()):
            continue
        closed = match.end() if match and match.group()[0] in ".!?…" else stop
        begin = start
        bullet = _BULLET.match(plain, begin, stop)
        if bullet:
            begin = bullet.end()
        while begin < closed and plain[begin].isspace():
            begin += 1
        while closed > begin and plain[closed - 1].isspace():
            closed -= 1
        if closed > begin:
            spans.append((begin, closed))
        if match:
            start = match.end()
    return spans


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)


def own_words(text: str) -> str:
    """Blank out what an assistant said and what the system recalled: never evidence. The length stays the same."""
    lines, assistant = [], False
    for line in _mask_memory(text).split("\n"):
        person = _PERSON_LINE.match(line)
        if _ASSISTANT_LINE.match(line):
            assistant = True
        elif person:
            assistant = False
            line = " " * person.end() + line[person.end() :]
        lines.append(" " * len(line) if assistant else line)
    return "\n".join(lines)


def _mask(text: str) -> str:
    """Blank out what is nobody's plain sentence; the length stays the same."""
    lines = own_words(_mask_fences(text)).split("\n")
    text = "\n".join(" " * len(line) if _LOG_LINE.match(line) else line for line in lines)
    text = _ADDRESS.sub(lambda match: _LINK * len(match.group()), text)
    text = _INLINE_CODE.sub(_mask_code, text)
    return _SPOKEN_QUOTE.sub(_mask_quote, text)


def _mask_code(match: re.Match[str]) -> str:
    """A single name in backticks is a name; anything longer is code."""
    inner = match.group()[1:-1]
    return f" {inner} " if re.fullmatch(r"[\w.+#-]{1,40}", inner) else _blank(match.group())


def _mask_quote(match: re.Match[str]) -> str:
    """Quotation marks around a name are typography; around a sentence they hold someone's words."""
    inner = match.group()[1:-1]
    return f" {inner} " if len(inner.split()) <= 2 else _blank(match.group())


def _mask_fences(text: str) -> str:
    parts = text.split("```")
    return "   ".join(part if number % 2 == 0 else _blank(part) for number, part in enumerate(parts))


def _mask_memory(text: str) -> str:
    """Blank out blocks of recalled memory: what the system served must not come back as evidence."""
    position = 0
    while match := _MEMORY_OPEN.search(text, position):
        closing = f"</{match.group(1)}>"
        close = text.find(closing, match.end())
        end = len(text) if close < 0 else close + len(closing)
        text = text[: match.start()] + _blank(text[match.start() : end]) + text[end:]
        position = end
    return text
