"""English: what a person likes, eats and prefers, and the language they want."""

from __future__ import annotations

import re

from ingest.extraction.languages import ENGLISH
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import END, END_FOR, NP, Draft, Rule, rule

_ADV = (
    r"(?:(?:actually|currently|now|still|just|recently|also|always|usually|mostly|really|generally"
    r"|absolutely|typically|personally|kinda|definitely|much|strongly|finally|simply|mainly|already"
    r"|mostly|never) )*"
)
_FOR = rf"(?: (?:for|when it comes to|as) (?P<use>{NP}))?"


def _likes(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = match["thing"]
    if re.match(
        r"(?:the|an?|my|our|working|spending|getting|being|having|seeing|trying|making|taking|doing|feeling"
        r"|going|curling|to (?:see|hear|know|be|have|get)|hearing|seeing|knowing|that|all)\b",
        thing,
        re.IGNORECASE,
    ):
        return None
    if thing.lower().startswith("to ") and not re.match(
        r"to (?:cook|read|run|swim|travel|hike|paint|dance|sing|bake|garden|play|ski|cycle|draw|write|climb"
        r"|surf|sew|knit|fish|sail|work)\b",
        thing,
        re.IGNORECASE,
    ):
        return None
    thing = re.sub(r"^to ", "", thing)
    verb = match["verb"].lower()
    ended = bool(
        re.search(r"no longer|used to", match.group(), re.IGNORECASE)
        or re.search(r"any ?more|no longer", clause.marker, re.IGNORECASE)
    )
    negative = bool(match.groupdict().get("not")) and not ended
    dislikes = verb in {"hate", "dislike", "can't stand", "cannot stand", "detest", "loathe"}
    if dislikes and negative:
        return None
    return claims.likes(
        thing, positive=dislikes == negative, language=ENGLISH, marker=clause.marker, ended=ended and not dislikes
    )


def _prefers(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = re.sub(
        r"^(?:to (?:use|work with|drink|have|get|receive|take|be contacted by|be contacted via"
        r"|be reached by|communicate (?:by|via|over)|talk (?:by|over)) |using |drinking |getting |taking "
        r"|receiving )",
        "",
        match["thing"],
        flags=re.IGNORECASE,
    )
    if re.match(r"(?:to be called|to |not |when |if |that |it|be |you|we)", thing + " ", re.IGNORECASE):
        return None
    over = match.groupdict().get("over") or ""
    in_language = re.match(rf"(?P<what>{NP}) (?:in|be in) (?P<lang>{values.LANGUAGE})$", thing, re.IGNORECASE)
    if in_language:
        return claims.preferred_language(
            in_language["lang"], use=in_language["what"], language=ENGLISH, instruction=False
        )
    return claims.prefers(thing, over=over, use=match.groupdict().get("use") or "", language=ENGLISH)


def _favourite(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.favourite(match["measure"], match["thing"], language=ENGLISH)


def _in_language(match: re.Match[str], clause: Clause) -> Draft | None:
    use = match.groupdict().get("use") or ""
    use = re.sub(
        r"^(?:(?:getting|receiving|having|to get|to receive|to have|reading) )?(?:my |the |all |our )*",
        "",
        use,
        flags=re.IGNORECASE,
    )
    if re.match(r"(?:me|us|it|them|this|that|all)$", use, re.IGNORECASE):
        use = ""
    return claims.preferred_language(match["lang"], use=use, language=ENGLISH, instruction=True)


def _diet(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.diet(
        match["diet"], denies=bool(match["not"]) or "used to" in match.group(), language=ENGLISH, marker=clause.marker
    )


def _allergy(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    how = "intolerant" if "intoleran" in match.group() else "allergic"
    says = f"is {thing} intolerant" if how == "intolerant" else f"is allergic to {thing}"
    return claims.allergy(
        thing,
        says=says,
        denies=bool(match.groupdict().get("not")),
        negated=says.replace("is ", "is no longer " if clause.marker else "is not ", 1),
    )


def _avoids(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if (
        clause.marker
        and "stopped" not in match.group()
        and "gave up" not in match.group()
        and "more" not in clause.marker
    ):
        return None
    return claims.avoids(thing, says=f"does not {match['verb'].lower().replace('ing', '')} {thing}")


_TOPIC_USE = rf"(?:the |my |all |our )?(?P<use>{NP})"
_POLITE = (
    r"(?:(?:please|kindly|from now on|always|just|could you|can you|would you|can we|i want you to"
    r"|i need you to|i'd like you to|you should|you can)(?:,)? )*"
)


def _received(text: str) -> str:
    """What is to come in a language: "getting invoices in French"."""
    match = re.search(
        r"(?:receive|receiving|get|getting) (?:my |the |all |our )?(?P<what>[\w ]{2,30}?) in ", text, re.IGNORECASE
    )
    return match["what"] if match else ""


RULES: tuple[Rule, ...] = (
    rule(
        rf"{_POLITE}(?:answer|reply|respond|write|speak|talk|write back|text|communicate"
        rf"|message)(?: back)?(?: to)?(?: (?:me|us))? (?:only |always )?in (?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        rf"{_POLITE}(?:send|write|provide|deliver|give|prepare|email|draft)(?: me"
        rf"| us)? {_TOPIC_USE}(?: to me)? in (?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        rf"i {_ADV}(?:want|need|prefer|expect) {_TOPIC_USE} (?:to be )?(?:written )?in "
        rf"(?P<lang>{values.LANGUAGE})\b",
        _in_language,
    ),
    rule(
        rf"i {_ADV}prefer (?:to (?:be answered|be addressed|speak|communicate|chat|talk|receive {NP}"
        rf"|get {NP})|speaking|communicating|chatting|talking|getting {NP}|receiving {NP}|answers"
        rf"|replies) in (?P<lang>{values.LANGUAGE})\b",
        lambda match, clause: claims.preferred_language(
            match["lang"], use=_received(match.group()), language=ENGLISH, instruction=False
        ),
    ),
    rule(rf"my (?:go-to|preferred) (?P<measure>[\w ]{{2,30}}?) is (?:now )?(?P<thing>{NP}){END}", _favourite),
    rule(
        r"my (?:all[- ]time |absolute |new |current )?favou?rite (?P<measure>[\w ]{2,30}?) (?:is|are"
        rf"|would be|has to be) (?:now |still |probably )?(?P<thing>{NP}){END}",
        _favourite,
    ),
    rule(
        r"(?P<thing>[\w' ]{2,30}?) is (?:now )?my (?:all[- ]time "
        rf"|new )?favou?rite (?P<measure>[\w ]{{2,30}}?){END}",
        _favourite,
    ),
    rule(
        rf"i {_ADV}prefer (?P<thing>{NP}) (?:over|to|rather than|instead of) (?P<over>{NP})(?: (?:for"
        rf"|when it comes to) (?P<use>{NP}))?{END_FOR}",
        _prefers,
    ),
    rule(rf"i {_ADV}(?:prefer|favou?r) (?P<thing>{NP}){_FOR}{END}", _prefers),
    rule(rf"my preference is (?:for )?(?P<thing>{NP})(?: over (?P<over>{NP}))?{END_FOR}", _prefers),
    rule(
        rf"i(?:'m| am) {_ADV}(?P<not>no longer |not )?(?:an? )?(?P<diet>vegan|vegetarian|veggie|pescatarian"
        r"|flexitarian|gluten-free|keto)\b(?! (?:restaurant|place|food|option))",
        _diet,
    ),
    rule(
        rf"i(?:'ve| have)? {_ADV}(?P<not>)?(?:went|gone|became|turned|become|been) (?P<diet>vegan"
        r"|vegetarian|pescatarian)\b",
        _diet,
    ),
    rule(
        rf"i(?:'m| am) {_ADV}(?P<not>no longer |not )?(?:severely |deathly |highly "
        rf"|very )?allergic to (?P<thing>{NP}){END}",
        _allergy,
    ),
    rule(
        r"i(?:'ve got| have| have got) an? (?:severe |bad |serious "
        rf"|mild )?(?P<thing>[\w ]{{3,20}}?) (?:allergy|intolerance){END}",
        _allergy,
    ),
    rule(r"i(?:'m| am) (?P<not>not )?(?P<thing>lactose|gluten|dairy)[- ]intolerant", _allergy),
    rule(
        rf"i (?:don't|do not|never|can't|no longer|stopped|gave up) {_ADV}(?P<verb>eat|drink|eating"
        rf"|drinking|consume) (?P<thing>{NP}){END}",
        _avoids,
    ),
    rule(
        rf"i {_ADV}(?:used to )?(?P<not>don't |do not |no longer |never )?{_ADV}(?P<verb>like|love|enjoy"
        rf"|adore|hate|dislike|can't stand|cannot stand|detest|loathe) (?P<thing>{NP})(?: any ?more)?{END}",
        _likes,
    ),
    rule(rf"(?:i(?:'m| am) )(?P<not>not )(?P<verb>fond of|into|a (?:big |huge )?fan of) (?P<thing>{NP}){END}", _likes),
    rule(rf"(?:i(?:'m| am) )(?P<verb>fond of|really into|a (?:big |huge )?fan of) (?P<thing>{NP}){END}", _likes),
)
