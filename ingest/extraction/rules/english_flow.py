"""English: work that changes hands, and work that cannot go on.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import STRONG
from ingest.extraction.rules.english_words import ADV, WHO
from ingest.extraction.rules.signals import Signal, signal

HANDOFFS: tuple[Signal, ...] = (
    signal(
        Category.HANDOFF,
        r"^(?:passing|handing(?: over| off)?|transferring|assigning"
        rf"|delegating) (?P<what>[\w' /#&-]{{1,60}}?) (?:over |off |on )?to (?-i:{WHO})",
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?:i'm|i am|we're|we are|i'll be|i've|i have|i|we) {ADV}(?:hand(?:ing|ed)?|pass(?:ing|ed)?"
        rf"|turn(?:ing|ed)) (?:over |off )?(?P<what>[\w' /#&-]{{1,60}}?) (?:over |off |on )?to (?-i:{WHO})",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:hand(?:ing|ed)?|pass(?:ing|ed)) (?:this |it |that )?(?:over|off|on)\b.{0,50}\bto\b",
        unless=r"\b(?:handed? over to the (?:next|other) side|password)\b",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:reassign(?:ed|ing)?|transferr(?:ed|ing)|delegat(?:ed|ing)|assign(?:ed|ing)|hand(?:ed|ing)"
        r"|entrust(?:ed|ing)|giv(?:ing|en)|gave) (?P<what>[\w' /#&-]{1,60}?) (?:over )?to "
        r"(?-i:@?[A-Z][\w'-]+|(?:the|our) [\w-]+ (?:team|department|desk)|you\b|him\b|her\b)",
        unless=r"\b(?:gave|given|giving) (?:credit|thanks|access|feedback|it a try|kudos|a shout)\b|\b(?:will"
        r"|would|want to|need to) ",
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?-i:{WHO})(?:'s| is| are|'ll be| will be) (?:now )?(?:taking over|taking this over"
        r"|picking up (?:from|where)|the new (?:owner|lead|contact|point of contact|dri)|covering for me"
        r"|covering)\b",
        unless=r"\bcovering (?:the|a) (?:topic|cost|news)",
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?-i:{WHO}) (?:will (?:take over|take it from here|take this over|be taking over|pick (?:it"
        r"|this) up|cover for me|own this (?:from|going))|takes over|took over|has taken over"
        r"|picked up where|now owns|is now (?:handling|responsible for|in charge of|the owner|owning"
        r"|leading))\b",
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?:i'm|i am|i've|i have|i|we're|we|i'll|i will|i'll be|i will be) {ADV}(?:take over"
        r"|taking over|took over|taken over|inherit(?:ed|ing)|picking up"
        r"|picked up) (?P<what>[\w' /#&-]{1,60}?) (?:from (?-i:[A-Z@])|where (?-i:[A-Z@]))",
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?:i'm|i am|i've|i have|i|i'll|i will) {ADV}(?:be )?(?:take over|taking over|took over"
        r"|taken over|inherited) (?P<what>(?:the |this |all )?[\w' /#&-]{2,60})",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:over to you|ball is (?:now )?in (?:your|\w+(?:'s)?) court|take it from here"
        r"|passing the baton|passed the baton|hand ?over (?:notes?|doc|is done|complete)"
        r"|hand-?off (?:notes?|doc|is done|complete|to)|all yours|it's yours now|you're up next)\b",
        confidence=STRONG,
        unless=r"\bcan (?:you|anyone|someone)\b|\b(?:i'll|will|going to|get|send|have|bring)\b.*\bover to you",
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?-i:{WHO}),? (?:please |could you please |kindly )(?:take over|take this (?:one )?over"
        r"|pick (?:this|it) up|take it from here|own this)\b",
        confidence=STRONG,
    ),
    signal(
        Category.HANDOFF,
        rf"\b(?-i:{WHO}) (?:will|is going to|is|'ll)\b.{{2,80}}\b(?:instead of me|in my place|on my behalf"
        r"|in my absence|while i'm (?:away|out|gone|off))\b",
    ),
    signal(
        Category.HANDOFF,
        r"\bownership of\b.{2,60}\b(?:moved|moves|passed|passes|transferred|goes|went"
        r"|transfers)\b.{0,40}\bto\b|\b(?:is|will be|'ll be) (?:your|our|the) (?:new )?(?:point of contact"
        r"|main contact|contact (?:person )?(?:from|going)|account manager)\b|\b(?:picking"
        r"|picked) up where\b|\breplac(?:es|ing) me\b",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:please )?(?:direct|send|route|address|forward|raise) (?:all|any"
        r"|your) .{2,60}? to (?-i:[A-Z])\w+.{0,20}(?:going forward|from now on|instead|while i|until"
        r"|starting|from)\b",
    ),
)

BLOCKERS: tuple[Signal, ...] = (
    signal(
        Category.BLOCKER,
        r"\b(?:i|we) (?:still |really |urgently )*need (?:\w+ )?(?:access|permissions?|credentials|approval"
        r"|sign-?off)\b|\bstill missing\b.{3,}|^no progress on\b|\bpending (?:the |your |their |legal "
        r"|client |design )*(?:approval|sign-?off|review|confirmation|decision)\b",
        unless=r"\bno longer\b",
    ),
    signal(Category.BLOCKER, r"\b(?:nobody|no one|none of us|no-one) can\b|\b(?:is|are) (?:still )?holding up\b"),
    signal(
        Category.BLOCKER,
        r"\b(?:blocked|stuck|held up|hung up|stalled|gridlocked|dead in the water)\b(?! (?:user|account"
        r"|number|caller|sender|out time|list)s?)(?! off)",
        unless=r"\b(?:no longer|not|isn't|aren't|wasn't|un|never|was|were|been|got un|get un)[ -]?(?:blocked|stuck"
        r"|held up|stalled)\b|\bif\b|\b(?:people|everyone|you|students?|he|she"
        r"|countless \w+)\b.{0,20}\b(?:stuck|blocked)\b|\bblocked (?:my|his|her|the|off|out)\b|\b(?:i|he"
        r"|she|they|we) blocked\b|\bwithout (?:being|getting)\b"
        r"|\bstuck (?:with me|around|together|in my (?:head|mind))\b|\bstuck to (?:the|my|our) (?:plan|budget)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:is|are|'s|was still|still|currently|keeps?) (?:still |now |completely |currently )?(?:a "
        r"|our |my |the )?(?:(?:main|big|biggest|only|major|real|critical|hard) )?(?:blocker|blocking (?:us"
        r"|me|the|our|my|this|everything|\w+)|holding (?:us|me|this|everything|the \w+|things) (?:up|back)"
        r"|showstopper|bottleneck)\b",
        unless=r"\b(?:not|isn't|aren't|no longer)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:blocker|blockers|impediment)s?\s*(?::|is\b|-|=)",
        unless=r"\b(?:no|any|without) blockers?\b|blockers?\s*: ?(?:none|nothing|no|n/?a)\b|\bblocker is (?:gone"
        r"|resolved|fixed|removed)",
    ),
    signal(
        Category.BLOCKER,
        r"(?:^|\b(?:i|we|they|users?|customers?|everyone|the team|team|still|and|it's|am|are|'m|'re"
        r"|is) (?:still |currently |just |really )*)(?:can't|cannot|can not|couldn't|unable to|not able to"
        r"|impossible (?:for (?:me|us) )?to) (?:\w+ ){0,2}?(?:proceed|continue|move (?:forward|on|ahead)"
        r"|progress|start|begin|finish|deploy|merge|release|ship|test|publish|go live|go ahead|work on"
        r"|launch|do (?:anything|much|my|the)|build|complete|log ?in|access|connect|reach|get (?:in|access"
        r"|into|past)|push|run|reproduce|close|submit|sign|invoice|send|push|review|onboard|verify|upload"
        r"|download|install|open|pull)\b",
        unless=r"\bcan't (?:wait|start to|work on (?:it )?(?:today|tomorrow))\b|\bwon't\b|\bif (?:you|we|i|they)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:i'm|i am|we're|we are|still|been|is|are) (?:still |just |also |now |currently )*(?:waiting"
        r"|dependent|awaiting|pending)\b ?(?:on|for|to (?:get|receive|hear))?\b.{2,}",
        unless=r"\b(?:no longer|not) waiting\b|\bwaiting (?:for (?:the (?:bus|train|weekend|summer)|lunch"
        r"|my coffee|coffee|dinner|you (?:at|in|outside)|this (?:moment|day))|in line|to see you)\b"
        r"|\bcan't wait\b|\bis pending\b(?! (?:approval|review|on))"
        r"|\bwaiting for (?:this|that|it)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:i|we) (?:still |really |first |also )*(?:need|require)\b.{2,60}?\b(?:before (?:i|we) can"
        r"|to (?:proceed|continue|move forward|unblock|get started|go (?:further|any further))"
        r"|in order to (?:proceed|continue))\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:i|we) (?:still )?(?:don't|do not|still don't|didn't|haven't got|have no|lack|lost)(?: (?:yet"
        r"|still))?(?: have)?(?: (?:yet|any))? (?:access|permissions?|credentials"
        r"|the (?:right )?permissions|approval|the go[- ]ahead|sign-?off)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:on hold|at a standstill|in limbo|paused) (?:until|till|because|pending|while|due to"
        r"|for lack of)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\bcan't\b.{2,60}\b(?:until|without|because)\b",
        unless=r"\bcan't (?:wait|believe|imagine|live|stand|function|sleep|help)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\bnothing (?:moves|works|can (?:move|happen|start)) until\b|\b(?:prevents?|preventing|stops?"
        r"|stopping|keeps?|keeping) (?:us|me|the team) from\b",
    ),
    signal(Category.BLOCKER, r"\b(?:hit(?:ting)? a (?:brick )?wall|at a dead end|hit a dead end|roadblock)\b"),
)
