"""From sentences to clauses: one subject, one verb, and whether the clause asserts anything.

A rule sees a clause without its lead-in ("Actually, ", "FYI ") and with its subject made explicit
("... and work at Acme" becomes "I work at Acme"); the quote stays the whole sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.extraction import languages, markers
from ingest.extraction.base import ExtractionInput
from ingest.extraction.segments import Sentence

_WEEK = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATEISH = (
    rf"(?:\d{{1,4}}|{_WEEK}|weeks?|months?|year|quarter|tomorrow|today|now|january|february|march|april"
    r"|may|june|july|august|september|october"
    r"|november|december|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|semaine|mois|demain"
    r"|janvier|février|mars|avril|mai|juin|juillet|août|septembre"
    r"|octobre|novembre|décembre|maintenant)"
)
_LEAD_IN = re.compile(
    r"(?:(?:hi|hey|hello|hiya|yo|good (?:morning|afternoon|evening)|morning|well|so(?=,|\s+(?:i|we|the"
    r"|my|it|our|i'm|we're)\b)|oh|ah|btw|by the way|fyi|just fyi|quick (?:update|note|heads up)(?: that)?"
    r"|heads up|note|also|and|but|or|ok|okay|yes|yep|yeah|no(?! longer| more| one| blocker)|nope|nah"
    r"|sorry|thanks|thank you|thx|please note(?: that)?|for the record"
    r"|just so you know|for context|for your information|for future reference|remember(?: that)?"
    r"|please remember(?: that)?|keep in mind(?: that)?|note that|actually|in fact"
    r"|now|currently|these days|nowadays|right now|at the moment|honestly|frankly|personally|update"
    r"|status|correction|from now on|going forward|finally|lastly|first(?:ly)?"
    r"|unfortunately|good news|bad news|great news|sadly|luckily|sure|of course|certainly|all right"
    r"|alright|as you know|as (?:mentioned|discussed|agreed)"
    r"|i changed my mind|change of plans?|scratch that|to be clear|to clarify|tbh|imo|one more thing"
    r"|in general|usually|hi (?:all|team|everyone|there|folks)"
    r"|hey (?:all|team|everyone|there|folks)|(?:all|team|everyone|folks|guys)"
    r"|bonjour(?: à tous)?|salut(?: à tous| tout le monde)?|coucou|hello|bonsoir|merci|alors|donc|et"
    r"|mais|ou|ok|oui|non|ah|oh|au fait|en fait|en réalité|finalement"
    r"|pour info|pour information|info|note|notez que|sache que|sachez que|à noter(?: que)?"
    r"|petit(?:e)? (?:point|info|précision)|pour rappel|rappel|désormais|dorénavant"
    r"|maintenant|actuellement|en ce moment|aujourd'hui|sinon|bref|bon|bah|ben|malheureusement"
    r"|bonne nouvelle|mauvaise nouvelle|à partir de maintenant"
    r"|j'ai changé d'avis|changement de programme|d'accord|franchement|honnêtement|personnellement"
    r"|par ailleurs|de plus|aussi|d'ailleurs|du coup|enfin|moi"
    r"|en général|d'habitude|pour ma part|de mon côté|côté \w+|à vrai dire"
    r"|point d'avancement)(?:\s*[,:!.]+\s*|\s+(?=[^\s,])|\s*$)"
    r"|(?:since|as of|from|starting|effective|until|next|last|this|in|on|by|depuis|à partir d[eu']|dès"
    rf"|d'ici|en|jusqu'\w+) ?(?:the |le |la |next |this |last )?{_DATEISH}(?:[\w' ]{{0,14}})(?:,\s*"
    r"|\s+(?=(?:i|i'm|i'll|we|we're|my|je|j'|on|nous|mon|ma)\b))"
    rf"|(?:yesterday|tomorrow|today|tonight|{_WEEK}|hier|demain|lundi|mardi|mercredi|jeudi"
    r"|vendredi)(?: (?:morning|evening|afternoon|matin|soir))?,?\s+(?=(?:i|i'm|i'll|we|we're|my|je|j'"
    r"|on|nous)\b)"
    r"|@[\w.-]{1,40}(?: [A-Z][\w-]{1,20})?\s*[,:]?\s+)",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(
    r"(?!(?:Blockers?|Deadline|Risks?|Progress|Mood|ETA|Hand-?off|Due|Done|Bloquant|Échéance|Avancement"
    r"|Statut)\b)(?:[A-ZÉÈÀ][\w'-]{1,20}|@[\w.-]{1,40})\s*[,:]\s+(?=\S)"
)

_SUBJECT = (
    r"(?:i|i'm|i've|i'll|i'd|we|we're|we've|we'll|my|our|he|she|they|it|it's|you|the|this|that|there"
    r"|please|let|which|who|so|but|because|since|although|though|while"
    r"|je|j'|on|nous|mon|ma|mes|notre|nos|il|elle|ils|elles|tu|vous|c'est|ça|cela|donc|mais|car|parce"
    r"|puisque|alors|merci|n'h|ne|qui|ce)"
)
_SPLIT = re.compile(
    rf"\s*,\s+(?:and |et )?(?={_SUBJECT}(?:\b|(?<=')))"
    rf"|\s+(?:and|but|so|although|though|while|whereas|et|mais|donc|tandis que|alors que)\s+"
    rf"(?={_SUBJECT}(?:\b|(?<='))|(?-i:[A-Z])\w+ (?:is|takes|will|has|prend|reprend|va|est)\b)"
    r"|\s*,?\s+(?:but|mais)\s+|\s+\(|\)\s+|\s*,\s*(?:and|et)\s+(?=[A-ZÉ]\w+ (?:is|will|has|takes|est|va|a|prend)\b)",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"\s+(?:and|et)\s+(?=(?:live|lives|work|prefer|like|love|hate|enjoy|use|speak|have|am|study|manage"
    r"|lead|own|drink|eat|don't|moved|joined|will|started"
    r"|habite|vis|travaille|préfère|aime|adore|déteste|utilise|parle|ai|suis|étudie|gère|dirige|bois|mange)\b)",
    re.IGNORECASE,
)
_BARE_SUBJECT = re.compile(r"(?P<subject>i|we|je|on)(?='| )", re.IGNORECASE)

_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|whether|suppose|supposing|imagine|wish|hypothetically|in theory|would|wouldn't"
    r"|would've|could've|should've|i'd|we'd|he'd|she'd|might|maybe"
    r"|perhaps|possibly|probably|thinking (?:of|about)|considering|planning on maybe|not sure|unsure"
    r"|i guess|pretend|as if|what if|hopefully|hope to|in case"
    r"|peut-être|sans doute|probablement|éventuellement|hypothétiquement|imaginons|supposons|j'aimerais"
    r"|je voudrais|je pourrais|pourrait|pourrions|aurais|serais|serait|devrais"
    r"|il se peut|je pense à|j'envisage|on envisage|j'hésite|pas sûre?|si jamais|au cas où"
    r"|dans l'idéal)\b|\bsi (?:je|j'|tu|on|nous|vous|il|elle|jamais)|\bs'il (?!te|vous)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:even |only )?(?:if|unless|when|whenever|suppose|imagine|si(?! possible)|s'il (?!te|vous)|quand"
    r"|lorsque|au cas où|imagine|imaginons|supposons)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:what|who|whom|whose|which|where|when|why|how|do|does|did|is|are|am|was|were|can|could|would"
    r"|will|shall|should|have|has|had|any chance|anyone|anybody"
    r"|est-ce|qu'est|que|quel|quelle|quels|quelles|qui|quand|où|pourquoi|comment|combien|peux-tu"
    r"|pouvez-vous|as-tu|avez-vous|es-tu|êtes-vous|peut-on|quelqu'un)\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"(?:what|who|where|when|why|how|do|does|did|is|are|am|can|could|would|will|shall|should|have"
    r"|has)\b(?:n't)? (?:i|you|we|they|he|she|it|there|the|this|that|any|anyone)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:he|she|they|someone|somebody|everyone|people|who|[a-z]+) (?:says?|said|told|thinks?|thought"
    r"|claims?|claimed|mentioned|wrote|heard|asked|believes?|keeps? saying)\b"
    r"|\b(?:according to|apparently|allegedly|supposedly|rumou?r has it|i heard|word is|he asked|quote)\b"
    r"|\b(?:il|elle|ils|elles|on m'|quelqu'un|tout le monde|[a-zé]+) (?:m'a |nous a |a |ont )?(?:dit"
    r"|disent|prétend|prétendent|pense|pensent|croit|raconte|racontait|affirme|écrit|demandé?)\b(?= que"
    r"| qu')"
    r"|\b(?:selon|d'après|apparemment|soi-disant|paraît-il|il paraît|j'ai entendu)\b",
    re.IGNORECASE,
)
_OWN_VOICE = re.compile(
    r"\b(?:i|we|je|j'ai|on|nous) (?:say|said|told|think|thought|mentioned|believe|heard|asked|dis|dit"
    r"|pense|crois)\b",
    re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:lol|lmao|rofl|jk|j/k|just kidding|kidding|haha\w*|hehe\w*|yeah,? right|as if|not!|mdr|ptdr"
    r"|je (?:plaisante|rigole|déconne)|lolol|joking|just joking|sarcasm|ironie)\b|(?:^|\s)/s(?:\s|$)"
    r"|:(?:joy|rofl|stuck_out_tongue\w*|wink|laughing):",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause to match rules against.

    ``text`` plain text without lead-in; ``lead`` what was taken off the front; ``marker`` the update
    marker, verbatim as in ``quote``; ``quote`` the evidence; ``language`` "en" or "fr";
    ``hypothetical`` (``conditional``: the sentence starts with "if"), ``reported`` and ``asks`` tell why it
    may assert nothing; ``link`` is an address in the sentence.
    """

    text: str
    lead: str
    quote: str
    marker: str
    language: str
    item: ExtractionInput
    hypothetical: bool = False
    conditional: bool = False
    reported: bool = False
    asks: bool = False
    link: str = ""

    @property
    def asserts(self) -> bool:
        """Whether the clause states something as a fact in the speaker's own voice."""
        return not (self.hypothetical or self.reported or self.asks)


