"""English: what a person works with, when, where to and for what, and how to reach them."""

from __future__ import annotations

import re

from facts.vocabulary import Form, Kind, Volatility
from ingest.extraction.base import GROUP
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, END_FOR, NP, STATED, Draft, Rule, rule, value

_ADV = (
    r"(?:(?:actually|currently|now|still|just|recently|also|always|usually|mostly|really|generally"
    r"|absolutely|typically|personally|kinda|definitely|much|strongly|finally|simply|mainly|already"
    r"|mostly|never) )*"
)
_FOR = rf"(?: (?:for|when it comes to|as) (?P<use>{NP}))?"


def _uses(match: re.Match[str], clause: Clause) -> Draft | None:
    thing, use = match["thing"], match.groupdict().get("use") or ""
    group = bool(re.match(r"we\b|we'", match.group(), re.IGNORECASE))
    denies = bool(match.groupdict().get("not")) or "used to use" in match.group().lower()
    if not (values.domain(thing) or re.match(r"[A-Z0-9]", values.bare(thing)) or use):
        return None
    tail = f" for {' '.join(use.split())}" if use else ""
    shown = values.bare(thing)
    return claims.uses(
        thing,
        use=use,
        says=f"uses {shown}{tail}",
        negated=f"{'no longer uses' if clause.marker else 'does not use'} {shown}{tail}",
        denies=denies,
        about=GROUP if group else "",
        switched="switch" in match.group() or "mov" in match.group() or "migrat" in match.group(),
    )


def _channel(match: re.Match[str], clause: Clause) -> Draft | None:
    channel = values.common(match["channel"])
    if values.domain(match["channel"]) != "contact_channel":
        return None
    return Draft(
        says=f"is best reached by {channel}",
        predicate="preferred_contact_channel",
        value=value(channel),
        kind=Kind.PREFERENCE,
        volatility=Volatility.SLOW,
    )


def _email(match: re.Match[str], clause: Clause) -> Draft | None:
    return Draft(
        says=f"has the e-mail address {match['email']}", predicate="email", value=value(match["email"].lower())
    )


def _phone(match: re.Match[str], clause: Clause) -> Draft | None:
    digits = re.sub(r"[^\d+]", "", match["phone"])
    return (
        Draft(says=f"has the phone number {match['phone'].strip()}", predicate="phone_number", value=value(digits))
        if 8 <= len(digits) <= 16
        else None
    )


def _timezone(match: re.Match[str], clause: Clause) -> Draft | None:
    name = match["zone"].strip().upper() if "/" not in match["zone"] else match["zone"].strip()
    return Draft(
        says=f"is in the {name} time zone", predicate="timezone", value=value(name), volatility=Volatility.SLOW
    )


_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"


def _days(match: re.Match[str], clause: Clause) -> Draft | None:
    days = " ".join(match["days"].split())
    negative = bool(match.groupdict().get("not"))
    singular = re.sub(r"days\b", "day", days.lower())
    if negative:
        return Draft(
            says=f"does not work on {days}",
            predicate="day_off",
            value=value(True),
            qualifiers={"day": singular},
            volatility=Volatility.SLOW,
        )
    return Draft(
        says=f"works {days}",
        predicate="working_days",
        value=value(singular.replace(" through ", " to ").replace(" - ", " to ").replace("-", " to ")),
        volatility=Volatility.SLOW,
    )


def _hours(match: re.Match[str], clause: Clause) -> Draft | None:
    hours = " ".join(match["hours"].lower().split())
    return Draft(
        says=f"works {match['how'].lower()} {hours}",
        predicate="working_hours",
        value=value(hours),
        volatility=Volatility.SLOW,
        confidence=CLEAR,
    )


def _away(match: re.Match[str], clause: Clause) -> Draft | None:
    how = re.sub(r"^ooo$|^out of the office$", "out of office", match["how"].lower())
    return Draft(
        says=f"is {how}",
        predicate="absence",
        value=value(how),
        kind=Kind.EVENT,
        form=Form.EVENT,
        confidence=STATED,
        volatility=Volatility.EPHEMERAL,
        starts=True,
    )


def _trip(match: re.Match[str], clause: Clause) -> Draft | None:
    place = values.place(re.sub(r"^(?:visit )", "", match["place"]))
    if not place:
        return None
    return Draft(
        says=f"travels to {place}",
        predicate="travels_to",
        value=value(place),
        kind=Kind.EVENT,
        form=Form.EVENT,
        confidence=CLEAR,
        volatility=Volatility.VOLATILE,
        starts=True,
    )


