"""English: what things are, use and depend on, and when they are due."""

from __future__ import annotations

import re
from datetime import timedelta

from facts.vocabulary import Category, Form, Kind, Volatility
from ingest.extraction import dates
from ingest.extraction.base import GROUP
from ingest.extraction.rules import claims, values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import CLEAR, END, END_FOR, NAME, NP, STATED, Builder, Draft, Rule, rule, value
from ingest.extraction.rules.topics import handed_over, topic_of

#: A named thing: capitalised, or "the billing service".
TOPIC = (
    r"(?:(?:the|our|my) )?(?P<topic>(?-i:(?!Please\b|Kindly\b)[A-Z][\w.#+-]{1,30})(?: [\w.#+-]{1,20}){0,2}?"
    r"|(?<=the )[\w-]{2,25}(?: [\w-]{2,20}){0,2}?|(?<=our )[\w-]{2,25}(?: [\w-]{2,20}){0,2}?)"
)


def _property(predicate: str, verb: str, negated: str) -> Builder:
    def build(match: re.Match[str], clause: Clause) -> Draft | None:
        topic, thing = topic_of(match["topic"]), values.bare(match["thing"])
        if not topic or claims.is_vague(thing) or not (values.domain(thing) or re.match(r"[A-Z0-9]", thing)):
            return None
        return Draft(
            says=f"{verb} {thing}",
            negated=f"{negated} {thing}",
            predicate=predicate,
            value=value(values.common(thing)),
            about=topic,
            denies=bool(match.groupdict().get("not")),
            confidence=CLEAR,
            volatility=Volatility.SLOW,
        )

    return build


def _uses(match: re.Match[str], clause: Clause) -> Draft | None:
    topic, thing, use = topic_of(match["topic"]), match["thing"], match.groupdict().get("use") or ""
    if not topic or not (values.domain(thing) or re.match(r"[A-Z0-9]", values.bare(thing))):
        return None
    switched = bool(re.search(r"moved|migrated|switched", match.group()))
    shown = f"{values.bare(thing)}{f' for {use.strip()}' if use else ''}"
    return claims.uses(
        thing,
        use=use,
        says=f"uses {shown}",
        negated=f"no longer uses {shown}",
        denies=bool(match.groupdict().get("not")),
        about=topic,
        switched=switched,
    )


def _person(predicate: str, verb: str) -> Builder:
    def build(match: re.Match[str], clause: Clause) -> Draft | None:
        topic, person = topic_of(match["topic"]), values.name(match["person"])
        if (
            not topic
            or not re.fullmatch(NAME, person)
            or person.split()[0] in {"The", "This", "That", "It", "He", "She", "We", "I"}
        ):
            return None
        return Draft(
            says=f"{verb} {person}",
            predicate=predicate,
            value=value(person),
            about=topic,
            category=Category.HANDOFF if clause.marker or handed_over(clause.lead) else Category.GENERAL,
            kind=Kind.RELATION,
            confidence=CLEAR,
            volatility=Volatility.SLOW,
        )

    return build


def _deadline(match: re.Match[str], clause: Clause) -> Draft | None:
    topic = topic_of(match["topic"])
    found = dates.find(match["when"], occurred_at=clause.item.occurred_at, timezone=clause.item.timezone)
    if not topic or not found:
        return None
    day = (found[-1].after - timedelta(days=1)).isoformat()
    moved = bool(
        re.search(r"\b(?:moved|pushed|postponed|rescheduled|changed|extended|brought forward)\b", match.group())
    )
    return Draft(
        says=f"is due on {day}",
        predicate="deadline",
        value=value(day),
        about=topic,
        category=Category.DEADLINE_MENTION,
        kind=Kind.EVENT,
        confidence=STATED,
        volatility=Volatility.VOLATILE,
        marker="moved" if moved else "",
    )


def _version(match: re.Match[str], clause: Clause) -> Draft | None:
    topic = topic_of(match["topic"])
    return (
        Draft(
            says=f"is on version {match['thing']}",
            predicate="version",
            value=value(match["thing"]),
            about=topic,
            confidence=CLEAR,
            volatility=Volatility.VOLATILE,
        )
        if topic
        else None
    )