def is_joke(plain: str) -> bool:
    """Whether the text flags itself as not meant."""
    return bool(_JOKE.search(plain))


def clauses(sentence: Sentence, *, item: ExtractionInput, announced: Sentence | None = None) -> list[Clause]:
    """Return the clauses of the sentence.

    ``announced`` is a sentence right before it that only says that a change follows; it then belongs
    to the quote and lends its marker.
    """
    language = languages.detect(sentence.plain) or languages.detect(item.text[:2000])
    if not language and sentence.plain.isascii():
        language = languages.ENGLISH
    if not language:
        return []
    quote = sentence.quote
    if announced is not None:
        quote = item.text[announced.start : sentence.end]
    lead, body = strip_lead_in(sentence.plain)
    conditional = bool(_CONDITION.match(body))
    asks = (
        sentence.asks
        or bool(_INVERTED.match(body))
        or (
            language == languages.FRENCH and bool(re.match(r"est-ce|\w+-(?:tu|vous)\b(?<!-vous-)", body, re.IGNORECASE))
        )
    )
    found = []
    pending = ""
    for part in _parts(body):
        part_lead, text = strip_lead_in(part)
        if markers.announces(part) or not text:
            pending = part
            continue
        marker = markers.find(text, leading=f"{'' if found else lead} {pending} {part_lead}".strip())
        if not marker and announced is not None:
            marker = announced.plain.strip().rstrip(".!,:")
        found.append(
            Clause(
                text=text,
                lead=f"{'' if found else lead}{part_lead}",
                quote=quote,
                marker=verbatim(marker, quote),
                language=language,
                item=item,
                hypothetical=conditional or bool(_HYPOTHETICAL.search(text)),
                conditional=conditional,
                reported=bool(_REPORTED.search(text)) and not _OWN_VOICE.search(text),
                asks=asks,
                link=sentence.link,
            )
        )
    return found


