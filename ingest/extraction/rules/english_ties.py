"""English: whom a person belongs to, works for and learns from."""

from __future__ import annotations

import re

from facts.vocabulary import Form, Kind, Volatility
from ingest.extraction.rules import values
from ingest.extraction.rules.clauses import Clause
from ingest.extraction.rules.drafts import END, END_FOR, NAME, NP, Draft, Rule, rule, value
from ingest.extraction.rules.occupations import canonical, is_occupation

_ADV = (
    r"(?:(?:actually|currently|now|still|just|recently|finally|already|also|always|usually|mostly"
    r"|really|both|typically|permanently|temporarily|officially|happily) )*"
)
_NOT = r"(?P<not>don't |do not |no longer |am not |'m not |not |never )?"


def _ended(match: re.Match[str]) -> bool:
    return bool(match.groupdict().get("not"))


def _company(text: str) -> str:
    name = values.name(re.sub(r" (?:now|currently|again|full[- ]time|part[- ]time)$", "", text.strip()))
    return (
        name if re.match(r"(?:the )?[A-Z0-9]", name) and not re.match(r"(?:I|My|We|It|That|This|Home)\b", name) else ""
    )


def _employer(match: re.Match[str], clause: Clause) -> Draft | None:
    company = _company(match["company"])
    if not company or values.is_well_known_place(company):
        return None
    verb = match.group().lower()
    over = _ended(match) or bool(re.search(r"\b(?:left|quit|used to)\b", verb))
    changed = re.search(r"\b(?:joined|left|quit|started|starting|joining)\b", verb)
    return Draft(
        says=f"works at {company}",
        negated=f"no longer works at {company}"
        if clause.marker or "left" in verb or "quit" in verb
        else f"does not work at {company}",
        predicate="employer",
        value=value(company),
        denies=over,
        volatility=Volatility.SLOW,
        starts=bool(changed),
        marker=changed.group() if changed else "",
    )


def _occupation(match: re.Match[str], clause: Clause) -> Draft | None:
    role = " ".join(match["role"].split()).strip().lower()
    if not is_occupation(role):
        return None
    article = "an" if role[0] in "aeiou" else "a"
    return Draft(
        says=f"works as {article} {role}",
        negated=f"{'no longer works' if clause.marker else 'does not work'} as {article} {role}",
        predicate="occupation",
        value=value(canonical(role)),
        denies=_ended(match) or "used to" in match.group().lower(),
        volatility=Volatility.SLOW,
    )


def _job_title(match: re.Match[str], clause: Clause) -> Draft | None:
    role = values.bare(match["role"]).lower()
    return (
        Draft(says=f"works as {role}", predicate="occupation", value=value(canonical(role)), volatility=Volatility.SLOW)
        if is_occupation(role)
        else None
    )


def _team(match: re.Match[str], clause: Clause) -> Draft | None:
    team = values.bare(match["team"])
    if not team or team.lower() in {"same", "whole", "new", "right", "wrong", "other", "best"}:
        return None
    return Draft(
        says=f"is on the {team} team",
        negated=f"is {'no longer' if clause.marker else 'not'} on the {team} team",
        predicate="team",
        value=value(team.casefold()),
        denies=_ended(match),
        volatility=Volatility.SLOW,
        starts="joined" in match.group() or "moved" in match.group(),
        marker="joined" if "joined" in match.group() else "",
    )


def _relative(match: re.Match[str], clause: Clause) -> Draft | None:
    relation, name = match["relation"].lower(), values.name(match["name"])
    relation = {
        "fiance": "partner",
        "fiancé": "partner",
        "fiancée": "partner",
        "girlfriend": "partner",
        "boyfriend": "partner",
        "mom": "mother",
        "mum": "mother",
        "dad": "father",
        "boss": "manager",
    }.get(relation, relation)
    if not re.fullmatch(NAME, name) or name in {"Not", "Very", "The", "My", "In", "A"}:
        return None
    single = relation in {"wife", "husband", "partner", "spouse", "mother", "father", "manager"}
    predicate = "spouse" if relation in {"wife", "husband", "spouse"} else relation if single else f"has_{relation}"
    return Draft(
        says=f"has a {relation} named {name}",
        predicate=predicate,
        value=value(name, relation=relation if predicate == "spouse" else ""),
        qualifiers={} if single else {"name": name.casefold()},
        kind=Kind.RELATION,
    )


