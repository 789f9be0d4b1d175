"""English: what a person likes, eats, speaks, uses and wants."""

from __future__ import annotations

import re

from facts.vocabulary import Form, Kind, Volatility
from ingest.extraction.base import GROUP
from ingest.extraction.languages import ENGLISH
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, END_FOR, NP, STATED, Draft, Rule, rule, value

_ADV = r"(?:(?:actually|currently|now|still|just|recently|also|always|usually|mostly|really|generally|absolutely|typically|personally|kinda|definitely|much|strongly|finally|simply|mainly|already|mostly|never) )*"
_ENDS = r"(?:don't|do not|no longer|didn't|never)"
_FOR = rf"(?: (?:for|when it comes to|as) (?P<use>{NP}))?"


def _likes(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = match["thing"]
    if re.match(r"(?:the|an?|my|our|working|to (?:see|hear|know|be|have|get)|hearing|seeing|knowing|that|all) ", thing, re.IGNORECASE):
        return None
    if thing.lower().startswith("to ") and not re.match(r"to (?:cook|read|run|swim|travel|hike|paint|dance|sing|bake|garden|play|ski|cycle|draw|write|climb|surf|sew|knit|fish|sail|work)\b", thing, re.IGNORECASE):
        return None
    thing = re.sub(r"^to ", "", thing)
    verb = match["verb"].lower()
    ended = bool(re.search(r"no longer|used to", match.group(), re.IGNORECASE) or re.search(r"any ?more|no longer", clause.marker, re.IGNORECASE))
    negative = bool(match.groupdict().get("not")) and not ended
    dislikes = verb in {"hate", "dislike", "can't stand", "cannot stand", "detest", "loathe"}
    if dislikes and negative:
        return None
    return claims.likes(thing, positive=dislikes == negative, language=ENGLISH, marker=clause.marker, ended=ended and not dislikes)


def _prefers(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = re.sub(r"^(?:to (?:use|work with|drink|have|get|receive|take|be contacted by|be contacted via|be reached by|communicate (?:by|via|over)|talk (?:by|over)) |using |drinking |getting |taking |receiving )", "", match["thing"], flags=re.IGNORECASE)
    if re.match(r"(?:to be called|to |not |when |if |that |it|be |you|we)", thing + " ", re.IGNORECASE):
        return None
    over = match.groupdict().get("over") or ""
    in_language = re.match(rf"(?P<what>{NP}) (?:in|be in) (?P<lang>{values.LANGUAGE})$", thing, re.IGNORECASE)
    if in_language:
        return claims.preferred_language(in_language["lang"], use=in_language["what"], language=ENGLISH, instruction=False)
    return claims.prefers(thing, over=over, use=match.groupdict().get("use") or "", language=ENGLISH)


def _favourite(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.favourite(match["measure"], match["thing"], language=ENGLISH)


def _in_language(match: re.Match[str], clause: Clause) -> Draft | None:
    use = match.groupdict().get("use") or ""
    use = re.sub(r"^(?:(?:getting|receiving|having|to get|to receive|to have|reading) )?(?:my |the |all |our )*", "", use, flags=re.IGNORECASE)
    if re.match(r"(?:me|us|it|them|this|that|all)$", use, re.IGNORECASE):
        use = ""
    return claims.preferred_language(match["lang"], use=use, language=ENGLISH, instruction=True)


_STYLES = {
    "short": "short", "brief": "short", "concise": "short", "to the point": "short", "detailed": "detailed", "long": "detailed", "thorough": "detailed", "simple": "simple",
    "in bullet points": "bullet points", "as bullet points": "bullet points", "with bullet points": "bullet points", "formal": "formal", "informal": "informal", "casual": "informal",
}  # fmt: skip


def _style(match: re.Match[str], clause: Clause) -> Draft | None:
    style = _STYLES[match["style"].lower()]
    return Draft(says=f"wants answers kept {style}" if style != "bullet points" else "wants answers in bullet points", predicate="answer_style", value=value(style), kind=Kind.INSTRUCTION, volatility=Volatility.SLOW)


def _units(match: re.Match[str], clause: Clause) -> Draft | None:
    units = match["units"].lower()
    units = {"celsius": "metric", "fahrenheit": "imperial"}.get(units, units)
    return Draft(says=f"wants {units} units", predicate="preferred_units", value=value(units), kind=Kind.INSTRUCTION)


def _diet(match: re.Match[str], clause: Clause) -> Draft | None:
    return claims.diet(match["diet"], denies=bool(match["not"]) or "used to" in match.group(), language=ENGLISH, marker=clause.marker)


def _allergy(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    how = "intolerant" if "intoleran" in match.group() else "allergic"
    says = f"is {thing} intolerant" if how == "intolerant" else f"is allergic to {thing}"
    return claims.allergy(thing, says=says, denies=bool(match.groupdict().get("not")), negated=says.replace("is ", "is no longer " if clause.marker else "is not ", 1))


def _avoids(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if clause.marker and "stopped" not in match.group() and "gave up" not in match.group() and "more" not in clause.marker:
        return None
    return claims.avoids(thing, says=f"does not {match['verb'].lower().replace('ing', '')} {thing}")


def _speaks(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    level = (match.groupdict().get("level") or "").strip().lower()
    shown = claims.language_name(code, ENGLISH, match["lang"])
    return Draft(says=f"speaks {shown}", negated=f"does not speak {shown}", predicate="speaks", value=value(True, level=level), qualifiers={"language": code}, kind=Kind.SKILL, denies=bool(match.groupdict().get("not")))


def _native(match: re.Match[str], clause: Clause) -> Draft | None:
    code = values.language(match["lang"])
    return Draft(says=f"has {claims.language_name(code, ENGLISH, match['lang'])} as native language", predicate="native_language", value=value(code))


def _learning(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing) or thing.lower().startswith(("that ", "about", "more", "from")):
        return None
    return Draft(says=f"is learning {thing}", predicate="learning", value=value(True), qualifiers={"object": values.language(thing) or thing.casefold()}, kind=Kind.SKILL, volatility=Volatility.VOLATILE, confidence=CLEAR)


def _skill(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing) or thing.lower().startswith(("with ", "this", "that", "hearing")):
        return None
    return Draft(says=f"has experience with {thing}", predicate="skilled_in", value=value(True), qualifiers={"object": values.common(thing)}, kind=Kind.SKILL, confidence=CLEAR)


def _uses(match: re.Match[str], clause: Clause) -> Draft | None:
    thing, use = match["thing"], match.groupdict().get("use") or ""
    group = bool(re.match(r"we\b|we'", match.group(), re.IGNORECASE))
    denies = bool(match.groupdict().get("not")) or "used to use" in match.group().lower()
    if not (values.domain(thing) or re.match(r"[A-Z0-9]", values.bare(thing)) or use):
        return None
    tail = f" for {' '.join(use.split())}" if use else ""
    shown = values.bare(thing)
    return claims.uses(thing, use=use, says=f"uses {shown}{tail}", negated=f"{'no longer uses' if clause.marker else 'does not use'} {shown}{tail}", denies=denies, about=GROUP if group else "", switched="switch" in match.group() or "mov" in match.group() or "migrat" in match.group())


def _channel(match: re.Match[str], clause: Clause) -> Draft | None:
    channel = values.common(match["channel"])
    if values.domain(match["channel"]) != "contact_channel":
        return None
    return Draft(says=f"is best reached by {channel}", predicate="preferred_contact_channel", value=value(channel), kind=Kind.PREFERENCE, volatility=Volatility.SLOW)


def _email(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(says=f"has the e-mail address {match['email']}", predicate="email", value=value(match["email"].lower()))


def _phone(match: re.Match[str], clause: Clause) -> Draft | None:
    digits = re.sub(r"[^\d+]", "", match["phone"])
    return Draft(says=f"has the phone number {match['phone'].strip()}", predicate="phone_number", value=value(digits)) if 8 <= len(digits) <= 16 else None


def _timezone(match: re.Match[str], clause: Clause) -> Draft | None:
    name = match["zone"].strip().upper() if "/" not in match["zone"] else match["zone"].strip()
    return Draft(says=f"is in the {name} time zone", predicate="timezone", value=value(name), volatility=Volatility.SLOW)


_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"


def _days(match: re.Match[str], clause: Clause) -> Draft | None:
    days = " ".join(match["days"].split())
    negative = bool(match.groupdict().get("not"))
    singular = re.sub(r"days\b", "day", days.lower())
    if negative:
        return Draft(says=f"does not work on {days}", predicate="day_off", value=value(True), qualifiers={"day": singular}, volatility=Volatility.SLOW)
    return Draft(says=f"works {days}", predicate="working_days", value=value(singular.replace(" through ", " to ").replace(" - ", " to ").replace("-", " to ")), volatility=Volatility.SLOW)


def _hours(match: re.Match[str], clause: Clause) -> Draft | None:
    hours = " ".join(match["hours"].lower().split())
    return Draft(says=f"works {match['how'].lower()} {hours}", predicate="working_hours", value=value(hours), volatility=Volatility.SLOW, confidence=CLEAR)


def _away(match: re.Match[str], clause: Clause) -> Draft | None:
    how = match["how"].lower()
    return Draft(says=f"is {how}", predicate="absence", value=value(how), kind=Kind.EVENT, form=Form.EVENT, confidence=STATED, volatility=Volatility.EPHEMERAL, starts=True)


def _trip(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(re.sub(r"^(?:visit )", "", match["place"]))
    if not place:
        return None
    return Draft(says=f"travels to {place}", predicate="travels_to", value=value(place), kind=Kind.EVENT, form=Form.EVENT, confidence=CLEAR, volatility=Volatility.VOLATILE, starts=True)


def _responsible(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing) or len(thing.split()) > 6:
        return None
    group_team = re.fullmatch(r"(?P<team>.+) team", thing)
    verb = "leads" if group_team or match.group().lower().startswith(("i lead", "i'm lead")) else "is responsible for"
    return Draft(says=f"{verb} the {thing}", negated=f"no longer {verb.replace('is ', '')} the {thing}", predicate="responsible_for", value=value(True), qualifiers={"object": thing.casefold()}, kind=Kind.RELATION, denies=bool(match.groupdict().get("not")), volatility=Volatility.SLOW)


_TOPIC_USE = rf"(?:the |my |all |our )?(?P<use>{NP})"
_POLITE = r"(?:(?:please|kindly|from now on|always|just|could you|can you|would you|can we|i want you to|i need you to|i'd like you to|you should|you can)(?:,)? )*"

RULES: tuple[Rule, ...] = (
    rule(rf"{_POLITE}(?:answer|reply|respond|write|speak|talk|write back|text|communicate|message)(?: back)?(?: to)?(?: (?:me|us))? (?:only |always )?in (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"{_POLITE}(?:send|write|provide|deliver|give|prepare|email|draft)(?: me| us)? {_TOPIC_USE}(?: to me)? in (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"i {_ADV}(?:want|need|prefer|expect) {_TOPIC_USE} (?:to be )?(?:written )?in (?P<lang>{values.LANGUAGE})\b", _in_language),
    rule(rf"i {_ADV}prefer (?:to (?:be answered|be addressed|speak|communicate|chat|talk|receive {NP}|get {NP})|speaking|communicating|chatting|talking|getting {NP}|receiving {NP}|answers|replies) in (?P<lang>{values.LANGUAGE})\b", lambda match, clause: claims.preferred_language(match["lang"], use=_received(match.group()), language=ENGLISH, instruction=False)),
    rule(rf"{_POLITE}(?:keep|make) (?:your |the |all )?(?:answers|replies|responses|messages|explanations|it) (?P<style>short|brief|concise|to the point|detailed|thorough|simple|formal|informal|casual)\b", _style),
    rule(rf"{_POLITE}(?:give me|i want|i like|i prefer) (?:your )?(?P<style>short|brief|concise|detailed|long|thorough|simple|formal) (?:answers|replies|responses|explanations)\b", _style),
    rule(rf"{_POLITE}(?:answer|reply|respond|write)(?: to me)? (?P<style>in bullet points|with bullet points|as bullet points)\b", _style),
    rule(rf"{_POLITE}use (?P<units>metric|imperial|celsius|fahrenheit)\b", _units),
    rule(rf"my (?:go-to|preferred) (?P<measure>[\w ]{{2,30}}?) is (?:now )?(?P<thing>{NP}){END}", _favourite),
    rule(rf"my (?:all[- ]time |absolute |new |current )?favou?rite (?P<measure>[\w ]{{2,30}}?) (?:is|are|would be|has to be) (?:now |still |probably )?(?P<thing>{NP}){END}", _favourite),
    rule(rf"(?P<thing>[\w' ]{{2,30}}?) is (?:now )?my (?:all[- ]time |new )?favou?rite (?P<measure>[\w ]{{2,30}}?){END}", _favourite),
    rule(rf"i {_ADV}prefer (?P<thing>{NP}) (?:over|to|rather than|instead of) (?P<over>{NP})(?: (?:for|when it comes to) (?P<use>{NP}))?{END_FOR}", _prefers),
    rule(rf"i {_ADV}(?:prefer|favou?r) (?P<thing>{NP}){_FOR}{END}", _prefers),
    rule(rf"my preference is (?:for )?(?P<thing>{NP})(?: over (?P<over>{NP}))?{END_FOR}", _prefers),
    rule(rf"i(?:'m| am) {_ADV}(?P<not>no longer |not )?(?:an? )?(?P<diet>vegan|vegetarian|veggie|pescatarian|flexitarian|gluten-free|keto)\b(?! (?:restaurant|place|food|option))", _diet),
    rule(rf"i(?:'ve| have)? {_ADV}(?P<not>)?(?:went|gone|became|turned|become|been) (?P<diet>vegan|vegetarian|pescatarian)\b", _diet),
    rule(rf"i(?:'m| am) {_ADV}(?P<not>no longer |not )?(?:severely |deathly |highly |very )?allergic to (?P<thing>{NP}){END}", _allergy),
    rule(rf"i(?:'ve got| have| have got) an? (?:severe |bad |serious |mild )?(?P<thing>[\w ]{{3,20}}?) (?:allergy|intolerance){END}", _allergy),
    rule(r"i(?:'m| am) (?P<not>not )?(?P<thing>lactose|gluten|dairy)[- ]intolerant", _allergy),
    rule(rf"i (?:don't|do not|never|can't|no longer|stopped|gave up) {_ADV}(?P<verb>eat|drink|eating|drinking|consume) (?P<thing>{NP}){END}", _avoids),
    rule(rf"i {_ADV}(?:used to )?(?P<not>don't |do not |no longer |never )?{_ADV}(?P<verb>like|love|enjoy|adore|hate|dislike|can't stand|cannot stand|detest|loathe) (?P<thing>{NP})(?: any ?more)?{END}", _likes),
    rule(rf"(?:i(?:'m| am) )(?P<not>not )(?P<verb>fond of|into|a (?:big |huge )?fan of) (?P<thing>{NP}){END}", _likes),
    rule(rf"(?:i(?:'m| am) )(?P<verb>fond of|really into|a (?:big |huge )?fan of) (?P<thing>{NP}){END}", _likes),
    rule(rf"i {_ADV}(?P<not>don't |do not |can't )?(?:{_ADV})(?:speak|can speak|know) (?P<level>fluent |some |a little |basic |native )?(?P<lang>{values.LANGUAGE})\b", _speaks),
    rule(rf"i(?:'m| am) (?P<level>fluent|native|bilingual|conversational) in (?P<lang>{values.LANGUAGE})\b", _speaks),
    rule(rf"my (?:native|first|mother) (?:language|tongue) is (?P<lang>{values.LANGUAGE})\b", _native),
    rule(rf"i(?:'m| am| have been|'ve been) {_ADV}(?:learning|taking lessons in) (?P<thing>(?!how\b|to\b|a lot){NP}){END}", _learning),
    rule(rf"i(?:'m| am) (?:experienced|proficient|skilled|an expert|certified|well versed) (?:with|in) (?P<thing>{NP}){END}", _skill),
    rule(rf"i(?:'ve| have) (?:\w+|\d+\+?) years (?:of )?experience (?:with|in|as) (?P<thing>{NP}){END}", _skill),
    rule(rf"(?:i|we)(?:'ve| have)? {_ADV}(?:switched|switching|moved|migrated)(?: over)?(?: from {NP})? to (?P<thing>(?!the\b|a\b|my\b){NP}){_FOR}{END}", _uses),
    rule(rf"(?:i|we) {_ADV}(?P<not>don't |do not |no longer |stopped |used to )?{_ADV}(?:use|using|rely on|run on) (?P<thing>(?!to\b|it\b|the same){NP})(?: instead of {NP}| rather than {NP})?{_FOR}{END}", _uses),
    rule(rf"(?:i|we)(?:'m|'re| am| are) {_ADV}(?P<not>no longer |not )?using (?P<thing>{NP}){_FOR}{END}", _uses),
    rule(rf"(?:the )?best way to (?:reach|contact|get hold of) me is (?:now )?(?:by |via |on |through |over )?(?P<channel>{NP}){END}", _channel),
    rule(rf"{_POLITE}(?:contact|reach|ping|message|reach out to) me (?:by|via|on|through|over) (?P<channel>{NP}){END}", _channel),
    rule(rf"i {_ADV}prefer (?:to be (?:contacted|reached) )?(?:by|via|over|on) (?P<channel>{NP}){END}", _channel),
    rule(r"my (?:new |work |personal |private )?e-?mail(?: address)? is (?:now )?(?P<email>[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4})", _email),
    rule(r"my (?:new |work |mobile |cell )?(?:phone|phone number|number|mobile|cell)(?: number)? is (?:now )?(?P<phone>\+?\d[\d ().-]{6,20}\d)", _phone),
    rule(r"(?:my time ?zone is|i'm in the|i am in the|i'm on|i work in) (?:now )?(?P<zone>(?:UTC|GMT)(?: ?[+-] ?\d{1,2}(?::\d\d)?)?|CES?T|E[SD]T|P[SD]T|C[SD]T|M[SD]T|BST|IST|JST|AE[SD]T|WES?T|EES?T|[A-Z][a-z]+/[A-Z]\w+)\b", _timezone),
    rule(rf"i {_ADV}(?P<not>don't |do not |never )work (?:on )?(?P<days>{_DAY}(?:(?:,| and| or) {_DAY})*)", _days),
    rule(rf"i {_ADV}work (?:only |from )?(?P<days>{_DAY} ?(?:to|through|-) ?{_DAY})", _days),
    rule(rf"i {_ADV}(?P<how>start|work|finish|stop) (?:work )?(?:working )?(?:at |from )(?P<hours>\d{{1,2}}(?::\d\d)? ?(?:am|pm)?(?: ?(?:to|-|until) ?\d{{1,2}}(?::\d\d)? ?(?:am|pm)?)?)", _hours),
    rule(r"(?:i'm|i am|i'll be|i will be|i'm going to be|i was) (?:(?:going|also|currently|still) )*(?:taking )?(?P<how>out of (?:the )?office|ooo|off sick|on vacation|vacation|on holidays?|holidays?|on leave|leave|on (?:parental|maternity|paternity|sick) leave|(?:parental|maternity|paternity|sick) leave|on pto|pto|away|off|unavailable|not available|offline|afk)\b(?! (?:topic|track|the mark|my|to |by |from the|site|from my))", _away),
    rule(rf"(?:i'm|i am|i'll be|we're|i will be) (?:going to be )?(?:{_ADV})(?:flying|travell?ing|going|heading|driving|visiting|taking a trip|off) (?:out |over |back )?(?:to )?(?P<place>(?-i:[A-Z][\w-]+(?: [A-Z][\w-]+){{0,2}})){END_FOR}", _trip),
    rule(rf"i {_ADV}(?P<not>no longer )?(?:own|lead|manage|run|maintain|head|head up|oversee) (?P<thing>the {NP}){END}", _responsible),
    rule(rf"(?:i'm|i am) {_ADV}(?P<not>no longer |not )?(?:responsible for|in charge of|the (?:product owner|tech lead|owner|lead|maintainer|manager|head) (?:of|for)|leading|managing|heading|running) (?P<thing>{NP}){END}", _responsible),
)


def _received(text: str) -> str:
    """What is to come in a language: "getting invoices in French"."""
    match = re.search(r"(?:receive|receiving|get|getting) (?:my |the |all |our )?(?P<what>[\w ]{2,30}?) in ", text, re.IGNORECASE)
    return match["what"] if match else ""