def strip_lead_in(text: str) -> tuple[str, str]:
    """Return the lead-in of the text and the rest."""
    position = 0
    for _ in range(5):
        match = _LEAD_IN.match(text, position) or _ADDRESSED.match(text, position)
        if not match or match.end() == position:
            break
        position = match.end()
    return text[:position], text[position:].strip()


def verbatim(marker: str, quote: str) -> str:
    """Return the marker as the quote spells it (typographic apostrophes and spaces), or ""."""
    if not marker:
        return ""
    pattern = re.escape(marker).replace("'", "['’‘ʼ´]").replace(r"\ ", r"[\s\u00a0\u202f]+")
    match = re.search(pattern, quote, re.IGNORECASE)
    return match.group() if match else ""


def _parts(body: str) -> list[str]:
    """Cut the sentence at coordinations, repeating the subject where it was left out."""
    parts = [part.strip(" ,;:()") for part in _SPLIT.split(body)]
    whole: list[str] = []
    for part in parts:
        subject = _BARE_SUBJECT.match(part)
        pieces = (
            _CONTINUES.split(part) if subject and not _HYPOTHETICAL.search(part) and " should " not in part else [part]
        )
        whole.append(pieces[0].strip())
        if subject:
            whole.extend(_with_subject(subject["subject"], piece.strip()) for piece in pieces[1:])
    return [part for part in whole if part]


def _with_subject(subject: str, piece: str) -> str:
    """Put the subject back before a verb; "j'" where French elides."""
    if subject.lower() == "je" and re.match(r"[aeéhiou]", piece, re.IGNORECASE):
        return f"j'{piece}"
    return f"{subject} {piece}"