def _responsible(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = values.bare(match["thing"])
    if claims.is_vague(thing) or len(thing.split()) > 6:
        return None
    leads = thing.endswith(" team") or match.group().lower().startswith(("i lead", "i'm lead", "i am lead"))
    shown = " ".join(match["thing"].split())
    return Draft(
        says=f"leads {shown}" if leads else f"is responsible for {shown}",
        negated=f"no longer leads {shown}" if leads else f"is no longer responsible for {shown}",
        predicate="responsible_for",
        value=value(True),
        qualifiers={"object": thing.casefold()},
        kind=Kind.RELATION,
        denies=bool(match.groupdict().get("not")),
        volatility=Volatility.SLOW,
    )


_POLITE = (
    r"(?:(?:please|kindly|from now on|always|just|could you|can you|would you|can we|i want you to"
    r"|i need you to|i'd like you to|you should|you can)(?:,)? )*"
)

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:i'll be|i will be|i'm going to be) in (?P<place>(?-i:[A-Z][\w-]+(?: [A-Z][\w-]+){0,2}))(?= "
        r"(?:on|from|next|this|until|tomorrow|in|for|today)\b)",
        _trip,
    ),
    rule(
        rf"(?:i|we)(?:'ve| have)? {_ADV}(?:switched|switching|moved"
        rf"|migrated)(?: over)?(?: from {NP})? to (?P<thing>(?!the\b|a\b|my\b){NP}){_FOR}{END}",
        _uses,
    ),
    rule(
        rf"(?:i|we) {_ADV}(?P<not>don't |do not |no longer |stopped |used to )?{_ADV}(?:use|using|rely on"
        rf"|run on) (?P<thing>(?!to\b|it\b|the same){NP})(?: instead of {NP}| rather than {NP})?{_FOR}{END}",
        _uses,
    ),
    rule(rf"(?:i|we)(?:'m|'re| am| are) {_ADV}(?P<not>no longer |not )?using (?P<thing>{NP}){_FOR}{END}", _uses),
    rule(
        r"(?:the )?best way to (?:reach|contact|get hold of) me is (?:now )?(?:by |via |on |through "
        rf"|over )?(?P<channel>{NP}){END}",
        _channel,
    ),
    rule(
        rf"{_POLITE}(?:contact|reach|ping|message|reach out to) me (?:by|via|on|through"
        rf"|over) (?P<channel>{NP}){END}",
        _channel,
    ),
    rule(rf"i {_ADV}prefer (?:to be (?:contacted|reached) )?(?:by|via|over|on) (?P<channel>{NP}){END}", _channel),
    rule(
        r"my (?:new |work |personal |private )?e-?mail(?: address)? is (?:now "
        r")?(?P<email>[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4})",
        _email,
    ),
    rule(
        r"my (?:new |work |mobile |cell )?(?:phone|phone number|number|mobile"
        r"|cell)(?: number)? is (?:now )?(?P<phone>\+?\d[\d ().-]{6,20}\d)",
        _phone,
    ),
    rule(
        r"(?:my time ?zone is|i'm in the|i am in the|i'm on|i work in) (?:now )?(?P<zone>(?:UTC"
        r"|GMT)(?: ?[+-] ?\d{1,2}(?::\d\d)?)?|CES?T|E[SD]T|P[SD]T|C[SD]T|M[SD]T|BST|IST|JST|AE[SD]T|WES?T"
        r"|EES?T|[A-Z][a-z]+/[A-Z]\w+)\b",
        _timezone,
    ),
    rule(rf"i {_ADV}(?P<not>don't |do not |never )work (?:on )?(?P<days>{_DAY}(?:(?:,| and| or) {_DAY})*)", _days),
    rule(rf"i {_ADV}work (?:only |from )?(?P<days>{_DAY} ?(?:to|through|-) ?{_DAY})", _days),
    rule(
        rf"i {_ADV}(?P<how>start|work|finish|stop) (?:work )?(?:working )?(?:at "
        r"|from )(?P<hours>\d{1,2}(?::\d\d)? ?(?:am|pm)?(?: ?(?:to|-|until) ?\d{1,2}(?::\d\d)? ?(?:am"
        r"|pm)?)?)",
        _hours,
    ),
    rule(
        r"(?:i'm|i am|i'll be|i will be|i'm going to be|i was) (?:(?:going|also|currently"
        r"|still) )*(?:taking )?(?P<how>out of (?:the )?office|ooo|off sick|on vacation|vacation"
        r"|on holidays?|holidays?|on leave|leave|on (?:parental|maternity|paternity|sick) leave|(?:parental"
        r"|maternity|paternity|sick) leave|on pto|pto|away|off|unavailable|not available|offline"
        r"|afk)\b(?! (?:topic|track|the mark|my|to |by |from the|site|from my))",
        _away,
    ),
    rule(
        rf"(?:i'm|i am|i'll be|we're|i will be) (?:going to be )?(?:{_ADV})(?:flying|travell?ing|going"
        r"|heading|driving|visiting|taking a trip|off) (?:out |over "
        rf"|back )?(?:to )?(?P<place>(?-i:[A-Z][\w-]+(?: [A-Z][\w-]+){{0,2}})){END_FOR}",
        _trip,
    ),
    rule(
        rf"i {_ADV}(?P<not>no longer )?(?:own|lead|manage|run|maintain|head|head up"
        rf"|oversee) (?P<thing>the {NP}){END}",
        _responsible,
    ),
    rule(
        rf"(?:i'm|i am) {_ADV}(?P<not>no longer |not )?(?:responsible for|in charge of|the (?:product owner"
        r"|tech lead|owner|lead|maintainer|manager|head) (?:of|for)|leading|managing|heading"
        rf"|running) (?P<thing>{NP}){END}",
        _responsible,
    ),
)