def _location(match: re.Match[str], clause: Clause) -> Draft | None:
    topic, thing = topic_of(match["topic"]), " ".join(match["thing"].split())
    if not topic or claims.is_vague(values.bare(thing)):
        return None
    return Draft(
        says=f"can be found {match['where'].lower()} {thing}",
        predicate="located_at",
        value=value(values.bare(thing).casefold()),
        about=topic,
        category=Category.REFERENCE,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
    )


def _pointer(match: re.Match[str], clause: Clause) -> Draft | None:
    thing = " ".join(match["thing"].split())
    return Draft(
        says=f"points to {thing} for {match['topic'].strip()}",
        predicate="reference",
        value=value(values.bare(thing).casefold()),
        kind=Kind.EVENT,
        form=Form.EVENT,
        category=Category.REFERENCE,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
    )


def _group_property(match: re.Match[str], clause: Clause) -> Draft | None:
    what, thing = values.noun(match["what"]), values.bare(match["thing"])
    if (
        not what
        or claims.is_vague(thing)
        or len(thing.split()) > 4
        or what
        not in {
            "database",
            "cloud_provider",
            "tech_stack",
            "stack",
            "ci",
            "orm",
            "framework",
            "cloud",
            "issue_tracker",
            "monitoring",
        }
    ):
        return None
    return Draft(
        says=f"uses {thing} as {match['what'].strip()}",
        predicate=what,
        value=value(values.common(thing)),
        about=GROUP,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
    )