def _counted(match: re.Match[str], clause: Clause) -> Draft | None:
    words = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "no": 0, "twin": 2}
    number = match["count"].lower()
    count = int(number) if number.isdigit() else words[number]
    what = match["what"].lower()
    one = {"kids": "child", "kid": "child", "children": "child"}.get(what, what.rstrip("s"))
    plural = {"child": "children"}.get(one, f"{one}s")
    return Draft(
        says=f"has {count} {one if count == 1 else plural}",
        predicate=f"{plural}_count",
        value=value(count),
        kind=Kind.RELATION,
    )


def _married(match: re.Match[str], clause: Clause) -> Draft | None:
    status = {"engaged": "engaged", "divorced": "divorced", "single": "single", "widowed": "widowed"}.get(
        match["status"].lower(), "married"
    )
    return Draft(says=f"is {status}", predicate="marital_status", value=value(status), volatility=Volatility.SLOW)


def _studies(match: re.Match[str], clause: Clause) -> Draft | None:
    what = values.bare(match["what"]).lower()
    if (
        not what
        or what in {"it", "this", "that", "hard", "for", "the"}
        or what.startswith(("for ", "the ", "how ", "it "))
    ):
        return None
    return Draft(
        says=f"studies {what}",
        negated=f"no longer studies {what}",
        predicate="studies",
        value=value(what, school=_company(match["school"] or "")),
        denies=_ended(match),
        volatility=Volatility.SLOW,
    )


def _degree(match: re.Match[str], clause: Clause) -> Draft | None:
    degree = {"phd": "PhD", "ph.d": "PhD", "mba": "MBA"}.get(
        match["degree"].lower().rstrip("."), match["degree"].lower()
    )
    what = values.bare(match["what"]).lower()
    return Draft(says=f"has a {degree} in {what}", predicate="degree", value=value(degree), qualifiers={"field": what})


def _graduated(match: re.Match[str], clause: Clause) -> Draft | None:
    school = _company(match["school"])
    return (
        Draft(
            says=f"graduated from {school}",
            predicate="graduated_from",
            value=value(True),
            qualifiers={"school": school.casefold()},
            form=Form.STATE,
        )
        if school
        else None
    )


_FAMILY = (
    r"(?P<relation>wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|mother|mom|mum|father"
    r"|dad|brother|sister|son|daughter|dog|cat|manager|boss|mentor|assistant)"
)

