"""English: promises and deadlines.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STATED, STRONG
from ingest.extraction.rules.english_words import ADV, DO, NOT_PROMISE
from ingest.extraction.rules.signals import Signal, signal

COMMITMENTS: tuple[Signal, ...] = (
    signal(
        Category.COMMITMENT,
        r"^(?:sending|delivering|shipping|submitting|publishing|sharing|posting) .{2,100}\b(?:by|tomorrow"
        r"|tonight|today|this (?:afternoon|evening)|before|first thing)\b",
        confidence=STRONG,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:happy to|i can|i'll|glad to) (?:take|pick up) (?:the|this|that|on) (?:action|task|ticket"
        r"|item|one|story|bug)\b",
        confidence=STRONG,
    ),
    signal(
        Category.COMMITMENT,
        rf"^will {ADV}(?P<what>{DO}\b.{{3,160}})",
        confidence=CLEAR,
        unless=NOT_PROMISE + r"|^will (?:do|have) ",
    ),
    signal(
        Category.COMMITMENT,
        rf"\b(?:i'll|i will|i shall|i'm going to|i am going to|i'm gonna|im gonna|ill) {ADV}(?:make sure"
        rf"|be sure|try to|aim to|get around to)?(?: to| that)? ?(?P<what>{DO}\b.{{0,200}})",
        confidence=STATED - 0.03,
        unless=NOT_PROMISE,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i'll|i will|i'm going to) (?P<what>(?:make sure|be sure|see to it|ensure|take care of"
        r"|aim (?:to|for)|be (?:handling|taking care of|running|covering|sending|delivering|finishing"
        r"|working on|reviewing|presenting|writing|fixing|shipping|posting))\b.{0,200})",
        confidence=CLEAR,
        unless=NOT_PROMISE,
    ),
    signal(
        Category.COMMITMENT,
        rf"\b(?:we'll|we will|we're going to|we are going to|we shall) {ADV}(?P<what>{DO}\b.{{0,200}})",
        unless=NOT_PROMISE + r"|\bwe(?:'ll| will) (?:see|need|have to|have fun|get (?:there|through)|be)\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i|we) (?:solemnly |hereby )?(?:promise|commit|guarantee|pledge|vow|swear)(?:d)? (?:to |that "
        r"|you |we'll |i'll |we |i )",
        confidence=STATED,
        unless=r"\bcan't (?:promise|guarantee|commit)\b|\bpromised myself\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i'm|i am|we're|we are|i've|i have|we've) (?:fully |already )?(?:committ(?:ing|ed) to"
        r"|promised|on the hook (?:for|to)|signed up (?:for|to)|volunteering to|taking on"
        r"|planning to (?:have|finish|ship|deliver|send|release))\b",
        confidence=CLEAR,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:you'll|you will|they'll|the (?:client|team) will) (?:have|get|receive|see) .{2,80}\b(?:by|on"
        r"|before|tomorrow|tonight|today|next|end of|eod|in (?:an|one|two|a|\d+) (?:hours?|days?"
        r"|minutes?))\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:count on me|leave (?:it|this|that) (?:to|with) me|you have my word|consider it done"
        r"|i've got this one|i got this one|expect (?:it|the \w+|a \w+|my \w+) (?:from me )?(?:by|on|before"
        r"|tomorrow|tonight|today)|i owe (?:you|him|her|them|the team) (?:a|an|the|that|my))\b",
        confidence=STRONG,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i can|i could|let me|i plan to|i intend to|i aim to|my plan is to|i should be able to"
        rf"|i'm aiming to|happy to) {ADV}(?P<what>{DO}\b.{{0,120}})\b(?:by|before|tomorrow|tonight|today"
        r"|this (?:afternoon|evening|week)|next week|(?:on )?(?:mon|tues|wednes|thurs|fri)day|eod"
        r"|end of (?:the )?(?:day|week|month))\b",
        confidence=STRONG,
        unless=r"\bif (?:you|we|i)\b|\blet me know\b|\bcan't\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:let me (?:take care of|handle|take this|own this|fix)|i can take (?:this|that"
        r"|it)(?: one)?(?: on)?|i'll take (?:this|that|it)(?: one)?|i'm on it)\b",
        confidence=STRONG,
        unless=r"\bif\b",
    ),
    signal(
        Category.COMMITMENT,
        r"^(?:from \w+ (?:\([\d-]+\) )?)?(?-i:@?[A-Z][\w'-]{1,20}) (?:will|is going to|'ll"
        r"|has (?:promised|committed|agreed) to|promised to|committed to"
        rf"|agreed to) (?P<what>{DO}\b.{{0,120}})",
        confidence=STRONG - 0.05,
        unless=NOT_PROMISE
        + r"|\b(?:This|That|It|There|The|What|Which|Everything|Nothing|Who|How|He|She|They|You|Someone|Nobody"
        r"|Everyone|Python|Postgres|Slack|Jira|GitHub|Google|Racket)\b(?:'ll| will| is going)|\b(?:will"
        r"|'ll) (?:not|never)\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i'll|i will|we'll|we will) be (?!going|waiting|leaving|having|thinking|hoping|missing|seeing"
        r"|watching|needing|using|doing fine)[a-z]{3,}ing\b (?!away|back\b)",
        unless=NOT_PROMISE,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:will|i'll|we'll) (?:also |then )?(?:circulate|distribute|coordinate|facilitate|cover|redo"
        r"|resend|rework|relaunch|reschedule|clarify|explore|evaluate|estimate|scope|spec|prototype"
        r"|benchmark|audit|inspect|validate|approve|host|run)\b.{3,}",
        unless=NOT_PROMISE + r"|\b(?:it|this|that|he|she|they|you|which) will\b",
    ),
    signal(
        Category.COMMITMENT,
        r"^(?:the |our )[\w -]{2,30}? (?:team|crew|vendor|agency|supplier|office|department"
        rf"|team in (?-i:[A-Z])\w+) will {DO}\b",
        dated=True,
        confidence=STRONG - 0.05,
        unless=NOT_PROMISE + r"|\bwill (?:not|never)\b|\blate\b",
    ),
)

DEADLINES: tuple[Signal, ...] = (
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:moved|pushed|postponed|rescheduled|shifted|brought forward|delayed) (?:back )?(?:the "
        r"|our )?(?:\w+ ){0,2}(?:launch|release|deadline|demo|delivery|go-?live|review|audit|migration"
        r"|rollout|freeze|submission)\b.{0,20}\b(?:to|until|by)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:deadline|due date|cut-?off(?: date)?|submission date|target date|launch date|release date"
        r"|go-?live(?: date)?|drop-?dead date)s?\b",
        dated=True,
        unless=r"\bno deadline\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:is|are|'s|was|it's|they're) (?:all |now |still )?(?:due|expected|needed|required"
        r"|scheduled for (?:release|launch)|to be (?:delivered|submitted|done|ready|sent|filed)|planned for"
        r"|closing|set for|slated for)\b",
        dated=True,
        unless=r"\bdue to\b|\b(?:party|lunch|dinner|flight)\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:must|has to|have to|needs? to|need to|should|gotta|got to|is to|are to|supposed to"
        r"|wants? (?:it|this|that|the [\w ]{2,30}?)|expects? (?:it|this|the [\w ]{2,30}?)|needs? (?:it|this"
        r"|that|the [\w ]{2,40}?)|asked for (?:it|this|the [\w ]{2,30}?))\b.{0,80}?\b(?:by|before"
        r"|no later than|until|on|due)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:i|we|you|they|teams?) (?:only |still )?(?:have|has|get|got) (?:only )?(?:until|till)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:expires?|ends?|closes?|renews?|lapses?|goes? live|launch(?:es)?|ships?|starts shipping"
        r"|code freeze|feature freeze|freeze starts)\b.{0,30}\b(?:on|at|by|in|this|next|tomorrow|tonight"
        r"|today|end of)\b",
        dated=True,
        unless=r"\bmeeting\b|\bi\b|\bwe\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:due|no later than|at the latest(?: by)?|by (?:eod|cob|eow)|by end of (?:day|week|month"
        r"|business))\b",
        dated=True,
        unless=r"\bdue to\b|\bi\b",
        confidence=STRONG + 0.05,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:demo|launch|release|go-?live|freeze|submission|delivery|audit|review|presentation|milestone"
        r"|exam|handover|migration|kick-?off|rollout) (?:is|will be|happens|takes place|has been (?:moved"
        r"|set|scheduled)|moved|was moved|got moved|is scheduled|scheduled)\b",
        dated=True,
        unless=r"\b(?:done|over|went|great|finished|complete)\b",
    ),
)