_WHEN = r"(?P<when>[^;!?()]{2,40}?)(?=\s*$|[.;!]|,)"
_NOW = r"(?:now |currently |still |already |actually |finally |fully |also )*"

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:the |our |new )*(?:deadline|due date|cut-?off) (?:for|of) (?:the "
        r"|our )?(?P<topic>[\w.#+-]{2,30}(?: [\w.#+-]{1,20}){0,3}?) (?:is|has been|was|got|has"
        rf"|is now|will be) {_NOW}(?:been )?(?:moved |pushed |set |fixed |changed |extended |postponed "
        rf"|rescheduled |brought forward |back )*(?:to |for |on |until )?{_WHEN}",
        _deadline,
    ),
    rule(
        rf"{TOPIC}(?:'s)? (?:deadline|due date) (?:is|has been|was|got|has"
        rf"|is now) {_NOW}(?:been )?(?:moved |pushed |set |changed |extended |postponed |back )*(?:to |for "
        rf"|on |until )?{_WHEN}",
        _deadline,
    ),
    rule(rf"{TOPIC} (?:is|are) {_NOW}due (?!to\b)(?:on |by |in )?{_WHEN}", _deadline),
    rule(
        rf"{TOPIC} (?P<not>no longer |doesn't |does not )?{_NOW}(?:uses?|relies on|runs on top of"
        rf"|is powered by) (?P<thing>{NP})(?: (?:for|as) (?P<use>{NP}))?{END}",
        _uses,
    ),
    rule(
        rf"{TOPIC} (?:has |have |was |is |got |just )*{_NOW}(?:moved|migrated|switched|been moved"
        rf"|been migrated|been switched)(?: over)?(?: from {NP})? to (?P<thing>{NP})(?: for "
        rf"(?P<use>{NP}))?{END}",
        _uses,
    ),
    rule(
        rf"{TOPIC} (?:is|are|'s) (?P<not>no longer |not )?{_NOW}(?:hosted|deployed|running) (?:on|in"
        rf"|at) (?P<thing>{NP}){END_FOR}",
        _property("hosted_on", "is hosted on", "is no longer hosted on"),
    ),
    rule(
        rf"{TOPIC} {_NOW}runs (?:on|in) (?P<thing>{NP}){END_FOR}",
        _property("hosted_on", "runs on", "no longer runs on"),
    ),
    rule(
        rf"{TOPIC} (?:is|are|was|'s) {_NOW}(?:written|implemented|coded) in (?P<thing>{NP}){END_FOR}",
        _property("written_in", "is written in", "is no longer written in"),
    ),
    rule(
        rf"{TOPIC} (?:is|are|'s) {_NOW}built (?:with|on|using|on top of) (?P<thing>{NP}){END_FOR}",
        _property("built_with", "is built with", "is no longer built with"),
    ),
    rule(
        rf"{TOPIC} {_NOW}depends on (?P<thing>{NP}){END_FOR}",
        _property("depends_on", "depends on", "no longer depends on"),
    ),
    rule(
        rf"{TOPIC} is {_NOW}(?:owned|maintained|led|run) by (?P<person>(?-i:{NAME})){END_FOR}",
        _person("owner", "is owned by"),
    ),
    rule(rf"{TOPIC} is {_NOW}managed by (?P<person>(?-i:{NAME})){END_FOR}", _person("owner", "is managed by")),
    rule(
        r"(?:the )?(?:owner|maintainer|lead|tech lead|project lead|person in charge|point of contact"
        r"|contact|dri) (?:of|for) (?:the |our )?(?P<topic>[\w.#+-]{2,30}(?: [\w.#+-]{1,20}){0,2}?) "
        rf"is {_NOW}(?P<person>(?-i:{NAME})){END}",
        _person("owner", "is owned by"),
    ),
    rule(
        rf"(?P<person>(?-i:{NAME})) (?:is {_NOW}(?:the )?(?:new )?(?:owner|maintainer|lead|tech lead"
        rf"|project lead|manager|point of contact|dri) (?:of|for|on)|{_NOW}(?:owns|leads|handles|maintains"
        rf"|manages)) (?:the |our )?(?P<topic>(?!team\b)[\w.#+-]{{2,30}}(?: [\w.#+-]{{1,20}}){{0,2}}?){END}",
        _person("owner", "is owned by"),
    ),
    rule(rf"{TOPIC} (?:is|'s) {_NOW}(?:on|at|running) (?:version |v)(?P<thing>\d[\w.-]{{0,15}})", _version),
    rule(
        r"(?:the |our )?(?:latest |current )?version of (?P<topic>[\w.#+-]{2,30}(?: "
        rf"[\w.#+-]{{1,20}}){{0,2}}?) is {_NOW}v?(?P<thing>\d[\w.-]{{0,15}})",
        _version,
    ),
    rule(
        rf"(?:our|the team's) {_NOW}(?:main |primary )?(?P<what>[\w -]{{2,20}}?) is "
        rf"{_NOW}(?P<thing>{NP}){END}",
        _group_property,
    ),
    rule(
        r"(?:please )?(?:see|check|refer to|read|consult) (?P<thing>(?:the |our )?(?:ticket|issue|pr|page"
        r"|section|wiki|docs?|documentation|guide|runbook|confluence|jira|notion"
        r"|readme)[\w #/-]{0,40}?) for (?P<topic>(?:the |more |further )*(?:details?|context|info"
        r"|information|instructions|background|steps|specs?))\b",
        _pointer,
    ),
    rule(
        r"you (?:can|will|'ll) find (?:the |our |all )(?P<topic>[\w -]{2,40}?) (?P<where>in|on|at"
        r"|under) (?P<thing>[^.;!?\n]{2,60}?)(?=\s*$|[.;!])",
        _location,
    ),
    rule(
        r"(?:the |our |all |all the |all our )(?P<topic>(?:[\w-]+ ){0,3}(?:docs?|documentation|runbook|spec"
        r"|specs|design doc|wiki"
        r"|guide|handbook|playbook|template|templates|recording|slides|deck|notes|minutes|policy|roadmap"
        r"|changelog|report|style ?guide|dashboard|board|credentials doc|onboarding guide|checklist"
        r"|spreadsheet|designs|mockups|repo|repository)) (?:is|are|lives?|can be found|is stored|are stored"
        r"|is documented|is available|are available|sits?) (?:now |available |stored "
        r"|documented )*(?P<where>in|on|at|under) (?P<thing>(?!progress\b|review\b|track\b|time\b|hold\b"
        r"|risk\b|the way\b)[^.;!?\n]{2,60}?)(?=\s*$|[.;!])",
        _location,
    ),
)