RULES: tuple[Rule, ...] = (
    rule(rf"(?:i've|i have) {_ADV}(?:worked|been working) (?:at|for) (?P<company>{NP})(?= since\b| for\b)", _employer),
    rule(
        r"(?:i'm|i am) (?:now )?the (?:new )?(?P<role>ceo|cto|cfo|coo|founder|co-?founder|director"
        r"|managing director|executive director)\b",
        _job_title,
    ),
    rule(rf"i {_ADV}{_NOT}{_ADV}(?:used to )?work (?:at|for) (?P<company>{NP}){END_FOR}", _employer),
    rule(
        rf"(?:i am|i'm|im) {_ADV}{_NOT}{_ADV}(?:working|employed) (?:at|by|for) (?P<company>{NP}){END_FOR}", _employer
    ),
    rule(
        rf"i(?:'ve| have)? {_ADV}(?:joined|started (?:working )?at|started a new job at|left"
        rf"|quit) (?P<company>(?!the\b){NP}){END_FOR}",
        _employer,
    ),
    rule(rf"(?:i am|i'm|im) {_ADV}(?:joining|starting at) (?P<company>(?!the\b){NP}){END_FOR}", _employer),
    rule(rf"my (?:new |current )?(?:employer|company) is (?:now )?(?P<company>{NP}){END_FOR}", _employer),
    rule(
        rf"(?:i am|i'm|im) {_ADV}{_NOT}{_ADV}(?:an?|the) [\w -]{{2,40}}? (?:at"
        rf"|with) (?P<company>{NP}){END_FOR}",
        _employer,
    ),
    rule(
        rf"(?:i am|i'm|im) {_ADV}{_NOT}{_ADV}an? (?P<role>[\w /-]{{3,40}}?)(?: by (?:trade|training"
        rf"|profession))?(?: (?:at|for|with|in|from|on|here) .*)?{END}",
        _occupation,
    ),
    rule(
        rf"i {_ADV}{_NOT}{_ADV}(?:used to )?work as an? (?P<role>[\w /-]{{3,40}}?)(?: (?:at|for|with|in"
        rf"|from|on) .*)?{END}",
        _occupation,
    ),
    rule(rf"i {_ADV}{_NOT}{_ADV}work (?:at|for|in|with) {NP} as an? (?P<role>[\w /-]{{3,40}}?){END}", _occupation),
    rule(
        r"my (?:new |current )?(?:job|job title|role|title|occupation|profession"
        r"|position) is (?:now )?(?:being )?(?P<role>[\w /-]{3,40}?)(?: (?:at|for|with|in|from|on"
        rf"|of) .*)?{END}",
        _job_title,
    ),
    rule(
        rf"(?:i am|i'm|im) {_ADV}{_NOT}{_ADV}(?:on|in|part of"
        r"|a member of) the (?P<team>[\w &-]{2,30}?) team\b",
        _team,
    ),
    rule(
        rf"i(?:'ve| have)? {_ADV}(?:joined|moved (?:over )?to|switched to|work (?:on|in)"
        r"|transferred to) the (?P<team>[\w &-]{2,30}?) team\b",
        _team,
    ),
    rule(rf"my team is (?:now )?(?:the )?(?P<team>[A-Z][\w &-]{{1,30}}?){END}", _team),
    rule(
        rf"my (?:new |older |younger |little |big |elder |eldest |youngest |oldest )?{_FAMILY}(?:'s name is"
        rf"| is (?:named|called)|, named|, called| is|,) (?P<name>(?-i:{NAME})){END}",
        _relative,
    ),
    rule(
        rf"my (?:new |older |younger |little |big |elder )?{_FAMILY} (?P<name>(?-i:{NAME})) (?=(?-i:[a-z]))", _relative
    ),
    rule(
        rf"i have an? (?:new |older |younger |little |big |\w+ )?{_FAMILY} (?:named|called"
        rf"|whose name is) (?P<name>(?-i:{NAME})){END}",
        _relative,
    ),
    rule(
        r"(?:i|we) have (?P<count>two|three|four|five|no|twin|\d|one|an?) (?:\w+ )?(?P<what>kids?|children"
        r"|child|sons?|daughters?|brothers?|sisters?|siblings?|dogs?|cats?)(?=\s*$|[,.;!]| and| who| but)",
        _counted,
    ),
    rule(rf"(?:i am|i'm|im) {_ADV}(?P<status>married|engaged|divorced|widowed)\b(?! (?:in|with) )", _married),
    rule(r"i (?:just )?got (?P<status>married|engaged|divorced)\b", _married),
    rule(rf"i {_ADV}{_NOT}{_ADV}study (?P<what>{NP})(?: at (?P<school>{NP}))?{END}", _studies),
    rule(
        rf"(?:i am|i'm|im) {_ADV}(?P<not>no longer )?(?:studying"
        rf"|majoring in) (?P<what>{NP})(?: at (?P<school>{NP}))?{END}",
        _studies,
    ),
    rule(
        r"i (?:have|hold|got|did|completed|finished) (?:an?|my) (?P<degree>phd|ph\.d\.?|master's|masters"
        rf"|bachelor's|bachelors|mba|degree|msc|bsc|doctorate) in (?P<what>{NP})(?= from)?{END}",
        _degree,
    ),
    rule(rf"i graduated from (?P<school>{NP}){END_FOR}", _graduated),
)
